"""Trials fanned out over joblib's workers, each with one BLAS thread; rows come back as they are done."""

import signal
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits

from recovery.config import Trial
from recovery.runner.batches import BATCH_SECONDS, Batches
from recovery.runner.trial import Row, measure

Backend = Literal["loky", "threading"]

BATCH_LIMIT = 4 * BATCH_SECONDS
"""A batch that takes longer than this hands back the trials that it has not begun: costs are guesses."""


class Done(NamedTuple):
    """What a worker hands back: the number of its batch, a row for each of its first trials, and how long it took."""

    number: int
    rows: list[Row]
    seconds: float


@dataclass(frozen=True)
class Engine:
    """Where trials run: so many `jobs` of joblib's `backend`; a single job runs in this process."""

    jobs: int
    backend: Backend = "loky"

    def run(self, trials: Iterable[Trial]) -> Generator[list[Row], None, None]:
        """The rows of all trials, in batches, in the order in which they are done."""
        batches = Batches(trials, self.jobs)
        with threadpool_limits(limits=1):  # for what runs in this process
            while batches:
                for done in self._one_pass(batches):
                    batches.returned(done.number, len(done.rows), done.seconds)
                    yield done.rows

    def _one_pass(self, batches: Batches) -> Iterator[Done]:
        pool = {"initializer": ignore_interrupts, "inner_max_num_threads": 1} if self.backend == "loky" else {}
        with parallel_config(backend=self.backend, n_jobs=self.jobs, **pool):
            parallel = Parallel(return_as="generator_unordered", batch_size=1, max_nbytes=None)
            yield from parallel(delayed(run_batch)(number, batch) for number, batch in batches)


def ignore_interrupts() -> None:
    """Ctrl-C reaches every process of the terminal; the one that stores the rows decides what it means."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@cache
def one_blas_thread() -> None:
    """Hold the BLAS libraries of this worker to one thread: the cores are taken, and rows do not depend on them."""
    threadpool_limits(limits=1)


def run_batch(number: int, batch: Sequence[Trial]) -> Done:
    """Run trials one after another until the batch is done or its time is up; at least one is run."""
    one_blas_thread()
    clock = time.perf_counter()
    rows = []
    for trial in batch:
        rows.append(measure(trial))
        if time.perf_counter() - clock > BATCH_LIMIT:
            break
    return Done(number, rows, time.perf_counter() - clock)
