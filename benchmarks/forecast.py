"""Accuracy of forecasts: the forecast of a sweep against an unbiased estimate of its run time.

python -m benchmarks.forecast [--seconds S] [NAME ...] prints Markdown; without names it runs all shipped configs and
those in benchmarks/forecasts, and writes benchmarks/forecast.md. For the estimate, random trials run for S seconds, or
up to LONGER times S while the relative standard error is above ROUGH. Half of them are drawn in proportion to their
guessed cost, half uniformly; the estimate is the mean of time / probability. If every trial was drawn, it is their sum.
"""

import argparse
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from benchmarks import machine, table, written
from recovery.config import Sweep, load_shipped
from recovery.runner.forecast import time_some
from recovery.runner.loading import load
from recovery.runner.pool import POOL

SLOWEST = 120.0
LONGER, ROUGH = 6, 0.15
FEWEST, MOST = 3, 2000
NEAR = 2.0
OTHERS = Path(__file__).with_name("forecasts")
"""Configs with axes other than n and d, with noise, and with user methods whose `cost` misjudges their time."""


def measured(sweep: Sweep, seconds: float) -> tuple[float, float, int]:
    """Return the sweep's seconds, their relative standard error and the timed trials; NaN if one exceeds SLOWEST."""
    trials, guesses = list(sweep.trials()), sweep.trials().costs
    chances = 0.5 * guesses / guesses.sum() + 0.5 / len(trials)
    POOL.measure([trials[guesses.argmin()]], SLOWEST)  # starts the process
    times: dict[int, float] = {}
    drawn: list[float] = []
    begin = time.monotonic()
    for i in np.random.default_rng(1).choice(len(trials), MOST, p=chances).tolist():
        limit = seconds if len(drawn) > 1 and _error(drawn) <= ROUGH else LONGER * seconds
        if len(times) == len(trials) or (len(times) >= FEWEST and time.monotonic() - begin > limit):
            break
        if i not in times:
            (row,) = POOL.measure([trials[i]], SLOWEST)
            if row["status"] == "timeout":
                return np.nan, np.nan, len(times)
            times[i] = row["seconds"]
        drawn.append(times[i] / chances[i])
    rounds = sweep.size / len(trials)
    if len(times) == len(trials):
        return sum(times.values()) * rounds, 0.0, len(times)
    return float(np.mean(drawn)) * rounds, _error(drawn), len(times)


def _error(drawn: list[float]) -> float:
    """Return the standard error of the mean, relative to it."""
    return float(np.std(drawn, ddof=1) / np.sqrt(len(drawn)) / np.mean(drawn))


def rows(sweeps: Iterable[Sweep], seconds: float, times: list[tuple[str, float, float]]) -> Iterator[list[str]]:
    """Yield the cells of each row; add the name, the forecast and the estimate to the times."""
    for sweep in sweeps:
        trials = sweep.trials()
        forecast = time_some(trials).work * sweep.size / len(trials)
        whole, error, timed = measured(sweep, seconds)
        POOL.end_idle()
        times.append((sweep.name, forecast, whole))
        shown = f"{whole:.3g} s +- {error:.0%}, {timed} trials" if whole == whole else f"a trial > {SLOWEST:g} s"
        yield [sweep.name, f"{forecast:.3g} s", shown, f"{forecast / whole:.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="seconds of timing per config")
    parser.add_argument("names", nargs="*", help="configs: names or files; by default all")
    given = parser.parse_args()
    times: list[tuple[str, float, float]] = []
    sweeps = [*([] if given.names else load_shipped()), *map(load, given.names or sorted(OTHERS.glob("*.yaml")))]
    lines = table(("config", "forecast", "measured", "forecast / measured"), rows(sweeps, given.seconds, times))
    ratios = np.array([forecast / whole for _, forecast, whole in times if whole == whole])
    near = int(np.count_nonzero((ratios <= NEAR) & (ratios >= 1 / NEAR)))
    paper = sum(whole for name, _, whole in times if name.startswith("p1-"))
    last = f"Within a factor of {NEAR:g}: {near} of {len(ratios)}. All sweeps of P1: {paper / 3600:.1f} hours."
    written(__file__, [*lines, "", f"{last} Processor time, one thread, {machine()}"], kept=not given.names)


if __name__ == "__main__":
    main()
