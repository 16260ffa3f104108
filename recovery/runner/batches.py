"""Which trials go together: the dearest first, in batches of a fraction of a second; and which are this shard's."""

import heapq
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from recovery.config import Cell, Trial
from recovery.errors import ParameterError
from recovery.runner.trial import Row

BATCH_SECONDS = 0.25
"""Long enough that handing a batch over costs nothing, short enough that a stop loses little."""
SHORTEST_SECONDS = 0.02
BATCHES_LEFT = 4
"""Batches shrink towards the end: a worker is never handed more than its share of the rest divided by this."""
MOST_TRIALS = 2000
BATCH_LIMIT = 4 * BATCH_SECONDS
"""A batch that takes longer than this hands back the trials that it has not begun: costs are guesses."""


class Done(NamedTuple):
    """What a worker hands back: the number of its batch, a row for each of its first trials, and how long it took."""

    number: int
    rows: list[Row]
    seconds: float


def run_batch(number: int, batch: Sequence[Trial], measure: Callable[[Sequence[Trial]], list[Row]]) -> Done:
    """Run trials until the batch is done or its time is up; at least one is run.

    measure: rows of the first of some trials, of one at least.
    """
    clock, rows = time.perf_counter(), list[Row]()
    while len(rows) < len(batch) and time.perf_counter() - clock < BATCH_LIMIT:
        rows += measure(batch[len(rows) :])
    return Done(number, rows, time.perf_counter() - clock)


def cost(trial: Trial) -> float:
    """What the method guesses that a trial takes; only ratios matter."""
    return max(trial.cell.cost, 1e-9)


STRIDE = 4
"""The picture that comes first has every so many-th value of each coordinate."""


def in_turn(trials: Iterable[Trial]) -> list[Trial]:
    """The cheapest trial of each choice of the user's code, so that its faults show soon; then a trial of each cell of
    a coarse grid over everything; then the dearest first, the trials of a cell together."""
    dearest_first = sorted(trials, key=cost, reverse=True)
    early = one_of_each(coarse({id(trial.cell): trial.cell for trial in dearest_first}), dearest_first)
    dearest_first = [*early.values(), *(trial for trial in dearest_first if early.get(id(trial.cell)) is not trial)]
    cheapest = {trial.cell.own: trial for trial in dearest_first if trial.cell.own}
    if not cheapest:
        return dearest_first
    first = {trial.id for trial in cheapest.values()}
    return [*cheapest.values(), *(trial for trial in dearest_first if trial.id not in first)]


def coarse(cells: Mapping[int, Cell]) -> set[int]:
    """Of some cells, those at every `STRIDE`-th value of each coordinate with more numbers than that; none where no
    coordinate has so many."""
    values: dict[str, set[float]] = {}
    for cell in cells.values():
        for name, value in cell.coordinates.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                values.setdefault(name, set()).add(value)
    kept = {name: set(sorted(those)[::STRIDE]) for name, those in values.items() if len(those) > STRIDE}
    if not kept:
        return set()
    return {key for key, cell in cells.items() if all(cell.coordinates[name] in some for name, some in kept.items())}


def one_of_each(cells: set[int], trials: Sequence[Trial]) -> dict[int, Trial]:
    """The first of the trials of each of these cells, in the order of the trials."""
    first: dict[int, Trial] = {}
    for trial in trials:
        if id(trial.cell) in cells:
            first.setdefault(id(trial.cell), trial)
    return first


class Batches:
    """The trials that wait, handed out as numbered batches, also to several threads at once.

    A batch holds about `BATCH_SECONDS` of work: the methods' costs times a rate learned from what came back.
    """

    def __init__(self, trials: Iterable[Trial], jobs: int) -> None:
        self._waiting = deque((cost(trial), trial) for trial in in_turn(trials))
        self._out: dict[int, list[tuple[float, Trial]]] = {}
        self._left = sum(cost for cost, _ in self._waiting)
        self._jobs = jobs
        self._rate: float | None = None
        self._handed_out = 0
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def __iter__(self) -> Iterator[tuple[int, list[Trial]]]:
        return self

    def __next__(self) -> tuple[int, list[Trial]]:
        with self._lock:
            if not self._waiting:
                raise StopIteration
            rate = self._rate or 1.0
            share = self._left * rate / (self._jobs * BATCHES_LEFT)
            room = min(BATCH_SECONDS, max(share, SHORTEST_SECONDS)) / rate
            batch: list[tuple[float, Trial]] = []
            while self._waiting and len(batch) < MOST_TRIALS and (not batch or self._waiting[0][0] <= room):
                batch.append(self._waiting.popleft())
                room -= batch[-1][0]
            self._left -= sum(cost for cost, _ in batch)
            self._handed_out += 1
            self._out[self._handed_out] = batch
            return self._handed_out, [trial for _, trial in batch]

    def trials(self, number: int) -> list[Trial]:
        """The trials of a batch that is out."""
        return [trial for _, trial in self._out[number]]

    def returned(self, done: Done) -> None:
        """A worker handed back the first trials of a batch; the others wait again, ahead of the rest."""
        with self._lock:
            batch, count = self._out.pop(done.number), len(done.rows)
            self._put_back(batch[count:])
            rate = max(done.seconds, 1e-6) / sum(cost for cost, _ in batch[:count])
            self._rate = rate if self._rate is None else (self._rate + rate) / 2

    def _put_back(self, batch: list[tuple[float, Trial]]) -> None:
        self._waiting.extendleft(reversed(batch))
        self._left += sum(cost for cost, _ in batch)


def share(trials: Iterable[Trial], index: int, count: int) -> list[Trial]:
    """Shard `index` (from 1) of `count`: every trial is in exactly one, and their costs are balanced.

    Greedy: the dearest trial to the shard with the least so far. It depends on the whole plan and nothing else,
    so that shards agree whenever they start.
    """
    dearest_first = sorted(trials, key=lambda trial: (-cost(trial), trial.id))
    loads = [(0.0, shard) for shard in range(1, min(count, len(dearest_first)) + 1)]  # the others get nothing
    mine = []
    for trial in dearest_first:
        load, shard = heapq.heappop(loads)
        heapq.heappush(loads, (load + cost(trial), shard))
        if shard == index:
            mine.append(trial)
    return mine


def slurm_shard(environment: Mapping[str, str]) -> tuple[int, int] | None:
    """The shard of this task of a SLURM job array; None outside one. Raises `ParameterError` for an array with gaps."""
    task = environment.get("SLURM_ARRAY_TASK_ID")
    if task is None:
        return None
    first, last, count, step = (
        int(environment.get(f"SLURM_ARRAY_TASK_{name}", default))
        for name, default in (("MIN", task), ("MAX", task), ("COUNT", "1"), ("STEP", "1"))
    )
    index, rest = divmod(int(task) - first, step)
    if rest or first + (count - 1) * step != last:
        raise ParameterError(
            f"this SLURM array (tasks {first} to {last}, {count} of them) has gaps, so its shards are not known; "
            "give --shard I/N"
        )
    return index + 1, count
