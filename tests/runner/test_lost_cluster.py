"""Sweeps whose cluster loses a worker, its scheduler, or everything: Dask and Ray as a site starts them."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pandas as pd
import psutil
import pytest
from distributed import Client

from recovery.runner.fork_server import start_python

from .kills import start, stored_ids
from .sweeps import rows, sweep, write_config

pytestmark = pytest.mark.deep
TRIALS = 360
LOST = "run the same command to continue"


def config_of(folder: Path) -> Path:
    return write_config(folder, method={"seconds": 0.05}, replicates=TRIALS // 6)


def killed_while_it_runs(process: subprocess.Popen[str], out: Path, victims: Callable[[], list[int]]) -> str:
    """Kill them once rows are stored; what the sweep then says, when it has ended."""
    try:
        while not list(out.glob("trials/*.parquet")):
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        stored = stored_ids(out)
        pids = victims()
        assert pids
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        _, stderr = process.communicate(timeout=240)
    finally:
        process.kill()
    assert stored.keys() <= stored_ids(out).keys(), "a stored row was lost"
    assert "Traceback" not in stderr, stderr
    return stderr


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """The rows of an undisturbed sweep."""
    folder = tmp_path_factory.mktemp("plain")
    sweep(config_of(folder), folder / "out", jobs=4, backend="threading")
    return rows(folder / "out")


def goes_on(config: Path, out: Path, plain: pd.DataFrame) -> None:
    """The same command ends with the rows of an undisturbed sweep."""
    assert sweep(config, out, jobs=2).stored == {"ok": TRIALS}
    pd.testing.assert_frame_equal(rows(out), plain)


@contextmanager
def running(folder: Path, backend: str) -> Iterator[subprocess.Popen[str]]:
    """A sweep that has stored rows and runs on; it is ended by SIGTERM."""
    out = folder / "out"
    process = start(config_of(folder), "--out", out, "--jobs", 2, "--backend", backend, "--quiet")
    try:
        while not list(out.glob("trials/*.parquet")):
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        process.communicate()


def below(process: subprocess.Popen[Any], name: str) -> list[int]:
    """The processes of this name that a process has started, and those started by them."""
    pids = []
    for child in psutil.Process(process.pid).children(recursive=True):
        with suppress(psutil.Error):  # it has ended since it was listed
            if name in [child.name(), *child.cmdline()] or any(name in word for word in child.cmdline()[2:3]):
                pids.append(child.pid)
    return pids


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("ray::run_remotely", 0),
        ("raylet", 75),
        pytest.param("gcs_server", 75, marks=pytest.mark.soak),
        pytest.param("ray_cluster import serve", 75, marks=pytest.mark.soak),
    ],
)
def test_a_ray_cluster_that_loses(
    name: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plain: pd.DataFrame
) -> None:
    """A worker: ray runs its tasks again, and gives the rows of any backend.

    The raylet, the server of the cluster's state, or the driver: all is lost.
    """
    if name == "gcs_server":  # else ray waits a minute for it
        monkeypatch.setenv("RAY_gcs_rpc_server_reconnect_timeout_s", "15")
    config, out = config_of(tmp_path), tmp_path / "out"
    process = start(config, "--out", out, "--jobs", 2, "--backend", "ray", "--quiet")
    stderr = killed_while_it_runs(process, out, lambda: below(process, name)[:1])
    assert process.returncode == status, stderr
    assert (LOST in stderr) == (status == 75), stderr
    if status == 0:
        assert set(stored_ids(out).values()) == {1}
    goes_on(config, out, plain)


@pytest.fixture
def dask_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, list[int]]]:
    """A scheduler and two workers, as a site runs them: their process ids."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, "-m", "distributed.cli.{}", "--no-dashboard"]
    others = {"cwd": tmp_path, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    parts = (["dask_scheduler", "--host", address], *2 * [["dask_worker", address, "--nthreads", "1", "--no-nanny"]])
    started = [
        subprocess.Popen([*command[:2], command[2].format(part[0]), command[3], *part[1:]], **others) for part in parts
    ]
    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", address)
    yield {"scheduler": [started[0].pid], "worker": [started[1].pid]}
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.parametrize(("lost", "status"), [("worker", 0), ("scheduler", 75)])
def test_a_dask_cluster_that_loses(
    lost: str, status: int, tmp_path: Path, dask_cluster: dict[str, list[int]], plain: pd.DataFrame
) -> None:
    """One of its two workers, half of the machine: the other runs its trials. Or the scheduler: all is lost."""
    config, out = config_of(tmp_path), tmp_path / "out"
    process = start(config, "--out", out, "--backend", "dask", "--quiet")
    stderr = killed_while_it_runs(process, out, lambda: dask_cluster[lost])
    assert process.returncode == status, stderr
    assert (LOST in stderr) == (status == 75), stderr
    goes_on(config, out, plain)


def all_of(process: subprocess.Popen[bytes]) -> list[int]:
    return [child.pid for child in psutil.Process(process.pid).children(recursive=True)] + [process.pid]


@pytest.fixture
def ray_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[bytes]]]:
    """A cluster of two nodes with a processor each, as a site starts it; the first has the server of its state."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for name, value in {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "a" * 64, "HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    begin = [str(Path(sys.executable).with_name("ray")), "start", "--block", "--num-cpus", "1"]
    head = ["--head", "--port", str(port), "--include-dashboard", "false"]
    nodes = list[subprocess.Popen[bytes]]()
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as session:
        try:
            for words in ([*head, "--temp-dir", session], ["--address", f"127.0.0.1:{port}"]):
                nodes.append(subprocess.Popen([*begin, *words], stdout=-3, stderr=-3, start_new_session=True))
                while not below(nodes[-1], "ray::RuntimeEnvAgent"):
                    assert nodes[-1].poll() is None
                    time.sleep(0.2)
            monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{port}")
            yield nodes
        finally:
            for node in nodes:
                for pid in all_of(node):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                node.wait()


@pytest.mark.soak
def test_a_ray_cluster_that_loses_half_of_its_machines(
    tmp_path: Path, ray_nodes: list[subprocess.Popen[bytes]], plain: pd.DataFrame
) -> None:
    """The other node runs what it had, and each trial is stored once."""
    config, out = config_of(tmp_path), tmp_path / "out"
    process = start(config, "--out", out, "--backend", "ray", "--quiet")
    stderr = killed_while_it_runs(process, out, lambda: all_of(ray_nodes[1]))
    assert process.returncode == 0, stderr
    assert set(stored_ids(out).values()) == {1}
    goes_on(config, out, plain)


@pytest.mark.parametrize(("backend", "variable"), [("dask", "DASK_SCHEDULER_ADDRESS"), ("ray", "RAY_ADDRESS")])
def test_a_cluster_that_is_not_there(
    backend: str, variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "127.0.0.1:1")
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "3s")
    process = start(config_of(tmp_path), "--out", tmp_path / "out", "--backend", backend, "--quiet")
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 75, stderr
    assert "Traceback" not in stderr
    assert backend in stderr


@pytest.fixture
def port_of_dask() -> Iterator[None]:
    """Take the port that Dask uses for its page, unless another program has it."""
    with socket.socket() as other:
        with suppress(OSError):
            other.bind(("", 8787))
            other.listen()
        yield


@pytest.mark.usefixtures("port_of_dask")
def test_dask_keeps_its_key_in_memory_and_serves_no_other_machine_while_it_runs(tmp_path: Path) -> None:
    """Nobody else who can log in here can read a key or a certificate from a file, or join without one."""
    with running(tmp_path, "dask") as process:
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        readable, listening = set(), []
        for member in family:
            with suppress(psutil.Error):
                words = " ".join(member.cmdline())
                assert "PRIVATE KEY" not in words
                for file in [Path(file.path) for file in member.open_files()]:
                    if file.exists() and file.stat().st_mode & 0o077 and b"PRIVATE KEY" in file.read_bytes():
                        readable.add(file)
                listening += [at.laddr for at in member.net_connections("inet") if at.status == psutil.CONN_LISTEN]
        assert readable == set()
        assert [address for address in listening if not address.ip.startswith("127.")] == []
        ports = [at.laddr.port for at in family[0].net_connections("inet") if at.status == psutil.CONN_LISTEN]
        assert ports
        for port in ports:
            with pytest.raises(OSError, match=r"Timed out|closed"):
                Client(f"tcp://127.0.0.1:{port}", timeout="5s")


def open_to_others(path: Path) -> bool:
    """Whether another user reaches it: each folder above it lets anybody in."""
    return all(folder.stat().st_mode & 0o001 for folder in path.parents)


def answers_nobody_without_its_token(process: subprocess.Popen[str]) -> None:
    """Ray listens on all addresses, so the token is all that keeps others out."""
    agents = [psutil.Process(pid) for pid in below(process, "ray::RuntimeEnvAgent")]
    heard = {at.laddr for agent in agents for at in agent.net_connections("inet") if at.status == "LISTEN"}
    assert heard
    for address in heard:  # it starts programs for who asks it
        with pytest.raises(HTTPError, match="401"):
            urlopen(f"http://{address.ip}:{address.port}/get_or_create_runtime_env", data=b"", timeout=20)
    words = [word for pid in below(process, "gcs_server") for word in psutil.Process(pid).cmdline()]
    assert not [word for word in words if "token" in word.lower()]
    servers = [psutil.Process(pid) for pid in below(process, "gcs_server")]
    open_ = [one for server in servers for one in server.net_connections("inet") if one.status == psutil.CONN_LISTEN]
    ports = {one.laddr.port for one in open_}
    assert ports
    for number in ports:
        code = f"""
