"""Planted neurons as weights of a program, and the distances of other weights from them."""

import numpy as np

from recovery.errors import ParameterError
from recovery.instances.draw import Instance, Setting
from recovery.instances.planted import Neurons
from recovery.programs.architecture import ARCHITECTURES, Architecture
from recovery.programs.networks import network_of
from recovery.programs.program import Program
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


def absolute_distance(program: Program, W: Array, planted: Array) -> float:
    """Return (sum over planted groups of ||w_g - w*_g||^2)^{1/2}; for a planted linear model ||w_0 - w*||."""
    w, wanted = program.gated_weights(W), program.gated_weights(planted)
    support = wanted.any(axis=1)
    return float(np.linalg.norm(w[support] - wanted[support]))


def test_distance(program: Program, W: Array, architecture: Architecture, instance: Instance) -> float | None:
    """Return ||f(X) - f*(X)|| of the network of these weights on the test draw of the instance (P1, section VII).

    None without a draw, and for normalised architectures, whose weights are coordinates in bases of the training data.
    """
    if instance.test is None or architecture.normalized:
        return None
    predicted = network_of(program, W, architecture).predict(instance.test)
    return float(np.linalg.norm(predicted - instance.planted.labels(instance.test)))
