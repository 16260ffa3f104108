"""Dotted paths: which fields can be an axis or be overridden."""

from functools import lru_cache

from recovery.config.components import COMPONENTS, Choice
from recovery.config.tree import Tree
from recovery.text import did_you_mean
from recovery.user import user_names


@lru_cache
def known_paths() -> dict[str, tuple[str, ...]]:
    """Component -> the keys that any of its classes has."""
    return {name: kind.keys for name, kind in COMPONENTS.items()}


def all_paths() -> list[str]:
    """Every path that some config may have below its science fields."""
    known = known_paths()
    return [*known, *(f"{name}.{key}" for name, keys in known.items() for key in keys)]


def path_fault(path: str, tree: Tree) -> str | None:
    """Why `path` cannot be an axis, or None if it can."""
    root, _, rest = path.partition(".")
    known = known_paths()
    if root not in known:
        allowed = f"{', '.join(known)} and what is in them"
        return f"is no field that can be an axis; allowed: {allowed}{did_you_mean(path, all_paths())}"
    if rest and rest.split(".")[0] not in known[root] and not _is_open(root, tree):
        allowed = ", ".join(f"{root}.{key}" for key in known[root]) or f"{root} alone, which is one value"
        return f"is no field of {root}; allowed: {allowed}{did_you_mean(path, all_paths())}"
    return None


def _is_open(root: str, tree: Tree) -> bool:
    """Whether the component may be a user's own, whose parameters only its cells can tell."""
    kind = COMPONENTS[root]
    return isinstance(kind, Choice) and kind.user is not None and any(user_names(tree.value))
