"""Plain data to a frozen dataclass, through a pydantic model derived from the annotations of the dataclass.

Values are validated as JSON: strictly (no text or boolean for a number), except that an integer is accepted for a
number and a list for a tuple. Fields with the metadata `filled` are filled in by the program and are no keys of a
config.
"""

import json
import re
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, fields, replace
from functools import lru_cache
from typing import Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model

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
    is_model = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return TypeAdapter(annotation, config=None if is_model else STRICT)


def build_scalar(annotation: Any, value: object) -> Any:
    """Return `value` validated as the type `annotation` (3 becomes 3.0 for a float). Raises `ConfigError`."""
    try:
        return _validated(annotation, value)
    except ConfigError as error:
        decimal = re.fullmatch(r"\s*(-?\d+),(\d+)\s*", value) if isinstance(value, str) else None
        if decimal is None:
            raise
        hint = f"several values are a list under axes: [{decimal[1]}, {decimal[2]}]"
        with suppress(ConfigError):
            _validated(annotation, float(f"{decimal[1]}.{decimal[2]}"))
            hint = f"did you mean {decimal[1]}.{decimal[2]}?"
        raise invalid(f"{error.problems[0].text}; {hint}") from None


def build(
    cls: type,
    value: object,
    *,
    tag: str | None = None,
    name: str | None = None,
    filled: Mapping[str, Any] | None = None,
) -> Any:
    """Return an instance of dataclass `cls` from a mapping; `filled`: fields that are no keys. Raises `ConfigError`."""
    valid = _validated(model_of(cls, tag, name), value)
    arguments = {key: getattr(valid, key) for key in names_of(cls)}
    try:
        return cls(**arguments, **(filled or {}))
    except RecoverError as error:
        field = "path" if isinstance(error, DataError) else "solver" if isinstance(error, SolverError) else ""
        raise invalid(str(error), *([field] if field in arguments else [])) from error


def build_kind(
    table: Mapping[str, type],
    value: object,
    *,
    tag: str = "kind",
    own: str = "",
    filled: Mapping[str, Any] | None = None,
) -> Any:
    """Return an instance of the class of `table` that the key `tag` of a mapping names. Raises `ConfigError`.

    own: what messages add to the allowed names; filled: see `build`.
    """
    if not isinstance(value, dict):
        hint = f"; did you mean {{{tag}: {value}}}?" if isinstance(value, str) and value in table else ""
        raise invalid(f"found {as_shown(value)}; allowed: a mapping such as {{{tag}: {next(iter(table))}}}{hint}")
    allowed = choices(table) + own
    if tag not in value:
        raise invalid(f"`{tag}` is missing; add one of {allowed}")
    name = value[tag]
    if not isinstance(name, str) or name not in table:
        raise invalid(f"found {as_shown(name)}; allowed: {allowed}{did_you_mean(name, table)}", tag)
    try:
        return build(table[name], value, tag=tag, name=name, filled=filled)
    except ConfigError as error:
        raise ConfigError(_with_owner(table, name, problem) for problem in error.problems) from error


def _with_owner(table: Mapping[str, type], name: str, problem: Problem) -> Problem:
    """Return a problem; for an unknown key, its text names the other members of the table that have this key."""
    others = [] if not problem.key else [one for one, cls in table.items() if problem.path[-1] in names_of(cls)]
    if name in others or not others:
        return problem
    return replace(problem, text=f"{problem.text}; {problem.path[-1]} belongs to {choices(others)}")


def _validated(annotation: Any, value: object) -> Any:
    """Return JSON data validated as a type. Raises `ConfigError` with one problem per place.

    pydantic reports each branch of a union, which is one mistake to the user: the place is where the union begins.
    """
    adapter, problems = _adapter(annotation), dict[Path, Problem]()
    try:
        return adapter.validate_json(json.dumps(value))
    except ValidationError as error:
        items = error.errors(include_url=False, include_context=False, include_input=False)
    schema = adapter.json_schema()
    for item in items:
        path, here, allowed = list[str | int](), value, Allowed(schema, schema.get("$defs", {}))
        for part in item["loc"]:
            there = part in here if isinstance(here, dict) else isinstance(here, list) and part in range(len(here))
            if not there or (inner := allowed.inside(part)) is None:
                break
            path, here, allowed = [*path, part], here[part], inner  # type: ignore[index]
        last = item["loc"][-1] if item["loc"] else ""
        where = (*path, last)
        if item["type"] in UNKNOWN and allowed.keys is not None:
            text = f"allowed: {', '.join(allowed.keys)}{did_you_mean(last, allowed.keys)}"
            text = f"unknown key; {text if allowed.keys else 'there are none'}"
            problems.setdefault(where, Problem(where, text, key=True))
        elif item["type"] == "missing" and allowed.keys is not None:
            problems.setdefault(where, Problem(tuple(path), f"`{last}` is missing; add it: {allowed.inside(last)}"))
        else:
            hint = did_you_mean(here, allowed.words) if isinstance(here, str) else ""
            text = f"found {as_shown(here)}; allowed: {allowed}{hint}"
            problems.setdefault(tuple(path), Problem(tuple(path), text))
    raise ConfigError(problems.values())


UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")
"""Types of pydantic's errors for an unknown key, of a model and of a dataclass inside it."""
PLAIN = TypeAdapter(Scalar).json_schema()["anyOf"]
TYPES = {
    "integer": "an integer",
    "number": "a number",
    "string": "text",
    "boolean": "true or false",
    "null": "null",
    "array": "a list",
    "object": "a mapping",
}
BOUNDS = {
    "exclusiveMinimum": ">",
    "minimum": ">=",
    "exclusiveMaximum": "<",
    "maximum": "<=",
    "minLength": "of length >=",
    "minItems": "of length >=",
    "maxLength": "of length <=",
    "maxItems": "of length <=",
}
"""Key of a JSON schema -> its words, before the number."""


class Allowed:
    """What a JSON schema allows; `str` gives it in words, such as `an integer >= 1 or auto`."""

    def __init__(self, schema: dict[str, Any], definitions: Mapping[str, Any]) -> None:
        # pydantic before 2.9 wraps a reference that has a default
        name = schema.get("allOf", [schema])[0].get("$ref", "").rpartition("/")[2]
        self.schema, self.definitions = definitions[name] if name else schema, definitions
        self.keys = list(self.schema["properties"]) if "properties" in self.schema else None
        """The keys of a class with named fields."""
        self.branches = [Allowed(one, definitions) for one in self.schema.get("anyOf", ())]

    def inside(self, part: int | str) -> "Allowed | None":
        """Return what is allowed at a key or an index; None if nothing is, or several branches of a union allow it."""
        found = [inner for branch in self.branches if (inner := branch.inside(part)) is not None]
        if isinstance(part, int):
            members = self.schema.get("prefixItems") or [self.schema.get("items")]
            inner = members[min(part, len(members) - 1)]
        else:
            inner = self.schema.get("properties", {}).get(part, self.schema.get("additionalProperties"))
        found += [Allowed(inner, self.definitions)] if isinstance(inner, dict) else []
        return found[0] if len(found) == 1 else None

    @property
    def words(self) -> list[str]:
        """The texts that are allowed, as suggestions for a misspelt word."""
        own = [self.schema.get("const"), *self.schema.get("enum", ())]
        return [word for word in own if isinstance(word, str)] + [one for b in self.branches for one in b.words]

    def __str__(self) -> str:
        schema, kind = self.schema, self.schema.get("type")
        if self.keys is not None:
            return f"a mapping with the keys {', '.join(self.keys)}"
        if "description" in schema:
            return str(schema["description"])
        if "const" in schema or "enum" in schema:
            return choices(schema.get("enum") or [schema["const"]])
        if self.branches:
            plain = all(one in schema["anyOf"] for one in PLAIN)
            rest = [str(one) for one in self.branches if not plain or one.schema not in PLAIN]
            return " or ".join([*(["a plain value"] if plain else []), *rest])
        if "prefixItems" in schema:
            members = [str(Allowed(one, self.definitions)) for one in schema["prefixItems"]]
            return f"a list of {len(members)}: {', '.join(members)}"
        each = f" (each {Allowed(schema['items'], self.definitions)})" if schema.get("items") else ""
        bounds = [f" {sign} {schema[key]:.12g}" for key, sign in BOUNDS.items() if key in schema]
        return TYPES.get(str(kind), "any value") + each + " and".join(bounds)


def names_of(cls: Any) -> tuple[str, ...]:
    """Return the fields of a dataclass that a config may give, inherited ones with a default last.

    Annotations are not evaluated, which takes milliseconds.
    """
    given = [field for field in fields(cls) if not field.metadata.get("filled")]
    required = {one.name for one in given if one.default is MISSING and one.default_factory is MISSING}
    own = [vars(one).get("__annotations__", ()) for one in cls.__mro__]
    places = {one.name: [one.name in some for some in own].index(True) for one in given}
    return tuple(sorted(places, key=lambda name: 0 if name in required else places[name]))
