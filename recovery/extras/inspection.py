"""The isometry conditions of the theory, evaluated on a user's matrix, with answers in plain words."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from recovery.conditions.maximal import sufficient_condition
from recovery.conditions.neural_isometry import (
    Condition,
    neural_isometry,
    orthogonal_uniform_isometry,
    search_isometry,
    uniform_isometry,
)
from recovery.conditions.search import most_active
from recovery.errors import DataError, ParameterError
from recovery.instances.all_ones import admits_all_ones_closed, decide_all_ones
from recovery.instances.arrangements import cell_count, enumerate_cells
from recovery.instances.patterns import FEWEST_SAMPLES, sample_patterns, unique_patterns
from recovery.instances.planted import Form
from recovery.programs.architecture import find_architecture
from recovery.programs.orthonormal import orthonormal_base
from recovery.theory.strong import theta_star
from recovery.theory.wendel import wendel
from recovery.types import Array, Mask, Rng

Answer = Literal["yes", "no", "not refuted"]
FITTING: dict[Form, str] = {"linear": "relu_skip", "relu": "relu", "normalized_relu": "relu_norm"}
"""Planted form -> architecture that recovers it by default."""
FEW_CELLS = 20_000
"""Largest number of patterns that are enumerated; if there are more, they are sampled and searched."""


@dataclass(frozen=True)
class Finding:
    """A question about the data with its answer; `not refuted`: all examined patterns pass, but there are more."""

    question: str
    answer: Answer
    reason: str
    condition: str
    value: float | None = None
    bound: float | None = None


@dataclass(frozen=True)
class Inspection:
    """The findings on data X (n, d). exhaustive: all patterns were examined, so every answer is proved."""

    n: int
    d: int
    patterns: int
    exhaustive: bool
    findings: tuple[Finding, ...]


def check_data(X: Array, name: str) -> None:
    """Raise `DataError` for data to which no condition applies: too few rows, constant or dependent columns."""
    n, d = X.shape
    if n < d:
        raise DataError(
            f"{name}: {n} rows and {d} columns; with fewer rows than columns a linear neuron fits any labels, so "
            "nothing can be recovered; add rows or drop columns"
        )
    constant = np.flatnonzero(X.max(axis=0) == X.min(axis=0))
    if constant.size and n > 1:
        listed = ", ".join(f"{j + 1} (= {X[0, j]:g})" for j in constant[:8]) + (", ..." if constant.size > 8 else "")
        raise DataError(
            f"{name}: constant columns: {listed}; a constant column makes the all-ones pattern exist, or is zero and "
            "has no effect; drop them, and centre the labels instead"
        )
    rank = orthonormal_base(X)[0].shape[1]
    if rank < d:
        surplus = d - rank
        raise DataError(f"{name}: {d} columns have rank {rank}: some combine others; drop {surplus} of them")


def inspect_data(
    X: Array,
    rng: Rng,
    *,
    planted: Array | None = None,
    form: Form = "linear",
    architecture: str | None = None,
    name: str = "the data",
) -> Inspection:
    """Evaluate every condition that applies to X (n, d) and, if given, to planted neurons (k, d), one per row."""
    zero = int((~X.any(axis=1)).sum())
    X = X[X.any(axis=1)]  # zero rows are left out, because no operator depends on them
    check_data(X, name)
    n, d = X.shape
    cells = _all_cells(X)
    exhaustive = cells is not None
    if cells is not None:
        patterns = unique_patterns(X, [cells])
    else:
        worst = most_active(X, rng).pattern[:, None]
        patterns = unique_patterns(X, [sample_patterns(rng, X, max(2 * n, FEWEST_SAMPLES)), worst])
    all_ones = decide_all_ones(X).exists
    if all_ones:
        patterns = unique_patterns(X, [patterns, np.ones((n, 1), dtype=np.bool_)])
    findings = [_all_ones(X, all_ones, zero), _uniform(X, patterns, exhaustive), _trace(X, patterns, exhaustive)]
    if planted is not None:
        findings += _planted(X, planted, form, architecture, patterns, rng, exhaustive)
    return Inspection(n, d, patterns.shape[1], exhaustive, tuple(findings))


def _all_cells(X: Array) -> Mask | None:
    """Return every pattern of X, or None if there are too many, or if their existence depends on rounding."""
    if cell_count(*X.shape) > FEW_CELLS:
        return None
    try:
        return enumerate_cells(X)[0]
    except ParameterError:
        return None


def _all_ones(X: Array, exists: bool, zero: int) -> Finding:
    """Answer whether a linear neuron is distinguishable from a ReLU neuron; zero: number of zero rows left out."""
    n, d = X.shape
    law = float(wendel(n, d))
    typical = (
        f"for symmetric random data of this size ({n} x {d}, n = {n / d:.3g} d) one exists with probability {law:.3g}"
    )
    if exists:
        reason = (
            "some direction has a positive product with every row, so the ReLU neuron along it is linear on the data, "
            f"and with a skip connection a linear neuron is never the unique solution; {typical}"
        )
    else:
        reason = f"no direction has a positive product with every row (proved by a certificate); {typical}"
        if admits_all_ones_closed(X):
            reason += (
                "; some direction has no negative product: the closed conditions (5) of P1 admit the pattern, the open "
                "conditions (31), which are used here, do not"
            )
    if zero:
        reason += f"; {zero} zero row{'s are' if zero > 1 else ' is'} left out, because no operator depends on them"
    question = "Can a linear neuron be distinguished from a ReLU neuron (no all-ones pattern)?"
    return Finding(question, "no" if exists else "yes", reason, "(31)")


def _uniform(X: Array, patterns: Mask, exhaustive: bool) -> Finding:
    """Answer whether a network with a skip connection recovers every linear neuron."""
    question = "Is every linear neuron certain to be recovered by ReLUs with a skip connection?"
    value = "the largest ||X^T D X (X^T X)^-1|| over the patterns"
    return _finding(question, uniform_isometry(X, patterns), exhaustive, value, patterns)


def _trace(X: Array, patterns: Mask, exhaustive: bool) -> Finding:
    """Answer whether a network that normalises before its ReLUs recovers every linear neuron."""
    n, d = X.shape
    condition = orthogonal_uniform_isometry(patterns, d)
    # condition (26) only counts rows, which is sufficient for data in general position, so the isometry condition
    # itself is evaluated as well
    if condition.holds:
        condition = replace(condition, holds=uniform_isometry(orthonormal_base(X)[0], patterns).holds)
    value = (
        f"the largest number of rows that a pattern activates, where n - d = {n - d} are allowed (n = {n / d:.3g} d; "
        f"rotation-invariant data are expected to pass beyond {1 / theta_star():.4g} d)"
    )
    return _finding("And by a network that normalises before its ReLUs?", condition, exhaustive, value, patterns)


def _planted(
    X: Array, planted: Array, form: Form, architecture: str | None, patterns: Mask, rng: Rng, exhaustive: bool
) -> list[Finding]:
    """Answer whether the planted neurons are recovered. Raises `DataError` and `ParameterError` for invalid neurons."""
    d = X.shape[1]
    if planted.ndim != 2 or planted.shape[1] != d:
        hint = "; it looks transposed" if planted.ndim == 2 and planted.shape[0] == d else ""
        raise DataError(f"planted neurons: one a row, {d} columns as the data have; found shape {planted.shape}{hint}")
    lengths = np.linalg.norm(planted, axis=1)
    if (lengths == 0).any():
        raise DataError(f"planted neurons: row {int(np.argmin(lengths)) + 1} is zero; every row must be a direction")
    linear = form == "linear"
    if linear and len(planted) != 1:
        raise ParameterError(
            f"one linear neuron can be planted, found {len(planted)} rows; use --kind relu or normalized_relu"
        )
    W, signs = (planted / lengths[:, None]).T, np.ones(len(planted))
    chosen = find_architecture(architecture or FITTING[form])
    inactive = np.flatnonzero(~(X @ W > 0).any(axis=0))
    if inactive.size and not linear:
        raise DataError(f"planted neurons: row {inactive[0] + 1} is active on no row of the data, so it has no effect")
    if not exhaustive:
        worst = search_isometry(chosen, X, W, signs, rng, linear=linear)
        patterns = patterns if worst is None else unique_patterns(X, [patterns, worst.pattern[:, None]])
    condition = neural_isometry(chosen, X, W, signs, patterns, linear=linear)
    what = "the planted linear neuron" if linear else f"the {len(planted)} planted ReLU neurons"
    if form != "linear" and len(planted) == 1:
        what = "the planted ReLU neuron"
    question = f"{'Are' if len(planted) > 1 else 'Is'} {what} certain to be recovered by {chosen.name}?"
    findings = [
        _finding(question, condition, exhaustive, "the largest ||A_j^T lam|| over the other patterns", patterns)
    ]
    if form == "relu" and len(planted) == 1:
        findings.append(_sufficient(X, W[:, 0]))
    return findings


def _sufficient(X: Array, w: Array) -> Finding:
    """Answer whether Proposition 22 guarantees recovery of one ReLU neuron."""
    condition = sufficient_condition(X, w)
    reason = (
        f"its pattern is {'' if condition.maximal else 'not '}maximal"
        f"{'' if condition.maximal else ', so that (NIC-1) fails over all patterns'}; w is off the leading eigenvector "
        f"of X^T D X by {condition.eigen_gap:.3g}; the smallest activation is {condition.smallest_activation:.3g}"
    )
    question = "Does Proposition 22 guarantee it, without examining patterns?"
    return Finding(question, "yes" if condition.holds else "no", reason, "Prop. 22")


def _finding(question: str, condition: Condition, exhaustive: bool, what: str, patterns: Mask) -> Finding:
    """Turn an evaluated condition into a finding; what: description of its value."""
    value, bound = condition.value, condition.bound
    active = 0 if condition.attained_by is None else int(patterns[:, condition.attained_by].sum())
    measured = f"{what}: {value:.6g}, bound {bound:.6g}, margin {condition.margin:.3g}"
    if not condition.identified:
        return Finding(
            question, "no", "the planted weights are not determined by the labels", condition.name, value, bound
        )
    if condition.holds:
        answer: Answer = "yes" if exhaustive else "not refuted"
    else:
        answer = "no"
        at = "the skip connection" if condition.attained_by is None else f"a pattern of {active} active rows"
        measured += f", at {at}; the condition is sufficient, not necessary: a solver may still recover"
    return Finding(question, answer, measured, condition.name, value, bound)
