"""How processor time grows with n at d = n/4: noisy programs, exact and gated, ours and ECOS's up to where it ends.

python -m benchmarks.scaling [--quick] prints Markdown and writes it to benchmarks/scaling.md. One draw a size, one
thread. An exponent is the slope of least squares in the logarithms of n and of the time, from n = FITTED_FROM on.
"""

import argparse
import resource
import time
from collections.abc import Callable

import numpy as np

from benchmarks import machine, one_thread, written
from benchmarks.exact import problem
from recovery.errors import SolverError
from recovery.programs.certificate import certify
from recovery.programs.program import Program
from recovery.programs.solution import Solution
from recovery.solvers.conic import installed_solvers, solve_conic
from recovery.solvers.table import SOLVERS

SIZES = (25, 50, 100, 200, 400, 800)
FITTED_FROM = 50
LIMIT = 60.0
"""Seconds of one solve after which a solver gets no larger problem: ECOS runs out of memory soon after."""
NOISE, BETA = 0.1, 1e-6

Solve = Callable[[Program], Solution]


def ours(program: Program) -> Solution:
    return SOLVERS["auto"](program)


def ecos(program: Program) -> Solution:
    return solve_conic(program, "ECOS")


def programs(n: int) -> dict[str, Program]:
    """The exact and the gated program of one draw."""
    exact = problem("relu_skip", n, n // 4, NOISE, BETA, 1)
    return {"exact": exact, "gated": exact.gated}


def timed(solve: Solve, kind: str, n: int) -> tuple[float, str]:
    """Processor seconds with the certificate, and the cell of the table."""
    program = programs(n)[kind]
    start = time.process_time()
    try:
        gap = f"gap {certify(program, solve(program)).gap:.0e}"
    except SolverError as error:
        gap = str(error)[:40]
    taken = time.process_time() - start
    return taken, f"{taken:.3g} s, {gap}"


def exponent(seconds: dict[int, float]) -> str:
    """The fitted power of n, with its standard error where more than two sizes tell."""
    n, t = np.array([(n, t) for n, t in seconds.items() if n >= FITTED_FROM]).T
    if len(n) < 2:
        return "-"
    A = np.column_stack([np.ones_like(n), np.log(n)])
    (_, slope), square, *_ = np.linalg.lstsq(A, np.log(t))
    if len(n) == 2:
        return f"{slope:.2f}"
    error = np.sqrt(float(square[0]) / (len(n) - 2) * np.linalg.inv(A.T @ A)[1, 1])
    return f"{slope:.2f} +- {error:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, for trying the script")
    quick = parser.parse_args().quick
    sizes = SIZES[:3] if quick else SIZES
    columns: list[tuple[str, Solve, str]] = [("recover", ours, "exact"), ("recover", ours, "gated")]
    if "ECOS" in installed_solvers():
        columns += [("cvxpy + ECOS", ecos, "exact"), ("cvxpy + ECOS", ecos, "gated")]
    cells, exponents = [], []
    with one_thread():
        for _, solve, kind in columns:
            seconds: dict[int, float] = {}
            cells.append(["-"] * len(sizes))
            for i, n in enumerate(sizes):
                if seconds and max(seconds.values()) > LIMIT:
                    break
                seconds[n], cells[-1][i] = timed(solve, kind, n)
            exponents.append(exponent(seconds))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    lines = [
        "| (n, d) | " + " | ".join(f"{name}, {kind}" for name, _, kind in columns) + " |",
        "|---" * (1 + len(columns)) + "|",
        *[f"| ({n}, {n // 4}) | " + " | ".join(column[i] for column in cells) + " |" for i, n in enumerate(sizes)],
        f"| exponent of n, from {FITTED_FROM} | " + " | ".join(exponents) + " |",
        "",
        f"`relu_skip`, noise {NOISE:g}, beta = {BETA:g}, one draw a size; a solver stops after the first size "
        f"that takes {LIMIT:g} s. Peak memory of the process {peak:.2f} GiB. Processor time, one thread, {machine()}",
    ]
    written(__file__, lines, kept=not quick)


if __name__ == "__main__":
    main()
