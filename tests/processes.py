"""Commands in a process of their own, forked from one that has imported the large libraries, which saves 2 s each."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

SERVER = """
import faulthandler, gc, json, os, signal, sys, time

imports, code, *arguments = sys.argv[1:]
exec(imports)
gc.freeze()
for line in sys.stdin:
    folder, words, environment, seconds = json.loads(line)
    child = os.fork()
    if child == 0:
        os.setsid()
        os.environ.update(environment)
        os.chdir(folder)
        for number, name in ((0, os.devnull), (1, ".stdout"), (2, ".stderr")):
            os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC), number)
        faulthandler.dump_traceback_later(0.9 * seconds)
        break
    end = time.monotonic() + seconds
    while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < end:
        time.sleep(0.005)
    if not ended[0]:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    print(json.dumps(os.waitstatus_to_exitcode(ended[1]) if ended[0] else None), flush=True)
else:
    os._exit(0)
sys.argv = ["recover", *words]
exec(code)
"""
LIBRARIES = """
import click, joblib, numpy, pandas, pyarrow.parquet, pydantic, ruamel.yaml, scipy.optimize, scipy.special, scipy.stats
import matplotlib.backends.backend_agg, matplotlib.figure
"""
"""No module of `recovery` is imported before the fork, so each command has to import all that it needs."""
COMMAND = "from recovery.cli.start import main; main()"
SECONDS = 1200
"""A command that takes longer hangs: it is killed, and its exit status is None."""


class Run(Protocol):
    def __call__(self, folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]: ...


@contextmanager
def forked_commands(
    code: str = COMMAND, *arguments: str, imports: str = LIBRARIES, environment: Mapping[str, str] | None = None
) -> Iterator[Run]:
    """Yield a function that runs `recover ARGUMENTS` in a folder, in a new process, and returns what it printed.

    Other code than the program's reads the arguments from `sys.argv`. imports: code that runs once, before the forks,
    with these `arguments` and this environment.
    """
    command = [sys.executable, "-c", SERVER, imports, code, *arguments]
    env = {**os.environ, **(environment or {})}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as server:
        requests, answers = server.stdin, server.stdout
        assert requests is not None
        assert answers is not None

        def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
            requests.write(json.dumps([str(folder), arguments, environment, SECONDS]) + "\n")
            requests.flush()
            status = json.loads(answers.readline())
            said = ((folder / name).read_text() for name in (".stdout", ".stderr"))
            return subprocess.CompletedProcess(["recover", *arguments], status, *said)

        yield run
        requests.close()
