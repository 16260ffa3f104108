"""Prove the hypotheses of the theorems of `recovery.methods.theorems` for the rational numbers that floats are.

X^T X = I holds up to rounding only. With G = X^T X and ||G - I|| <= e, the dual lam = X G^{-1} w / ||w|| has
X^T lam = w / ||w|| exactly. A pattern that is inactive on a non-zero row k has
    ||X^T D lam||^2 <= ||G|| (||lam||^2 - lam_k^2) <= (1 + e) (1 / (1 - e) - lam_k^2),
which must be below 1. Neurons normalised before the ReLU need no such bound: in their length the columns are
orthonormal.
"""

import numpy as np
from flint import arb

from recovery.conditions.balls import Unproved, column, dot, largest, length, matrix, solve
from recovery.conditions.exact_model import Balls, Model, proved
from recovery.conditions.ties import exact_signs
from recovery.instances.all_ones import AllOnes
from recovery.instances.hulls import separate
from recovery.programs.integers import exact_rank, integer_rows


@proved
def prove_linear_unique(balls: Balls, all_ones: AllOnes | None) -> float:
    """Prove one linear neuron the unique optimum over all patterns; return a bound below 1 on the other dual norms.

    all_ones: the proved decision (`prove_all_ones`) that there is no all-ones pattern, for the gated program; None for
    the exact one. The bound is on patterns with an inactive row. Raises `Unproved`.
    """
    model = balls.model
    if model.architecture.slope or model.architecture.normalizes_after or not model.linear:
        raise Unproved("the theorem about a linear neuron does not cover this architecture")
    [w] = balls.weights().values()
    live = np.flatnonzero(model.X.any(axis=1))
    if model.architecture.normalizes_before:
        z, square, error = balls.images(w), balls.square(0, w), arb(0)
    else:
        gram = balls.metric(np.arange(model.X.shape[1]))
        solved = solve(gram, column(w), "the columns of the data")
        entries = (gram - matrix(np.eye(gram.nrows()))).entries()
        z, square, error = (balls.X * solved).entries(), dot(w, w), length(dot(entries, entries))
    if not error < 1:
        raise Unproved("the columns of the data are not orthonormal")
    bounds = [(1 + error) * (1 / (1 - error) - z[k] ** 2 / square) for k in live]
    if not all(bound < 1 for bound in bounds):
        raise Unproved("a row is orthogonal to the planted neuron up to rounding")
    if _is_shared(model, all_ones):
        raise Unproved("the all-ones pattern shares the cost of the planted neuron")
    return float(np.sqrt(largest(bounds)))


def _is_shared(model: Model, all_ones: AllOnes | None) -> bool:
    """Return whether the all-ones pattern shares the cost: it exists, or w or -w is in its cone off the hyperplanes."""
    if all_ones is not None:
        return all_ones.exists
    signs = exact_signs(model.X, model.neurons[:, 0])[model.X.any(axis=1)]
    return bool((signs > 0).all() or (signs < 0).all())


def prove_all_ones(model: Model, all_ones: AllOnes) -> bool:
    """Prove the decision whether some h has X h > 0, and return it. Raises `Unproved` if it is wrong.

    The signs of X h are exact, and integers exclude any h if there is none.
    """
    rows = model.X[model.X.any(axis=1)]
    if all_ones.direction is not None and (exact_signs(rows, all_ones.direction) > 0).all():
        return True
    weights = np.zeros(1) if all_ones.weights is None else all_ones.weights[model.X.any(axis=1)]
    start = np.flatnonzero(weights) if weights.any() else np.zeros(1, dtype=np.intp)
    exists = len(rows) > 0 and separate(rows, start)[0]
    if exists != all_ones.exists:
        raise Unproved(f"{'no ' if all_ones.exists else ''}direction has positive products with all rows")
    return exists


def prove_linear_shared(model: Model, all_ones: AllOnes | None) -> float:
    """Prove that the all-ones pattern shares the cost of one linear neuron; return 1, the ratio of the costs.

    all_ones: the proved decision that the pattern exists, for the gated program; None for the exact one. Raises
    `Unproved`.
    """
    if not _is_shared(model, all_ones):
        raise Unproved("the all-ones pattern does not share the cost of the planted neuron")
    return 1.0


def prove_normalised(model: Model, *, unique: bool) -> float:
    """Prove one normalised neuron the unique optimum over all patterns or, if not `unique`, one of several optima.

    Returns 1, the norm of the dual at the planted neuron. Raises `Unproved`.
    """
    if not model.architecture.normalizes_after or model.linear or model.neurons.shape[1] != 1:
        raise Unproved("the theorem about a normalised neuron covers one neuron, without a skip connection")
    rows = model.X[model.X.any(axis=1)]
    signs = exact_signs(rows, model.neurons[:, 0])
    if not signs.all() or not (signs > 0).any():
        raise Unproved("a row is orthogonal to the planted neuron")
    if unique != (exact_rank(integer_rows(rows[signs > 0])) == exact_rank(integer_rows(rows))):
        raise Unproved("the ranks of the active rows and of all rows say the opposite")
    return 1.0
