"""The parts of a trial's setting, each validated on its own: n, d, noise, data, planted, patterns, and so on.

Unions are told apart by one key (`kind`, and `ensemble` for data), whose value is looked up in the table of the room
below: a new ensemble, planted model or method is one class and one line there, and nothing here.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge

from recovery.config.build import Fault, Invalid, build, build_scalar
from recovery.config.describe import choices, keys_of, names_of
from recovery.config.own import (
    HOLDS,
    Description,
    Own,
    OwnCode,
    accept_method,
    accept_planted,
    of_the_user,
    own_architecture,
    own_parameters,
    own_value,
)
from recovery.config.problems import as_shown
from recovery.config.tree import canonical_json
from recovery.errors import ParameterError
from recovery.instances.draw import NoiseScale
from recovery.instances.ensembles import ENSEMBLES
from recovery.instances.patterns import Patterns
from recovery.instances.planted import PLANTED
from recovery.methods.columns import columns_of
from recovery.methods.method import METHODS
from recovery.programs.architecture import ARCHITECTURES, NONE, Architecture
from recovery.text import did_you_mean
from recovery.user import is_user_name, user_names


@dataclass(frozen=True, eq=False)
class Built:
    """A validated component: the value, its `tag` if it is one of a union, and plain data.

    `resolved` has every field; `identity` has those that trial ids depend on, and `text` is its canonical JSON. A field
    that came after ids were given out has the metadata `later`, and at its default is no part of an id or a document.
    """

    value: Any
    tag: str | None
    resolved: Any
    identity: Any
    text: str

    @property
    def stored(self) -> Any:
        """What a document has of it: no digest of a file, and where the file lies."""
        if not isinstance(self.resolved, dict):
            return self.resolved
        return {
            key: item for key, item in self.resolved.items() if key == "path" or key in {*self.identity} - {"digest"}
        }

    @cached_property
    def own(self) -> frozenset[str]:
        """The user's code that it names, as `module:NAME`."""
        return frozenset(user_names(self.identity))


@dataclass(frozen=True)
class Context:
    """Where the config lies: relative paths start there, then in the current folder.

    digests: file path -> the SHA-256 that a stored sweep had, which the file must still have.
    needs: what a data file must hold, in the config's words. own: what is known of the user's code. code: the source of
    modules that come with the config.
    """

    folder: Path = Path()
    digests: Mapping[str, str] = field(default_factory=dict)
    needs: str = ""
    own: OwnCode = field(default_factory=OwnCode)
    code: Mapping[str, str] = field(default_factory=dict)

    def locate(self, path: str) -> str:
        """The absolute path of a file that exists; otherwise the path as it was written."""
        for start in (self.folder, Path()):
            if (start / path).is_file():
                return str((start / path).resolve())
        return path


@dataclass(frozen=True)
class Single:
    """A component that is one value."""

    annotation: Any
    keys: ClassVar[tuple[str, ...]] = ()

    def make(self, value: object, context: Context) -> Built:
        """Validate a value. Raises `Invalid`."""
        scalar = build_scalar(self.annotation, value)
        return Built(scalar, None, scalar, scalar, canonical_json(scalar))


@dataclass(frozen=True)
class Named:
    """A component that is the name of one of the values of `table`, or the user's own as `module:NAME`."""

    component: str
    table: Mapping[str, Architecture]
    keys: ClassVar[tuple[str, ...]] = ()

    def make(self, value: object, context: Context) -> Built:
        """Validate a name. Raises `Invalid`."""
        if is_user_name(value):
            try:
                return _described(self, value, str(value), lambda _: Description(value, value, {}), context)
            except ParameterError as error:
                raise Invalid([Fault((), str(error))]) from error
        if isinstance(value, str) and value in self.table:
            return Built(self.table[value], value, value, value, canonical_json(value))
        allowed = f"{choices(self.table)}, or your own as module:NAME"
        raise Invalid([Fault((), f"found {as_shown(value)}; allowed: {allowed}{did_you_mean(value, self.table)}")])

    def imported(self, name: Any) -> Any:
        """The user's own value of this name. Raises `ParameterError`."""
        return own_architecture(name)


@dataclass(frozen=True)
class Choice:
    """A component that is a mapping whose key `tag` says which class of `table` it is.

    `user`: the user's own may be named as `module:function` (an ensemble) or `module:Class`; `accept` raises
    `ParameterError` for one that cannot serve.
    """

    component: str
    tag: str
    table: Mapping[str, type]
    user: Literal["function", "class"] | None = None
    accept: Callable[[str, Any], None] = lambda name, target: None

    @property
    def keys(self) -> tuple[str, ...]:
        """Those that any class of the table has."""
        return (self.tag, *dict.fromkeys(key for cls in self.table.values() for key in names_of(cls)))

    def make(self, value: object, context: Context) -> Built:
        """Validate a mapping. Raises `Invalid`."""
        example = f"{{{self.tag}: {next(iter(self.table))}}}"
        if not isinstance(value, dict):
            hint = f"; did you mean {{{self.tag}: {value}}}?" if value in list(self.table) else ""
            raise Invalid([Fault((), f"found {as_shown(value)}; allowed: a mapping such as {example}{hint}")])
        allowed = choices(self.table) + (f", or your own as module:{self.user}" if self.user else "")
        if self.tag not in value:
            raise Invalid([Fault((), f"`{self.tag}` is missing; add one of {allowed}")])
        name = value[self.tag]
        if self.user and is_user_name(name):
            return _user(self, name, value, context)
        if not isinstance(name, str) or name not in self.table:
            text = f"found {as_shown(name)}; allowed: {allowed}{did_you_mean(name, self.table)}"
            raise Invalid([Fault((self.tag,), text)])
        cls, filled = self.table[name], {}
        if _is_file(cls) and isinstance(value.get("path"), str):
            path = context.locate(value["path"])
            if not Path(path).is_file():
                text = f"no file {path!r}; relative paths start in {context.folder}, then in the current folder"
                needs = f". It must hold: {context.needs}" if context.needs else ""
                raise Invalid([Fault(("path",), text + needs, missing=True)])
            value, filled = {**value, "path": path}, {"digest": context.digests.get(path, "")}
        try:
            return _built(build(cls, value, tag=self.tag, name=name, filled=filled), name, {self.tag: name})
        except Invalid as error:
            raise Invalid(_whose(self, name, fault) for fault in error.faults) from error

    def imported(self, value: Mapping[str, Any]) -> Any:
        """The user's own value that a mapping names. Raises `Invalid`, `ParameterError`, TypeError or ValueError."""
        rest = {key: item for key, item in value.items() if key != self.tag}
        return own_value(value[self.tag], rest, self.user, self.accept)


