"""Values, losses and exact gradients of many sparse two-layer ReLU networks at once (P3, equation (10)).

All networks have r neurons and the same X (n, p), so that one matrix product computes all of them. Neuron j of network
i is one row (w_j, b_j, a_j) of theta (B r, p + 2); f_i(x) = sum_j a_j (w_j . x + b_j)_+.
"""

import numpy as np
import scipy

from recovery.programs.relu_network import ReluNetwork
from recovery.types import Array, Rng


def distance(first: ReluNetwork, second: ReluNetwork) -> float:
    """Return D_2 of P3, (25) and (26): the distance of (W, b) at outer weights +-1, after the best permutation.

    The smaller network is padded with zero neurons. Neurons of different signs have the distance
    (||w||^2 + ||w'||^2)^{1/2}, as if neither had a partner.
    """
    (P, p), (Q, q) = ((np.column_stack([f.W, f.b]) * np.abs(f.a)[:, None], np.sign(f.a)) for f in (first, second))
    alone = np.sum(P**2, axis=1)[:, None] + np.sum(Q**2, axis=1)
    cost = np.where(p[:, None] == q, scipy.spatial.distance.cdist(P, Q, "sqeuclidean"), alone)
    rows, columns = scipy.optimize.linear_sum_assignment(cost - alone)
    left = np.sum(np.delete(P, rows, axis=0) ** 2) + np.sum(np.delete(Q, columns, axis=0) ** 2)
    return float(np.sqrt(cost[rows, columns].sum() + left))


def initialize(
    rng: Rng,
    networks: int,
    neurons: int,
    p: int,
    dtype: type[np.floating] = np.float32,
    signs: bool = False,
    scale: float = 1.0,
) -> Array:
    """Draw the rows (w, b, a) of theta: w, b uniform within +-1/sqrt(p), a within +-1/sqrt(neurons), all independent.

    signs: a is instead +1 or -1 with probability 1/2 each. scale: a factor on w and b, and on a without `signs`. P3
    does not state its initialisation; the uniform laws are the defaults of PyTorch, which it cites.
    """
    theta = scale * rng.uniform(-1.0, 1.0, (networks * neurons, p + 2))
    theta[:, :-1] /= np.sqrt(p)
    theta[:, -1] = np.where(theta[:, -1] < 0, -1.0, 1.0) if signs else theta[:, -1] / np.sqrt(neurons)
    return theta.astype(dtype)


def network(theta: Array, i: int, neurons: int) -> ReluNetwork:
    """Return network i of theta, which has this number of neurons per network, as a float64 copy."""
    rows = theta[i * neurons : (i + 1) * neurons].astype(np.float64)
    return ReluNetwork(rows[:, :-2], rows[:, -2], rows[:, -1])


class Networks:
    """Mean squared errors of B networks of r neurons on one data set, and their gradients, in preallocated memory.

    X (n, p), y (n,). The ReLU has derivative 0 at 0.
    """

    def __init__(self, X: Array, y: Array, networks: int, neurons: int, dtype: type[np.floating] = np.float32) -> None:
        n, p = X.shape
        self.shape = (networks, neurons, n)
        self.rows = np.ones((n, p + 1), dtype)  # the last column is of ones, for the bias
        self.columns, self.y = np.empty((p + 1, n), dtype), np.empty(n, dtype)
        self.load(X, y)
        self.Z = np.empty((networks * neurons, n), dtype)
        self.active = np.empty((networks * neurons, n), np.bool_)
        self.residual = np.empty((networks, 1, n), dtype)

    def load(self, X: Array, y: Array) -> None:
        """Replace the data by other rows, as many as before."""
        self.rows[:, :-1], self.y[:] = X, y
        self.columns[:] = self.rows.T

    def errors(self, theta: Array) -> Array:
        """Return (1/n) ||f_i(X) - y||^2 for each network i, shape (B,)."""
        B, r, n = self.shape
        np.matmul(theta[:, :-1], self.columns, out=self.Z)
        np.greater(self.Z, 0.0, out=self.active)
        self.Z *= self.active  # multiplying by the mask takes half the time of np.maximum
        np.matmul(theta[:, -1].reshape(B, 1, r), self.Z.reshape(B, r, n), out=self.residual)
        self.residual -= self.y
        return np.einsum("bij,bij->b", self.residual, self.residual) / n

    def gradient(self, theta: Array, out: Array) -> Array:
        """Return the errors, and write the gradient of each network's error into its rows of `out`.

        With R = (2/n) (f_i(X) - y): da = Z R, dw = a o (1[Z > 0] o R) X, and db likewise.
        """
        B, r, n = self.shape
        errors = self.errors(theta)
        self.residual *= 2.0 / n
        out[:, -1] = np.matmul(self.Z.reshape(B, r, n), self.residual.reshape(B, n, 1)).ravel()
        G = self.Z  # Z is overwritten, because two buffers of this size do not fit into the cache
        np.multiply(self.active.reshape(B, r, n), self.residual, out=G.reshape(B, r, n))
        np.matmul(G, self.rows, out=out[:, :-1])
        out[:, :-1] *= theta[:, -1:]
        return errors
