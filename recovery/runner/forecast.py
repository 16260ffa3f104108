"""How long trials will take, before any row exists: a few of them are run and timed, in a process that may be lost.

The methods' costs only say which trials are alike. Trials of one kind are cut into strata of equal guessed work; of
each, as many as there is time for are timed, the cheapest strata first. A stratum that is too dear to time takes the
ratio of time to guess of those below it, along the line through their logarithms; where none of its kind was timed,
the guess is all there is.
"""

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from recovery.config import Sweep, Trial
from recovery.runner.batches import cost
from recovery.runner.supervised import Limits, end_runners, measure_supervised
from recovery.runner.trial import PROCESSOR

SECONDS = 4.0
"""Spent on timing trials."""
STRATA = 4
MOST_KINDS = 12
MOST_SAMPLES = 150
"""Of a stratum."""
SHORTEST = 0.1
"""Seconds that a trial is given at least, so that one is not cut for a late start."""
WAITS = 0.1
"""A trial that computes for a smaller share of its time waits for something; the share is less on a busy machine."""
ALL = 0.995
FEWEST_FOR_A_SLOPE = 3
STEEPEST = 0.5
"""The ratio of time to guess changes by at most this power of the guess where nothing was timed."""


@dataclass(frozen=True)
class Timing:
    """The seconds that trials will take one after another on a machine at rest, by `timed` of them.

    share: of the guessed work, what lies in strata that were timed.
    """

    seconds: float
    timed: int
    share: float

    def __str__(self) -> str:
        known = f"{self.timed} trials timed now"
        return known if self.share > ALL else f"{known} (of {self.share:.0%} of the work; the dearest took too long)"


@dataclass(frozen=True)
class Stratum:
    """Trials of one kind and alike in their guesses: their work, and the mean of their guesses."""

    trials: Sequence[Trial]
    work: float

    @property
    def guess(self) -> float:
        return self.work / len(self.trials)


def time_sweep(sweep: Sweep) -> Timing:
    """The whole of a sweep; rounds to come are taken to be as dear as the first."""
    trials = list(sweep.trials())
    found = time_some(trials)
    return replace(found, seconds=found.seconds * sweep.size / len(trials))


def time_some(
    trials: Sequence[Trial], seconds: float = SECONDS, time_one: Callable[[Trial, float], float | None] | None = None
) -> Timing:
    """Time a few of these trials for about so many seconds, by `time_one(trial, limit)`; see the module."""
    clock = time_one or trial_seconds
    try:
        return _timed([_strata(kind) for kind in _kinds(trials)], seconds, clock)
    finally:
        end_runners()


def _timed(
    kinds: Sequence[Sequence[Stratum]], seconds: float, time_one: Callable[[Trial, float], float | None]
) -> Timing:
    rng, timed = random.Random(0), 0
    found: list[dict[int, float]] = [{} for _ in kinds]
    waiting = sorted((stratum.guess, k, i) for k, strata in enumerate(kinds) for i, stratum in enumerate(strata))
    _, k, i = waiting[0]
    time_one(kinds[k][i].trials[0], seconds)  # starts the process
    end = time.monotonic() + seconds
    for position, (_, k, i) in enumerate(waiting):
        trials, took, guessed = kinds[k][i].trials, 0.0, 0.0
        if i > 0 and i - 1 not in found[k]:
            continue
        until = time.monotonic() + (end - time.monotonic()) / (len(waiting) - position)
        for trial in rng.sample(trials, min(MOST_SAMPLES, len(trials))):
            ratio, left = took / guessed if guessed else found[k].get(i - 1, 0.0), end - time.monotonic()
            if left <= 0:
                break
            if ratio * cost(trial) > left:
                continue
            one = time_one(trial, max(left, SHORTEST))
            if one is None:  # it takes longer than that
                one = max(left, cost(trial) * _ratio(kinds[k], found[k], i))
            took, guessed, timed = took + one, guessed + cost(trial), timed + 1
            if time.monotonic() > until:
                break
        if guessed:
            found[k][i] = took / guessed
    total = timed_work = work = 0.0
    for strata, ratios in zip(kinds, found, strict=True):
        for i, stratum in enumerate(strata):
            total += stratum.work * _ratio(strata, ratios, i)
            work, timed_work = work + stratum.work, timed_work + stratum.work * (i in ratios)
    return Timing(total, timed, timed_work / work)


def trial_seconds(trial: Trial, limit: float) -> float | None:
    """Seconds of processor time of one trial, run in another process; None if it is not done in time.

    A trial that hardly computes waits for something: it takes the time on the clock.
    """
    row = measure_supervised([trial], Limits(seconds=limit))[0]
    if row["status"] == "timeout":
        return None
    wall = float(row["seconds"] or 0.0)
    processor = float(row.get(PROCESSOR, wall))
    return processor if processor > WAITS * wall else wall


def _kinds(trials: Sequence[Trial]) -> list[list[Trial]]:
    """Trials that differ in their size alone, or by their methods' classes where there are too many such."""
    for name in (repr, lambda method: type(method).__name__):
        kinds: dict[tuple[str, str, bool], list[Trial]] = {}
        for cell, group in groupby(trials, lambda trial: trial.cell):
            key = name(cell.method), str(cell.architecture), cell.setting.noise > 0
            kinds.setdefault(key, []).extend(group)
        if len(kinds) <= MOST_KINDS:
            break
    return list(kinds.values())


def _strata(trials: list[Trial]) -> list[Stratum]:
    """Cut into pieces of about equal guessed work, the cheapest first."""
    trials = sorted(trials, key=cost)
    total = sum(map(cost, trials))
    pieces: list[list[Trial]] = [[] for _ in range(STRATA)]
    work = 0.0
    for trial in trials:
        pieces[min(int(STRATA * work / total), STRATA - 1)].append(trial)
        work += cost(trial)
    return [Stratum(piece, sum(map(cost, piece))) for piece in pieces if piece]


def _ratio(strata: Sequence[Stratum], ratios: dict[int, float], i: int) -> float:
    """Seconds a second of guess in stratum i: as timed, or along the line through what was timed of its kind."""
    if i in ratios:
        return ratios[i]
    known = [(math.log(strata[j].guess), math.log(max(ratio, 1e-12))) for j, ratio in sorted(ratios.items())]
    if not known:
        return 1.0
    x, y = (sum(values) / len(known) for values in zip(*known, strict=True))
    spread = sum((a - x) ** 2 for a, _ in known)
    slope = (
        sum((a - x) * (b - y) for a, b in known) / spread if len(known) >= FEWEST_FOR_A_SLOPE and spread > 0 else 0.0
    )
    last, ratio = known[-1]
    return math.exp(ratio + max(-STEEPEST, min(slope, STEEPEST)) * (math.log(strata[i].guess) - last))
