"""Plain data to a frozen dataclass, through a pydantic model derived from the dataclass's own annotations.

Values are validated as JSON: strictly (no text or boolean for a number), with an integer accepted where a number
is wanted and a list where a tuple is. Fields marked `kw_only` are the program's to fill, and no key of a config.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import lru_cache
from typing import Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model

from recovery.config.describe import describe, words
from recovery.config.problems import Path, did_you_mean, found
from recovery.errors import DataError, ParameterError, RecoverError

STRICT = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False, protected_namespaces=())


@dataclass(frozen=True)
class Fault:
    """An error at `path` inside the value under validation; `key`: it is the key that is wrong."""

    path: Path
    text: str
    key: bool = False


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
    return create_model(cls.__name__, __config__=STRICT, __doc__=cls.__doc__, **definitions)


@lru_cache(maxsize=256)
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    return TypeAdapter(annotation, config=ConfigDict(strict=True, allow_inf_nan=False))


def build_scalar(annotation: Any, value: object) -> Any:
    """`value` as `annotation` has it (3 becomes 3.0 for a float). Raises `Invalid`."""
    try:
        return _adapter(annotation).validate_json(json.dumps(value))
    except ValidationError:
        allowed = f"found {found(value)}; allowed: {describe(annotation)}"
        hint = did_you_mean(value, words(annotation)) if isinstance(value, str) else ""
        raise Invalid([Fault((), allowed + hint)]) from None


def build(
    cls: type, value: object, *, tag: str | None = None, name: str | None = None, filled: Mapping[str, Any] | None = None
) -> Any:
    """An instance of dataclass `cls` from a mapping, `filled` passed on top. Raises `Invalid` with every fault."""
    model = model_of(cls, tag, name)
    if not isinstance(value, dict):
        raise Invalid([Fault((), f"found {found(value)}; allowed: a mapping with the keys {_keys(model)}")])
    try:
        valid = model.model_validate_json(json.dumps(value))
    except ValidationError as error:
        raise Invalid(_faults(model, value, error)) from None
    arguments = {key: getattr(valid, key) for key in model.model_fields if key != tag}
    try:
        return cls(**arguments, **(filled or {}))
    except DataError as error:
        raise Invalid([Fault(("path",) if "path" in arguments else (), str(error))]) from error
    except (ParameterError, RecoverError) as error:
        raise Invalid([Fault((), str(error))]) from error


def _keys(model: type[BaseModel]) -> str:
    return ", ".join(model.model_fields)


def _faults(model: type[BaseModel], value: dict[str, Any], error: ValidationError) -> list[Fault]:
    """One fault a key: what pydantic says about each branch of a union is one mistake to the user."""
    faults: dict[Path, Fault] = {}
    for item in error.errors(include_url=False, include_context=False):
        path = _inside(value, item["loc"])
        key = str(item["loc"][0]) if item["loc"] else ""
        if item["type"] == "extra_forbidden":
            *_, word = path
            others = model.model_fields if len(path) == 1 else ()
            text = "unknown key" + (f"; allowed: {_keys(model)}{did_you_mean(word, others)}" if others else "")
            faults.setdefault(path, Fault(path, text, key=True))
        elif item["type"] == "missing":
            missing = str(item["loc"][-1])
            text = f"`{missing}` is missing; add it: {_allowed(model, key)}"
            faults.setdefault((*path, missing), Fault(path, text))
        elif key in model.model_fields:
            hint = did_you_mean(value[key], words(_annotation(model, key))) if isinstance(value[key], str) else ""
            inner = path[:1] if len(path) > 1 and not isinstance(path[1], int) else path
            text = f"found {found(_at(value, inner))}; allowed: {_allowed(model, key)}{hint}"
            faults.setdefault(path[:1], Fault(inner, text))
        else:
            faults.setdefault(path, Fault(path, str(item["msg"])))
    return list(faults.values())


def _annotation(model: type[BaseModel], key: str) -> Any:
    return get_type_hints(model, include_extras=True)[key]


def _allowed(model: type[BaseModel], key: str) -> str:
    return describe(_annotation(model, key)) if key in model.model_fields else "see `recover schema`"


def _inside(value: Any, loc: tuple[int | str, ...]) -> Path:
    """The part of a pydantic location that exists in the value: union branches have names there too."""
    path: Path = ()
    for part in loc:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            continue
        path = (*path, part)
    return path


def _at(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]
    return value
