"""Regularised gated programs: ours against solvers that experts would take, on the same instance to the same gap.

uv pip install 'recovery-lab[peers]'; python -m benchmarks.peers [--limit S] [--to FILE]      writes peers.md

celer and skglm (coordinate descent on working sets), adelie (group elastic net), pyscnn (the field's own package:
R-FISTA, and its augmented Lagrangian for exact programs) and Clarabel by cvxpy, noise 0.1: architecture `relu`, and
`relu_skip`, where few groups are active. All of them run at two cells, celer and skglm at every one. Each solves
in a process of its own, on one thread, to a gap of 1e-9 by our certificate of its weights, with the dual
y - F(W). A rival's own tolerance is another thing, so it gets a tighter one until the gap is reached: only the run that
reaches it is timed, in processor time, compiled before. A run that has not ended after the limit, with all before it,
is stopped; the cell then has the least gap so far. Ours asks for the same gap, and is the median of five.
"""

import argparse
import math
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks import machine, one_thread, resumed, table, written
from recovery.instances.draw import Setting, draw
from recovery.instances.patterns import patterns_of
from recovery.programs.architecture import ARCHITECTURES
from recovery.programs.certificate import certify
from recovery.programs.exact import ExactProgram
from recovery.programs.program import GatedProgram
from recovery.programs.solution import Solution
from recovery.solvers.cones import solve_cones
from recovery.solvers.conic import solve_conic
from recovery.solvers.newton import solve_newton
from recovery.types import Array

SIZES = ((220, 60), (400, 25), (400, 60), (800, 20))
SKIPS = ((400, 25), (800, 20))
FRACTIONS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6)
"""beta over the least one at which all weights are zero."""
EXACT = (100, 25, 1e-2)
GAP = 1e-9
AL_TOLERANCES = (1e-6, 1e-8, 1e-10, 1e-12)
TIGHTER = 10.0


class Problem:
    """One draw: X, y, gates (d, p) whose patterns on X are distinct, and beta."""

    def __init__(self, n: int, d: int, fraction: float, architecture: str = "relu") -> None:
        rng = np.random.default_rng(1)
        instance = draw(Setting(n, d, noise=0.1), rng)
        self.X, self.y = instance.X, instance.y
        gates = rng.standard_normal((d, max(n, 50)))
        gates = gates[:, np.unique(patterns_of(self.X, gates), axis=1, return_index=True)[1]]  # pyscnn's order too
        patterns = patterns_of(self.X, gates)
        self.gates, self.n, self.d = gates, n, d
        self.architecture = ARCHITECTURES[architecture]
        groups = self.architecture.groups(self.X, patterns)
        self.beta = fraction * float(groups.dual_norms(self.y).max())
        self.program = GatedProgram(groups, self.y, self.beta)
        self.exact = ExactProgram(replace(groups, confined=False), self.y, self.beta)

    def blocks(self) -> Array:
        """All A_g side by side, as rivals take them; formed before their time begins."""
        return np.asfortranarray(self.program.groups.columns(np.arange(self.program.groups.count)))

    def gap(self, W: Array) -> float:
        return certify(self.program, Solution(W, self.y - self.program.forward(W))).gap


def celer(problem: Problem) -> Callable[[float], Array]:
    from celer import GroupLasso

    A = problem.blocks()

    def solve(tolerance: float) -> Array:
        most = {"max_iter": 100_000, "max_epochs": 1_000_000}
        penalty = problem.beta / problem.n
        model = GroupLasso(groups=problem.d, alpha=penalty, tol=tolerance, fit_intercept=False, **most)
        return model.fit(A, problem.y).coef_.reshape(-1, problem.d)

    return solve


