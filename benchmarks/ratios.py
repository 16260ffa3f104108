"""By which rule is each pooled n/d of stored results printed, and how did the code of their commit print it?

    python -m benchmarks.ratios [--at c9631fe]

Both versions of the code read `results/papers` of this commit, from a temporary copy.
"""

import json
import subprocess
import sys
import tarfile
from collections import Counter
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks import HERE, arguments, table, written
from recovery.report.claims import Analysis
from recovery.report.claims.sentences import at
from recovery.report.diagram import Diagram
from recovery.report.statistics import Threshold
from recovery.store.grid import read

EARLIER = """
import json, sys
from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram
from recovery.store.grid import read
shown = {}
for folder in sys.argv[1:]:
    analysis = Analysis(Diagram.of(read(folder)))
    analysis.claims
    for value, one in analysis._shown.items():
        shown[f"{folder} {value}"] = [[two.given.estimate, two.given.low, two.given.high] for two in one.pooled]
print(json.dumps(shown))
"""


def rule(found: Threshold) -> str:
    """Name the rule by which a pooled n/d is printed."""
    if not found.interval.known:
        return "no jump" if found.jump else "no estimate"
    name, more = ("constant", ", large change possible") if found.constant else ("changes", ", no mean")
    return name + (more if found.drift is not None and found.drift.large else "")


def rows(root: Path) -> list[list[str]]:
    """Return results, quantity, panel, n/d as printed before and now, and rule, of each estimate of either code."""
    folders = [str(path.parent) for path in sorted(root.glob("results/papers/*/sweep.json"))]
    command = [sys.executable, "-c", EARLIER, *folders]
    ran = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    earlier, lines = json.loads(ran.stdout), []
    for folder in folders:
        analysis = Analysis(Diagram.of(read(folder)))
        _ = analysis.claims
        values: Any = analysis._shown
        for (value, probability, along), one in values.items():
            same = (probability, along) == (0.5, "n/d")
            for found, (estimate, low, high) in (
                zip(one.pooled, earlier[f"{folder} {value}"], strict=True) if same else ()
            ):
                if np.isnan(estimate) and not found.interval.known:
                    continue
                before = "" if np.isnan(estimate) else f"{estimate:.2f} [{low:.2f}, {high:.2f}]"
                now = at(found).removeprefix("n/d = ") if found.interval.known else ""
                lines.append([Path(folder).name, f"`{value}`", found.panel.title or "all", before, now, rule(found)])
    return lines


NOTE = """
- `constant`: mean with interval; `large change possible`: and the change over d that is not excluded, beyond 50 %.
- `changes`: range over d, and the mean with the words "changes with d"; `no mean`: the change may exceed 50 %.
- `no jump`: no number, because two plateaus are not established.
"""

if __name__ == "__main__":
    given = arguments(__doc__, at="c9631fe")
    archive = ["git", "-C", str(HERE.parent), "archive", given.at, "recovery", "results/papers", "configs"]
    with TemporaryDirectory() as place:
        with tarfile.open(fileobj=BytesIO(subprocess.run(archive, capture_output=True, check=True).stdout)) as files:
            files.extractall(place, filter="data")
        found = rows(Path(place))
    counts = ", ".join(f"{name} {count}" for name, count in Counter(row[-1] for row in found).most_common())
    head = f"{len(found)} pooled n/d of the results of commit {given.at}, `before` as the code of that commit prints it"
    lines = [f"{head},\n`now` as today's code does. By rule: {counts}.", ""]
    written(__file__, [*lines, *table(("results", "quantity", "panel", "before", "now", "rule"), found), NOTE])
