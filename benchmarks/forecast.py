"""Accuracy of forecasts: the forecast of a sweep against an unbiased estimate of its run time.

python -m benchmarks.forecast [--seconds S] [NAME ...] prints Markdown; without names it runs all shipped configs and
those in benchmarks/forecasts, and writes benchmarks/forecast.md. For the estimate, random trials run for S seconds, or
up to LONGER times S while the relative standard error is above ROUGH. Half of them are drawn in proportion to their
guessed cost, half uniformly; the estimate is the mean of time / probability. If every trial was drawn, it is their sum.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from benchmarks import machine, written
from recovery.config import Sweep, load_shipped
from recovery.runner.batches import cost
from recovery.runner.forecast import time_sweep, time_trial
from recovery.runner.loading import load
from recovery.runner.pool import WORKERS

SLOWEST = 120.0
LONGER, ROUGH = 6, 0.15
FEWEST, MOST = 3, 2000
NEAR = 2.0
OTHERS = Path(__file__).with_name("forecasts")
"""Configs with axes other than n and d, with noise, and with user methods whose `cost` misjudges their time."""


def measured(sweep: Sweep, seconds: float) -> tuple[float, float, int]:
    """Return the sweep's seconds, their relative standard error and the timed trials; NaN if one exceeds SLOWEST."""
    trials = list(sweep.trials())
    guesses = np.array([cost(trial) for trial in trials])
    chances = 0.5 * guesses / guesses.sum() + 0.5 / len(trials)
    time_trial(min(trials, key=cost), SLOWEST)  # starts the process
    times: dict[int, float] = {}
    drawn: list[float] = []
    begin = time.monotonic()
    for i in np.random.default_rng(1).choice(len(trials), MOST, p=chances).tolist():
        limit = seconds if len(drawn) > 1 and _error(drawn) <= ROUGH else LONGER * seconds
        if len(times) == len(trials) or (len(times) >= FEWEST and time.monotonic() - begin > limit):
            break
        if i not in times:
            took = time_trial(trials[i], SLOWEST).seconds
            if took is None:
                return np.nan, np.nan, len(times)
            times[i] = took
        drawn.append(times[i] / chances[i])
    rounds = sweep.size / len(trials)
    if len(times) == len(trials):
        return sum(times.values()) * rounds, 0.0, len(times)
    return float(np.mean(drawn)) * rounds, _error(drawn), len(times)


def _error(drawn: list[float]) -> float:
    """Return the standard error of the mean, relative to it."""
    return float(np.std(drawn, ddof=1) / np.sqrt(len(drawn)) / np.mean(drawn))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="seconds of timing per config")
    parser.add_argument("names", nargs="*", help="configs: names or files; by default all")
    given = parser.parse_args()
    lines, ratios = ["| config | forecast | measured | forecast / measured |", "|---|---|---|---|"], []
    sweeps = [] if given.names else load_shipped()[0]
    for sweep in [*sweeps, *map(load, given.names or sorted(OTHERS.glob("*.yaml")))]:
        forecast = time_sweep(sweep).work
        whole, error, timed = measured(sweep, given.seconds)
        WORKERS.end_idle()
        ratios.append(forecast / whole)
        beside = f"{whole:.3g} s +- {error:.0%}, {timed} trials" if whole == whole else f"a trial > {SLOWEST:g} s"
        lines.append(f"| {sweep.name} | {forecast:.3g} s | {beside} | {ratios[-1]:.2f} |")
        print(lines[-1], flush=True)
    known = np.array([ratio for ratio in ratios if ratio == ratio])
    near = int(np.count_nonzero((known <= NEAR) & (known >= 1 / NEAR)))
    lines += ["", f"Within a factor of {NEAR:g}: {near} of {len(known)}. Processor time, one thread, {machine()}"]
    written(__file__, lines, kept=not given.names)


if __name__ == "__main__":
    main()
