"""Batches of trials handed out to workers, each with one BLAS thread; rows come back as they are done."""

import logging
import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from itertools import islice
from threading import BoundedSemaphore
from typing import Any

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from recovery.backends import BACKENDS
from recovery.config import Trial, trials_of
from recovery.errors import ParameterError, RecoverError
from recovery.runner.batches import BATCH_LIMIT, Batches
from recovery.runner.fork_server import environment_restored
from recovery.runner.messages import Answer, decode, decode_answer, encode_answer
from recovery.runner.pool import UNLIMITED, WORKERS, Limits, Workers
from recovery.runner.ray_cluster import AHEAD, Results, Run, connected
from recovery.runner.trial import Row, measure
from recovery.text import choices, printable

DASK_ENVIRONMENT = "distributed.nanny.pre-spawn-environ"
"""Key of Dask's configuration with the environment variables of workers."""


class EngineLostError(RecoverError):
    """A cluster is gone, and with it the trials under way. Stored rows stay, and the same command continues."""


@dataclass(frozen=True)
class Service:
    """A backend that is running. Raises ConnectionError when it is lost.

    run: see `Run`. remote: the function may be called on other machines, so trials run in worker processes there, and
    rows come back as bytes.
    """

    jobs: int
    run: Run
    remote: bool = False


