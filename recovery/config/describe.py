"""What an annotation allows, in words: the second half of every message about a value."""

import types
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from recovery.types import Scalar

_NAMES: dict[Any, str] = {
    int: "an integer",
    float: "a number",
    str: "text",
    bool: "true or false",
    type(None): "null",
    Any: "any value",
}
_PLAIN = frozenset(get_args(Scalar))
_SIGNS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<=", "min_length": "of length >="}


def describe(annotation: Any) -> str:
    """`an integer >= 1 or 'auto'` for `Annotated[int, Ge(1)] | Literal["auto"]`."""
    origin = get_origin(annotation)
    if annotation in _NAMES:
        return _NAMES[annotation]
    if origin is Annotated:
        base, *metadata = get_args(annotation)
        words = [item.description for item in metadata if isinstance(item, FieldInfo) and item.description]
        return words[0] if words else describe(base) + _bounds(metadata)
    if origin is Literal:
        return choices(get_args(annotation))
    if origin in (Union, types.UnionType):
        branches = get_args(annotation)
        plain = [] if _PLAIN - set(branches) else ["a plain value"]
        return " or ".join([*plain, *(describe(branch) for branch in branches if not plain or branch not in _PLAIN)])
    if origin in (list, tuple):
        members = [member for member in get_args(annotation) if member is not Ellipsis]
        if origin is tuple and Ellipsis not in get_args(annotation):
            return f"a list of {len(members)}: " + ", ".join(describe(member) for member in members)
        return "a list" + (f" (each {describe(members[0])})" if members else "")
    if origin is not None and issubclass(origin, Mapping):
        return "a mapping"
    if is_fielded(annotation):
        return "a mapping with the keys " + ", ".join(keys_of(annotation))
    return getattr(annotation, "__name__", str(annotation))


def choices(values: Iterable[Any]) -> str:
    """`a, b or c`; `none` where there is no choice."""
    words = [str(value) for value in values]
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else "".join(words) or "none"


def words(annotation: Any) -> tuple[str, ...]:
    """Every text literal that the annotation allows: what a misspelt word may have meant."""
    if get_origin(annotation) is Literal:
        return tuple(value for value in get_args(annotation) if isinstance(value, str))
    return tuple(word for member in get_args(annotation) for word in words(member) if not isinstance(member, str))


def is_fielded(annotation: Any) -> bool:
    """Whether the annotation is a class with named fields: a dataclass or a pydantic model."""
    return isinstance(annotation, type) and (is_dataclass(annotation) or issubclass(annotation, BaseModel))


def names_of(cls: Any) -> tuple[str, ...]:
    """The fields of a dataclass that a config may give; its annotations are not looked at, which takes milliseconds."""
    return tuple(field.name for field in fields(cls) if not field.kw_only)


def keys_of(cls: Any) -> dict[str, Any]:
    """Field -> annotation, for the fields that a config may give."""
    hints = get_type_hints(cls, include_extras=True)
    if is_dataclass(cls):
        return {field.name: hints[field.name] for field in fields(cls) if not field.kw_only}
    return {name: hints[name] for name in cls.model_fields}


def step_into(annotation: Any, part: int | str) -> Any:
    """The annotation of a field or list item; None where several branches of a union could be meant."""
    if is_fielded(annotation):
        return keys_of(annotation).get(str(part))
    if get_origin(annotation) in (list, tuple) and isinstance(part, int):
        members = [member for member in get_args(annotation) if member is not Ellipsis]
        return members[min(part, len(members) - 1)] if members else None
    if get_origin(annotation) in (Union, types.UnionType):
        inner = [
            inner_annotation
            for member in get_args(annotation)
            if (inner_annotation := step_into(member, part)) is not None
        ]
        return inner[0] if len(inner) == 1 else None
    return None


def _bounds(metadata: list[Any]) -> str:
    bounds = [
        f" {sign} {getattr(item, name)}"
        for item in metadata
        for name, sign in _SIGNS.items()
        if getattr(item, name, None) is not None
    ]
    return " and".join(bounds)
