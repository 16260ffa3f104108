"""Planted neurons that a program can represent, and the distance of other functions from theirs."""

from collections.abc import Callable

import numpy as np

from recovery.errors import ParameterError
from recovery.instances.draw import Instance, Setting
from recovery.instances.planted import Neurons
from recovery.programs.architecture import ARCHITECTURES, Architecture
from recovery.types import Array


def check_representable(setting: Setting, architecture: Architecture) -> None:
    """Refuse a planted model that the groups of the architecture cannot represent. Raises `ParameterError`."""
    planted = setting.planted
    if planted.form == "other":
        raise ParameterError(
            f"planted model {type(planted).__name__} has no weights in a convex program; use linear, relu or "
            "normalized_relu, or another method"
        )
    if planted.form == "linear" and not architecture.skip:
        able = " or ".join(name for name, other in ARCHITECTURES.items() if other.skip)
        raise ParameterError(
            f"architecture {architecture.name!r} has no skip connection, so no linear group to recover a planted "
            f"linear model with; use {able}"
        )
    if planted.form != "linear" and planted.slope != architecture.slope:
        raise ParameterError(
            f"the planted neurons have slope {planted.slope:g} where they are not active, and architecture "
            f"{architecture.name!r} has {architecture.slope:g}: it has no group for them"
        )


def planted_neurons(instance: Instance) -> Neurons:
    """Return the planted neurons. Raises `ParameterError` for a planted model of another kind."""
    if not isinstance(instance.planted, Neurons):
        raise ParameterError(f"{type(instance.planted).__name__} has no planted neurons, which this method needs")
    return instance.planted


def test_distance(instance: Instance, predict: Callable[[Array], Array]) -> float | None:
    """Return ||f(X) - f*(X)|| on the test draw of the instance (P1, section VII); None without one."""
    test = instance.test
    return None if test is None else float(np.linalg.norm(predict(test) - instance.planted.labels(test)))
