"""What is too slow for the tests, one script a subject: speed, as ratios within one run; how often intervals cover and
claims keep their word; verdicts on matrices that try them; every config on contact sheets."""

import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path


def machine() -> str:
    """`x86_64, Python 3.11.7, NumPy 2.4.6.`"""
    return f"{platform.machine()}, Python {platform.python_version()}, NumPy {version('numpy')}."


def written(script: str, lines: Sequence[str], kept: bool = True) -> None:
    """Print Markdown, and where it is to be kept, write it beside its script."""
    text = "\n".join(lines)
    print(text)
    if kept:
        Path(script).with_suffix(".md").write_text(text + "\n")
