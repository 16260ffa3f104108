"""Proofs of stored rows in ball arithmetic, for `recover verify --rigorous`: verdicts of minimum-norm trials, and
optima of trials with noise or a penalty.

Approximate duals and interpolants come from the same search and solvers as the verdicts, which run again. The proofs
in `recovery.extras.proofs` do not rely on their accuracy.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd

from recovery.conditions.balls import Unproved, at_rising_precision
from recovery.conditions.exact_model import Balls, Model, model_of
from recovery.config import Trial
from recovery.errors import RecoverError
from recovery.extras.proofs.every_cell import prove_unique_in_every_cell
from recovery.extras.proofs.everywhere import prove_unique_everywhere
from recovery.extras.proofs.interpolants import Weight, prove_cheaper, prove_duplicate, raw_weights
from recovery.extras.proofs.optimum import empty_model, proof_start, prove_optimum
from recovery.extras.proofs.theorems import prove_all_ones, prove_linear_shared, prove_linear_unique, prove_normalised
from recovery.extras.proofs.unique_optimum import prove_unique
from recovery.instances.arrangements import enumerate_cells
from recovery.instances.draw import Instance
from recovery.methods.cascade import descents, duals
from recovery.methods.convex import PlantedProgram, solve
from recovery.methods.generation import Generation, grown_program
from recovery.methods.interpolant import interpolant_near
from recovery.methods.min_norm import ConvexMethod, MinNorm
from recovery.methods.representation import planted_neurons
from recovery.methods.theorems import decide_by_theorem
from recovery.programs.architecture import Architecture
from recovery.programs.exact import ExactProgram
from recovery.programs.solution import Solution
from recovery.report.texts import csv_text
from recovery.runner.trial import Row, draw_instance
from recovery.store.files import write_file
from recovery.text import many
from recovery.types import Array

OTHER_NORM = "proofs in ball arithmetic know the l2 norm only"
OPTIMUM = "optimum"
"""Stands for the verdict of a row with noise or a penalty whose gap proves its optimum."""
WIDEST = 1e-6
"""Largest relative width of an interval that counts as a proof of an optimum."""
EXCLUSIVE = {"recovered": ("not_optimal", "not_unique"), "not_optimal": ("recovered",), "not_unique": ("recovered",)}
"""Verdict -> verdicts that contradict it. `not_optimal` and `not_unique` can both be true."""


@dataclass(frozen=True)
class Verified:
    """The result of trying to prove a verdict or an optimum; reason: why it is not proved, or the interval.

    bound: the number that the proof bounds by 1: the largest dual norm outside the planted groups, or the cost of
    another interpolant divided by the cost of the planted weights; for an optimum, the relative width of its interval.
    label_error: relative distance of the stored labels from A W*. given: what the proof takes as given of the patterns;
    whether the all-ones pattern is one of them is proved. opposite: a verdict that was proved instead and contradicts
    this one.
    """

    proved: bool
    reason: str = ""
    bound: float | None = None
    label_error: float | None = None
    given: str = ""
    opposite: str | None = None


def verify_rigorously(instance: Instance, architecture: Architecture, method: MinNorm, verdict: str | None) -> Verified:
    """Prove a stored verdict of a minimum-norm trial for the exact labels A W* of its planted weights W*."""
    if instance.setting.noise > 0:
        return Verified(False, "noisy labels: there is no verdict")
    if verdict is None or verdict not in ATTEMPTS:
        return Verified(False, "undecided: there is no verdict")
    if method.norm != "l2":
        return Verified(False, OTHER_NORM)
    problem = method.problem(instance, architecture)
    decision = decide_by_theorem(problem) if instance.setting.patterns.kind == "all" else None
    if decision is not None and decision.verdict is not None:
        result = _attempt(_Case(problem), decision.verdict, _proofs_by_theorem)
        if decision.verdict == verdict:
            return result
        if result.proved and decision.verdict in EXCLUSIVE[verdict]:
            return _opposite(result, decision.verdict)
    if instance.setting.patterns.kind == "all":
        problem, found = grown_program(problem, method.beam)
        proofs = partial(_proofs_over_all_patterns, found) if verdict == "recovered" else None
        return _attempt(_Case(problem), verdict, proofs)
    case = _Case(problem)
    result = _attempt(case, verdict)
    if not result.proved:
        for other in EXCLUSIVE[verdict]:
            if _attempt(case, other).proved:
                return _opposite(result, other)
    return result


def _opposite(result: Verified, verdict: str) -> Verified:
    return replace(result, proved=False, reason=f"the opposite is proved: {verdict}", bound=None, opposite=verdict)


def _attempt(case: "_Case", verdict: str, proofs: "Proofs | None" = None) -> Verified:
    """Return the first proof of a verdict that succeeds, otherwise the reason why the last proof fails."""
    instance, error, reason = case.problem.instance, None, "no weights are known that might prove it"
    try:
        if instance.all_ones is not None:
            prove_all_ones(case.model, instance.all_ones)
        at_rising_precision(lambda: Balls(case.model).check_confined(case.narrowed))
        error = Balls(case.model).label_error(instance.signal)
        for attempt in (proofs or ATTEMPTS[verdict])(case):
            try:
                return Verified(True, bound=attempt(), label_error=error, given=_taken_as_given(instance))
            except Unproved as unproved:
                reason = str(unproved)
    except (Unproved, RecoverError) as no_proof:
        reason = str(no_proof)
    return Verified(False, reason, label_error=error)


def _taken_as_given(instance: Instance) -> str:
    """Return which patterns a proof takes as given, other than the all-ones pattern."""
    kind = instance.setting.patterns.kind
    if kind == "all":
        return ""
    if kind != "exhaustive":
        return "the patterns that were drawn" if kind == "sampled" else "the patterns that were drawn and found"
    every, clear = (enumerate_cells(instance.X, artefacts=each)[0].shape[1] for each in (True, False))
    left_out = every - clear
    return f"that {many(left_out, 'cell')} thinner than 1e-12 count for none" if left_out else ""


@dataclass(frozen=True)
class _Case:
    """A trial's program, and the candidates for proofs of its verdict."""

    problem: PlantedProgram

    @cached_property
    def model(self) -> Model:
        """The instance in ball arithmetic."""
        return model_of(self.problem.instance, self.problem.architecture)

    @property
    def cones(self) -> ExactProgram | None:
        """The program if it is exact, that is, if its weights lie in cones."""
        return self.problem.program if isinstance(self.problem.program, ExactProgram) else None

    @cached_property
    def narrowed(self) -> frozenset[int]:
        """Indices of groups whose weights are restricted to the row space of their active rows."""
        return frozenset(np.flatnonzero(self.problem.program.groups.narrowed).tolist())

    def duals(self) -> Iterator[Array]:
        """Yield duals that may prove the planted weights unique: those of the cascade, then the dual of a solver."""
        yield from duals(self.problem)
        yield self.solution.lam

    @cached_property
    def solution(self) -> Solution:
        """The solution of the program by the default solver."""
        return solve(self.problem.program, "auto").solution

    def multipliers(self, lam: Array, groups: list[int], signs: list[int]) -> Array:
        """Return the multipliers of the cones of signed groups at the dual `lam`."""
        assert self.cones is not None
        return self.cones.project(lam, np.array(groups) + self.cones.groups.count * (np.array(signs) < 0))[1]

    def interpolants(self) -> Iterator[Sequence[Weight]]:
        """Yield weights that may cost less than the planted weights; most interpolate the labels up to rounding."""
        problem = self.problem
        for W in (self.solution.W, *descents(problem)):
            near = interpolant_near(problem.program, problem.features, W, problem.planted)
            if near is not None:
                yield raw_weights(problem.program, near[0])
            elif self.cones is None:
                yield raw_weights(problem.program, W)


