"""Plain data to a frozen dataclass, through a pydantic model derived from the dataclass's own annotations.

Values are validated as JSON: strictly (no text or boolean for a number), with an integer accepted where a number
is wanted and a list where a tuple is. Fields marked `kw_only` are the program's to fill, and no key of a config.
"""

import json
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import lru_cache
from typing import Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model

from recovery.config.describe import choices, describe, is_fielded, keys_of, step_into, words
from recovery.config.problems import Path, as_shown
from recovery.errors import DataError, RecoverError, SolverError
from recovery.text import did_you_mean

STRICT = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False, protected_namespaces=())


@dataclass(frozen=True)
class Fault:
    """An error at `path` inside the value under validation; `key`: it is the key that is wrong.

    missing: the value is right, and names a data file that is not there.
    """

    path: Path
    text: str
    key: bool = False
    missing: bool = False


class Invalid(Exception):  # noqa: N818  (internal: it becomes a ConfigError where places are known)
    """A value with faults."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(fault.text for fault in self.faults))


@lru_cache(maxsize=256)
def model_of(cls: type, tag: str | None = None, name: str | None = None) -> type[BaseModel]:
    """The pydantic model of dataclass `cls`; with the key `tag: name` in front, by which a union is told apart."""
    hints = get_type_hints(cls, include_extras=True)
    definitions: dict[str, Any] = {tag: (Literal[name], ...)} if tag else {}
    for field in fields(cls):
        if field.kw_only:
            continue
        default = ... if field.default is MISSING else field.default
        if field.default_factory is not MISSING:
            default = field.default_factory()
        definitions[field.name] = (hints[field.name], default)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Field name .* shadows", UserWarning)  # only its fields are ever looked at
        return create_model(cls.__name__, __config__=STRICT, __doc__=cls.__doc__, **definitions)


@lru_cache(maxsize=256)
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    return TypeAdapter(annotation, config=ConfigDict(strict=True, allow_inf_nan=False))


def build_scalar(annotation: Any, value: object) -> Any:
    """`value` as `annotation` has it (3 becomes 3.0 for a float). Raises `Invalid`."""
    try:
        return _adapter(annotation).validate_json(json.dumps(value))
    except ValidationError:
        allowed = f"found {as_shown(value)}; allowed: {describe(annotation)}"
        hint = ""
        if isinstance(value, str):
            decimal = re.fullmatch(r"\s*(-?\d+),(\d+)\s*", value)
            hint = f"; did you mean {decimal[1]}.{decimal[2]}?" if decimal else did_you_mean(value, words(annotation))
        raise Invalid([Fault((), allowed + hint)]) from None


def build(
    cls: type,
    value: object,
    *,
    tag: str | None = None,
    name: str | None = None,
    filled: Mapping[str, Any] | None = None,
) -> Any:
    """An instance of dataclass `cls` from a mapping, `filled` passed on top. Raises `Invalid` with every fault."""
    model = model_of(cls, tag, name)
    if not isinstance(value, dict):
        raise Invalid([Fault((), f"found {as_shown(value)}; allowed: a mapping with the keys {_keys(model)}")])
    try:
        valid = model.model_validate_json(json.dumps(value))
    except ValidationError as error:
        raise Invalid(_faults(cls, model, value, error)) from None
    arguments = {key: getattr(valid, key) for key in model.model_fields if key != tag}
    try:
        return cls(**arguments, **(filled or {}))
    except (DataError, SolverError) as error:
        field = "path" if isinstance(error, DataError) else "solver"
        raise Invalid([Fault((field,) if field in value else (), str(error))]) from error
    except RecoverError as error:
        raise Invalid([Fault((), str(error))]) from error


def build_kind(table: Mapping[str, type], value: object) -> Any:
    """An instance of the class of `table` that a mapping names by its key `kind`. Raises `Invalid`."""
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in table:
        path: Path = () if kind is None else ("kind",)
        shown = as_shown(value if kind is None else kind)
        raise Invalid([Fault(path, f"found {shown}; allowed: kind {choices(table)}{did_you_mean(kind, table)}")])
    return build(table[kind], value, tag="kind", name=kind)


def _keys(model: type[BaseModel]) -> str:
    return ", ".join(model.model_fields)


def _faults(cls: type, model: type[BaseModel], value: dict[str, Any], error: ValidationError) -> list[Fault]:
    """One fault a place: what pydantic says about each branch of a union is one mistake to the user."""
    faults: dict[Path, Fault] = {}
    for item in error.errors(include_url=False, include_context=False, include_input=False):
        path, annotation = _reach(model, value, item["loc"])
        last = item["loc"][-1]
        if item["type"] == "extra_forbidden" and is_fielded(annotation):
            hint = did_you_mean(last, keys_of(annotation))
            allowed = ", ".join(keys_of(annotation))
            text = f"unknown key; allowed: {allowed}{hint}" if allowed else "unknown key; there are none"
            if not path and hasattr(cls, str(last)):
                text += f"; a field has a type: write `{last}: int = ...` in the class"
            faults.setdefault((*path, last), Fault((*path, last), text, key=True))
        elif item["type"] == "missing" and is_fielded(annotation):
            text = f"`{last}` is missing; add it: {describe(keys_of(annotation)[str(last)])}"
            faults.setdefault((*path, last), Fault(path, text))
        else:
            here = _at(value, path)
            hint = did_you_mean(here, words(annotation)) if isinstance(here, str) else ""
            faults.setdefault(path, Fault(path, f"found {as_shown(here)}; allowed: {describe(annotation)}{hint}"))
    return list(faults.values())


def _reach(model: type[BaseModel], value: Any, loc: tuple[int | str, ...]) -> tuple[Path, Any]:
    """How far a pydantic location leads through mappings and lists before a union begins, and the annotation there."""
    path: Path = ()
    annotation: Any = model
    for part in loc:
        inner = step_into(annotation, part)
        if inner is None or not _has(value, part):
            break
        path, annotation, value = (*path, part), inner, value[part]
    return path, annotation


def _has(value: Any, part: int | str) -> bool:
    if isinstance(value, dict):
        return part in value
    return isinstance(value, list) and isinstance(part, int) and part < len(value)


def _at(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]
    return value
