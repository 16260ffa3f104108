"""Gated programs: ours against the same program through cvxpy with ECOS, Clarabel and SCS, on the same instance.

python -m benchmarks.gated [--quick] prints a Markdown table and writes it to benchmarks/gated.md. A ratio is the
conic solver's time over our median on that instance, within this run; the spread is our fastest and slowest run.
The last column compares the flops of the products that our solve needs with the machine's own matrix-product rate.
"""

import argparse
import resource
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks import machine, one_thread, written
from recovery.errors import SolverError
from recovery.instances.draw import Instance, Setting, draw
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
QUICK = [(title, architecture, planted, n // 4, d // 4, noise) for title, architecture, planted, n, d, noise in ROWS]


def timed(run: Callable[[], Measurement], repeats: int) -> tuple[list[float], Measurement]:
    """Sorted wall seconds of each run, and the last measurement."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        measured = run()
        seconds.append(time.perf_counter() - start)
    return sorted(seconds), measured


def product_rate(n: int = 1000) -> float:
    """Flops a second of a float64 matrix product on one thread: the best of five."""
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((2, n, n))
    best = np.inf
    for _ in range(5):
        start = time.perf_counter()
        A @ B
        best = min(best, time.perf_counter() - start)
    return 2 * n**3 / best


def flops(instance: Instance, measured: Measurement) -> float:
    """Flops of what one solve cannot do without: factors of X and two products to decide, and a step's products,
    Hadamard Hessian and Cholesky factor to solve. The sizes are those of plain groups.
    """
    n, d = instance.X.shape
    p = instance.patterns.shape[1]
    product = 2 * n * d * p
    if measured.certificate == "isometry":
        return 4 * n * d**2 + 2 * product
    return (measured.iterations or 0) * (2 * product + n**2 * p + n**3 / 3)


def compare(row: tuple[str, str, Planted, int, int, float], rate: float) -> str:
    """One line of the table."""
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
    reached = f"{flops(instance, ours) / median / rate:.0%}" if architecture == "relu_skip" else "-"
    return (
        f"| {title} | {architecture} | ({n}, {d}, {noise:g}) | {1e3 * median:.3g} ms, {ours.certificate}, gap {gap} | "
        + " | ".join(cells)
        + f" | {reached} |"
    )


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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a quarter of the sizes, for trying the script")
    quick = parser.parse_args().quick
    with one_thread():
        beyond = large(1000, 250) if quick else large(4000, 1000)  # first: peak memory is the process's own
        rate = product_rate()
        lines = [
            "| program | architecture | (n, d, sigma) | recover | "
            + " | ".join(f"cvxpy + {name}" for name in CONIC)
            + " | of product rate |",
            "|" + "---|" * (5 + len(CONIC)),
            *[compare(row, rate) for row in (QUICK if quick else ROWS)],
            "",
            beyond,
            "",
            f"One thread, {rate / 1e9:.1f} GFLOP/s in a matrix product, {machine()}",
        ]
    written(__file__, lines, kept=not quick)


if __name__ == "__main__":
    main()
