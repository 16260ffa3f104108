"""A newcomer's first hour: a fresh clone, an empty home, `make demo`, the README, every tutorial; each with its time.

    python -m benchmarks.newcomer [--python PYTHON]

The clone is of the commit that is checked out. Nothing of this environment is seen but its variables for the network
and for package indexes. Each page is followed from top to bottom in an empty folder of its own. What a page only shows
(`console` blocks, made for other machines or for hours) is not run. A step that fails is a row that says so, and the
exit status is then 1.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks import machine, written
from docs.steps import NAMED, TABLE, blocks, readme_code, readme_steps

ROOT = Path(__file__).parents[1]
KEPT = re.compile(r"PATH|LANG|LC_.*|TMPDIR|(PIP|UV|SSL|REQUESTS)_.*|.*_PROXY", flags=re.IGNORECASE)
"""Environment variables that the newcomer's shell inherits."""
LIMIT = 1800
"""Seconds of one step."""


def readme() -> Iterator[list[str]]:
    """The README's commands and its Python."""
    yield from readme_steps()
    yield ["python", "-c", readme_code()]


def tutorial(page: Path, folder: Path) -> Iterator[list[str]]:
    """A page's commands and Python, in order; its files are written where it shows them."""
    for language, text in blocks(page):
        if file := NAMED.match(text):
            (folder / file[1]).write_text(text)
        elif language == "python":
            yield ["python", "-c", text]
        elif language == "sh":
            yield from (words for line in text.splitlines() if (words := shlex.split(line, comments=True)))


def follow(steps: Iterator[list[str]], folder: Path, shell: Mapping[str, str]) -> tuple[int, float, str]:
    """How many steps ran, the seconds that they took, and the first that failed, or ''."""
    start, count = time.perf_counter(), 0
    for step in steps:
        done = subprocess.run(step, cwd=folder, env=shell, stdin=-3, capture_output=True, text=True, timeout=LIMIT)
        count += 1
        if done.returncode:
            print(done.stdout, done.stderr, file=sys.stderr)
            return count, time.perf_counter() - start, f"`{shlex.join(step)[:60]}` ended with {done.returncode}"
    return count, time.perf_counter() - start, ""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="The newcomer's Python.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="newcomer-") as place:
        home, clone = Path(place) / "home", Path(place) / "home" / "recover"
        home.mkdir()
        shell = {name: value for name, value in os.environ.items() if KEPT.fullmatch(name)} | {"HOME": str(home)}
        own = Path(sys.executable).parent
        there = [part for part in shell["PATH"].split(os.pathsep) if Path(part) != own]
        shell["PATH"] = os.pathsep.join(there)
        rows = [("git clone", *follow(iter([["git", "clone", "--quiet", str(ROOT), str(clone)]]), home, shell))]
        measured_on = machine(clone)
        rows.append(("make demo", *follow(iter([["make", "demo", f"PYTHON={options.python}"]]), clone, shell)))
        shell["PATH"] = os.pathsep.join([str(clone / ".venv" / "bin"), *there])
        (clone / "table.csv").write_text(TABLE)
        rows.append(("README.md", *follow(readme(), clone, shell)))
        for page in sorted((ROOT / "docs" / "tutorials").glob("*.md")):
            folder = home / page.stem
            folder.mkdir()
            rows.append((f"docs/tutorials/{page.name}", *follow(tutorial(page, folder), folder, shell)))
    lines = [
        "A fresh clone, an empty home; `make demo` makes the environment and installs every package.",
        "",
        "| page | steps | seconds | result |",
        "|---|---|---|---|",
        *(f"| {name} | {steps} | {seconds:.0f} | {failed or 'ok'} |" for name, steps, seconds, failed in rows if steps),
        f"| **all** | {sum(row[1] for row in rows)} | {sum(row[2] for row in rows):.0f} | |",
        "",
        measured_on,
    ]
    written(__file__, lines)
    sys.exit(int(any(row[3] for row in rows)))


if __name__ == "__main__":
    main()
