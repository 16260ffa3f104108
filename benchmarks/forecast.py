"""How near the forecast of a sweep comes: beside it, the time that as many trials take as there is time for.

python -m benchmarks.forecast [--seconds S] [NAME ...] prints Markdown, and for all shipped configs writes it to
benchmarks/forecast.md. Trials are drawn one after another for S seconds (10) and three at least, and for LONGER times S
at most while their mean is rougher than ROUGH, each of SLOWEST seconds at most: half of them with probability in
proportion to their guessed cost, half of them all alike, so that one which takes much longer than its guess is met too.
The mean of time / probability is then an unbiased estimate of what the sweep takes, whatever the forecast had timed; a
sweep of which every trial was drawn takes their sum.
"""

import argparse
import time

import numpy as np

from benchmarks import machine, written
from recovery.config import Sweep, load_shipped
from recovery.runner.batches import cost
from recovery.runner.forecast import time_sweep, trial_seconds
from recovery.runner.pool import WORKERS

SLOWEST = 120.0
LONGER = 6
ROUGH = 0.15
FEWEST = 3
MOST = 2000
NEAR = 1.5


def measured(sweep: Sweep, seconds: float) -> tuple[float, float, int]:
    """Seconds of the whole sweep, their relative standard error, and how many trials were timed; NaN where one is
    slower than SLOWEST.
    """
    trials = list(sweep.trials())
    guesses = np.array([cost(trial) for trial in trials])
    chances = 0.5 * guesses / guesses.sum() + 0.5 / len(trials)
    trial_seconds(min(trials, key=cost), SLOWEST)  # starts the process
    times: dict[int, float] = {}
    drawn: list[float] = []
    begin = time.monotonic()
    for i in np.random.default_rng(1).choice(len(trials), MOST, p=chances):
        enough = seconds if len(drawn) > 1 and _error(drawn) <= ROUGH else LONGER * seconds
        if len(times) == len(trials) or (len(times) >= FEWEST and time.monotonic() - begin > enough):
            break
        if i not in times:
            took = trial_seconds(trials[i], SLOWEST)
            if took is None:
                return np.nan, np.nan, len(times)
            times[i] = took
        drawn.append(times[i] / chances[i])
    more = sweep.size / len(trials)
    if len(times) == len(trials):
        return sum(times.values()) * more, 0.0, len(times)
    return float(np.mean(drawn)) * more, _error(drawn), len(times)


def _error(drawn: list[float]) -> float:
    """The standard error of their mean, relative to it."""
    return float(np.std(drawn, ddof=1) / np.sqrt(len(drawn)) / np.mean(drawn))


def line(sweep: Sweep, seconds: float) -> tuple[str, float]:
    """One line of the table, and forecast / measured."""
    forecast = time_sweep(sweep).seconds
    try:
        whole, error, timed = measured(sweep, seconds)
    finally:
        WORKERS.end_idle()
    ratio = forecast / whole
    beside = f"{whole:.3g} s +- {error:.0%}, {timed} trials" if whole == whole else f"a trial takes over {SLOWEST:g} s"
    return f"| {sweep.name} | {forecast:.3g} s | {beside} | {ratio:.2f} |", ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="of timing, a config")
    parser.add_argument("names", nargs="*", help="shipped configs; all, where none is named")
    given = parser.parse_args()
    sweeps, _ = load_shipped(given.names or None)
    lines, ratios = ["| config | forecast | measured | forecast / measured |", "|---|---|---|---|"], []
    for sweep in sweeps:
        text, ratio = line(sweep, given.seconds)
        print(text, flush=True)
        lines.append(text)
        ratios.append(ratio)
    known = np.array([ratio for ratio in ratios if ratio == ratio])
    near = int(np.count_nonzero((known <= NEAR) & (known >= 1 / NEAR)))
    lines += ["", f"Within a factor of {NEAR:g}: {near} of {len(known)}. Processor time, one thread, {machine()}"]
    written(__file__, lines, kept=not given.names)


if __name__ == "__main__":
    main()
