"""A theory curve as a value that a report can draw."""

from collections.abc import Callable
from dataclasses import dataclass

from recovery.types import Array


@dataclass(frozen=True)
class Curve:
    """A closed form over coordinates of a sweep, and the level at which its line is drawn on a plane.

    `function` takes one array for each of `axes` (coordinates by their dotted path, in that order), broadcasts, and
    gives a probability, or a ratio such as n/d. Over a plane of two axes its contour at `level` is the line to draw;
    over one axis its values are.
    """

    name: str
    label: str
    source: str
    function: Callable[..., Array]
    level: float = 0.5
    axes: tuple[str, ...] = ("n", "d")
