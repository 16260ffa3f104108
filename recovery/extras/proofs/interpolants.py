"""Prove that planted weights are not optimal, or not uniquely, with an interpolant of lower or equal cost.

An approximate interpolant W becomes an exact one of the labels A W*: with M the operators of its groups and
    delta = M^T (M M^T)^{-1} (A W* - A W)   (on a set of rows that spans those of M),
W + delta interpolates exactly, in ball arithmetic, and its sum of norms can be compared with W*'s.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb, arb_mat

from recovery.conditions.balls import Unproved, beside, column, largest, length, middle, nearest_solution
from recovery.conditions.exact_model import Balls, Model, proved
from recovery.conditions.ties import exact_signs, reaches, twins
from recovery.programs.integers import gated_integers, independent_columns_of
from recovery.programs.program import Program
from recovery.types import Array, Index

Parts = dict[tuple[int, int], list[arb]]
"""(group, sign) -> weight on the features."""


@dataclass(frozen=True)
class Weight:
    """A raw weight w (d,) of group g, with the sign with which it enters (always +1 in the gated program)."""

    group: int
    sign: int
    w: Array


def raw_weights(program: Program, W: Array) -> Sequence[Weight]:
    """Return the nonzero rows of W as weights on the features."""
    groups = program.groups
    chosen: Index = np.flatnonzero(W.any(axis=1))
    V = W[chosen] if program.has_cones else groups.base_weights(W[chosen], chosen)
    raw = V @ np.linalg.pinv(groups.coordinates).T
    return [Weight(int(k) % groups.count, 1 if k < groups.count else -1, w) for k, w in zip(chosen, raw, strict=True)]


@proved
def prove_cheaper(
    balls: Balls, weights: Sequence[Weight], exact: bool, confined: Collection[int] = frozenset()
) -> float:
    """Bound sum ||w_g|| / sum ||w*_g|| below 1 for an exact interpolant w near `weights`. Raises `Unproved`.

    confined: groups of the exact program whose weights must be in the row space of D_g X (P1, (16)).
    """
    parts = {(one.group, one.sign): balls.allowed(one.group, one.w, confined) for one in weights}
    interpolant = interpolating(balls, None, parts, () if exact else balls.model.support)
    if exact:
        balls.check_cones()
        for (g, _), w in interpolant.items():
            balls.check_cone(g, w, "the other interpolant leaves the cone of a pattern")
    total = sum((length(balls.square(g, w)) for (g, _), w in interpolant.items()), arb(0))
    reference = balls.cost(exact)
    if not reference > 0:
        raise Unproved("the planted weights are zero: nothing costs less")
    ratio = total / reference
    if not ratio < 1:
        raise Unproved(f"the other interpolant has {ratio.str(8, radius=False)} times the planted sum of norms")
    return largest([ratio])


def missing_labels(balls: Balls, labels: Sequence[arb], parts: Parts) -> list[arb]:
    """Return the labels minus F(W): the part of the labels that the weights do not produce."""
    missing = list(labels)
    for (g, sign), w in parts.items():
        missing = [m - sign * a for m, a in zip(missing, balls.gated(g, balls.images(w)), strict=True)]
    return missing


def interpolating(balls: Balls, labels: Sequence[arb] | None, parts: Parts, others: Iterable[int]) -> Parts:
    """Return the weights with the least change of a few groups, or of all, after which they have exactly these labels.

    labels: None for those of the planted weights. A group changes in the larger of its copies. others: groups that may
    change, too. The change is in the row space of its group, whether this is confined or not. Raises `Unproved`.
    """
    missing = missing_labels(balls, balls.labels() if labels is None else labels, parts)
    if all(m.is_zero() for m in missing):
        return parts
    live = balls.model.X.any(axis=1)
    if any(not missing[i].is_zero() for i in np.flatnonzero(~live)):
        raise Unproved("a row of zeros has a label that is not zero: there is no interpolant")
    rows, d = [int(i) for i in np.flatnonzero(live)], balls.model.X.shape[1]
    larger: dict[int, int] = {}
    for g, sign in sorted(parts, key=lambda key: -float(np.linalg.norm(middle(parts[key])))):
        larger.setdefault(g, sign)
    groups = [*larger, *(g for g in others if g not in larger)]
    sizes = 1 + 2 * -(-len(rows) // d), len(groups) if labels is None else len(larger), len(groups)
    attempts = [(groups[:size], rows) for size in dict.fromkeys(sizes)]
    if labels is None and set(balls.model.support) <= set(groups):
        # the labels are in the range of the operators, so it is enough to solve for rows that span all rows
        attempts.append((groups, []))
    for chosen, solved in attempts:
        try:
            change = least_weights(balls, chosen, solved or _spanning_rows(balls, chosen), missing)
        except Unproved:
            if not solved:
                raise
            continue
        zero, moved = [arb(0)] * d, dict(parts)
        for g, delta in change.items():
            key = g, larger.get(g, 1)
            moved[key] = [a + key[1] * e for a, e in zip(parts.get(key, zero), delta, strict=True)]
        return moved
    if labels is None:
        raise Unproved("the groups of the other interpolant cannot correct its rounding errors")
    raise Unproved("the rows of the data are dependent: the residual of the weights cannot be removed")


def _spanning_rows(balls: Balls, groups: list[int]) -> list[int]:
    """Return rows that span all rows of the operators of these groups."""
    model = balls.model
    rows = gated_integers(model.X, model.patterns[:, groups], float(model.architecture.slope))
    return [int(i) for i in independent_columns_of(list(zip(*rows, strict=True)))]


def least_weights(balls: Balls, groups: list[int], rows: list[int], missing: list[arb]) -> dict[int, list[arb]]:
    """Return the least-norm weights of the groups that map to the missing labels of these rows. Raises `Unproved`."""
    d = balls.model.X.shape[1]
    operators = beside(balls.operator(g, np.arange(d)) for g in groups)
    N = arb_mat([operators[i] for i in rows])
    wanted, nothing = column(missing[i] for i in rows), arb_mat(N.ncols(), 1)
    step = nearest_solution(N, wanted, nothing, "the rows of the other interpolant").entries()
    return {g: step[k * d : (k + 1) * d] for k, g in enumerate(groups)}


def prove_duplicate(model: Model, exact: bool) -> float:
    """Prove that another group has the image of a planted neuron at the same norm, by exact signs. Raises `Unproved`.

    Moving weight from one to the other changes neither labels nor norms; returns 1, the ratio of the norms.
    """
    live, architecture = model.X.any(axis=1), model.architecture
    reason = "no group is known to have the image of a planted neuron at the same norm"
    for w, own in zip(model.neurons.T, model.owner, strict=True):
        if own in model.cancelled and not exact:
            continue
        signs, alone = exact_signs(model.X, w), model.owner.count(own) == 1
        if not (signs[architecture.measured(model.patterns[:, own])] if architecture.normalized else w).any():
            reason = "a planted neuron has norm 0: no weight can be moved to another group"
            continue
        for g in twins(model.X, model.patterns, w, own, alone=alone, free=True):
            sides = np.where(model.patterns[:, g], signs, -signs)[live]
            # w or -w is in the cone of the group; the skip connection has no cone
            if not exact or (model.linear and g == 0) or (sides >= 0).all() or (sides <= 0).all():
                return 1.0
            reason = "the planted weight is in no cone of the group with its operator"
        # normalised neurons with equal images have equal norms
        after = alone and architecture.normalizes_after
        if after and reaches(model.X, model.patterns, w, own, cones=exact):
            return 1.0
    raise Unproved(reason)
