"""A dual of the planted groups in ball arithmetic, and margins of isometry conditions with proved signs.

With S the planted groups, M = [A_g, g in S] and u their unit weights, any lam0 gives
    lam = lam0 + M (M^T M)^{-1} (u - M^T lam0),
which satisfies M^T lam = u exactly; from 0 it is the one of least norm. The margin 1 - ||A_g^T lam|| of a group g is
exactly zero if its pattern differs from that of a planted group on rows with lam_i = 0 only; after normalisation by the
ReLU's length also the active rows of g must be independent. For one neuron all but a common factor is rational, and
rationals decide what balls leave open.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
from flint import arb, arb_mat, ctx, fmpq, fmpq_mat

from recovery.conditions.balls import (
    PRECISIONS,
    Unproved,
    at_rising_precision,
    beside,
    cholesky,
    column,
    dot,
    independent_columns,
    matrix,
    nearest_solution,
    solve,
)
from recovery.conditions.exact_model import Balls, Model
from recovery.programs.integers import exact_rank, integer_rows
from recovery.types import Array, Index, Mask

MOST_RATIONAL = 20
"""Largest number of columns for which rationals are tried."""


def corrected(balls: Balls, lam: Array) -> list[arb]:
    """Return lam moved such that M^T lam = u exactly, with M of full column rank. Raises `Unproved`."""
    model, weights = balls.model, balls.weights()
    if not model.support:
        raise Unproved("the planted weights are zero")
    blocks: list[list[list[arb]]] = []
    target: list[arb] = []
    for g in model.support:
        chosen = balls.coordinates(g)
        if len(chosen) < model.X.shape[1] and not model.architecture.normalized:
            _check_in_row_space(balls, g, len(chosen))
        blocks.append(balls.operator(g, chosen))
        # M^T lam = Q u in raw coordinates, u = w / ||w||_g: X^T z with z = X w on the rows of the metric
        norm = balls.square(g, weights[g]).sqrt()
        if not norm > 0:
            raise Unproved("a planted weight is zero up to rounding")
        target += [a / norm for a in _metric_times(balls, g, weights[g], chosen)]
    M = arb_mat(beside(blocks))
    start = column(arb(a) for a in lam.tolist())
    return nearest_solution(M.transpose(), column(target), start, "the operators of the planted groups").entries()


def _check_in_row_space(balls: Balls, g: int, rank: int) -> None:
    """Check that the planted weight of g is in the row space of D_g X, of this rank; otherwise its projection costs
    less.
    """
    model = balls.model
    if model.owner.count(g) > 1:
        raise Unproved("planted neurons share a group whose columns are dependent")
    w = model.neurons[:, model.owner.index(g)]
    if len(independent_columns(np.vstack([model.X[balls.active(g)], w]))) > rank:
        raise Unproved("a planted weight is outside the row space of its group")


def _metric_times(balls: Balls, g: int, w: list[arb], chosen: Index) -> list[arb]:
    """Return Q_g w on the chosen coordinates."""
    if not balls.model.architecture.normalized:
        return [w[j] for j in chosen]
    z = balls.images(w)
    if balls.model.architecture.normalizes_after:
        z = balls.gated(g, z)
    return [dot([row[j] for row in balls.rows], z) for j in chosen]


def exact_margins(model: Model) -> Callable[[int], float | None]:
    """Return g -> 1 - ||A_g^T lam||, rounded, for the least-norm dual lam; None where its sign is not proved."""

    @cache
    def dual(bits: int) -> tuple[Balls, list[arb]] | None:
        del bits  # the key: at each precision the dual is computed once
        try:
            balls = Balls(model)
            return balls, corrected(balls, np.zeros(len(model.X)))
        except Unproved:
            return None

    def margin(g: int) -> float | None:
        for bits in PRECISIONS:
            with ctx.workprec(bits):
                if (found := dual(bits)) is not None and (proved := _margin(*found, g)) is not None:
                    return proved
        return _rational_margin(model, g)

    return margin


def _margin(balls: Balls, dual: list[arb], g: int) -> float | None:
    """Return 1 - ||A_g^T lam||, or None if its sign is not certain."""
    model, live = balls.model, balls.model.X.any(axis=1)
    free = np.array([a.is_zero() for a in dual]) | ~live
    rows = balls.active(g)
    ties = any(((model.patterns[:, g] == model.patterns[:, s]) | free).all() for s in model.support)
    if ties and (not model.architecture.normalizes_after or len(independent_columns(model.X[rows].T)) == len(rows)):
        return 0.0
    try:
        [square] = balls.dual_squares([g], [balls.gated(g, dual)])
    except Unproved:
        return None
    margin = (1 - square) / (1 + square.sqrt())
    return float(margin.mid()) if margin > 0 or margin < 0 else None


def _rational_margin(model: Model, g: int) -> float | None:
    """Return the margin of group g from its exact square, for one planted neuron; None for more, or large data."""
    n, d = model.X.shape
    if len(model.owner) != 1 or d > MOST_RATIONAL:
        return None
    own, architecture = model.owner[0], model.architecture
    X = fmpq_mat([[fmpq(*map(int, float(a).as_integer_ratio())) for a in row] for row in model.X])
    w = fmpq_mat([[fmpq(*map(int, float(a).as_integer_ratio()))] for a in model.neurons[:, 0]])
    slope = fmpq(*map(int, float(architecture.slope).as_integer_ratio()))

    def gated(group: int, A: fmpq_mat) -> fmpq_mat:
        on, inactive = model.patterns[:, group], fmpq(0) if model.linear and group == 0 else slope
        return fmpq_mat([[A[i, j] * (fmpq(1) if on[i] else inactive) for j in range(A.ncols())] for i in range(n)])

    def metric(group: int) -> fmpq_mat | None:
        if not architecture.normalized:
            return None
        seen = gated(group, X) if architecture.normalizes_after else X
        return seen.transpose() * seen

    try:
        M, Q, image = gated(own, X), metric(own), w
        if Q is not None:
            image = Q * w
        lam = M * (M.transpose() * M).solve(image)
        b, Q_g = X.transpose() * gated(g, lam), metric(g)
        square = (b.transpose() * (b if Q_g is None else Q_g.solve(b)))[0, 0] / (w.transpose() * image)[0, 0]
    except ZeroDivisionError:
        return None
    return float((1 - square).p / (1 - square).q) / (1.0 + float(square.p / square.q) ** 0.5)


def uniform_margin(X: Array, pattern: Mask) -> float | None:
    """Return 1 - ||M||, M = X^T D X (X^T X)^{-1}, with a proved sign; None without a proof.

    The norm is below 1 if I - M M^T is positive definite, and above if some v has ||M^T v|| > ||v||. Returns 0
    (a norm of at least 1) if the inactive rows do not span all dimensions.
    """
    if exact_rank(integer_rows(X[~pattern])) < X.shape[1]:
        return 0.0

    def margin() -> float:
        rows = matrix(X)
        active = matrix(np.where(pattern[:, None], X, 0.0))
        Mt = solve(rows.transpose() * rows, active.transpose() * active, "the columns of the data")
        d = Mt.nrows()
        rest = matrix(np.eye(d)) - Mt.transpose() * Mt
        v = np.linalg.svd(np.array([[float(a.mid()) for a in row] for row in Mt.tolist()]))[2][0]
        direction = column(arb(a) for a in v.tolist())
        square = (direction.transpose() * rest * direction)[0, 0] / dot(direction.entries(), direction.entries())
        if not square < 0:
            cholesky(rest)
        return float((square / (1 + (1 - square).sqrt())).mid())

    try:
        return at_rising_precision(margin)
    except Unproved:
        return None