from ray._raylet import GcsClient
print("in", GcsClient(address="127.0.0.1:{number}").internal_kv_keys(b"", b"", timeout=20))
"""
        for others in ({"RAY_AUTH_MODE": "disabled"}, {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}):
            done = subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, **others},
                capture_output=True,
                text=True,
                timeout=90,
            )
            assert not done.stdout, done.stdout
            assert "Unauthenticated" in done.stderr or "UNAUTHENTICATED" in done.stderr, done.stderr


def test_nobody_else_reads_or_replaces_what_ray_keeps_or_uses_it_while_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its token is in no file that others may read, and its sockets are where they cannot put others."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    with running(tmp_path, "ray") as process:
        assert [path for path in home.rglob("*") if path.is_file() and path.stat().st_mode & 0o077] == []
        family = psutil.Process(process.pid).children(recursive=True)
        sockets = {Path(at.laddr) for member in family for at in member.net_connections("unix") if at.laddr}
        kept = {path for path in sockets if path.is_absolute() and path.exists()}
        assert {path.name for path in kept} >= {"raylet", "plasma_store"}
        assert [path for path in kept if open_to_others(path)] == []
        answers_nobody_without_its_token(process)
        (session,) = {path.parents[2] for path in kept if path.name == "raylet"}
    assert not session.exists()


def test_a_ray_that_ignores_the_token_is_refused() -> None:
    """Ray before 2.52 ignores the token. Here the cluster has no token, which its driver must notice."""
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as folder:  # the path of a socket is short
        code = f"from recovery.runner.ray_cluster import serve; serve({{}}, 1, {folder + '/ray'!r})"
        connection, driver = start_python(code, folder="/", output=subprocess.DEVNULL, RAY_AUTH_MODE="disabled")
        with connection, connection.makefile("rb") as lines:
            number, _, words = lines.readline().split(b" ", 2)
        assert int(number) < 0
        assert b"lets every process of this machine run code as you" in words
        assert driver.wait(60) == 0
