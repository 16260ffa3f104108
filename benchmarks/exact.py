"""Exact programs: time against the same program through cvxpy, on the same instance.

python -m benchmarks.exact writes exact.md: our solver against ECOS, Clarabel, and Clarabel on our solver's final
working set (the inner method that was not kept); then the largest cell, ours alone. tests/solvers compares the optima.
"""

import resource
import time

import numpy as np

from benchmarks import machine, one_thread, table, written
from recovery.errors import SolverError
from recovery.instances.draw import Setting, draw
from recovery.instances.planted import Linear, NormalizedRelu, Planted
from recovery.programs.certificate import Certificate, certify
from recovery.programs.exact import ExactProgram
from recovery.programs.solution import Solution
from recovery.solvers.cones import solve_cones
from recovery.solvers.conic import installed_solvers, solve_conic
from tests.solvers.instances import wide_program


def problem(architecture: str, n: int, d: int, noise: float, beta: float | None) -> ExactProgram:
    planted: Planted = NormalizedRelu(k=2) if architecture == "relu_norm" else Linear()
    instance = draw(Setting(n, d, planted=planted, noise=noise), np.random.default_rng(1))
    return wide_program(architecture, instance, beta)


def timed(program: ExactProgram, repeats: int) -> tuple[list[float], Solution, Certificate]:
    seconds = []
    for _ in range(repeats):
        fresh = ExactProgram(program.groups, program.y, program.beta)
        start = time.process_time()
        solution = solve_cones(fresh)
        certificate = certify(fresh, solution)
        seconds.append(time.process_time() - start)
    return sorted(seconds), solution, certificate


def compare(n: int, d: int, noise: float, beta: float | None, architecture: str) -> list[str]:
    """Return the cells of one row."""
    program = problem(architecture, n, d, noise, beta)
    seconds, solution, certificate = timed(program, 5)
    norms = program.norms(solution.W)
    working = np.flatnonzero(norms > 1e-7 * norms.max())
    cells = []
    for name, chosen in (("ECOS", None), ("CLARABEL", None), ("CLARABEL", working)):
        if name not in installed_solvers():
            cells.append("not installed")
            continue
        start = time.process_time()
        try:
            other = solve_conic(program, name, chosen=chosen)
        except SolverError as error:
            cells.append(f"failed after {time.process_time() - start:.3g} s: {str(error)[:30]}")
            continue
        taken = time.process_time() - start
        cells.append(f"{taken:.3g} s: {taken / seconds[2]:,.0f}x, gap {certify(program, other).gap:.0e}")
    form = "interpolation" if beta is None else f"beta {beta:g}"
    ours = f"{seconds[2]:.3g} s ({seconds[0]:.3g} to {seconds[-1]:.3g}), {solution.iterations} steps"
    return [f"{architecture}, {form}", f"({n}, {d}, {noise:g})", f"{ours}, gap {certificate.gap:.0e}", *cells]


def largest(n: int, d: int) -> str:
    """Return a sentence about the largest cell, ours alone."""
    program = problem("relu_skip", n, d, 0.1, None)
    solve_cones(problem("relu_skip", 20, 5, 0.1, None))  # loads the compiled code
    seconds, solution, certificate = timed(program, 3)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return (
        f"({n}, {d}, 0.1), {len(program.members)} signed groups: {seconds[1]:.3g} s with its certificate "
        f"({seconds[0]:.3g} to {seconds[2]:.3g}), gap {certificate.gap:.0e}, {solution.iterations} steps, peak memory "
        f"of the process {peak:.2f} GiB."
    )


def main() -> None:
    rivals = ("cvxpy + ECOS", "cvxpy + Clarabel", "Clarabel, active groups only")
    rows = ((100, 60, 0.1, None, "relu_skip"), (100, 60, 0.1, 1e-6, "relu_skip"), (80, 20, 0.1, None, "relu_norm"))
    with one_thread():
        beyond = largest(400, 100)  # first: peak memory is the process's own
        lines = table(("program", "(n, d, sigma)", "recover", *rivals), (compare(*row) for row in rows))
    written(__file__, [*lines, "", beyond, "", f"Processor time, one thread, {machine()}"])


if __name__ == "__main__":
    main()
