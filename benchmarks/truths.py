"""Does a threshold's interval cover, and does it decide? Grids are drawn from curves of every kind, on and off the
lattice of n and d, and analysed as a report does.

    python -m benchmarks.truths [--truth wendel ...] [--replicates 1 5 20 100] [--grids 250] [--jobs 1] [--out FILE.csv]
                               [--before FILE.csv]

n = 10, 20, ..., 400 and ten sizes d, in half of the grids multiples of 10 and in half not; the ratio is 1.93, 2.00,
2.03 or 2.07 in turn. Per truth and replicates: how often the 95 % interval covers, how often no threshold is given, how
true and false claims are judged, and how often "ratio +- 0.15" is decided. Each row is added to the CSV when it is
done, and one that stands there is not measured again. `--before` names the CSV of an earlier version, whose half widths
fill a column. Each grid has a seed of its own, so jobs change nothing.
"""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import arguments, commit, table, written
from benchmarks.laws import RATIOS, TRUTHS, WHOLE, Law, draw as drawn
from recovery.report.claims.result import decided
from recovery.report.claims.threshold import tests_of
from recovery.report.diagram import Panel, ThresholdAxis
from recovery.report.statistics import Threshold, threshold_of
from recovery.report.statistics.counts import Draws
from recovery.types import Array

REPLICATES = (1, 5, 20, 100)
LAWS = {law.name: law for law in TRUTHS}
TRUE = ((0.0, 0.02), (0.0, 0.1), (0.1, 0.15), (0.0, 0.3))
FALSE = ((0.1, 0.05), (0.2, 0.15), (-0.2, 0.1), (0.5, 0.2), (0.16, 0.15))
"""(value less the ratio, tolerance) of claims that are true, and false."""


def draw(law: Law, replicates: int, seed: int) -> tuple[Threshold, float, Array]:
    """Return the threshold of one panel of counts, its ratio, and n/d at 50 % at each of its sizes."""
    rng = np.random.default_rng([TRUTHS.index(law), replicates, seed])
    grid = drawn(law, 0, replicates, rng, seed)
    columns = {"n": grid.v * grid.d, "d": grid.d, "yes": grid.k, "no": grid.n - grid.k, "trials": grid.n}
    columns |= {"missing": replicates - grid.n, **dict.fromkeys(("failed", "undecided", "unmeasured", "undefined"), 0)}
    sizes = sorted(set(grid.d.tolist()))
    panel = Panel(law.name, {}, pd.DataFrame(columns), list(WHOLE), sizes)
    draws = None if grid.draws is None else Draws(*grid.draws)
    return threshold_of(panel, ThresholdAxis(), draws=draws), RATIOS[seed % len(RATIOS)], grid.thresholds


def judged(truth: str, replicates: int, seed: int) -> dict[str, float]:
    """Analysis of one grid, compared with the truth."""
    found, ratio, ratios = draw(LAWS[truth], replicates, seed)
    given = found.interval
    pairs = zip(found.slices, ratios, strict=True)
    inside = [one.along_x.low <= true * one.y <= one.along_x.high for one, true in pairs]
    row = {
        "given": float(np.isfinite(given.estimate)),
        "covers": float(given.low <= ratio <= given.high),
        "error": given.estimate - ratio,
        "half": (given.high - given.low) / 2 if given.bounded else np.nan,
        "drift": float(not found.constant),
        "sizes": float(np.mean(inside)),
        "decided": float(decided(tests_of(found, (ratio - 0.15, ratio + 0.15)))[1] == "supported"),
    }
    for kind, claims in (("true", TRUE), ("false", FALSE)):
        verdicts = [decided(tests_of(found, (ratio + by - room, ratio + by + room)))[1] for by, room in claims]
        row[f"{kind}_contradicted"] = float(np.mean([verdict == "contradicted" for verdict in verdicts]))
        row[f"{kind}_held"] = float(np.mean([verdict == "supported" for verdict in verdicts]))
    return row


def measure(truth: str, replicates: int, grids: int, pool: ProcessPoolExecutor) -> dict[str, object]:
    """Return means over the grids, and the bias and spread of the error."""
    rows = list(pool.map(partial(judged, truth, replicates), range(grids), chunksize=max(1, grids // 16)))
    table = pd.DataFrame(rows)
    means: dict[str, object] = {str(name): value for name, value in table.mean().items()}
    means |= {"bias": table["error"].mean(), "error": table["error"].std()}
    return {"truth": truth, "replicates": replicates, "grids": grids, **means}


COLUMNS = {
    **{name: name for name in ("truth", "replicates", "grids", "covers", "given", "bias")},
    **{"error": "spread", "half": "half width", "before": "before", "decided": "+-0.15 decided"},
    **{name: name.replace("_", " ") for name in ("true_contradicted", "false_held", "true_held", "false_contradicted")},
    **{"drift": "drift seen", "sizes": "n50 at each d covers"},
}
"""Measured name -> heading."""


HEAD = "Thresholds and claims on n = 10, 20, ..., 400 and ten sizes d, with the ratios 1.93, 2.00, 2.03 and 2.07."
NOTE = """
- `given`: a threshold has an estimate. `bias` and `spread` of the estimate; `half width` of bounded 95 % intervals.
- `before`: half width of the version that is named by `--before`.
- True claims: ratio +- 0.02, 0.1, 0.3, and one that is 0.1 off +- 0.15. False ones miss by 0.01 to 0.3.
- The ratio of `drifting` is the mean over d, weighed by d; a claim that holds of the mean is a true one.
- Correlated trials share a uniform number over all n, beta-binomial ones the chance of their cell: the design says so.
"""


def rows(given: Any) -> Iterator[list[str]]:
    """Yield the cells of each row; add it to the CSV when it is measured."""
    known = pd.read_csv(given.out) if given.out.exists() else pd.DataFrame(columns=list(COLUMNS))
    before: Any = pd.read_csv(given.before).set_index(["truth", "replicates"])["half"] if given.before.is_file() else {}
    known = known[(known["grids"] == given.grids) & (known.get("commit") == commit())]
    with ProcessPoolExecutor(given.jobs) as pool:
        for replicates, truth in product(given.replicates, given.truth):
            found = known[(known["truth"] == truth) & (known["replicates"] == replicates)]
            if not len(found):
                found = pd.DataFrame([measure(truth, replicates, given.grids, pool) | {"commit": commit()}])
                known = pd.concat([known, found], ignore_index=True) if len(known) else found
                known.to_csv(given.out, index=False, float_format="%.6g")
            found = found.assign(before=before.get((truth, replicates), np.nan))
            cells = [found.iloc[0].to_dict()[name] for name in COLUMNS]
            yield [f"{value:.3f}" if isinstance(value, float) else str(value) for value in cells]


if __name__ == "__main__":
    out = Path(__file__).with_suffix(".csv")
    options = arguments(__doc__, truth=tuple(LAWS), replicates=REPLICATES, grids=250, jobs=1, out=out, before=Path())
    written(options.out, [HEAD, "", *table(tuple(COLUMNS.values()), rows(options)), NOTE])
