"""The oracle over all patterns: its bounds against enumeration, what it settles, and what a search misses.

    python -m benchmarks.oracle [--instances 500] [--draws 100] [--out FILE.md]

Three tables. Against the exact value of every cell, d = 2 to 4, degenerate rows among them: instances whose bounds
differ from it by more than 1e-6, relative to sum_i |t_i| ||x_i||, and proofs that are wrong. By (d, n), Gaussian data
and the dual X (X^T X)^{-1} w*, both signs: draws settled (violated or proved to be at most 1 - 1e-7), seconds of
processor time, cones. And of the draws with a violator that a proof found, the share in which climbs from 4 n random
starts found none.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

from recovery.conditions.ascent import climb
from recovery.conditions.oracle import largest_neuron
from recovery.errors import ParameterError
from recovery.instances.arrangements import enumerate_cells
from recovery.programs.architecture import ARCHITECTURES
from recovery.types import Array

SIZES = [
    *((6, 8), (8, 10), (10, 13), (12, 16)),
    *((8, 12), (8, 16), (8, 24), (12, 18), (12, 24), (12, 36), (16, 24), (16, 32), (16, 48), (20, 60)),
]
LIMIT = 1.0 - 1e-7
KINDS = ("gaussian", "integers", "zero rows", "repeated", "opposite", "lower rank", "uneven", "nearly equal")


def spoiled(kind: str, rng: np.random.Generator) -> Array:
    d = int(rng.integers(2, 5))
    n = int(rng.integers(1, 12))
    X: Array = rng.standard_normal((n, d))
    if kind == "integers":
        X = rng.integers(-2, 3, (n, d)).astype(float)
    elif kind == "zero rows":
        X[rng.integers(n)] = 0.0
    elif kind == "repeated":
        X = X[rng.integers(0, n, n)]
    elif kind == "opposite":
        X[n // 2 :] = -X[: n - n // 2]
    elif kind == "lower rank":
        X[:, -1] = X[:, 0]
    elif kind == "uneven":
        X *= 10.0 ** rng.integers(-6, 7, (n, 1))
    elif kind == "nearly equal":
        X[n // 2 :] = X[: n - n // 2] + 1e-9 * rng.standard_normal((n - n // 2, d))
    return X


def against_enumeration(instances: int) -> list[str]:
    lines = ["| rows | compared | farther than 1e-6 | wrong | largest distance |", "|---|---|---|---|---|"]
    for number, kind in enumerate(KINDS):
        compared = far = wrong = 0
        largest = 0.0
        for seed in range(-(-instances // len(KINDS))):
            rng = np.random.default_rng([number, seed])
            X = spoiled(kind, rng)
            lam = rng.standard_normal(len(X)) if seed % 3 else rng.integers(-2, 3, len(X)).astype(float)
            size = float(np.abs(lam) @ np.linalg.norm(X, axis=1))
            try:
                cells, _ = enumerate_cells(X)
            except ParameterError:
                continue
            true = max(nnls((np.where(on, 1.0, -1.0)[:, None] * X).T, -(X.T @ (lam * on)))[1] for on in cells.T)
            found = largest_neuron(X, lam)
            compared += 1
            distance = max(found.upper - true, true - found.lower, 0.0) / size if size else 0.0
            largest = max(largest, distance)
            far += int(distance > 1e-6)
            wrong += int(found.upper < true - 1e-12 * size or found.lower > true + 1e-12 * size)
        lines.append(f"| {kind} | {compared} | {far} | {wrong} | {largest:.1e} |")
    return lines


def by_size(most: int) -> list[str]:
    lines = [
        "| d | n | settled | violated | missed by search | seconds: median | largest | cones: median | largest |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for d, n in SIZES:
        seconds, cones = [], []
        draws = -(-most // (10 if d > 16 else 5 if d == 16 else 1))
        settled = violated = missed = 0
        for draw in range(draws):
            rng = np.random.default_rng([d, n, draw])
            X, w = rng.standard_normal((n, d)), rng.standard_normal(d)
            lam = X @ np.linalg.solve(X.T @ X, w / np.linalg.norm(w))
            began = time.process_time()
            found = [largest_neuron(X, s * lam, limit=LIMIT, stop=True, nodes=10_000_000) for s in (1.0, -1.0)]
            seconds.append(time.process_time() - began)
            cones.append(sum(bounds.cones for bounds in found))
            above = any(bounds.lower > LIMIT for bounds in found)
            settled += above or all(bounds.upper < 1.0 for bounds in found)
            violated += above
            missed += above and not _climbed(X, lam, rng)
        lines.append(
            f"| {d} | {n} | {settled} of {draws} | {violated} | {missed} | {np.median(seconds):.3f} "
            f"| {max(seconds):.2f} | {int(np.median(cones))} | {max(cones)} |"
        )
        print(lines[-1], flush=True)
    return lines


def _climbed(X: Array, lam: Array, rng: np.random.Generator) -> bool:
    """Whether climbs reach a violator too."""
    groups = ARCHITECTURES["relu"].groups(X, np.ones((len(X), 1), dtype=np.bool_))
    starts = rng.standard_normal((X.shape[1], 4 * len(X)))
    return any(float(climb(groups, s * lam, starts)[1].max()) > LIMIT for s in (1.0, -1.0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=500)
    parser.add_argument("--draws", type=int, default=100, help="A fifth of them at d = 16, a tenth at d = 20.")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    largest_neuron(np.eye(3), np.array([1.0, -1.0, 1.0]))  # compiled before anything is timed
    lines = [*against_enumeration(options.instances), "", *by_size(options.draws)]
    text = "\n".join(lines) + "\n"
    print(text)
    if options.out:
        options.out.write_text(f"# The oracle over all patterns\n\n{text}")


if __name__ == "__main__":
    main()
