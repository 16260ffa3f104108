"""How long trials will take, before any row exists: a few of them are run and timed, in a process that may be lost.

The methods' costs only say which trials are alike. Trials of one kind are cut into strata of equal guessed work. One
trial of each kind is run so that everything is loaded, and tells roughly which kinds are dear; of each stratum a few
are timed, the cheapest strata first, and then more where the times leave the whole most in doubt. A stratum that is too
dear to time takes the ratio of time to guess of those below it, along the line through their logarithms; where none of
its kind was timed, the one trial is all there is.
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
WIDEST = 10.0
"""The dearest guess of a stratum over its cheapest: else its few dear trials, which are its work, are hardly met."""
MOST_KINDS = 12
FIRST_SAMPLES, MOST_SAMPLES = 10, 400
"""Of a stratum: before the rest of the time goes where it is needed most, and in all."""
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


class _Samples:
    """The trials of one stratum that were timed, of those drawn to be timed in turn."""

    def __init__(self, stratum: Stratum, rng: random.Random) -> None:
        self.stratum = stratum
        self.waiting = rng.sample(stratum.trials, min(MOST_SAMPLES, len(stratum.trials)))
        self.seconds: list[float] = []
        self.guesses: list[float] = []

    @property
    def ratio(self) -> float:
        return sum(self.seconds) / sum(self.guesses)

    @property
    def doubt(self) -> float:
        """The standard error of the stratum's seconds; infinite for one trial."""
        count = len(self.seconds)
        if count < 2:
            return math.inf
        square = sum((took - self.ratio * guess) ** 2 for took, guess in zip(self.seconds, self.guesses, strict=True))
        return self.stratum.work * math.sqrt(square / (count - 1) / count) / (sum(self.guesses) / count)


def _timed(
    kinds: Sequence[Sequence[Stratum]], seconds: float, time_one: Callable[[Trial, float], float | None]
) -> Timing:
    """A few of each stratum first, each in its share of half the time; then where they leave the most in doubt."""
    rng = random.Random(0)
    samples = [[_Samples(stratum, rng) for stratum in strata] for strata in kinds]
    rough = [1.0] * len(kinds)
    for k, strata in sorted(enumerate(kinds), key=lambda kind: kind[1][0].guess, reverse=True):
        trial = strata[0].trials[0]
        rough[k] = (time_one(trial, seconds) or max(seconds, cost(trial))) / cost(trial)
    waiting = sorted((rough[k] * stratum.guess, k, i) for k, some in enumerate(kinds) for i, stratum in enumerate(some))
    end = time.monotonic() + seconds
    half = end - seconds / 2

    def ratios(k: int) -> dict[int, float]:
        return {i: one.ratio for i, one in enumerate(samples[k]) if one.seconds}

    def take(k: int, i: int) -> bool:
        """Time one more trial of a stratum; False where it is known to be too dear, or none is left."""
        one, left = samples[k][i], end - time.monotonic()
        ratio = one.ratio if one.seconds else ratios(k).get(i - 1, 0.0)
        while one.waiting and ratio * cost(one.waiting[-1]) > left:
            one.waiting.pop()
        if not one.waiting or left <= 0:
            return False
        trial = one.waiting.pop()
        took = time_one(trial, max(left, SHORTEST))
        if took is None:  # it takes longer than that
            took = max(left, cost(trial) * _ratio(kinds[k], ratios(k), i, rough[k]))
        one.seconds.append(took)
        one.guesses.append(cost(trial))
        return True

    for position, (_, k, i) in enumerate(waiting):
        if i > 0 and not samples[k][i - 1].seconds:
            continue
        now = time.monotonic()
        until = now + max(0.0, half - now) / (len(waiting) - position)
        while take(k, i) and len(samples[k][i].seconds) < FIRST_SAMPLES and time.monotonic() < until:
            pass
    places = [(k, i) for _, k, i in waiting if samples[k][i].seconds]
    while places and time.monotonic() < end:
        k, i = max(places, key=lambda place: samples[place[0]][place[1]].doubt)
        if samples[k][i].doubt == 0.0:
            break
        if not take(k, i):
            places.remove((k, i))
    total = timed_work = work = 0.0
    for k, strata in enumerate(kinds):
        known = ratios(k)
        for i, stratum in enumerate(strata):
            total += stratum.work * _ratio(strata, known, i, rough[k])
            work, timed_work = work + stratum.work, timed_work + stratum.work * (i in known)
    return Timing(total, sum(len(one.seconds) for strata in samples for one in strata), timed_work / work)


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
        kinds: dict[tuple[str, str, str, bool], list[Trial]] = {}
        for cell, group in groupby(trials, lambda trial: trial.cell):
            setting = cell.setting
            key = name(cell.method), str(cell.architecture), setting.patterns.kind, setting.noise > 0
            kinds.setdefault(key, []).extend(group)
        if len(kinds) <= MOST_KINDS:
            break
    return list(kinds.values())


def _strata(trials: list[Trial]) -> list[Stratum]:
    """Cut into pieces of about equal guessed work and of guesses alike, the cheapest first."""
    trials = sorted(trials, key=cost)
    total = sum(map(cost, trials))
    pieces: list[list[Trial]] = []
    work, part = 0.0, 0
    for trial in trials:
        if not pieces or work >= total * part / STRATA or cost(trial) > WIDEST * cost(pieces[-1][0]):
            pieces.append([])
            part = int(STRATA * work / total) + 1
        pieces[-1].append(trial)
        work += cost(trial)
    return [Stratum(piece, sum(map(cost, piece))) for piece in pieces]


def _ratio(strata: Sequence[Stratum], ratios: dict[int, float], i: int, rough: float) -> float:
    """Seconds a second of guess in stratum i: as timed, or along the line through what was timed of its kind.

    rough: where nothing was.
    """
    if i in ratios:
        return ratios[i]
    known = [(math.log(strata[j].guess), math.log(max(ratio, 1e-12))) for j, ratio in sorted(ratios.items())]
    if not known:
        return rough
    x, y = (sum(values) / len(known) for values in zip(*known, strict=True))
    spread = sum((a - x) ** 2 for a, _ in known)
    slope = (
        sum((a - x) * (b - y) for a, b in known) / spread if len(known) >= FEWEST_FOR_A_SLOPE and spread > 0 else 0.0
    )
    last, ratio = known[-1]
    return math.exp(ratio + max(-STEEPEST, min(slope, STEEPEST)) * (math.log(strata[i].guess) - last))
