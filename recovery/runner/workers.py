"""Trials fanned out over workers, each with one BLAS thread; rows come back as they are done.

A backend of joblib is a context in which `joblib.Parallel` runs trials; processes of this machine are not among them:
`supervised` runs those.
"""

import logging
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits

from recovery.config import Trial, Trials, trials_of
from recovery.config.describe import choices
from recovery.errors import ParameterError, RecoverError
from recovery.runner.batches import Batches, Done, run_batch
from recovery.runner.messages import Answer, decode, decode_answer, encode_answer
from recovery.runner.ray_cluster import connected
from recovery.runner.stop import StopRequested
from recovery.runner.supervised import UNLIMITED, Limits, end_worker_processes, measure_supervised, pool
from recovery.runner.trial import Row, measure
from recovery.text import printable

Task = tuple[int, Sequence[Trial], Limits | None]
"""What `_run` takes: the number of a batch, its trials, and their limits."""
Sent = tuple[int, bytes, float]


class EngineLostError(RecoverError):
    """A cluster is gone, and with it the trials under way: what is stored stays, and the same command goes on."""


@dataclass(frozen=True)
class Service:
    """A backend that stands: `run` hands tasks out and what they send back, in any order, as they are done.

    supervise: always run trials in a child process, where losing a worker is dear.
    """

    jobs: int
    run: Callable[[Iterator[Task]], Iterator[Sent]]
    supervise: bool = False


def _by_joblib(tasks: Iterator[Task]) -> Iterator[Sent]:
    parallel = Parallel(return_as="generator_unordered", batch_size=1, max_nbytes=None)
    yield from parallel(delayed(_run)(*task) for task in tasks)


@contextmanager
def threading(jobs: int) -> Iterator[Service]:
    """Threads of this process: no start-up, but the Python code of trials takes turns."""
    with parallel_config("threading", n_jobs=jobs):
        yield Service(jobs, _by_joblib)


