"""Coordinates: the flat, short values by which rows name their cell."""

from collections.abc import Sequence
from typing import Any

from recovery.config.components import COMPONENTS, Built, Choice
from recovery.config.points import Block, Point
from recovery.config.sweep import Scalar
from recovery.config.values import same_as


class Labels:
    """Makes the coordinates of cells.

    Fixed columns: n, d, noise, ensemble, planted, architecture, method; then one for each axis. A whole mapping is
    labelled by its kind, and by its other keys where the kind alone is shared: `relu k=2`.
    """

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.axes = tuple(dict.fromkeys(path for block in blocks for path in block.paths))
        self.text = {path: _mapping_labels(path, blocks) for path in self.axes}

    def coordinates(self, block: Block, point: Point, parts: dict[str, Built]) -> dict[str, Scalar]:
        columns: dict[str, Scalar] = {
            "n": parts["n"].value,
            "d": parts["d"].value,
            "noise": parts["noise"].value,
            "ensemble": parts["data"].tag,
            "planted": parts["planted"].tag,
            "architecture": parts["architecture"].value,
            "method": parts["method"].tag,
        }
        for path in self.axes:
            labels, part = self.text[path], parts.get(path)
            label = None
            if labels and path in block.paths:
                label = labels.get(same_as(point[block.paths.index(path)].value))
            elif part is not None:
                label = part.tag
            columns[path] = _flat(_inside(parts, path)) if label is None else label
        return columns


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
