"""One trial as data, computed again: its instance, program, weights, dual and certificate, for a check by others."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from recovery.conditions.oracle import Bounds
from recovery.config import Trial
from recovery.errors import ParameterError, RecoverError, StoreError
from recovery.instances.draw import Instance
from recovery.methods.columns import checked
from recovery.methods.convex import solve
from recovery.methods.min_norm import ConvexMethod
from recovery.programs.architecture import Architecture
from recovery.programs.certificate import Certificate
from recovery.programs.program import Program
from recovery.programs.solution import Multipliers, Solution
from recovery.runner.rerun import (
    ColumnDifference,
    Replayed,
    comparison,
    find_trial,
    instance_arrays,
    replay,
    save_arrays,
    stored_rows,
)
from recovery.runner.trial import Row, draw_instance
from recovery.store import read
from recovery.store.files import write_file
from recovery.text import many
from recovery.types import Array, Mask

CHECK = "check.py"
"""Name of the program that is written next to the arrays. It needs NumPy only."""


@dataclass(frozen=True)
class TrialCertificate:
    """The convex program of a trial with its weights and dual, what these prove, and the row of the trial.

    trial: its fields and its id. instance: `X`, `y` and the planted model. architecture: the network. method: the
    method with its parameters. program: as it was solved, gated or exact. solution: the weights `W` in the variables of
    the program, and the dual `lam` (n,), before it is scaled to be feasible. numbers: objectives, gap, residuals and
    active groups. bounds: on the dual norms over all patterns, if they were computed. row: computed again, with
    `verdict` and `reason`. stored: the stored row, if there is one. differences: of the two rows. agrees: whether
    rounding explains them.
    """

    trial: Trial
    instance: Instance
    architecture: Architecture
    method: ConvexMethod
    program: Program
    bounds: Bounds | None
    solution: Solution
    numbers: Certificate
    row: Row
    stored: Row | None
    differences: Sequence[ColumnDifference]
    agrees: bool

    @property
    def patterns(self) -> Mask:
        """The patterns of the program (n, p), without the skip connection."""
        groups = self.program.groups
        return groups.patterns[:, int(groups.linear) :]

    @cached_property
    def _norms(self) -> tuple[Array, Multipliers]:
        return self.program.proved_norms(self.solution)

    @property
    def dual_ratios(self) -> Array:
        """The dual norm of each row of `program.members`, divided by its bound: feasible up to 1."""
        return self._norms[0] / self.program.penalty

    @property
    def multipliers(self) -> Multipliers:
        """Multipliers of the rows of cones that prove the dual norms of an exact program."""
        return self._norms[1]

    @property
    def beyond(self) -> float:
        """The proved bound on the dual norms over all patterns; 0 for none, or if it leaves planted ones out."""
        return 0.0 if self.bounds is None or self._leaves_out_planted else self.bounds.upper

    @property
    def _leaves_out_planted(self) -> bool:
        """Whether a dual of the planted weights is the certificate: then `bounds` leave out the planted patterns."""
        return bool(self.row.get("certificate") == "dual")

    def arrays(self) -> dict[str, Any]:
        """Return the instance, the program and the certificate as named arrays.

        Row k of V has base weights v (r,): it adds sign_k D_k (base v) to the labels, where D_k is 1 on the active rows
        of the pattern `group_patterns[:, group_k]` and `slope` elsewhere. `weights` are the same weights on the
        features of X.
        """
        program, groups, members = self.program, self.program.groups, self.program.members
        own = members % groups.count
        V = self.solution.W[members] if program.has_cones else groups.base_weights(self.solution.W)
        place = np.full(program.size, -1)
        place[members] = np.arange(len(members))
        ratios, worst = self.dual_ratios, int(np.argmax(self.dual_ratios))
        features = self.architecture.features(self.instance.X)
        numbers = {name: np.array(value) for name, value in vars(self.numbers).items()}
        return {
            **instance_arrays(self.instance.with_patterns(self.patterns)),
            "features": features,
            "base": groups.base,
            "coordinates": groups.coordinates,
            "base_error": np.abs(groups.base @ groups.coordinates - features).max(),
            "group_patterns": groups.patterns,
            "slope": np.array(groups.slope),
            "after": np.array(groups.orthonormal),
            "exact": np.array(program.has_cones),
            "row_space": np.array(groups.orthonormal and (not program.has_cones or bool(groups.confined))),
            "interpolates": np.array(program.interpolates),
            "penalty": np.array(program.penalty),
            "norm": np.array(self.method.norm),
            "group": own,
            "sign": program.signs[members],
            "free": (own == 0) & groups.linear,
            "V": V,
            "weights": V @ np.linalg.pinv(groups.coordinates).T,
            "lam": self.solution.lam,
            "multiplier_rows": place[self.multipliers.chosen],
            "multipliers": self.multipliers.values,
            **numbers,
            "dual_ratios": ratios,
            "largest_dual_ratio": np.array(max(float(ratios[worst]), self.beyond / program.penalty)),
            "largest_dual_row": np.array(worst),
            "beyond": np.array(self.beyond),
            "certificate": np.array(self.row.get("certificate") or ""),
            "optimal": np.array(self.numbers.proves_optimal),
            "verdict": np.array(self.row.get("verdict") or ""),
            "reason": np.array(self.row.get("reason") or ""),
            "architecture": np.array(self.architecture.name),
            "solver": np.array(self.solution.solver),
        }

    def save(self, path: Path) -> None:
        """Write `arrays` as .npz, and next to it `check.py`. Raises `StoreError`."""
        program, check = files("recovery.extras").joinpath("check.txt").read_bytes(), path.with_name(CHECK)
        if check.exists() and check.read_bytes() != program:
            raise StoreError(f"{check}: exists, and is another program; give --out in another folder, or move it")
        write_file(check, program)
        save_arrays(self.trial, self.arrays(), path)

    def __str__(self) -> str:
        trial, groups = self.trial, self.program.groups
        where = ", ".join(f"{name} = {value}" for name, value in trial.cell.coordinates.items())
        lines = [
            f"trial     {trial.id}: replicate {trial.replicate} of {where}",
            f"program   {self._program()}",
            f"weights   {self.numbers.active_groups} of {groups.count} groups active, by {self.solution.solver}",
            f"objective {self.numbers.objective:.12g}, at least {self.numbers.dual_objective:.12g}: {self._proof()}",
            f"dual      {self._dual()}",
            f"verdict   {self._verdict()}",
        ]
        if reason := self.row.get("reason"):
            lines.append(f"reason    {reason}")
        lines += [f"differs   in {difference}" for difference in self.differences]
        row = "the stored row, up to rounding" if self.agrees else "different from the stored row"
        row = row if self.differences else "equal to its stored row"
        return "\n".join([*lines, f"row       {row if self.stored else 'it has no stored row yet'}"])

    def _program(self) -> str:
        program, groups = self.program, self.program.groups
        kind = self.instance.setting.patterns.kind
        words = f"{program.kind}, {self.architecture.name}, {many(self.patterns.shape[1], 'pattern')} ({kind})"
        if groups.orthonormal and program.has_cones:
            words += ", confined to row spaces" if groups.confined else ", not confined"
        norms = f"the sum of {self.method.norm} norms"
        if program.interpolates:
            return f"{words}: minimise {norms} such that F(W) = y"
        return f"{words}: minimise 1/2 ||F(W) - y||^2 + {program.penalty:.9g} times {norms}"

    def _proof(self) -> str:
        numbers = self.numbers
        rest = f"relative gap {numbers.gap:.2g}, residual {numbers.primal_residual:.2g}"
        if self.program.has_cones:
            rest += f", cone violation {numbers.cone_violation:.2g}"
        return f"{rest}: " + ("optimal" if numbers.proves_optimal else f"not proved, {numbers.shortfall}")

    def _dual(self) -> str:
        ratios = self.dual_ratios
        worst = int(self.program.members[int(np.argmax(ratios))]) % self.program.groups.count
        name = f"group {worst}"
        if self.program.groups.linear:
            name = "the skip connection" if worst == 0 else f"pattern {worst - 1}"
        words = f"largest norm {ratios.max(initial=0.0):.9g} of its bound, at {name}"
        if (bounds := self.bounds) is not None:
            scope = "all patterns but the planted ones" if self._leaves_out_planted else "all patterns"
            low, high = (value / self.program.penalty for value in (bounds.lower, bounds.upper))
            words += f"; over {scope} between {low:.9g} and {high:.9g} (branch and bound, {bounds.cones} nodes)"
        return words

    def _verdict(self) -> str:
        if self.row.get("verdict") is None:
            return "none: with noise or a penalty the gap alone says whether W is optimal"
        scope = self.row.get("patterns_proved")
        scope = f", for {scope} patterns" if scope else ""
        return f"{self.row['verdict']}, certificate {self.row.get('certificate')}{scope}"


def certificate(results: str | Path, trial_id: str, *, trust: bool = False) -> TrialCertificate:
    """Compute the weights, the dual and the certificate of a trial again, and compare its row with the stored one.

    results: the results folder. trial_id: the id of the trial; a unique prefix is enough. trust: whether to run the
    user code that the results name.

    Raises `StoreError` for an unknown trial or a damaged folder, and `ParameterError` for a trial without a convex
    program.
    """
    grid = read(Path(results))
    trial = find_trial(grid, trial_id, trust=trust)
    cell = trial.cell.imported
    method = cell.method
    if not isinstance(method, ConvexMethod):
        raise ParameterError(
            f"{trial.id}: method {cell.coordinates.get('method', type(method).__name__)} solves no convex program; "
            "the trials of min_norm and regularized have certificates"
        )
    architecture = cell.architecture
    try:
        instance = draw_instance(trial)
        result = method(instance, architecture)
    except RecoverError as error:
        raise StoreError(f"{trial.id}: the trial fails: {error}; `recover replay` shows its row") from error
    evidence = result.evidence
    assert evidence is not None, "convex methods form a program"
    program, found = evidence.program, evidence.found
    if found is None:  # the verdict needed no weights, or no dual
        found = solve(program, method.solver)
    row: Row = {"trial_id": trial.id, "status": "ok", **checked(result, method.columns)}
    stored = stored_rows(grid, [trial]).get(trial.id)
    replayed = comparison(grid, [trial])(trial, row) if stored else Replayed(trial, row, [], "same")
    if not replayed.agrees:
        replayed = next(replay(grid, [trial]))
    proof = program, evidence.bounds, found.solution, found.certificate, row, stored
    return TrialCertificate(trial, instance, architecture, method, *proof, replayed.differences, replayed.agrees)
