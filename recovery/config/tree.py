"""A document as plain data, together with the place of every key and value."""

import json
from dataclasses import dataclass, field
from typing import Any

from recovery.config.problems import Path, Place, Problem, dotted


@dataclass
class Tree:
    """`value` is what YAML holds: dicts with text keys, lists, text, numbers, booleans, None.

    `values` and `keys` map a path to the place of the value and, inside mappings, of its key.
    """

    value: dict[str, Any]
    source: str
    values: dict[Path, Place] = field(default_factory=dict)
    keys: dict[Path, Place] = field(default_factory=dict)

    def place(self, path: Path, *, key: bool = False) -> Place:
        """The place of the value (or key) at `path`, or of the nearest thing around it."""
        if key and path in self.keys:
            return self.keys[path]
        while path and path not in self.values:
            path = path[:-1]
        return self.values.get(path, Place(0, 1, 1, self.source))

    def problem(self, path: Path, text: str, *, key: bool = False, missing: bool = False) -> Problem:
        return Problem(self.place(path, key=key), dotted(path), text, missing)

    def put(self, path: Path, value: Any, place: Place) -> None:
        """Set the value at `path`, mappings on the way included; everything in it then has this one place."""
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


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_json(value: object) -> str:
    """The JSON of which ids are hashes: keys sorted, no spaces."""
    return _ENCODER.encode(value)
