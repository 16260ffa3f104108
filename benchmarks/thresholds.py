"""Coverage and width of threshold intervals, and the power of their tests, on laws that chose nothing.

    python -m benchmarks.thresholds [--grids 250] [--jobs 1] [--out FILE.json] [--part showing ...]

Per law, number of sizes and replicates: how often the 95 % interval covers, its half width by the ideal one of a law
known up to its place and by the spread of the estimates, how often a smooth curve gives it, and how often a constant
and a monotone success are rejected. Where the threshold changes, `covers` is about the intervals of all sizes at once.
`probit` declares the model and compares with a two-parameter probit. Each grid has a seed of its own.
"""

import json
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import scipy

from benchmarks.laws import CHANGING, CHOOSING, FOLDED, SHOWING, TRUTHS, Grid, Law, draw, ideal
from recovery.config.header import IntervalShape as Shape
from recovery.interval import LEVEL
from recovery.report.statistics.counts import Counts, Draws
from recovery.report.statistics.estimator import estimate
from recovery.report.statistics.scaling import scaling

REPLICATES = (1, 5, 20, 100)
Array = Any
Row = dict[str, Any]


def counts_of(grid: Grid) -> Counts:
    draws = None if grid.draws is None else Draws(*grid.draws)
    return Counts.make(grid.d, grid.v, grid.k, grid.n, draws)


def drawn(part: str, law: Law, sizes: int, replicates: int, seed: int) -> Grid:
    rng = np.random.default_rng([zlib.crc32(f"{part} {law.name}".encode()), sizes, replicates, seed])
    return draw(law, sizes, replicates, rng, seed)


def measured(part: str, number: int, sizes: int, replicates: int, shape: Shape, seed: int) -> Row:
    """Return what one grid gives. number: of the law in its list, because laws cannot be sent to other processes."""
    law = LAWS[part][0][number]
    grid = drawn(part, law, sizes, replicates, seed)
    counts = counts_of(grid)
    begin = time.process_time()
    found = estimate(counts, shape=shape)
    interval, true = found.interval(), float(grid.thresholds.mean())
    seconds = time.process_time() - begin
    row: Row = {
        "covers": interval.low <= true <= interval.high,
        "given": interval.known and interval.bounded,
        "half": (interval.high - interval.low) / 2,
        "error": interval.estimate - true,
        "ideal": ideal(law, grid),
        "smooth": found.curve is not None,
        "changes": not found.constant,
        "folded": not found.monotone,
        "seconds": seconds,
    }
    if law.change is not None:
        level, row["sure"] = 1 - (1 - LEVEL) / counts.slices, True
        for i, own in enumerate(grid.thresholds):
            one = estimate(counts.slice(i)).interval(level)
            row["sure"] &= bool(one.low <= own <= one.high)
        row["covers"] = row.pop("sure")
    if shape == "probit":
        row["probit"] = probit_half(counts, true)
    return row


def probit_half(counts: Counts, t: float) -> float:
    """Return 1.96 standard errors of the threshold of a probit whose width falls as d^-1/2 or is constant."""
    best: tuple[float, float] = (-np.inf, np.nan)
    for power in (0.0, 0.5):
        factor = counts.y[counts.of] ** power

        def loss(b: Array, factor: Array = factor) -> float:
            eta = np.exp(b[1]) * (counts.v - b[0]) * factor
            return -float(counts.k @ scipy.special.log_ndtr(eta) + (counts.n - counts.k) @ scipy.special.log_ndtr(-eta))

        start = np.array([t, -np.log(0.3 * factor.mean())])
        found = scipy.optimize.minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-7})
        u = (counts.v - found.x[0]) * factor
        eta = np.exp(found.x[1]) * u
        weight = counts.n * np.exp(
            -(eta**2) - np.log(2 * np.pi) - scipy.special.log_ndtr(eta) - scipy.special.log_ndtr(-eta)
        )
        columns = np.column_stack([-np.exp(found.x[1]) * factor, eta])
        error = np.linalg.inv((columns.T * weight) @ columns + 1e-12 * np.eye(2))[0, 0] ** 0.5
        best = max(best, (-found.fun, 1.96 * error))
    return best[1]


