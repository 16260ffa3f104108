"""Crossings of a measured value: coverage on simulated panels, analysed as a report does.

    python -m benchmarks.crossings [--panels 250] [--law step ...] [--replicates 5 10 20] [--jobs 1] [--to FILE.json]

n = 10, 20, ..., 400 (in half of the panels 20, 40, ..., 400) and ten values of d. Each law draws values with n and d.
The crossing is the n/d where the event `value <= LEVEL` has probability 1/2: there the median crosses LEVEL. `--to`
keeps the rows for a later run.
"""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import product, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.special import expit, ndtr

from benchmarks import arguments, resumed, table, written
from benchmarks.laws import EVEN, SIZES, WHOLE
from recovery.methods.columns import columns_document, select
from recovery.report.diagram import Diagram
from recovery.report.statistics import Estimates
from recovery.store import Grid
from recovery.theory import CURVES
from recovery.types import Array, Rng

AT = 2.03
"""n/d of the sharp steps: on no grid cell."""
Draw = Callable[[Array, Array, Rng], Any]


class Law(NamedTuple):
    """A draw of values at n and d, and the LEVEL and n/d of the crossing: NaN where the median crosses no level."""

    draw: Draw
    level: float = 0.5
    crossing: float = 2.0


def _noisy(median: Callable[[Array], Any], spread: Callable[[Array], Any] = lambda ratio: 0.3 + 0 * ratio) -> Draw:
    """Return a draw of lognormal noise around a median; both are functions of n/d."""
    return lambda n, d, rng: median(n / d) * np.exp(spread(n / d) * rng.standard_normal(len(n)))


def _logistic(width: float) -> Callable[[Array], Any]:
    return lambda ratio: expit((2 - ratio) / width)


def _step(ratio: Array) -> Any:
    return np.where(ratio < AT, 1.0, 0.3)


def _trends(n: Array, d: Array, rng: Rng) -> Any:
    """Draw a step between a falling and a rising line, as distances under much noise have it."""
    ratio = np.minimum(n / d, 4)
    return np.where(ratio < AT, 1.2 - 0.1 * ratio, 0.4 + 0.03 * ratio) + rng.normal(0, 0.1, len(n))


def _states(n: Array, d: Array, rng: Rng) -> Any:
    """Draw trials near 1 or near 0.1, with the probability of Wendel's law: noiseless recovery."""
    near = np.where(rng.random(len(n)) < CURVES["wendel"].function(n, d), 1.0, 0.1)
    return near + rng.normal(0, 0.03, len(n))


def _slope(n: Array, d: Array, rng: Rng) -> Any:
    """Draw around a mean that falls smoothly, within a few sqrt n."""
    return 0.2 + 0.8 * ndtr((2 * d - n) / np.sqrt(n)) + rng.normal(0, 0.1, len(n))


def _shared(n: Array, d: Array, rng: Rng) -> Any:
    """Draw a logistic fall; the r-th trials of all n share a lognormal factor at each d."""
    trial = pd.DataFrame({"n": n, "d": d}).groupby(["n", "d"]).cumcount().to_numpy()
    common = rng.normal(0, 0.3, (len(np.unique(d)), trial.max() + 1))[np.unique(d, return_inverse=True)[1], trial]
    return _logistic(0.1)(n / d) * np.exp(common + rng.normal(0, 0.2, len(n)))


LAWS: dict[str, Law] = {
    "step": Law(_noisy(_step, lambda ratio: 0.4 + 0 * ratio), 0.55, AT),
    "trends": Law(_trends, 0.7, AT),
    "states": Law(_states),
    "slope": Law(_slope, 0.6),
    **{f"logistic, w = {w:g}": Law(_noisy(_logistic(w))) for w in (0.05, 0.1, 0.25, 0.5)},
    "rising": Law(_noisy(lambda ratio: 1 - 0.9 * _logistic(0.1)(ratio)), 0.55),
    "less noise below": Law(_noisy(_step, lambda ratio: np.where(ratio < AT, 0.1, 0.8)), 0.55, AT),
    "heavy tails": Law(lambda n, d, rng: _step(n / d) + 0.1 * rng.standard_t(1.5, len(n)), 0.65, AT),
    "shared noise": Law(_shared),
    "growing noise": Law(_noisy(lambda ratio: 1 / ratio, lambda ratio: 0.1 * ratio)),
    "1/n": Law(_noisy(lambda ratio: 1 / ratio)),
    "exponential": Law(_noisy(lambda ratio: np.exp(-ratio)), float(np.exp(-2))),
    "flat": Law(_noisy(lambda ratio: 1.0, lambda ratio: 0.4 + 0 * ratio), crossing=np.nan),
}


