"""How many trials does a threshold take? Ours beside python-adaptive and the algorithm of SimDesign's SimSolve.

    python -m benchmarks.roots [--law wendel ...] [--method ours ...] [--runs 200] [--error 0.01]

Each trial is a success or a failure at whole n and d = 50, drawn from a curve of `benchmarks.truths` whose ratio is
between 1.9 and 2.1; n is sought in 10 to 400. Peers have no intervals: they get budgets that double until the mean
absolute error of n/d over the runs is at most `error`. Ours, an adaptive sweep with refinement, stops at half widths.
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
from scipy.special import ndtr

from benchmarks import arguments, table, written
from benchmarks.truths import CURVES
from benchmarks.until import COARSE, goes_on
from recovery.config.sampling import Until
from recovery.report.statistics.curve_free import crossing
from recovery.types import Array, Rng

SIZE = 50.0
LOW, HIGH = 10.0, 400.0
BUDGETS = (100, 200, 400, 800, 1600, 3200, 6400)
HALVES = (0.16, 0.08, 0.04)
"""Half widths of n/d at which ours stops."""
LAWS = ("wendel", "gompertz", "skewed", "logistic")
Trial = Callable[[Array], Array]
"""Outcomes, 0 or 1, at these n."""


def simsolve(trial: Trial, budget: int, rng: Rng) -> float:
    """Probabilistic bisection with replicates and interpolation (ProBABLI), the algorithm of SimSolve in SimDesign.

    Each step runs trials at the median of a density of the root, and multiplies the density on the side that the
    success fraction indicates by the probability of this sign. The root is interpolated by a weighted quadratic.
    """
    n = np.arange(LOW, HIGH + 1)
    density = np.full(len(n), 1 / len(n))
    seen = np.zeros((2, len(n)))
    replicates, left = 10.0, budget
    while left > 0:
        at = int(np.searchsorted(np.cumsum(density), 0.5))
        count = min(int(replicates), left)
        yes = float(trial(np.full(count, n[at])).sum())
        seen[:, at] += yes, count
        left, replicates = left - count, replicates * 1.1
        share = (yes + 0.5) / (count + 1)
        sure = float(ndtr(abs(share - 0.5) / np.sqrt(share * (1 - share) / count)))
        right = n >= n[at] if share < 0.5 else n <= n[at]
        density = density * np.where(right, sure, 1 - sure)
        density /= density.sum()
    median = float(n[np.searchsorted(np.cumsum(density), 0.5)])
    (there,) = np.nonzero(seen[1])
    near = there[np.abs(n[there] - median) <= max(3 * float(np.sqrt(density @ (n - median) ** 2)), 20)]
    if len(near) < 4:
        return median
    shares, weight = seen[0, near] / seen[1, near], np.sqrt(seen[1, near])
    roots = np.roots(np.polyfit(n[near] - median, shares - 0.5, 2, w=weight))
    inside = [root.real for root in np.atleast_1d(roots) if abs(root.imag) < 1e-9 and abs(root.real) < 40]
    return median + min(inside, key=abs, default=0.0)


def average_learner(trial: Trial, budget: int, rng: Rng) -> float:
    """python-adaptive's AverageLearner1D: the crossing of the isotonic fit to its samples."""
    from adaptive import AverageLearner1D

    learner: Any = AverageLearner1D(lambda seeded: 0.0, bounds=(LOW, HIGH), min_samples=10)
    counts: dict[float, list[float]] = {}
    for _ in range(budget):
        ((seed, x),), _losses = learner.ask(1)
        n = float(round(x))
        outcome = float(trial(np.array([n]))[0])
        learner.tell((seed, x), outcome)
        place = counts.setdefault(n, [0.0, 0.0])
        place[int(outcome)] += 1
    return _isotonic(counts)


