"""The interface of a method, and the table of methods."""

from typing import Protocol

from recovery.instances.draw import Instance
from recovery.methods.measurement import Measurement


class Method(Protocol):
    """How recovery is attempted: a frozen value with parameters, called with an instance."""

    def __call__(self, instance: Instance, architecture: str) -> Measurement: ...

    def cost(self, n: int, d: int) -> float:
        """A guess of the seconds that one trial takes, to order and batch trials; only ratios matter."""
        ...
