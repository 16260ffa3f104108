"""Verdicts in ball arithmetic: true ones are proved, false ones never."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from recovery.conditions.balls import Unproved, at_rising_precision, independent_columns, solve
from recovery.conditions.exact_model import Balls, Model, model_of
from recovery.extras.proofs.interpolants import Weight, prove_cheaper, prove_duplicate
from recovery.extras.proofs.unique_optimum import prove_unique
from recovery.extras.rigorous import verify_rigorously
from recovery.instances.all_ones import AllOnes
from recovery.instances.draw import Setting, Streams, draw
from recovery.instances.ensembles import UserEnsemble
from recovery.instances.patterns import Patterns
from recovery.instances.planted import Linear, NormalizedRelu, Relu
from recovery.methods.min_norm import MinNorm
from recovery.programs.architecture import ARCHITECTURES, RELU, Architecture
from tests.suites import first

VERDICTS = ("recovered", "not_optimal", "not_unique")
SKIP = ARCHITECTURES["relu_skip"]
CASES = [
    ("relu", Relu(k=1)),
    ("relu", Relu(k=2, signs="alternating")),
    ("relu", NormalizedRelu(k=2)),
    ("relu_skip", Linear()),
    ("relu_skip", Relu(k=1)),
    ("relu_norm", NormalizedRelu(k=1)),
    ("relu_norm", NormalizedRelu(k=2)),
    ("relu_norm", Relu(k=1)),
    ("relu_norm_skip", Linear()),
    ("relu_norm_skip", NormalizedRelu(k=2)),
]


def instance_of(seed, n, d, planted, architecture=SKIP, **options):
    return draw(Setting(n, d, planted=planted, **options), Streams.spawn(np.random.default_rng(seed)), architecture)


@pytest.mark.parametrize("seeds", first(1, [range(3), range(3, 6)]))
@pytest.mark.parametrize("program", ["gated", "exact"])
@pytest.mark.parametrize(("architecture", "planted"), CASES)
def test_true_verdicts_are_proved_and_false_ones_are_not(program, architecture, planted, seeds):
    method = MinNorm(program=program)
    rng = np.random.default_rng(1)
    sizes = [(int(rng.integers(4, 20)), int(rng.integers(2, 6))) for _ in range(6)]
    for seed in seeds:
        n, d = sizes[seed]
        verdict = method(instance_of(seed, n, d, planted), ARCHITECTURES[architecture])["verdict"]
        for claimed in VERDICTS:
            found = verify_rigorously(instance_of(seed, n, d, planted), ARCHITECTURES[architecture], method, claimed)
            # weights that are not optimal may also share their cost with others
            possible = {verdict, "not_unique"} if verdict == "not_optimal" else {verdict}
            assert found.proved or claimed != verdict, (seed, n, d, verdict, found)
            assert not found.proved or claimed in possible, (seed, n, d, verdict, claimed)
            assert found.proved or found.reason


@dataclass(frozen=True)
class Biased(Architecture):
    """An architecture whose neurons have a constant input."""

    def features(self, X):
        return np.hstack([X, np.ones((len(X), 1))])


@pytest.mark.parametrize("program", ["gated", "exact"])
@pytest.mark.parametrize(
    ("architecture", "planted"),
    [
        (Architecture("leaky_skip", skip=True, slope=0.3), Linear()),
        (Biased("biased", skip=True), Linear()),
        (Biased("biased_norm", normalization="after"), NormalizedRelu(k=1)),
    ],
    ids=str,
)
def test_architectures_of_ones_own(program, architecture, planted):
    method, seen = MinNorm(program=program), set()
    for seed in range(8):
        n = 6 + 4 * seed
        verdict = method(instance_of(seed, n, 3, planted, architecture), architecture)["verdict"]
        found = verify_rigorously(instance_of(seed, n, 3, planted, architecture), architecture, method, verdict)
        assert found.proved or verdict == "undecided", (seed, verdict, found)
        seen.add(verdict)
    # a constant input gives every instance an all-ones pattern, which shares the cost of a skip connection in the gated
    # program
    shared = program == "gated" and architecture.name == "biased"
    assert ("recovered" in seen) != shared


def test_rows_that_claim_nothing_say_so():
    method, instance = MinNorm(), instance_of(0, 8, 3, Linear())
    assert verify_rigorously(instance, SKIP, method, "undecided").reason == "undecided: there is no verdict"
    noisy = instance_of(0, 8, 3, Linear(), noise=0.1)
    assert "noisy" in verify_rigorously(noisy, SKIP, method, "recovered").reason


def test_uniqueness_of_one_neuron_in_fractions():
    """lam = M (M^T M)^-1 w in fractions, for an integer ReLU neuron: the same largest norm as in ball arithmetic."""
    rng = np.random.default_rng(6)
    X = rng.integers(-3, 4, (9, 2)).astype(float)
    w = np.array([2.0, -1.0])
    own = X @ w >= 0
    patterns = np.column_stack([own, X @ rng.standard_normal((2, 8)) >= 0])
    patterns = patterns[:, [0, *(j for j in range(1, 9) if (patterns[:, j] != own).any())]]
    model = Model(RELU, X, patterns, w[:, None], np.ones(1), (0,))

    rows = [[Fraction(int(a)) for a in row] for row in X]
    (a, b), (_, c) = ([sum(r[i] * r[j] for r, on in zip(rows, own, strict=True) if on) for j in (0, 1)] for i in (0, 1))
    det = a * c - b * b
    step = [(c * 2 - b * -1) / det, (-b * 2 + a * -1) / det]
    lam = [step[0] * r[0] + step[1] * r[1] if on else Fraction(0) for r, on in zip(rows, own, strict=True)]
    squares = [
        sum(sum(r[k] * m for r, m, on in zip(rows, lam, pattern, strict=True) if on) ** 2 for k in (0, 1))
        for pattern in patterns.T[1:]
    ]
    largest = float(max(squares)) / 5  # ||w||^2 = 5
    if largest < 1:
        assert prove_unique(model, np.zeros(9)) == pytest.approx(np.sqrt(largest), rel=1e-12)
    else:
        with pytest.raises(Unproved):
            prove_unique(model, np.zeros(9))


@pytest.mark.parametrize("architecture", [ARCHITECTURES[name] for name in sorted({name for name, _ in CASES})], ids=str)
def test_scaling_the_data_by_powers_of_two_changes_no_proof(architecture):
    planted = Linear() if architecture.skip else NormalizedRelu(k=1)
    instance = instance_of(4, 24, 2, planted)
    method = MinNorm()
    verdict = method(instance, architecture)["verdict"]
    assert verdict == "recovered"
    scaled = replace(instance, X=instance.X * 2.0**40, y=instance.y * 2.0**40, signal=instance.signal * 2.0**40)
    if architecture.normalizes_after:
        scaled = replace(scaled, y=instance.y, signal=instance.signal)
    first = verify_rigorously(instance, architecture, method, verdict)
    second = verify_rigorously(scaled, architecture, method, verdict)
    assert first.proved
    assert second.proved
    assert first.bound == pytest.approx(second.bound, rel=1e-9)


def test_near_ties_are_decided_on_either_side():
    """The pattern without the row (c, 0) has norm 1 - c^2 / 2, below 1 unless c is zero."""
    u = np.array([[1.0], [1.0]])
    patterns = np.array([[True, True], [True, True], [True, False]])
    for c in (2.0**-30, 2.0**-300, 0.0):
        model = Model(SKIP, np.array([[1.0, 0.0], [0.0, 1.0], [c, 0.0]]), patterns, u, np.ones(1), (0,))
        if c:
            assert 1 - 1e-15 < prove_unique(model, np.zeros(3)) <= 1.0
        else:
            assert prove_duplicate(model, exact=False) == 1.0
            with pytest.raises(Unproved, match="not below 1"):
                prove_unique(model, np.zeros(3))


def test_a_duplicate_on_zero_rows_and_on_zero_activations():
    """Patterns that differ only where X or the planted neuron is zero give the same image."""
    X = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    own = np.array([True, True, True, True])
    for other, w, duplicate in (
        ([True, False, True, True], [1.0, 2.0], True),  # row 2 is zero
        ([True, True, False, True], [1.0, 0.0], True),  # row 3 meets the neuron at zero
        ([True, True, False, True], [1.0, 2.0], False),
    ):
        model = Model(RELU, X, np.column_stack([own, other]), np.array(w)[:, None], np.ones(1), (0,))
        if duplicate:
            assert prove_duplicate(model, exact=False) == 1.0
            with pytest.raises(Unproved):
                prove_unique(model, np.zeros(4))
        else:
            with pytest.raises(Unproved, match="no group"):
                prove_duplicate(model, exact=False)


def test_a_normalised_neuron_that_more_independent_rows_reach():
    """v = (1, 0, a) has the image of w on the first two rows; the cone requires a < 0, and the last row more."""
    patterns = np.array([[1, 1], [0, 1], [0, 0], [0, 0]], dtype=bool)
    w = np.array([[1.0], [-1.0], [-1.0]])
    for last, inside in (([-1.0, -1.0, -1.0], True), ([1.0, 3.0, -1.0], False)):  # a > -1, and a > 1
        X = np.vstack([np.eye(3), last])
        for sign in (1.0, -1.0):
            model = Model(ARCHITECTURES["relu_norm"], X, patterns, w, np.array([sign]), (0,))
            assert prove_duplicate(model, exact=False) == 1.0
            if inside:
                assert prove_duplicate(model, exact=True) == 1.0
            else:
                with pytest.raises(Unproved, match="no group"):
                    prove_duplicate(model, exact=True)


def test_the_planted_weights_are_not_cheaper_than_themselves():
    instance = instance_of(5, 12, 3, Linear())
    model = model_of(instance, SKIP)
    with pytest.raises(Unproved, match=r"has 1\.0* times|has 1\.0"):
        prove_cheaper(model, [Weight(0, 1, instance.planted.directions[:, 0])], exact=False)


def test_labels_are_close_to_those_of_the_planted_weights():
    for architecture, planted in CASES:
        instance = instance_of(2, 30, 5, planted)
        error = Balls(model_of(instance, ARCHITECTURES[architecture])).label_error(instance.signal)
        assert 0 <= error < 1e-14


def test_exhaustive_patterns_on_whole_numbers():
    """With integers, zero activations and dependent rows are exact zeros in ball arithmetic."""
    whole, proved = UserEnsemble(lambda rng, n, d: rng.integers(-1, 2, (n, d)).astype(float)), 0
    for seed in range(12):
        options = {"ensemble": whole, "patterns": Patterns("exhaustive")}
        instance = instance_of(seed, 10, 2, Relu(k=1), **options)
        verdict = MinNorm()(instance, RELU)["verdict"]
        found = verify_rigorously(instance, RELU, MinNorm(), verdict)
        assert found.proved or verdict == "undecided", (seed, verdict, found)
        proved += found.proved
    assert proved >= 8


def test_precision_rises_until_a_proof_is_found():
    tried = []

    def prove():
        tried.append(ctx.prec)
        if ctx.prec < 300:
            raise Unproved("too coarse")
        return ctx.prec

    assert at_rising_precision(prove) == tried[-1] == 384
    with pytest.raises(Unproved, match="never"):
        at_rising_precision(lambda: (_ for _ in ()).throw(Unproved("never")))


def test_dependent_columns():
    A = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 1.0], [0.1, 0.2, 0.0]])
    assert independent_columns(A).tolist() == [0, 2]
    assert independent_columns(np.zeros((0, 3))).size == 0
    with pytest.raises(Unproved, match="the rows are dependent"):
        solve(arb_matrix([[1, 1], [1, 1]]), arb_matrix([[1], [1]]), "the rows")


def arb_matrix(rows):
    from flint import arb_mat

    return arb_mat([[arb(a) for a in row] for row in rows])


@pytest.mark.parametrize("program", ["gated", "exact"])
def test_where_all_rows_are_zero_nothing_is_cheaper_than_no_weights(program):
    zeros = UserEnsemble(lambda rng, n, d: np.zeros((n, d)))
    instance, method = instance_of(0, 4, 2, Linear(), ensemble=zeros), MinNorm(program=program)
    assert method(instance, SKIP).verdict == "not_optimal"
    assert verify_rigorously(instance, SKIP, method, "not_optimal").proved
    assert not verify_rigorously(instance, SKIP, method, "recovered").proved


@pytest.mark.parametrize("e", [3e-12, 1e-13, 1e-15])
@pytest.mark.parametrize("kind", ["sampled", "exhaustive"])
def test_the_existence_of_the_all_ones_pattern_is_exact(kind: str, e: float) -> None:
    """Its cell has width e, and duplicates the skip connection: no proof of a recovery that leaves it out."""
    w = np.full(2, np.sqrt(0.5))
    for t in (0.5, 0.3, 2.0):
        X = np.array([[1.0, 1.0], [-1.0, -1.0 + e], [t, t + t * e]])
        setting = Setting(3, 2, UserEnsemble(lambda rng, n, d, X=X: X), Linear(), patterns=Patterns(kind=kind))
        instance = draw(setting, Streams.spawn(np.random.default_rng(0)))
        instance = replace(instance, planted=replace(instance.planted, directions=w[:, None]), y=X @ w, signal=X @ w)
        assert instance.all_ones.exists
        assert MinNorm()(instance, SKIP).verdict != "recovered"
        assert not verify_rigorously(instance, SKIP, MinNorm(), "recovered").proved
        without = replace(instance, decide=lambda: AllOnes(0.0, weights=np.ones(3)))
        without = without.with_patterns(instance.patterns[:, ~instance.patterns.all(axis=0)])
        found = verify_rigorously(without, SKIP, MinNorm(), "recovered")
        assert not found.proved
        assert "positive products with all rows" in found.reason


def test_a_proof_says_which_patterns_it_takes_as_given() -> None:
    for kind, given in (("sampled", "drawn"), ("searched", "found"), ("exhaustive", "")):
        instance = instance_of(2, 14, 2, Linear(), patterns=Patterns(kind=kind))
        verdict = MinNorm()(instance, SKIP).verdict
        found = verify_rigorously(instance, SKIP, MinNorm(), verdict)
        assert found.proved
        assert given in found.given
        assert bool(found.given) == (kind != "exhaustive")
