"""How the rows that a sweep needs grow with the number of variables: the n at which half of the draws are recovered at
each d, fitted by a + b log d, a + b log^4 d, a + b d and a power of d, weighted by the intervals.

    python -m benchmarks.growth [FOLDER ...]

A panel with at least four such n is fitted; chi-square beside its degrees of freedom says which law holds. The
folders are results/papers/p3-support and p3-support-lasso unless told otherwise.
"""

import sys
from pathlib import Path

import numpy as np
from scipy.stats import chi2

from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram
from recovery.store import read
from recovery.types import Array

PAPERS = Path(__file__).parents[1] / "results" / "papers"
LEAST = 4
TWO_SIDED = 1.96


def laws(d: Array, n: Array, error: Array) -> dict[str, tuple[str, float]]:
    """Each law's fit in words, and its chi-square: weighted least squares in n, for the power in log n."""
    one, log = np.ones_like(d), np.log(d)
    found = {}
    for name, column in {"a + b log d": log, "a + b log^4 d": log**4, "a + b d": d}.items():
        (a, b), square = fitted(np.column_stack([one, column]), n, error)
        found[name] = f"a = {a:.3g}, b = {b:.3g}", square
    (a, b), square = fitted(np.column_stack([one, log]), np.log(n), error / n)
    return found | {"a d^b": (f"a = {np.exp(a):.3g}, b = {b:.3g}", square)}


def fitted(columns: Array, values: Array, error: Array) -> tuple[Array, float]:
    """Weighted least squares, and the sum of squares of its residuals in standard errors."""
    weights, *_ = np.linalg.lstsq(columns / error[:, None], values / error, rcond=None)
    return weights, float(np.sum(((columns @ weights - values) / error) ** 2))


def main(folders: list[Path]) -> None:
    """A table of the fits, a folder after another."""
    for folder in folders:
        sizes = Analysis(Diagram.of(read(folder))).sizes()
        for panel in dict.fromkeys(row["panel"] for row in sizes):
            rows = [
                row for row in sizes if row["panel"] == panel and np.isfinite([row["n"], row["low"], row["high"]]).all()
            ]
            if len(rows) < LEAST:
                continue
            d, n, low, high = (np.array([row[name] for row in rows]) for name in ("d", "n", "low", "high"))
            points = ", ".join(
                f"{a:.1f} [{b:.1f}, {c:.1f}] at {size:g}" for a, b, c, size in zip(n, low, high, d, strict=True)
            )
            print(f"{' '.join([folder.name, panel])}: n = {points}\n")
            print("| law | fit | chi-square | p |\n|---|---|---|---|")
            for law, (words, square) in laws(d, n, (high - low) / (2 * TWO_SIDED)).items():
                freedom = len(rows) - 2
                print(f"| {law} | {words} | {square:.1f} on {freedom} | {chi2.sf(square, freedom):.2g} |")
            print()


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]] or [PAPERS / "p3-support", PAPERS / "p3-support-lasso"])
