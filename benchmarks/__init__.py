"""Measurements that are too slow for tests, one script per subject: speed as ratios within one run, coverage of
intervals and claims, verdicts on difficult matrices, every config on contact sheets."""

import os
import platform
import subprocess
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import scipy.linalg  # noqa: F401  # NumPy and SciPy bring a BLAS each, and only what is loaded is limited
from threadpoolctl import threadpool_limits

HERE = Path(__file__).parent


def one_thread() -> threadpool_limits:
    """A context in which every BLAS has one thread."""
    return threadpool_limits(1)


def machine(clone: Path = HERE) -> str:
    """`x86_64, 2 cores, Python 3.11.7, NumPy 2.4.6; commit 5bcd951.`"""
    python = f"Python {platform.python_version()}, NumPy {version('numpy')}"
    return f"{platform.machine()}, {os.cpu_count()} cores, {python}; commit {commit(clone)}."


def commit(clone: Path = HERE) -> str:
    """The commit that is checked out there; with `-dirty` where any of its files but a table is another here."""

    def said(*asked: str) -> str:
        return subprocess.run(["git", *asked], cwd=clone, capture_output=True, text=True, check=True).stdout.strip()

    tables = (":(top,exclude)benchmarks/*.md", ":(top,exclude)benchmarks/*.csv")
    edited = said("status", "--porcelain", "--untracked-files=no", "--", ":/", *tables)
    return said("rev-parse", "--short", "HEAD") + ("-dirty" if edited else "")


def written(table: str | Path, lines: Sequence[str], kept: bool = True) -> None:
    """Print Markdown, with the machine and the commit; where it is to be kept, write it to this file or beside this
    script.
    """
    text = "\n".join(lines).rstrip("\n")
    if machine() not in text:
        text += f"\n\n{machine()}"
    print(text)
    if kept:
        Path(table).with_suffix(".md").write_text(text + "\n", encoding="utf-8")