def learner_2d(trial: Trial, budget: int, rng: Rng) -> float:
    """python-adaptive's Learner2D over n and an axis without effect: the isotonic crossing of its points."""
    from adaptive import Learner2D

    learner: Any = Learner2D(lambda point: 0.0, bounds=((LOW, HIGH), (0.0, 1.0)))
    counts: dict[float, list[float]] = {}
    for _ in range(budget):
        (point,), _losses = learner.ask(1)
        n = float(round(point[0]))
        outcome = float(trial(np.array([n]))[0])
        learner.tell(point, outcome)
        counts.setdefault(n, [0.0, 0.0])[int(outcome)] += 1
    return _isotonic(counts)


def _isotonic(counts: dict[float, list[float]]) -> float:
    n = np.array(sorted(counts))
    no, yes = (np.array([counts[one][k] for one in n.tolist()]) for k in (0, 1))
    return crossing(n, yes, no).estimate


PEERS = {"SimSolve's algorithm": simsolve, "AverageLearner1D": average_learner, "Learner2D": learner_2d}
METHODS = ("ours", *PEERS)


def errors(law: str, method: str, effort: float, runs: int) -> tuple[float, float, float]:
    """Return the mean number of trials, the mean absolute error of n/d, and the coverage of the interval of ours.

    A run without an estimate has the error 2.
    """
    found = []
    for seed in range(runs):
        rng = np.random.default_rng([LAWS.index(law), METHODS.index(method), round(1000 * effort), seed])
        ratio = rng.uniform(1.9, 2.1)

        def chance(n: Array, d: Array, ratio: float = ratio) -> Array:
            return np.clip(CURVES[law](n, d, ratio), 0.0, 1.0)

        if method == "ours":
            until = Until(f"threshold +-{effort}", refine=True, ceiling=500)
            row = goes_on(rng, COARSE, np.array([SIZE]), chance, until, 2)
            trials, estimate, covers = row["trials"], row["estimate"], row["low"] <= ratio <= row["high"]
        else:

            def trial(n: Array, chance: Any = chance, rng: Rng = rng) -> Array:
                return (rng.random(len(n)) < chance(n, np.full(len(n), SIZE))).astype(float)

            trials, estimate, covers = effort, PEERS[method](trial, int(effort), rng) / SIZE, np.nan
        found.append((trials, abs(estimate - ratio) if np.isfinite(estimate) else 2.0, covers))
    trials, error, covers = np.mean(found, axis=0)
    return float(trials), float(error), float(covers)


def rows(laws: list[str], methods: list[str], runs: int, error: float) -> Iterator[list[object]]:
    """Yield the cells of each row: for ours one per half width, then for all the trials that reach the error."""
    for law, method in product(laws, methods):
        seen: list[tuple[float, float]] = []
        for effort in HALVES if method == "ours" else BUDGETS:
            trials, mean, covers = errors(law, method, effort, runs)
            seen.append((trials, mean))
            if method == "ours":
                yield [law, f"ours, half width {effort:g}", runs, f"{trials:.0f}", f"{mean:.4f}", f"{covers:.3f}"]
            elif mean <= error:
                break
        yield [law, method, runs, _reached(seen, error), f"{error:g}", ""]


def _reached(seen: list[tuple[float, float]], error: float) -> str:
    """Return the trials at which the error is reached, interpolated in logarithms between two efforts."""
    last = next((k for k, (_, mean) in enumerate(seen) if mean <= error), None)
    if not last:
        return f"over {seen[-1][0]:.0f}" if last is None else f"at most {seen[0][0]:.0f}"
    (t0, e0), (t1, e1) = seen[last - 1 : last + 1]
    return f"{np.exp(np.log(t0) + np.log(e0 / error) / np.log(e0 / e1) * np.log(t1 / t0)):.0f}"


COLUMNS = ("law", "method", "runs", "trials", "mean absolute error", "interval covers")

if __name__ == "__main__":
    given = arguments(__doc__, law=LAWS, method=METHODS, runs=200, error=0.01)
    written(__file__, table(COLUMNS, rows(given.law, given.method, given.runs, given.error)))
