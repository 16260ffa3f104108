"""The ladder's verdicts against a conic solver, and instances built to have two solutions."""

from dataclasses import replace

import numpy as np
import pytest

from recovery.errors import ParameterError, SolverError
from recovery.instances.draw import Setting, draw
from recovery.instances.ensembles import CubicGaussian, Gaussian, Haar, UserEnsemble
from recovery.instances.patterns import Patterns
from recovery.instances.planted import Linear, NormalizedRelu, Relu
from recovery.methods.cascade import descended
from recovery.methods.convex import PlantedProgram
from recovery.methods.min_norm import LeastSquares, MinNorm, Regularized
from recovery.programs.architecture import ARCHITECTURES
from recovery.programs.solution import Outcome, Solution
from recovery.programs.uniqueness import examine_dual, planted_candidate
from recovery.solvers import conic
from recovery.solvers.table import SOLVERS, Solver
from recovery.theory.noisy import theorem10_interval

SKIP = ARCHITECTURES["relu_skip"]
NORM_SKIP = ARCHITECTURES["relu_norm_skip"]

MODELS = [
    ("relu_skip", Linear()),
    ("relu_norm_skip", Linear("smallest_singular")),
    ("relu", Relu()),
    ("relu", Relu(k=2, signs="alternating")),
    ("relu_skip", Relu()),
    ("relu_norm", NormalizedRelu()),
    ("relu_norm", NormalizedRelu(k=2, geometry="opposite")),
    ("relu_norm", NormalizedRelu(k=3, geometry="basis")),
]
SIZES = [(6, 4), (12, 5), (18, 5), (24, 3)]
LARGE = [(12, 3), (40, 3)]  # two neurons need n > 4 d, three 6 d


@pytest.mark.parametrize(("architecture", "planted"), MODELS)
def test_the_ladder_agrees_with_a_conic_solver_on_every_trial(architecture, planted):
    verdicts = []
    for n, d in LARGE if getattr(planted, "k", 1) > 1 else SIZES:
        for seed, ensemble in enumerate((Gaussian(), Haar(), CubicGaussian())):
            instance = draw(Setting(n, d, ensemble, planted), np.random.default_rng([n, d, seed]))
            ours = MinNorm()(instance, ARCHITECTURES[architecture])
            solved = MinNorm(solver="CLARABEL")(instance, ARCHITECTURES[architecture])
            cost = PlantedProgram.of(instance, ARCHITECTURES[architecture], "gated").planted_cost
            verdicts.append(ours.verdict)
            if ours.recovered:
                assert solved.max_deviation <= 1e-4
                assert ours.gap == pytest.approx(0, abs=1e-8)
            elif ours.verdict == "not_optimal":
                assert solved.objective < cost * (1 - 1e-9)
            elif ours.verdict == "not_unique":
                assert solved.objective <= cost * (1 + 1e-6)
    assert verdicts.count("undecided") <= 1  # heavy tails leave one open, honestly
    assert len(set(verdicts)) > 1


def test_the_all_ones_pattern_beside_the_skip_connection_is_never_unique():
    rng = np.random.default_rng(2)
    for solver in ("auto", "newton"):
        instance = draw(Setting(30, 3), rng)
        assert not instance.all_ones.exists
        instance = instance.with_patterns(np.hstack([instance.patterns, np.ones((30, 1), dtype=bool)]))
        assert not MinNorm(solver=solver)(instance, SKIP).recovered


@pytest.mark.parametrize(("architecture", "planted"), [("relu", Relu()), ("relu_norm", NormalizedRelu(k=2))])
def test_a_repeated_planted_pattern_is_never_unique(architecture, planted):
    instance = draw(Setting(40, 3, planted=planted), np.random.default_rng(3))
    instance = instance.with_patterns(np.hstack([instance.patterns, instance.patterns[:, :1]]))
    measured = MinNorm()(instance, ARCHITECTURES[architecture])
    assert (measured.verdict, measured.certificate) == ("not_unique", "duplicate")
    assert not MinNorm(solver="newton")(instance, ARCHITECTURES[architecture]).recovered


def test_proofs_do_not_hold_for_other_duals_or_directions():
    instance = draw(Setting(60, 4), np.random.default_rng(4))
    problem = PlantedProgram.of(instance, SKIP, "gated")
    program, groups, rows = problem.program, problem.program.groups, np.array([0])
    planted = planted_candidate(groups, problem.planted, problem.rows)
    assert examine_dual(program, rows, planted, planted.lam).proved
    assert not examine_dual(program, rows, planted, planted.lam * (1 + 1e-6)).proved
    assert not examine_dual(program, rows, planted, np.zeros(60)).proved
    excess = np.random.default_rng(5).standard_normal((groups.count, 4))
    excess[0] = 0
    assert not problem.is_cheaper(descended(program, planted, excess))


