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
from itertools import islice
from typing import Any

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits

from recovery.config import Trial
from recovery.config.describe import choices
from recovery.errors import ParameterError, RecoverError
from recovery.runner.batches import Batches, Done, run_batch
from recovery.runner.fork_server import worker_environment
from recovery.runner.messages import Answer, decode, decode_answer, encode_answer
from recovery.runner.supervised import UNLIMITED, Limits, end_worker_processes, measure_supervised, pool
from recovery.runner.trial import Row, measure


@dataclass(frozen=True)
class Service:
    """What a backend can do once it stands.

    broken: exceptions that mean that workers were lost, not that a trial failed. streams: it hands results over one
    by one, not all at the end. supervise: always run trials in a child process, where losing a worker is dear.
    """

    jobs: int
    broken: tuple[type[BaseException], ...] = ()
    streams: bool = True
    supervise: bool = False


@contextmanager
def threading(jobs: int) -> Iterator[Service]:
    """Threads of this process: no start-up, but the Python code of trials takes turns."""
    with parallel_config("threading", n_jobs=jobs):
        yield Service(jobs)


@contextmanager
def dask(jobs: int) -> Iterator[Service]:
    """The dask cluster at DASK_SCHEDULER_ADDRESS, or one of `jobs` processes on this machine.

    dask itself reruns what a lost worker had. Trials are supervised: joblib never hears of a task that dask gave up.
    """
    try:
        from dask import config
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise _missing("dask") from error
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
        client = stack.enter_context(Client(address))
        stack.enter_context(parallel_config("dask", client=client))
        yield Service(sum(client.ncores().values()) or jobs, supervise=True)


@contextmanager
def ray(jobs: int) -> Iterator[Service]:
    """The ray cluster at RAY_ADDRESS, or one of `jobs` processes on this machine."""
    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError as error:
        raise _missing("ray") from error
    local = {} if "RAY_ADDRESS" in os.environ else {"num_cpus": jobs, "include_dashboard": False}
    ray.init(**local, runtime_env={"env_vars": worker_environment()}, log_to_driver=False, logging_level=logging.ERROR)
    try:
        register_ray()
        with parallel_config("ray", n_jobs=jobs):
            yield Service(
                jobs,
                broken=(ray.exceptions.RayActorError, ray.exceptions.WorkerCrashedError),
                streams=False,
                supervise=True,
            )
    finally:
        ray.shutdown()


def _missing(extra: str) -> ParameterError:
    return ParameterError(f"--backend {extra} needs packages that are not installed: pip install 'recover[{extra}]'")


BACKENDS: dict[str, Callable[[int], AbstractContextManager[Service]]] = {
    "threading": threading,
    "dask": dask,
    "ray": ray,
}


PROCESSES = "processes"
"""The backend that is not joblib's: supervised processes of this machine."""

MOST_DEATHS = 3
"""Passes that end with a dead worker and without a finished batch before the sweep gives up."""

WAVE = 8
"""Batches a worker that are handed out together where results come back together."""


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

    def run(self, trials: Iterable[Trial]) -> Generator[list[Row], None, None]:
        """The rows of all trials, in batches, in the order in which they are done.

        Trials of the user's own code, and all under limits, run in a process that may be lost, on every backend.
        Raises `RecoverError` if the workers of a backend keep dying all the same.
        """
        chosen = list(trials)
        try:
            with threadpool_limits(limits=1):
                if self.backend == PROCESSES:
                    batches_done = pool(Batches(chosen, self.jobs), self.jobs, self.limits)
                else:
                    batches_done = self._on_backend(chosen)
                for done in batches_done:
                    yield done.rows
        finally:
            end_worker_processes()

    def _on_backend(self, trials: list[Trial]) -> Generator[Done, None, None]:
        with BACKENDS[self.backend](self.jobs) as service:
            batches, deaths = Batches(trials, service.jobs), 0
            supervise = service.supervise or bool(self.limits) or any(trial.cell.own for trial in trials)
            while batches:
                try:
                    for done in _one_pass(batches, service, self.limits if supervise else None):
                        batches.returned(done)
                        deaths = 0
                        yield done
                except service.broken as error:
                    deaths += 1
                    if deaths > MOST_DEATHS:
                        raise RecoverError(f"workers died {deaths} times before finishing a batch") from error
                    batches.lost()


def _one_pass(batches: Batches, service: Service, limits: Limits | None) -> Iterator[Done]:
    for number, data, seconds in _sent_back(batches, service, limits):
        yield Done(number, decode_answer(*decode(data), batches.trials(number)).rows, seconds)


def _sent_back(batches: Batches, service: Service, limits: Limits | None) -> Iterator[tuple[int, bytes, float]]:
    tasks = (delayed(_run)(number, batch, limits) for number, batch in batches)
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


def _run(number: int, batch: Sequence[Trial], limits: Limits | None) -> tuple[int, bytes, float]:
    """A batch, in this process; given limits, even empty ones, in a supervised one. Its number, rows and seconds."""
    one_blas_thread()

    def some(trials: Sequence[Trial]) -> list[Row]:
        return [measure(trials[0])] if limits is None else measure_supervised(trials, limits)

    done = run_batch(number, batch, some)
    return number, encode_answer(Answer(done.rows)), done.seconds
