"""Where trials run: batches handed out by joblib's threads, or by Dask to other machines."""

import json
import logging
import math
import os
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from recovery.backends import BACKENDS
from recovery.config import Trial, Trials
from recovery.errors import ParameterError, RecoverError
from recovery.runner.batches import Batches
from recovery.runner.child import run_trials
from recovery.runner.pool import POOL, WorkerPool
from recovery.runner.trial import Row
from recovery.text import choices, printable
from recovery.types import Array
from recovery.user import add_folders

AHEAD = 2
"""Batches that each processor of a cluster is given at a time."""
FILE_SECONDS = 30.0
"""Seconds to wait for the file of a Dask scheduler that may just have been started."""
Done = tuple[list[Row], float]
"""The rows of the first few trials of a batch, and the seconds that they took."""
Results = Generator[tuple[Sequence[Trial], Done], None, None]
"""Batches and what became of them, in any order."""
Measure = Callable[[Sequence[Trial], float | None], list[Row]]
"""Function that returns rows of the first few of the trials, at least one. The number limits each trial's seconds."""


class EngineLostError(RecoverError):
    """A cluster is gone, and with it the trials under way. Stored rows stay, and the same command continues."""


@dataclass(frozen=True)
class Engine:
    """Where trials run: `jobs` at a time on a `backend`, each at most `timeout` seconds. Raises `ParameterError`."""

    jobs: int
    backend: str = "processes"
    timeout: float | None = None

    def __post_init__(self) -> None:
        if self.jobs < 1 or self.jobs % 1:
            raise ParameterError(f"jobs: found {self.jobs!r}; allowed: an integer >= 1")
        if self.backend not in BACKENDS:
            raise ParameterError(f"backend: found {self.backend!r}; allowed: {choices(BACKENDS)}")
        if self.timeout is not None and not 0 < self.timeout < math.inf:
            raise ParameterError(f"the time of a trial: found {self.timeout!r}; allowed: a number of seconds > 0")

    def run(
        self, trials: Iterable[Trial], others: Callable[[], Array | None] = lambda: None
    ) -> Generator[list[tuple[Trial, Row]], None, None]:
        """Yield all trials with their rows, in batches, in the order in which they are done.

        others: returns the keys of trials that another run has stored since its last call, which are left out. Raises
        `EngineLostError` if a cluster is gone.
        """
        chosen = Trials.of(trials)
        in_threads = self.backend == "threading" and not self.timeout and not any(cell.own for cell in chosen.cells)
        workers = nullcontext() if in_threads or self.backend == "dask" else closing(WorkerPool())
        with threadpool_limits(limits=1), workers as pool:
            client = _dask_client() if self.backend == "dask" else None
            jobs = self.jobs if client is None else sum(client.ncores().values()) or self.jobs
            batches = Batches(chosen, jobs)
            call = partial(run_batch, pool.measure if pool else _first, timeout=self.timeout)
            try:
                while batches:  # repeat, because batches may have handed back trials
                    run = _on_dask(client, batches, self.timeout) if client else _in_threads(jobs, call, batches)
                    with closing(run) as results:
                        for batch, (rows, seconds) in results:
                            yield batches.returned(batch, rows, seconds)
                            if (stored := others()) is not None:
                                batches.drop(stored)
            except EngineLostError:
                client = None  # closing the client of a lost cluster raises again, or waits forever
                raise
            finally:
                if client is not None:
                    client.close()


def run_batch(measure: Measure, batch: Sequence[Trial], timeout: float | None) -> Done:
    """Return the rows of the first few trials of a batch, and the seconds they took. timeout: limit of each trial."""
    clock = time.perf_counter()
    return measure(batch, timeout), time.perf_counter() - clock


def _first(trials: Sequence[Trial], timeout: float | None) -> list[Row]:
    return [row for _, rows, _ in run_trials(trials, math.inf) for row in rows]


def _in_threads(jobs: int, call: Callable[..., Done], batches: Iterator[Sequence[Trial]]) -> Results:
    """Yield batches run by `call` in joblib threads: one more than the jobs, so that a batch is ready when one ends."""
    free = BoundedSemaphore(jobs)

    def call_when_free(batch: Sequence[Trial]) -> tuple[Sequence[Trial], Done]:
        with free:
            return batch, call(batch)

    parallel = Parallel(jobs + 1, "threading", return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs")
    yield from parallel(delayed(call_when_free)(batch) for batch in batches)


def _dask_client() -> Any:
    """Return a client of the Dask scheduler at DASK_SCHEDULER_ADDRESS, or in the file DASK_SCHEDULER_FILE.

    Everything else about the cluster, its certificates included, is Dask's own configuration.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ParameterError(
            "--backend dask needs packages that are not installed: pip install 'recovery-lab[dask]'"
        ) from error
    # silence Dask's log, because the sweep reports lost clusters in its own words
    for handler in logging.getLogger("distributed").handlers:
        handler.setLevel(logging.CRITICAL)
    address, file = (os.environ.get(f"DASK_SCHEDULER_{name}") for name in ("ADDRESS", "FILE"))
    if not (address or file):
        raise ParameterError(
            "--backend dask: found no scheduler; start one with `dask scheduler --scheduler-file dask.json` and its "
            "workers with `dask worker --scheduler-file dask.json`, and set DASK_SCHEDULER_FILE=dask.json, or "
            "DASK_SCHEDULER_ADDRESS"
        )
    try:
        end = time.monotonic() + FILE_SECONDS
        while not (address or Path(str(file)).exists()) and time.monotonic() < end:  # Dask itself waits without end
            time.sleep(0.1)
        return Client(address or str(json.loads(Path(str(file)).read_text())["address"]))
    except (OSError, TimeoutError, ValueError, LookupError, TypeError) as error:
        raise EngineLostError(f"the dask scheduler at {address or file} does not answer: {error}") from error


def _on_dask(client: Any, batches: Iterator[Sequence[Trial]], timeout: float | None) -> Results:
    """Yield batches run on a cluster. Dask itself runs the batches of a lost worker again."""
    from distributed import as_completed

    given = dict[Any, Sequence[Trial]]()

    def submit(most: int) -> list[Any]:
        new = {client.submit(run_remotely, [*one], timeout, sys.path, pure=False): one for one in islice(batches, most)}
        given.update(new)
        return [*new]

    try:
        running = as_completed(submit(AHEAD * (sum(client.ncores().values()) or 1)))
        for future in running:
            result = future.result()
            running.update(submit(1))
            yield given.pop(future), result
    except RecoverError:
        raise
    except Exception as error:  # Dask raises exceptions of many types if its cluster is gone
        text = printable(f"{type(error).__name__}: {error}")
        raise EngineLostError(f"the dask backend is lost ({text:.200})") from error


def run_remotely(batch: Sequence[Trial], timeout: float | None, path: Sequence[str]) -> Done:
    """Run a batch in worker processes of the cluster's machine, which also import from the folders in `path`."""
    add_folders(map(Path, path))
    return run_batch(POOL.measure, batch, timeout)
