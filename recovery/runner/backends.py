"""joblib's backends by name: each is a context in which `joblib.Parallel` runs trials.

Processes of this machine are not among them: `supervised` runs those."""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from joblib import parallel_config

from recovery.errors import ParameterError
from recovery.runner.fork_server import worker_environment


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
