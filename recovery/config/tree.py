"""A config as plain data with the place of every key and value, and the problems that are found in it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from recovery.errors import RecoverError

Path = tuple[str | int, ...]
"""Keys and list indices from the root of a document to a value."""

MOST_SHOWN = 20
"""Problems that one message lists, so that it fits on a screen."""


@dataclass(frozen=True, order=True)
class Place:
    """A position in a file (line and column from 1), or a source without lines (`line` 0), such as a `--set` option.

    Problems are sorted by `rank` first: 0 for the file, then one number for each option.
    """

    rank: int = 0
    line: int = 0
    column: int = 0
    source: str = ""

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}" if self.line else self.source


@dataclass(frozen=True)
class Problem:
    """One error of a config, shown as `place: path: text`.

    `path` starts at the value under validation, and at the root of the config once `place` is known. key: whether the
    key at `path` is wrong, not its value.
    """

    path: Path
    text: str
    key: bool = False
    place: Place = Place()

    def __str__(self) -> str:
        return ": ".join(part for part in (str(self.place), dotted(self.path), self.text) if part)


class ConfigError(RecoverError):
    """A config that cannot run. `problems` holds all errors, sorted by position; the message shows the first ones."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems), key=lambda one: (one.place, dotted(one.path), one.text)))
        lines = [str(problem) for problem in self.problems[:MOST_SHOWN]]
        if len(self.problems) > MOST_SHOWN:
            lines.append(f"... and {len(self.problems) - MOST_SHOWN} more")
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[Any, ...]:
        return ConfigError, (self.problems,)


def invalid(text: str, *path: str | int, key: bool = False) -> ConfigError:
    """Return the error of one problem at a path inside a value whose place in the config is not known yet."""
    return ConfigError([Problem(path, text, key)])


def refusal(source: str, text: str, line: int = 0, column: int = 0) -> ConfigError:
    """Return the error of one problem at a place."""
    return ConfigError([Problem((), text, place=Place(0, line, column, source))])


@dataclass
class Tree:
    """A config: `value` is the content of the YAML: dicts with text keys, lists, text, numbers, booleans, None.

    `values` and `keys` map a path to the place of the value and, inside mappings, of its key. `problems` are all
    errors found so far, by whichever part of the program.
    """

    value: dict[str, Any]
    source: str
    values: dict[Path, Place] = field(default_factory=dict)
    keys: dict[Path, Place] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def place(self, path: Path, *, key: bool = False) -> Place:
        """Return the place of the value (or key) at `path`, or of the nearest mapping or list around it."""
        if key and path in self.keys:
            return self.keys[path]
        while path and path not in self.values:
            path = path[:-1]
        return self.values.get(path, Place(0, 1, 1, self.source))

    def report(self, path: Path, text: str, *, key: bool = False) -> None:
        """Add a problem at the place of `path`, or of its key."""
        self.problems.append(Problem(path, text, key, self.place(path, key=key)))

    def adopt(self, error: "ConfigError", at: Path) -> None:
        """Add the problems of the value at `at`."""
        for problem in error.problems:
            self.report((*at, *problem.path), problem.text, key=problem.key)

    def refuse(self) -> None:
        """Raise `ConfigError` if there are problems."""
        if self.problems:
            raise ConfigError(self.problems)

    def put(self, path: Path, value: Any, place: Place) -> None:
        """Set the value at `path`, and create the mappings around it; everything in it then has this one place."""
        parent: Any = self.value
        for part in path[:-1]:
            if isinstance(parent, dict) and not isinstance(parent.get(str(part)), dict | list):
                parent[part] = {}
            parent = parent[part]
        parent[path[-1]] = value
        for places in (self.values, self.keys):
            for known in [p for p in places if p[: len(path)] == path]:
                del places[known]
        self.values[path] = self.keys[path] = place

    def axis_blocks(self) -> list[tuple[Path, Any]]:
        """Return the blocks under `axes`, each with its path; one empty block without axes."""
        axes = self.value.get("axes", {})
        several = isinstance(axes, list) and axes
        return [(("axes", i), block) for i, block in enumerate(axes)] if several else [(("axes",), axes)]


def value_at(value: Any, path: str) -> Any:
    """Return the value at a dotted path inside mappings, None without one."""
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def zip_groups(block: Any) -> list[dict[str, Any]]:
    """Return the groups of axes (`zip`) in a block that advance together; none if the block or its `zip` is invalid."""
    groups = block.get("zip") if isinstance(block, dict) else None
    return [group for group in groups if isinstance(group, dict)] if isinstance(groups, list) else []


def dotted(path: Path) -> str:
    """Return `axes.n[3]` for ("axes", "n", 3)."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def as_shown(value: object) -> str:
    """Return a value as a message shows it, cut to 60 characters."""
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


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_json(value: object) -> str:
    """Return the JSON that ids are hashes of: keys sorted, no spaces."""
    return _ENCODER.encode(value)
