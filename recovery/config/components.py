"""The science fields of a config (n, d, noise, data, planted, ...), each validated on its own.

Members of a union are identified by one key (`kind`, and `ensemble` for data), whose value is looked up in a table: a
new ensemble, planted model or method is one class and one line in its own package, and nothing here.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge

from recovery.config.tree import as_shown, canonical_json, invalid
from recovery.config.user_code import UserValue, accept_method, accept_planted, user_architecture, user_value
from recovery.config.validate import build, build_kind, build_scalar, names_of
from recovery.errors import ParameterError
from recovery.instances.draw import NoiseScale
from recovery.instances.ensembles import ENSEMBLES
from recovery.instances.files import File
from recovery.instances.patterns import Patterns
from recovery.instances.planted import PLANTED
from recovery.methods.columns import Columns, columns_of
from recovery.methods.method import METHODS
from recovery.programs.architecture import ARCHITECTURES, NONE
from recovery.text import choices, did_you_mean
from recovery.user import is_user_name, user_names


@dataclass(frozen=True, eq=False)
class Component:
    """A validated science field: its value, its `tag` if it is a member of a union, and the value as plain data.

    `resolved` has every field, `identity` those that trial ids depend on. A field that was added after ids were in use
    has the metadata `later`: at its default it is left out of ids and documents.
    """

    value: Any
    tag: str | None
    resolved: Any
    identity: Any

    @cached_property
    def text(self) -> str:
        """The canonical JSON of the identity."""
        return canonical_json(self.identity)

    @property
    def stored(self) -> Any:
        """The part of `resolved` that a document stores: the path of a data file instead of its digest."""
        if not isinstance(self.resolved, dict):
            return self.resolved
        kept = {*self.identity, "path"} - {"digest"}
        return {key: item for key, item in self.resolved.items() if key in kept}

    @cached_property
    def user_code(self) -> frozenset[str]:
        """The user code that the component names, as `module:NAME`."""
        return frozenset(user_names(self.identity))


@dataclass(frozen=True)
class Context:
    """The surroundings of a config. Relative paths start in its folder, then in the current folder.

    digests: file path -> the SHA-256 that a stored sweep recorded, which the file must still have when it is read.
    imports: whether user code may be imported, by which it is checked.
    """

    folder: Path = Path()
    digests: Mapping[str, str] = field(default_factory=dict)
    imports: bool = False


@dataclass(frozen=True)
class Single:
    """A science field that is one value."""

    annotation: Any
    keys: ClassVar[tuple[str, ...]] = ()

    def make(self, value: object, context: Context) -> Component:
        """Validate a value, and return its component. Raises `ConfigError`."""
        scalar = build_scalar(self.annotation, value)
        return Component(scalar, None, scalar, scalar)


class Named:
    """The architecture: the name of one of `ARCHITECTURES`, or of the user's own value as `module:NAME`."""

    keys: ClassVar[tuple[str, ...]] = ()

    def make(self, value: object, context: Context) -> Component:
        """Validate a name, and return the component of its value. Raises `ConfigError`."""
        if is_user_name(value):
            try:
                if context.imports:
                    self.imported(value)
            except ParameterError as error:
                raise invalid(str(error)) from error
            return Component(UserValue("architecture", canonical_json(value)), str(value), value, value)
        if isinstance(value, str) and value in ARCHITECTURES:
            return Component(ARCHITECTURES[value], value, value, value)
        allowed = f"{choices(ARCHITECTURES)}, or your own as module:NAME"
        raise invalid(f"found {as_shown(value)}; allowed: {allowed}{did_you_mean(value, ARCHITECTURES)}")

    def imported(self, name: Any) -> Any:
        """Import the user's architecture of this name. Raises `ParameterError`."""
        return user_architecture(name)


