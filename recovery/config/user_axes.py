"""User axes, which are no fields and are used in expressions, and the user code that a config names."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from recovery.config.components import COMPONENTS
from recovery.config.header import HEADER
from recovery.config.points import FACTOR, Block
from recovery.config.tree import Tree
from recovery.expressions import CONSTANTS, FUNCTIONS
from recovery.methods.columns import RESERVED, Columns
from recovery.user import user_names

TAKEN = frozenset({*HEADER, *RESERVED, *CONSTANTS, *FUNCTIONS, "value", FACTOR})
"""Words with another meaning, which cannot name an axis."""


def is_user_axis(path: str) -> bool:
    """Return whether a path is a word that is no science field."""
    return re.fullmatch(r"[A-Za-z_]\w*", path) is not None and path not in COMPONENTS


def user_axes(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the user axes among the paths."""
    return tuple(path for path in paths if is_user_axis(path))


def user_code_in(document: Mapping[str, Any]) -> set[str]:
    """Return the user code that a config or document names for its trials, as `module:NAME`."""
    return {name for field in (*COMPONENTS, "axes") for name in user_names(document.get(field))}


def report_user_axes(tree: Tree, blocks: Sequence[Block], columns: Columns) -> None:
    """Add to the tree's problems the user axes that have the name of a measured column."""
    for i, block in enumerate(blocks):
        for axis in user_axes(block.paths):
            if axis in columns:
                at = ("axes", i, axis) if isinstance(tree.value.get("axes"), list) else ("axes", axis)
                tree.report(at, "is the name of a measured column; choose another", key=True)
