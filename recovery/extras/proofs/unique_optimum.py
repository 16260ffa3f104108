"""Prove that planted weights are the unique optimum of a program, from an approximate dual.

With S the planted groups, M = [A_g, g in S] and u their unit weights, any lam0 gives
    lam = lam0 + M (M^T M)^{-1} (u - M^T lam0),
which satisfies M^T lam = u exactly. In ball arithmetic: if M^T M is invertible and ||A_g^T lam|| < 1 for every other
group, the planted weights are the unique interpolant of least norm of the labels A W*, because any interpolant has
sum ||w_g|| >= lam.A W*, with equality only on S along u, and M has full column rank. In the exact program, a group
outside S must stay below 1 on its cone only: ||A_g^T lam + X^T (2 D_g - I) mu|| < 1 for some mu >= 0. Source: P1,
Proposition 2 and its proof.
"""

from collections.abc import Callable

import numpy as np
from flint import arb

from recovery.conditions.balls import Unproved, largest, middle
from recovery.conditions.exact_dual import corrected
from recovery.conditions.exact_model import Balls, Model, proved
from recovery.types import Array

Multipliers = Callable[[Array, list[int], list[int]], Array]
"""(lam, groups, signs) -> non-negative multipliers (k, n) of the cones of these signed groups, approximately
optimal."""


@proved
def prove_unique(balls: Balls, lam: Array, multipliers: Multipliers | None = None) -> float:
    """Return an upper bound below 1 on the dual norms off the planted groups. Raises `Unproved`.

    multipliers: for the exact program; None for the gated one.
    """
    model = balls.model
    if multipliers is not None:
        balls.check_cones()
        check_signs(model)
    dual = corrected(balls, lam)
    others = model.others()
    squares = dict(zip(others, balls.dual_squares(others, [balls.gated(g, dual) for g in others]), strict=True))
    open_ = [(g, sign) for g in others if not squares[g] < 1 for sign in (1, -1)]
    if multipliers is None and open_:
        raise Unproved(f"a dual norm is {_root(squares[open_[0][0]])}, not below 1")
    worst = largest(square for square in squares.values() if square < 1)
    if multipliers is not None:
        free = [g for g, _ in open_ if model.linear and g == 0]
        if free:
            raise Unproved(f"the dual norm of the skip connection is {_root(squares[0])}, not below 1")
        opposite = [(g, -model.sign(g)) for g in model.neuron_groups]
        worst = max(worst, _below_on_cones(balls, dual, open_ + opposite, multipliers))
    return float(np.sqrt(worst))


def check_signs(model: Model) -> None:
    """Check that neurons of a planted group share a sign, as the exact program separates the signs. Raises
    `Unproved`.
    """
    for g in set(model.owner):
        own = {sign for sign, owner in zip(model.signs.tolist(), model.owner, strict=True) if owner == g}
        if len(own) > 1 and not (model.linear and g == 0):
            raise Unproved("two planted neurons of opposite signs share a pattern")


def _root(square: arb) -> str:
    return square.sqrt().str(8, radius=False)


def _below_on_cones(balls: Balls, dual: list[arb], signed: list[tuple[int, int]], multipliers: Multipliers) -> float:
    """Return the largest squared bound over signed groups, all below 1 by multipliers. Raises `Unproved`."""
    if not signed:
        return 0.0
    groups, signs = [g for g, _ in signed], [s for _, s in signed]
    nonnegative = np.maximum(multipliers(middle(dual), groups, signs), 0.0)
    squares = []
    for g, sign, mu in zip(groups, signs, nonnegative.tolist(), strict=True):
        try:
            [square] = balls.dual_squares([g], [balls.on_cone(g, sign, dual, mu)])
        except Unproved:
            # only multipliers on active rows are allowed here: cancel negative entries of the gated dual
            gated = [sign * a for a in balls.gated(g, dual)]
            [square] = balls.dual_squares([g], [[arb(0) if a < 0 else a for a in gated]])
        if not square < 1:
            raise Unproved(f"the bound for the cone of pattern {g} is {_root(square)}, not below 1")
        squares.append(square)
    return largest(squares)
