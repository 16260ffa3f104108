"""A ray cluster, by a driver in a process of its own: ray ends the process that it runs in when its cluster is gone.

The driver is given calls over a socket, as the workers of this machine are, and sends back what they return as bytes.
"""

import logging
import os
import pickle
import secrets
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from itertools import islice
from threading import Lock
from typing import Any

from recovery.runner.fork_server import worker_environment
from recovery.runner.messages import receive, send
from recovery.text import printable

AHEAD = 2
"""Calls a processor that the cluster is given at a time."""
SESSIONS = "/tmp"
"""Where ray may keep its sockets: the path of one has at most 107 characters."""
START_SECONDS = 120.0
"""A driver that has found no cluster by then never will: ray itself tries for many minutes."""
END_SECONDS = 10.0
"""A driver that has not ended its cluster by then is ended itself; ray's processes notice that."""

Returned = tuple[int, bytes, float]
"""What a call returns: its number, data, and seconds."""
Run = Callable[[Iterator[tuple[Any, ...]]], Iterator[Returned]]

_HEAD = struct.Struct(">qd")
_LOST = -1
"""The number of what is no answer but the reason for the end."""


@contextmanager
def connected(jobs: int, call: Callable[..., Returned]) -> Iterator[tuple[int, Run]]:
    """How many processors the cluster at RAY_ADDRESS has, or one of `jobs` here; and `call` on it, in any order.

    ray reruns what a lost worker had. It listens on all addresses and cannot be told to use the loopback interface
    alone, so the cluster of this machine answers only who knows its token. What ray keeps in files, anybody may read
    and replace where ray chooses: the folder is ours alone. Raises `ConnectionError` if the cluster is lost.
    """
    environment = {**os.environ, **worker_environment()}
    ours, theirs = socket.socketpair()
    with ours, ExitStack() as session:
        folder = None
        if "RAY_ADDRESS" not in environment:
            token = environment.get("RAY_AUTH_TOKEN") or secrets.token_hex(32)
            environment |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}
            made = tempfile.TemporaryDirectory(prefix="ray-", dir=SESSIONS, ignore_cleanup_errors=True)
            folder = f"{session.enter_context(made)}/ray"  # ray lets anybody into the folder that it is given
        with theirs:
            code = f"from recovery.runner.ray_cluster import serve; serve({theirs.fileno()}, {jobs}, {folder!r})"
            driver = subprocess.Popen(
                [sys.executable, "-c", code],
                pass_fds=[theirs.fileno()],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # where ray's processes report, to whom it may concern, that others are gone
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

        def returned() -> Returned:
            try:
                data = receive(ours)
            except TimeoutError as error:
                raise ConnectionError(f"no cluster answers within {START_SECONDS:g} s") from error
            except OSError as error:
                raise ConnectionError(f"its driver ended with status {driver.wait()}") from error
            number, seconds = _HEAD.unpack_from(data)
            if number == _LOST:
                raise ConnectionError(data[_HEAD.size :].decode())
            return number, data[_HEAD.size :], seconds

        def run(calls: Iterator[tuple[Any, ...]]) -> Iterator[Returned]:
            under_way = 0
            for arguments in islice(calls, AHEAD * processors):
                send(ours, pickle.dumps((call, arguments)))
                under_way += 1
            while under_way:
                result = returned()
                under_way -= 1
                for arguments in islice(calls, 1):
                    send(ours, pickle.dumps((call, arguments)))
                    under_way += 1
                yield result

        try:
            ours.settimeout(START_SECONDS)
            processors = max(returned()[0], 1)
            ours.settimeout(None)
            yield processors, run
        finally:
            with suppress(OSError):
                ours.shutdown(socket.SHUT_RDWR)
            try:
                driver.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                driver.kill()
                driver.wait()


def serve(descriptor: int, jobs: int, folder: str | None) -> None:
    """The driver: says how many processors there are, then makes the calls that it is sent, until nobody sends any.

    folder: where a cluster of its own keeps its files.
    """
    import ray

    connection, lock = socket.socket(fileno=descriptor), Lock()

    def answer(number: int, data: bytes, seconds: float) -> None:
        with lock, suppress(OSError):  # nobody waits for it any more
            send(connection, _HEAD.pack(number, seconds) + data)

    def lost(error: BaseException) -> None:
        answer(_LOST, printable(f"{type(error).__name__}: {error}").encode(), 0.0)

    def done(future: Future[Returned]) -> None:
        if (error := future.exception()) is not None:
            lost(error)
        else:
            answer(*future.result())

    here = {"num_cpus": jobs, "include_dashboard": False, "_temp_dir": folder}
    there = {"runtime_env": {"env_vars": worker_environment()}}
    try:
        ray.init(**(there if "RAY_ADDRESS" in os.environ else here), log_to_driver=False, logging_level=logging.ERROR)
        answer(int(ray.cluster_resources().get("CPU", jobs)), b"", 0.0)
    except Exception as error:
        return lost(error)
    remote = cache(ray.remote(num_cpus=1, max_retries=-1))
    while True:
        try:
            data = receive(connection)
        except OSError:
            return ray.shutdown()
        call, arguments = pickle.loads(data)
        remote(call).remote(*arguments).future().add_done_callback(done)
