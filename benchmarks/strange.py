"""Exact programs on strange data: which are left undecided?

python -m benchmarks.strange [--count N] draws N small exact programs of each of thirteen kinds, 650 in all, and solves
them with `auto`. Labels are those of neurons in the cones, with noise where the program is regularised: every program
has an optimum. What the certificate leaves undecided is put to Clarabel. Writes benchmarks/strange.md.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks import machine, one_thread, written
from benchmarks.verdicts import KINDS
from recovery.errors import SolverError
from recovery.instances.patterns import unique_patterns
from recovery.programs.architecture import ARCHITECTURES
from recovery.programs.certificate import Certificate, certify
from recovery.programs.exact import ExactProgram
from recovery.programs.solution import Solution
from recovery.solvers.table import SOLVERS
from recovery.types import Array, Rng

BETAS = (None, 1e-8, 1e-6, 1e-4, 1e-2, 1.0)
"""Bounds relative to the one from which on the gated optimum is zero."""


def _nearly_equal(rng: Rng, n: int, d: int) -> Array:
    X = rng.standard_normal((n, d))
    X[n // 2 :] = X[: n - n // 2] * (1.0 + 1e-9 * rng.standard_normal((n - n // 2, d)))
    return X


STRANGE: dict[str, Callable[[Rng, int, int], Array]] = {
    **KINDS,
    "nearly equal rows": _nearly_equal,
    "whole numbers times 1e8": lambda rng, n, d: 1e8 * rng.integers(-3, 4, (n, d)),
}
"""Kind -> matrix (n, d)."""


def strange_program(kind: str, seed: int) -> ExactProgram:
    """A program over a matrix of this kind, one in six with one row, one with few, one with many."""
    rng = np.random.default_rng([seed, 35])
    d = int(rng.integers(1, 7))
    n = (1, int(rng.integers(2, 6)), 40)[seed % 6] if seed % 6 < 3 else int(rng.integers(d, 4 * d + 1))
    X = STRANGE[kind](rng, n, d)
    architecture = list(ARCHITECTURES)[int(rng.integers(len(ARCHITECTURES)))]
    F = ARCHITECTURES[architecture].features(X)
    # whole directions meet rows of whole numbers exactly: there cones have no interior
    directions = rng.standard_normal((F.shape[1], 15))
    if seed % 2:
        directions = np.round(directions)
    patterns = unique_patterns(F, [F @ directions >= 0])
    if seed % 5 == 0:  # patterns twice, and sets of rows that are no pattern: their cones may be zero alone
        patterns = np.hstack([patterns, patterns[:, :2], rng.random((n, 3)) < 0.5])
    if not patterns.shape[1]:
        patterns = np.ones((n, 1), dtype=np.bool_)
    groups = ARCHITECTURES[architecture].groups(X, patterns)
    y = np.zeros(n)
    for h in directions[:, : int(rng.integers(1, 4))].T:
        y += rng.choice([-1.0, 1.0]) * np.maximum(F @ h, 0.0)
    beta = BETAS[int(rng.integers(len(BETAS)))]
    if beta is not None:
        y += rng.choice([0.1, 1.0]) * np.abs(y).max(initial=0.0) * rng.standard_normal(n)
        beta *= float(groups.adjoint_norms(y).max(initial=0.0)) or 1.0
    return ExactProgram(replace(groups, confined=False), y, beta)


def judged(program: ExactProgram, solver: str) -> Certificate | str:
    """The certificate of what a solver finds for the balanced program, as sweeps ask; or how it broke down."""
    even = program.balanced()
    assert isinstance(even, ExactProgram)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            solution: Solution = SOLVERS[solver].takes["exact"](even)
        return certify(program, solution if even is program else solution.unbalanced(program.groups.scales))
    except (SolverError, ArithmeticError, RuntimeWarning, np.linalg.LinAlgError) as error:
        return f"{type(error).__name__}: {error}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=50, help="programs of each kind")
    count = parser.parse_args().count
    lines = ["| matrices | programs | undecided | of them broken down | Clarabel decides |", "|---|---|---|---|---|"]
    total = np.zeros(4, dtype=int)
    start = time.process_time()
    with one_thread():
        for kind in STRANGE:
            row = np.zeros(4, dtype=int)
            for seed in range(count):
                program = strange_program(kind, seed)
                found = judged(program, "auto")
                row[0] += 1
                if isinstance(found, Certificate) and found.proves_optimal:
                    continue
                other = judged(program, "CLARABEL")
                decides = isinstance(other, Certificate) and other.proves_optimal
                row += (0, 1, isinstance(found, str), decides)
                shown = found if isinstance(found, str) else f"error {found.error:.1e}"
                print(f"{kind}, {seed}: {shown}{', Clarabel proves it' if decides else ''}", flush=True)
            lines.append(f"| {kind} | " + " | ".join(map(str, row)) + " |")
            total += row
    lines += ["| all | " + " | ".join(map(str, total)) + " |", ""]
    lines.append(f"{time.process_time() - start:.0f} s of processor time, one thread, {machine()}")
    written(__file__, lines, kept=count == 50)


if __name__ == "__main__":
    main()
