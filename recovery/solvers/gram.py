"""The n x n matrix of an interior point's equations: sum_g D_g B M_g^{-1} B^T D_g over signed groups.

Both signs of a pattern share its rows, so that one factor C C^T of the sum of their inverses serves, and
(C^T B^T)^T (C^T B^T) touches the rows of the pattern only.
"""

import numpy as np
import scipy

from recovery.programs.groups import Groups
from recovery.programs.projection_sums import add_block
from recovery.types import Array, Index

DENSE = 20
"""Ranks up to which the Gram matrix is summed over all rows: below it scattered additions cost more (measured)."""
CHUNK = 2**19
"""Numbers in a block of it: 4 MiB."""


class Gram:
    """For signed groups of the groups `own` (k,), with the signs `signed` (k, n) of their outputs."""

    def __init__(self, groups: Groups, own: Index, signed: Array) -> None:
        self._columns, self._signed = np.ascontiguousarray(groups.base.T), signed
        self._dense = groups.rank <= DENSE or groups.slope != 0.0
        self._copies = [np.flatnonzero(own == g) for g in np.unique(own)]
        self._rows = [np.flatnonzero(groups.patterns[:, own[copies[0]]]) for copies in self._copies]

    def of(self, factors: Array) -> tuple[Array, Array]:
        """Every L^{-T} of M = L L^T, and the upper triangle of sum_g D B M^{-1} B^T D."""
        r, n = self._columns.shape
        U = np.empty_like(factors)
        for inverse, factor in zip(U, factors, strict=True):
            inverse[:] = scipy.linalg.lapack.dtrtri(factor.T)[0]
        if self._dense:
            K = np.zeros((n, n), order="F")
            size = max(1, CHUNK // (n * r))
            for start in range(0, len(U), size):
                part = slice(start, start + size)
                Z = np.matmul(U[part].transpose(0, 2, 1), self._columns)
                Z *= self._signed[part, None, :]
                scipy.linalg.blas.dsyrk(1.0, Z.reshape(-1, n).T, beta=1.0, c=K, overwrite_c=1)
            return U, K
        inverses = np.matmul(U, U.transpose(0, 2, 1))
        both = cholesky(np.array([inverses[copies].sum(axis=0) for copies in self._copies]))  # signs share their rows
        K = np.zeros((n, n))
        for factor, rows in zip(both, self._rows, strict=True):
            Z = self._columns.take(rows, axis=1, mode="clip")
            scipy.linalg.blas.dtrmm(1.0, factor.T, Z.T, side=1, lower=0, trans_a=1, overwrite_b=1)
            add_block(K, rows, scipy.linalg.blas.dsyrk(1.0, Z.T, lower=1).T, 1.0)
        return U, K


def cholesky(M: Array) -> Array:
    """Lower factors of matrices (k, r, r), of which the lower triangles are read; shifted where one is not definite."""
    try:
        return np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        r = M.shape[1]
        M[:, np.arange(r), np.arange(r)] += 1e-12 * np.trace(M, axis1=1, axis2=2)[:, None]
        return np.linalg.cholesky(M)
