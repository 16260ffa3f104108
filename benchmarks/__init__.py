"""What is too slow for the tests, one script a subject: speed, as ratios within one run; how often intervals cover and
claims keep their word; verdicts on matrices that try them; every config on contact sheets."""

import os
import platform
import subprocess
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent


def machine(clone: Path = HERE) -> str:
    """`x86_64, 2 cores, Python 3.11.7, NumPy 2.4.6; commit 5bcd951.`"""
    python = f"Python {platform.python_version()}, NumPy {version('numpy')}"
    return f"{platform.machine()}, {os.cpu_count()} cores, {python}; commit {commit(clone)}."


def commit(clone: Path = HERE) -> str:
    """The commit that is checked out there; with `-dirty` where a file that it has is another one here."""
    asked = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    return subprocess.run(asked, cwd=clone, capture_output=True, text=True, check=True).stdout.strip()


def written(script: str, lines: Sequence[str], kept: bool = True) -> None:
    """Print Markdown, and where it is to be kept, write it beside its script."""
    text = "\n".join(lines)
    print(text)
    if kept:
        Path(script).with_suffix(".md").write_text(text + "\n")
