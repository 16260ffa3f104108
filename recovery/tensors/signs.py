"""Signs of units that are known up to sign: which of the 2^m choices leaves the linear part that was found.

A unit of the wrong sign leaves a linear function, a (-z)_+ = a z_+ - a z, and no moment of order 2 or more tells.
"""

import numpy as np
import scipy
from flint import fmpz_mat

from recovery.types import Array, Mask

MOST_ENUMERATED = 24
"""Signs of so many units are decided over all 2^m choices, as pairs of 2^{m/2} sums: some 0.1 s at 24."""
DECISIVE = 3.0
"""The best choice of signs is sure when every other one leaves this many times as much."""
ROUNDING = 1e-10
"""What is below this share of the numbers that are added up is rounding."""
UNIT = 1024
"""Lattices are of whole numbers: 1 is so many, so that rounding moves a sum of 60 entries by less than 0.1."""
FINEST, COARSEST = 40, 8
"""Accuracies 2^{-bits} of the sums, the finest first: with one below their noise, no short vector shows the signs."""


def signs(W: Array, b: Array, a: Array, v: Array, c: float) -> tuple[Mask, bool]:
    """Which units have the wrong sign, given the linear part v.x + c beyond them, and whether no other choice does.

    Wrong signs leave v.x + c = -sum_{wrong} a_i (w_i.x + b_i): the nearest of the 2^m sums, and the second nearest,
    which is as near where signs are ambiguous (P4, Claim 4.8). Independent weights determine the signs (P4,
    Algorithm 3, which asks for the sign of a number that is Phi(b_i) or Phi(b_i) - 1: for b_i << 0 it lies next to 0).
    Dependent ones with general b and a do as well.
    """
    A, target = a[:, None] * np.column_stack([W, b]), -np.append(v, c)
    if len(A) <= MOST_ENUMERATED:
        return _enumerated(A, target)
    # relaxed to shares in [0, 1]: exact for independent weights, whose shares are unique
    wrong = scipy.optimize.lsq_linear(A.T, target, (0.0, 1.0), method="bvls").x > 0.5
    if np.linalg.matrix_rank(A) == len(A):
        return wrong, True
    short = _shortest(A, target)
    return (wrong, False) if short is None else (short, True)


def _enumerated(A: Array, target: Array) -> tuple[Mask, bool]:
    """Meet in the middle: two lists of 2^{m/2} sums and a nearest-neighbour search, not 2^m sums."""
    half = (len(A) + 1) // 2
    (left, first), (right, second) = _subsets(A[:half]), _subsets(A[half:])
    neighbours = scipy.spatial.KDTree(first).query(target - second, k=range(1, 1 + min(2, len(first))))
    distances, nearest = np.asarray(neighbours[0]), np.asarray(neighbours[1])
    best, runner_up = (*np.sort(distances, axis=None), np.inf)[:2]
    row, column = np.unravel_index(np.argmin(distances), distances.shape)
    wrong = np.concatenate([left[nearest[row, column]], right[row]])
    return wrong, bool(runner_up > DECISIVE * best + ROUNDING * np.abs(A).sum())


def _subsets(A: Array) -> tuple[Mask, Array]:
    """All subsets of the rows of A (m, p), shape (2^m, m), and their sums, (2^m, p)."""
    chosen = (np.arange(2 ** len(A))[:, None] >> np.arange(len(A))) % 2 == 1
    return chosen, chosen @ A


def _shortest(A: Array, target: Array) -> Mask | None:
    """The rows of A (m, p) whose sum is the target (p,), proved to be the only such choice; None where that fails.

    With s_i = +-1 for rows that are in the sum or not, sum_i s_i A_i = 2 target - sum_i A_i: (s, 1) and the accuracy
    times what is left of this equation is one short vector of a lattice (Lagarias and Odlyzko 1985), which its LLL
    basis begins with. Another choice that leaves little is a short vector too, and not a multiple of the first; but no
    such vector is shorter than the least of the other Gram-Schmidt norms.
    """
    m, size = len(A), float(np.linalg.norm(A))
    equations = np.vstack([A, A.sum(axis=0) - 2.0 * target]) / size
    for bits in range(FINEST, COARSEST, -2):
        accuracy = 2.0**bits
        lattice = np.hstack([UNIT * np.eye(m + 1), np.rint(UNIT * accuracy * equations)]).astype(np.int64)
        reduced = fmpz_mat(lattice.tolist()).lll().tolist()
        basis = np.array([[int(entry) for entry in row] for row in reduced], dtype=float) / UNIT
        s = basis[0, : m + 1] * basis[0, m]
        if not np.all(np.abs(s) == 1.0):
            continue
        wrong: Mask = s[:m] > 0
        left = 2.0 * float(np.linalg.norm(wrong @ A - target)) / size
        others = np.sqrt(m + 1 + (accuracy * max(DECISIVE * left, ROUNDING) + m / UNIT * np.sqrt(A.shape[1])) ** 2)
        norms = np.abs(np.diag(np.linalg.qr(basis.T)[1]))
        if norms[1:].min() > float(np.linalg.norm(basis[0])) + others:
            return wrong
    return None
