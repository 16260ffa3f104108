"""Simulated laws of success with known thresholds: one list to choose an estimator by, another one to judge it by.

A law gives P(success) at v = n/d and size d, with P = 1/2 at the threshold of that size. `CHOOSING`, `CHANGING` and
`FOLDED` set the limits of the estimator; `benchmarks.truths` judges it by `TRUTHS`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, ndtr

from recovery.report.statistics.counts import Counts, Draws
from recovery.report.statistics.scaling import scaling

Array = Any
Rng = np.random.Generator
Chance = Callable[[Array, Array, Array], Array]
"""P(success) at v, at size d, with the threshold of that size."""
Change = Callable[[Array, float], Array]
"""Thresholds of sizes d, with the mean near the second argument."""

SIZES = {
    1: (40.0,),
    2: (20.0, 60.0),
    3: (20.0, 40.0, 60.0),
    6: (12.0, 20.0, 32.0, 48.0, 66.0, 90.0),
    10: (11.0, 18.0, 23.0, 37.0, 44.0, 52.0, 61.0, 73.0, 88.0, 97.0),
}
N = np.arange(4.0, 2001.0, 4.0)
"""Every size has the n of this lattice up to 5 d, at most 40 of them."""
EVEN, WHOLE = np.arange(10.0, 101.0, 10.0), np.arange(10.0, 401.0, 10.0)
"""Ten even sizes, and the n that every size has on the grids of earlier releases (sizes 0)."""
RATIOS = (1.93, 2.0, 2.03, 2.07)


@dataclass(frozen=True)
class Law:
    """shared: trials of one size and replicate share a uniform number over all n, and the design says so.

    spread: correlation of the trials of one cell, which the design knows too. monotone: whether success rises
    everywhere. kept: share of the planned trials that are stored.
    """

    name: str
    chance: Chance
    change: Change | None = None
    shared: bool = False
    spread: float = 0.0
    monotone: bool = True
    kept: float = 1.0


def grown(v: Array, d: Array, t: Array, width: float = 1.4) -> Array:
    """Return (v - t) / width sqrt(d): a transition that becomes narrower."""
    return (v - t) / width * np.sqrt(d)


def probit(v: Array, d: Array, t: Array) -> Array:
    return ndtr(grown(v, d, t))


def logistic(v: Array, d: Array, t: Array) -> Array:
    return expit((v - t) / 0.4)


def jump(share: float, width: float) -> Chance:
    """Return a smooth law with a jump of `share` at the threshold."""
    return lambda v, d, t: (1 - share) * expit((v - t) / width) + share * (np.sign(v - t) + 1) / 2


def limited(floor: float, ceiling: float, width: float) -> Chance:
    """Return a logistic law from a floor to a ceiling, with 1/2 at the threshold."""
    at = np.log((0.5 - floor) / (ceiling - 0.5))
    return lambda v, d, t: floor + (ceiling - floor) * expit((v - t) / width + at)


def mixed(share: float, first: float, second: float, apart: float) -> Chance:
    """Return a mixture of two transitions, the first of them earlier by `apart`."""

    def law(v: Array, d: Array, t: Array) -> Array:
        early = share * expit(apart / first)
        late = -second * np.log((1 - share) / (0.5 - early) - 1)
        return share * expit((v - t + apart) / first) + (1 - share) * expit((v - t + late) / second)

    return law


def hump(first: float, second: float) -> Chance:
    """Return a success that rises, falls to 0 at t + first, and rises again."""
    return lambda v, d, t: np.where(
        v < t + first / 2,
        expit((v - t) / 0.1),
        np.where(v < t + first, 1 - expit((v - t - first / 2) / 0.1 - 2), expit((v - t - first - second) / 0.1)),
    )


def linear(change: float) -> Change:
    return lambda d, t: t * (1 + change * (np.log(d / d.min()) / max(np.log(d.max() / d.min()), 1e-9) - 0.5))


def quadratic(change: float) -> Change:
    def bent(d: Array, t: float) -> Array:
        s = 2 * np.log(d / d.min()) / max(np.log(d.max() / d.min()), 1e-9) - 1
        return t * (1 + change * (s**2 - 1 / 3))

    return bent


def alternate(change: float) -> Change:
    return lambda d, t: t * (1 + change / 2 * (-1.0) ** np.arange(len(d)))


def one(change: float) -> Change:
    return lambda d, t: t * (1 + change * (np.arange(len(d)) == len(d) // 2))


CHOOSING = (
    Law("probit", probit),
    Law("logistic", logistic),
    Law("wendel", lambda v, d, t: ndtr(grown(v, d, t, 1.0) / np.sqrt(v))),
    Law("weibull", lambda v, d, t: 1 - 2.0 ** -((v / t) ** 6)),
    Law("gompertz", lambda v, d, t: np.exp(-np.log(2) * np.exp(-1.15 * grown(v, d, t, 1)))),
    Law("gompertz, wider", lambda v, d, t: np.exp(-np.log(2) * np.exp(-grown(v, d, t, 1.3)))),
    Law("mirrored", lambda v, d, t: 1 - np.exp(-np.log(2) * np.exp(grown(v, d, t, 1)))),
    Law("plateau .9", limited(0.0, 0.9, 0.25)),
    Law("floor .15", limited(0.15, 1.0, 0.3)),
    Law("two steps", mixed(0.35, 0.12, 0.12, 0.4)),
    Law("step", lambda v, d, t: (np.sign(v - t) + 1) / 2),
    Law("jump .4", jump(0.4, 0.3)),
    Law("wide", lambda v, d, t: ndtr((v - t) / 1.0)),
    Law("beta-binomial", probit, spread=0.1),
    Law("shared draws", probit, shared=True),
)
CHANGING = (
    Law("linear 15 %", probit, linear(0.15)),
    Law("quadratic 15 %", probit, quadratic(0.15)),
    Law("alternate 7 %", probit, alternate(0.07)),
    Law("one +50 %", probit, one(0.5)),
    Law("logistic, linear 15 %", logistic, linear(0.15)),
    Law("logistic, one +50 %", logistic, one(0.5)),
)
FOLDED = (
    Law("up, down, up", hump(1.2, 0.5), monotone=False),
    Law("up, down, up, wide", hump(1.6, 0.4), monotone=False),
)

TRUTHS = (
    Law("wendel", lambda v, d, t: ndtr((v - t) * np.sqrt(d / v))),
    Law("logistic", lambda v, d, t: expit((v - t) / 0.5)),
    Law("skewed", lambda v, d, t: 1 - 2.0 ** -((v / t) ** 6)),
    Law("gompertz", lambda v, d, t: np.exp(-np.log(2) * np.exp(-1.15 * (v - t) * np.sqrt(d / v)))),
    Law("mirrored", lambda v, d, t: 1 - np.exp(-np.log(2) * np.exp(1.15 * (v - t) * np.sqrt(d / v)))),
    Law("two steps", mixed(0.35, 0.12, 0.12, 0.4)),
    Law("plateau", limited(0.0, 0.9, 0.25)),
    Law("step", lambda v, d, t: (np.sign(v - t) + 1) / 2),
    Law(
        "drifting",
        lambda v, d, t: ndtr((v - t) * np.sqrt(d / v)),
        lambda d, t: t + 0.3 * np.log10(d) - 0.3 * (d @ np.log10(d)) / d.sum(),
    ),
    Law("beta-binomial", lambda v, d, t: ndtr((v - t) * np.sqrt(d / v)), spread=0.1),
    Law("correlated", lambda v, d, t: ndtr((v - t) * np.sqrt(d / v)), shared=True),
    Law("correlated logistic", lambda v, d, t: expit((v - t) / 0.5), shared=True),
    Law("missing", lambda v, d, t: ndtr((v - t) * np.sqrt(d / v)), kept=0.7),
)
"""The laws of earlier releases, on n = 10, 20, ..., 400 and ten sizes d (sizes 0), on the lattice and off it."""


@dataclass(frozen=True)
class Grid:
    """A simulated grid: size, v, successes and trials of each cell; the threshold of each size; single trials."""

    d: Array
    v: Array
    k: Array
    n: Array
    thresholds: Array
    draws: tuple[Array, Array, Array] | None = None


def draw(law: Law, sizes: int, replicates: int, rng: Rng, seed: int) -> Grid:
    """Return a grid of a law; the thresholds lie on the lattice and between its values in turn."""
    every, t = np.array(SIZES[sizes or 10]), RATIOS[seed % len(RATIOS)]
    if not sizes and seed // len(RATIOS) % 2:
        every = EVEN
    own = np.full(len(every), t) if law.change is None else law.change(every, t)
    lattices = [N[5 * size >= N] if sizes else WHOLE for size in every]
    lattices = [one[:: -(-len(one) // 40)] for one in lattices]
    d, n = np.repeat(every, [len(one) for one in lattices]), np.concatenate(lattices)
    of = np.searchsorted(every, d)
    v, total = n / d, rng.binomial(replicates, law.kept, len(n)).astype(float)
    p = np.clip(law.chance(v, d, own[of]), 0.0, 1.0)
    if law.spread:
        inside = (p > 1e-9) & (p < 1 - 1e-9)
        sure = np.where(inside, p, 0.5) * (1 / law.spread - 1)
        p = np.where(inside, rng.beta(sure, 1 / law.spread - 1 - sure), p)
    if not law.shared and not law.spread:
        return Grid(d, v, rng.binomial(total.astype(int), p).astype(float), total, own)
    cell = np.tile(np.arange(len(p)), replicates)
    chances = rng.random((replicates, len(every)))[:, of] if law.shared else rng.random((replicates, len(p)))
    outcome = (chances < p).astype(float)
    numbers = np.repeat(np.arange(replicates), len(p)) * len(every) + of[cell] if law.shared else cell
    return Grid(d, v, outcome.sum(axis=0), total, own, (cell, outcome.ravel(), numbers))


def counts_of(grid: Grid) -> Counts:
    return Counts.make(grid.d, grid.v, grid.k, grid.n, None if grid.draws is None else Draws(*grid.draws))


def scaled(limit: float, by: float, power: float, count: int, seed: int) -> dict[str, bool]:
    """Return whether the intervals of the limit and of the exponent cover, for thresholds with known errors."""
    rng = np.random.default_rng([11, count, round(100 * power), seed])
    y = np.geomspace(10, 10 * 2 ** (count - 1), count)
    error = 0.02 * (y / 10) ** -0.3 * rng.uniform(0.7, 1.4, count)
    found = scaling(y, limit + by * (y / 10) ** -power + error * rng.standard_normal(count), error)
    assert found is not None
    pairs = {"limit": (found.limit, limit), "exponent": (found.exponent, power)}
    return {name: one.low <= true <= one.high for name, (one, true) in pairs.items()}
