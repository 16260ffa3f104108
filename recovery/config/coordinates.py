"""Coordinates: the flat, short values by which rows name their grid cell."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, replace
from functools import partial
from itertools import accumulate
from typing import Any

from recovery.config.categorical import CategoricalColumn, concatenated, constant, distinct
from recovery.config.components import COMPONENTS, Choice, Component
from recovery.config.points import AxisValue, Block, axes_of
from recovery.config.values import same_as
from recovery.methods.columns import FIXED
from recovery.types import Index, Scalar

TAGGED = {"ensemble": "data", "planted": "planted", "method": "method"}
"""Fixed column -> the science field whose tag it holds."""
NUMBERS = {int, float, type(None)}
"""Types that one numeric column can hold together."""


@dataclass(frozen=True)
class ValidPoints:
    """The points of a block that have no fault: their rows in the columns of the block, and their components."""

    block: Block
    row: Index
    parts: Mapping[str, CategoricalColumn[Component]]

    def axis(self, path: str) -> CategoricalColumn[AxisValue]:
        """Return the values of an axis at these points."""
        return self.block.columns[path].take(self.row)


class Labels:
    """Makes the coordinates of grid cells: the fixed columns (n, d, noise, ...), then one column for each axis.

    A mapping is labelled by its kind, and by its other keys if several mappings have this kind: `relu k=2`.
    """

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.axes = axes_of(blocks)
        self.names = tuple(dict.fromkeys([*FIXED, *self.axes]))
        self.text = {path: _mapping_labels(path, blocks) for path in self.axes}

    def column(self, name: str, points: ValidPoints) -> CategoricalColumn[Scalar]:
        """Return the coordinate `name` of each of these points."""
        root, inside = name.partition(".")[0], name in points.block.paths
        if name in self.axes and root not in COMPONENTS:  # the column `name` is a user axis
            axis = points.axis(name) if inside else None
            return constant(None, len(points.row)) if axis is None else axis.map(lambda value: value.value)
        if name not in self.axes:
            part = points.parts[TAGGED.get(name, name)]
            return part.map(lambda part: part.value if part.tag is None else part.tag)
        part, labels = points.parts[root], self.text[name]
        if not (labels and inside):
            return part.map(lambda part: part.tag if name == root and part.tag is not None else _inside(part, name))
        axis = points.axis(name)
        first, number = distinct([axis, part])
        known = [labels.get(same_as(axis[row].value)) for row in first]
        values = [_inside(part[row], name) if one is None else one for row, one in zip(first, known, strict=True)]
        return CategoricalColumn(values, number)


def of_one_type(column: CategoricalColumn[Scalar]) -> CategoricalColumn[Scalar]:
    """Return a coordinate, converted to text if its values have several types (`auto` and 30, `inputs` and true)."""
    types = {type(value) for value in column.distinct}
    mixed = len(types - {type(None)}) > 1 and not types <= NUMBERS
    return (column.map(as_text) if mixed else column).merged()


def as_text(value: Scalar) -> Scalar:
    """Return a coordinate as text, as a config writes it; null stays null."""
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def combinations(
    blocks: Sequence[Block], document: Mapping[str, Any], names: Sequence[str]
) -> list[tuple[Scalar, ...]]:
    """Return the combinations of values that these coordinates take, in the config's order, without composing cells.

    A block is skipped if one of the coordinates is neither an axis of it nor given by the document.
    """
    text = {path: _mapping_labels(path, blocks) for block in blocks for path in block.paths}
    tables = []
    for block in blocks:
        paths = [(name, _tag_path(name), TAGGED.get(name), name.partition(".")[0]) for name in names]
        part = _with_axes(block, [path for some in paths for path in some])
        with suppress(KeyError):
            tables.append([_coordinate(part, document, name, text) for name in names])
    if not (tables and names):
        return [()] if tables else []
    columns = [of_one_type(concatenated(column)) for column in zip(*tables, strict=True)]
    return [tuple(column[row] for column in columns) for row in distinct(columns)[0]]


def _tag_path(name: str) -> str | None:
    """Return the path of the tag that a fixed column holds: `data.ensemble` for `ensemble`; None without a tag."""
    kind = COMPONENTS.get(TAGGED.get(name, ""))
    return f"{TAGGED[name]}.{kind.tag}" if isinstance(kind, Choice) else None


def _with_axes(block: Block, paths: Sequence[str | None]) -> Block:
    """Return the block reduced to the axes with these paths, unless expressions or filters connect them to others."""
    if block.computed or block.include or block.exclude:
        return block
    ends = list(accumulate(len(rows[0]) for rows in block.dimensions))
    groups = [block.paths[end - len(rows[0]) : end] for rows, end in zip(block.dimensions, ends, strict=True)]
    kept = [i for i, group in enumerate(groups) if not set(group).isdisjoint(paths)]
    kept_paths = tuple(path for i in kept for path in groups[i])
    return replace(block, paths=kept_paths, dimensions=tuple(block.dimensions[i] for i in kept))


def _coordinate(
    block: Block, document: Mapping[str, Any], name: str, text: Mapping[str, Mapping[object, str]]
) -> CategoricalColumn[Scalar]:
    """Return the coordinate `name` of each point of a block. Raises `KeyError` if only the composed cell has it."""
    for path in (name, _tag_path(name)):
        if path in block.paths:
            return block.columns[path].map(partial(_labelled, text[path]))
    root, tag = TAGGED.get(name), (_tag_path(name) or ".").split(".")[1]
    if root in block.paths:
        return block.columns[root].map(lambda one: _flat(one.value[tag]))
    head, _, field = name.partition(".")
    kind = COMPONENTS.get(head)
    if head in block.paths and field and isinstance(kind, Choice):
        return block.columns[head].map(lambda one: _flat(one.value.get(field, _default(kind, one.value, field))))
    value: Any = document
    for key in (_tag_path(name) or name).split("."):
        if not isinstance(value, Mapping):
            raise KeyError(name)
        value = value[key]
    return constant(_flat(value), block.count)


def _default(kind: Choice, value: Mapping[str, Any], name: str) -> Any:
    """Return the default of a field of the class that a mapping names, as JSON data; None if it has no such field.

    Raises `KeyError` if the field has no default, or if the class is user code.
    """
    cls = kind.table[value[kind.tag]]
    default = next((field.default for field in fields(cls) if field.name == name), None)
    if default is MISSING:
        raise KeyError(name)
    return json.loads(json.dumps(default))


def _labelled(labels: Mapping[object, str], axis: AxisValue) -> Scalar:
    return labels.get(same_as(axis.value)) or _flat(axis.value)


def _inside(part: Component, path: str) -> Scalar:
    """Return the value at a path inside a component, flat."""
    value = part.resolved
    for key in path.split(".")[1:]:
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
    values = [one.value for block in blocks if path in block.paths for one in block.given(path)]
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
