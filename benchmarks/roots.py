"""How many trials does a threshold take? Ours beside python-adaptive and the algorithm of SimDesign's SimSolve.

    python -m benchmarks.roots [--law wendel ...] [--method ours ...] [--runs 200] [--error 0.01] [--jobs 1]

Each trial is a success or a failure at whole n and d = 50, drawn from a curve of `benchmarks.laws` whose ratio is
between 1.9 and 2.1; n is sought in 10 to 400. A run of a peer has an estimate of n/d at each checkpoint of its trials.
Ours, an adaptive sweep with refinement, has one run per half width. The mean absolute error over the runs is
interpolated in logarithms between checkpoints, or half widths. Each run has a seed of its own, so jobs change nothing.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.metadata import version
from itertools import product
from typing import Any

import numpy as np
from scipy.special import ndtr

from benchmarks import arguments, one_thread, table, written
from benchmarks.laws import TRUTHS
from benchmarks.until import COARSE, goes_on
from recovery.config.sampling import Until
from recovery.report.statistics.counts import Counts
from recovery.report.statistics.estimator import estimate as threshold
from recovery.types import Array

SIZE = 50.0
LOW, HIGH = 10.0, 400.0
FIRST, CAP, LEARNERS_CAP = 100, 25600, 6400
"""Trials at the first checkpoint, and at most: of SimSolve's algorithm, and of the learners, which are slow."""
SHOWN = (400, 1600, 6400)
"""Trials at which the error is a column."""
HALVES = (0.16, 0.08, 0.04, 0.02)
"""Half widths of n/d at which ours stops."""
CEILING = 5000
"""Ours has at most this many times its 20 first trials."""
LAWS = ("wendel", "gompertz", "skewed", "logistic")
Trial = Callable[[Array], Array]
"""Outcomes, 0 or 1, at these n."""
Estimates = Iterator[tuple[int, Callable[[], float]]]
"""The trials so far, and the estimate of n that they allow, without end."""


def simsolve(trial: Trial) -> Estimates:
    """Probabilistic bisection with replicates and interpolation (ProBABLI), the algorithm of SimSolve in SimDesign.

    Each step runs trials at the median of a density of the root, and multiplies the density on the side that the
    success fraction indicates by the probability of this sign. The root is interpolated by a weighted quadratic.
    """
    n = np.arange(HIGH + 1)
    x = np.linspace(LOW, HIGH, round(10 * (HIGH - LOW)) + 1)
    density = np.full(len(x), 1 / len(x))
    seen = np.zeros((2, len(n)))
    replicates = 10.0
    while True:
        at, count = round(_median(x, density)), int(replicates)
        yes = float(trial(np.full(count, n[at])).sum())
        seen[:, at] += yes, count
        replicates *= 1.1
        share = (yes + 0.5) / (count + 1)
        sure = float(ndtr(abs(share - 0.5) / np.sqrt(share * (1 - share) / count)))
        density = density * np.where(x >= n[at] if share < 0.5 else x <= n[at], sure, 1 - sure)
        density /= density.sum()
        yield int(seen[1].sum()), partial(_interpolated, n, seen, x, density)


def _median(x: Array, density: Array) -> float:
    return float(x[np.searchsorted(np.cumsum(density), 0.5)])


def _interpolated(n: Array, seen: Array, x: Array, density: Array) -> float:
    median = _median(x, density)
    (there,) = np.nonzero(seen[1])
    near = there[np.abs(n[there] - median) <= max(3 * float(np.sqrt(density @ (x - median) ** 2)), 20)]
    if len(near) < 4:
        return median
    shares, weight = seen[0, near] / seen[1, near], np.sqrt(seen[1, near])
    roots = np.roots(np.polyfit(n[near] - median, shares - 0.5, 2, w=weight))
    inside = [root.real for root in np.atleast_1d(roots) if abs(root.imag) < 1e-9 and abs(root.real) < 40]
    return median + min(inside, key=abs, default=0.0)


def average_learner(trial: Trial) -> Estimates:
    """python-adaptive's AverageLearner1D over n, with at least 10 samples per point."""
    from adaptive import AverageLearner1D

    return _learned(
        trial, AverageLearner1D(lambda seeded: 0.0, bounds=(LOW, HIGH), min_samples=10), 1, lambda of: of[1]
    )


def learner_2d(trial: Trial) -> Estimates:
    """python-adaptive's Learner2D over n and an axis without effect; 100 points per request."""
    from adaptive import Learner2D

    return _learned(trial, Learner2D(lambda point: 0.0, bounds=((LOW, HIGH), (0.0, 1.0))), 100, lambda of: of[0])


