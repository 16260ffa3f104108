"""The maximal condition, necessary for (NIC-1), and the sufficient condition of Proposition 22."""

from dataclasses import dataclass

import numpy as np

from recovery.instances.all_ones import decide_all_ones
from recovery.programs.orthonormal import RANK_TOLERANCE
from recovery.types import Array, Mask

EIGEN_TOLERANCE = 1e-8
"""Largest `eigen_gap` that is tried: an angle of w to the eigenvector of about 1e-4, which a bound has to allow for."""
EPS = float(np.finfo(float).eps)


def is_maximal(X: Array, pattern: Mask) -> bool:
    """Decide whether D = `pattern` is maximal among all patterns of X, exactly.

    It is if no h has x.h > 0 on the active rows and on one more: Proposition 24 with open conditions. Rows of zeros are
    ignored.
    """
    active = X[pattern & X.any(axis=1)]
    return not any(decide_all_ones(np.vstack([active, x])).exists for x in X[~pattern & X.any(axis=1)])


@dataclass(frozen=True)
class SufficientCondition:
    """The three assumptions of Proposition 22, which together imply (NIC-1), and the bound that proves it.

    eigen_gap: 1 - ||X^T D X w|| / (||X^T D X|| ||w||), 0 when w is a leading eigenvector; smallest_activation:
    min x.w / ||w|| over the active rows. value: a bound on (NIC-1) over all patterns, which allows for rounding and for
    the angle of w to the eigenvector. aligned: whether that angle is 0 up to rounding.
    """

    maximal: bool
    eigen_gap: float
    smallest_activation: float
    value: float = np.inf
    aligned: bool = False

    @property
    def holds(self) -> bool | None:
        """Whether the assumptions hold and imply (NIC-1); None where rounding decides."""
        if not self.maximal or self.eigen_gap > EIGEN_TOLERANCE or self.smallest_activation <= 0:
            return False
        return True if self.value < 1 else None if self.aligned else False


def sufficient_condition(X: Array, w: Array) -> SufficientCondition:
    """Check Proposition 22 for the planted ReLU neuron w, over all patterns of X. Source: P1, Appendix J.

    With G = X^T D X, ||w|| = 1, mu = w.G w, rho = G w - mu w and a pattern j that misses the active row k, the matrix
    G_j = X^T D_j D X <= G - x_k x_k^T satisfies
        mu ||G_j G^-1 w|| = ||G_j w - G_j G^-1 rho|| <= sqrt(||G|| (mu - (x_k.w)^2)) + sqrt(||G||) ||D X G^-1 rho||.
    """
    X, w = X[X.any(axis=1)], w / np.linalg.norm(w)
    pattern: Mask = X @ w >= 0
    rows = X[pattern]
    if rows.shape[0] == 0:
        return SufficientCondition(False, 1.0, 0.0)
    # divide by the largest entry, so that squares of tiny entries do not underflow and squares of huge entries do not
    # overflow. The gap and the bound, computed from ratios, are the same
    unit = float(np.abs(rows).max())
    rows = rows / unit
    image = rows.T @ (rows @ w)
    _, s, Vt = np.linalg.svd(rows, full_matrices=len(rows) < len(w))
    largest, smallest = float(s[0]), float(s[-1]) if len(s) == len(w) else 0.0
    gap, least = 1.0 - float(np.linalg.norm(image)) / largest**2, float((rows @ w).min())
    maximal, mu = is_maximal(X, pattern), float(w @ image)
    if not maximal or smallest <= RANK_TOLERANCE * largest:
        return SufficientCondition(maximal, gap, unit * least)
    error = EPS * sum(rows.shape) * largest**2
    rho = Vt @ (image - mu * w)
    turned = (float(np.linalg.norm(rho / s)) + error / smallest) / (1 - 4 * EPS * len(w) * largest / smallest)
    shorter = max(mu - least * max(least - 2 * EPS * len(w) * largest, 0.0), 0.0)
    value = (largest * np.sqrt(shorter) + largest * turned + error) / (mu - error) if mu > error else np.inf
    return SufficientCondition(maximal, gap, unit * least, float(value), float(np.linalg.norm(rho)) <= 4 * error)
