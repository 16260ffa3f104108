"""Planted neurons as weights of an architecture's groups, and how far other weights are from them."""

import numpy as np

from recovery.errors import ParameterError
from recovery.instances.draw import Instance, Setting
from recovery.instances.patterns import patterns_of
from recovery.instances.planted import Linear, Neurons
from recovery.programs.groups import WITH_SKIP, Groups
from recovery.types import Array, Mask


def check_representable(setting: Setting, architecture: str) -> None:
    """A planted linear model is a single group only where there is a skip connection. Raises `ParameterError`."""
    if isinstance(setting.planted, Linear) and architecture not in WITH_SKIP:
        raise ParameterError(
            f"architecture {architecture!r} has no linear group to recover a planted linear model with; "
            f"use {' or '.join(WITH_SKIP)}"
        )


def planted_weights(groups: Groups, instance: Instance) -> Array:
    """W* (p, r) with sum_g A_g W*_g = the noiseless labels: the skip connection, or each neuron in its own pattern."""
    W = np.zeros((groups.count, groups.rank))
    neurons = instance.planted
    if neurons.form == "linear":
        check_representable(instance.setting, "relu_skip" if groups.linear else "relu")
        W[0] = groups.coordinates @ (neurons.directions @ neurons.signs)
        return W
    own = patterns_of(instance.X, neurons.directions)
    for i, (w, sign) in enumerate(zip(neurons.directions.T, neurons.signs, strict=True)):
        g = _group_of(groups, own[:, i])
        activation = np.maximum(instance.X @ w, 0.0)
        size = float(np.linalg.norm(activation)) if neurons.form == "normalized_relu" else 1.0
        if groups.transforms is None:
            W[g] += sign / size * (groups.coordinates @ w)
        else:
            W[g] += sign / size * (groups.block(g).T @ activation)
    return W


def _group_of(groups: Groups, pattern: Mask) -> int:
    """The ReLU group (never the skip connection) whose pattern this is."""
    same = (groups.patterns == pattern[:, None]).all(axis=0)
    same[: int(groups.linear)] = False
    return int(np.argmax(same))


def absolute_distance(W: Array, planted: Array) -> float:
    """(sum over planted groups of ||w_g - w*_g||^2)^{1/2}; for a planted linear model ||w_0 - w*||."""
    support = planted.any(axis=1)
    return float(np.linalg.norm(W[support] - planted[support]))


def test_distance(groups: Groups, W: Array, X: Array, neurons: Neurons) -> float | None:
    """||f(X) - f*(X)|| on other data X, with f(X) = X w_0 + sum_j (X w_j)_+ (P1, section VII).

    None for the normalised architectures, whose weights are coordinates in bases that belong to the training data.
    """
    if groups.transforms is not None or groups.base.shape[1] != X.shape[1] or not _is_identity(groups.coordinates):
        return None
    active = W[W.any(axis=1)]
    if groups.linear and W[0].any():
        prediction = X @ active[0] + np.maximum(X @ active[1:].T, 0.0).sum(axis=1)
    else:
        prediction = np.maximum(X @ active.T, 0.0).sum(axis=1)
    return float(np.linalg.norm(prediction - neurons.labels(X)))


def _is_identity(coordinates: Array) -> bool:
    return coordinates.shape[0] == coordinates.shape[1] and bool((coordinates == np.eye(len(coordinates))).all())
