"""Find the project's former dialect in its words: docstrings, comments, string literals, pages and help texts.

    python -m tests.language recovery/methods tests/methods     prints `file:line: phrase: the words around it`
    python -m tests.language help                                checks the output of every `--help`

Python files are searched in docstrings, comments and string literals; other files (.md, .template, .yaml, .js) in their
whole text. A phrase may cross the end of a line.
"""

import ast
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from recovery.cli.main import main

ROOT = Path(__file__).parents[1]
OPENINGS = re.compile(r"\s*(?:What|Of|That of|Such|Who)\b")
"""First words that no docstring begins with: a docstring begins with a verb, or with a noun that names the thing."""
PHRASES = [
    # listed with the rule
    *("no fits", "in balls", "of late", "the house", "stands? (?:beside|apart|in)", "asked for", "one's own"),
    *("so many", "seldom", "as it stands", "that of", "laid over", "(?:is|are|be|was|not) told", "told (?:of|by|to)"),
    # persons and places for code
    *("nurses?", "rooms? (?:that|of|it)", "wings?"),
    *("own code", "code of one's", "other code of"),
    *("thing of ours", "(?:modules?|files?|code|classes) of (?:yours|ours)", "knows? (?:no|nothing|of)"),
    *("asks? nothing", "is asked", "are asked", "cannot tell", "not (?:been )?told"),
    # old or rare words
    *("dear", "dearer", "dearest", "surer", "surest", "half way", "for ever", "next to nothing", "in all else"),
    *("is no question", "left open", "leaves? open", "come out even", "bring(?:s|ing)? about", "make do", "to and fro"),
    *("of old", "aright", "hitherto", "thrice", "whence", "wherefrom", "nought", "betimes", "in vain"),
    *("a cell's? own", "of their own kind", "have it that", "has it that", "than is asked", "other than asked"),
]
DIALECT = re.compile(r"\b(?:" + "|".join(PHRASES).replace(" ", r"\s+") + r")\b", re.IGNORECASE)
SUFFIXES = {".py", ".md", ".template", ".yaml", ".js"}
NOT_SEARCHED = {"language.py", "CHANGELOG.md"}
"""This list itself, and the history, which is not rewritten."""


@dataclass(frozen=True)
class Finding:
    """One place where the dialect was found; `opening` for the first word of a docstring."""

    path: Path
    line: int
    phrase: str
    context: str
    opening: bool = False

    def __str__(self) -> str:
        kind = "opening " if self.opening else ""
        place = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
        return f"{place}:{self.line}: {kind}{self.phrase!r}: {self.context}"


def search(path: Path) -> Iterator[Finding]:
    """Yield every finding in a file, or in all files below a folder."""
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            hidden = any(part[0] in "._" and not part.startswith("__init__") for part in file.relative_to(path).parts)
            if file.suffix in SUFFIXES and file.name not in NOT_SEARCHED and not hidden:
                yield from search(file)
    elif path.suffix == ".py":
        yield from _in_python(path)
    else:
        yield from in_text(path.read_text(encoding="utf-8"), path)


def in_text(text: str, path: Path, line: int = 1) -> Iterator[Finding]:
    """Yield the phrases of the dialect in a text that begins on this line of the file."""
    for match in DIALECT.finditer(text):
        around = " ".join(text[max(match.start() - 40, 0) : match.end() + 40].split())
        yield Finding(path, line + text.count("\n", 0, match.start()), " ".join(match[0].split()), around)


def _in_python(path: Path) -> Iterator[Finding]:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    docstrings = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]
    for node in docstrings:
        text = str(node.value)
        if match := OPENINGS.match(text):
            yield Finding(path, node.lineno, match[0].strip(), " ".join(text.split())[:80], opening=True)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from in_text(node.value, path, node.lineno)
    for line, text in _comments(source):
        yield from in_text(text, path, line)


def _comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield the first line and the text of each block of comments; neighbouring lines are one block."""
    block, first, last = list[str](), 0, -1
    for token in tokenize.generate_tokens(iter(source.splitlines(keepends=True)).__next__):
        if token.type != tokenize.COMMENT:
            continue
        if token.start[0] != last + 1:
            if block:
                yield first, "\n".join(block)
            block, first = [], token.start[0]
        block.append(token.string.lstrip("# "))
        last = token.start[0]
    if block:
        yield first, "\n".join(block)


def in_help() -> Iterator[Finding]:
    """Yield the phrases of the dialect in the output of `recover --help` and of each command's `--help`."""
    context = click.Context(main, info_name="recover")
    for name in ("", *main.list_commands(context)):
        command = main.get_command(context, name) if name else main
        assert command is not None
        text = command.get_help(click.Context(command, info_name=name or "recover", parent=None))
        yield from in_text(text, Path(f"recover {name} --help"))


if __name__ == "__main__":
    found = [
        finding
        for name in sys.argv[1:] or ["recovery", "cli"]
        for finding in (in_help() if name == "help" else search(Path(name).resolve()))
    ]
    for finding in found:
        print(finding)
    sys.exit(bool(found))
