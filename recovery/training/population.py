"""The loss of P2 over x ~ N(0, I_d), in closed form: f(x) = V^T (W x)_+ against A x.

With t_ij the angle of w_i and w_j (P2, equations (6) to (8), any k and r),
L = (1/4pi) sum_ij <v_i, v_j> ||w_i|| ||w_j|| (sin t_ij + (pi - t_ij) cos t_ij) - 1/2 tr(V^T W A^T) + 1/2 tr(A A^T).
"""

import numpy as np
import scipy

from recovery.training.models import Parameters
from recovery.types import Array


def angles(W: Array) -> tuple[Array, Array, Array]:
    """Return norms (k,), unit rows (k, d) and pairwise angles (k, k) of the rows of W.

    The angle is 2 atan2(|u - v|, |u + v|). It is accurate near pi, where gradient descent ends and arccos loses half
    of the digits. The unit row of a zero row is zero.
    """
    norms = np.linalg.norm(W, axis=1)
    units = np.divide(W, norms[:, None], out=np.zeros_like(W), where=norms[:, None] > 0)
    return (
        norms,
        units,
        2.0 * np.arctan2(scipy.spatial.distance.cdist(units, units), scipy.spatial.distance.cdist(units, -units)),
    )


class Population:
    """The population loss for the target matrix A (r, d), as a function of a `relu` network's parameters."""

    def __init__(self, A: Array) -> None:
        self.A = A

    def __call__(self, parameters: Parameters, gradient: Parameters) -> float:
        """Return the loss at `parameters` and write its gradient into `gradient`.

        grad_{w_i} = (1/2pi) sum_j <v_i, v_j> ||w_j|| (sin t_ij w_i/||w_i|| + (pi - t_ij) w_j/||w_j||) - 1/2 A^T v_i,
        grad_{v_i} = sum_j F_ij v_j - 1/2 A w_i, F_ij = (1/2pi) ||w_i|| ||w_j|| (sin t_ij + (pi - t_ij) cos t_ij).
        """
        W, V, A = parameters["W"], parameters["V"], self.A
        norms, units, t = angles(W)
        sine, rest = np.sin(t), np.pi - t
        F = np.outer(norms, norms) * (sine + rest * np.cos(t)) / (2.0 * np.pi)
        inner = V @ V.T
        target = V @ A
        loss = 0.5 * float(np.vdot(inner, F)) - 0.5 * float(np.vdot(target, W)) + 0.5 * float(np.vdot(A, A))
        gradient["W"][...] = (((inner * sine) @ norms)[:, None] * units + (inner * rest) @ W) / (
            2.0 * np.pi
        ) - 0.5 * target
        gradient["V"][...] = F @ V - 0.5 * W @ A.T
        return loss


def correlation(angle: Array, ratio: Array, constant: float = 0.3) -> Array:
    """Return min over a of <W - W*, grad L> - c ||W - W*||_F^2, divided by ||w_1||^2, for v = (1, -1), W* = [a, -a].

    The minimum is over all a with ||w_1 + w_2|| <= ||a||/2; `angle` is between w_1 and w_2, `ratio` is
    ||w_2||/||w_1||. If it is non-negative for c = 0.3, gradient descent contracts (P2, Lemma 4 and Figure 6).
    """
    c, sine, cosine = constant, np.sin(angle), np.cos(angle)
    own = (0.5 - c) * (1.0 + ratio**2) - ((np.pi - angle) * cosine + sine) / np.pi * ratio
    first = (3.0 * np.pi - sine * ratio - angle) / (2.0 * np.pi) - 2.0 * c
    second = -(3.0 * np.pi - sine / ratio - angle) / (2.0 * np.pi) + 2.0 * c
    slope = np.sqrt(np.maximum(first**2 + (second * ratio) ** 2 + 2.0 * first * second * ratio * cosine, 0.0))
    smallest = 2.0 * np.sqrt(np.maximum(1.0 + ratio**2 + 2.0 * ratio * cosine, 0.0))
    size = np.maximum(slope / (2.0 * (1.0 - 2.0 * c)), smallest)
    return own - slope * size + (1.0 - 2.0 * c) * size**2


def landscape(grid: Array) -> Array:
    """Return L at w_i = alpha_i a, v = (1, -1), ||a|| = 1: entry [i, j] has alpha = (grid[i], grid[j]) (P2, Fig. 1).

    The angle of two neurons is 0 or pi, and their term vanishes if it is pi.
    """
    first, second = grid[:, None], grid
    return (first**2 + second**2) / 4.0 - np.maximum(first * second, 0.0) / 2.0 - (first - second) / 2.0 + 0.5