@dataclass(frozen=True)
class Choice:
    """A science field that is a mapping whose key `tag` names a class of `table`.

    `user`: users may name their own `module:function` (an ensemble) or `module:Class`; `accept` raises
    `ParameterError` for a class that cannot be used.
    """

    component: str
    tag: str
    table: Mapping[str, type]
    user: Literal["function", "class"]
    accept: Callable[[str, Any], None] = lambda name, target: None

    @property
    def keys(self) -> tuple[str, ...]:
        """The tag, and the keys that any class of the table has."""
        return (self.tag, *dict.fromkeys(key for cls in self.table.values() for key in names_of(cls)))

    def make(self, value: object, context: Context) -> Component:
        """Validate a mapping, and return the component of the class that its tag names. Raises `ConfigError`."""
        given = value if isinstance(value, dict) else {}
        name = given.get(self.tag)
        if isinstance(name, str) and is_user_name(name):
            return self._make_user(name, {self.tag: name, **given}, context)
        filled = {}
        if isinstance(name, str) and self.table.get(name) is File and isinstance(given.get("path"), str):
            places = (start / given["path"] for start in (context.folder, Path()))
            path = next((str(place.resolve()) for place in places if place.is_file()), given["path"])
            if path not in context.digests and not Path(path).is_file():
                text = f"no file {path!r}; relative paths start in {context.folder}, then in the current folder"
                raise invalid(text, "path")
            value, filled = {**given, "path": path}, {"digest": context.digests.get(path, "")}
        own = f", or your own as module:{self.user}"
        made = build_kind(self.table, value, tag=self.tag, own=own, filled=filled)
        return _component(made, name, {self.tag: name})

    def _make_user(self, name: str, value: dict[str, Any], context: Context) -> Component:
        """Return the component of user code; its identity is the mapping in the config, without defaults."""
        columns: Columns = {}
        try:
            if context.imports:
                made = self.imported(value)
                columns = columns_of(made) if self.table is METHODS else {}
        except ParameterError as error:
            raise invalid(str(error), self.tag) from error
        # raised, for example, for a function written in C that has no signature
        except (TypeError, ValueError) as error:
            raise invalid(f"{name}(rng, n, d, ...): {error}", self.tag) from error
        return Component(UserValue(self.component, canonical_json(value), columns), name, value, value)

    def imported(self, value: Mapping[str, Any]) -> Any:
        """Make the user's value for this mapping. Raises `ConfigError`, `ParameterError`, TypeError or ValueError."""
        rest = {key: item for key, item in value.items() if key != self.tag}
        return user_value(value[self.tag], rest, self.user, self.accept)


@dataclass(frozen=True)
class Record:
    """A science field that is a mapping with the fields of one dataclass."""

    cls: type

    @property
    def keys(self) -> tuple[str, ...]:
        """The fields of the class."""
        return names_of(self.cls)

    def make(self, value: object, context: Context) -> Component:
        """Validate a mapping, and return the component of the class. Raises `ConfigError`."""
        return _component(build(self.cls, value), None, {})


COMPONENTS: dict[str, Single | Named | Choice | Record] = {
    "n": Single(Annotated[int, Ge(1)]),
    "d": Single(Annotated[int, Ge(1)]),
    "data": Choice("data", "ensemble", ENSEMBLES, user="function"),
    "planted": Choice("planted", "kind", PLANTED, user="class", accept=accept_planted),
    "noise": Single(Annotated[float, Ge(0)]),
    "noise_scale": Single(NoiseScale),
    "architecture": Named(),
    "patterns": Record(Patterns),
    "method": Choice("method", "kind", METHODS, user="class", accept=accept_method),
}
"""The science fields. Each of them, or a key inside it, may be an axis."""

DEFAULTS: dict[str, Any] = {"noise": 0.0, "noise_scale": "sample", "patterns": {}}

LATER = ("noise_scale",)
"""Science fields that were added after ids were in use: at its default, one is left out of ids and documents."""

NO_DATA = "none"
"""The value of `data` in a config whose trials draw no data: the method gets the coordinates and a generator."""
UNDRAWN = ("n", "d", "noise", "data", "method")
"""The fields of a config with `data: none`. Those of n, d and noise that it does not give are not in ids and rows."""

ABSENT = Component(NONE, NONE.name, None, None)
"""The architecture of a cell whose method is user code, if the config gives none."""


def fields_of(document: Mapping[str, Any], paths: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the science fields that the trials of a config have, if its axes have these paths."""
    if document.get("data") != NO_DATA:
        return (*COMPONENTS,)
    given = {"method", *document, *(path.partition(".")[0] for path in paths)}
    return tuple(name for name in UNDRAWN if name in given)


def is_left_out(name: str, part: Component) -> bool:
    """Return whether a component is left out of ids and documents."""
    return name in LATER and part.value == DEFAULTS[name]


def user_code_in(document: Mapping[str, Any]) -> set[str]:
    """Return the user code that a config or document names for its trials, as `module:NAME`."""
    return {name for field in (*COMPONENTS, "axes") for name in user_names(document.get(field))}


def imported(value: Any) -> Any:
    """Return a component's value; for a `UserValue`, import the user code and make the value.

    Raises whatever the user code raises, and `ParameterError` if its value is not valid in a config.
    """
    if not isinstance(value, UserValue):
        return value
    kind = COMPONENTS[value.component]
    assert isinstance(kind, Named | Choice)
    return kind.imported(json.loads(value.text))


def _component(value: Any, tag: str | None, head: dict[str, Any]) -> Component:
    # convert through JSON, so that tuples become lists, as in a stored document
    resolved = {**head, **json.loads(json.dumps(asdict(value)))}
    # a file is identified by the digest of its content, not by its path
    unsaid = {"path"} if isinstance(value, File) else set()
    unsaid |= {
        one.name for one in fields(value) if one.metadata.get("later") and getattr(value, one.name) == one.default
    }
    identity = {key: item for key, item in resolved.items() if key not in unsaid} if unsaid else resolved
    return Component(value, tag, resolved, identity)
