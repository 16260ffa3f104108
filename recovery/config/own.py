"""The user's code as a sweep knows it: by name and parameters, and by what it says of itself when it is imported.

A process that stores rows composes a sweep from what another process was told (`OwnCode.of`): it imports none of it.
Others import it: `own_value` and `own_architecture` make what a config names, and refuse what cannot serve.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal, NamedTuple, get_args, get_type_hints

import numpy as np

from recovery.config.build import Invalid, build
from recovery.config.describe import choices, keys_of
from recovery.errors import ParameterError, RecoverError
from recovery.instances.ensembles import UserEnsemble
from recovery.instances.planted import Form
from recovery.methods.columns import Columns, columns_document, columns_from, columns_of
from recovery.programs.architecture import Architecture
from recovery.text import printable
from recovery.types import Array
from recovery.user import resolve


@dataclass(frozen=True)
class Own:
    """A value of the user's, not imported: the component that it is, and what the config says of it as JSON.

    columns: what it measures, if it is a method.
    """

    component: str
    text: str
    columns: Columns = field(default_factory=dict, compare=False, repr=False)


class Description(NamedTuple):
    """What making a value of the user's has told: its fields as plain data, those of its identity, its columns."""

    resolved: Any
    identity: Any
    columns: Columns


class UntoldError(Exception):
    """Something is asked of the user's code that was not told: another process has to import it."""


CHANGED = "the config's own code has changed what the program says of it"


