"""Networks and the weights of the exact program, each way (P1, section 5 of the convex reformulation, Appendix A).

f(X) = X w_0 + sum_i N_i((X w_i)_+) a_i, with N_i the identity, or alpha_i times normalisation to unit length under
`relu_norm`; under `relu_norm_skip` normalisation comes before the ReLU, and for each neuron
(N_alpha(X w))_+ a = alpha a (X w)_+ / ||X w||, and the skip connection likewise.
A neuron of convex weight v and size ||v||_g becomes w = v / sqrt ||v||, |a| = sqrt ||v||: the scaling of least
||w||^2 + a^2 = 2 ||v||. Normalised, the size of w is free and costs nothing in the limit w -> 0: w is a unit vector,
and alpha and |a| are the square root each.
"""

from dataclasses import dataclass, replace

import numpy as np

from recovery.programs.architecture import RELU, Architecture
from recovery.programs.exact import ExactProgram
from recovery.programs.program import Program
from recovery.types import Array, Index, Mask

COLINEAR = 1e-7
"""Unit vectors this close are one direction."""
NEGLIGIBLE = 1e-9
"""Neurons below this fraction of the largest are rounding."""


@dataclass(frozen=True)
class Network:
    """First layer `inner` (m, d), second layer `outer` (m,), `scale` alpha (m,) or None, `skip` w_0 (d,) or None.

    architecture: its normalisation (scale is None without one), activation and features. Under normalisation before
    the ReLU, `skip_scale` is alpha times the skip connection's outer weight.
    """

    inner: Array
    outer: Array
    scale: Array | None = None
    skip: Array | None = None
    skip_scale: float = 1.0
    architecture: Architecture = RELU

    def _activate(self, Z: Array) -> Array:
        return np.where(Z >= 0.0, Z, self.architecture.slope * Z)

    def sizes(self) -> Array:
        """Signed sizes of the neurons, (m,): a ||w||, or a alpha; splitting leaves their sum as it is."""
        if self.scale is not None:
            return self.outer * self.scale
        return self.outer * np.linalg.norm(self.inner, axis=1)

    def predict(self, X: Array, batch: Array | None = None) -> Array:
        """f(X) for X (n, d). Normalised neurons are divided by their length on `batch`, X itself if None."""
        X = self.architecture.features(X)
        batch = None if batch is None else self.architecture.features(batch)
        Z = X @ self.inner.T
        coefficients = self.outer
        if self.scale is not None:
            own = Z if batch is None else batch @ self.inner.T
            # a neuron that is zero on the batch has no length: it stays zero
            length = np.linalg.norm(own if self.architecture.normalizes_before else self._activate(own), axis=0)
            coefficients = np.divide(self.outer * self.scale, length, out=np.zeros_like(length), where=length > 0)
        values = self._activate(Z) @ coefficients
        if self.skip is None:
            return values
        linear = X @ self.skip
        if self.architecture.normalizes_before:
            length = float(np.linalg.norm(linear if batch is None else batch @ self.skip))
            linear = linear * (self.skip_scale / length if length > 0 else 0.0)
        return values + linear

    def penalty(self) -> float:
        """R / 2 at the scaling of least norm: what the exact program calls sum ||w_g||.

        1/2 (||W||^2 + ||a||^2), or 1/2 (||alpha||^2 + ||a||^2) with W -> 0 where it is normalised; a skip connection
        w_0 = w c counts ||w_0||, the least of (||w||^2 + c^2) / 2.
        """
        first = np.square(self.inner).sum() if self.scale is None else np.square(self.scale).sum()
        value = 0.5 * float(first + np.square(self.outer).sum())
        if self.skip is None:
            return value
        return value + (
            abs(self.skip_scale) if self.architecture.normalizes_before else float(np.linalg.norm(self.skip))
        )

    def objective(self, X: Array, y: Array, beta: float | None) -> float:
        """The training objective 1/2 ||f - y||^2 + beta R / 2, or R / 2 where the network interpolates."""
        if beta is None:
            return self.penalty()
        residual = self.predict(X) - y
        return 0.5 * float(residual @ residual) + beta * self.penalty()


def network_of(program: Program, V: Array, architecture: Architecture) -> Network:
    """The network of base weights V (2 p, r): one neuron for each signed group that is not negligible."""
    groups = program.groups
    norms = program.norms(V)
    chosen = np.flatnonzero(norms > NEGLIGIBLE * norms.max(initial=0.0))
    chosen = chosen[chosen > 0] if groups.linear else chosen
    # ||w||^2 + a^2 with ||w|| |a| given is least where both are equal
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