@dataclass(frozen=True)
class Record:
    """A component that is a mapping with the fields of one dataclass."""

    cls: type

    @property
    def keys(self) -> tuple[str, ...]:
        """Those of the class."""
        return names_of(self.cls)

    def make(self, value: object, context: Context) -> Built:
        """Validate a mapping. Raises `Invalid`."""
        return _built(build(self.cls, value), None, {})


COMPONENTS: dict[str, Single | Named | Choice | Record] = {
    "n": Single(Annotated[int, Ge(1)]),
    "d": Single(Annotated[int, Ge(1)]),
    "data": Choice("data", "ensemble", ENSEMBLES, user="function"),
    "planted": Choice("planted", "kind", PLANTED, user="class", accept=accept_planted),
    "noise": Single(Annotated[float, Ge(0)]),
    "noise_scale": Single(NoiseScale),
    "architecture": Named("architecture", ARCHITECTURES),
    "patterns": Record(Patterns),
    "method": Choice("method", "kind", METHODS, user="class", accept=accept_method),
}
"""The science fields, each of which (or what is in it) may be an axis."""

DEFAULTS: dict[str, Any] = {"noise": 0.0, "noise_scale": "sample", "patterns": {}}

LATER = ("noise_scale",)
"""Fields that came after ids were given out: at its default such a field is no part of an id or a document."""

ABSENT = Built(NONE, NONE.name, None, None, "null")
"""The architecture of a config whose methods are all the user's own, and that gives none."""


def is_left_out(name: str, part: Built) -> bool:
    """Whether a component is left out of ids and documents."""
    return name in LATER and part.value == DEFAULTS[name]


def imported(value: Any) -> Any:
    """A component's value, that of the user's code imported and made.

    Raises whatever the user's code raises; as `ParameterError` where it is not what a config may name.
    """
    if not isinstance(value, Own):
        return value
    kind = COMPONENTS[value.component]
    assert isinstance(kind, Named | Choice)
    return kind.imported(json.loads(value.text))


def _described(
    kind: Named | Choice, value: Any, name: str, describe: Callable[[Any], Description], context: Context
) -> Built:
    """A value of the user's code, which is imported unless it is known what it says of itself."""
    text = canonical_json(value)
    told = context.own.description(kind.component, text, lambda: describe(kind.imported(value)))
    own = Own(kind.component, text, told.columns)
    return Built(own, name, told.resolved, told.identity, canonical_json(told.identity))


def _whose(choice: Choice, name: str, fault: Fault) -> Fault:
    """An unknown key that others of the table have is said to be theirs."""
    key = fault.path[-1] if fault.path else ""
    others = [other for other, cls in choice.table.items() if fault.key and key in names_of(cls)]
    if name in others or not others:
        return fault
    return replace(fault, text=f"{fault.text}; {key} belongs to {choices(others)}")


def parameters(choice: Choice, name: object) -> dict[str, Any]:
    """The parameters of what a choice names, with their annotations; none where it cannot be told."""
    if isinstance(name, str) and name in choice.table:
        return keys_of(choice.table[name])
    return own_parameters(str(name), choice.user) if choice.user and is_user_name(name) else {}


def _is_file(cls: type) -> bool:
    """Whether the program fills in a digest of the class's `path`."""
    return {"path", "digest"} <= {field.name for field in fields(cls)}


def _user(choice: Choice, name: str, value: dict[str, Any], context: Context) -> Built:
    value = {choice.tag: name, **value}

    def describe(made: Any) -> Description:
        if choice.user == "function":
            return Description(value, value, {})
        with of_the_user(f"{name} cannot be made ({HOLDS})"):
            built = _built(made, name, {choice.tag: name})
        return Description(built.resolved, built.identity, columns_of(made) if choice.table is METHODS else {})

    try:
        return _described(choice, value, name, describe, context)
    except ParameterError as error:
        raise Invalid([Fault((choice.tag,), str(error))]) from error
    except (TypeError, ValueError) as error:  # a function of C may have no signature
        raise Invalid([Fault((), f"{name}(rng, n, d, ...): {error}")]) from error


def _built(value: Any, tag: str | None, head: dict[str, Any]) -> Built:
    # through JSON, so that tuples are lists here as they are in a stored document
    resolved = {**head, **json.loads(json.dumps(asdict(value)))}
    # a file is known by its content: where it lies is no part of a trial's identity
    unsaid = {"path"} if _is_file(type(value)) else set()
    unsaid |= {
        one.name for one in fields(value) if one.metadata.get("later") and getattr(value, one.name) == one.default
    }
    identity = {key: item for key, item in resolved.items() if key not in unsaid} if unsaid else resolved
    return Built(value, tag, resolved, identity, canonical_json(identity))
