"""The neural isometry conditions: one dual point, one product over all patterns.

Let S be the planted groups and u the stack of their unit weights. With A_S of full column rank and
    lam = pinv(A_S^T) u,
the planted weights are the unique optimum of the gated program if max_{g not in S} ||A_g^T lam|| < 1. That is (NIC-L)
for a linear neuron next to a skip connection, (NIC-1) and (NIC-k) for `relu`, (NNIC-1) and (NNIC-k) for `relu_norm`,
and (orth-NIC-L) for `relu_norm_skip`. Source: P1, Definitions 2 to 6.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from recovery.errors import ParameterError
from recovery.programs.groups import WITH_SKIP, Groups, groups_of
from recovery.programs.orthonormal import RANK_TOLERANCE, orthonormal_base
from recovery.programs.projections import projection_norms
from recovery.types import Array, Mask

ROUNDING = 1e-9
"""A value this close to its bound is on it: a pattern that contains the planted one has the value 1 exactly."""


@dataclass(frozen=True)
class Condition:
    """A condition value < bound, evaluated over a set of patterns.

    `value` is the largest over the patterns and `attained_by` the column that attains it, None when that is the skip
    connection or when there is no pattern to look at (the value is then 0). `identified` is False where A_S has not
    full column rank: the condition cannot hold then, whatever the value.
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
    own: Mask = np.empty((X.shape[0], 0), dtype=np.bool_) if linear else X @ directions >= 0
    support, u = planted_support(architecture, X, directions, signs, linear=linear)
    lam, identified = dual_point(support, u)
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
    return Condition(
        condition_name(architecture, len(signs), linear=linear),
        value,
        identified and value < 1 - ROUNDING,
        attained_by,
        identified=identified,
    )


def condition_name(architecture: str, k: int, *, linear: bool) -> str:
    """The paper's name of the condition for k neurons."""
    if linear:
        return "orth-NIC-L" if architecture == "relu_norm_skip" else "NIC-L"
    return f"{'NNIC' if architecture == 'relu_norm' else 'NIC'}-{1 if k == 1 else 'k'}"


def planted_support(
    architecture: str, X: Array, directions: Array, signs: Array, *, linear: bool
) -> tuple[list[Array], Array]:
    """The planted blocks A_g, each (n, r_g), and the stack u of the unit weights that make the planted labels.

    u_g = r_i w_i/||w_i|| in the coordinates of the base; for `relu_norm` r_i S V^T w_i / ||S V^T w_i||.
    """
    if linear:
        if architecture not in WITH_SKIP:
            raise ParameterError(
                f"architecture {architecture!r} has no linear neuron to recover; "
                f"a linear planted model needs one of {', '.join(WITH_SKIP)}"
            )
        groups = groups_of(architecture, X, np.empty((X.shape[0], 0), dtype=np.bool_))
        return [groups.block(0)], _unit(groups.coordinates @ directions[:, 0]) * signs[0]
    groups = groups_of(architecture, X, X @ directions >= 0)
    first = int(groups.linear)
    blocks, units = [], []
    for i, sign in enumerate(signs):
        block, weight = _planted_block(groups, first + i, X, directions[:, i])
        blocks.append(block)
        units.append(sign * _unit(weight))
    return blocks, np.concatenate(units)


def _planted_block(groups: Groups, g: int, X: Array, w: Array) -> tuple[Array, Array]:
    block = groups.block(g)
    if groups.transforms is None:
        return block, groups.coordinates @ w
    block = block[:, groups.transforms[g].any(axis=0)]
    return block, block.T @ np.maximum(X @ w, 0.0)


def dual_point(support: list[Array], u: Array) -> tuple[Array, bool]:
    """lam = pinv(A_S^T) u, the least-norm solution of A_S^T lam = u, and whether A_S has full column rank."""
    A = np.hstack(support)
    n, q = A.shape
    if q <= n:
        Q, R = np.linalg.qr(A)
        pivots = np.abs(np.diagonal(R))
        if pivots.min(initial=np.inf) > 1e-6 * pivots.max(initial=0.0):
            return Q @ solve_triangular(R, u, trans="T"), True
    left, s, right = np.linalg.svd(A, full_matrices=False)
    rank = int(np.count_nonzero(s > RANK_TOLERANCE * s.max(initial=0.0)))
    return left[:, :rank] @ ((right[:rank] @ u) / s[:rank]), rank == q


def group_norms(architecture: str, X: Array, patterns: Mask, lam: Array) -> Array:
    """||A_j^T lam|| for the group of each pattern (n, p), without forming any; shape (p,)."""
    if architecture == "relu_norm":
        return projection_norms(base_of(architecture, X), patterns, lam)
    norms: Array = np.linalg.norm((base_of(architecture, X) * lam[:, None]).T @ patterns, axis=0)
    return norms


def base_of(architecture: str, X: Array) -> Array:
    """The matrix B whose rows the patterns switch: X, or its left singular vectors for the normalised networks."""
    return orthonormal_base(X)[0] if architecture.startswith("relu_norm") else X


def _among(patterns: Mask, own: Mask) -> Mask:
    """Which columns of `patterns` are columns of `own`."""
    found = np.zeros(patterns.shape[1], dtype=np.bool_)
    for column in own.T:
        found |= (patterns == column[:, None]).all(axis=0)
    return found


def _unit(w: Array) -> Array:
    return w / np.linalg.norm(w)
