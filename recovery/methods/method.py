"""The interface of a method."""

from collections.abc import Mapping
from typing import ClassVar, Protocol

from recovery.instances.draw import Instance
from recovery.methods.columns import Columns, Value
from recovery.programs.architecture import Architecture


class Method(Protocol):
    """How recovery is attempted: a frozen value with parameters, a pure function of an instance.

    columns: what it measures. A method may also have `check(setting, architecture)`, called for every cell before
    anything runs, which raises `ParameterError` for what it could not measure.
    """

    columns: ClassVar[Columns]

    def __call__(self, instance: Instance, architecture: Architecture) -> Mapping[str, Value]:
        """The measured columns, those that it declares; one left out is null."""
        ...

    def cost(self, n: int, d: int) -> float:
        """A guess of the seconds that one trial takes, to order and batch trials; only ratios matter."""
        ...