def test_every_rung_of_the_ladder_decides_some_trial():
    seen = set()
    for n in (6, 14, 20, 26, 40):
        for seed in range(12):
            instance = draw(Setting(n, 8), np.random.default_rng([n, seed]))
            measured = MinNorm()(instance, SKIP)
            seen.add((measured.verdict, measured.certificate))
    assert seen == {
        ("not_optimal", "gap"),
        ("not_unique", "duplicate"),
        ("recovered", "isometry"),
        ("recovered", "dual"),
        ("not_optimal", "dual"),
    }


def test_a_recovered_trial_is_at_distance_zero_and_a_failed_one_is_measured_on_request():
    instance = draw(Setting(36, 24), np.random.default_rng(6))
    plain, measured = (MinNorm()(instance, SKIP), MinNorm(distances=True)(instance, SKIP))
    assert plain.absolute_distance is None
    assert measured.absolute_distance > 0.1
    assert plain.recovered is measured.recovered is False
    assert (plain.verdict, plain.certificate) == ("not_unique", "duplicate")
    assert (measured.verdict, measured.certificate) == ("not_optimal", "gap")  # the solve found what costs less
    recovered = MinNorm()(draw(Setting(60, 4), np.random.default_rng(7)), SKIP)
    assert (recovered.recovered, recovered.max_deviation, recovered.test_distance) == (True, 0.0, 0.0)


def test_noise_leaves_recovery_open_and_measures_distances():
    low, high = (draw(Setting(40, 4, noise=s), np.random.default_rng(8)) for s in (0.01, 0.1))
    first, second = MinNorm()(low, SKIP), MinNorm()(high, SKIP)
    assert first.recovered is None
    assert first.certificate == "gap"
    assert 0 < first.absolute_distance < second.absolute_distance
    assert 0 < first.test_distance < second.test_distance


def test_least_squares_recovers_from_n_equal_d():
    for n, recovers in [(4, False), (5, True), (9, True)]:
        instance = draw(Setting(n, 5), np.random.default_rng(n))
        measured = LeastSquares()(instance, SKIP)
        assert measured.recovered == recovers
        assert (measured.absolute_distance < 1e-8) == recovers
    with pytest.raises(ParameterError, match="linear"):
        LeastSquares().check(Setting(5, 5, planted=Relu()), "relu")


def test_least_squares_of_rows_of_zeros_is_not_unique():
    instance = draw(Setting(5, 3, ensemble=UserEnsemble(lambda rng, n, d: np.zeros((n, d)))), np.random.default_rng(0))
    measured = LeastSquares()(instance, SKIP)
    assert (measured.verdict, measured.primal_residual) == ("not_unique", 0.0)


@pytest.mark.parametrize(("small", "verdict"), [(1e-6, "recovered"), (1e-12, "undecided"), (0.0, "not_unique")])
def test_least_squares_has_a_verdict_with_a_proof_or_none(small, verdict):
    """A column is another one up to `small`: of full rank in exact arithmetic unless it is 0."""
    X = np.random.default_rng(1).standard_normal((9, 3))
    X[:, 2] = X[:, 1] + small * X[:, 2]
    instance = draw(Setting(9, 3, ensemble=UserEnsemble(lambda rng, n, d: X)), np.random.default_rng(0))
    measured = LeastSquares()(instance, SKIP)
    assert measured.verdict == verdict
    assert measured.recovered == {"recovered": True, "not_unique": False}.get(verdict)
    assert (measured.certificate == "theorem") == (verdict != "undecided")
    assert (measured.reason is None) == (verdict != "undecided")


def test_the_reason_of_a_tie_names_a_cheaper_solution_with_a_residual():
    """Rows that are equal up to 1e-8; the optimum that the solver finds costs 1.44, the planted neurons 2."""
    rng = np.random.default_rng(587)
    n, d = int(rng.integers(3, 8)), int(rng.integers(2, 4))
    X = rng.integers(-2, 3, (n, d)).astype(float)
    k = rng.integers(1, n)
    X[:k] = X[rng.integers(0, n, k)] + 10.0 ** -rng.integers(6, 11) * rng.standard_normal((k, d))
    setting = Setting(n, d, UserEnsemble(lambda rng, n, d: np.abs(X)), Relu(k=2), patterns=Patterns(kind="exhaustive"))
    measured = MinNorm()(draw(setting, np.random.default_rng(587)), SKIP)
    assert measured.verdict == "not_unique"
    assert measured.objective < 1.5
    assert measured.reason == "a solution costs less, and what it misses of the labels may be worth more"


