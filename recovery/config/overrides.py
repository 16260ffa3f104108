"""`--set PATH=VALUE`: override a field, or fix an axis at one value."""

from typing import Any

from recovery.config.axes import RESERVED, all_paths, path_fault
from recovery.config.components import COMPONENTS, Single
from recovery.config.header import HEADER
from recovery.config.reader import read_value
from recovery.config.tree import ConfigError, Place, Problem, Tree, zip_groups
from recovery.text import did_you_mean

AXIS_KEYS = {"start", "stop", "step", "logspace", "times"}
"""Keys that only the values of an axis have."""


def override(tree: Tree, text: str, rank: int) -> list[Problem]:
    """Apply one `PATH=VALUE` to the tree and return its problems, which `rank` sorts after those of the file.

    VALUE is read as YAML. If PATH is an axis, it keeps this one value, and its column stays; in a zipped group the
    other axes stay.
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
    if fault := _fault(tree, path, value, value_text):
        return [Problem(place, path, fault)]
    if _fix(tree, path, value, place):
        return []
    for _, block in tree.axis_blocks():
        for axis in (*(name for name in block if name not in RESERVED), *(n for g in zip_groups(block) for n in g)):
            if path.startswith(axis + "."):
                text = f"lies in the axis {axis}, whose values are mappings; fix {axis} itself"
                return [Problem(place, path, text)]
    head, _, axis = path.partition(".")
    parts = ("axes", axis) if head == "axes" and axis else tuple(path.split("."))
    if isinstance(tree.value.get(head), list) and len(parts) > 1:
        return [Problem(place, path, f"{head} is a list here; set it as a whole: --set {head}=[...]")]
    tree.put(parts, value, place)
    return []


def _fault(tree: Tree, path: str, value: Any, value_text: str) -> str | None:
    """Return the reason why `path` cannot be set to this value, if there is one."""
    root = path.split(".")[0]
    if root in COMPONENTS and isinstance(value, dict) and AXIS_KEYS & set(value):
        return f"found values of an axis; write `--set 'axes.{path}={value_text}'`"
    if isinstance(value, list) and isinstance(COMPONENTS.get(path), Single):
        return f"found a list, the values of an axis; write `--set 'axes.{path}={value_text}'`"
    fault = None if root in HEADER else path_fault(path, tree)
    if fault and root not in COMPONENTS:
        allowed = (*COMPONENTS, *HEADER)
        return f"is no field; allowed: {', '.join(allowed)}{did_you_mean(path, [*allowed, *all_paths()])}"
    return fault


def _fix(tree: Tree, path: str, value: Any, place: Place) -> bool:
    """Give the axis `path` one value in every block that has it; return whether there is one."""
    fixed = False
    for at, block in tree.axis_blocks():
        group = next((group for group in zip_groups(block) if path in group), None)
        if group is not None:
            del group[path]
            block["zip"] = [other for other in block["zip"] if other != {}]
        if group is not None or path in block:
            tree.put((*at, path), [value], place)
            fixed = True
    return fixed
