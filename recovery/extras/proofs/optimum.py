"""Prove an interval that contains the optimum of a program, from approximate weights and an approximate dual.

The stored X, y and patterns are rationals. For the program with penalty beta (interpolation: beta = 1, no residual)
    high: the objective of weights that are proved to be feasible. The least change of a few groups removes the residual
        of an interpolation. Weights of an exact program move by t h_g into their cones, with h_g inside the cone; for
        an interpolation both signs of a group move by the same t h_g, so that the labels stay;
    low: c y.lam, minus c^2 ||lam||^2 / 2 with a penalty, where c makes every dual norm of c lam at most beta. On the
        cone of a signed group, multipliers mu >= 0 of its rows bound it: the norm of sigma D_g lam + (2 D_g - I) mu.
Any weights, lam and mu give a true interval; good ones give a narrow one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from flint import arb, arb_mat

from recovery.conditions.balls import Unproved, column, dot, largest, length, solve
from recovery.conditions.exact_model import Balls, Model, proved
from recovery.extras.proofs.interpolants import Parts, Weight, interpolating, missing_labels, raw_weights
from recovery.methods.interpolant import interior_weights
from recovery.programs.architecture import Architecture
from recovery.programs.exact import ExactProgram
from recovery.programs.program import Program
from recovery.programs.solution import Solution
from recovery.types import Array

OUTSIDE = "a weight leaves the cone of its pattern"


@dataclass(frozen=True)
class ProvedOptimum:
    """A proved interval that contains the optimum: low <= optimum <= high."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """The width of the interval, relative to its high end."""
        return (self.high - self.low) / self.high if self.high > 0 else self.high - self.low

    def __str__(self) -> str:
        return f"objective in [{self.low:.12g}, {self.high:.12g}], proved"


@dataclass(frozen=True)
class ProofStart:
    """The start of a proof. beta: None for interpolation. confined: groups limited to their row space.

    weights, lam: approximate. multipliers: (group, sign) -> mu (n,). inside: group of an exact program -> a weight
    inside its cone; None for a gated program.
    """

    y: Array
    beta: float | None
    weights: Sequence[Weight]
    lam: Array
    confined: frozenset[int] = frozenset()
    multipliers: Mapping[tuple[int, int], Array] | None = None
    inside: Mapping[int, Array] | None = None


def empty_model(architecture: Architecture, X: Array, program: Program) -> Model:
    """Return the model of a program's data and patterns, without planted neurons."""
    F = architecture.features(X)
    return Model(architecture, F, program.groups.patterns, np.zeros((F.shape[1], 0)), np.zeros(0), ())


def proof_start(program: Program, solution: Solution) -> ProofStart:
    """Return the start of a proof: a solution on the features, and for cones their multipliers and inner points."""
    groups = program.groups
    weights = raw_weights(program, solution.W)
    start = ProofStart(program.y, program.beta, weights, solution.lam)
    if not isinstance(program, ExactProgram):
        return start
    _, known = program.proved_norms(solution)
    owners, signs = program.group(known.chosen).tolist(), program.sign(known.chosen).astype(int).tolist()
    raw = np.linalg.pinv(groups.coordinates).T
    inside = interior_weights(program, np.array(sorted({one.group for one in weights}), dtype=np.intp)) @ raw
    return replace(
        start,
        confined=frozenset(np.flatnonzero(groups.narrowed).tolist()),
        multipliers=dict(zip(zip(owners, signs, strict=True), known.values, strict=True)),
        inside={int(g): inside[g] for g in np.flatnonzero(inside.any(axis=1))},
    )


@proved
def prove_optimum(balls: Balls, given: ProofStart) -> ProvedOptimum:
    """Return an interval that contains the optimum. Raises `Unproved`."""
    return ProvedOptimum(_low(balls, given), _high(balls, given))


