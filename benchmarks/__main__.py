"""Measure every table that is not of the commit that is checked out: timings one after another, counts two at a time.

    python -m benchmarks [NAME ...] [--minutes M]      begins no table after M minutes: run it again to go on

`peers`, `drawn` and `roots` run only if you name them: they need the extra `peers`.
"""

import argparse
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from benchmarks import HERE, commit

TIMED = ("large", "gated", "exact")
"""Scripts whose wall time counts, or that take both processors."""
COUNTED = (
    *("thresholds", "forecast", "verdicts", "truths", "tensors", "crossings", "until", "claims", "axes", "differences"),
    *("searches", "growth"),
)
"""Scripts that count, or that measure processor time; the longest first."""
NAMED = ("drawn", "peers", "roots")
COMMIT = re.compile(r"commit (\w+(?:-dirty)?)\.")


def measured(name: str, end: float) -> bool:
    """Return whether the table is now of this commit, or the script writes none; no table begins after `end`."""
    table = HERE / f"{name}.md"
    if name not in NAMED and table.exists() and set(COMMIT.findall(table.read_text())) == {commit()}:
        print(f"== {name}: of this commit", flush=True)
        return True
    if time.monotonic() > end:
        return False
    print(f"== {name}", flush=True)
    start = time.monotonic()
    ended = subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], capture_output=name in COUNTED, text=True)
    said = f"\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}" if ended.returncode and name in COUNTED else ""
    print(f"== {name}: {time.monotonic() - start:.0f} s, exit status {ended.returncode}{said}", flush=True)
    return ended.returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = (*TIMED, *COUNTED, *NAMED)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--minutes", type=float, default=90.0)
    given = parser.parse_args()
    if unknown := set(given.names) - {*known}:
        parser.error(f"{', '.join(sorted(unknown))}: not among {', '.join(known)}")
    names, end = given.names or TIMED + COUNTED, time.monotonic() + 60 * given.minutes
    done = {name: measured(name, end) for name in names if name not in COUNTED}
    with ThreadPoolExecutor(2) as pool:
        counted = [name for name in COUNTED if name in names]
        done |= dict(zip(counted, pool.map(lambda name: measured(name, end), counted), strict=True))
    if left := [name for name, ended in done.items() if not ended]:
        sys.exit(f"not measured: {', '.join(left)}; the same command goes on there")


if __name__ == "__main__":
    main()
