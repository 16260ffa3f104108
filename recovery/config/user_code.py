"""User code that a config names as `module:NAME`: imported, checked, and made into the value of a component."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal, get_args

from recovery.config.tree import invalid
from recovery.config.validate import build, names_of
from recovery.errors import ParameterError, RecoverError
from recovery.instances.ensembles import UserEnsemble
from recovery.instances.planted import Form
from recovery.methods.columns import Columns, columns_of
from recovery.programs.architecture import Architecture
from recovery.text import choices, printable
from recovery.user import resolve


@dataclass(frozen=True)
class UserValue:
    """Placeholder for a value of user code, which only the processes that run trials import.

    component: the science field whose value it is. text: the config's JSON there. columns: what a method measures.
    """

    component: str
    text: str
    columns: Columns = field(default_factory=dict, compare=False, repr=False)


HOLDS = "fields hold numbers, text, true or false, lists and mappings of these, and are annotated so"


@contextmanager
def user_errors(fault: str) -> Iterator[None]:
    """Context that raises a `ParameterError` that begins with `fault` for any error of user code but `RecoverError`."""
    try:
        yield
    except RecoverError:
        raise
    except (Exception, SystemExit) as error:
        raise ParameterError(f"{fault}: {type(error).__name__}: {printable(str(error)):.200}") from error


def user_architecture(name: str) -> Architecture:
    """Return the architecture with this name. Raises `ParameterError` if it is not a valid `Architecture`."""
    value = resolve(name)
    if not isinstance(value, Architecture):
        raise ParameterError(f"{name} is not a value of recovery.programs.architecture.Architecture")
    with user_errors(f"{name}, a value of Architecture, cannot serve"):
        value.check()
    return value


METHOD = {"columns": "`columns`", "__call__": "`__call__(instance, architecture)`"}
PLANTED = {"form": "`form`", "neurons": "`neurons`", "slope": "`slope`", "draw": "`draw(rng, X)`"}
"""Attribute that a user's class must have -> its notation in messages."""


def accept_method(name: str, target: Any) -> None:
    """Raise `ParameterError` if `target` is not a class of methods."""
    _accept(name, target, METHOD)
    columns_of(target)


def accept_planted(name: str, target: Any) -> None:
    """Raise `ParameterError` if `target` is not a class of planted models."""
    _accept(name, target, PLANTED)
    form = getattr(target, "form", None)
    if form not in get_args(Form):
        raise ParameterError(f"{name}.form is {form!r}; allowed for the class: {choices(get_args(Form))}")


def _accept(name: str, target: Any, needs: Mapping[str, str]) -> None:
    """Raise `ParameterError` unless `target` is a frozen dataclass with the attributes or fields that `needs` has.

    Missing `columns` are left to `columns_of`, whose message shows how to declare them.
    """
    is_class = isinstance(target, type)
    present = {*dir(target), *(field.name for field in fields(target))} if is_class and is_dataclass(target) else set()
    frozen = bool(present) and target.__dataclass_params__.frozen
    if frozen and {*needs} - {"columns"} <= present:
        return
    *most, last = needs.values()
    text = f"{name} is not a frozen dataclass with {', '.join(most)} and {last}"
    if is_class:
        there = {*dir(target), *getattr(target, "__dataclass_fields__", ())}
        lacks = [notation for need, notation in needs.items() if need not in there]
        lacks += [] if present else ["`@dataclass(frozen=True)` above it"]
        text += f"; it lacks {', '.join(lacks)}" if lacks else "; write `@dataclass(frozen=True)` above it"
    raise ParameterError(text)


def user_value(
    name: str,
    arguments: Mapping[str, Any],
    kind: Literal["function", "class"],
    accept: Callable[[str, Any], None],
) -> Any:
    """Return an instance of the user's class `name` with these arguments, or the ensemble of a user's function.

    Raises `ConfigError`, `ParameterError`, TypeError or ValueError.
    """
    target = resolve(name)
    if kind == "class":
        accept(name, target)
        for key in arguments:
            if hasattr(target, key) and key not in names_of(target):
                raise invalid(
                    f"is no field, because it has no type; write `{key}: int = ...` in the class", key, key=True
                )
        # reports errors in the annotations and the __post_init__ of the class
        with user_errors(f"{name} cannot be made ({HOLDS})"):
            return build(target, arguments)
    if not callable(target) or isinstance(target, type):
        what = "a class" if isinstance(target, type) else "no function"
        raise ParameterError(f"{name} is {what}; an ensemble is a function `(rng, n, d, **parameters)`")
    inspect.signature(target).bind(None, 1, 1, **arguments)
    return UserEnsemble(target, tuple(arguments.items()))
