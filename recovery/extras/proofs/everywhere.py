"""Prove that planted weights are the unique optimum of the exact program over all activation patterns.

With lam such that M^T lam = u exactly (`unique_optimum`) and sigma = 1, -1, every unplanted neuron v must satisfy
    f(v) = sigma lam.act(X v) = sum_i t_i (x_i.v)_+ + c.v < ||v||,   t = sigma (1 - slope) lam, c = sigma slope X^T lam.
`bound_tree` bounds f_float, whose coefficients are floats: t_i x_i = scale (B^T up_i) + a rest whose length balls
bound. With `lost`, the sum of all rests over scale, any v of length 1 satisfies
    f(v) <= scale (||B|| max {f_float(w): ||w|| <= 1} + lost),
where ||B||^2 <= 1 + ||B B^T - I||_F. On the planted cell of a group g, the linear functional of the floats is within
scale lost of u_g, so f(v) <= u_g.v + 2 scale lost: below 1 where ||v - u_g|| > k, k^2 = 4 scale lost (1 + 2^-10).
Within that distance no row changes sign if |x_i.u_g| > k ||x_i|| for all rows; then f(v) = u_g.v, which is 1 only at
v = u_g. Lengths are those of the architecture; if it normalises before the ReLU, rows of X L^-T with X^T X = L L^T
have these lengths.
"""

from functools import cached_property

import numpy as np
from flint import arb, arb_mat

from recovery.conditions.balls import Unproved, at_rising_precision, cholesky, dot, largest, length, matrix, middle
from recovery.conditions.exact_dual import corrected
from recovery.conditions.exact_model import Balls, Model
from recovery.conditions.oracle import Turned, turn
from recovery.extras.proofs.bound_tree import prove_bound
from recovery.extras.proofs.unique_optimum import check_signs
from recovery.types import Array, Mask


def prove_unique_everywhere(model: Model, lam: Array, nodes: int) -> float:
    """Return an upper bound below 1 on the dual norms of all neurons off the planted cells, and of an unplanted skip
    connection.

    nodes: limit of cones per sign. Not for neurons normalised after the ReLU. Raises `Unproved`.
    """
    return max(_bound(model, lam, sign, nodes) for sign in (1, -1))


def _bound(model: Model, lam: Array, sign: int, nodes: int) -> float:
    own = model.planted_patterns(sign)
    turned = at_rising_precision(lambda: _Problem(Balls(model), lam, sign).floats())
    steepest = 0.0 if turned is None else prove_bound(turned, turned.cells(own), turned.floor(1.0), nodes)
    return at_rising_precision(lambda: _Problem(Balls(model), lam, sign).bound(turned, steepest, own))


class DualSums:
    """The rows and weights of f, for a dual moved such that M^T lam = u exactly, in ball arithmetic; sign: sigma."""

    def __init__(self, balls: Balls, lam: Array, sign: int = 1) -> None:
        self.balls, self.sign = balls, sign
        self.dual = corrected(balls, lam)

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
        """t (n,), the weights of the rows in f."""
        return [self.sign * (1 - arb(self.balls.model.architecture.slope)) * a for a in self.dual]

    @cached_property
    def linear(self) -> list[arb]:
        """c (d,), the linear part of f."""
        slope = self.sign * arb(self.balls.model.architecture.slope)
        return [slope * dot(column, self.dual) for column in zip(*self.rows, strict=True)]

    def skip(self) -> arb:
        """Return the dual norm of a skip connection that is not planted, otherwise 0."""
        if not self.balls.model.linear or 0 in self.balls.model.support:
            return arb(0)
        return length(self.balls.dual_squares([0], [self.dual])[0])


class _Problem(DualSums):
    """The function f of the module for one sign, in ball arithmetic."""

    def __init__(self, balls: Balls, lam: Array, sign: int) -> None:
        balls.check_cones()
        check_signs(balls.model)
        super().__init__(balls, lam, sign)

    def floats(self) -> Turned | None:
        return turn(np.array([*map(middle, self.rows)]), middle(self.weights), middle(self.linear))

    def bound(self, turned: Turned | None, steepest: float, own: Mask) -> float:
        """Bound f off the planted cells, and the skip connection, from above by a bound on f_float. Raises `Unproved`
        unless below 1."""
        value = self.skip()
        if turned is not None:
            lost = self._lost(turned)
            B = matrix(turned.basis)
            rest = B * B.transpose() - matrix(np.eye(len(turned.basis)))
            stretch = (1 + length(dot(rest.entries(), rest.entries()))).sqrt()
            value = arb(max(largest([value]), largest([arb(turned.scale) * (stretch * arb(steepest) + lost)])))
            self._check_own(arb(turned.scale) * lost, own)
        if not value < 1:
            raise Unproved(f"the bound on the dual norm over all patterns is {value.str(8, radius=False)}, not below 1")
        return largest([value])

    def _lost(self, turned: Turned) -> arb:
        """Return the sum of the lengths of the rests that floats do not represent, divided by scale."""
        B, scale = matrix(turned.basis), arb(turned.scale)
        n, d = len(self.rows), len(self.linear)
        floats = np.zeros((n + 1, len(turned.basis)))
        floats[:n][turned.rising], floats[:n][turned.falling], floats[n] = turned.up, -turned.down, turned.c
        float_rows = (matrix(floats) * B).tolist()
        total = arb(0)
        for i, t in enumerate([*self.weights, None]):
            true = self.linear if t is None else [t * a for a in self.rows[i]]
            rest = [true[j] / scale - float_rows[i][j] for j in range(d)]
            total += length(dot(rest, rest))
        return total

    def _check_own(self, lost: arb, own: Mask) -> None:
        """Check that no row changes sign near a planted neuron. Raises `Unproved`."""
        balls, model = self.balls, self.balls.model
        near = 4 * lost * (1 + arb(2) ** -10)
        weights = balls.weights()
        for g in model.neuron_groups:
            if not (model.patterns[:, g, None] == own).all(axis=0).any():
                continue
            z, square = balls.images(weights[g]), balls.square(g, weights[g])
            for i in np.flatnonzero(model.X.any(axis=1)):
                if not z[i] * z[i] > near * square * dot(self.rows[i], self.rows[i]):
                    raise Unproved(f"a planted neuron is too close to the hyperplane of row {i + 1}")
