"""sbatch scripts that run a sweep on a SLURM cluster: as an array of shards, or as one job with a dask cluster."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from recovery.errors import ParameterError, RecoverError
from recovery.store.parts import writing
from recovery.text import printable

GRACE_SECONDS = 60
"""SLURM warns this many seconds before the time limit; the sweep then stores its rows and the job is requeued."""
MOST_REQUEUES = 50
WORKERS_SECONDS = 300
"""Seconds to wait for all workers, because a sweep uses only those present when it starts."""


class SubmitError(RecoverError):
    """sbatch is not installed, or refused the script."""


@dataclass(frozen=True)
class Job:
    """The resources that a script requests from SLURM, and the command that it runs.

    arguments: of `recover sweep`; logs: folder of the log files; folder: where the script runs; options: further
    #SBATCH lines, such as `--partition=long`; rounds: whether shards may have to wait for each other; modules: the
    folder of the config, which may contain user code; setup: shell lines that run first.
    """

    name: str
    arguments: Sequence[str]
    logs: Path
    folder: Path
    time: str | None = None
    memory: str | None = None
    options: Sequence[str] = ()
    rounds: bool = False
    modules: Path | None = None
    setup: str = ""

    def array(self, tasks: int, at_once: int | None = None) -> str:
        """Return a script for an array of `tasks` tasks, each one shard on one core, at most `at_once` at a time.

        A task requeues itself if it reaches its time limit, or if it has to wait for others to finish a round.
        """
        array = f"--array=1-{tasks}%{at_once}" if at_once else f"--array=1-{tasks}"
        return "\n".join(
            [
                *self._header([array, "--cpus-per-task=1", f"--signal=B:USR1@{GRACE_SECONDS}"], "%A_%a"),
                f"again={int(self.rounds)}",
                "trap 'again=1; kill -USR1 $sweep 2>/dev/null' USR1",
                "trap 'kill -TERM $sweep 2>/dev/null' TERM",
                f"{self._sweep()} --jobs 1 --shard $SLURM_ARRAY_TASK_ID/{tasks} &",
                "sweep=$!",
                "wait $sweep; status=$?",
                "while kill -0 $sweep 2>/dev/null; do wait $sweep; status=$?; done  # a trap ends the first wait",
                f'if [ $again = 1 ] && [ $status = 75 ] && [ "${{SLURM_RESTART_COUNT:-0}}" -lt {MOST_REQUEUES} ]; then',
                '    scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}" && exit 0',
                "fi",
                "exit $status",
                "",
            ]
        )

    def dask(self, workers: int) -> str:
        """Return a script for one job with a dask scheduler, `workers` workers with one core each, and the sweep."""
        python = shlex.quote(sys.executable)
        port = "${DASK_SCHEDULER_ADDRESS##*:}"
        # without its dashboard, dask still starts a web server, which requires no key: bind the server to this machine
        web = "--no-dashboard --dashboard-address 127.0.0.1:0"
        return "\n".join(
            [
                *self._header([f"--ntasks={workers}", "--cpus-per-task=1"], "%j"),
                *([f"export PYTHONPATH={shlex.quote(str(self.modules))}:$PYTHONPATH"] if self.modules else []),
                f"secret={shlex.quote(str(self.logs))}/.dask-$SLURM_JOB_ID",
                "trap 'rm -rf \"$secret\"' EXIT",
                f'{python} -m recovery.extras.credentials "$secret" || exit 1',
                "export DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION=True",
                'export DASK_DISTRIBUTED__COMM__TLS__CA_FILE="$secret/cert.pem"',
                *(
                    f'export DASK_DISTRIBUTED__COMM__TLS__{role}__{name}="$secret/{name.lower()}.pem"'
                    for role in ("SCHEDULER", "WORKER", "CLIENT")
                    for name in ("CERT", "KEY")
                ),
                'export DASK_SCHEDULER_ADDRESS="tls://$(hostname):$((20000 + SLURM_JOB_ID % 20000))"',
                f"{python} -m distributed.cli.dask_scheduler --protocol tls --port {port} {web} &",
                f"srun {python} -m distributed.cli.dask_worker $DASK_SCHEDULER_ADDRESS --nthreads 1 {web} &",
                f"{python} -c 'import distributed as d; d.Client().wait_for_workers({workers}, {WORKERS_SECONDS})'",
                f"{self._sweep()} --backend dask",
                "status=$?",
                "kill %1 %2",
                "exit $status",
                "",
            ]
        )

    def _header(self, options: Sequence[str], job: str) -> list[str]:
        logs = quoted(f"{str(self.logs).replace('%', '%%')}/{job}.log")
        requested = [*options, "--requeue", "--open-mode=append", f"--output={logs}"]
        requested += [f"--time={self.time}"] if self.time else []
        requested += [f"--mem={self.memory}"] if self.memory else []
        return [
            "#!/bin/bash",
            f"#SBATCH --job-name={self.name}",
            *(f"#SBATCH {option}" for option in [*requested, *self.options]),
            f"cd {shlex.quote(str(self.folder))} || exit 1",
            *([self.setup.rstrip("\n"), "set +eu  # the script handles errors itself"] if self.setup else []),
        ]

    def _sweep(self) -> str:
        return shlex.join([sys.executable, "-m", "recovery.cli", "sweep", *self.arguments, "--quiet"])


def quoted(path: str) -> str:
    """Quote a path for a #SBATCH line.

    Raises `ParameterError` for control characters, and for a backslash, after which SLURM does not replace %A and %a.
    """
    if printable(path) != path:
        raise ParameterError(f"{path!a}: SLURM allows no line break in the name of a log; give another --out")
    if "\\" in path:
        raise ParameterError(f"{path}: SLURM allows no backslash in the name of a log; give another --out")
    return '"' + path.replace('"', r"\"") + '"'


def slurm_time(text: str) -> str:
    """Return a time limit in SLURM's format: 2h, 90m and 1d become hours:minutes:seconds. Raises `ParameterError`."""
    if match := re.fullmatch(r"(\d+)(m|min|h|d)", text):
        minutes = int(match[1]) * {"m": 1, "min": 1, "h": 60, "d": 1440}[match[2]]
        return f"{minutes // 60:02}:{minutes % 60:02}:00"
    if re.fullmatch(r"\d+(:[0-5]?\d){0,2}|\d+-\d+(:[0-5]?\d){0,2}", text):
        return text
    raise ParameterError(f"{text!r} is not a time limit; write 2h, 90m, 02:00:00 or 1-12:00:00")


