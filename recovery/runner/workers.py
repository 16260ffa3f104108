"""Trials fanned out over joblib's workers, each with one BLAS thread; rows come back as they are done."""

import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import NamedTuple

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from recovery.config import Trial
from recovery.errors import RecoverError
from recovery.runner.backends import BACKENDS, Service
from recovery.runner.batches import BATCH_SECONDS, Batches
from recovery.runner.supervised import UNLIMITED, Limits, end_children, measure_supervised
from recovery.runner.trial import Row, measure

BATCH_LIMIT = 4 * BATCH_SECONDS
"""A batch that takes longer than this hands back the trials that it has not begun: costs are guesses."""

MOST_DEATHS = 3
"""Passes that end with a dead worker and without a finished batch before the sweep gives up."""

WAVE = 8
"""Batches a worker that are handed out together where results come back together."""


class Done(NamedTuple):
    """What a worker hands back: the number of its batch, a row for each of its first trials, and how long it took."""

    number: int
    rows: list[Row]
    seconds: float


@dataclass(frozen=True)
class Engine:
    """Where trials run: so many `jobs` of joblib's `backend`, each trial within `limits`.

    A single job of loky or threading runs in this process.
    """

    jobs: int
    backend: str = "loky"
    limits: Limits = UNLIMITED

    def run(self, trials: Iterable[Trial]) -> Generator[list[Row], None, None]:
        """The rows of all trials, in batches, in the order in which they are done.

        When a worker dies, what was under way runs again, and from then on supervised, so that a trial that kills
        its worker is found out. Raises `RecoverError` if workers keep dying all the same.
        """
        try:
            with threadpool_limits(limits=1), BACKENDS[self.backend](self.jobs) as service:
                batches = Batches(trials, service.jobs)
                supervise, deaths = service.supervise or bool(self.limits), 0
                while batches:
                    try:
                        for done in _one_pass(batches, service, self.limits if supervise else None):
                            batches.returned(done.number, len(done.rows), done.seconds)
                            deaths = 0
                            yield done.rows
                    except service.broken as error:
                        deaths += 1
                        if deaths > MOST_DEATHS:
                            raise RecoverError(f"workers died {deaths} times before finishing a batch") from error
                        batches.lost()
                        supervise = True
        finally:
            end_children()


def _one_pass(batches: Batches, service: Service, limits: Limits | None) -> Iterator[Done]:
    tasks = (delayed(run_batch)(number, batch, limits) for number, batch in batches)
    if service.streams:
        yield from Parallel(return_as="generator_unordered", batch_size=1, max_nbytes=None)(tasks)
        return
    with Parallel(batch_size=1) as parallel:
        while wave := parallel(islice(tasks, WAVE * service.jobs)):
            yield from wave


@cache
def one_blas_thread() -> None:
    """Hold the BLAS libraries of this worker to one thread: the cores are taken, and rows do not depend on them."""
    threadpool_limits(limits=1)


def run_batch(number: int, batch: Sequence[Trial], limits: Limits | None) -> Done:
    """Run trials one after another until the batch is done or its time is up; at least one is run.

    Given limits, even empty ones, the trials run in a supervised process.
    """
    one_blas_thread()
    clock = time.perf_counter()
    rows = []
    for trial in batch:
        rows.append(measure(trial) if limits is None else measure_supervised(trial, limits))
        if time.perf_counter() - clock > BATCH_LIMIT:
            break
    return Done(number, rows, time.perf_counter() - clock)
