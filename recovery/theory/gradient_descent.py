"""Gradient descent on a linear target by two ReLU neurons: the convergence rate of P2 and its constants.

For v = (1, -1), W* = [a, -a] and ||w_1 + w_2|| <= ||a||/2 the population loss has
    <W - W*, grad L(W)> >= alpha ||W - W*||_F^2      (Lemma 4, alpha = 0.3),
    ||grad L(W)||_F <= beta ||W - W*||_F             (Lemma 5, beta^2 = 5/2),
and ||w_1 + w_2|| never grows for mu <= 1 (Lemma 3), so that each step multiplies ||W - W*||_F^2 by at most
1 - 2 mu alpha + mu^2 beta^2 <= 1 - mu alpha for mu <= alpha/beta^2. Theorem 1 calls alpha c_2 and alpha/beta^2 c_1; its
proof has their values. Theorem 6 applies it to r pairs of neurons, one pair per output.
"""

import numpy as np
from numpy.typing import ArrayLike

from recovery.types import Array

CORRELATION = 0.3
"""alpha of Lemma 4, c_2 of Theorem 1."""
SMOOTHNESS = np.sqrt(5 / 2)
"""beta of Lemma 5, for the population loss."""
LARGEST_RATE = CORRELATION / SMOOTHNESS**2
"""c_1 of Theorem 1: 0.12."""


def theorem1(epochs: ArrayLike, rate: ArrayLike, v1: ArrayLike = 1.0, v2: ArrayLike = 1.0) -> Array:
    """Return a bound on ||W_tau - W*||_F / ||W_0 - W*||_F after `epochs` steps of size `rate` scaled by diag(v)^{-2}.

    sqrt(max(v1^2, v2^2) / min(v1^2, v2^2) (1 - 0.3 mu)^tau), for any start, however far from W*, with
    || |v1| w_1 + |v2| w_2 || <= ||a||/2; NaN for rates above 0.12, which the theorem does not cover. Source: P2,
    Theorems 1 and 6, appendix F.1.
    """
    rate = np.asarray(rate, dtype=np.float64)
    v1, v2 = np.square(v1), np.square(v2)
    square = np.maximum(v1, v2) / np.minimum(v1, v2) * (1 - CORRELATION * rate) ** np.asarray(epochs, dtype=np.float64)
    return np.where((rate > 0) & (rate <= LARGEST_RATE * (1 + 1e-12)), np.sqrt(square), np.nan)


def theorem1_error(center: ArrayLike, outputs: ArrayLike, epochs: ArrayLike, rate: ArrayLike) -> Array:
    """Return `theorem1` times ||W_0 - W*||_F for r = `outputs` targets e_1..e_r and neurons that start at `center` e_1.

    Outer weights: norm 1. NaN if 2 |center| = ||w_1 + w_2|| > 1/2, or r > 1, center != 0. Source: P2, Theorems 1, 6.
    """
    center, outputs = np.asarray(center, dtype=np.float64), np.asarray(outputs, dtype=np.float64)
    covered = np.where(outputs == 1, np.abs(center) <= 0.25, center == 0)
    return np.where(covered, np.sqrt(2 * outputs + 2 * center**2), np.nan) * theorem1(epochs, rate)
