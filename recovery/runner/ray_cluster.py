"""A Ray cluster, used from a separate process: Ray ends the process that uses it when the cluster is gone.

This driver receives calls over a socket, as the workers of this machine do, and sends back their results as bytes.
"""

import logging
import os
import pickle
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from itertools import count, islice
from threading import Lock
from typing import Any

from recovery.errors import ParameterError
from recovery.runner.fork_server import start_python, worker_environment
from recovery.text import printable

AHEAD = 2
"""Batches that each processor of a cluster is given at a time."""
SESSIONS = "/tmp"
"""Folder for Ray's sockets: the path of a socket has at most 107 characters."""
START_SECONDS = 120.0
"""Seconds to find a cluster: Ray itself tries for many minutes."""
END_SECONDS = 10.0
"""Seconds that the driver may take to end its cluster before it is killed. Ray's processes then notice that."""

Results = Generator[tuple[Any, Any], None, None]
"""Batches and what a function has returned for them, in any order."""
Run = Callable[..., Results]
"""run(call, batches, *more) calls call(batch, *more) for each batch, and yields the `Results`."""

_LOST = -1
"""Number of a result that gives the reason why the driver ends."""
_OPEN = -2
"""Number of a result that says that the cluster answers anybody."""


@contextmanager
def connected(jobs: int) -> Iterator[tuple[int, Run]]:
    """Yield the number of processors of a cluster, at RAY_ADDRESS or started here, and a function that runs calls.

    Ray itself runs the calls of a lost worker again. Ray listens on all addresses and has no option for the loopback
    interface alone, so the cluster of this machine answers only those who know its token. Where Ray chooses the folder
    of its files, anybody may read and replace them: they are in a folder of this user. Raises ConnectionError if the
    cluster is lost, and `ParameterError` if it answers a client without the token.
    """
    environment, folder = dict[str, str](), None
    with ExitStack() as session:
        if "RAY_ADDRESS" in os.environ:
            require_listener(os.environ["RAY_ADDRESS"])
        else:
            token = os.environ.get("RAY_AUTH_TOKEN") or secrets.token_hex(32)
            environment = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}
            made = tempfile.TemporaryDirectory(prefix="ray-", dir=SESSIONS, ignore_cleanup_errors=True)
            # Ray lets every user access the folder that it is given, so give it a subfolder of a private folder
            folder = f"{session.enter_context(made)}/ray"
        code = f"from recovery.runner.ray_cluster import serve; serve({{}}, {jobs}, {folder!r})"
        # the output is discarded, because Ray's processes print messages when other Ray processes are gone. The driver
        # starts in /, because Ray imports modules of the current folder
        connection, driver = start_python(code, folder="/", output=subprocess.DEVNULL, **environment)
        lines = session.enter_context(session.enter_context(connection).makefile("rb"))

        def returned() -> tuple[int, bytes, float]:
            """Return the number of a call, the line of data that it has returned, and its seconds."""
            try:
                number, seconds, data = lines.readline().split(b" ", 2)
            except TimeoutError as error:
                raise ConnectionError(f"no cluster answers within {START_SECONDS:g} s") from error
            except (OSError, ValueError) as error:
                raise ConnectionError(f"its driver ended with status {driver.wait()}") from error
            if int(number) == _LOST:
                raise ConnectionError(data.decode())
            if int(number) == _OPEN:
                raise ParameterError(data.decode())
            return int(number), data, float(seconds)

        def run(call: Callable[..., Any], batches: Iterator[Any], *more: Any) -> Results:
            given, numbers = dict[int, Any](), count()

            def submit(most: int) -> None:
                for batch, number in zip(islice(batches, most), numbers, strict=False):
                    given[number] = batch
                    connection.sendall(pickle.dumps((number, call, (batch, *more))))

            submit(AHEAD * processors)
            while given:
                number, data, seconds = returned()
                submit(1)
                yield given.pop(number), (data, seconds)

        try:
            connection.settimeout(START_SECONDS)
            processors = max(returned()[0], 1)
            connection.settimeout(None)
            yield processors, run
        finally:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            try:
                driver.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                driver.kill()
                driver.wait()


def require_listener(address: str) -> None:
    """Raise ConnectionError at once if nobody listens at host:port: Ray itself tries for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        try:
            socket.create_connection((host.strip("[]"), int(port)), START_SECONDS).close()
        except OSError as error:
            raise ConnectionError(f"no cluster answers at {address}: {error.strerror or error}") from error


def answers_anybody(address: str) -> bool:
    """Return whether a cluster answers a client without its token. Raises ConnectionError if it answers nobody."""
    stranger = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    command = [sys.executable, "-P", "-m", "ray.scripts.scripts", "health-check", "--address", address]
    nothing = subprocess.DEVNULL
    clients = [
        subprocess.Popen(command, env=environment, stdin=nothing, stdout=nothing, stderr=nothing)
        for environment in (dict(os.environ), stranger | {"RAY_AUTH_MODE": "disabled"})
    ]
    known, unknown = (client.wait() == 0 for client in clients)
    if not known:
        raise ConnectionError(f"the cluster at {address} does not answer")
    return unknown


def serve(descriptor: int, jobs: int, folder: str | None) -> None:
    """Run the driver: send the number of processors, then run the calls received, until the other end is closed.

    folder: for the files of a cluster on this machine.
    """
    import ray

    connection, lock = socket.socket(fileno=descriptor), Lock()

    def send(number: int, data: bytes, seconds: float) -> None:
        with lock, suppress(OSError):  # the sweep may have stopped and closed the connection
            connection.sendall(f"{number} {seconds!r} ".encode() + data + b"\n")

    def send_error(error: BaseException) -> None:
        send(_LOST, printable(f"{type(error).__name__}: {error}").encode(), 0.0)

    def done(number: int, future: Future[tuple[bytes, float]]) -> None:
        if (error := future.exception()) is not None:
            send_error(error)
        else:
            send(number, *future.result())

    here = {"num_cpus": jobs, "include_dashboard": False, "_temp_dir": folder}
    there = {"runtime_env": {"env_vars": worker_environment()}}
    try:
        ray.init(**(there if "RAY_ADDRESS" in os.environ else here), log_to_driver=False, logging_level=logging.ERROR)
        if "RAY_ADDRESS" not in os.environ and answers_anybody(ray.get_runtime_context().gcs_address):
            words = (
                f"Ray {ray.__version__} lets every process of this machine run code as you: pip install 'recover[ray]'"
            )
            return send(_OPEN, f"--backend ray: {words}".encode(), 0.0)
        send(int(ray.cluster_resources().get("CPU", jobs)), b"", 0.0)
    except Exception as error:
        return send_error(error)
    remote = cache(ray.remote(num_cpus=1, max_retries=-1))
    calls = connection.makefile("rb")
    while True:
        try:
            number, call, arguments = pickle.load(calls)
        except (OSError, EOFError):
            return ray.shutdown()
        remote(call).remote(*arguments).future().add_done_callback(partial(done, number))