def seconds_of(limit: str) -> int:
    """Return the seconds of a time limit in SLURM's format, where 10 and 00:10 are minutes and minutes:seconds."""
    days, dash, rest = limit.rpartition("-")
    parts = [int(part) for part in rest.split(":")]
    if dash or len(parts) == 3:
        hours, minutes, seconds = (*parts, 0, 0)[:3]
    else:
        hours, minutes, seconds = (0, *parts, 0)[:3]
    return ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds


def slurm_memory(text: str) -> str:
    """Return an amount of memory if SLURM can read it. Raises `ParameterError` otherwise."""
    if not re.fullmatch(r"\d+[KMGT]?", text):
        raise ParameterError(f"{text!r} is not an amount of memory; write 4G or 500M")
    return text


def slurm_option(text: str) -> str:
    """Return a further option of sbatch if it is one line. Raises `ParameterError` otherwise."""
    if not re.fullmatch(r"-{1,2}[A-Za-z][^\x00-\x1f\x7f]*", text):
        raise ParameterError(f"{text!r} is not an option of sbatch; write it as --sbatch=--partition=long")
    return text


def array_of(text: str) -> tuple[int, int | None]:
    """Parse `50`, an array of 50 tasks, or `50%10`, at most 10 of them at a time. Raises `ParameterError`."""
    match = re.fullmatch(r"([1-9]\d{0,5})(?:%([1-9]\d{0,5}))?", text)
    if match is None:
        raise ParameterError(f"{text!r} is not an array; write 50, or 50%10 for 10 tasks at a time")
    return int(match[1]), int(match[2]) if match[2] else None


def write_script(path: Path, text: str) -> None:
    """Write a script and the folders above it. Raises `StoreError` if this is impossible."""
    with writing(path, "; give another --out"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def sbatch(script: Path, options: Sequence[str] = ()) -> str:
    """Submit a script and return the output of sbatch. Raises `SubmitError`."""
    command = ["sbatch", *options, str(script)]
    if shutil.which("sbatch") is None:
        raise SubmitError(f"sbatch is not installed here; run this on the cluster: {shlex.join(command)}")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SubmitError(f"sbatch refused {script}: {done.stderr.strip()}")
    return done.stdout.strip()


def queued_tasks(script: Path) -> set[int]:
    """Return the array tasks of a script that wait or run; none without squeue. Raises `SubmitError` if SLURM fails."""
    if shutil.which("squeue") is None:
        return set()
    command = ["squeue", "--me", "--array", "--noheader", "--format=%K %o"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SubmitError(f"squeue does not list the tasks that wait or run: {done.stderr.strip()}")
    pairs = [line.strip().split(maxsplit=1) for line in done.stdout.splitlines()]
    return {int(pair[0]) for pair in pairs if pair[0].isdecimal() and pair[1:] == [str(script)]}
