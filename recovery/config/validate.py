"""Plain data to a frozen dataclass, through a pydantic model derived from the annotations of the dataclass.

Values are validated as JSON: strictly (no text or boolean for a number), except that an integer is accepted for a
number and a list for a tuple. Fields with the metadata `filled` are filled in by the program and are no keys of a
config.
"""

import json
import re
import types
import warnings
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model
from pydantic.fields import FieldInfo

from recovery.config.tree import ConfigError, Path, Problem, as_shown, invalid
from recovery.errors import DataError, RecoverError, SolverError
from recovery.text import choices, did_you_mean
from recovery.types import Scalar

STRICT = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False, protected_namespaces=())


@lru_cache(maxsize=256)
def model_of(cls: type, tag: str | None = None, name: str | None = None) -> type[BaseModel]:
    """Return the pydantic model of a dataclass, with a key `tag: name` in front if it is a member of a union."""
    hints = get_type_hints(cls, include_extras=True)
    definitions: dict[str, Any] = {tag: (Literal[name], ...)} if tag else {}
    by_name = {field.name: field for field in fields(cls)}
    for key in names_of(cls):
        field = by_name[key]
        default = ... if field.default is MISSING else field.default
        if field.default_factory is not MISSING:
            default = field.default_factory()
        definitions[key] = (hints[key], default)
    with warnings.catch_warnings():
        # a field may have the name of a pydantic method: only the model's fields are used
        warnings.filterwarnings("ignore", "Field name .* shadows", UserWarning)
        return create_model(cls.__name__, __config__=STRICT, __doc__=cls.__doc__, **definitions)


@lru_cache(maxsize=256)
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    return TypeAdapter(annotation, config=ConfigDict(strict=True, allow_inf_nan=False))


def build_scalar(annotation: Any, value: object) -> Any:
    """Return `value` validated as the type `annotation` (3 becomes 3.0 for a float). Raises `ConfigError`."""
    try:
        return _adapter(annotation).validate_json(json.dumps(value))
    except ValidationError:
        hint = ""
        if isinstance(value, str):
            decimal = re.fullmatch(r"\s*(-?\d+),(\d+)\s*", value)
            hint = did_you_mean(value, words(annotation))
            if decimal and _accepts(annotation, float(f"{decimal[1]}.{decimal[2]}")):
                hint = f"; did you mean {decimal[1]}.{decimal[2]}?"
            elif decimal:
                hint = f"; several values are a list under axes: [{decimal[1]}, {decimal[2]}]"
        raise invalid(f"found {as_shown(value)}; allowed: {describe(annotation)}{hint}") from None


def _accepts(annotation: Any, value: object) -> bool:
    try:
        _adapter(annotation).validate_json(json.dumps(value))
    except ValidationError:
        return False
    return True


def build(
    cls: type,
    value: object,
    *,
    tag: str | None = None,
    name: str | None = None,
    filled: Mapping[str, Any] | None = None,
) -> Any:
    """Return an instance of dataclass `cls` from a mapping; `filled`: fields that are no keys. Raises `ConfigError`."""
    model = model_of(cls, tag, name)
    if not isinstance(value, dict):
        raise invalid(f"found {as_shown(value)}; allowed: a mapping with the keys {', '.join(model.model_fields)}")
    try:
        valid = model.model_validate_json(json.dumps(value))
    except ValidationError as error:
        raise ConfigError(_faults(cls, model, value, error)) from None
    arguments = {key: getattr(valid, key) for key in model.model_fields if key != tag}
    try:
        return cls(**arguments, **(filled or {}))
    except RecoverError as error:
        field = "path" if isinstance(error, DataError) else "solver" if isinstance(error, SolverError) else ""
        raise invalid(str(error), *([field] if field in value else [])) from error


def build_kind(table: Mapping[str, type], value: object) -> Any:
    """Return an instance of the class of `table` that the key `kind` of a mapping names. Raises `ConfigError`."""
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in table:
        shown = as_shown(value if kind is None else kind)
        text = f"found {shown}; allowed: kind {choices(table)}{did_you_mean(kind, table)}"
        raise invalid(text, *([] if kind is None else ["kind"]))
    return build(table[kind], value, tag="kind", name=kind)


