"""`--set PATH=VALUE`: a field overridden, or an axis fixed at one value."""

from typing import Any

from recovery.config.axes import RESERVED, all_paths, path_fault
from recovery.config.components import COMPONENTS, Single
from recovery.config.header import HEADER
from recovery.config.problems import ConfigError, Place, Problem
from recovery.config.reader import read_value
from recovery.config.tree import Tree
from recovery.text import did_you_mean

AXIS_KEYS = {"start", "stop", "step", "logspace", "times"}
"""Keys of which only an axis has values."""


def override(tree: Tree, text: str, rank: int) -> list[Problem]:
    """Apply one `PATH=VALUE` to the tree; `rank` orders its messages after the file's. VALUE is read as YAML.

    Where PATH is an axis, it keeps that one value, and its column stays; in a zipped group the other axes stay.
    """
    place = Place(rank, 0, 0, f"--set {text}")
    path, equals, value_text = text.partition("=")
    path = path.strip()
    if not equals or not path:
        return [Problem(place, "", "allowed: PATH=VALUE in one word, such as `--set data.ensemble=haar`")]
    try:
        value = read_value(value_text, "VALUE")
    except ConfigError as error:
        return [Problem(place, path, f"{problem.text} (column {problem.place.column})") for problem in error.problems]
    root = path.split(".")[0]
    if root in COMPONENTS and isinstance(value, dict) and AXIS_KEYS & set(value):
        return [Problem(place, path, f"found values of an axis; write `--set 'axes.{path}={value_text}'`")]
    if isinstance(value, list) and isinstance(COMPONENTS.get(path), Single):
        return [Problem(place, path, f"found a list, the values of an axis; write `--set 'axes.{path}={value_text}'`")]
    if root not in HEADER:
        fault = path_fault(path, tree)
        if fault and root not in COMPONENTS:
            fields = (*COMPONENTS, *HEADER)
            fault = f"is no field; allowed: {', '.join(fields)}{did_you_mean(path, [*fields, *all_paths()])}"
        if fault:
            return [Problem(place, path, fault)]
    if _fix(tree, path, value, place):
        return []
    for axis in _axes(tree):
        if path.startswith(axis + "."):
            return [Problem(place, path, f"lies in the axis {axis}, whose values are mappings; fix {axis} itself")]
    head, _, axis = path.partition(".")
    parts = ("axes", axis) if head == "axes" and axis else tuple(path.split("."))
    if isinstance(tree.value.get(head), list) and len(parts) > 1:
        return [Problem(place, path, f"{head} is a list here; set it as a whole: --set {head}=[...]")]
    tree.put(parts, value, place)
    return []


def _blocks(tree: Tree) -> list[tuple[tuple[str | int, ...], dict[str, Any]]]:
    axes = tree.value.get("axes")
    if isinstance(axes, list):
        return [(("axes", i), block) for i, block in enumerate(axes) if isinstance(block, dict)]
    return [(("axes",), axes)] if isinstance(axes, dict) else []


def _axes(tree: Tree) -> list[str]:
    names = []
    for _, block in _blocks(tree):
        names += [name for name in block if name not in RESERVED]
        names += [name for group in _groups(block) for name in group]
    return names


def _groups(block: dict[str, Any]) -> list[dict[str, Any]]:
    groups = block.get("zip")
    return [group for group in groups if isinstance(group, dict)] if isinstance(groups, list) else []


def _fix(tree: Tree, path: str, value: Any, place: Place) -> bool:
    """Give the axis `path` one value in every block that has it."""
    fixed = False
    for at, block in _blocks(tree):
        group = next((group for group in _groups(block) if path in group), None)
        if group is not None:
            del group[path]
            _drop_empty(block)
        if group is not None or path in block:
            tree.put((*at, path), [value], place)
            fixed = True
    return fixed


def _drop_empty(block: dict[str, Any]) -> None:
    block["zip"] = [group for group in block["zip"] if group != {}]
