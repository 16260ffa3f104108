"""The neural isometry conditions: one dual point, one product over all patterns.

Let S be the planted groups, u the stack of their unit weights, and
    lam = pinv(A_S^T) u.
The planted weights are the unique optimum of the gated program if max_{g not in S} ||A_g^T lam|| < 1. That is (NIC-L)
for a linear neuron next to a skip connection, (NIC-1) and (NIC-k) for `relu`, (NNIC-1) and (NNIC-k) for `relu_norm`,
and (orth-NIC-L) for `relu_norm_skip`. Source: P1, Definitions 2 to 6.

P1 takes the pseudo-inverse without asking that A_S^T lam = u. Where two planted patterns differ in fewer than d rows
that fails, and the printed value can be below 1 although the planted weights are not optimal: here the condition is
then not `identified` and does not hold.
"""

from dataclasses import dataclass

import numpy as np

from recovery.errors import ParameterError
from recovery.programs.groups import WITH_SKIP, Groups, groups_of
from recovery.programs.orthonormal import orthonormal_base
from recovery.programs.projections import projection_norms
from recovery.programs.uniqueness import planted_candidate
from recovery.types import Array, Mask

ROUNDING = 1e-9
"""Above the error of the projections; genuine margins of 1e-8 occur next to the planted pattern."""


@dataclass(frozen=True)
class Condition:
    """A condition value < bound, evaluated over a set of patterns.

    `value` is the largest over the patterns and `attained_by` the column that attains it, None when that is the skip
    connection or when there is no pattern to look at (the value is then 0). It holds when it is below the bound by
    more than rounding: a pattern that contains the planted one has the value 1 exactly. `identified` is False, and
    the value infinite, where the labels do not determine the planted weights, so that it cannot hold.
    """

    name: str
    value: float
    holds: bool
    attained_by: int | None = None
    bound: float = 1.0
    identified: bool = True

    @property
    def margin(self) -> float:
        """bound - value: positive where it holds."""
        return self.bound - self.value


def neural_isometry(
    architecture: str, X: Array, directions: Array, signs: Array, patterns: Mask, *, linear: bool
) -> Condition:
    """The condition under which `architecture` recovers planted neurons, over patterns (n, p) beside theirs.

    directions (d, k) and signs (k,) of the neurons: ReLUs, or with `linear` one linear neuron. Raises
    `ParameterError` for a linear neuron without a skip connection. Source: P1, Definitions 2 to 6.
    """
    name = condition_name(architecture, len(signs), linear=linear)
    lam = planted_dual(architecture, X, directions, signs, linear=linear)
    if lam is None:
        return Condition(name, np.inf, False, identified=False)
    own = _own_patterns(X, directions, linear=linear)
    others = np.flatnonzero(~_among(patterns, own))
    values = group_norms(architecture, X, patterns[:, others], lam)
    value, attained_by = 0.0, None
    if values.size:
        best = int(np.argmax(values))
        value, attained_by = float(values[best]), int(others[best])
    if architecture in WITH_SKIP and not linear:
        skip = float(np.linalg.norm(base_of(architecture, X).T @ lam))
        if skip > value:
            value, attained_by = skip, None
    return Condition(name, value, value < 1 - ROUNDING, attained_by)


def condition_name(architecture: str, k: int, *, linear: bool) -> str:
    """The paper's name of the condition for k neurons."""
    if linear:
        return "orth-NIC-L" if architecture == "relu_norm_skip" else "NIC-L"
    return f"{'NNIC' if architecture == 'relu_norm' else 'NIC'}-{1 if k == 1 else 'k'}"


def planted_dual(architecture: str, X: Array, directions: Array, signs: Array, *, linear: bool) -> Array | None:
    """lam, the least-norm solution of A_S^T lam = u for planted neurons; None where they are not identified.

    They are not where no such lam exists (too few rows), where two neurons share a pattern, or where the images of
    the unit weights are dependent. u_g = r_i w_i/||w_i|| in the coordinates of the base; for `relu_norm`
    r_i S V^T w_i / ||S V^T w_i||.
    """
    if linear and architecture not in WITH_SKIP:
        raise ParameterError(
            f"architecture {architecture!r} has no linear neuron to recover; "
            f"a linear planted model needs one of {', '.join(WITH_SKIP)}"
        )
    own = _own_patterns(X, directions, linear=linear)
    groups = groups_of(architecture, X, own)
    W = np.zeros((groups.count, groups.rank))
    if linear:
        W[0] = groups.coordinates @ directions[:, 0] * signs[0]
    else:
        for i, sign in enumerate(signs):
            W[int(groups.linear) + i] = sign * _weight(groups, int(groups.linear) + i, X, directions[:, i])
        if not own.any(axis=0).all() or len(np.unique(own, axis=1).T) < len(signs):
            return None
    candidate = planted_candidate(groups, W)
    return candidate.lam if candidate.distinct else None


def _weight(groups: Groups, g: int, X: Array, w: Array) -> Array:
    if groups.transforms is None:
        return groups.coordinates @ w
    return groups.block(g).T @ np.maximum(X @ w, 0.0)


def group_norms(architecture: str, X: Array, patterns: Mask, lam: Array) -> Array:
    """||A_j^T lam|| for the group of each pattern (n, p), without forming any; shape (p,)."""
    if architecture == "relu_norm":
        return projection_norms(base_of(architecture, X), patterns, lam)
    norms: Array = np.linalg.norm((base_of(architecture, X) * lam[:, None]).T @ patterns, axis=0)
    return norms


def base_of(architecture: str, X: Array) -> Array:
    """The matrix B whose rows the patterns switch: X, or its left singular vectors for the normalised networks."""
    return orthonormal_base(X)[0] if architecture.startswith("relu_norm") else X


def _own_patterns(X: Array, directions: Array, *, linear: bool) -> Mask:
    return np.asarray(X @ (directions[:, :0] if linear else directions) >= 0)


def _among(patterns: Mask, own: Mask) -> Mask:
    """Which columns of `patterns` are columns of `own`."""
    found = np.zeros(patterns.shape[1], dtype=np.bool_)
    for column in own.T:
        found |= (patterns == column[:, None]).all(axis=0)
    return found
