"""What is wrong with a config, and where: every error of one run, sorted by position, on one screen."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from recovery.errors import RecoverError

Path = tuple[str | int, ...]
"""Keys and list indices from the root of a document to a value."""

MOST_SHOWN = 20


@dataclass(frozen=True, order=True)
class Place:
    """A position in a file (line and column from 1), or a `--set` option (`line` 0), which sorts after the file."""

    rank: int
    line: int
    column: int
    source: str

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}" if self.line else self.source


@dataclass(frozen=True, order=True)
class Problem:
    """One error: `place: path: text`. missing: a data file that is not there."""

    place: Place
    path: str
    text: str
    missing: bool = False

    def __str__(self) -> str:
        return f"{self.place}: {self.path}: {self.text}" if self.path else f"{self.place}: {self.text}"


class ConfigError(RecoverError):
    """A config that cannot run. `problems` holds every one of them, by position; the message is one screen."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        lines = [str(problem) for problem in self.problems[:MOST_SHOWN]]
        if len(self.problems) > MOST_SHOWN:
            lines.append(f"... and {len(self.problems) - MOST_SHOWN} more")
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[Any, ...]:
        return ConfigError, (self.problems,)


class MissingFileError(ConfigError):
    """A config with nothing wrong but that its data file is not there. name, title, source: its own."""

    def __init__(self, problems: Iterable[Problem], name: str, title: str, source: str) -> None:
        super().__init__(problems)
        self.name, self.title, self.source = name, title, source

    def __reduce__(self) -> tuple[Any, ...]:
        return MissingFileError, (self.problems, self.name, self.title, self.source)


def dotted(path: Path) -> str:
    """`axes.n[3]` for ("axes", "n", 3)."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def as_shown(value: object) -> str:
    """A value as a message shows it, cut to a few words."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        text = "{" + ", ".join(f"{key}: {as_shown(item)}" for key, item in list(value.items())[:4])
        text += ", ...}" if len(value) > 4 else "}"
    elif isinstance(value, list):
        text = "[" + ", ".join(as_shown(item) for item in value[:6]) + (", ...]" if len(value) > 6 else "]")
    else:
        text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
