"""Commands in a process of their own, forked from one that has imported the large libraries, which saves 2 s each."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

SERVER = """
import json, os, sys
import click, joblib, numpy, pandas, pyarrow.parquet, pydantic, ruamel.yaml, scipy.optimize, scipy.special, scipy.stats
import matplotlib.backends.backend_agg, matplotlib.figure

for line in sys.stdin:
    folder, arguments = json.loads(line)
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        for number, name in ((0, os.devnull), (1, ".stdout"), (2, ".stderr")):
            os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC), number)
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    os._exit(0)
code, sys.argv = sys.argv[1], ["recover", *arguments]
exec(code)
"""
"""No module of `recovery` is imported before the fork, so each command has to import all that it needs."""
COMMAND = "from recovery.cli.start import main; main()"


class Run(Protocol):
    def __call__(self, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]: ...


@contextmanager
def forked_commands(code: str = COMMAND) -> Iterator[Run]:
    """Yield a function that runs `recover ARGUMENTS` in a folder, in a new process, and returns what it printed.

    Other code than the program's reads the arguments from `sys.argv`.
    """
    command = [sys.executable, "-c", SERVER, code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        requests, answers = server.stdin, server.stdout
        assert requests is not None
        assert answers is not None

        def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
            requests.write(json.dumps([str(folder), arguments]) + "\n")
            requests.flush()
            status = int(answers.readline())
            said = ((folder / name).read_text() for name in (".stdout", ".stderr"))
            return subprocess.CompletedProcess(["recover", *arguments], status, *said)

        yield run
        requests.close()
