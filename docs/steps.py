"""Commands that a reader types: the code blocks of a page, and the commands in the README."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text()
FENCE = re.compile(r"```(\w+)\n(.*?)```", flags=re.DOTALL)
NAMED = re.compile(r"# (\w[\w-]*\.(?:py|yaml))\n")
INSTEAD = {
    "recover sweep p1-fig06 --set data.ensemble=gaussian": (
        "recover sweep p1-fig06 --set data.ensemble=gaussian --set replicates=1"
    ),
    "recover sweep p1-fig04": "recover sweep p1-fig04 --dry-run",
    "recover verify --rigorous": "recover verify results/quickstart --sample 2 --rigorous",
}
"""Short replacements for README commands that take long or do not name their folder."""


def blocks(page: Path) -> list[tuple[str, str]]:
    """Its fenced blocks, in order: language and text."""
    return [(match[1], match[2]) for match in FENCE.finditer(page.read_text())]


def in_blocks() -> list[str]:
    """The commands of the README's `sh` blocks, without their comments and the two that make things."""
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    lines = [line.partition(" #")[0].rstrip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if not line.startswith("make ")]


def in_sentences() -> list[str]:
    """The commands that its sentences name with their arguments."""
    prose = re.sub(r"```.*?```", "", README, flags=re.DOTALL)
    return [" ".join(text.split()) for text in re.findall(r"`(recover\s[^`]+)`", prose)]


def readme_steps() -> Iterator[list[str]]:
    """Each command of the README as it is run: those that take long in a short form."""
    for line in dict.fromkeys([*in_blocks(), *in_sentences()]):
        yield shlex.split(INSTEAD.get(line, line), comments=True)


def readme_code() -> str:
    """The README's Python."""
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    return str(code)
