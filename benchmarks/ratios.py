"""Every pooled ratio n/d of the stored results, and by which rule reports print it.

    python -m benchmarks.ratios [--out FILE.md]

`before` is what reports printed until they tested whether the ratio is constant: one number in each panel.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import one_thread, written
from recovery.report.claims.sentences import at, possible_change
from recovery.report.diagram import Diagram
from recovery.report.statistics import Estimates, Threshold
from recovery.store import read

RESULTS = Path(__file__).parents[1] / "results"
RULES = {
    "number": "one number; a constant is not rejected, and no large change is possible",
    "warned": "one number; a constant is not rejected, and the sentence says that a large change is possible",
    "range": "the range over d, and the mean with the words `changes with d`",
    "range alone": "the range over d without a mean, because the change may be large",
}


def rule_of(found: Threshold) -> str:
    """Return the rule by which reports print this threshold."""
    if found.drift is None or found.constant:
        return "warned" if possible_change(found) else "number"
    return "range alone" if found.drift.large else "range"


def rows() -> Iterator[tuple[str, str, Threshold]]:
    """Yield the sweep, the panel and the threshold of each pooled ratio that has an estimate."""
    for path in sorted(RESULTS.glob("papers/*/sweep.json")):
        diagram = Diagram.of(read(path.parent))
        if not diagram.proportion or diagram.along.what != "n/d":
            continue
        for found in Estimates(diagram).pooled:
            if found.interval.known:
                yield path.parent.name, found.panel.title, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".md"))
    arguments = parser.parse_args()
    table, rules = ["| sweep | panel | before | rule | now |", "|---|---|---|---|---|"], Counter[str]()
    with one_thread(), np.errstate(all="ignore"):
        for name, panel, found in rows():
            rule = rule_of(found)
            rules[rule] += 1
            table.append(f"| {name} | {panel} | n/d = {found.interval:.3f} | {rule} | {at(found)} |")
            print(table[-1], flush=True)
    head = [f"{rules.total()} ratios.", "", "| rule | ratios | printed |", "|---|---|---|"]
    head += [f"| {rule} | {rules[rule]} | {words} |" for rule, words in RULES.items()]
    written(arguments.out, [*head, "", *table])


if __name__ == "__main__":
    main()
