"""Markdown from docstrings: formulas are typeset, and what a docstring says of each parameter is found."""

import inspect
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

PARAMETER = re.compile(r"(?:^|(?<=[.;]\s))(\w+(?:, \w+)*): ")
FORMULAS: dict[str, str] = YAML(typ="safe").load(Path(__file__).parent / "formulas.yaml")
TYPESET = re.compile("(" + "|".join(map(re.escape, sorted(FORMULAS, key=len, reverse=True))) + ")")


def plain(text: str) -> str:
    """Typeset the formulas of a text and keep its other stars, brackets and underscores; code in backticks stays."""
    parts = text.split("`")
    parts[::2] = ["".join(map(_typeset, TYPESET.split(part))) for part in parts[::2]]
    return "`".join(parts)


def _typeset(part: str) -> str:
    return f"${FORMULAS[part]}$" if part in FORMULAS else re.sub(r"([*<_\[\]~$])", r"\\\1", part)


def table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def described(thing: Any, names: Collection[str]) -> tuple[str, dict[str, str]]:
    """Return a docstring without its sentences `name: text` about parameters of these names, and these by name.

    A class also has the sentences of its bases.
    """
    paragraphs, meanings = [], dict[str, str]()
    for base in reversed(getattr(thing, "__bases__", ())):
        meanings |= described(base, names)[1]
    for paragraph in inspect.cleandoc(thing.__doc__ or "").split("\n\n"):
        text = re.sub(r"\n(?![A-Z])|(?<![.])\n", " ", paragraph)  # a new sentence on a new line is of no parameter
        starts = [m for m in PARAMETER.finditer(text) if all(one in names for one in m[1].split(", "))]
        rest = text[: starts[0].start()] if starts else text
        for start, following in zip(starts, [*starts, None][1:], strict=True):
            meaning, *others = text[start.end() : following.start() if following else None].strip().split("\n")
            meanings |= dict.fromkeys(start[1].split(", "), meaning.strip().rstrip(".;"))
            rest += " ".join([" ", *others])
        paragraphs.append(plain(" ".join(rest.split())))
    return "\n\n".join(filter(None, paragraphs)), meanings