def skglm(problem: Problem) -> Callable[[float], Array]:
    from skglm.datafits import QuadraticGroup
    from skglm.penalties import WeightedGroupL2
    from skglm.solvers import GroupBCD
    from skglm.utils.data import grp_converter

    A = problem.blocks()
    indices, pointers = grp_converter(problem.d, A.shape[1])
    penalty = WeightedGroupL2(problem.beta / problem.n, np.ones(A.shape[1] // problem.d), pointers, indices)
    datafit = QuadraticGroup(pointers, indices)

    def solve(tolerance: float) -> Array:
        solver = GroupBCD(max_iter=100_000, max_epochs=100_000, tol=tolerance * problem.beta / problem.n)
        w = solver.solve(A, problem.y, datafit, penalty)[0]
        return np.asarray(w).reshape(-1, problem.d)

    return solve


def adelie(problem: Problem) -> Callable[[float], Array]:
    import adelie as ad

    A = problem.blocks()
    starts = np.arange(0, A.shape[1], problem.d)

    def solve(tolerance: float) -> Array:
        state = ad.grpnet(
            *(A, ad.glm.gaussian(problem.y)),
            **{"groups": starts, "penalty": np.ones(len(starts)), "lmda_path": np.array([problem.beta / problem.n])},
            **{"intercept": False, "tol": tolerance, "max_iters": 10**9, "early_exit": False, "progress_bar": False},
        )
        return np.asarray(state.betas[-1].todense()).reshape(-1, problem.d)

    return solve


def pyscnn(problem: Problem, exact: bool = False) -> Callable[[float], Array]:
    from scnn.metrics import Metrics
    from scnn.models import ConvexGatedReLU, ConvexReLU
    from scnn.optimize import optimize_model
    from scnn.regularizers import NeuronGL1
    from scnn.solvers import AL, RFISTA

    def solve(tolerance: float) -> Array:
        if exact:
            model = ConvexReLU(problem.gates)
            solver = AL(model, tol=tolerance, constraint_tol=tolerance)
        else:
            model = ConvexGatedReLU(problem.gates)
            solver = RFISTA(model, max_iters=10**7, tol=tolerance)
        penalty = NeuronGL1(problem.beta / problem.n)
        how = {"regularizer": penalty, "return_convex": True, "unitize_data": False, "dtype": "float64"}
        model, _ = optimize_model(model, solver, Metrics(), problem.X, problem.y, **how)
        return np.concatenate([np.asarray(part).reshape(-1, problem.d) for part in model.parameters])

    return solve


def clarabel(problem: Problem) -> Callable[[float], Array]:
    def solve(tolerance: float) -> Array:
        options = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), tolerance)
        return solve_conic(problem.program, "CLARABEL", options=options).W

    return solve


RIVALS: dict[str, tuple[Callable[[Problem], Callable[[float], Array]], float]] = {
    "celer": (celer, 1e-7),
    "skglm": (skglm, 1e-3),
    "adelie": (adelie, 1e-7),
    "pyscnn": (pyscnn, 1e-6),
    "clarabel": (clarabel, 1e-9),
}
"""Name -> what solves, and its first tolerance."""
EVERYWHERE = ("celer", "skglm")


def runs(
    name: str, n: int, d: int, fraction: float, architecture: str, limit: float, least: float = GAP
) -> Iterator[str]:
    """`seconds gap` of each run, tighter by TIGHTER from one to the next, until the least gap is reached."""
    make, tolerance = RIVALS[name]
    make(Problem(20, 3, 0.1))(1e-2)  # what compiles does so here
    problem = Problem(n, d, fraction, architecture)
    solve = make(problem)
    gap = np.inf
    # the processor time of all runs together, without what loads and compiles
    spent = math.ceil(time.process_time())
    resource.setrlimit(resource.RLIMIT_CPU, (spent + math.ceil(limit), spent + math.ceil(limit) + 10))
    while not gap <= least and tolerance > 1e-20:
        start = time.process_time()
        W = solve(tolerance)
        seconds = time.process_time() - start
        gap = problem.gap(W)
        yield f"{seconds} {gap}"
        tolerance /= TIGHTER


def rival(
    name: str, n: int, d: int, fraction: float, architecture: str, limit: float, least: float = GAP
) -> tuple[float, ...] | None:
    """Seconds and gap of the first run within `least`, else within twice the least gap found; None: no run ended."""
    line = [sys.executable, "-m", "benchmarks.peers", "--one", name, str(n), str(d), str(fraction), architecture]
    ended = subprocess.run([*line, "--limit", str(limit), "--gap", str(least)], capture_output=True, text=True)
    if ended.returncode not in (0, -signal.SIGXCPU):
        raise RuntimeError(f"{name}: {ended.stderr[-2000:]}")
    done = [tuple(map(float, row.split()[1:])) for row in ended.stdout.splitlines() if row.startswith("run ")]
    wanted = max(least, 2 * min((gap for _, gap in done), default=np.inf))
    return next((one for one in done if one[1] <= wanted), None)


