"""The sbatch script that runs a stored sweep as an array on a SLURM cluster, one shard of it per task.

Tasks read the sweep that the results folder stores, so later edits of the config do not reach them. To run what is
missing, submit the same script again: the trials of a shard do not depend on what is stored.
"""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from recovery.errors import ParameterError, RecoverError
from recovery.text import printable

GRACE_SECONDS = 60
"""SLURM warns this many seconds before the time limit; the task then stores its rows and is requeued."""
MOST_REQUEUES = 50
LEAST_SECONDS = 5.0
"""Least work of a task in seconds: starting a task takes about as long."""


def array_script(name: str, results: Path, array: str, options: Sequence[str], setup: str, *, rounds: bool) -> str:
    """Return the script. Raises `ParameterError` for an array or an option that is not valid.

    array: N tasks, or N%M for at most M at a time. options: further #SBATCH options. setup: shell lines that run first.
    rounds: tasks may have to wait for others, and are then requeued.
    """
    if not re.fullmatch(r"[1-9]\d{0,5}(%[1-9]\d{0,5})?", array):
        raise ParameterError(f"{array!r} is not an array; write 50, or 50%10 for 10 tasks at a time")
    for option in options:
        if not re.fullmatch(r"-{1,2}[A-Za-z][^\x00-\x1f\x7f]*", option):
            raise ParameterError(f"{option!r} is not an option of sbatch; write it as --sbatch=--partition=long")
    logs = str(results / "slurm").replace("%", "%%") + "/%A_%a.log"
    requested = [f"--job-name={name}", f"--array=1-{array}", "--cpus-per-task=1", f"--signal=B:USR1@{GRACE_SECONDS}"]
    requested += ["--requeue", "--open-mode=append", f"--output={_quoted(logs)}", *options]
    # -P: no module of the task's folder hides one of the standard library
    sweep = [sys.executable, "-P", "-m", "recovery.cli", "sweep", str(results), "--trust", "--jobs", "1", "--quiet"]
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH {option}" for option in requested),
        f"cd {shlex.quote(str(Path.cwd()))} || exit 1",
        *([setup.rstrip("\n"), "set +eu  # the script handles errors itself"] if setup else []),
        f"again={int(rounds)}",
        "trap 'again=1; kill -USR1 $sweep 2>/dev/null' USR1",
        "trap 'kill -TERM $sweep 2>/dev/null' TERM",
        f"{shlex.join(sweep)} &",
        "sweep=$!",
        "wait $sweep; status=$?",
        "while kill -0 $sweep 2>/dev/null; do wait $sweep; status=$?; done  # a trap ends the first wait",
        f'if [ $again = 1 ] && [ $status = 75 ] && [ "${{SLURM_RESTART_COUNT:-0}}" -lt {MOST_REQUEUES} ]; then',
        '    scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}" && exit 0',
        "fi",
        "exit $status",
    ]
    return "\n".join(lines) + "\n"


def _quoted(path: str) -> str:
    """Quote a path for a #SBATCH line. Raises `ParameterError` for what SLURM cannot have in the name of a log."""
    if printable(path) != path or "\\" in path:
        raise ParameterError(f"{path!a}: SLURM allows no backslash or line break in a log's name; give another --out")
    return '"' + path.replace('"', r"\"") + '"'


def sbatch(script: Path) -> str:
    """Submit a script and return the output of sbatch. Raises `RecoverError`."""
    command = ["sbatch", str(script)]
    if shutil.which("sbatch") is None:
        raise RecoverError(f"sbatch is not installed here; run this on the cluster: {shlex.join(command)}")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RecoverError(f"sbatch refused {script}: {done.stderr.strip()}")
    return done.stdout.strip()
