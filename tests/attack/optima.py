"""An attack on the proved optimum of training: `python -m tests.attack.optima [DRAWS [STARTS]] [--jobs N]`.

A draw has d = 2, at most 8 rows of one family, and one architecture. The optimum is computed again by Clarabel with a
pair of cones for each enumerated pattern, and networks are trained from many starts. Prints by family how many optima
agree, the lowest excess less the proved gap, and in how many draws a start reaches the optimum. Ends with status 1 if a
network is below the proved bound, or an optimum is wrong.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from joblib import Parallel, delayed

from recovery.instances.draw import Instance
from recovery.methods.train import Train
from recovery.programs.architecture import ARCHITECTURES
from recovery.types import Array, Rng
from tests.training.test_excess import BETA, FIELDS, enumerated, instance

WRONG = 1e-5
"""Relative distance of the two optima that is no rounding error of Clarabel."""
REACHED = 1e-5
"""Largest excess of a start that reaches the optimum."""
FAMILIES: dict[str, Callable[[Rng, Array], Array]] = {
    "gaussian": lambda rng, X: X,
    "repeated rows": lambda rng, X: X[rng.integers(0, max(len(X) // 2, 1), len(X))],
    "opposite rows": lambda rng, X: np.vstack([X[: len(X) // 2], -X[: len(X) - len(X) // 2]]),
    "zero rows": lambda rng, X: X * (rng.random((len(X), 1)) < 0.6),
    "integers": lambda rng, X: np.round(2 * X),
    "units of 0.01 and 100": lambda rng, X: X * np.array([0.01, 100.0]),
    "one line": lambda rng, X: np.outer(X[:, 0], [1.0, 2.0]),
}


def drawn(number: int, family: str) -> Instance:
    """Return draw `number`: two planted neurons with noise, on rows of the family."""
    rng = np.random.default_rng((97006855, number))
    inst = instance(int(rng.integers(1, 9)), 2, number)
    X = FAMILIES[family](rng, inst.X)
    signal = inst.planted.labels(X)
    y = signal + 0.1 * rng.standard_normal(len(X))
    return replace(inst, X=X, y=y, signal=signal, draw_patterns=lambda: np.ones((len(X), 1), dtype=np.bool_))


def attacked(number: int, starts: int) -> tuple[str, str, tuple[bool, float, bool]]:
    """Return the family of a draw, a line that says what is wrong ("" if nothing is), and what was found.

    Found are whether the two optima agree, the lowest excess less the proved gap, and whether a start reaches it.
    """
    family, name = list(FAMILIES)[number % len(FAMILIES)], ("relu", "relu_skip")[number % 2]
    inst = drawn(number, family)
    # every network is 0 on rows that are all zero
    least = enumerated(inst, BETA, name == "relu_skip") if inst.X.any() else float(inst.y @ inst.y) / 2
    method = Train(**FIELDS)
    rows = [replace(method, start=start)(inst, ARCHITECTURES[name]) for start in range(starts)]
    right = abs(rows[0]["optimum"] - least) <= WRONG * abs(least) + 1e-9
    below = min(row["excess"] + row["optimum_gap"] for row in rows)
    wrong = f"draw {number}, {family}, {name}: optimum {rows[0]['optimum']!r}, {least!r}, below {below:.3g}\n"
    found = (right, below, min(row["excess"] for row in rows) <= REACHED)
    return family, "" if right and below >= -1e-9 else wrong, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("draws", type=int, nargs="?", default=200)
    parser.add_argument("starts", type=int, nargs="?", default=500)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    found: dict[str, list[tuple[bool, float, bool]]] = {family: [] for family in FAMILIES}
    each_draw = Parallel(n_jobs=given.jobs)(delayed(attacked)(number, given.starts) for number in range(given.draws))
    for family, wrong, result in each_draw:
        print(wrong, end="")
        found[family].append(result)
    print(
        "| family | draws | optima agree | least excess + gap | reached by a start |\n| --- | --- | --- | --- | --- |"
    )
    for family, each in found.items():
        if each:
            right, reached = sum(one[0] for one in each), sum(one[2] for one in each)
            print(f"| {family} | {len(each)} | {right} | {min(one[1] for one in each):.1e} | {reached} |")
    sys.exit(any(not right or below < -1e-9 for each in found.values() for right, below, _ in each))


if __name__ == "__main__":
    main()
