"""Planted neurons as weights of a program, and the distances of other weights from them."""

from collections.abc import Iterator

import numpy as np

from recovery.conditions.ties import exact_signs
from recovery.errors import ParameterError
from recovery.instances.draw import Instance, Setting
from recovery.instances.patterns import live_rows, patterns_of
from recovery.instances.planted import Neurons
from recovery.programs.architecture import ARCHITECTURES, Architecture
from recovery.programs.program import Program
from recovery.types import Array, Mask

ZERO = 1e-12
"""Products x.w below this fraction of ||F|| ||w|| may be zero exactly; their signs are then computed in fractions."""


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


def planted_weights(program: Program, instance: Instance, architecture: Architecture) -> Array:
    """Return W* with F(W*) = the noiseless labels: the skip connection, or each neuron in the row of its pattern and
    sign.

    Neurons that are active on no row are left out, because no program has a group for them (`dead_neurons`).
    """
    W = np.zeros((program.size, program.groups.rank))
    for k, value in planted_rows(program, instance, architecture):
        W[k] += value
    return W


def planted_rows(program: Program, instance: Instance, architecture: Architecture) -> Iterator[tuple[int, Array]]:
    """Yield the row of W* and the weight that each planted neuron adds to it."""
    neurons = planted_neurons(instance)
    F, H = architecture.features(instance.X), architecture.lift(neurons.directions, instance.X)
    if neurons.linear:
        yield 0, program.groups.coordinates @ (H @ neurons.signs)
        return
    sizes = neurons.sizes(instance.X)
    for i, g in planted_groups(program, instance, architecture):
        k, value = program.place(g, float(neurons.signs[i]), H[:, i], F)
        yield k, value / sizes[i]


def planted_groups(program: Program, instance: Instance, architecture: Architecture) -> list[tuple[int, int]]:
    """Return each planted neuron that is active on some row, with the group of its pattern.

    Rounding may decide the sign of a product that is nearly zero. All neurons are therefore multiplied at once, as in
    the draw of the patterns: a product of another shape may round to another pattern, which no group has.
    """
    neurons, F = planted_neurons(instance), architecture.features(instance.X)
    own = patterns_of(F, architecture.lift(neurons.directions, instance.X))
    dead = dead_neurons(instance, architecture)
    return [(i, program.groups.find(own[:, i])) for i in range(own.shape[1]) if i not in dead]


def dead_neurons(instance: Instance, architecture: Architecture) -> list[int]:
    """Return the planted neurons whose image is exactly zero or whose pattern is empty; no shipped model draws any.

    A neuron that is orthogonal to some rows and negative on the others has a pattern, and its ReLU is zero on all rows.
    """
    neurons = planted_neurons(instance)
    if neurons.linear:
        return []
    F = architecture.features(instance.X)
    H = architecture.lift(neurons.directions, instance.X)
    own, live = patterns_of(F, H), live_rows(F)
    dead: Mask = np.asarray(~(own if live.all() else own[live]).any(axis=0))
    # compute exact signs only for neurons whose products with all rows are at most zero up to rounding, because an
    # exact sign costs more than a product
    for i in np.flatnonzero(~dead & ((F @ H).max(axis=0) <= ZERO * np.linalg.norm(F) * np.linalg.norm(H, axis=0))):
        signs = exact_signs(F, H[:, i])
        dead[i] = not (signs > 0).any() and (architecture.slope == 0.0 or not signs.any())
    return np.flatnonzero(dead).tolist()


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


def prediction(program: Program, W: Array, architecture: Architecture, X: Array) -> Array | None:
    """Return f(X) = X w_0 + sum_k sigma_k activation(X w_k) on other data X (n, d), (n,). Source: P1, section VII.

    None for normalised architectures, whose weights are coordinates in bases of the training data.
    """
    if architecture.normalized:
        return None
    F, groups = architecture.features(X), program.groups
    active = np.flatnonzero(W.any(axis=1))
    neurons = active[active > 0] if groups.linear else active
    values = groups.activate(F @ W[neurons].T) @ program.signs[neurons]
    return values + F @ W[0] if groups.linear else values


def test_distance(program: Program, W: Array, architecture: Architecture, instance: Instance) -> float | None:
    """Return ||f(X) - f*(X)|| on the test draw of the instance; None without one or without a prediction."""
    if instance.test is None:
        return None
    predicted = prediction(program, W, architecture, instance.test)
    return None if predicted is None else float(np.linalg.norm(predicted - instance.planted.labels(instance.test)))
