"""Coordinates: the flat, short values by which rows name their cell."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from recovery.config.components import COMPONENTS, Built, Choice
from recovery.config.points import Block, Point, axes_of
from recovery.config.values import same_as
from recovery.types import Scalar

NUMBERS = {int, float, type(None)}
"""Types that one column of numbers holds."""


class Labels:
    """Makes the coordinates of cells.

    Fixed columns: n, d, noise, ensemble, planted, architecture, method; then one for each axis. A whole mapping is
    labelled by its kind, and by its other keys where the kind alone is shared: `relu k=2`.
    """

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.axes = axes_of(blocks)
        self.text = {path: _mapping_labels(path, blocks) for path in self.axes}

    def coordinates(self, block: Block, point: Point, parts: dict[str, Built]) -> dict[str, Scalar]:
        columns: dict[str, Scalar] = {
            "n": parts["n"].value,
            "d": parts["d"].value,
            "noise": parts["noise"].value,
            "ensemble": parts["data"].tag,
            "planted": parts["planted"].tag,
            "architecture": parts["architecture"].tag,
            "method": parts["method"].tag,
        }
        for path in self.axes:
            labels, part = self.text[path], parts.get(path)
            label = None
            if path.partition(".")[0] not in parts:  # an axis of one's own
                columns[path] = point[block.paths.index(path)].value if path in block.paths else None
                continue
            if labels and path in block.paths:
                label = labels.get(same_as(point[block.paths.index(path)].value))
            elif part is not None:
                label = part.tag
            columns[path] = _flat(_inside(parts, path)) if label is None else label
        return columns


TAGGED = {"ensemble": "data", "planted": "planted", "method": "method"}
"""Fixed columns that hold the tag of a component."""


def of_one_type(rows: Sequence[Mapping[str, Scalar]]) -> list[Mapping[str, Scalar]]:
    """The coordinates, those of several types as text (`auto` beside 30, `inputs` beside true): a column has one."""
    seen: dict[str, set[type]] = {}
    for row in rows:
        for name, value in row.items():
            seen.setdefault(name, set()).add(type(value))
    mixed = {name for name, types in seen.items() if len(types - {type(None)}) > 1 and not types <= NUMBERS}
    if not mixed:
        return list(rows)
    return [{name: as_text(value) if name in mixed else value for name, value in row.items()} for row in rows]


def as_text(value: Scalar) -> Scalar:
    """A coordinate as a config writes it; null stays null."""
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def combinations(
    blocks: Sequence[Block], document: Mapping[str, Any], names: Sequence[str]
) -> list[tuple[Scalar, ...]]:
    """The values that these coordinates take together, in the order of the config; no cell is composed for it.

    A block in which one of them is neither an axis nor given by the document says nothing.
    """
    text = {path: _mapping_labels(path, blocks) for block in blocks for path in block.paths}
    values: dict[tuple[Scalar, ...], None] = {}
    for block in blocks:
        part = _without_others(block, [path for name in names for path in (name, _tag_path(name), TAGGED.get(name))])
        try:
            readers = [_reader(part, document, name, text) for name in names]
        except KeyError:
            continue
        values |= dict.fromkeys(tuple(read(point) for read in readers) for point in part.points())
    rows = of_one_type([dict(zip(names, row, strict=True)) for row in values])
    return list(dict.fromkeys(tuple(row[name] for name in names) for row in rows))


def _tag_path(name: str) -> str | None:
    """`data.ensemble` for the column `ensemble`: the path of the tag that a fixed column holds."""
    kind = COMPONENTS.get(TAGGED.get(name, ""))
    return f"{TAGGED[name]}.{kind.tag}" if isinstance(kind, Choice) else None


def _without_others(block: Block, paths: Sequence[str | None]) -> Block:
    """The block with the axes of these paths alone, where nothing ties them to the others."""
    if block.computed or block.include or block.exclude:
        return block
    ends = list(accumulate(len(rows[0]) for rows in block.dimensions))
    groups = [block.paths[end - len(rows[0]) : end] for rows, end in zip(block.dimensions, ends, strict=True)]
    kept = [i for i, group in enumerate(groups) if not set(group).isdisjoint(paths)]
    return replace(
        block,
        paths=tuple(path for i in kept for path in groups[i]),
        dimensions=tuple(block.dimensions[i] for i in kept),
    )


def _reader(
    block: Block, document: Mapping[str, Any], name: str, text: Mapping[str, Mapping[object, str]]
) -> Callable[[Point], Scalar]:
    """What reads a coordinate off the points of a block. Raises `KeyError` if only the composed cell has it."""
    for path in (name, _tag_path(name)):
        if path in block.paths:
            labels, at = text[path], block.paths.index(path)
            return lambda point: labels.get(same_as(point[at].value)) or _flat(point[at].value)
    root, tag = TAGGED.get(name), (_tag_path(name) or ".").split(".")[1]
    if root in block.paths:
        whole = block.paths.index(root)
        return lambda point: _flat(point[whole].value[tag])
    value: Any = document
    for key in (_tag_path(name) or name).split("."):
        if not isinstance(value, Mapping):
            raise KeyError(name)
        value = value[key]
    fixed = _flat(value)
    return lambda point: fixed


def _inside(parts: dict[str, Built], path: str) -> Any:
    root, *rest = path.split(".")
    value = parts[root].resolved
    for key in rest:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _flat(value: Any) -> Scalar:
    """A value as one scalar; a list or mapping as short text."""
    if isinstance(value, dict):
        return " ".join(f"{key}={_flat(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ",".join(str(_flat(item)) for item in value)
    return value


def _mapping_labels(path: str, blocks: Sequence[Block]) -> dict[object, str]:
    columns = [block.column(block.paths.index(path)) for block in blocks if path in block.paths]
    values = [value.value for column in columns for value in column if isinstance(value.value, dict)]
    distinct = {same_as(value): value for value in values}
    kind = COMPONENTS.get(path)
    tag = kind.tag if isinstance(kind, Choice) else None
    if tag is None:
        return {key: str(_flat(value)) for key, value in distinct.items()}
    kinds = [value.get(tag) for value in distinct.values()]
    labels = {}
    for key, value in distinct.items():
        rest = {name: item for name, item in value.items() if name != tag}
        alone = kinds.count(value.get(tag)) == 1 or not rest
        labels[key] = str(value.get(tag)) if alone else f"{value.get(tag)} {_flat(rest)}"
    return labels
