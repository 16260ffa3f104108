"""Real SLURM on one node, this machine, for as long as it is needed."""

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch")
CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldPort={port}
SlurmdPort={other}
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
MpiDefault=none
ReturnToService=2
SchedulerParameters=sched_interval=1
MinJobAge=300
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def wait_until(true: Callable[[], bool], what: str, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds} s for {what}")
        time.sleep(0.1)


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def free_ports() -> tuple[int, int]:
    with socket.socket() as first, socket.socket() as second:
        first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        return first.getsockname()[1], second.getsockname()[1]


@contextmanager
def one_node(folder: Path) -> Iterator[Path]:
    """Its configuration, for SLURM_CONF; what it keeps is in `folder`."""
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    port, other = free_ports()
    host = socket.gethostname().split(".")[0]
    conf = folder / "slurm.conf"
    conf.write_text(CONF.format(host=host, folder=folder, port=port, other=other, cores=os.cpu_count()))
    munge = [f"--{name}-file={folder}/munge.{name}" for name in ("key", "pid", "log", "seed")]
    environment = {**os.environ, "SLURM_CONF": str(conf)}
    daemons = [
        subprocess.Popen(["munged", "--foreground", "--force", f"--socket={folder}/munge.socket", *munge]),
        subprocess.Popen(["slurmctld", "-D", "-f", str(conf)], stdout=-3, stderr=-3, env=environment),
        subprocess.Popen(["slurmd", "-D", "-f", str(conf), "-N", host], stdout=-3, stderr=-3, env=environment),
    ]

    def asked(*command: str) -> str:
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment).stdout

    try:
        wait_until(lambda: "idle" in asked("sinfo", "-h", "-o", "%t"), "an idle node")
        yield conf
    finally:
        asked("scancel", "--user=root")
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.wait()
