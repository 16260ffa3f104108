"""Prove that planted weights are not optimal, or not uniquely, with an interpolant of lower or equal cost.

An approximate interpolant W becomes an exact one of the labels A W*: with M the operators of its groups and
    delta = M^T (M M^T)^{-1} (A W* - A W)   (on a set of rows that spans those of M),
W + delta interpolates exactly, in ball arithmetic, and its sum of norms can be compared with W*'s.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb, arb_mat

from recovery.conditions.ties import reaching_weights
from recovery.extras.proofs.balls import (
    Unproved,
    beside,
    column,
    dot,
    independent_columns_of,
    largest,
    length,
    middle,
    nearest_solution,
)
from recovery.extras.proofs.exact_model import Balls, proved
from recovery.instances.arrangements import integer_rows
from recovery.types import Array, Mask


@dataclass(frozen=True)
class Weight:
    """A raw weight w (d,) of group g, with the sign with which it enters (always +1 in the gated program)."""

    group: int
    sign: int
    w: Array


@proved
def prove_cheaper(
    balls: Balls, weights: Sequence[Weight], exact: bool, confined: Collection[int] = frozenset()
) -> float:
    """Bound sum ||w_g|| / sum ||w*_g|| below 1 for an exact interpolant w near `weights`. Raises `Unproved`.

    confined: groups of the exact program whose weights must be in the row space of D_g X (P1, (16)).
    """
    interpolant = _interpolant(balls, weights, () if exact else balls.model.support, confined)
    if exact:
        balls.check_cones()
        for part, w in interpolant:
            balls.check_cone(part.group, w, "the other interpolant leaves the cone of a pattern")
    total = sum((length(balls.square(part.group, w)) for part, w in interpolant), arb(0))
    reference = balls.cost(exact)
    if not reference > 0:
        raise Unproved("the planted weights are zero: nothing costs less")
    ratio = total / reference
    if not ratio < 1:
        raise Unproved(f"the other interpolant has {ratio.str(8, radius=False)} times the planted sum of norms")
    return largest([ratio])


def _interpolant(
    balls: Balls, weights: Sequence[Weight], also: Sequence[int], confined: Collection[int]
) -> list[tuple[Weight, list[arb]]]:
    """Return `weights`, and zero weights of the groups `also`, moved to interpolate A W* exactly."""
    d = balls.model.X.shape[1]
    known = {part.group for part in weights}
    parts = [*(Weight(g, 1, np.zeros(d)) for g in also if g not in known), *weights]
    parts.sort(key=lambda part: -float(np.linalg.norm(part.w)))
    # the correction of a group goes to the larger of its copies
    first = {part.group: part for part in reversed(parts)}
    start = [
        balls.in_row_space(part.group, part.w) if part.group in confined else [arb(a) for a in part.w.tolist()]
        for part in parts
    ]
    missing = balls.labels()
    for part, w in zip(parts, start, strict=True):
        missing = [m - part.sign * a for m, a in zip(missing, balls.gated(part.group, balls.images(w)), strict=True)]
    if all(m.is_zero() for m in missing):
        return list(zip(parts, start, strict=True))
    # the least change of a group is in the row space of its operator, whether confined or not
    delta = _least_change(balls, list(dict.fromkeys(part.group for part in parts)), missing)
    return [
        (part, [a + part.sign * e for a, e in zip(w, delta[part.group], strict=True)])
        if first[part.group] is part and part.group in delta
        else (part, w)
        for part, w in zip(parts, start, strict=True)
    ]


def _least_change(balls: Balls, groups: list[int], missing: list[arb]) -> dict[int, list[arb]]:
    """Return weights of the first few groups, or of all, whose images are exactly the missing labels.

    If the planted groups are among them, the missing labels are in the range of their operators, so it is enough to
    solve for rows that span all rows.
    """
    live = [int(i) for i in np.flatnonzero(balls.model.X.any(axis=1))]
    # if all rows are zero, every weight has image zero
    if not live:
        return {}
    d = balls.model.X.shape[1]
    few = groups[: 1 + 2 * -(-len(live) // d)]
    attempts = [(few, live), (groups, live)]
    for chosen, rows in attempts:
        try:
            return least_weights(balls, chosen, rows, missing)
        except Unproved:
            continue
    if not set(balls.model.support) <= set(groups):
        raise Unproved("the groups of the other interpolant cannot correct its rounding errors")
    # D_g is num / den on inactive rows; the column is multiplied by den, which changes no rank
    num, den = float(balls.model.architecture.slope).as_integer_ratio()
    columns = [
        [a * (den if active else num) for a, active in zip(entries, balls.model.patterns[:, g].tolist(), strict=True)]
        for g in groups
        for entries in integer_rows(balls.model.X.T)
    ]
    return least_weights(balls, groups, [int(i) for i in independent_columns_of(columns)], missing)


def least_weights(balls: Balls, groups: list[int], rows: list[int], missing: list[arb]) -> dict[int, list[arb]]:
    """Return the least-norm weights of the groups that map to the missing labels of these rows. Raises `Unproved`."""
    d = balls.model.X.shape[1]
    operators = beside(balls.operator(g, np.arange(d)) for g in groups)
    N = arb_mat([operators[i] for i in rows])
    wanted, nothing = column(missing[i] for i in rows), arb_mat(N.ncols(), 1)
    step = nearest_solution(N, wanted, nothing, "the rows of the other interpolant").entries()
    return {g: step[k * d : (k + 1) * d] for k, g in enumerate(groups)}


@proved
def prove_duplicate(balls: Balls, exact: bool) -> float:
    """Prove that another group has the image of a planted neuron at the same norm. Raises `Unproved`.

    Moving weight from one to the other changes neither labels nor norms; returns 1, the ratio of the norms.
    """
    model = balls.model
    live = model.X.any(axis=1)
    reason = "no group is known to have the image of a planted neuron at the same norm"
    for w, own in zip(model.neurons.T.tolist(), model.owner, strict=True):
        if own in model.cancelled and not exact:
            continue
        neuron = [arb(a) for a in w]
        images = balls.images(neuron)
        if not balls.square(own, neuron) > 0:
            reason = "a planted neuron has norm 0: no weight can be moved to another group"
            continue
        # if neurons share the group, its weight is a sum, which may be non-zero on rows where one neuron is zero
        alone = model.owner.count(own) == 1
        zero = np.array([alone and z.is_zero() for z in images])
        same = (model.patterns == model.patterns[:, own, None]) | (zero | ~live)[:, None]
        for g in np.setdiff1d(np.flatnonzero(same.all(axis=0)), own):
            try:
                if exact:
                    _check_either_cone(balls, int(g), neuron)
                return 1.0
            except Unproved as unproved:
                reason = str(unproved)
        if alone and model.architecture.normalizes_after and _is_reached(balls, own, images, exact):
            return 1.0
    raise Unproved(reason)


def _is_reached(balls: Balls, own: int, images: list[arb], exact: bool) -> bool:
    """Return whether a group active on the rows of `own` and on more, all independent, has the image of the neuron w.

    If it has, the cost is the same.

    images: X w. The group's weights v solve D_g X v = D X w; the exact program also requires X v <= 0 on other rows.
    """
    model, wanted = balls.model, balls.gated(own, images)
    inside = np.flatnonzero(~np.any(model.patterns[:, own, None] & ~model.patterns, axis=0))
    for g in np.setdiff1d(inside, [own]):
        rows = model.patterns[:, g] & model.X.any(axis=1)
        if rows.sum() <= model.X.shape[1] and _has_weights(balls, rows, wanted, exact):
            return True
    return False


def _has_weights(balls: Balls, active: Mask, wanted: list[arb], exact: bool) -> bool:
    """Return whether some v has X v = wanted on the independent rows `active`, and if `exact` X v < 0 on the others."""
    X = balls.model.X
    rows, beside = np.flatnonzero(active), X.any(axis=1) & ~active
    start: Array | None = np.zeros(X.shape[1])
    if exact:
        start = reaching_weights(X, active, beside, middle(wanted))
    if start is None:
        return False
    B = arb_mat([balls.rows[i] for i in rows])
    begin = column(arb(a) for a in start.tolist())
    try:
        v = nearest_solution(B, column(wanted[i] for i in rows), begin, "the rows of a pattern")
    except Unproved:
        return False
    return not exact or all(dot(balls.rows[i], v.entries()) < 0 for i in np.flatnonzero(beside))


def _check_either_cone(balls: Balls, g: int, w: list[arb]) -> None:
    """Check that w or -w is a neuron of the group; the skip connection has no cone. Raises `Unproved`."""
    for sign in (1, -1):
        try:
            balls.check_cone(g, [sign * a for a in w], "")
            return
        except Unproved:
            continue
    raise Unproved("the planted weight is in no cone of the group with its operator")