def _faults(cls: type, model: type[BaseModel], value: dict[str, Any], error: ValidationError) -> list[Problem]:
    """Return one fault per place: pydantic reports each branch of a union, which is one mistake to the user."""
    faults: dict[Path, Problem] = {}
    for item in error.errors(include_url=False, include_context=False, include_input=False):
        path, annotation, here = _reach(model, value, item["loc"])
        last = item["loc"][-1]
        if item["type"] == "extra_forbidden" and is_fielded(annotation):
            allowed = keys_of(annotation)
            text = f"allowed: {', '.join(allowed)}{did_you_mean(last, allowed)}" if allowed else "there are none"
            if not path and hasattr(cls, str(last)):
                text += f"; a field has a type: write `{last}: int = ...` in the class"
            faults.setdefault((*path, last), Problem((*path, last), f"unknown key; {text}", key=True))
        elif item["type"] == "missing" and is_fielded(annotation):
            text = f"`{last}` is missing; add it: {describe(keys_of(annotation)[str(last)])}"
            faults.setdefault((*path, last), Problem(path, text))
        else:
            hint = did_you_mean(here, words(annotation)) if isinstance(here, str) else ""
            faults.setdefault(path, Problem(path, f"found {as_shown(here)}; allowed: {describe(annotation)}{hint}"))
    return list(faults.values())


def _reach(model: type[BaseModel], value: Any, loc: tuple[int | str, ...]) -> tuple[Path, Any, Any]:
    """Return how far a pydantic location leads before a union begins: the path, and the annotation and value there."""
    path: Path = ()
    annotation: Any = model
    for part in loc:
        inner = step_into(annotation, part)
        there = part in value if isinstance(value, dict) else isinstance(value, list) and part in range(len(value))
        if inner is None or not there:
            break
        path, annotation, value = (*path, part), inner, value[part]
    return path, annotation, value


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
    """Return `an integer >= 1 or 'auto'` for `Annotated[int, Ge(1)] | Literal["auto"]`: what is allowed, in words."""
    origin = get_origin(annotation)
    if annotation in _NAMES:
        return _NAMES[annotation]
    if origin is Annotated:
        base, *metadata = get_args(annotation)
        given = [item.description for item in metadata if isinstance(item, FieldInfo) and item.description]
        bounds = [
            f" {sign} {bound}"
            for item in metadata
            for name, sign in _SIGNS.items()
            if (bound := getattr(item, name, None)) is not None
        ]
        return given[0] if given else describe(base) + " and".join(bounds)
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


def words(annotation: Any) -> tuple[str, ...]:
    """Return every text literal that the annotation allows, as suggestions for a misspelt word."""
    if get_origin(annotation) is Literal:
        return tuple(value for value in get_args(annotation) if isinstance(value, str))
    return tuple(word for member in get_args(annotation) for word in words(member) if not isinstance(member, str))


def is_fielded(annotation: Any) -> bool:
    """Return whether the annotation is a class with named fields: a dataclass or a pydantic model."""
    return isinstance(annotation, type) and (is_dataclass(annotation) or issubclass(annotation, BaseModel))


def names_of(cls: Any) -> tuple[str, ...]:
    """Return the fields of a dataclass that a config may give, inherited ones last.

    Annotations are not evaluated, which takes milliseconds.
    """
    names = [field.name for field in fields(cls) if not field.metadata.get("filled")]
    return tuple(sorted(names, key=lambda name: name not in vars(cls).get("__annotations__", ())))


def keys_of(cls: Any) -> dict[str, Any]:
    """Return field -> annotation, for the fields that a config may give."""
    hints = get_type_hints(cls, include_extras=True)
    return {name: hints[name] for name in (names_of(cls) if is_dataclass(cls) else cls.model_fields)}


def step_into(annotation: Any, part: int | str) -> Any:
    """Return the annotation of a field or list item; None where several branches of a union are possible."""
    if is_fielded(annotation):
        return keys_of(annotation).get(str(part))
    if get_origin(annotation) in (list, tuple) and isinstance(part, int):
        members = [member for member in get_args(annotation) if member is not Ellipsis]
        return members[min(part, len(members) - 1)] if members else None
    if get_origin(annotation) in (Union, types.UnionType):
        inner = [one for member in get_args(annotation) if (one := step_into(member, part)) is not None]
        return inner[0] if len(inner) == 1 else None
    return None