@contextmanager
def threads(jobs: int) -> Iterator[Service]:
    """Service that runs batches in joblib threads: one more than the jobs, so that a batch is ready when one ends."""
    free = BoundedSemaphore(jobs)

    def call_when_free(call: Callable[..., Any], batch: Any, *more: Any) -> tuple[Any, Any]:
        with free:
            return batch, call(batch, *more)

    def run(call: Callable[..., Any], batches: Iterator[Any], *more: Any) -> Results:
        parallel = Parallel(jobs + 1, "threading", return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs")
        yield from parallel(delayed(call_when_free)(call, batch, *more) for batch in batches)

    yield Service(jobs, run)


@contextmanager
def dask(jobs: int) -> Iterator[Service]:
    """Service that runs batches on the Dask cluster at DASK_SCHEDULER_ADDRESS, or on one of `jobs` processes here.

    Dask itself runs the batches of a lost worker again.
    """
    try:
        from dask import config
        from distributed import Client, LocalCluster, as_completed
    except ImportError as error:
        raise _missing("dask") from error
    # silence Dask's log, because the sweep reports lost workers in its own words
    for handler in logging.getLogger("distributed").handlers:
        handler.setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        address: Any = os.environ.get("DASK_SCHEDULER_ADDRESS")
        if address is None:
            # without PYTHONSAFEPATH, workers would import modules from the current folder
            safe = {f"{DASK_ENVIRONMENT}.PYTHONSAFEPATH": "1"}
            stack.enter_context(config.set({"distributed.scheduler.allowed-failures": 100, **safe}))
            changed = [*config.get(DASK_ENVIRONMENT), "PYTHONHASHSEED", "__DASK_PARENT_PID"]
            # these variables are restored, because Dask sets the environment of its workers in this process, too
            stack.enter_context(environment_restored(changed))
            local = {"n_workers": jobs, "threads_per_worker": 1, "silence_logs": logging.CRITICAL}
            # Dask's web server cannot be switched off and requires no key: let it use any free port, reachable from
            # this machine alone
            web = {"dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False}}
            # security=True creates a key: otherwise anybody who can log in on this machine could run code as this user
            try:
                cluster = LocalCluster(**local, **web, security=True)
            except ImportError as error:
                raise _missing("dask") from error
            address = stack.enter_context(cluster)
        try:
            client = stack.enter_context(Client(address))
        except (OSError, TimeoutError) as error:
            raise EngineLostError(f"the dask scheduler at {address} does not answer: {error}") from error
        processors = sum(client.ncores().values()) or jobs

        def run(call: Callable[..., Any], batches: Iterator[Any], *more: Any) -> Results:
            given = dict[Any, Any]()

            def submit(most: int) -> list[Any]:
                new = {client.submit(call, batch, *more, pure=False): batch for batch in islice(batches, most)}
                given.update(new)
                return list(new)

            running = as_completed(submit(AHEAD * processors))
            for future in running:
                try:
                    result = future.result()
                except RecoverError:
                    raise
                except Exception as error:  # Dask raises exceptions of many types if its cluster is gone
                    raise ConnectionError(f"{type(error).__name__}: {error}") from error
                running.update(submit(1))
                yield given.pop(future), result

        yield Service(processors, run, remote=True)


@contextmanager
def ray(jobs: int) -> Iterator[Service]:
    """Service that runs batches on the Ray cluster at RAY_ADDRESS, or on one of `jobs` processes on this machine."""
    if find_spec("ray") is None:
        raise _missing("ray")
    with connected(jobs) as (processors, run):
        yield Service(processors, run, remote=True)


def _missing(extra: str) -> ParameterError:
    return ParameterError(f"--backend {extra} needs packages that are not installed: pip install 'recover[{extra}]'")


SERVICES: dict[str, Callable[[int], AbstractContextManager[Service]]] = {
    "processes": threads,
    "threading": threads,
    "dask": dask,
    "ray": ray,
}
IN_THREADS = "threading"
"""The backend that runs trials in this process, unless they run user code or have limits."""


@dataclass(frozen=True)
class Engine:
    """Where trials run: `jobs` at a time on a `backend`, each within `limits`. Raises `ParameterError`."""

    jobs: int
    backend: str = "processes"
    limits: Limits = UNLIMITED

    def __post_init__(self) -> None:
        if self.jobs < 1 or self.jobs % 1:
            raise ParameterError(f"jobs: found {self.jobs!r}; allowed: an integer >= 1")
        if self.backend not in BACKENDS:
            raise ParameterError(f"backend: found {self.backend!r}; allowed: {choices(BACKENDS)}")

    def run(
        self, trials: Iterable[Trial], compiles: Callable[[], None] = lambda: None
    ) -> Generator[list[tuple[Trial, Row]], None, None]:
        """Yield all trials with their rows, in batches, in the order in which they are done.

        compiles: called from any thread whenever a worker process of this machine begins to compile code.

        Raises `EngineLostError` if a cluster is gone.
        """
        chosen = trials_of(trials)
        in_threads = self.backend == IN_THREADS and not self.limits and not any(chosen.cells.own.values)
        service = ExitStack()
        with threadpool_limits(limits=1), closing(Workers(compiles)) as workers, service:
            try:
                backend = service.enter_context(SERVICES[self.backend](self.jobs))
                call = run_remotely if backend.remote else partial(run_batch, _first if in_threads else workers.measure)
                batches = Batches(chosen, backend.jobs)
                while batches:  # repeat, because batches may have handed back trials
                    with closing(backend.run(call, batches, self.limits)) as results:
                        for batch, (rows, seconds) in results:
                            known = decode_answer(decode(rows), batch).rows if backend.remote else rows
                            yield batches.returned(batch, known, seconds)
            except ConnectionError as error:
                service.pop_all()  # do not close the lost cluster: closing it raises again, or waits forever
                raise EngineLostError(f"the {self.backend} backend is lost ({printable(str(error)):.200})") from error


def run_batch(
    measure: Callable[[Sequence[Trial], Limits], list[Row]], batch: Sequence[Trial], limits: Limits
) -> tuple[list[Row], float]:
    """Run trials until the batch is done or its time is up, at least one; return their rows and the seconds.

    measure: returns the rows of the first few of some trials, at least one.
    """
    clock, rows = time.perf_counter(), list[Row]()
    while len(rows) < len(batch) and time.perf_counter() - clock < BATCH_LIMIT:
        rows += measure(batch[len(rows) :], limits)
    return rows, time.perf_counter() - clock


def _first(trials: Sequence[Trial], limits: Limits) -> list[Row]:
    return [measure(trials[0])]


def run_remotely(batch: Sequence[Trial], limits: Limits) -> tuple[bytes, float]:
    """Run a batch in a worker process of the cluster's machine; return its rows, encoded, and the seconds."""
    _limit_blas()
    rows, seconds = run_batch(WORKERS.measure, batch, limits)
    return encode_answer(Answer(rows)), seconds


@cache
def _limit_blas() -> None:
    """Limit the BLAS libraries of this process to one thread: the cores are in use, and rows do not depend on them."""
    threadpool_limits(limits=1)
