"""Networks from the weights of a convex program (P1, section 5 of the convex reformulation, Appendix A).

f(X) = X w_0 + sum_i N_i((X w_i)_+) a_i, where N_i is the identity, or normalisation to length alpha_i under
`relu_norm`. Under `relu_norm_skip`, normalisation comes before the ReLU: each neuron is alpha a (X w)_+ / ||X w||, and
the skip connection likewise. A neuron of convex weight v and size ||v||_g becomes w = v / sqrt ||v||,
|a| = sqrt ||v||: the scaling with the least ||w||^2 + a^2 = 2 ||v||. If the network is normalised, the size of w is
arbitrary and costs nothing as w -> 0: w is a unit vector, and alpha and |a| are the square root each.
"""

from dataclasses import dataclass, replace

import numpy as np

from recovery.programs.architecture import RELU, Architecture
from recovery.programs.groups import leaky_relu
from recovery.programs.program import Program
from recovery.types import Array

COLINEAR = 1e-7
"""Unit vectors closer than this have the same direction."""
NEGLIGIBLE = 1e-9
"""Neurons smaller than this fraction of the largest are rounding errors."""


@dataclass(frozen=True)
class Network:
    """Network with layers `inner` (m, d) and `outer` (m,), `scale` alpha (m,) or None, `skip` w_0 (d,) or None.

    architecture: its normalisation (scale is None without one), activation and features. If it normalises before the
    ReLU, `skip_scale` is alpha times the outer weight of the skip connection.
    """

    inner: Array
    outer: Array
    scale: Array | None = None
    skip: Array | None = None
    skip_scale: float = 1.0
    architecture: Architecture = RELU

    def sizes(self) -> Array:
        """Return signed sizes of the neurons, (m,): a ||w||, or a alpha; splitting a neuron keeps their sum."""
        if self.scale is not None:
            return self.outer * self.scale
        return self.outer * np.linalg.norm(self.inner, axis=1)

    def predict(self, X: Array, batch: Array | None = None) -> Array:
        """Return f(X) for X (n, d). Normalised neurons are divided by their length on `batch`, by default X."""
        X = self.architecture.features(X)
        batch = None if batch is None else self.architecture.features(batch)
        Z, slope = X @ self.inner.T, self.architecture.slope
        coefficients = self.outer
        if self.scale is not None:
            own = Z if batch is None else batch @ self.inner.T
            # a neuron that is zero on the whole batch has length 0 and gets the coefficient 0
            length = np.linalg.norm(own if self.architecture.normalizes_before else leaky_relu(own, slope), axis=0)
            coefficients = np.divide(self.outer * self.scale, length, out=np.zeros_like(length), where=length > 0)
        values = leaky_relu(Z, slope) @ coefficients
        if self.skip is None:
            return values
        linear = X @ self.skip
        if self.architecture.normalizes_before:
            length = float(np.linalg.norm(linear if batch is None else batch @ self.skip))
            linear = linear * (self.skip_scale / length if length > 0 else 0.0)
        return values + linear

    def penalty(self) -> float:
        """Return R / 2, half the squared norm of the weights scaled to make it least: sum ||w_g|| in the exact program.

        That is 1/2 (||W||^2 + ||a||^2), or 1/2 (||alpha||^2 + ||a||^2) with W -> 0 if normalised. A skip connection
        w_0 = w c adds ||w_0||, the minimum of (||w||^2 + c^2) / 2.
        """
        first = np.square(self.inner).sum() if self.scale is None else np.square(self.scale).sum()
        value = 0.5 * float(first + np.square(self.outer).sum())
        if self.skip is None:
            return value
        return value + (
            abs(self.skip_scale) if self.architecture.normalizes_before else float(np.linalg.norm(self.skip))
        )

    def objective(self, X: Array, y: Array, beta: float | None) -> float:
        """Return the objective 1/2 ||f - y||^2 + beta R / 2, R / 2 being `penalty`; only R / 2 if beta is None."""
        if beta is None:
            return self.penalty()
        residual = self.predict(X) - y
        return 0.5 * float(residual @ residual) + beta * self.penalty()


def network_of(program: Program, V: Array, architecture: Architecture) -> Network:
    """Build the network of base weights V (2 p, r): one neuron for each signed group that is not negligible."""
    groups = program.groups
    norms = program.norms(V)
    chosen = np.flatnonzero(norms > NEGLIGIBLE * norms.max(initial=0.0))
    chosen = chosen[chosen > 0] if groups.linear else chosen
    # for a fixed product ||w|| |a|, ||w||^2 + a^2 is least if ||w|| = |a|, so both are the square root of the neuron's
    # size
    raw = _raw(program, V[chosen])
    size, signs = norms[chosen], program.signs[chosen]
    skip = _raw(program, V[:1])[0] if groups.linear else None
    root = np.sqrt(size)
    if not architecture.normalized:
        return Network(raw / root[:, None], signs * root, skip=skip, architecture=architecture)
    inner = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    if skip is None:
        return Network(inner, signs * root, root, architecture=architecture)
    return Network(inner, signs * root, root, skip, float(norms[0]), architecture)


def merge(network: Network) -> Network:
    """Merge neurons that share direction and sign into one, and drop neurons of size zero."""
    sizes, length = network.sizes(), np.linalg.norm(network.inner, axis=1)
    chosen = np.flatnonzero((np.abs(sizes) > NEGLIGIBLE * np.abs(sizes).max(initial=0.0)) & (length > 0))
    directions = network.inner[chosen] / length[chosen, None]
    sizes = sizes[chosen]
    # merging neurons with the same direction and sign changes neither f nor the sum of sizes (Appendix A)
    total, representatives = [], []
    left = np.ones(len(chosen), dtype=np.bool_)
    for i in range(len(chosen)):
        if left[i]:
            close = np.linalg.norm(directions - directions[i], axis=1) <= COLINEAR
            same = left & close & (np.sign(sizes) == np.sign(sizes[i]))
            left &= ~same
            total.append(float(sizes[same].sum()))
            # the direction of the merged neuron is the mean weighted by size, so that small neurons hardly turn it
            mean = np.abs(sizes[same]) @ directions[same]
            representatives.append(mean / np.linalg.norm(mean))
    size = np.array(total)
    inner = np.array(representatives).reshape(len(size), network.inner.shape[1])
    root = np.sqrt(np.abs(size))
    if network.scale is None:
        return replace(network, inner=inner * root[:, None], outer=np.sign(size) * root)
    return replace(network, inner=inner, outer=np.sign(size) * root, scale=root)


def _raw(program: Program, V: Array) -> Array:
    """Return weights on the raw data, (k, d), from base weights (k, r): the least ones with coordinates @ w = v."""
    coordinates = program.groups.coordinates
    if coordinates.shape[0] == coordinates.shape[1] and (coordinates == np.eye(len(coordinates))).all():
        return V
    return V @ np.linalg.pinv(coordinates).T
