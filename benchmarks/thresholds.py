"""Coverage and width of threshold intervals, and the power of their tests, on laws that chose nothing.

    python -m benchmarks.thresholds [--grids 250] [--jobs 1] [--part new ...]      writes thresholds.md

The seeds are not those of the tests. Where the threshold changes, `covers` is about the intervals of all sizes at once;
where success is not monotone, about the answer that there is none. `declared` is `report.interval: probit` on probit
and logistic laws, beside a two-parameter probit; `plain` is the default there. Each grid has a seed of its own.
"""

import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit, log_ndtr, ndtr, stdtr
from scipy.stats import binomtest

from benchmarks import arguments, table, written
from benchmarks.laws import CHANGING, CHOOSING, FOLDED, Grid, Law, counts_of, draw, grown, jump, limited, mixed, scaled
from recovery.interval import LEVEL
from recovery.report.statistics.counts import Counts
from recovery.report.statistics.estimator import estimate

REPLICATES = (1, 5, 20, 100)
NEW = (
    Law("probit, flatter", lambda v, d, t: ndtr(grown(v, d, t, 2.4))),
    Law("logit, narrower", lambda v, d, t: expit(2.0 * grown(v, d, t, 2.0))),
    Law("heavy tails", lambda v, d, t: stdtr(4, (v - t) / 0.4)),
    Law("lognormal", lambda v, d, t: ndtr(np.log(v / t) / 0.25)),
    Law("ramp", lambda v, d, t: np.clip(0.5 + (v - t) / 1.8, 0, 1)),
    Law("half the grid wide", lambda v, d, t: expit((v - t) / 0.65)),
    Law("plateau .87", limited(0.0, 0.87, 0.22)),
    Law("floor .12, ceiling .93", limited(0.12, 0.93, 0.3)),
    Law("narrow in wide", mixed(0.42, 0.3, 0.1, 0.3)),
    Law("jump .35", jump(0.35, 0.4)),
    Law("sharp", lambda v, d, t: ndtr((v - t) * d / 1.3)),
    Law("dependent cells", lambda v, d, t: expit((v - t) / 0.28), spread=0.09),
    Law("one X for all n", lambda v, d, t: expit((v - t) / 0.3), shared=True),
)
PARTS: dict[str, tuple[tuple[Law, ...], tuple[int, ...]]] = {
    "new": (NEW, (1, 2, 3, 6, 10)),
    "plain": (NEW[:2], (1, 3, 6)),
    "changing": (CHANGING, (3, 6, 10)),
    "folded": (FOLDED, (1, 3, 6)),
    "declared": (CHOOSING[:2], (1, 3, 6)),
}
"""Part -> its laws and numbers of sizes."""
AVERAGED = ("new", "declared")
"""Parts whose laws share a row; the others have a row per law."""


def ideal(law: Law, grid: Grid) -> float:
    """Return 1.96 standard errors of the threshold if the law is known up to its place."""
    own, h = grid.thresholds[np.searchsorted(np.unique(grid.d), grid.d)], 1e-4
    p, up, down = (np.clip(law.chance(grid.v, grid.d, own + by), 1e-12, 1 - 1e-12) for by in (0, h, -h))
    return 1.96 / float(np.sqrt((grid.n * ((up - down) / (2 * h)) ** 2 / (p * (1 - p))).sum()))


def probit_half(counts: Counts, t: float) -> float:
    """Return 1.96 standard errors of t of the better probit: its width falls as d^-1/2, or is constant."""
    best, outcomes = (-np.inf, np.nan), np.concatenate([counts.k, counts.n - counts.k])
    for power in (0.0, 0.5):

        def eta(b: Any, factor: Any = counts.y[counts.of] ** power) -> Any:
            return np.exp(b[1]) * (counts.v - b[0]) * factor

        def loss(b: Any, eta: Any = eta) -> float:
            return -float(outcomes @ log_ndtr(np.concatenate([eta(b), -eta(b)])))

        at = minimize(loss, [t, 1.2 - power * np.log(counts.y).mean()], method="Nelder-Mead").x
        information = counts.n * np.exp(-(eta(at) ** 2)) / (2 * np.pi * ndtr(eta(at)) * ndtr(-eta(at)) + 1e-300)
        columns = np.column_stack([eta(at + np.array([1e-6, 0])) - eta(at), eta(at) * 1e-6]) * 1e6
        inverse = np.linalg.pinv((columns.T * information) @ columns)
        best = max(best, (-loss(at), 1.96 * float(inverse[0, 0]) ** 0.5))
    return best[1]


