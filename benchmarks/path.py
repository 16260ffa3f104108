"""A regularisation path of twenty beta against twenty solves from nothing, on the same instances.

python -m benchmarks.path      writes path.md
"""

import time
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks import machine, one_thread, written
from recovery.instances.draw import Setting, draw
from recovery.programs.architecture import ARCHITECTURES
from recovery.programs.certificate import Certificate, certify
from recovery.programs.groups import Groups
from recovery.programs.program import GatedProgram
from recovery.solvers.newton import solve_newton
from recovery.solvers.path import largest_beta, solve_path
from recovery.types import Array

SIZES = ((220, 60), (400, 25), (400, 60))
ENDS = (1e-1, 1e-3)
COUNT, REPEATS = 20, 3

Solved = list[tuple[int, Certificate]]


def alone(groups: Callable[[], Groups], y: Array, betas: Sequence[float]) -> Solved:
    """Steps and certificate of each beta, solved on a program with empty caches."""
    programs = [GatedProgram(groups(), y, beta) for beta in betas]
    solutions = [(program, solve_newton(program)) for program in programs]
    return [(solution.iterations, certify(program, solution)) for program, solution in solutions]


def path(groups: Callable[[], Groups], y: Array, betas: Sequence[float]) -> Solved:
    return [(point.solution.iterations, point.certificate) for point in solve_path(groups(), y, betas)]


def row(architecture: str, n: int, d: int, end: float) -> str:
    instance = draw(Setting(n, d, noise=0.1), np.random.default_rng(1))

    def groups() -> Groups:
        return ARCHITECTURES[architecture].groups(instance.X, instance.patterns)

    betas = list(largest_beta(groups(), instance.y) * np.geomspace(0.95, end, COUNT))
    seconds: dict[str, list[float]] = {"alone": [], "path": []}
    solved: dict[str, Solved] = {}
    for _ in range(REPEATS):
        for name, solve in (("alone", alone), ("path", path)):
            start = time.process_time()
            solved[name] = solve(groups, instance.y, betas)
            seconds[name].append(time.process_time() - start)
    ratios = np.array(seconds["alone"]) / seconds["path"]
    both = [
        f"{1e3 * np.median(seconds[name]):.0f} ms, {sum(steps for steps, _ in solved[name])} steps, "
        f"gap {max(certificate.gap for _, certificate in solved[name]):.0e}"
        for name in ("alone", "path")
    ]
    spread = f"{np.median(ratios):.2f} ({ratios.min():.2f} to {ratios.max():.2f})"
    return f"| {architecture} ({n}, {d}) | 0.95 to {end:g} | {both[0]} | {both[1]} | {spread} |"


def main() -> None:
    lines = ["| program | beta / largest | twenty solves | a path | solves / path |", "|---|---|---|---|---|"]
    with one_thread():
        for architecture in ("relu", "relu_skip"):
            for n, d in SIZES:
                for end in ENDS:
                    lines.append(row(architecture, n, d, end))
                    print(lines[-1], flush=True)
    written(__file__, [*lines, "", f"One thread, processor time, largest gap; {machine()}"])


if __name__ == "__main__":
    main()
