"""The dual value of a neuron as a sum over rows, in ball arithmetic."""

from functools import cached_property

import numpy as np
from flint import arb, arb_mat

from recovery.conditions.balls import Unproved, cholesky, dot, length, middle
from recovery.conditions.exact_dual import corrected
from recovery.conditions.exact_model import Balls
from recovery.conditions.planes import RowSum
from recovery.extras.proofs.unique_optimum import check_signs
from recovery.types import Array, Index

ZERO = 1e-12
"""Entries of a dual whose terms are up to this, relative to the norm of all terms, are set to zero."""


def cleared(lam: Array, X: Array) -> Array:
    """Return lam with 0 where lam_i x_i is zero up to rounding, as for rows that no planted neuron sees."""
    sizes = np.abs(lam) * np.linalg.norm(X, axis=1)
    return np.where(sizes > ZERO * np.linalg.norm(sizes), lam, 0.0)


class DualSums:
    """The rows and weights of sigma lam.act(X v) = sum_i t_i (x_i.v)_+ + c.v, with M^T lam = u exactly.

    t = sigma (1 - slope) lam, c = sigma slope X^T lam; sign: sigma. Raises `Unproved`.
    """

    def __init__(self, balls: Balls, lam: Array, sign: int = 1) -> None:
        self.balls, self.sign = balls, sign
        self.dual = corrected(balls, cleared(lam, balls.model.X))

    @cached_property
    def rows(self) -> list[list[arb]]:
        """Rows of X in coordinates in which ||v|| is the architecture's length of a neuron v."""
        if not self.balls.model.architecture.normalizes_before:
            return self.balls.rows
        chosen = self.balls.base_columns
        X = arb_mat([[row[j] for j in chosen] for row in self.balls.rows])
        return cholesky(self.balls.metric(chosen)).solve(X.transpose()).transpose().tolist()

    @cached_property
    def weights(self) -> list[arb]:
        """t (n,), the weights of the rows."""
        return [self.sign * (1 - arb(self.balls.model.architecture.slope)) * a for a in self.dual]

    @cached_property
    def linear(self) -> list[arb]:
        """c (d,), the linear part."""
        slope = self.sign * arb(self.balls.model.architecture.slope)
        return [slope * dot(column, self.dual) for column in zip(*self.rows, strict=True)]

    def floats(self) -> RowSum:
        """Return the rows, weights and linear part as floats; a weight that may be 0 becomes 0."""
        weights = np.array([0.0 if t.contains(0) else float(t.mid()) for t in self.weights])
        return RowSum(np.array([*map(middle, self.rows)]), weights, middle(self.linear))

    def skip(self) -> arb:
        """Return the dual norm of a skip connection that is not planted, otherwise 0."""
        if not self.balls.model.linear or 0 in self.balls.model.support:
            return arb(0)
        return length(self.balls.dual_squares([0], [self.dual])[0])

    def terms(self, order: Index) -> tuple[list[list[arb]], arb]:
        """Return t_i x_i of the rows `order`, and the sum of the lengths of t_i x_i over all other rows."""
        terms = [[t * a for a in row] for t, row in zip(self.weights, self.rows, strict=True)]
        others = np.setdiff1d(np.arange(len(terms)), order)
        return [terms[i] for i in order], sum((length(dot(terms[i], terms[i])) for i in others), arb(0))

    def check_own(self, rest: arb) -> None:
        """Raise `Unproved` if a row changes sign within sqrt(2 rest) of a unit planted neuron; rest: of `terms`."""
        balls, model = self.balls, self.balls.model
        weights = balls.weights()
        for g in model.neuron_groups:
            z, square = balls.images(weights[g]), balls.square(g, weights[g])
            for i in np.flatnonzero(model.X.any(axis=1)):
                if not z[i] * z[i] > 2 * rest * square * dot(self.rows[i], self.rows[i]):
                    raise Unproved(f"a planted neuron is too close to the hyperplane of row {i + 1}")


def checked_sums(balls: Balls, lam: Array, sign: int) -> DualSums:
    """Return the sums of the exact program. Raises `Unproved` unless planted neurons are in cones of one sign each, and
    on no hyperplane.

    Those that are normalised after the ReLU also need active rows that determine them.
    """
    balls.check_cones()
    check_signs(balls.model)
    ranks = [len(balls.coordinates(g)) for g in balls.model.neuron_groups]
    if balls.model.architecture.normalizes_after and min(ranks) < len(balls.base_columns):
        raise Unproved("a planted neuron has too few active rows: others have its activations")
    sums = DualSums(balls, lam, sign)
    sums.check_own(arb(0))
    return sums
