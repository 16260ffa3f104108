"""ReLU networks with biases, f(x) = sum_i a_i (w_i.x + b_i)_+, and exact distances between them for x ~ N(0, I)
(P4).
"""

from dataclasses import dataclass

import numpy as np
import scipy

from recovery.types import Array

TINY = 1e-150
"""Replaces zero where Owen's T needs the sign of a limit; its square does not underflow."""

FLAT = 1e-40
"""Weight given to a constant unit: far below rounding, and the square of its bias over this does not overflow."""


MOST_FLIPPED = 16
"""Largest number of units whose sets are all examined; one unit more doubles the number of sets."""


@dataclass(frozen=True)
class ReluNetwork:
    """A ReLU network of one output: weights W (m, d), biases b (m,), outer weights a (m,)."""

    W: Array
    b: Array
    a: Array

    def __call__(self, X: Array) -> Array:
        """Return f(X) for X (n, d); shape (n,)."""
        return np.maximum(X @ self.W.T + self.b, 0.0) @ self.a

    def unit(self) -> "ReluNetwork":
        """Return the same function with ||w_i|| = 1: a (w.x + b)_+ = a ||w|| ((w.x + b) / ||w||)_+.

        A zero row is a constant unit: its weight becomes `FLAT` times the first unit vector, equal up to rounding.
        """
        norms = np.linalg.norm(self.W, axis=1)
        flat = norms == 0
        W = np.where(flat[:, None], np.eye(1, self.W.shape[1]), self.W / np.where(flat, 1.0, norms)[:, None])
        norms = np.where(flat, FLAT, norms)
        return ReluNetwork(W, self.b / norms, self.a * norms)

    def __add__(self, other: "ReluNetwork") -> "ReluNetwork":
        return ReluNetwork(
            np.vstack([self.W, other.W]), np.concatenate([self.b, other.b]), np.concatenate([self.a, other.a])
        )

    def __neg__(self) -> "ReluNetwork":
        return ReluNetwork(self.W, self.b, -self.a)

    def flip_margin(self) -> float | None:
        """Return the least ||sum_S a_i (w_i, b_i)|| over non-empty sets S of units; None for more than 16 units.

        At 0 all units of S can change their signs, because a z_+ - a (-z)_+ = a z: the function and the norms of the
        weights stay the same, so neither P3's Theorem 1 nor its Corollary 2 can hold. Rounding: about 1e-16 sum |a_i|.
        """
        if not 0 < len(self.a) <= MOST_FLIPPED:
            return None
        # in an orthonormal basis of the units there are at most 16 coordinates
        units = np.asarray(np.linalg.qr((self.a[:, None] * np.column_stack([self.W, self.b])).T, mode="r")).T
        sums = np.zeros((1, units.shape[1]))
        for unit in units:
            sums = np.vstack([sums, sums + unit])
        return float(np.linalg.norm(sums[1:], axis=1).min())

    def square_norm(self) -> float:
        """Return E[f(x)^2] for x ~ N(0, I), in closed form; rounding errors are about 1e-16 sum |a_i a_j|."""
        unit = self.unit()
        return max(0.0, float(unit.a @ relu_products(unit.W, unit.b) @ unit.a))


def affine(v: Array, c: float) -> ReluNetwork:
    """Return v.x + c as two units, z_+ - (-z)_+ (P4, Claim D.14)."""
    return ReluNetwork(np.vstack([v, -v]), np.array([c, -c]), np.array([1.0, -1.0]))


def relu_products(W: Array, b: Array) -> Array:
    """Return E[(w_i.x + b_i)_+ (w_j.x + b_j)_+] for unit rows of W (m, d) and x ~ N(0, I); shape (m, m).

    With r = w_i.w_j, s = sqrt(1 - r^2) and L = P(w_i.x > -b_i, w_j.x > -b_j):
    (b_i b_j + r) L + b_i phi(b_j) Phi((b_i - r b_j)/s) + b_j phi(b_i) Phi((b_j - r b_i)/s) + s^2 phi_2(b_i, b_j; r),
    the integral of L over r (Price's theorem). L is computed with Owen's T function.
    """
    near = np.linalg.norm(W[:, None, :] - W[None, :, :], axis=2)
    far = np.linalg.norm(W[:, None, :] + W[None, :, :], axis=2)
    # the distances |w_i - w_j| and |w_i + w_j| give s = sqrt(1 - r^2) as half of their product, which keeps its digits
    # for nearly parallel rows
    r, s = np.clip(W @ W.T, -1.0, 1.0), np.maximum(0.5 * near * far, TINY)
    h, k = np.broadcast_arrays(np.where(b == 0, TINY, b)[:, None], np.where(b == 0, TINY, b)[None, :])
    # back is k - r h. For r near +-1 the terms would cancel, so 1 - r = near^2 / 2 or 1 + r = far^2 / 2 is used instead
    # of r
    back = np.where(r > 0, (k - h) + 0.5 * near**2 * h, (k + h) - 0.5 * far**2 * h)
    across = back.T
    with np.errstate(over="ignore"):
        # P(Z_1 < h, Z_2 < k) by Owen's T (Owen 1956), minus 1/2 if h and k have opposite signs
        both = (
            0.5 * (scipy.special.ndtr(h) + scipy.special.ndtr(k))
            - scipy.special.owens_t(h, back / (h * s))
            - scipy.special.owens_t(k, across / (k * s))
            - 0.5 * (h * k < 0)
        )
        density = np.exp(-0.5 * (h * h + (back / s) ** 2)) / (2.0 * np.pi)
    phi = np.exp(-0.5 * b * b) / np.sqrt(2.0 * np.pi)
    inner = h * phi[None, :] * scipy.special.ndtr(across / s) + k * phi[:, None] * scipy.special.ndtr(back / s)
    return (h * k + r) * both + inner + s * density


def function_error(estimate: ReluNetwork, planted: ReluNetwork) -> float:
    """Return ||estimate - planted|| / ||planted|| in L2 for x ~ N(0, I), in closed form; accurate to about 1e-8."""
    return float(np.sqrt((estimate + -planted).square_norm() / planted.square_norm()))


def parameter_error(estimate: ReluNetwork, planted: ReluNetwork, up_to_sign: bool = False) -> float | None:
    """Return the largest ||(w_i, b_i, a_i) - (w_j, b_j, a_j)|| after the best permutation, at ||w|| = 1.

    Returns None if the numbers of units differ. With `up_to_sign`, (w, b) and (-w, -b) count as equal.
    """
    if len(estimate.a) != len(planted.a):
        return None
    left, right = estimate.unit(), planted.unit()

    def cost(sign: float) -> Array:
        rows = np.column_stack([sign * left.W, sign * left.b, left.a])
        columns = np.column_stack([right.W, right.b, right.a])
        return np.sum((rows[:, None, :] - columns[None, :, :]) ** 2, axis=2)

    costs = np.minimum(cost(1.0), cost(-1.0)) if up_to_sign else cost(1.0)
    return float(np.sqrt(costs[scipy.optimize.linear_sum_assignment(costs)].max()))