def _proofs_over_all_patterns(found: Generation, case: _Case) -> Iterator[Callable[[], float]]:
    if found.lam is not None:
        lam = found.lam / case.problem.program.groups.scales
        prove = prove_unique_everywhere if case.cones else prove_unique_in_every_cell
        yield partial(prove, case.model, lam, case.problem.instance.setting.patterns.nodes)


def _proofs_by_theorem(case: _Case) -> Iterator[Callable[[], float]]:
    decision = decide_by_theorem(case.problem)
    assert decision is not None
    unique = decision.verdict == "recovered"
    if planted_neurons(case.problem.instance).linear:
        prove = prove_linear_unique if unique else prove_linear_shared
        yield partial(prove, case.model, None if case.cones else case.problem.instance.all_ones)
    else:
        yield partial(prove_normalised, case.model, unique=unique)


Proofs = Callable[[_Case], Iterator[Callable[[], float]]]

ATTEMPTS: dict[str, Proofs] = {
    "recovered": lambda case: (
        partial(prove_unique, case.model, lam, case.multipliers if case.cones else None) for lam in case.duals()
    ),
    "not_optimal": lambda case: (
        partial(prove_cheaper, case.model, weights, bool(case.cones), case.narrowed) for weights in case.interpolants()
    ),
    "not_unique": lambda case: iter([partial(prove_duplicate, case.model, bool(case.cones))]),
}
"""Verdict -> function that yields attempts at a proof."""


