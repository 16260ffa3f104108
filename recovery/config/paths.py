"""Dotted paths: which fields can be an axis or be overridden."""

from recovery.config.components import COMPONENTS, Choice, known_paths
from recovery.config.tree import Tree
from recovery.text import did_you_mean
from recovery.user import is_user_name


def path_fault(path: str, tree: Tree) -> str | None:
    """Why `path` cannot be an axis, or None if it can."""
    root, _, rest = path.partition(".")
    known = known_paths()
    everything = all_paths()
    if root not in known:
        allowed = f"{', '.join(known)} and what is in them"
        return f"is no field that can be an axis; allowed: {allowed}{did_you_mean(path, everything)}"
    if rest and rest.split(".")[0] not in known[root] and not _is_open(root, tree):
        allowed = ", ".join(f"{root}.{key}" for key in known[root]) or f"{root} alone, which is one value"
        return f"is no field of {root}; allowed: {allowed}{did_you_mean(path, everything)}"
    return None


def _is_open(root: str, tree: Tree) -> bool:
    """Whether the component may be a user's own, whose parameters only its cells can tell."""
    kind = COMPONENTS[root]
    return isinstance(kind, Choice) and kind.user is not None and _names_user(tree.value)


def _names_user(value: object) -> bool:
    if isinstance(value, dict):
        return any(_names_user(item) for item in value.values())
    if isinstance(value, list):
        return any(_names_user(item) for item in value)
    return is_user_name(value)


def all_paths() -> list[str]:
    """Every path that some config may have below its science fields."""
    known = known_paths()
    return [*known, *(f"{name}.{key}" for name, keys in known.items() for key in keys)]