def ours(problem: Problem, least: float = GAP) -> tuple[float, Solution]:
    """Processor seconds with the certificate, median of 5, on a program with empty caches."""
    seconds = []
    for _ in range(5):
        patterns = problem.program.groups.patterns[:, int(problem.architecture.skip) :]
        groups = problem.architecture.groups(problem.X, patterns)
        program = GatedProgram(groups, problem.y, problem.beta)
        start = time.process_time()
        solution = solve_newton(program, tolerance=least)
        certify(program, solution)
        seconds.append(time.process_time() - start)
    return float(np.median(seconds)), solution


def row(n: int, d: int, fraction: float, architecture: str, names: Collection[str], limit: float) -> list[str]:
    """Return the cells of one row."""
    problem = Problem(n, d, fraction, architecture)
    seconds, solution = ours(problem)
    certificate = certify(problem.program, solution)
    cells = []
    for name in RIVALS:
        ended = rival(name, n, d, fraction, architecture, limit) if name in names else None
        if name not in names:
            cells.append("")
        elif ended is None:
            cells.append(f"no run ended: over {limit / seconds:,.0f}x")
        else:
            theirs, gap = ended
            least = "" if gap <= GAP else f", gap {gap:.0e} at best"
            cells.append(f"{theirs:.3g} s: {theirs / seconds:,.1f}x{least}")
    own = f"{1e3 * seconds:.3g} ms, gap {certificate.gap:.0e}, {certificate.active_groups} groups"
    return [f"{architecture} ({n}, {d}), {fraction:.0e}", own, *cells]


def cells() -> Iterator[tuple[int, int, float, str, Collection[str]]]:
    """Yield arguments of `row` for each row."""
    for architecture, sizes in (("relu", SIZES), ("relu_skip", SKIPS)):
        for (n, d), fraction in product(sizes, FRACTIONS):
            everyone = architecture == "relu" and (n, d) == SIZES[0] and fraction in (1e-1, 1e-3)
            yield n, d, fraction, architecture, list(RIVALS) if everyone else EVERYWHERE


def exact_rows() -> Iterator[list[str]]:
    """Yield a row per run of pyscnn's augmented Lagrangian on the exact program, tighter by TIGHTER^2 each.

    Next to it is ours to a tenth of how far its objective is above the optimum, and at its tightest.
    """
    problem = Problem(*EXACT)
    program = problem.exact

    def timed(tolerance: float) -> tuple[float, float]:
        seconds = []
        for _ in range(5):
            fresh = Problem(*EXACT).exact
            start = time.process_time()
            best = certify(fresh, solve_cones(fresh, tolerance=tolerance))
            seconds.append(time.process_time() - start)
        return float(np.median(seconds)), best.gap

    best = certify(program, solve_cones(program)).objective  # compiles too
    whole, gap = timed(1e-8)
    yield ["ours", f"{whole:.3g}", "1x", "", "", f"1x, {gap:.0e}"]
    solve = pyscnn(problem, exact=True)
    for tolerance in AL_TOLERANCES:
        start = time.process_time()
        W = solve(tolerance)
        theirs = time.process_time() - start
        above = program.objective(W) / best - 1
        own, gap = timed(max(0.1 * above, 1e-8))
        times = (f"{theirs:.3g}", f"{theirs / whole:,.0f}x", f"{above:.1e}", f"{program.cone_violation(W):.0e}")
        yield [f"{tolerance:.0e}", *times, f"{theirs / own:,.0f}x, {gap:.0e}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=30.0, help="processor seconds of a rival on an instance")
    parser.add_argument("--one", nargs=5, metavar=("RIVAL", "N", "D", "FRACTION", "ARCHITECTURE"), help="its runs")
    parser.add_argument("--gap", type=float, default=GAP, help="relative gap that the rival has to reach")
    parser.add_argument("--to", type=Path, default=Path(), help="JSON file of the rows so far")
    given = parser.parse_args()
    if given.one:
        name, n, d, fraction, architecture = given.one
        for line in runs(name, int(n), int(d), float(fraction), architecture, given.limit, given.gap):
            print("run", line, flush=True)
        return
    rows = resumed(given.to, [(*cell, given.limit) for cell in cells()], row)
    lines = [f"{machine()} One thread, processor time; limit {given.limit:g} s.", ""]
    lines += [*table(("architecture (n, d), beta / largest", "recover", *RIVALS), rows), ""]
    n, d, fraction = EXACT
    columns = ("tolerance of pyscnn's AL", "s", "over ours", "objective above ours", "cones violated by")
    lines += [f"Exact program, ({n}, {d}), {fraction:.0e}:", "", *table((*columns, "over ours, gap"), exact_rows())]
    written(__file__, lines)


if __name__ == "__main__":
    with one_thread():
        main()
