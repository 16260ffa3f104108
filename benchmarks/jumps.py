"""Where a number jumps along n: bias and coverage on simulated noisy panels, analysed as a report does.

    python -m benchmarks.jumps [--panels 200]

The sizes are d = 10, 20, ..., 100. One row a truth, grid and replicates: how often a jump is found, the bias of n/d
where one ratio is given, how often that interval covers or the ratio is withdrawn, how often the interval at a size
covers (sizes with cells near the jump), and n/d at a quarter and three quarters of the way.
"""

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.special import expit, ndtr

from benchmarks import arguments, table, written
from benchmarks.truths import GRIDS, SIZES
from recovery.report.diagram import Diagram
from recovery.report.statistics import Estimates
from recovery.store import Grid
from recovery.theory import CURVES
from recovery.types import Array, Rng

AT = 2.03
"""n/d of the sharp steps: on no cell."""


Draw = Callable[[Array, Array, Rng], Any]


def _noisy(mean: Callable[[Array], Any], spread: float = 0.3) -> Draw:
    """Return a draw of lognormal noise around a mean of n/d."""
    return lambda n, d, rng: mean(n / d) * rng.lognormal(0.0, spread, len(n))


def _trends(n: Array, d: Array, rng: Rng) -> Any:
    """Draw a step between a falling and a rising line, as distances under much noise have it."""
    return np.where(n / d < AT, 1.2 - 0.1 * n / d, 0.4 + 0.03 * n / d) + rng.normal(0, 0.1, len(n))


def _states(n: Array, d: Array, rng: Rng) -> Any:
    """Draw trials near 1 or near 0.1, with the probability of Wendel's law: noiseless recovery."""
    near = np.where(rng.random(len(n)) < CURVES["wendel"].function(n, d), 1.0, 0.1)
    return near + rng.normal(0, 0.03, len(n))


def _slope(n: Array, d: Array, rng: Rng) -> Any:
    """Draw around a mean that falls smoothly, within a few sqrt n."""
    return 0.2 + 0.8 * ndtr((2 * d - n) / np.sqrt(n)) + rng.normal(0, 0.1, len(n))


TRUTHS: dict[str, tuple[Draw, float]] = {
    "step": (_noisy(lambda ratio: np.where(ratio < AT, 1.0, 0.3), 0.4), AT),
    "trends": (_trends, AT),
    "states": (_states, 2.0),
    "slope": (_slope, 2.0),
    "logistic": (_noisy(lambda ratio: expit((2 - ratio) / 0.25)), 2.0),
    "wide logistic": (_noisy(lambda ratio: expit((2 - ratio) / 0.5)), 2.0),
    "1/n": (_noisy(lambda ratio: 1 / ratio), np.nan),
    "exponential": (_noisy(lambda ratio: np.exp(-ratio)), np.nan),
    "flat": (_noisy(lambda _: 1.0, 0.4), np.nan),
}
"""A draw of values, and the n/d at which a trial is beyond the middle with probability 1/2."""


def diagram(truth: str, grid: str, replicates: int, seed: int) -> Diagram:
    """A grid of drawn distances."""
    n, d, replicate = (a.ravel() for a in np.meshgrid(GRIDS[grid], SIZES, np.arange(replicates)))
    rng = np.random.default_rng([list(TRUTHS).index(truth), list(GRIDS).index(grid), replicates, seed])
    rows = pd.DataFrame({"n": n.astype(int), "d": d.astype(int), "replicate": replicate.astype(int)})
    same: dict[str, Any] = {"ensemble": "gaussian", "planted": "linear", "architecture": "relu", "method": "min_norm"}
    rows = rows.assign(**same, noise=0.0, sweep=truth, status="ok", trial_id=[f"{i:032x}" for i in range(len(rows))])
    rows["absolute_distance"] = TRUTHS[truth][0](n, d, rng)
    config = {"name": "jumps", "replicates": replicates, "axes": {}, "report": {"value": "absolute_distance"}}
    document = {"name": truth, "digest": "0", "config": config, "trials": len(rows), "provenance": {}}
    return Diagram.of(Grid(Path(truth), document, pa.Table.from_pandas(rows, preserve_index=False)))


def analysed(truth: str, grid: str, replicates: int, seed: int) -> dict[str, float]:
    """Return the estimate that the report prints for one panel."""
    found = Estimates(diagram(truth, grid, replicates, seed)).pooled[0]
    true = TRUTHS[truth][1]
    if found.jump is None or np.isnan(found.jump.before):
        return {"found": 0.0}
    inside = [size.interval.low <= true * size.y <= size.interval.high for size in found.slices]
    quarters = [part.interval.estimate for part in found.jump.quarters]
    given = bool(np.isfinite(found.interval.estimate))
    return {
        "found": 1.0,
        "given": given,
        "estimate": found.interval.estimate if given else np.nan,
        "covers": found.interval.low <= true <= found.interval.high if given else np.nan,
        "or_withdrawn": not given or found.interval.low <= true <= found.interval.high,
        "length": found.interval.high - found.interval.low if given else np.nan,
        "sizes": float(np.mean(inside)),
        "quarter": quarters[0],
        "three": quarters[1],
    }


COLUMNS = (
    *("truth", "grid", "replicates", "found", "one ratio given", "bias %", "it covers", "length"),
    *("covers or withdrawn", "sizes cover", "quarter, three quarters"),
)
STEPS = """
A step that lies between two n is known only up to the bracket of the grid's n/d: the estimate is its
middle, and the interval the whole of it. `wide logistic`, `1/n` and `exponential` have no levels next to a jump: the
fewer are found, the better."""


def rows(panels: int) -> Iterator[list[object]]:
    """Yield the cells of each row."""
    for truth, (grid, replicates) in product(TRUTHS, (("fine", 5), ("fine", 20), ("coarse", 20))):
        found = pd.DataFrame([analysed(truth, grid, replicates, seed) for seed in range(panels)]).astype(float)
        mean, cells = found.mean(), [""] * 7
        if "given" in found:
            bias = 100 * (mean["estimate"] / TRUTHS[truth][1] - 1)
            shares = [f"{mean[name]:.3f}" for name in ("covers", "length", "or_withdrawn", "sizes")]
            cells = [f"{mean['given']:.3f}", f"{bias:+.2f}", *shares, f"{mean['quarter']:.3f}, {mean['three']:.3f}"]
        yield [truth, grid, replicates, f"{mean['found']:.3f}", *cells]


if __name__ == "__main__":
    PANELS = arguments(__doc__, panels=200).panels
    written(__file__, [f"{PANELS} panels a row.", "", *table(COLUMNS, rows(PANELS)), STEPS])