def _verify_optimum(instance: Instance, architecture: Architecture, method: ConvexMethod, row: Row) -> Verified:
    """Prove an interval of the optimum, and that the stored objective is in it up to the gap. Raises `Unproved`."""
    if method.norm != "l2":
        raise Unproved(OTHER_NORM)
    evidence, objective = method(instance, architecture).evidence, row["objective"]
    if evidence is None or evidence.found is None:
        raise Unproved("the trial has no weights and no dual")
    model = empty_model(architecture, instance.X, evidence.program)
    found = prove_optimum(model, proof_start(evidence.program, evidence.found.solution))
    # labels that are zero up to rounding differ between processors, and so does an objective of that size
    rounding = float(np.finfo(float).eps * np.linalg.norm(instance.X)) ** 2
    if not found.low * (1 - WIDEST) - rounding <= objective <= found.high * (1 + WIDEST) + rounding:
        return Verified(False, f"the stored objective {objective:.12g} is wrong: {found}", opposite="another objective")
    return Verified(found.width <= WIDEST, str(found), found.width)


@dataclass(frozen=True)
class Checked:
    """The verdict of a stored row, the result of its proof, and the seconds that the proof took."""

    trial_id: str
    verdict: str | None
    result: Verified
    seconds: float

    @property
    def outcome(self) -> str:
        """`proved`, `not proved`, `the opposite is proved`, or `no verdict` if the row has no decided verdict."""
        if self.result.proved or self.result.opposite:
            return "proved" if self.result.proved else "the opposite is proved"
        return "no verdict" if self.verdict in (None, "undecided") else "not proved"


def check(trial: Trial, row: Row) -> Checked:
    """Try to prove the verdict, or the optimum, of a trial's stored row."""
    clock = time.perf_counter()
    verdict, cell = row.get("verdict"), trial.cell.imported
    method, by_gap = cell.method, row.get("certificate") == "gap"
    try:
        if verdict is None and by_gap and isinstance(method, ConvexMethod) and cell.setting.patterns.kind != "all":
            verdict = OPTIMUM
            result = _verify_optimum(draw_instance(trial), cell.architecture, method, row)
        elif isinstance(method, MinNorm):
            result = verify_rigorously(draw_instance(trial), cell.architecture, method, verdict)
        else:
            result = Verified(False, "only verdicts of min_norm, and optima of convex programs, are proved")
    except Unproved as no_proof:
        result = Verified(False, str(no_proof))
    except Exception as error:  # user code may raise anything; a failed proof is a result
        result = Verified(False, f"{type(error).__name__}: {error}")
    return Checked(trial.id, verdict, result, time.perf_counter() - clock)


def summary(rows: Sequence[Checked]) -> list[str]:
    """Return lines with the share of proved verdicts, counts for each verdict, and reasons for unproved ones."""
    claims = [row for row in rows if row.outcome != "no verdict"]
    proved = [row for row in claims if row.result.proved]
    share = f" ({100 * len(proved) / len(claims):.3g} %)" if claims else ""
    lines = [f"{len(proved)} of {len(claims)} verdicts proved{share}, {len(rows) - len(claims)} rows without a verdict"]
    for verdict, count in sorted(Counter(str(row.verdict) for row in claims).items()):
        lines.append(f"  {verdict}: {sum(row.verdict == verdict for row in proved)} of {count}")
    for reason, count in Counter(row.result.reason for row in claims if not row.result.proved).most_common():
        lines.append(f"  not proved, {count}: {reason}")
    errors = [row.result.label_error for row in proved if row.result.label_error is not None]
    if errors:
        lines.append(f"  proved about the labels A W* exactly; stored labels are within {max(errors):.2g} of them")
    for given, count in Counter(row.result.given for row in proved if row.result.given).most_common():
        lines.append(f"  taken as given, {count}: {given}")
    if rows:
        seconds = [row.seconds for row in rows]
        lines.append(f"  {median(seconds):.2g} s per row (median), at most {max(seconds):.2g} s")
    return lines


def write(path: Path, checked: Iterable[Checked]) -> None:
    """Write a CSV file with one line per row. Raises `StoreError` if it cannot be written."""
    names = ["trial_id", "verdict", "outcome", "reason", "bound", "label_error", "given", "seconds"]
    table = pd.DataFrame([vars(one) | vars(one.result) | {"outcome": one.outcome} for one in checked], columns=names)
    write_file(path, csv_text(table).encode())