@contextmanager
def dask(jobs: int) -> Iterator[Service]:
    """The dask cluster at DASK_SCHEDULER_ADDRESS, or one of `jobs` processes on this machine.

    dask itself reruns what a lost worker had. Trials are supervised: joblib never hears of a task that dask gave up.
    """
    try:
        from dask import config
        from distributed import Client, LocalCluster
        from joblib._dask import DaskDistributedBackend
    except ImportError as error:
        raise _missing("dask") from error

    class Cluster(DaskDistributedBackend):  # type: ignore[misc]
        """joblib would run all trials here where it has counted one worker, as when the others have yet to come."""

        def effective_n_jobs(self, n_jobs: int) -> int:
            return max(2, super().effective_n_jobs(n_jobs))

    for handler in logging.getLogger("distributed").handlers:  # the sweep says in its own words what is lost
        handler.setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        address: Any = os.environ.get("DASK_SCHEDULER_ADDRESS")
        if address is None:
            stack.enter_context(config.set({"distributed.scheduler.allowed-failures": 100}))
            local = {"n_workers": jobs, "threads_per_worker": 1, "silence_logs": logging.CRITICAL}
            # dask's web server cannot be switched off and knows no key: any free port that this machine alone sees
            web = {"dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False}}
            try:  # a key of its own: else whoever can log in here could run code as this user
                cluster = LocalCluster(**local, **web, security=True)
            except ImportError as error:
                raise _missing("dask") from error
            address = stack.enter_context(cluster)
        try:
            client = stack.enter_context(Client(address))
        except (OSError, TimeoutError) as error:
            raise EngineLostError(f"the dask scheduler at {address} does not answer: {error}") from error
        stack.enter_context(parallel_config(Cluster(client=client)))
        yield Service(sum(client.ncores().values()) or jobs, _by_joblib, supervise=True)


@contextmanager
def ray(jobs: int) -> Iterator[Service]:
    """The ray cluster at RAY_ADDRESS, or one of `jobs` processes on this machine."""
    if find_spec("ray") is None:
        raise _missing("ray")
    with connected(jobs, _run) as (processors, run):
        yield Service(processors, run, supervise=True)


def _missing(extra: str) -> ParameterError:
    return ParameterError(f"--backend {extra} needs packages that are not installed: pip install 'recover[{extra}]'")


BACKENDS: dict[str, Callable[[int], AbstractContextManager[Service]]] = {
    "threading": threading,
    "dask": dask,
    "ray": ray,
}


PROCESSES = "processes"
"""The backend that is not joblib's: supervised processes of this machine."""


@dataclass(frozen=True)
class Engine:
    """Where trials run: so many `jobs` of a `backend`, each trial within `limits`. Raises `ParameterError`."""

    jobs: int
    backend: str = PROCESSES
    limits: Limits = UNLIMITED

    def __post_init__(self) -> None:
        if self.jobs < 1 or self.jobs % 1:
            raise ParameterError(f"jobs: found {self.jobs!r}; allowed: an integer >= 1")
        if self.backend not in (PROCESSES, *BACKENDS):
            raise ParameterError(f"backend: found {self.backend!r}; allowed: {choices([PROCESSES, *BACKENDS])}")

    def run(self, trials: Iterable[Trial]) -> Generator[list[tuple[Trial, Row]], None, None]:
        """All trials with their rows, in batches, in the order in which they are done.

        Trials of the user's own code, and all under limits, run in a process that may be lost, on every backend.
        Raises `EngineLostError` where a cluster is gone.
        """
        chosen = trials_of(trials)
        try:
            with threadpool_limits(limits=1):
                if self.backend == PROCESSES:
                    yield from pool(Batches(chosen, self.jobs), self.jobs, self.limits)
                else:
                    yield from self._on_backend(chosen)
        finally:
            end_worker_processes()

    def _on_backend(self, trials: Trials) -> Generator[list[tuple[Trial, Row]], None, None]:
        with ExitStack() as stack:
            try:
                service = stack.enter_context(BACKENDS[self.backend](self.jobs))
            except ConnectionError as error:
                raise EngineLostError(
                    f"the {self.backend} backend does not start ({printable(str(error)):.200})"
                ) from error
            batches = Batches(trials, service.jobs)
            supervise = service.supervise or bool(self.limits) or any(trials.cells.own.values)
            limits = self.limits if supervise else None
            while batches:  # the trials that a batch handed back, once all others are done
                sent = service.run((number, batch, limits) for number, batch in batches)
                while (answer := self._next(sent, stack)) is not None:
                    number, data, seconds = answer
                    done = Done(number, decode_answer(*decode(data), batches.trials(number)).rows, seconds)
                    yield batches.returned(done)

    def _next(self, sent: Iterator[Sent], stack: ExitStack) -> Sent | None:
        """What comes back next. Raises `EngineLostError` for whatever a cluster that is gone raises."""
        try:
            return next(sent, None)
        except (StopRequested, GeneratorExit, RecoverError, MemoryError):
            raise
        except BaseException as error:
            stack.pop_all()  # to end what is gone raises once more, or waits for ever
            text = printable(f"{type(error).__name__}: {error}")
            raise EngineLostError(f"the {self.backend} backend is lost ({text:.200})") from error


@cache
def one_blas_thread() -> None:
    """Hold the BLAS libraries of this worker to one thread: the cores are taken, and rows do not depend on them."""
    threadpool_limits(limits=1)


def _run(number: int, batch: Sequence[Trial], limits: Limits | None) -> tuple[int, bytes, float]:
    """A batch, in this process; given limits, even empty ones, in a supervised one. Its number, rows and seconds."""
    one_blas_thread()

    def some(trials: Sequence[Trial]) -> list[Row]:
        return [measure(trials[0])] if limits is None else measure_supervised(trials, limits)

    done = run_batch(number, batch, some)
    return number, encode_answer(Answer(done.rows)), done.seconds
