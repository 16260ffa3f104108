"""Which search finds the pattern of the largest isometry value, and in what time: the reason why each of them is kept.

    python -m benchmarks.searches [--draws 4]

Each cell is the mean value found and the mean seconds of processor time, of noiseless draws with one thread. `proof` is
branch and bound, whose value is the largest; `-` where the search does not apply, or `proof` reached its limit.
`trace`: the largest number of active rows, by deleting rows from the all-ones pattern, or by great circles alone.
"""

import time
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks import arguments, one_thread, table, written
from recovery.conditions.beam import beam_patterns
from recovery.conditions.neural_isometry import PlantedDual, planted_dual
from recovery.conditions.planes import RowSum
from recovery.conditions.search import most_active, search_pattern
from recovery.instances.planted import Form, Neurons
from recovery.programs.architecture import ARCHITECTURES
from recovery.types import Array, Rng

SIZES = (
    ("relu_skip", 30, 10),
    ("relu_skip", 60, 20),
    ("relu_skip", 200, 80),
    ("relu_norm", 20, 5),
    ("relu_norm", 60, 20),
)
TRACES = ((60, 20), (120, 40))
WIDTH, NODES, LARGEST_BEAM = 64, 20_000, 100
Search = Callable[[PlantedDual, Rng], float | None]


def proof(dual: PlantedDual, rng: Rng) -> float | None:
    if len(dual.X) > LARGEST_BEAM:
        return None
    value = dual.over_all(NODES).value
    return value if np.isfinite(value) else None


def beam(dual: PlantedDual, rng: Rng) -> float | None:
    if dual.own.orthonormal or len(dual.X) > LARGEST_BEAM or dual.lam is None:
        return None
    return beam_patterns(RowSum.of(dual.own, dual.lam), width=WIDTH, known=dual.patterns)[0].value


def local(smoothed: bool) -> Search:
    def search(dual: PlantedDual, rng: Rng) -> float | None:
        found = None if smoothed and dual.own.orthonormal else dual.searched(rng, starts=4, smoothed=smoothed)
        return None if found is None else found.value

    return search


SEARCHES: dict[str, Search] = {"proof": proof, "circles": local(False), "smoothed": local(True), f"beam {WIDTH}": beam}


def circles(X: Array, rng: Rng) -> float:
    points = [h / np.linalg.norm(h) for h in rng.standard_normal((8, X.shape[1]))]
    score, gain = (lambda patterns: patterns.sum(axis=0).astype(float)), (lambda pattern: np.where(pattern, 0.0, 1.0))
    return max(search_pattern(X, h, score, gain, rng).value for h in points)


def timed(run: Callable[[int], float | None], draws: int) -> str:
    """Return the mean value and the mean seconds of the draws as text; `-` where one has no value."""
    run(0)  # compiles
    start = time.process_time()
    values = [run(seed) for seed in range(draws)]
    seconds = (time.process_time() - start) / draws
    known = [value for value in values if value is not None]
    return f"{np.mean(known):.4g}, {seconds:.2g} s" if len(known) == draws else "-"


def conditions(draws: int) -> Iterator[list[object]]:
    """Yield a row for each architecture and size: one planted neuron, linear beside a skip connection."""
    for name, n, d in SIZES:
        architecture = ARCHITECTURES[name]

        def dual(seed: int, n: int = n, d: int = d, architecture=architecture) -> PlantedDual:  # type: ignore[no-untyped-def]
            rng = np.random.default_rng([n, d, seed])
            X, w = rng.standard_normal((n, d)), rng.standard_normal((d, 1))
            form: Form = "linear" if architecture.skip else "normalized_relu"
            return planted_dual(architecture, X, Neurons(form, w / np.linalg.norm(w), np.ones(1)))

        found = [
            timed(lambda seed, search=search: search(dual(seed), np.random.default_rng(seed)), draws)  # type: ignore[misc]
            for search in SEARCHES.values()
        ]
        yield [name, n, d, *found]


def traces(draws: int) -> Iterator[list[object]]:
    for n, d in TRACES:

        def X(seed: int, n: int = n, d: int = d) -> Array:
            return np.random.default_rng([n, d, seed]).standard_normal((n, d))

        deleted = timed(lambda seed: most_active(X(seed), np.random.default_rng(seed)).value, draws)
        yield [n, d, deleted, timed(lambda seed: circles(X(seed), np.random.default_rng(seed)), draws)]


if __name__ == "__main__":
    given = arguments(__doc__, draws=4)
    with one_thread():
        lines = table(("architecture", "n", "d", *SEARCHES), conditions(given.draws))
        lines += ["", *table(("trace: n", "d", "deletion", "circles"), traces(given.draws))]
    written(__file__, lines)
