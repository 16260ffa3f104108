"""Are the exhaustive patterns of difficult matrices all of them?

python -m benchmarks.cells [--count N] draws N matrices of each kind of `benchmarks.verdicts` in two to four dimensions,
enumerates their cells, and compares with brute force: a linear program for every sign vector, and the number of cells
by deletion and restriction in whole numbers. Writes the counts to benchmarks/cells.md.
"""

import argparse
import itertools
from collections import Counter

import numpy as np
from scipy.optimize import linprog

from benchmarks import written
from benchmarks.verdicts import KINDS
from recovery.errors import ParameterError
from recovery.instances.arrangements import count_cells, enumerate_cells
from recovery.types import Array

CLEAR = 1e-9
"""A sign vector is a cell's where some direction keeps this distance from every hyperplane."""
FATES = ("equal", "refused", "different")


def brute_force(X: Array) -> set[bytes]:
    """The patterns (n,) of all cells of rows that are not zero, by 2^(n - 1) linear programs."""
    n, d = X.shape
    Z = X / np.linalg.norm(X, axis=1, keepdims=True)
    found = set()
    for rest in itertools.product((1.0, -1.0), repeat=n - 1):
        signs = np.array([1.0, *rest])
        farthest = linprog(
            np.append(np.zeros(d), -1.0),
            A_ub=np.column_stack([-signs[:, None] * Z, np.ones(n)]),
            b_ub=np.zeros(n),
            bounds=[(-1, 1)] * d + [(None, 1)],
        )
        if farthest.x is not None and farthest.x[-1] > CLEAR:
            found |= {(signs > 0).tobytes(), (signs < 0).tobytes()}
    return found


def compared(X: Array) -> str:
    """Return the outcome of a matrix: one of FATES."""
    try:
        patterns, _ = enumerate_cells(X)
        count = count_cells(X)
    except ParameterError:
        return "refused"
    live = X.any(axis=1)
    found = {column.tobytes() for column in patterns[live].T}
    same = found == brute_force(X[live]) and len(found) == patterns.shape[1] == count and patterns[~live].all()
    return "equal" if same else "different"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="matrices of each kind")
    options = parser.parse_args()
    lines = [f"| matrices | {' | '.join(FATES)} |", f"|{'---|' * 4}"]
    for kind, make in KINDS.items():
        counts: Counter[str] = Counter()
        for seed in range(options.count):
            rng = np.random.default_rng(seed)
            d = 2 + seed % 3
            counts[compared(make(rng, int(rng.integers(d, 8)), d))] += 1
        lines.append(f"| {kind} | {' | '.join(str(counts[fate]) for fate in FATES)} |")
        print(lines[-1], flush=True)
    written(__file__, lines)


if __name__ == "__main__":
    main()
