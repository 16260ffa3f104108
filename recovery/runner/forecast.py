"""How long trials will take, before any row exists: a few of them are run and timed, in a process that may be lost.

The methods' costs only say which trials are alike. Trials of one kind are cut into strata of equal guessed work. One
trial of each kind is run so that everything is loaded, and tells roughly which kinds are dear; of each stratum a few
are timed, the cheapest strata first, and then more where the times leave the whole most in doubt; for longer where the
whole takes long. A stratum that is too dear to time takes the ratio of time to guess of those below it, along the line
through their logarithms; where none of its kind was timed, the one trial is all there is.
"""

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from recovery.config import Cell, Sweep, Trial
from recovery.methods.method import Method
from recovery.runner.batches import cost
from recovery.runner.pool import WORKERS, Limits
from recovery.runner.trial import PROCESSOR

SECONDS, MOST_SECONDS = 6.0, 30.0
"""Spent on timing trials: at least, and at most where the sweep takes long."""
PART = 0.05
"""Of a long sweep's time, that is spent on timing its trials."""
LOADING = 2.0
"""How many times as long as for the others the first trial of a kind may take, which loads what these need too."""
STRATA = 4
NARROWEST, WIDEST = 1.25, 10.0
"""The dearest guess of a stratum over its cheapest: nothing is gained where trials are cut that have about the same;
and where it is wide, its few dear trials, which are its work, are hardly met."""
MOST_KINDS = 12
FIRST_SAMPLES, MOST_SAMPLES = 10, 400
"""Of a stratum: before the rest of the time goes where it is needed most, and in all."""
FEW, UNSURE = 3, 3.0
"""Before so many trials of a stratum are timed, the next may be quicker than it is known to be by such a factor."""
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
    trials = sweep.trials()
    timing = time_some(trials)
    return replace(timing, seconds=timing.seconds * sweep.size / len(trials))


def time_some(
    trials: Sequence[Trial],
    seconds: float = SECONDS,
    most: float = MOST_SECONDS,
    time_one: Callable[[Trial, float], float | None] | None = None,
) -> Timing:
    """Time a few of these trials by `time_one(trial, limit)` for about so many seconds, and at most `most` where all of
    them take long; see the module."""
    clock = time_one or trial_seconds
    try:
        return _Survey([_strata(kind) for kind in _kinds(trials)], clock).run(seconds, most)
    finally:
        WORKERS.end_idle()


class _Samples:
    """The trials of one stratum that were timed, of those drawn to be timed in turn."""

    def __init__(self, stratum: Stratum, rng: random.Random) -> None:
        self.stratum = stratum
        self.waiting = rng.sample(stratum.trials, min(MOST_SAMPLES, len(stratum.trials)))
        self.seconds: list[float] = []
        self.guesses: list[float] = []

    def leave_out(self, trial: Trial) -> None:
        self.waiting = [other for other in self.waiting if other.id != trial.id]

    def add(self, seconds: float, guess: float) -> None:
        self.seconds.append(seconds)
        self.guesses.append(guess)

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