class OwnCode:
    """What a sweep asks of the user's code: a description of each value, the cost of each cell, a hash of its source.

    Asked for the first time, the code is imported and called; with `imports` off that raises `UntoldError`.
    """

    def __init__(self, imports: bool = True) -> None:
        self._imports = self._asked = imports
        self._described: dict[str, Description] = {}
        self._costs: dict[str, Array] = {}
        self._codes: dict[str, str] = {}
        self._parameters: dict[str, dict[str, bool]] = {}
        self._curves: dict[str, list[Any]] = {}

    def expect(self) -> None:
        """The user's code will be asked for something: where nobody was, that is said before all else is composed."""
        if not self._asked:
            raise UntoldError("all")

    def description(self, component: str, text: str, make: Callable[[], Description]) -> Description:
        return self._known(self._described, f"{component} {text}", make)

    def parameters(self, component: str, name: str, ask: Callable[[], dict[str, bool]]) -> dict[str, bool]:
        """Parameter -> whether it holds integers."""
        return self._known(self._parameters, f"{component} {name}", ask)

    def curve(self, name: str, ask: Callable[[], list[Any]]) -> list[Any]:
        """The points of a curve, its axes and its label."""
        return self._known(self._curves, name, ask)

    def costs(self, cells: str, count: int, ask: Callable[[], Array]) -> Array:
        """Of a trial of each of so many cells that run the user's code; `cells` is a digest of them."""
        costs: Array = self._known(self._costs, cells, ask)
        if len(costs) != count:
            raise ParameterError(CHANGED)
        return costs

    def code(self, names: frozenset[str], ask: Callable[[frozenset[str]], str]) -> str:
        return self._known(self._codes, " ".join(sorted(names)), lambda: ask(names))

    def _known(self, told: dict[str, Any], key: str, ask: Callable[[], Any]) -> Any:
        if key not in told:
            if not self._imports:
                raise UntoldError(key)
            told[key] = ask()
        return told[key]

    def document(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """All that was told, as plain data and arrays."""
        described = {
            key: [told.resolved, told.identity, columns_document(told.columns)] for key, told in self._described.items()
        }
        more = {"codes": self._codes, "parameters": self._parameters, "curves": self._curves}
        return {"described": described, **more}, self._costs

    @classmethod
    def of(cls, document: Mapping[str, Any], costs: Mapping[str, Array]) -> "OwnCode":
        """What another process was told. Raises `ParameterError` for what it cannot have been."""
        own = cls(imports=False)
        own._asked = True
        try:
            for key, (resolved, identity, columns) in document["described"].items():
                own._described[key] = Description(resolved, identity, columns_from(columns))
            own._costs = {cells: np.array(each, np.float64) for cells, each in costs.items()}
            if not all(each.ndim == 1 and ((each >= 0) & (each < np.inf)).all() for each in own._costs.values()):
                raise ValueError
            own._codes = {key: str(code) for key, code in document["codes"].items()}
            own._curves = {key: list(curve) for key, curve in document["curves"].items()}
            for name, parameters in document["parameters"].items():
                own._parameters[name] = {str(key): bool(integer) for key, integer in parameters.items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ParameterError(CHANGED) from error
        return own


HOLDS = "fields hold numbers, text, true or false, lists and mappings of these, and are annotated so"


@contextmanager
def of_the_user(fault: str) -> Iterator[None]:
    """Make a `ParameterError` of whatever the user's own code raises."""
    try:
        yield
    except (Invalid, RecoverError):
        raise
    except (Exception, SystemExit) as error:
        raise ParameterError(f"{fault}: {type(error).__name__}: {printable(str(error)):.200}") from error


def _is_frozen(target: Any, *names: str) -> bool:
    """Whether it is a class of frozen dataclasses with these attributes, of the class or as fields."""
    if not (isinstance(target, type) and is_dataclass(target)):
        return False
    there = {*dir(target), *(field.name for field in fields(target))}
    return target.__dataclass_params__.frozen and set(names) <= there  # type: ignore[attr-defined]


def own_architecture(name: str) -> Architecture:
    """The user's architecture of this name. Raises `ParameterError` for what is none."""
    value = resolve(name)
    if not isinstance(value, Architecture):
        raise ParameterError(f"{name} is not a value of recovery.programs.architecture.Architecture")
    with of_the_user(f"{name}, a value of Architecture, cannot serve"):
        value.check()
    return value


METHOD = {"columns": "`columns`", "__call__": "`__call__(instance, architecture)`", "cost": "`cost(n, d)`"}
PLANTED = {"form": "`form`", "neurons": "`neurons`", "slope": "`slope`", "draw": "`draw(rng, X)`"}
"""What a class of the user has, and how it is written."""


def accept_method(name: str, target: Any) -> None:
    """Raises `ParameterError` for what is no method."""
    _accept(name, target, METHOD)
    columns_of(target)


def _accept(name: str, target: Any, needs: Mapping[str, str]) -> None:
    if not _is_frozen(target, *(need for need in needs if need != "columns")):
        *most, last = needs.values()
        text = f"{name} is not a frozen dataclass with {', '.join(most)} and {last}"
        if isinstance(target, type):
            there = {*vars(target), *getattr(target, "__dataclass_fields__", ())}
            lacks = [words for need, words in needs.items() if need not in there and not hasattr(target, need)]
            lacks += [] if is_dataclass(target) else ["`@dataclass(frozen=True)` above it"]
            text += f"; it lacks {', '.join(lacks)}" if lacks else "; write `@dataclass(frozen=True)` above it"
        raise ParameterError(text)


def accept_planted(name: str, target: Any) -> None:
    """Raises `ParameterError` for what is no planted model."""
    _accept(name, target, PLANTED)
    form = getattr(target, "form", None)
    if form not in get_args(Form):
        raise ParameterError(f"{name}.form is {form!r}; allowed for the class: {choices(get_args(Form))}")


def own_parameters(name: str, kind: Literal["function", "class"]) -> dict[str, Any]:
    """The parameters of the user's class or function, with their annotations; none where they cannot be told."""
    try:
        target = resolve(name)
        if kind == "class":
            return keys_of(target) if is_dataclass(target) else {}
        given = list(inspect.signature(target).parameters.values())[3:]
        hints = get_type_hints(target)
    except Exception:  # of the user's own code: `make` says what is wrong with it
        return {}
    return {one.name: hints.get(one.name, Any) for one in given if one.kind is not one.VAR_KEYWORD}


def own_value(
    name: str, given: Mapping[str, Any], kind: Literal["function", "class"] | None, accept: Callable[[str, Any], None]
) -> Any:
    """What the user's class or function of this name makes of what is given.

    Raises `Invalid`, `ParameterError`, TypeError or ValueError.
    """
    target = resolve(name)
    if kind == "class":
        accept(name, target)
        with of_the_user(f"{name} cannot be made ({HOLDS})"):  # its annotations and its __post_init__
            return build(target, given)
    if not callable(target):
        raise ParameterError(f"{name} is not a function `(rng, n, d, **parameters)`")
    inspect.signature(target).bind(None, 1, 1, **given)
    return UserEnsemble(target, tuple(given.items()))
