"""The maximal condition, necessary for (NIC-1), and the sufficient condition of Proposition 22."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from recovery.types import Array, Mask

STRICT = 1e-9
"""Coefficients of unit rows below this count as zero: the tolerance of the linear programs."""
EIGEN_TOLERANCE = 1e-8
"""Largest `eigen_gap` that counts as 0. It grows with the square of the angle of w to the eigenvector: this allows an
angle of about 1e-4."""


def contained_in(pattern: Mask, patterns: Mask) -> int | None:
    """Return the index j of a column D_j of patterns (n, p) with D_j != D = `pattern` and D D_j = D, or None.

    If one exists, D is not maximal (P1, Definition 7) and (NIC-1) fails: by Lemma 9,
    ||X^T D_j D X (X^T D X)^{-1} w|| = ||w||.
    """
    covers = (patterns | ~pattern[:, None]).all(axis=0) & (patterns != pattern[:, None]).any(axis=0)
    covering = np.flatnonzero(covers)
    return int(covering[0]) if covering.size else None


def is_maximal(X: Array, pattern: Mask) -> bool:
    """Decide whether D = `pattern` is maximal among all patterns of X, by Proposition 24.

    With K+ the cone of the active rows and K- the cone of the others, D is maximal if and only if -K- without 0 lies in
    the interior of K+: the active rows span R^d, and each inactive row is -X_+^T c for some c > 0. This costs one
    linear program per inactive row. Rows of zeros are ignored.
    """
    live = X.any(axis=1)
    pattern, X = pattern[live], X[live] / np.linalg.norm(X[live], axis=1, keepdims=True)
    active, rest = X[pattern], X[~pattern]
    if len(rest) and np.linalg.matrix_rank(active) < X.shape[1]:
        return False
    return all(_inside(active, -x) for x in rest)


def _inside(active: Array, x: Array) -> bool:
    """Return whether x (d,) is active^T c for some c > 0: max t for active^T (s + t) = x, s >= 0, t <= 1 is above 0."""
    m = len(active)
    # c = s + t 1 with s >= 0, so every coefficient of c is at least t. The limit t <= 1 keeps the linear program
    # bounded
    result: Any = scipy.optimize.linprog(
        np.append(np.zeros(m), -1.0),
        A_eq=np.column_stack([active.T, active.sum(axis=0)]),
        b_eq=x,
        bounds=[(0.0, None)] * m + [(None, 1.0)],
    )
    return bool(result.status == 0 and -result.fun > STRICT)


@dataclass(frozen=True)
class SufficientCondition:
    """The three assumptions of Proposition 22, which together imply (NIC-1).

    eigen_gap: 1 - ||X^T D X w|| / (||X^T D X|| ||w||), 0 when w is a leading eigenvector; smallest_activation:
    min x.w / ||w|| over the active rows.
    """

    maximal: bool
    eigen_gap: float
    smallest_activation: float

    @property
    def holds(self) -> bool:
        return self.maximal and self.eigen_gap <= EIGEN_TOLERANCE and self.smallest_activation > 0


def sufficient_condition(X: Array, w: Array) -> SufficientCondition:
    """Check Proposition 22 for the planted ReLU neuron w, over all patterns of X. Source: P1, Appendix J."""
    X, w = X[X.any(axis=1)], w / np.linalg.norm(w)
    pattern: Mask = X @ w >= 0
    rows = X[pattern]
    if rows.shape[0] == 0:
        return SufficientCondition(False, 1.0, 0.0)
    gram = rows.T @ rows
    # divide by the largest entry, so that squares of tiny entries do not underflow and squares of huge entries do not
    # overflow. The gap, computed from a ratio of norms, is the same
    gram /= np.abs(gram).max()
    gap = 1.0 - float(np.linalg.norm(gram @ w) / np.linalg.norm(gram, 2))
    return SufficientCondition(is_maximal(X, pattern), gap, float((rows @ w).min()))
