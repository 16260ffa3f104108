"""Verdicts over all patterns by a theorem, against every pattern of small arrangements, and their proofs."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binomtest

from recovery.extras.rigorous import verify_rigorously
from recovery.instances.draw import Instance, Setting, draw
from recovery.instances.ensembles import Ensemble, Gaussian, Haar, Rademacher
from recovery.instances.patterns import Patterns
from recovery.instances.planted import Linear, NormalizedRelu, Planted, Relu
from recovery.methods.min_norm import MinNorm
from recovery.programs.architecture import ARCHITECTURES
from recovery.types import Array, Rng

from .laws import SPOILED, Rows, Spoiled

MODELS: list[tuple[str, Planted]] = [
    ("relu_skip", Linear()),
    ("relu_norm_skip", Linear()),
    ("relu_norm", NormalizedRelu()),
    ("relu_norm", Relu()),
]


@dataclass(frozen=True)
class Odd:
    """Small data on one line or positive, or with orthonormal columns (`haar`) and rows that repeat or vanish."""

    kind: str

    def draw(self, rng: Rng, n: int, d: int) -> Array:
        X: Array = rng.standard_normal((n, d))
        if "haar" in self.kind:
            m = max(d, n // 2)
            copies = np.concatenate([np.arange(m), rng.integers(0, m, max(n - m, 0))])[: max(n, m)]
            Q = np.linalg.svd(X[:m] if n >= m else rng.standard_normal((m, d)), full_matrices=False)[0]
            if n < m:
                return Haar().draw(rng, n, d)
            X = Q[copies] / np.sqrt(np.bincount(copies, minlength=m)[copies])[:, None]
            if self.kind == "haar and zero rows":
                X = np.where(np.arange(n)[:, None] < m, Q[copies], 0.0)
            return X * rng.choice([-1.0, 1.0], n)[:, None] if self.kind == "haar and opposite rows" else X
        return np.outer(np.round(4 * X[:, 0]), np.arange(1.0, d + 1)) if self.kind == "one line" else np.abs(X)


KINDS = ["one line", "positive", "haar and repeated rows", "haar and opposite rows", "haar and zero rows"]
ENSEMBLES: list[Ensemble] = [Gaussian(), Haar(), Rademacher(), *map(Spoiled, SPOILED), *map(Odd, KINDS)]


def instance(name: str, planted: Planted, n: int, d: int, ensemble: Ensemble, seed: int, kind: str) -> Instance:
    setting = Setting(n, d, ensemble, planted, patterns=Patterns(kind=kind))  # type: ignore[arg-type]
    return draw(setting, np.random.default_rng([n, d, seed]), ARCHITECTURES[name])


def compare(seeds: range) -> Counter[tuple[str, str]]:
    """Count verdicts by a theorem beside those over every pattern, (theorem, every); each program of each draw."""
    pairs = Counter[tuple[str, str]]()
    for seed in seeds:
        rng = np.random.default_rng([23, seed])
        d = int(rng.integers(2, 4))
        n, ensemble = int(rng.integers(d, 4 * d + 1)), ENSEMBLES[seed % len(ENSEMBLES)]
        name, planted = MODELS[seed // len(ENSEMBLES) % len(MODELS)]
        for program in ("gated", "exact"):
            method, architecture = MinNorm(program=program), ARCHITECTURES[name]  # type: ignore[arg-type]
            found = method(instance(name, planted, n, d, ensemble, seed, "all"), architecture)
            if found.certificate != "theorem":
                continue
            assert found.patterns_proved == "all"
            every = method(instance(name, planted, n, d, ensemble, seed, "exhaustive"), architecture)
            assert found.verdict == every.verdict or every.verdict == "undecided", (name, program, ensemble, seed)
            pairs[found.verdict, every.verdict] += 1
    return pairs


def test_verdicts_by_a_theorem_are_those_over_every_pattern() -> None:
    pairs = compare(range(2 * len(ENSEMBLES) * len(MODELS)))
    assert min(pairs["recovered", "recovered"], pairs["not_unique", "not_unique"]) >= 20


@pytest.mark.parametrize("draws", [pytest.param(5, marks=pytest.mark.deep), pytest.param(40, marks=pytest.mark.soak)])
def test_many_verdicts_by_a_theorem_are_those_over_every_pattern(draws: int) -> None:
    pairs = compare(range(10_000, 10_000 + draws * len(ENSEMBLES) * len(MODELS)))
    assert sum(pairs.values()) >= 50 * draws
    assert sum(n for (_, every), n in pairs.items() if every == "undecided") <= 0.1 * sum(pairs.values())


@pytest.mark.parametrize("program", ["gated", "exact"])
@pytest.mark.parametrize(("name", "planted"), MODELS)
def test_verdicts_by_a_theorem_are_proved_in_ball_arithmetic(name: str, planted: Planted, program: str) -> None:
    method = MinNorm(program=program)  # type: ignore[arg-type]
    for n, d in ((6, 5), (12, 5), (40, 12)):
        for seed in range(3):
            data = instance(name, planted, n, d, Haar() if name == "relu_skip" else Gaussian(), seed, "all")
            found = method(data, ARCHITECTURES[name])
            assert found.certificate == "theorem"
            assert verify_rigorously(data, ARCHITECTURES[name], method, found.verdict).proved
            wrong = "not_unique" if found.recovered else "recovered"
            assert verify_rigorously(data, ARCHITECTURES[name], method, wrong).opposite == found.verdict


def test_orthonormal_data_are_decided_over_all_patterns_at_the_size_of_p1() -> None:
    """With (110, 100) the all-ones pattern exists, which the gated program cannot exclude and the network can."""
    verdicts = {
        program: MinNorm(program=program)(  # type: ignore[arg-type]
            instance("relu_skip", Linear(), 110, 100, Haar(), 0, "all"), ARCHITECTURES["relu_skip"]
        ).verdict
        for program in ("gated", "exact")
    }
    assert verdicts == {"gated": "not_unique", "exact": "recovered"}


def test_one_normalised_neuron_follows_the_binomial_law() -> None:
    """Rows of symmetric sign in general position: recovered exactly if at least d of n rows are active."""
    n, d, draws = 15, 8, 200
    method, architecture = MinNorm(), ARCHITECTURES["relu_norm"]
    recovered = sum(
        bool(method(instance("relu_norm", NormalizedRelu(), n, d, Gaussian(), seed, "all"), architecture).recovered)
        for seed in range(draws)
    )
    assert binomtest(recovered, draws, 0.5).pvalue > 1e-3  # P(Bin(15, 1/2) >= 8) = 1/2


def test_a_row_orthogonal_to_the_neuron_is_left_to_other_proofs() -> None:
    data = instance("relu_skip", Linear(direction="basis"), 2, 2, Rows(((1.0, 0.0), (0.0, 1.0))), 0, "all")
    assert MinNorm(program="exact")(data, ARCHITECTURES["relu_skip"]).certificate != "theorem"
