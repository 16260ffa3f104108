"""Axes of one's own: words that are no fields, which expressions use or the user's own components take by name."""

import ast
import re
import types
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Union, get_args, get_origin

from recovery.config.components import COMPONENTS, Choice, parameters
from recovery.config.header import HEADER
from recovery.config.own import OwnCode
from recovery.config.points import Block
from recovery.config.problems import Problem
from recovery.config.tree import Tree
from recovery.expressions import CONSTANTS, FUNCTIONS, ExpressionError, parse
from recovery.methods.columns import RESERVED, Columns
from recovery.text import did_you_mean
from recovery.user import is_user_name, user_names

TAKEN = frozenset({*HEADER, *RESERVED, *CONSTANTS, *FUNCTIONS, "value", "factor"})
"""Words that mean something else."""
INTEGER = ("floor", "ceil", "round")
CHOICES = {name: kind for name, kind in COMPONENTS.items() if isinstance(kind, Choice)}


def is_own(path: str) -> bool:
    """Whether a path is a word that is no field."""
    return re.fullmatch(r"[A-Za-z_]\w*", path) is not None and path not in COMPONENTS


def own_axes(paths: Iterable[str]) -> tuple[str, ...]:
    """Those of the paths that are axes of one's own."""
    return tuple(path for path in paths if is_own(path))


def has_own_code(tree: Tree) -> bool:
    """Whether a component may be the user's own, whose parameters only its cells can tell."""
    return any(any(user_names(tree.value.get(name))) for name in (*COMPONENTS, "axes"))


def _parameters(name: str, tag: str, own: OwnCode) -> dict[str, bool]:
    """The parameters of what a component's tag names, each with whether it holds integers."""

    def ask() -> dict[str, bool]:
        return {key: _is_integer(annotation) for key, annotation in parameters(CHOICES[name], tag).items()}

    return own.parameters(name, tag, ask) if is_user_name(tag) else ask()


def takes(name: str, value: object, axis: str, own: OwnCode) -> bool:
    """Whether the user's own component that `value` describes has a parameter with the name of the axis."""
    choice = CHOICES.get(name)
    if choice is None or not isinstance(value, dict) or not is_user_name(value.get(choice.tag)):
        return False
    return axis in _parameters(name, value[choice.tag], own)


def offered(tree: Tree, name: str, axes: Sequence[str], own: OwnCode) -> tuple[str, ...]:
    """Those of the axes that some component of this name, the user's own, takes."""
    if not axes or name not in CHOICES:
        return ()
    tags = [tag for tag in _tags(tree, name) if is_user_name(tag)]
    return tuple(axis for axis in axes if any(axis in _parameters(name, tag, own) for tag in tags))


def own_methods_alone(tree: Tree) -> bool:
    """Whether every method that the config names is the user's own."""
    names = list(_tags(tree, "method"))
    return bool(names) and all(map(is_user_name, names))


def say_rounding(tree: Tree, own: OwnCode) -> None:
    """Write `round(...)` around the expressions of fields that hold integers: a stored config says it without code."""
    for _, block in _blocks(tree):
        for path, text in block.items():
            root, _, key = path.partition(".")
            if not isinstance(text, str) or path in ("n", "d"):
                continue
            at = [(root, key)] if key else [(name, path) for name in CHOICES]
            integers = [
                integer
                for name, field in at
                for tag in (_tags(tree, name) if name in CHOICES else ())
                if (key or is_user_name(tag)) and (integer := _parameters(name, tag, own).get(field)) is not None
            ]
            if integers and all(integers) and not _is_rounded(text):
                block[path] = f"round({text})"


def own_faults(tree: Tree, blocks: Sequence[Block], columns: Columns, own: OwnCode) -> Iterator[Problem]:
    """Axes of one's own that nothing uses, and those with the name of a column that a method measures."""
    used = {name for block in blocks for one in block.computed for name, _, _ in one.inputs}
    taken: dict[str, None] = {}
    for name in CHOICES:
        taken |= dict.fromkeys(
            key for tag in _tags(tree, name) if is_user_name(tag) for key in _parameters(name, tag, own)
        )
    for i, block in enumerate(blocks):
        for axis in own_axes(block.paths):
            at = ("axes", i, axis) if isinstance(tree.value.get("axes"), list) else ("axes", axis)
            if axis in columns:
                yield tree.problem(at, "is the name of a measured column; choose another", key=True)
            elif axis not in used and axis not in taken:
                there = f"; your components take {', '.join(taken)}" if taken else ""
                text = f"is no field, occurs in no expression, and no component of yours takes it{there}"
                yield tree.problem(at, text + did_you_mean(axis, [*taken, *COMPONENTS]), key=True)


def _blocks(tree: Tree) -> Iterator[tuple[int, dict[str, Any]]]:
    axes = tree.value.get("axes")
    for i, block in enumerate(axes if isinstance(axes, list) else [axes]):
        if isinstance(block, dict):
            yield i, block


def _tags(tree: Tree, name: str) -> Iterator[Any]:
    """The tags that a component may have: those of the config and of its axes."""
    tag = CHOICES[name].tag
    bases = [tree.value.get(name)]
    for _, block in _blocks(tree):
        groups = block.get("zip")
        for axes in (block, *(groups if isinstance(groups, list) else ())):
            if not isinstance(axes, dict):
                continue
            bases += axes[name] if isinstance(axes.get(name), list) else []
            named = axes.get(f"{name}.{tag}")
            bases += [{tag: value} for value in named] if isinstance(named, list) else []
    yield from dict.fromkeys(base[tag] for base in bases if isinstance(base, dict) and isinstance(base.get(tag), str))


def _is_integer(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        return _is_integer(get_args(annotation)[0])
    members = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    return int in {_plain(member) for member in members} and float not in {_plain(member) for member in members}


def _plain(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _is_rounded(text: str) -> bool:
    try:
        node = parse(text).node
    except ExpressionError:
        return True  # the reader of axes says what is wrong
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in INTEGER
