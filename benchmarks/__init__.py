"""Measurements that are too slow for tests, one script per subject: speed as ratios within one run, coverage of
intervals and claims, verdicts on difficult matrices."""

import argparse
import json
import os
import platform
import subprocess
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

import scipy.linalg  # noqa: F401  # NumPy and SciPy bring a BLAS each, and only what is loaded is limited
from threadpoolctl import threadpool_limits

HERE = Path(__file__).parent


def one_thread() -> threadpool_limits:
    """Return a context in which every BLAS has one thread."""
    return threadpool_limits(1)


def machine() -> str:
    """`x86_64, 2 cores, Python 3.11.7, NumPy 2.4.6; commit 5bcd951.`"""
    python = f"Python {platform.python_version()}, NumPy {version('numpy')}"
    return f"{platform.machine()}, {os.cpu_count()} cores, {python}; commit {commit()}."


def commit() -> str:
    """Return the commit that is checked out, with `-dirty` if a file other than a table was edited."""
    tables = (":(top,exclude)benchmarks/*.md", ":(top,exclude)benchmarks/*.csv")

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=HERE, capture_output=True, text=True, check=True).stdout.strip()

    edited = git("status", "--porcelain", "--untracked-files=no", "--", ":/", *tables)
    return git("rev-parse", "--short", "HEAD") + ("-dirty" if edited else "")


def arguments(doc: str | None, **defaults: Any) -> argparse.Namespace:
    """Parse one option per default: False is a switch, a tuple takes several values, names only those of the tuple."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in defaults.items():
        if default is False:
            parser.add_argument(f"--{name}", action="store_true")
            continue
        first = default[0] if isinstance(default, tuple) else default
        several: dict[str, Any] = {"nargs": "*"} if isinstance(default, tuple) else {}
        several |= {"choices": default} if several and isinstance(first, str) else {}
        parser.add_argument(f"--{name}", type=type(first), default=default, **several)
    return parser.parse_args()


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return the lines of a Markdown table, and print each as soon as it is measured."""
    lines = []
    for cells in chain([columns, ["---"] * len(columns)], rows):
        lines.append("| " + " | ".join(map(str, cells)) + " |")
        print(lines[-1], flush=True)
    return lines


def resumed(path: Path, cases: Sequence[Any], measure: Callable[..., Any]) -> list[Any]:
    """Return measure(*case) of each case; the results are kept in a JSON file, if one is named, for a later run."""
    done = json.loads(path.read_text()) if path.is_file() else []
    for case in cases[len(done) :]:
        done.append(measure(*case))
        print(done[-1], flush=True)
        if path != Path():
            path.write_text(json.dumps(done))
    return done


def written(path: str | Path, lines: Sequence[str], kept: bool = True) -> None:
    """Print Markdown with the machine and the commit; if it is kept, write it next to the script or to this file."""
    text = "\n".join(lines).rstrip("\n")
    if machine() not in text:
        text += f"\n\n{machine()}"
    print(text)
    if kept:
        Path(path).with_suffix(".md").write_text(text + "\n", encoding="utf-8")