def _high(balls: Balls, given: ProofStart) -> float:
    """Return the objective of feasible weights near the given weights, rounded up."""
    parts = {(one.group, one.sign): balls.allowed(one.group, one.w, given.confined) for one in given.weights}
    labels = [arb(a) for a in given.y.tolist()]
    if given.beta is None:
        parts = interpolating(balls, labels, parts, range(balls.model.patterns.shape[1]))
    if given.inside is not None:
        parts = _in_cones(balls, given, parts)
    cost = sum((length(balls.square(g, w)) for (g, _), w in parts.items()), arb(0))
    if given.beta is None:
        return largest([cost])
    missing = missing_labels(balls, labels, parts)
    return largest([arb(given.beta) * cost + dot(missing, missing) / 2])


def _in_cones(balls: Balls, given: ProofStart, parts: Parts) -> Parts:
    """Move weights into the cones of their groups, and with an interpolation also the copies of the other sign."""
    assert given.inside is not None
    moved, linear = dict(parts), balls.model.linear
    for g in {g for g, _ in parts if not (linear and g == 0)}:
        side = 2.0 * balls.model.patterns[:, g] - 1.0
        copies = [sign for sign in (1, -1) if (g, sign) in parts]
        images = [(i, side[i] * z) for s in copies for i, z in enumerate(balls.images(parts[g, s]))]
        gaps = [(i, -float(z.lower())) for i, z in images if not z >= 0 and balls.model.X[i].any()]
        if not gaps:
            continue
        if g not in given.inside:
            raise Unproved(OUTSIDE)
        h = balls.allowed(g, given.inside[g], given.confined)
        widths = [side[i] * z for i, z in enumerate(balls.images(h))]
        if not all(widths[i] > 0 for i, _ in gaps):
            raise Unproved(OUTSIDE)
        step = arb(1.001 * max(gap / float(widths[i].lower()) for i, gap in gaps))
        zero = [arb(0)] * len(h)
        for sign in (1, -1) if given.beta is None else copies:
            moved[g, sign] = [a + step * b for a, b in zip(parts.get((g, sign), zero), h, strict=True)]
            balls.check_cone(g, moved[g, sign], OUTSIDE)
    return moved


def _low(balls: Balls, given: ProofStart) -> float:
    """Return the dual objective of a feasible multiple of lam, rounded down."""
    lam, y = ([arb(a) for a in values.tolist()] for values in (given.lam, given.y))
    # a skip connection has no cone; where multipliers give no bound, the norm of the group bounds both signs
    signed = {
        (g, sign): _on_cone(balls, given, lam, g, sign, mu)
        for (g, sign), mu in (given.multipliers or {}).items()
        if not (balls.model.linear and g == 0)
    }
    rest = [g for g in range(balls.model.patterns.shape[1]) if any(signed.get((g, sign)) is None for sign in (1, -1))]
    worst = balls.dual_squares(rest, [balls.gated(g, lam) for g in rest])
    worst += [square for (g, _), square in signed.items() if square is not None and g not in rest]
    norm, value, square = largest(length(one) for one in worst), dot(y, lam), dot(lam, lam)
    limit = math.inf if norm == 0 else (1.0 if given.beta is None else given.beta) / norm * (1 - 2.0**-50)
    if given.beta is None:
        factor = arb(1.0 if norm <= 1 else limit)
        low = factor * value
    else:
        best = float(value.mid()) / float(square.mid()) if square > 0 else 0.0
        factor = arb(min(max(best, 0.0), limit))
        low = factor * value - factor * factor * square / 2
    return math.nextafter(float(low.lower()), -math.inf)


def _on_cone(balls: Balls, given: ProofStart, lam: list[arb], g: int, sign: int, mu: Array) -> arb | None:
    """Return the squared bound on the cone of a signed group by multipliers of its rows; None if it is not bounded."""
    z = balls.on_cone(g, sign, lam, [max(a, 0.0) for a in mu.tolist()])
    try:
        if g not in given.confined:
            return balls.dual_squares([g], [z])[0]
        # weights R^T a of the row space: the largest z.X R^T a over ||R R^T a|| <= 1
        R = arb_mat([balls.rows[i] for i in balls.active(g)])
        b = balls.X.transpose() * column(z)
        q = solve(R * R.transpose(), R * b, "the rows of a pattern").entries()
        return dot(q, q)
    except Unproved:
        return None
