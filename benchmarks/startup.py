"""Processor time until a command prints something, on the quickstart, compared with another checkout.

    python -m benchmarks.startup PYTHON [--runs N]

PYTHON is the interpreter of an environment where the other checkout is installed. The commands of the two alternate;
a ratio compares their medians.
"""

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import commit, machine, written

COMMANDS = {
    "check": "check quickstart",
    "status": "status grid",
    "report --format csv": "report grid --format csv",
    "report --format png": "report grid --format png --out grid.png",
}


ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Bytecode is kept, as an installation does: else one checkout may have it and the other not."""


def spent(python: str, arguments: str, folder: Path) -> float:
    """Seconds of processor time of a command and of all that it started."""
    call = [python, "-m", "recovery.cli", *arguments.split()]
    process = subprocess.Popen(call, cwd=folder, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, arguments
    return used.ru_utime + used.ru_stime


def checkout(python: str) -> Path:
    """Where the program lies that an interpreter runs."""
    code = "import recovery; print(recovery.__file__)"
    said = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True, cwd="/").stdout
    return Path(said.strip()).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", help="the interpreter of the other checkout's environment")
    parser.add_argument("--runs", type=int, default=15, help="of each command, in turns  [default: 15]")
    options = parser.parse_args()
    pythons = (options.python, sys.executable)
    names = [commit(checkout(python)) for python in pythons]
    lines = [f"| command | {names[0]} | {names[1]} | ratio |", "|---|---|---|---|"]
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        spent(sys.executable, "sweep quickstart --out grid --quiet", folder)
        for name, arguments in COMMANDS.items():
            times: list[list[float]] = [[], []]
            for run in range(options.runs + 1):
                for i in (0, 1) if run % 2 else (1, 0):
                    times[i].append(spent(pythons[i], arguments, folder))
            kept = [sorted(some[1:]) for some in times]  # the first runs fill the caches of the disk
            before, after = map(statistics.median, kept)
            shown = [f"{statistics.median(some):.2f} s ({some[0]:.2f} to {some[-1]:.2f})" for some in kept]
            lines.append(f"| `{name}` | {shown[0]} | {shown[1]} | {after / before:.2f} |")
    lines += ["", f"Processor time, the median of {options.runs} runs, with the least and the most. {machine()}"]
    written(__file__, lines)


if __name__ == "__main__":
    main()
