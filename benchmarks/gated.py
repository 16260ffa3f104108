"""Gated programs: ours against the same program through cvxpy with ECOS, Clarabel and SCS, on the same instance.

python -m benchmarks.gated prints a Markdown table and writes it to benchmarks/gated.md. A ratio is the
conic solver's time over our median on that instance, within this run; the spread is our fastest and slowest run.
"""

import resource
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks import machine, one_thread, table, written
from recovery.errors import SolverError
from recovery.instances.draw import Setting, draw
from recovery.instances.planted import Linear, NormalizedRelu, Planted
from recovery.methods.method import Measurement
from recovery.methods.min_norm import MinNorm
from recovery.programs.architecture import ARCHITECTURES
from recovery.solvers.conic import installed_solvers

CONIC = [name for name in ("ECOS", "CLARABEL", "SCS") if name in installed_solvers()]
ROWS: list[tuple[str, str, Planted, int, int, float]] = [
    ("noiseless, linear neuron", "relu_skip", Linear(), 400, 100, 0.0),
    ("noisy, linear neuron", "relu_skip", Linear(), 400, 100, 0.1),
    ("noisy, two opposite neurons", "relu_norm", NormalizedRelu(k=2, geometry="opposite"), 400, 80, 0.1),
]


def timed(run: Callable[[], Measurement], repeats: int) -> tuple[list[float], Measurement]:
    """Sorted wall seconds of each run, and the last measurement."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        measured = run()
        seconds.append(time.perf_counter() - start)
    return sorted(seconds), measured


def compare(row: tuple[str, str, Planted, int, int, float]) -> list[str]:
    """Return the cells of one row."""
    title, architecture, planted, n, d, noise = row
    instance = draw(Setting(n, d, planted=planted, noise=noise), np.random.default_rng(1))
    seconds, ours = timed(partial(MinNorm(), instance, ARCHITECTURES[architecture]), 9)
    median = seconds[len(seconds) // 2]
    cells = []
    for name in CONIC:
        try:
            theirs, other = timed(partial(MinNorm(solver=name), instance, ARCHITECTURES[architecture]), 1)
        except SolverError as error:
            cells.append(f"failed: {str(error)[:40]}")
            continue
        low, high = theirs[0] / seconds[-1], theirs[0] / seconds[0]
        cells.append(f"{theirs[0]:.3g} s: {theirs[0] / median:,.0f}x ({low:,.0f} to {high:,.0f}), gap {other.gap:.0e}")
    gap = "none needed" if ours.gap is None else f"{ours.gap:.0e}"
    own = f"{1e3 * median:.3g} ms, {ours.certificate}, gap {gap}"
    return [title, architecture, f"({n}, {d}, {noise:g})", own, *cells]


def large(n: int, d: int) -> str:
    """One noiseless trial beyond what a conic solver can hold."""
    start = time.perf_counter()
    instance = draw(Setting(n, d), np.random.default_rng(1))
    drawn = time.perf_counter() - start
    seconds, ours = timed(partial(MinNorm(), instance, ARCHITECTURES["relu_skip"]), 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return (
        f"n = {n}, d = {d}, noiseless: drawn in {drawn:.2f} s, decided in {seconds[0]:.2f} s "
        f"({ours.verdict} by {ours.certificate}), peak memory of the process {peak:.2f} GiB."
    )


def main() -> None:
    solvers = [f"cvxpy + {name}" for name in CONIC]
    columns = ("program", "architecture", "(n, d, sigma)", "recover", *solvers)
    with one_thread():
        beyond = large(4000, 1000)  # first: peak memory is the process's own
        lines = table(columns, (compare(row) for row in ROWS))
    written(__file__, [*lines, "", beyond, "", f"One thread, {machine()}"])


if __name__ == "__main__":
    main()