def diagram_of(rows: pd.DataFrame, **config: Any) -> Diagram:
    """Lay out drawn rows as a report lays out those of a sweep."""
    config |= {"name": "drawn", "replicates": int(rows["replicate"].max()) + 1, "axes": {}}
    document = {"name": "drawn", "digest": "0", "config": config, "trials": len(rows), "provenance": {}}
    document["columns"] = columns_document(select("recovered", "absolute_distance", "test_distance"))
    return Diagram.of(Grid(Path("drawn"), document, pa.Table.from_pandas(rows, preserve_index=False)))


def diagram(law: str, replicates: int, seed: int) -> Diagram:
    """Return a diagram of drawn values."""
    sizes = EVEN if seed % 2 else np.array(SIZES[10])
    n, d, replicate = (
        a.ravel() for a in np.meshgrid(WHOLE[1::2] if seed % 4 > 1 else WHOLE, sizes, np.arange(replicates))
    )
    rng = np.random.default_rng([list(LAWS).index(law), replicates, seed])
    rows = pd.DataFrame({"n": n.astype(int), "d": d.astype(int), "replicate": replicate.astype(int)})
    same: dict[str, Any] = {"ensemble": "gaussian", "planted": "linear", "architecture": "relu", "method": "min_norm"}
    rows = rows.assign(
        **same, noise=0.0, sweep="crossings", status="ok", trial_id=[f"{i:032x}" for i in range(len(rows))]
    )
    rows["absolute_distance"] = LAWS[law].draw(n, d, rng)
    return diagram_of(rows, report={"value": "absolute_distance"})


def analysed(law: str, replicates: int, seed: int) -> dict[str, float]:
    """Return what a report prints of one panel, compared with the truth; NaN where it prints nothing."""
    _, level, true = LAWS[law]
    estimates = Estimates(diagram(law, replicates, seed))
    at = estimates.showing(f"absolute_distance<={level:g}").pooled[0]
    given, covers = at.interval.known, at.interval.low <= true <= at.interval.high
    inside = [one.along_x.low <= true * one.y <= one.along_x.high for one in at.slices]
    return {
        "given": float(given),
        "covers": float(covers) if given else np.nan,
        "half": (at.interval.high - at.interval.low) / 2 if given else np.nan,
        "slices": float(np.mean(inside)),
    }


COLUMNS = ("law", "replicates", "crossing given", "covers", "half width", "slices cover")
NOTE = """
- `crossing`: of the stated value, pooled to n/d; `slices cover`: at each d. `flat` crosses no value.
- Half widths are medians over the panels."""


def measured(law: str, replicates: int, panels: int, jobs: int) -> dict[str, Any]:
    """Return the means of a row over its panels, and the medians of the half widths."""
    with ProcessPoolExecutor(jobs) as pool:
        each = pool.map(analysed, repeat(law), repeat(replicates), range(panels), chunksize=max(1, panels // 64))
        found = pd.DataFrame(list(each))
    mean = found.mean()
    mean["half"] = found["half"].median()
    if not np.isfinite(LAWS[law].crossing):
        mean[["covers", "slices"]] = np.nan
    return {"law": law, "replicates": replicates, **mean}


def rows(given: Any) -> list[list[object]]:
    """Return the cells of each row, and the means over the rows."""
    cases = [(law, replicates, given.panels, given.jobs) for replicates, law in product(given.replicates, given.law)]
    found = pd.DataFrame(resumed(given.to, cases, measured))
    mean = found.mean(numeric_only=True).drop(["replicates", "half"])
    found = pd.concat([found, pd.DataFrame([{"law": "mean of the rows", **mean}])]).astype({"replicates": "Int64"})
    return [[_text(value) for value in row] for row in found.astype(object).to_numpy()]


def _text(value: Any) -> str:
    return "" if pd.isna(value) else f"{value:.3f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    given = arguments(__doc__, panels=250, law=tuple(LAWS), replicates=(5, 10, 20), jobs=1, to=Path())
    written(__file__, [f"{given.panels} panels per row.", "", *table(COLUMNS, rows(given)), NOTE])
