"""Measure every table that is not of the commit that is checked out: timings one after another, counts two at a time.

python -m benchmarks [NAME ...] [--minutes M]      begins no table after M minutes: run it again to go on

Some run only where they are named: `peers` and `rivals` need the extras of those names, `startup` another checkout,
`newcomer` installs the program, `opening` and `screens` need a browser, `contact` and `screens` make pictures, `growth`
writes no table. `stored` measures nothing.
"""

import argparse
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from benchmarks import HERE, commit
from benchmarks.stored import COMMIT

ALONE = (
    "engines",
    "large",
    "report",
    "floor",
    "scaling",
    "gated",
    "path",
    "exact",
    "training",
    "selection",
    "hours",
)
"""What is timed, or takes both processors."""
PAIRED = (
    "forecast",
    "verdicts",
    "truths",
    "tensors",
    "oracle",
    "chosen",
    "curves",
    "jumps",
    "until",
    "strange",
    "cells",
    "claims",
    "sampling",
    "axes",
    "differences",
)
"""What counts, or whose times are processor time beside hours of counts; the longest first."""
APART = ("contact", "growth", "newcomer", "opening", "peers", "rivals", "screens", "startup")
OUT = {"oracle": ["--out", str(HERE / "oracle.md")]}


def measured(name: str, end: float) -> bool:
    """Whether the table is of this commit now, or none is written; it is not begun after `end`."""
    table = HERE / f"{name}.md"
    if name not in APART and table.exists() and set(COMMIT.findall(table.read_text())) == {commit()}:
        print(f"== {name}: of this commit", flush=True)
        return True
    if time.monotonic() > end:
        return False
    print(f"== {name}", flush=True)
    start = time.monotonic()
    command = [sys.executable, "-m", f"benchmarks.{name}", *OUT.get(name, [])]
    ended = subprocess.run(command, capture_output=name in PAIRED, text=True)
    said = f"\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}" if ended.returncode and name in PAIRED else ""
    print(f"== {name}: {time.monotonic() - start:.0f} s, exit status {ended.returncode}{said}", flush=True)
    return ended.returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ALONE + PAIRED + APART))
    parser.add_argument("--minutes", type=float, default=90.0)
    given = parser.parse_args()
    if unknown := set(given.names) - {*ALONE, *PAIRED, *APART}:
        parser.error(f"{', '.join(sorted(unknown))}: not among {', '.join(ALONE + PAIRED + APART)}")
    names, end = given.names or ALONE + PAIRED, time.monotonic() + 60 * given.minutes
    done = {name: measured(name, end) for name in names if name not in PAIRED}
    with ThreadPoolExecutor(2) as pool:
        paired = [name for name in PAIRED if name in names]
        done |= dict(zip(paired, pool.map(lambda name: measured(name, end), paired), strict=True))
    if left := [name for name, ended in done.items() if not ended]:
        sys.exit(f"not measured: {', '.join(left)}; the same command goes on there")


if __name__ == "__main__":
    main()
