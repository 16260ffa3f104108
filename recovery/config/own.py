"""The user's code as a sweep knows it: by name and parameters, and by what it says of itself when it is imported.

A process that stores rows composes a sweep from what another process was told (`OwnCode.of`): it imports none of it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from recovery.errors import ParameterError
from recovery.methods.columns import Columns, columns_document, columns_from


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


class OwnCode:
    """What a sweep asks of the user's code: a description of each value, the cost of each cell, a hash of its source.

    Asked for the first time, the code is imported and called; with `imports` off that raises `UntoldError`.
    """

    def __init__(self, imports: bool = True) -> None:
        self._imports = imports
        self._described: dict[str, Description] = {}
        self._costs: dict[str, float] = {}
        self._codes: dict[str, str] = {}
        self._parameters: dict[str, dict[str, bool]] = {}
        self._curves: dict[str, list[Any]] = {}

    def description(self, component: str, text: str, make: Callable[[], Description]) -> Description:
        return self._known(self._described, f"{component} {text}", make)

    def parameters(self, component: str, name: str, ask: Callable[[], dict[str, bool]]) -> dict[str, bool]:
        """Parameter -> whether it holds integers."""
        return self._known(self._parameters, f"{component} {name}", ask)

    def curve(self, name: str, ask: Callable[[], list[Any]]) -> list[Any]:
        """The points of a curve, its axes and its label."""
        return self._known(self._curves, name, ask)

    def cost(self, cell: str, ask: Callable[[], float]) -> float:
        return self._known(self._costs, cell, ask)

    def code(self, names: frozenset[str], ask: Callable[[frozenset[str]], str]) -> str:
        return self._known(self._codes, " ".join(sorted(names)), lambda: ask(names))

    def _known(self, told: dict[str, Any], key: str, ask: Callable[[], Any]) -> Any:
        if key not in told:
            if not self._imports:
                raise UntoldError(key)
            told[key] = ask()
        return told[key]

    def document(self) -> dict[str, Any]:
        """All that was told, as plain data."""
        described = {
            key: [told.resolved, told.identity, columns_document(told.columns)] for key, told in self._described.items()
        }
        more = {"codes": self._codes, "parameters": self._parameters, "curves": self._curves}
        return {"described": described, "costs": self._costs, **more}

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "OwnCode":
        """What another process was told. Raises `ParameterError` for what it cannot have been."""
        own = cls(imports=False)
        try:
            for key, (resolved, identity, columns) in document["described"].items():
                own._described[key] = Description(resolved, identity, columns_from(columns))
            own._costs = {key: float(cost) for key, cost in document["costs"].items()}
            own._codes = {key: str(code) for key, code in document["codes"].items()}
            own._curves = {key: list(curve) for key, curve in document["curves"].items()}
            for name, parameters in document["parameters"].items():
                own._parameters[name] = {str(key): bool(integer) for key, integer in parameters.items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ParameterError("the config's own code has changed what the program says of it") from error
        return own
