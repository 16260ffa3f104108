"""Coordinates: the flat, short values by which rows name their grid cell."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from recovery.config.components import COMPONENTS, Choice, Component
from recovery.config.points import Block, Point, axes_of
from recovery.config.values import same_as
from recovery.methods.columns import FIXED
from recovery.types import Scalar

TAGGED = {"ensemble": "data", "planted": "planted", "method": "method"}
"""Fixed column -> the science field whose tag it holds."""
NUMBERS = {int, float, type(None)}
"""Types that one numeric column can hold together."""


@dataclass
class Coordinates:
    """Makes the coordinates of grid cells: the fixed columns (n, d, noise, ...), then one column for each axis.

    A mapping is labelled by its kind, and by its other keys if several mappings have this kind: `relu k=2`.
    """

    blocks: Sequence[Block]
    known: dict[tuple[str, Component], Scalar] = field(default_factory=dict)

    def __post_init__(self) -> None:
        axes = axes_of(self.blocks)
        names = dict.fromkeys([*FIXED, *axes])
        self.fields = {name: name.partition(".")[0] if name in axes else TAGGED.get(name, name) for name in names}
        self._labels = {path: labels for path in axes if (labels := _mapping_labels(path, self.blocks))}

    def of(self, point: Point, parts: Mapping[str, Component], names: Iterable[str]) -> dict[str, Scalar]:
        """Return the coordinates of these names of the cell at a point with these components."""
        return {name: self._value(name, point, parts) for name in names}

    def _value(self, name: str, point: Point, parts: Mapping[str, Component]) -> Scalar:
        field = self.fields[name]
        if field not in COMPONENTS:  # a user axis
            return point[name].value if name in point else None
        if name in self._labels and name in point:
            label = self._labels[name].get(same_as(point[name].value))
            if label is not None:
                return label
        part = parts[field]
        if (name, part) not in self.known:
            self.known[name, part] = _inside(part, name)
        return self.known[name, part]


def unify(rows: Sequence[dict[str, Scalar]]) -> None:
    """Convert to text each coordinate whose values have several types (`auto` and 30, `inputs` and true)."""
    for name in rows[0] if rows else ():
        types = {type(row[name]) for row in rows}
        if len(types - {type(None)}) > 1 and not types <= NUMBERS:
            for row in rows:
                value = row[name]
                row[name] = None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _inside(part: Component, name: str) -> Scalar:
    """Return the tag of a component, or the value at a path inside it, flat."""
    value, keys = part.resolved, name.split(".")[1:]
    if not keys and part.tag is not None:
        return part.tag
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return _flat(value)


def _flat(value: Any) -> Scalar:
    """Return a value as one scalar; a list or mapping as short text."""
    if isinstance(value, dict):
        return " ".join(f"{key}={_flat(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ",".join(str(_flat(item)) for item in value)
    return value


def _mapping_labels(path: str, blocks: Sequence[Block]) -> dict[object, str]:
    """Return the label of each mapping among the values of an axis."""
    values = [one.value for block in blocks for one in block.given(path)]
    mappings = {same_as(value): value for value in values if isinstance(value, dict)}
    kind = COMPONENTS.get(path)
    tag = kind.tag if isinstance(kind, Choice) else None
    if tag is None:
        return {key: str(_flat(value)) for key, value in mappings.items()}
    kinds = [value.get(tag) for value in mappings.values()]
    labels = {}
    for key, value in mappings.items():
        rest = {name: item for name, item in value.items() if name != tag}
        alone = kinds.count(value.get(tag)) == 1 or not rest
        labels[key] = str(value.get(tag)) if alone else f"{value.get(tag)} {_flat(rest)}"
    return labels
