"""A theory curve as a value that a report can draw."""

from collections.abc import Callable
from dataclasses import dataclass

from recovery.types import Array


@dataclass(frozen=True)
class Curve:
    """A function on the plane of sweeps, and the level at which its line is drawn.

    `function(n, d)` broadcasts over arrays and gives a probability, or a ratio such as n/d; a report draws its
    contour at `level`.
    """

    name: str
    label: str
    source: str
    function: Callable[..., Array]
    level: float = 0.5
