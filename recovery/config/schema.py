"""The JSON schema of a config, for editors, from the same models that validate."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Union

from pydantic import BaseModel, ConfigDict, Field, create_model

from recovery.config.claims import CLAIMS
from recovery.config.components import CHOICES, COMPONENTS, DEFAULTS, Choice, Named, Record, Single
from recovery.config.header import Header, ReportSpec
from recovery.config.sampling import SAMPLINGS
from recovery.config.validate import model_of
from recovery.config.values import Logspace, Range, Times
from recovery.user import USER_NAME

_LIST = Annotated[list[Any], Field(min_length=1)]
_FREE = Union[_LIST, model_of(Range), model_of(Logspace)]  # type: ignore[valid-type]  # noqa: UP007


class Axes(BaseModel):
    """Each axis: a dotted path of the config, or a name of your own, with its values or an expression of other axes.
    zip: paths that advance together."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, _FREE | model_of(Times) | int | float | str]  # type: ignore[valid-type]
    zip: list[dict[str, _FREE]] = []  # type: ignore[valid-type]


def json_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of a config file.

    It does not require fields that an axis may give, so it accepts more than `recover check`.
    """
    definitions: dict[str, Any] = {name: (_annotation(kind), DEFAULTS.get(name)) for name, kind in COMPONENTS.items()}
    definitions["axes"] = (Axes | list[Axes], {})
    definitions["claims"] = (list[_union(CLAIMS, "kind")], [])  # type: ignore[misc]
    definitions["report"] = (model_of(ReportSpec), {})
    definitions["sampling"] = (_union(SAMPLINGS, "kind"), {"kind": "uniform"})
    text = "A config of the program `recover`."
    model = create_model("Sweep", __base__=model_of(Header), __doc__=text, **definitions)
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **model.model_json_schema()}
    schema["required"] = ["name"]
    for field in schema["properties"].values():
        if field.get("default", 0) is None:
            del field["default"]
    # require only the key that identifies the member of a union, because an axis may give the other keys
    for kind in CHOICES.values():
        for name, cls in kind.table.items():
            definition = schema["$defs"][model_of(cls, kind.tag, name).__name__]
            definition["required"] = [key for key, value in definition["properties"].items() if "const" in value]
    return schema


def _annotation(kind: Single | Named | Choice | Record) -> Any:
    if isinstance(kind, Single):
        return kind.annotation
    if isinstance(kind, Named):
        return Literal[tuple(kind.table)] | Annotated[str, Field(pattern=USER_NAME)]
    if isinstance(kind, Record):
        return model_of(kind.cls)
    return _union(kind.table, kind.tag, user=kind.user)


def _union(table: Mapping[str, type], tag: str, *, user: str | None = None) -> Any:
    members: list[Any] = [model_of(cls, tag, name) for name, cls in table.items()]
    if user:
        named: Any = {tag: (Annotated[str, Field(pattern=USER_NAME)], ...)}
        text = f"User code, named as module:{user}; the other keys are its parameters."
        members.append(create_model(f"Own_{tag}", __config__=ConfigDict(extra="allow"), __doc__=text, **named))
    return Union[tuple(members)]  # noqa: UP007