def summary(part: str, law: Law, sizes: int, replicates: int, shape: Shape, rows: list[Row]) -> Row:
    """Return the row of a table."""
    column: Callable[[str], Array] = lambda name: np.array([row[name] for row in rows], float)  # noqa: E731
    given = column("given") > 0
    half, ideals, error = column("half")[given], column("ideal")[given], column("error")[given]
    row: Row = {"part": part, "law": law.name, "sizes": sizes, "replicates": replicates}
    row |= {"shape": shape, "grids": len(rows)}
    row |= {name: float(column(name).mean()) for name in ("covers", "given", "smooth", "changes", "folded", "seconds")}
    row |= {"half": float(half.mean()) if given.any() else None}
    if given.sum() > 1:
        row |= {"by_ideal": float((half / ideals).mean()), "by_spread": float(half.mean() / (1.96 * error.std()))}
        row |= {"median_by_ideal": float(np.median(half / ideals))}
    if "probit" in rows[0]:
        pairs = half / column("probit")[given]
        row["by_probit"] = float(np.median(pairs))
        row["mean_by_probit"] = float(half.mean() / column("probit")[given].mean())
    return row


def scaled(limit: float, by: float, power: float, count: int, seed: int) -> Row:
    """Return whether the intervals of the limit and of the exponent cover, for thresholds with known errors."""
    rng = np.random.default_rng([11, count, round(100 * power), seed])
    y = np.geomspace(10, 10 * 2 ** (count - 1), count)
    error = 0.02 * (y / 10) ** -0.3 * rng.uniform(0.7, 1.4, count)
    found = scaling(y, limit + by * (y / 10) ** -power + error * rng.standard_normal(count), error)
    assert found is not None
    inside = [one.low <= true <= one.high for one, true in ((found.limit, limit), (found.exponent, power))]
    return {"limit": inside[0], "exponent": inside[1], "rejected": found.p < 0.05, "bounded": found.limit.bounded}


LAWS: dict[str, tuple[tuple[Law, ...], tuple[int, ...]]] = {
    "truths": (TRUTHS, (0,)),
    "showing": (SHOWING, (1, 2, 3, 6, 10)),
    "choosing": (CHOOSING, (1, 3, 6, 10)),
    "changing": (CHANGING, (3, 6, 10)),
    "folded": (FOLDED, (1, 3, 6)),
    "probit": (CHOOSING[:2], (1, 3, 6)),
}
"""Part -> its laws and numbers of sizes."""


def jobs(parts: tuple[str, ...]) -> list[tuple[str, int, int, int, Shape]]:
    """Return the rows of the tables."""
    found: list[tuple[str, int, int, int, Shape]] = []
    for part in (part for part in parts if part in LAWS):
        shape: Shape = "probit" if part == "probit" else "smooth"
        replicates = REPLICATES[part == "probit" :]
        laws, sizes = LAWS[part]
        found += [(part, *at, shape) for at in product(range(len(laws)), sizes, replicates)]
    return found


def tables(parts: tuple[str, ...], grids: int, workers: int) -> list[Row]:
    """Return the rows of all tables."""
    found = list[Row]()
    with ProcessPoolExecutor(workers) as pool:
        waiting = []
        for job in jobs(parts):
            waiting.append((job, pool.map(partial(measured, *job), range(grids), chunksize=max(1, grids // 10))))
        for job, rows in waiting:
            found.append(summary(job[0], LAWS[job[0]][0][job[1]], *job[2:], list(rows)))
        if "scaling" in parts:
            for count, power, by in product((3, 4, 6, 8), (0.5, 1.0, 2.0), (0.5, -0.5)):
                some = list(pool.map(partial(scaled, 2.0, by, power, count), range(grids), chunksize=50))
                shares = {name: float(np.mean([row[name] for row in some])) for name in some[0]}
                found.append({"part": "scaling", "sizes": count, "power": power, "by": by, **shares})
    return found


PARTS = (*LAWS, "scaling")
if __name__ == "__main__":
    from pathlib import Path

    from benchmarks import arguments

    options = arguments(__doc__, grids=250, jobs=1, out=Path(__file__).with_suffix(".json"), part=PARTS)
    options.out.write_text(json.dumps(tables(tuple(options.part), options.grids, options.jobs), indent=1) + "\n")
