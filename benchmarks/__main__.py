"""One benchmark after another, each with its table. A table that is of the commit that is checked out stays.

python -m benchmarks [NAME ...] [--minutes M]      ends after the benchmark in which M minutes are over: run it again

`contact` and `screens` make pictures, `newcomer` installs the program, `opening` and `screens` need a browser, `peers`
the extra of that name; `stored` measures nothing; `chosen`, `growth`, `overhead`, `sampling` and `theory` write no
table. These run where they are named.
"""

import argparse
import subprocess
import sys
import time

from benchmarks import HERE, commit
from benchmarks.stored import COMMIT

TABLES = (
    *("engines", "report", "floor", "forecast", "scaling", "gated", "exact", "training", "selection", "tensors"),
    *("cells", "curves", "jumps", "until", "strange", "oracle", "truths", "verdicts"),
)
"""Those that need a quiet machine first, the longest last."""
APART = ("chosen", "contact", "growth", "newcomer", "opening", "overhead", "peers", "sampling", "screens", "theory")
OUT = {"oracle": ["--out", str(HERE / "oracle.md")]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(TABLES + APART))
    parser.add_argument("--minutes", type=float, default=90.0)
    given = parser.parse_args()
    if unknown := set(given.names) - {*TABLES, *APART}:
        parser.error(f"{', '.join(sorted(unknown))}: not among {', '.join(TABLES + APART)}")
    end = time.monotonic() + 60 * given.minutes
    for name in given.names or TABLES:
        table = HERE / f"{name}.md"
        commits = set(COMMIT.findall(table.read_text())) if name in TABLES and table.exists() else set()
        if commits == {commit()}:
            print(f"== {name}: of this commit")
        elif time.monotonic() > end:
            sys.exit("the minutes are over: `python -m benchmarks` goes on here")
        else:
            print(f"== {name}", flush=True)
            start = time.monotonic()
            subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *OUT.get(name, [])], check=True)
            print(f"== {name}: {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