def weights_of(program: ExactProgram, network: Network, X: Array) -> Array:
    """Base weights V (2 p, r) of a network, neurons of one signed group added up.

    Raises `KeyError` where a neuron's pattern on X is not among the program's.
    """
    groups, p = program.groups, program.groups.count
    first = int(groups.linear)
    F = network.architecture.features(X)
    # from the last to the first, so that the first of equal patterns counts
    keys = {groups.patterns[:, g].tobytes(): g for g in range(p - 1, first - 1, -1)}
    V = np.zeros((2 * p, groups.rank))
    for w, size in zip(network.inner, network.sizes(), strict=True):
        pattern: Mask = F @ w >= 0
        k = keys[pattern.tobytes()] + (0 if size > 0 else p)
        v = (groups.coordinates @ w)[None, :]
        V[k] += (abs(size) * v / np.linalg.norm(program.coordinates(v, np.array([k])), axis=1))[0]
    if network.skip is not None:
        v = groups.coordinates @ network.skip
        V[0] = v * network.skip_scale / np.linalg.norm(v) if network.architecture.normalizes_before and v.any() else v
    return V


def merge(network: Network) -> Network:
    """The network with neurons of one direction and one sign made one, and neurons of size zero left out."""
    sizes, length = network.sizes(), np.linalg.norm(network.inner, axis=1)
    chosen = np.flatnonzero((np.abs(sizes) > NEGLIGIBLE * np.abs(sizes).max(initial=0.0)) & (length > 0))
    directions = network.inner[chosen] / length[chosen, None]
    sizes = sizes[chosen]
    # splitting a neuron along its direction changes neither f nor the sum of sizes (Appendix A): undo it
    total, representatives = [], []
    left = np.ones(len(chosen), dtype=np.bool_)
    for i in range(len(chosen)):
        if left[i]:
            same = left & (np.sign(sizes) == np.sign(sizes[i])) & _close(directions, directions[i])
            left &= ~same
            total.append(float(sizes[same].sum()))
            # the sum of (w.x)_+ over one direction is one neuron, its size the sum: weighted by size, small ones turn
            # it little
            mean = np.abs(sizes[same]) @ directions[same]
            representatives.append(mean / np.linalg.norm(mean))
    size = np.array(total)
    inner = np.array(representatives).reshape(len(size), network.inner.shape[1])
    root = np.sqrt(np.abs(size))
    if network.scale is None:
        return replace(network, inner=inner * root[:, None], outer=np.sign(size) * root)
    return replace(network, inner=inner, outer=np.sign(size) * root, scale=root)


def same_network(first: Network, second: Network, tolerance: float = 1e-6) -> bool:
    """Whether two networks agree up to permutation and splitting, each part within `tolerance` of the largest size."""
    one, other = merge(first), merge(second)
    if len(one.outer) != len(other.outer) or (one.skip is None) != (other.skip is None):
        return False
    a, b = _parts(one), _parts(other)
    limit = tolerance * max(float(np.abs(a).max(initial=0.0)), float(np.abs(b).max(initial=0.0)))
    free: Index = np.arange(len(b))
    for part, sign in zip(a, np.sign(one.outer), strict=True):
        # a part of the other sign is no match, however near
        distance = np.linalg.norm(b[free] - part, axis=1) + np.where(np.sign(other.outer[free]) == sign, 0.0, np.inf)
        if not len(free) or distance.min() > limit:
            return False
        free = np.delete(free, int(np.argmin(distance)))
    if one.skip is None or other.skip is None:
        return True
    difference = float(np.linalg.norm(_linear(one) - _linear(other)))
    return difference <= tolerance * max(float(np.linalg.norm(_linear(one))), limit / tolerance, 1e-300)


def _parts(network: Network) -> Array:
    """|size| times direction, a row a neuron."""
    return network.inner * (np.abs(network.sizes()) / np.linalg.norm(network.inner, axis=1))[:, None]


def _linear(network: Network) -> Array:
    assert network.skip is not None
    if not network.architecture.normalizes_before or not network.skip.any():
        return network.skip
    return network.skip * (network.skip_scale / float(np.linalg.norm(network.skip)))


def _close(directions: Array, direction: Array) -> Mask:
    return np.asarray(np.linalg.norm(directions - direction, axis=1) <= COLINEAR)


def _raw(program: Program, V: Array) -> Array:
    """Weights on the raw data, (k, d), of base weights (k, r): the least ones with coordinates @ w = v."""
    coordinates = program.groups.coordinates
    if coordinates.shape[0] == coordinates.shape[1] and (coordinates == np.eye(len(coordinates))).all():
        return V
    return V @ np.linalg.pinv(coordinates).T
