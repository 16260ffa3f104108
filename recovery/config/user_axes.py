"""User axes: axes that are no fields, used in expressions or passed to user code as the parameter of that name."""

import ast
import re
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Union, get_args, get_origin

from recovery.config.components import CHOICES, COMPONENTS
from recovery.config.header import HEADER
from recovery.config.points import Block
from recovery.config.tree import Problem, Tree, zip_groups
from recovery.expressions import CONSTANTS, FUNCTIONS, ExpressionError, parse
from recovery.methods.columns import RESERVED, Columns
from recovery.text import did_you_mean
from recovery.user import is_user_name, user_names

TAKEN = frozenset({*HEADER, *RESERVED, *CONSTANTS, *FUNCTIONS, "value", "factor"})
"""Words with another meaning, which cannot name an axis."""
INTEGER = ("floor", "ceil", "round")

Parameters = Mapping[tuple[str, str], Mapping[str, bool]]
"""(science field, tag) -> its parameters, each with whether it holds integers."""


def is_user_axis(path: str) -> bool:
    """Return whether a path is a word that is no science field."""
    return re.fullmatch(r"[A-Za-z_]\w*", path) is not None and path not in COMPONENTS


def user_axes(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the user axes among the paths."""
    return tuple(path for path in paths if is_user_axis(path))


def user_code_in(document: Mapping[str, Any]) -> set[str]:
    """Return the user code that a config or document names for its trials, as `module:NAME`."""
    return {name for field in (*COMPONENTS, "axes") for name in user_names(document.get(field))}


def parameters_of(tree: Tree) -> Parameters:
    """Return the parameters of every class and function that the config names; user code is imported for it."""
    return {
        (name, tag): {key: _is_integer(annotation) for key, annotation in choice.parameters(tag).items()}
        for name, choice in CHOICES.items()
        for tag in _tags(tree, name)
    }


def takes(name: str, value: object, axis: str, parameters: Parameters) -> bool:
    """Return whether `value` describes user code that has a parameter with the name of the axis."""
    tag = value.get(CHOICES[name].tag) if name in CHOICES and isinstance(value, dict) else None
    return is_user_name(tag) and axis in parameters.get((name, str(tag)), {})


def offered(name: str, axes: Sequence[str], parameters: Parameters) -> tuple[str, ...]:
    """Return the axes that some user code for this science field has as parameters."""
    taken = {key for (field, tag), keys in parameters.items() if field == name and is_user_name(tag) for key in keys}
    return tuple(axis for axis in axes if axis in taken)


def only_user_methods(tree: Tree) -> bool:
    """Return whether every method that the config names is user code."""
    names = list(_tags(tree, "method"))
    return bool(names) and all(map(is_user_name, names))


def add_rounding(tree: Tree, parameters: Parameters) -> None:
    """Write `round(...)` around the expressions of integer fields, so that a stored config needs no code to be read."""
    for _, block in tree.axis_blocks():
        for path, text in block.items():
            root, _, key = path.partition(".")
            if not isinstance(text, str) or path in ("n", "d"):
                continue
            integers = [
                integer
                for (name, tag), keys in parameters.items()
                if (name == root if key else is_user_name(tag)) and (integer := keys.get(key or path)) is not None
            ]
            if integers and all(integers) and not _is_rounded(text):
                block[path] = f"round({text})"


def user_axis_problems(
    tree: Tree, blocks: Sequence[Block], columns: Columns, parameters: Parameters
) -> Iterator[Problem]:
    """Yield the problems of user axes that nothing uses or that have the name of a measured column."""
    used = {name for block in blocks for one in block.computed for name, _, _ in one.inputs}
    taken = dict.fromkeys(key for (_, tag), keys in parameters.items() if is_user_name(tag) for key in keys)
    for i, block in enumerate(blocks):
        for axis in user_axes(block.paths):
            at = ("axes", i, axis) if isinstance(tree.value.get("axes"), list) else ("axes", axis)
            if axis in columns:
                yield tree.problem(at, "is the name of a measured column; choose another", key=True)
            elif axis not in used and axis not in taken:
                there = f"; your components take {', '.join(taken)}" if taken else ""
                text = f"is no field, occurs in no expression, and no component of yours takes it{there}"
                yield tree.problem(at, text + did_you_mean(axis, [*taken, *COMPONENTS]), key=True)


def _tags(tree: Tree, name: str) -> Iterator[str]:
    """Yield the tags that a science field may have: in the config and in its axes."""
    tag = CHOICES[name].tag
    bases = [tree.value.get(name)]
    for _, block in tree.axis_blocks():
        for axes in (block, *zip_groups(block)):
            bases += axes[name] if isinstance(axes.get(name), list) else []
            named = axes.get(f"{name}.{tag}")
            bases += [{tag: value} for value in named] if isinstance(named, list) else []
    yield from dict.fromkeys(base[tag] for base in bases if isinstance(base, dict) and isinstance(base.get(tag), str))


def _is_integer(annotation: Any) -> bool:
    annotation = _plain(annotation)
    members = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    plain = {_plain(member) for member in members}
    return int in plain and float not in plain


def _plain(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _is_rounded(text: str) -> bool:
    try:
        node = parse(text).node
    except ExpressionError:
        return True  # an invalid expression is reported when axes are parsed
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in INTEGER
