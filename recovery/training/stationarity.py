"""Distance of 0 from the subdifferential of a regularised loss, which is not smooth where a neuron is 0 on a row."""

import numpy as np
from scipy.optimize import lsq_linear

from recovery.training.models import Empirical, Parameters, outputs

KINK = 1e-6
"""A row x is at a neuron's kink if |x.w| is at most this fraction of ||x|| ||w||; its slope may be any in [0, 1]."""


def stationarity(loss: Empirical, parameters: Parameters) -> float:
    """Return the distance of 0 from the set of gradients that the chain rule gives with any ReLU slopes at kinks.

    The set contains Clarke's subdifferential, so the distance is a lower bound on the distance from that. Networks
    have one output and no normalisation. Each neuron is one bounded least-squares problem.
    """
    gradient = parameters.like()
    loss(parameters, gradient)
    X, W, v = loss.X, parameters["W"], parameters["V"][:, 0]
    residual = 2.0 * loss.factor * (outputs(parameters, X)[:, 0] - loss.Y[0])
    total = float(np.vdot(gradient.flat, gradient.flat) - np.vdot(gradient["W"], gradient["W"]))
    lengths = np.linalg.norm(X, axis=1)
    for w, weight, slope in zip(W, v, gradient["W"], strict=True):
        z = X @ w
        free = np.abs(z) <= KINK * lengths * np.linalg.norm(w)
        columns = (weight * residual[free, None] * X[free]).T
        fixed = slope - columns @ (z[free] > 0)
        left = lsq_linear(columns, -fixed, bounds=(0.0, 1.0)).x @ columns.T + fixed if free.any() else fixed
        total += float(left @ left)
    return float(np.sqrt(total))