def _learned(trial: Trial, learner: Any, batch: int, place: Callable[[Any], float]) -> Estimates:
    """Run the trials that a learner asks for; the estimate is the crossing of the isotonic fit to them."""
    n = np.arange(HIGH + 1)
    counts = np.zeros((2, len(n)))
    while True:
        points, _losses = learner.ask(batch)
        at = np.array([round(place(point)) for point in points])
        outcomes = trial(n[at])
        for point, outcome in zip(points, outcomes.tolist(), strict=True):
            learner.tell(point, outcome)
        np.add.at(counts, (outcomes.astype(int), at), 1)
        yield (
            int(counts.sum()),
            lambda: threshold(Counts.make(np.zeros(len(n)), n, counts[1], counts.sum(axis=0))).estimate,
        )


PEERS = {"SimSolve's algorithm": simsolve, "AverageLearner1D": average_learner, "Learner2D": learner_2d}
METHODS = ("ours", *PEERS)
CHANCES = {law.name: law.chance for law in TRUTHS}


def run(law: str, method: str, seed: int) -> list[tuple[float, float, float]]:
    """Return trials, absolute error of n/d (NaN without an estimate) and coverage, per half width or checkpoint."""
    rng = np.random.default_rng([LAWS.index(law), METHODS.index(method), seed])
    ratio = rng.uniform(1.9, 2.1)

    def chance(n: Array, d: Any) -> Array:
        return np.clip(CHANCES[law](n / d, d, ratio), 0.0, 1.0)

    if method == "ours":
        rules = [Until(f"threshold +-{half}", refine=True, ceiling=CEILING) for half in HALVES]
        swept = [goes_on(rng, COARSE, np.array([SIZE]), chance, rule, 2) for rule in rules]
        found = [(row["trials"], row["estimate"], row["low"] <= ratio <= row["high"]) for row in swept]
    else:
        drawn = PEERS[method](lambda n: (rng.random(len(n)) < chance(n, SIZE)).astype(float))
        checked = _checked(drawn, LEARNERS_CAP if "Learner" in method else CAP)
        found = [(trials, n / SIZE, np.nan) for trials, n in checked]
    return [(trials, abs(value - ratio), covers) for trials, value, covers in found]


def _checked(estimates: Estimates, cap: int) -> Iterator[tuple[int, float]]:
    """Yield the trials and the estimate of each checkpoint; the next one has about 1.4 times the trials."""
    goal = float(FIRST)
    for trials, estimate in estimates:
        if trials >= goal:
            yield trials, estimate()
            goal *= np.sqrt(2)
        if goal > 1.01 * cap:
            break


def rows(laws: list[str], methods: list[str], runs: int, error: float, jobs: int) -> Iterator[list[object]]:
    """Yield the cells of each row."""
    with one_thread(), ProcessPoolExecutor(jobs) as pool:
        pairs = [*product(laws, methods)]
        each = [pool.map(partial(run, law, method), range(runs)) for law, method in pairs]
        for (law, method), one in zip(pairs, each, strict=True):
            found = np.array([*one])
            (trials, _, covers), errors = found.mean(axis=0).T, np.nanmean(found[:, :, 1], axis=0)
            at = [f"{_line(many, trials, errors):.4f}".replace("nan", "") for many in SHOWN]
            covered = ", ".join(f"{share:.3f}" for share in covers if np.isfinite(share))
            none = f"{np.isnan(found[:, :, 1]).mean():.3f}"
            yield [law, method, runs, _reached(error, trials, errors), *at, none, covered]


def _line(at: float, x: Array, y: Array) -> float:
    """Interpolate in logarithms; NaN outside."""
    return float(np.exp(np.interp(np.log(at), np.log(x), np.log(y), np.nan, np.nan)))


def _reached(error: float, trials: Array, errors: Array) -> str:
    """Return the trials at which the mean error is first reached."""
    (low,) = np.nonzero(errors <= error)
    if not len(low) or not low[0]:
        return f"at most {trials[0]:.0f}" if len(low) else f"over {trials[-1]:.0f}"
    pair = [low[0], low[0] - 1]
    return f"{_line(error, errors[pair], trials[pair]):.0f}"


ERRORS = (f"error after {many}" for many in SHOWN)
COLUMNS = ("law", "method", "runs", "trials", *ERRORS, "no estimate", "interval covers")
NOTE = f"""
- Error: mean absolute error of n/d where there is an estimate. `trials`: where it falls to the required error; "over"
  where it never does. Caps: {LEARNERS_CAP} trials for the learners of python-adaptive {version("adaptive")}, which are
  slow, and {CAP} for SimSolve's algorithm.
- `interval covers`: ours at the half widths {", ".join(map(str, HALVES))}. Peers give no interval.
- The learners describe the whole curve; SimSolve's algorithm and ours look for one crossing.
"""

if __name__ == "__main__":
    given = arguments(__doc__, law=LAWS, method=METHODS, runs=200, error=0.01, jobs=1)
    head = (
        f"Trials of one threshold n/d at d = {SIZE:.0f} until the mean absolute error over the runs is {given.error:g}."
    )
    lines = table(COLUMNS, rows(given.law, given.method, given.runs, given.error, given.jobs))
    written(__file__, [head, "", *lines, NOTE])
