"""Noisy linear recovery: Theorem 10's interval for beta.

The program is scaling * ||U w_0 + sum D_j U w_j - y||^2 + beta (||w_0|| + sum ||w_j||), y = U w~ + z, U^T U = I,
eta = ||w~||, and 1 - gamma bounds ||U^T D_j U w~|| / eta over the patterns (Theorem 10 has gamma = 1/7).
For scaling 1/2 the linear group alone is stationary at w_0 = (1 - beta/||v||) v, v = w~ + U^T z, non-zero when
beta < eta - ||z|| <= ||v||. Its residual r gives
    ||U^T D_j r|| <= ||(I - P) z + (beta/||v||) P z|| + (beta/||v||) ||U^T D_j U w~||
                  <= ||z|| + beta (1 - gamma) eta / (eta - ||z||),
which is below beta exactly when beta > ||z|| (eta - ||z||) / (gamma eta - ||z||). The paper prints these two ends, so
they hold for the program with 1/2; without it (scaling 1) both double.
"""

import numpy as np
from numpy.typing import ArrayLike

from recovery.types import Array

GAMMA = 1 / 7
"""Theorem 10's gamma: max_j ||U^T D_j U|| <= 6/7 with high probability once n >= max(4000 s^2 d log 54n, 1024 d)."""


def theorem10_interval(
    eta: ArrayLike, noise: ArrayLike, gamma: ArrayLike = GAMMA, scaling: float = 0.5
) -> tuple[Array, Array]:
    """Return (lower, upper) limits of the betas at which only the linear neuron is active; NaN if there are none.

    eta = ||S V^T w*||, noise = ||z||_2, both broadcast. The interval exists exactly when ||z|| <= gamma eta / 2 (in the
    paper, ||z|| <= eta/14). Source: P1, Theorem 10 and Proposition 21; derived above.
    """
    eta, noise, gamma = (np.asarray(a, dtype=np.float64) for a in (eta, noise, gamma))
    some = noise <= gamma * eta / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        lower = noise * (eta - noise) / (gamma * eta - noise)
    lower = np.where(some & (noise > 0), lower, np.where(some, 0.0, np.nan))
    return 2 * scaling * lower, 2 * scaling * np.where(some, eta - noise, np.nan)
