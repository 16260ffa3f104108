"""Exact programs: agreement with cvxpy, and time against the same program through cvxpy, on the same instance.

python -m benchmarks.exact [--quick] prints Markdown and writes it to benchmarks/exact.md. Three parts: 120 small
instances of every architecture and both forms against Clarabel at tight tolerances; our solver against ECOS, Clarabel,
and Clarabel on our solver's final working set (the inner method that was not kept); the largest cell, ours alone.
"""

import argparse
import resource
import time
from dataclasses import replace

import numpy as np

from benchmarks import machine, one_thread, written
from benchmarks.verdicts import NAMES
from recovery.errors import SolverError
from recovery.instances.draw import Setting, draw
from recovery.instances.patterns import Patterns
from recovery.instances.planted import Linear, NormalizedRelu, Planted, Relu
from recovery.programs.architecture import ARCHITECTURES
from recovery.programs.certificate import Certificate, certify
from recovery.programs.exact import ExactProgram
from recovery.programs.solution import Solution
from recovery.solvers.cones import solve_cones
from recovery.solvers.conic import installed_solvers, solve_conic

TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
BETAS = (None, 1e-3, 0.1)


def problem(
    architecture: str, n: int, d: int, noise: float, beta: float | None, seed: int, count: int | None = None
) -> ExactProgram:
    planted: Planted = Linear()
    if not architecture.endswith("_skip"):
        planted = NormalizedRelu(k=2) if architecture == "relu_norm" else Relu(k=2, signs="alternating")
    patterns = Patterns() if count is None else Patterns(count=count)
    instance = draw(Setting(n, d, planted=planted, noise=noise, patterns=patterns), np.random.default_rng(seed))
    return ExactProgram(
        replace(ARCHITECTURES[architecture].groups(instance.X, instance.patterns), confined=False), instance.y, beta
    )


def agreement(seeds: int) -> str:
    """The worst of many small instances."""
    worst = {"difference": 0.0, "gap": 0.0, "cone": 0.0, "residual": 0.0}
    count = 0
    for seed in range(seeds):
        for architecture in NAMES:
            rng = np.random.default_rng(seed)
            n, d, noise = int(rng.integers(5, 16)), int(rng.integers(2, 8)), float(rng.choice([0.0, 0.1, 0.5]))
            program = problem(architecture, n, d, noise, BETAS[seed % 3], seed, count=12)
            ours = certify(program, solve_cones(program))
            theirs = certify(program, solve_conic(program, "CLARABEL", options=TIGHT))
            count += 1
            worst["difference"] = max(worst["difference"], abs(ours.objective / theirs.objective - 1))
            worst["gap"] = max(worst["gap"], abs(ours.gap))
            worst["cone"] = max(worst["cone"], ours.cone_violation)
            worst["residual"] = max(worst["residual"], ours.primal_residual)
    return (
        f"{count} small instances (four architectures, interpolation and two betas): objective within "
        f"{worst['difference']:.0e} of Clarabel's, gap at most {worst['gap']:.0e}, cones violated by at most "
        f"{worst['cone']:.0e}, residual at most {worst['residual']:.0e}."
    )


def timed(program: ExactProgram, repeats: int) -> tuple[list[float], Solution, Certificate]:
    seconds = []
    for _ in range(repeats):
        fresh = ExactProgram(program.groups, program.y, program.beta)
        start = time.process_time()
        solution = solve_cones(fresh)
        certificate = certify(fresh, solution)
        seconds.append(time.process_time() - start)
    return sorted(seconds), solution, certificate


def compare(n: int, d: int, noise: float, beta: float | None, architecture: str = "relu_skip") -> str:
    """One line of the table."""
    program = problem(architecture, n, d, noise, beta, 1)
    seconds, solution, certificate = timed(program, 5)
    median = seconds[2]
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
        gap = certify(program, other).gap
        cells.append(f"{taken:.3g} s: {taken / median:,.0f}x, gap {gap:.0e}")
    form = "interpolation" if beta is None else f"beta {beta:g}"
    return (
        f"| {architecture}, {form} | ({n}, {d}, {noise:g}) | {median:.3g} s ({seconds[0]:.3g} to {seconds[-1]:.3g}), "
        f"{solution.iterations} steps, gap {certificate.gap:.0e} | " + " | ".join(cells) + " |"
    )


def largest(n: int, d: int) -> str:
    program = problem("relu_skip", n, d, 0.1, None, 1)
    solve_cones(problem("relu_skip", 20, 5, 0.1, None, 1))  # loads the compiled code
    seconds, solution, certificate = timed(program, 3)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return (
        f"({n}, {d}, 0.1), {len(program.members)} signed groups: {seconds[1]:.3g} s with its certificate "
        f"({seconds[0]:.3g} to {seconds[2]:.3g}), gap {certificate.gap:.0e}, {solution.iterations} steps, peak memory "
        f"of the process {peak:.2f} GiB."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, for trying the script")
    quick = parser.parse_args().quick
    with one_thread():
        beyond = largest(100, 25) if quick else largest(400, 100)  # first: peak memory is the process's own
        lines = [
            agreement(2 if quick else 30),
            "",
            "| program | (n, d, sigma) | recover | cvxpy + ECOS | cvxpy + Clarabel | Clarabel, active groups only |",
            "|---|---|---|---|---|---|",
            compare(*((30, 15) if quick else (100, 60)), 0.1, None),
            compare(*((30, 15) if quick else (100, 60)), 0.1, 1e-6),
            compare(*((24, 6) if quick else (80, 20)), 0.1, None, "relu_norm"),
            "",
            beyond,
            "",
            f"Processor time, one thread, {machine()}",
        ]
    written(__file__, lines, kept=not quick)


if __name__ == "__main__":
    main()