def measured(part: str, number: int, sizes: int, replicates: int, seed: int) -> dict[str, float]:
    """Return what one grid gives. number: of the law in its list, because laws cannot be sent to other processes."""
    law = PARTS[part][0][number]
    rng = np.random.default_rng([zlib.crc32(f"shown {law.name}".encode()), sizes, replicates, seed])
    grid = draw(law, sizes, replicates, rng, seed)
    counts, true = counts_of(grid), float(grid.thresholds.mean())
    found = estimate(counts, shape="probit" if part == "declared" else "smooth")
    at = found.interval()
    row = {"covers": at.low <= true <= at.high, "given": at.known and at.bounded, "half": (at.high - at.low) / 2}
    row |= {"changes": not found.constant, "folded": not found.monotone, "ideal": np.nan}
    if law.change is not None:
        level = 1 - (1 - LEVEL) / counts.slices
        each = [estimate(one).interval(level) for one in counts.each]
        row["covers"] = all(one.low <= own <= one.high for one, own in zip(each, grid.thresholds, strict=True))
    elif not law.monotone:
        row["covers"] = not found.monotone
    else:
        row["ideal"] = probit_half(counts, true) if part == "declared" else ideal(law, grid)
    return row


def rows(parts: list[str], grids: int, jobs: int) -> Iterator[list[object]]:
    """Yield a row for each part, number of replicates, of sizes and group of laws: means, and the least coverage."""
    with ProcessPoolExecutor(jobs) as pool:
        for part, replicates, sizes in ((p, n, k) for p in parts for n in REPLICATES for k in PARTS[p][1]):
            laws = PARTS[part][0]
            every = range(len(laws))
            for group in [every] if part in AVERAGED else [[i] for i in every]:
                one = {i: partial(measured, part, i, sizes, replicates) for i in group}
                run = {laws[i].name: pool.map(one[i], range(grids)) for i in group}
                each = pd.concat({name: pd.DataFrame([*found]).astype(float) for name, found in run.items()})
                shares = each["covers"].groupby(level=0).mean()
                wrong = sum(binomtest(round(one * grids), grids, 0.95, "less").pvalue < 1e-3 for one in shares)
                ratio = (each["half"] / each["ideal"])[each["given"] > 0].groupby(level=0).median().mean()
                means = [shares.mean(), shares.min(), ratio, *each[["given", "changes", "folded"]].mean()]
                yield [part, sizes, replicates, wrong, shares.idxmin(), *(f"{one:.3f}" for one in means)]


HEADS = "part sizes replicates rejected law covers least by-ideal given changes folded"
NOTE = """
- `law`: the only one of the row, or that with the least coverage. `rejected`: laws whose coverage is below 0.95 at
  0.001.
- `by-ideal`: median half width by that of a law that is known up to its place; of `declared`, by a probit's.
- `changes`, `folded`: how often one threshold, and monotone success, are rejected.
"""
if __name__ == "__main__":
    given = arguments(__doc__, grids=250, jobs=1, part=tuple(PARTS))
    lines = table(HEADS.split(), rows(given.part, given.grids, given.jobs))
    laws = product((3, 4, 6, 8), (0.5, 1.0, 2.0), (0.5, -0.5), range(100))
    each = pd.DataFrame([scaled(2.0, by, power, count, seed) for count, power, by, seed in laws])
    limits = ", ".join(f"{name} {share:.3f}" for name, share in each.mean().items())
    written(__file__, [f"{given.grids} grids per law.", "", *lines, NOTE, f"Scaling of known laws covers: {limits}."])
