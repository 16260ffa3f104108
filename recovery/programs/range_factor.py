"""One factor of a matrix, Cholesky's or singular values, for its range, its rank and least-norm solutions."""

from functools import cached_property

import numpy as np
import scipy

from recovery.types import Array

WELL_CONDITIONED = 1e-8
"""Reciprocal condition number of A^T A up to which singular values of A are used instead of its Cholesky factor."""
RANK_TOLERANCE = 1e-10
"""Singular values below this fraction of the largest count as zero; for rows of an orthonormal base, those below this
number, because the largest is at most 1."""


def gram_factor(gram: Array) -> tuple[Array, float] | None:
    """Return the Cholesky factor of a Gram matrix, and an estimate of its least eigenvalue, from below in most cases.

    None if the matrix is ill-conditioned.
    """
    size = float(np.abs(gram).sum(axis=0).max(initial=0.0))
    factor, failed = scipy.linalg.lapack.dpotrf(gram) if size else (gram, 1)
    reciprocal = 0.0 if failed else float(scipy.linalg.lapack.dpocon(factor, size)[0])
    return (factor, reciprocal * size) if reciprocal > WELL_CONDITIONED else None


class RangeFactor:
    """A factor of A (n, m). smallest: an estimate of its least non-zero singular value, infinite without one.

    rank: the number of singular values that do not count as zero. conditioned: whether a Cholesky factor is accurate
    enough.
    """

    def __init__(self, A: Array) -> None:
        self.A = A
        found = gram_factor(A.T @ A) if A.size else None
        self._cholesky, self.conditioned = None if found is None else found[0], found is not None
        if found is not None:
            self.smallest, self.rank = float(np.sqrt(found[1])), A.shape[1]
        else:
            s = self._singular[1]
            self.smallest, self.rank = float(s.min(initial=np.inf)), len(s)

    @cached_property
    def _singular(self) -> tuple[Array, Array, Array]:
        """The singular value decomposition A = P s Q^T: P, s and Q^T without the singular values that count as zero."""
        if not self.A.size:  # LAPACK rejects matrices without columns
            return np.empty((len(self.A), 0)), np.empty(0), np.empty((0, self.A.shape[1]))
        P, s, Qt = np.linalg.svd(self.A, full_matrices=False)
        keep = s > RANK_TOLERANCE * s[0]
        return P[:, keep], s[keep], Qt[keep]

    @cached_property
    def frame(self) -> Array:
        """An orthonormal basis of the range of A, (n, rank)."""
        if self._cholesky is None:
            return self._singular[0]
        frame: Array = scipy.linalg.qr(self.A, mode="economic", check_finite=False)[0]
        return frame

    def least_norm(self, u: Array) -> Array:
        """Return the least lam (n,) with A^T lam = u (m,), or with A^T lam nearest to u if A has dependent columns."""
        lam = self._lift(u)
        # refine once: the Gram matrix has the condition number of A squared, and small singular values amplify rounding
        return lam + self._lift(u - self.A.T @ lam)

    def _lift(self, u: Array) -> Array:
        if self._cholesky is not None:
            return np.asarray(self.A @ scipy.linalg.lapack.dpotrs(self._cholesky, u)[0])
        P, s, Qt = self._singular
        return np.asarray(P @ ((Qt @ u) / s))