def test_a_linear_model_needs_a_skip_connection():
    with pytest.raises(ParameterError, match="relu_skip or relu_norm_skip"):
        MinNorm().check(Setting(5, 5), ARCHITECTURES["relu_norm"])


def test_regularised_recovery_fails_succeeds_and_fails_as_beta_grows():
    instance = draw(Setting(40, 10, noise=0.125), np.random.default_rng(9))
    outcomes = [Regularized(beta=b)(instance, NORM_SKIP).support_recovered for b in (1e-3, 0.4, 5.0)]
    assert outcomes == [False, True, False]


def test_theorem_10s_interval_of_an_instance_lies_in_the_measured_one():
    inside = 0
    for seed in range(12):
        instance = draw(Setting(60, 4, noise=0.02), np.random.default_rng(seed))
        problem = PlantedProgram.of(instance, NORM_SKIP, "gated")
        groups, planted = problem.program.groups, problem.planted[0]
        eta, z = np.linalg.norm(planted), np.linalg.norm(instance.y - instance.signal)
        image = np.linalg.norm(groups.adjoint(instance.signal)[1:], axis=1).max()
        lower, upper = theorem10_interval(eta, z, gamma=1 - image / eta)
        for beta in np.linspace(lower, upper, 5)[1:-1] if np.isfinite(upper) else []:
            assert Regularized(beta=float(beta))(instance, NORM_SKIP).support_recovered
            inside += 1
    assert inside >= 12


def test_the_printed_scaling_is_half_the_penalty():
    instance = draw(Setting(30, 5, noise=0.1), np.random.default_rng(10))
    printed = Regularized(beta=0.2, scaling="printed")(instance, SKIP)
    assert printed.objective == pytest.approx(Regularized(beta=0.1)(instance, SKIP).objective)


def test_nothing_but_the_named_solver_needs_ecos(monkeypatch):
    monkeypatch.setitem(conic.MODULES, "ECOS", "a_module_that_is_not_there")
    with pytest.raises(SolverError, match=r"ECOS is not installed.*CLARABEL"):
        MinNorm(solver="ECOS")
    instance = draw(Setting(12, 4), np.random.default_rng(11))
    assert MinNorm(solver="CLARABEL")(instance, SKIP).gap == pytest.approx(0, abs=1e-5)
    assert MinNorm()(instance, SKIP).verdict != "undecided"


def test_ecos_agrees_with_the_ladder():
    instance = draw(Setting(24, 5), np.random.default_rng(12))
    assert MinNorm(solver="ECOS")(instance, SKIP).recovered == MinNorm()(instance, SKIP).recovered


@pytest.mark.parametrize("architecture", ["relu_skip", "relu_norm_skip"])
def test_ill_conditioned_data_never_give_a_wrong_verdict(architecture):
    for seed in range(6):
        heavy = draw(Setting(10, 100, CubicGaussian()), np.random.default_rng(seed))
        assert not MinNorm()(heavy, ARCHITECTURES[architecture]).recovered
        plain = draw(Setting(40, 5), np.random.default_rng(seed))
        X = plain.X * [1, 1, 1e-8, 1, 1]
        scaled = replace(plain, X=X, y=plain.planted.labels(X))
        measured = MinNorm()(scaled, ARCHITECTURES[architecture])
        if architecture == "relu_norm_skip":  # the same range, so the same answer
            assert measured.recovered in (MinNorm()(plain, ARCHITECTURES[architecture]).recovered, None)


# Rows of regularised programs that no certificate proves.


@pytest.mark.parametrize("program", ["gated", "exact"])
def test_an_optimum_that_is_not_proved_leaves_the_verdict_open_with_its_reason(program, monkeypatch):
    def give_up(program):
        zeros = np.zeros((program.size, program.groups.rank))
        return Solution(zeros, np.zeros(program.groups.n), Outcome.NUMERICAL_TROUBLE)

    monkeypatch.setitem(SOLVERS, "auto", Solver({"gated": give_up, "exact": give_up}))
    instance = draw(Setting(12, 3, planted=Linear(), noise=0.1), np.random.default_rng(0))
    row = Regularized(beta=1e-3, program=program)(instance, ARCHITECTURES["relu_skip"])
    assert (row.verdict, row.certificate) == ("undecided", "none")
    assert set(row) <= set(Regularized.columns)
    assert "rounding errors" in row.reason
