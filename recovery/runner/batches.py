"""The order of trials, their batches of a fraction of a second, and their division into shards."""

import heapq
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from recovery.config import Trial, Trials
from recovery.errors import ParameterError
from recovery.runner.trial import Row
from recovery.types import Array, Index

BATCH_SECONDS = 0.25
"""Intended seconds of a batch: its overhead is then negligible, and a stop loses little."""
SHORTEST_SECONDS = 0.02
BATCHES_LEFT = 4
"""Batches shrink towards the end: each is at most a worker's share of the remaining work divided by this."""
MOST_TRIALS = 2000
BATCH_LIMIT = 4 * BATCH_SECONDS
"""A batch that takes longer than this hands back the trials that it has not begun, because costs are guesses."""


def in_turn(trials: Trials) -> Index:
    """Return the indices of trials in the order in which they run: the most expensive first.

    Before them comes the cheapest trial of each combination of user modules, to fail early.
    """
    order = np.argsort(-trials.costs, kind="stable")
    cheapest = {trials.cells[cell].own: at for at, cell in enumerate(trials.cell[order].tolist())}
    sooner = np.zeros(len(order), np.bool_)
    sooner[[at for own, at in cheapest.items() if own]] = True
    return np.concatenate([order[sooner], order[~sooner]])


class Batches:
    """An iterator over the remaining trials in batches, for several threads at once.

    A batch has about `BATCH_SECONDS` of work: the methods' costs times a rate that is estimated from the batches that
    have returned. The first batch of each job is one trial, so that the first row comes soon.
    """

    def __init__(self, trials: Iterable[Trial], jobs: int) -> None:
        self._trials, self._jobs = Trials.of(trials), jobs
        self._order = in_turn(self._trials)
        self._costs = self._trials.costs[self._order]
        self._next, self._again = 0, deque[Trial]()
        self._left = float(self._costs.sum())
        self._rate: float | None = None
        self._handed_out = 0
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._again) or self._next < len(self._order)

    def __iter__(self) -> Iterator[list[Trial]]:
        return self

    def __next__(self) -> list[Trial]:
        with self._lock:
            if not self:
                raise StopIteration
            rate, most = self._rate or 1.0, 1 if self._handed_out < self._jobs else MOST_TRIALS
            share = self._left * rate / (self._jobs * BATCHES_LEFT)
            room = min(BATCH_SECONDS, max(share, SHORTEST_SECONDS)) / rate
            batch: list[Trial] = []
            while self._again and len(batch) < most and (not batch or self._again[0].cell.cost <= room):
                batch.append(self._again.popleft())
                room -= batch[-1].cell.cost
            if not self._again:
                costs = self._costs[self._next : self._next + most - len(batch)]
                count = max(int(np.searchsorted(np.cumsum(costs), room, side="right")), int(not batch))
                begin, self._next = self._next, self._next + min(count, len(costs))
                batch += self._trials.take(self._order[begin : self._next])
            self._left -= sum(trial.cell.cost for trial in batch)
            self._handed_out += 1
            return batch

    def drop(self, keys: Array) -> None:
        """Leave out the trials of these keys, which another run has stored, and go on at a random place among the most
        expensive trials left, so that both runs rarely do the same ones."""
        with self._lock:
            left = self._order[self._next :]
            left = left[~np.isin(self._trials.keys[left], keys)]
            costs = self._trials.costs[left]
            first = int(np.count_nonzero(2 * costs > costs.max(initial=0.0)))
            shift = int(np.random.default_rng().integers(max(first, 1)))
            self._order, self._next = np.concatenate([np.roll(left[:first], shift), left[first:]]), 0
            self._costs = self._trials.costs[self._order]
            self._left = float(costs.sum()) + sum(trial.cell.cost for trial in self._again)

    def returned(self, batch: Sequence[Trial], rows: Sequence[Row], seconds: float) -> list[tuple[Trial, Row]]:
        """Return a batch's first trials paired with their rows, which took `seconds`; its others are next to run."""
        with self._lock:
            done, rest = batch[: len(rows)], batch[len(rows) :]
            self._again.extendleft(reversed(rest))
            self._left += sum(trial.cell.cost for trial in rest)
            rate = max(seconds, 1e-6) / sum(trial.cell.cost for trial in done)
            self._rate = rate if self._rate is None else (self._rate + rate) / 2
            return list(zip(done, rows, strict=True))


def shard_numbers(costs: Array, count: int) -> Index:
    """Return the shard of each trial, from 1 to `count`; the shards have balanced costs.

    Each trial, the most expensive first, goes to the shard that has the least cost, so that the costs of two shards
    differ by at most one trial's. The result depends on the costs alone, so shards agree whenever they start.
    """
    numbers = np.empty(len(costs), np.intp)
    least = [(0.0, shard) for shard in range(1, min(count, len(costs)) + 1)]  # more shards than trials stay empty
    for place in np.argsort(-costs, kind="stable").tolist():
        total, numbers[place] = least[0]
        heapq.heapreplace(least, (total + costs[place], int(numbers[place])))
    return numbers


def slurm_shard(environment: Mapping[str, str]) -> tuple[int, int] | None:
    """Return (index, count) of this SLURM array task, or None. Raises `ParameterError` for arrays with gaps."""
    if "SLURM_ARRAY_TASK_ID" not in environment:
        return None
    names = ("ID", "MIN", "MAX", "COUNT", "STEP")
    try:
        task, first, last, count, step = (int(environment[f"SLURM_ARRAY_TASK_{name}"]) for name in names)
        index, rest = divmod(task - first, step)
    except (LookupError, ValueError, ZeroDivisionError) as error:
        raise ParameterError(f"SLURM_ARRAY_TASK_ID is of no array ({error}); give --shard I/N") from error
    if rest or first + (count - 1) * step != last:
        text = f"this SLURM array (tasks {first} to {last}, {count} of them) has gaps, so its shards are not known"
        raise ParameterError(f"{text}; give --shard I/N")
    return index + 1, count