class _Survey:
    """The samples of all kinds of trials while they are timed, and what they tell of the whole.

    A kind's first trial is run before all others: `rough` is its ratio of time to guess, and `cut` has the seconds of
    those that were not done in time.
    """

    def __init__(self, kinds: Sequence[Sequence[Stratum]], time_one: Callable[[Trial, float], float | None]) -> None:
        rng = random.Random(0)
        self._kinds = kinds
        self._time_one = time_one
        self._samples = [[_Samples(stratum, rng) for stratum in strata] for strata in kinds]
        self._rough, self._cut = [1.0] * len(kinds), dict[int, float]()
        self._end = math.inf

    def run(self, seconds: float, most: float) -> Timing:
        """A few of each stratum first, each in its share of half the time; then where they leave the most in doubt."""
        self._load(LOADING * seconds)
        begin = time.monotonic()
        self._end = begin + max(seconds, min(most, PART * self._whole()))
        places = self._sample_each((begin + self._end) / 2)
        self._end = max(self._end, begin + min(most, PART * self._whole()))
        self._sample_doubtful(places)
        everything = [one for strata in self._samples for one in strata]
        timed = [one for one in everything if one.seconds]
        share = sum(one.stratum.work for one in timed) / sum(one.stratum.work for one in everything)
        return Timing(self._whole(), sum(len(one.seconds) for one in timed), share)

    def _load(self, limit: float) -> None:
        """Run the first trial of every kind, the dearest kind first."""
        for k, strata in sorted(enumerate(self._kinds), key=lambda kind: kind[1][0].guess, reverse=True):
            trial = strata[0].trials[0]
            took = self._time_one(trial, limit)
            if took is None:
                # its guess, if that is longer; else twice the limit: the median if any scale is as likely as any other
                took = cost(trial) if cost(trial) > limit else 2 * limit
                self._cut[k] = max(cost(trial), limit)
                self._samples[k][0].leave_out(trial)
            self._rough[k] = took / cost(trial)

    def _sample_each(self, half: float) -> list[tuple[int, int]]:
        """Time a few of each stratum until `half`, the cheapest first; the places of the strata that were timed."""
        waiting = sorted(
            (self._rough[k] * stratum.guess, k, i)
            for k, strata in enumerate(self._kinds)
            for i, stratum in enumerate(strata)
        )
        for position, (_, k, i) in enumerate(waiting):
            if i > 0 and not self._samples[k][i - 1].seconds:
                continue
            now = time.monotonic()
            until = now + max(0.0, half - now) / (len(waiting) - position)
            while (
                self._time_another(k, i)
                and len(self._samples[k][i].seconds) < FIRST_SAMPLES
                and time.monotonic() < until
            ):
                pass
        return [(k, i) for _, k, i in waiting if self._samples[k][i].seconds]

    def _sample_doubtful(self, places: list[tuple[int, int]]) -> None:
        while places and time.monotonic() < self._end:
            k, i = max(places, key=lambda place: self._samples[place[0]][place[1]].doubt)
            if self._samples[k][i].doubt == 0.0:
                break
            if not self._time_another(k, i):
                places.remove((k, i))

    def _time_another(self, k: int, i: int) -> bool:
        """Time one more trial of stratum i of kind k; False where it is known to be too dear, or none is left."""
        one, left = self._samples[k][i], self._end - time.monotonic()
        ratio = one.ratio if one.seconds else self._timed_ratios(k).get(i - 1, 0.0)
        if len(one.seconds) < FEW:
            ratio /= UNSURE
        while one.waiting and ratio * cost(one.waiting[-1]) > left:
            one.waiting.pop()
        if not one.waiting or left <= 0:
            return False
        trial = one.waiting.pop()
        took = self._time_one(trial, max(left, SHORTEST))
        if took is None:  # it takes longer than that
            one.add(max(left, cost(trial) * self._ratio(k, i)), cost(trial))
            return True
        one.add(took, cost(trial))
        if i == 0 and k in self._cut:  # the kind's first trial is one of this stratum too, and took so long at least
            one.add(self._cut.pop(k), cost(self._kinds[k][0].trials[0]))
        return True

    def _timed_ratios(self, k: int) -> dict[int, float]:
        return {i: one.ratio for i, one in enumerate(self._samples[k]) if one.seconds}

    def _ratio(self, k: int, i: int) -> float:
        return _ratio(self._kinds[k], self._timed_ratios(k), i, self._rough[k])

    def _whole(self) -> float:
        """The seconds of all trials, as far as they are known."""
        return sum(
            stratum.work * self._ratio(k, i) for k, strata in enumerate(self._kinds) for i, stratum in enumerate(strata)
        )


def trial_seconds(trial: Trial, limit: float) -> float | None:
    """Seconds of processor time of one trial, run in another process; None if it is not done in time.

    A trial that hardly computes waits for something: it takes the time on the clock.
    """
    row = WORKERS.measure([trial], Limits(seconds=limit))[0]
    if row["status"] == "timeout":
        return None
    wall = float(row["seconds"] or 0.0)
    processor = float(row.get(PROCESSOR, wall))
    return processor if processor > WAITS * wall else wall


def _words(method: Method) -> str:
    """A method's class and its parameters that are no numbers."""
    words = {name: value for name, value in getattr(method, "__dict__", {}).items() if isinstance(value, (str, bool))}
    return f"{type(method).__name__} {words}"


def _kinds(trials: Sequence[Trial]) -> list[list[Trial]]:
    """Trials that differ in their size alone; where these are too many kinds, in what is planted too; then in their
    methods' numbers; then in all but their methods' classes."""
    names: Sequence[Callable[[Cell], object]] = (
        lambda cell: (cell.method, cell.setting.planted),
        lambda cell: cell.method,
        lambda cell: _words(cell.method),
        lambda cell: type(cell.method),
    )
    for name in names:
        kinds: dict[tuple[str, str, str, bool], list[Trial]] = {}
        for cell, group in groupby(trials, lambda trial: trial.cell):
            setting = cell.setting
            key = repr(name(cell)), str(cell.architecture), setting.patterns.kind, setting.noise > 0
            kinds.setdefault(key, []).extend(group)
        if len(kinds) <= MOST_KINDS:
            break
    return list(kinds.values())


def _strata(trials: list[Trial]) -> list[Stratum]:
    """Cut into pieces of about equal guessed work and of guesses alike but not the same, the cheapest first."""
    trials = sorted(trials, key=cost)
    total = sum(map(cost, trials))
    pieces: list[list[Trial]] = []
    work, part = 0.0, 0
    for trial in trials:
        spread = cost(trial) / cost(pieces[-1][0]) if pieces else math.inf
        if spread > WIDEST or (spread > NARROWEST and work >= total * part / STRATA):
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
