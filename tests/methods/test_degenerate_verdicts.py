"""Verdicts where neurons are opposite, dead, orthogonal to rows, or have a slope, and sizes that no proof reaches."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from recovery.extras.rigorous import verify_rigorously
from recovery.instances.draw import Instance, Setting, draw
from recovery.instances.patterns import Patterns
from recovery.instances.planted import Linear, Relu
from recovery.methods.convex import BLANK, DEAD, FAINT, PlantedProgram
from recovery.methods.isometry import Isometry
from recovery.methods.judgement import OPEN_RESIDUAL
from recovery.methods.method import Measurement
from recovery.methods.min_norm import MinNorm
from recovery.programs.architecture import ARCHITECTURES, Architecture
from recovery.types import Array
from tests.programs.test_printed_programs import printed_optimum

from .laws import Given, Rows

GATED, EXACT = MinNorm(program="gated"), MinNorm(program="exact", confinement="none")
METHODS = [GATED, EXACT]
KINDS = ("all", "exhaustive")
LEAKY = Architecture("leaky", slope=0.2)
SLOPED = Architecture("sloped", skip=True, slope=-0.3)


def instance_of(rows, planted, architecture: Architecture, kind: str) -> Instance:
    setting = Setting(len(rows), len(rows[0]), Rows(tuple(map(tuple, rows))), planted, patterns=Patterns(kind=kind))
    return draw(setting, np.random.default_rng(0), architecture)


@pytest.mark.parametrize("name", ["relu", "relu_skip", "relu_bias", "relu_norm_skip"])
def test_opposite_neurons_have_the_verdicts_over_every_pattern(name: str) -> None:
    """Their dual sums to 0 up to rounding, where the bounds of the search begin."""
    architecture, planted = ARCHITECTURES[name], Relu(k=2, geometry="opposite")
    for n in (4, 6, 8, 12):
        for d in (2, 3):
            rows: dict[str, list[Measurement]] = {}
            for kind in ("all", "exhaustive"):
                setting = Setting(n, d, planted=planted, patterns=Patterns(kind=kind))  # type: ignore[arg-type]
                instance = draw(setting, np.random.default_rng([n, d]), architecture)
                rows[kind] = [method(instance, architecture) for method in (GATED, MinNorm(beam=64), Isometry())]
            for found, every in zip(rows["all"], rows["exhaustive"], strict=True):
                assert (found.verdict, found.holds) == (every.verdict, every.holds)
            instance = draw(
                Setting(n, d, planted=planted, patterns=Patterns(kind="all")), np.random.default_rng([n, d])
            )
            if name == "relu" and d == 2:
                verdict = GATED(instance, architecture).verdict
                assert verify_rigorously(instance, architecture, GATED, verdict).opposite is None


DEAD_NEURONS = [
    ([[1, 0], [-1, 0], [2, 0]], ((1.0, 0.0), (0.0, 1.0))),
    ([[1, 0], [0, 1], [1, 1], [2, 1], [1, -2]], ((0.6, 0.8), (-1.0, 0.0))),
]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.program)
@pytest.mark.parametrize(("rows", "directions"), DEAD_NEURONS)
@pytest.mark.parametrize(("name", "form"), [("relu_norm", "normalized_relu"), ("relu", "relu")])
def test_a_neuron_that_is_zero_on_all_rows_and_orthogonal_to_one_is_dead(name, form, rows, directions, method) -> None:
    """It has a pattern, of the rows at zero, and its image is zero, as with weight zero in every group."""
    architecture = ARCHITECTURES[name]
    for kind in ("all", "exhaustive", "sampled"):
        instance = instance_of(rows, Given(directions, (1.0, 1.0), form), architecture, kind)
        row = method(instance, architecture)
        assert (row.verdict, row.reason) == ("undecided", DEAD)
        again = verify_rigorously(instance, architecture, method, "not_unique")
        assert not (name == "relu_norm" and again.proved), "a neuron of norm 0 has no weight to move"


def test_labels_lack_a_normalised_neuron_whose_products_round_to_zero() -> None:
    w = (0.6882472016116852, -0.22941573387056174, -0.6882472016116852)
    planted = Given((w, tuple(-a for a in w)), (1.0, -1.0), "normalized_relu", unit=False)
    relu_norm = ARCHITECTURES["relu_norm"]
    for kind in KINDS:
        row = GATED(instance_of([[0, 1, -1], [-1, 2, -2], [-2, 3, -3]], planted, relu_norm, kind), relu_norm)
        assert (row.verdict, row.reason) == ("undecided", DEAD)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.program)
@pytest.mark.parametrize("name", ["relu", "relu_skip", "relu_norm_skip", "relu_bias"])
def test_a_neuron_that_is_orthogonal_to_a_row_can_be_in_two_cells(name, method) -> None:
    """The patterns that are searched hold one of them; the weight is as cheap in the other (P1, Proposition 7)."""
    verdicts = []
    for seed in range(6):
        X = np.random.default_rng(seed).standard_normal((10, 2))
        X[0, 0] = 0.0
        found = [
            method(instance_of(X, Given(((1.0, 0.0),), (1.0,)), ARCHITECTURES[name], kind), ARCHITECTURES[name])
            for kind in ("all", "exhaustive")
        ]
        verdicts += [row.verdict for row in found]
        assert found[0].verdict == found[1].verdict != "recovered", seed
    assert method is GATED or "not_unique" in verdicts


def test_a_neuron_that_is_orthogonal_to_a_row_up_to_rounding_is_in_one_cell_by_rounding_alone() -> None:
    """Rounding does not prove a recovery: the dual norm of the other cell is 1 up to 1e-17."""
    relu, seen = ARCHITECTURES["relu"], set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, w = rng.standard_normal((12, 2)), rng.standard_normal(2)
        w -= (w @ X[0]) / (X[0] @ X[0]) * X[0]
        verdicts = [EXACT(instance_of(X, Given((tuple(w),), (1.0,)), relu, kind), relu).verdict for kind in KINDS]
        assert "recovered" not in verdicts, seed
        seen.update(verdicts)
    assert seen >= {"undecided"}


def test_a_neuron_that_is_orthogonal_to_a_row_up_to_rounding_has_its_group() -> None:
    """Rounding decides its pattern, and a product with other columns rounds otherwise, here without a dead neuron."""
    relu, flips = ARCHITECTURES["relu"], 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = 0.1 + np.abs(rng.standard_normal((4, 2)))
        w = rng.standard_normal(2)
        w -= (w @ X[0]) / (X[0] @ X[0]) * X[0]
        instance = instance_of(X, Given((tuple(w), (-1.0, -1.0)), (1.0, 1.0)), relu, "sampled")
        H = instance.planted.directions
        flips += bool(((X @ H >= 0)[:, 0] != (X @ H[:, 0] >= 0)).any())
        for kind in ("gated", "exact"):
            assert PlantedProgram.of(instance, relu, kind).tied in (False, True)
        assert MinNorm()(instance, relu).reason in (DEAD, BLANK)
    assert flips > 0


def optimum(instance: Instance, architecture: Architecture, method: MinNorm) -> float:
    """The least norm of an interpolant over the instance's patterns, by Clarabel on formed operators."""
    groups = architecture.groups(instance.X, instance.patterns)
    blocks = []
    for g, on in enumerate(groups.patterns.T):
        free = method.program == "gated" or (groups.linear and g == 0)
        cone = None if free else np.where(on, 1.0, -1.0)[:, None] * groups.base
        blocks.append((np.where(on, 1.0, groups.slope)[:, None] * groups.base, cone))
    return printed_optimum(blocks, instance.y, None)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.program)
@pytest.mark.parametrize("architecture", [LEAKY, SLOPED, ARCHITECTURES["relu"]], ids=str)
def test_a_cheaper_interpolant_on_dependent_rows_is_found(architecture: Architecture, method: MinNorm) -> None:
    """Repeated, opposite and zero rows, whose ranks are counted in whole numbers, with a slope too."""
    decided = cheaper = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = np.round(1.2 * rng.standard_normal((6, 2)))
        X[4:] = [X[0], -X[1]]
        X[0] = [1, 0]
        W = rng.standard_normal((2, 2))
        planted = Given(tuple(map(tuple, W)), (1.0, -1.0), slope=architecture.slope)
        instance = instance_of(X, planted, architecture, "exhaustive")
        cost = PlantedProgram.of(instance, architecture, method.program, confinement="none").planted_cost
        is_cheaper = optimum(instance, architecture, method) < cost * (1 - 1e-5)
        for kind in ("exhaustive", "all"):
            row = method(instance_of(X, planted, architecture, kind), architecture)
            assert not (is_cheaper and row.verdict == "recovered")
            if row.verdict == "not_unique" and is_cheaper:
                assert row.reason, "a cheaper interpolant was not excluded"
            cheaper += is_cheaper
            decided += is_cheaper and row.verdict == "not_optimal"
    assert cheaper >= 5
    assert decided >= 0.95 * cheaper


@pytest.mark.parametrize(
    ("method", "direction", "e"), [(GATED, (1, -1), 1e-9), (GATED, (3, -1), 1e-9), (EXACT, (1, -1), 1e-7)]
)
def test_the_reason_says_where_a_solution_costs_less_than_the_planted_neuron(
    method: MinNorm, direction: tuple[int, int], e: float
) -> None:
    """Rows are dependent up to e: the labels that the solution misses may cost more than the solution saves."""
    rows = [[1.0, 1.0], [-1.0, -1.0 + e], [0.5, 0.5 + 0.5 * e]]
    architecture = ARCHITECTURES["relu_skip"]
    instance = instance_of(rows, Given((direction,), (1.0,), "linear"), architecture, "sampled")
    row = replace(method, distances=True)(instance, architecture)
    assert row["objective"] < 0.99 * PlantedProgram.of(instance, architecture, method.program).planted_cost
    assert (row.verdict, row.reason) == ("not_unique", OPEN_RESIDUAL)


def nearly_dependent(kind: str, seed: int, e: float) -> tuple[Array, Array]:
    """X (n, 2) of rank 1, or 2 with e, and a neuron w."""
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((7, 2)), rng.standard_normal(2)
    if kind == "column":
        X[:, 1] = X[:, 0] + e * X[:, 1]
    elif kind == "units":
        X[:, 1], w = e * X[:, 1], np.array([1.0, 10 * e])
    elif kind == "one row":
        X = np.array([[1.0, e], [-1.0, 2 * e], [-2.0, -e], [-1.0, -e]])
        w = np.array([1.0, 100 * e])
    return X, w


@pytest.mark.parametrize("e", [0.0, 1e-12, 1e-14])
@pytest.mark.parametrize(
    ("kind", "name"),
    [("column", "relu_norm"), ("column", "relu_norm_skip"), ("units", "relu_skip"), ("one row", "relu")],
)
def test_nothing_holds_because_rounding_hides_a_dimension(kind: str, name: str, e: float) -> None:
    """Where the second dimension is 1e-12 of the first, singular values show one; integers show both."""
    architecture, counts = ARCHITECTURES[name], Counter[str]()
    form = "normalized_relu" if architecture.normalizes_after else "linear" if architecture.skip else "relu"
    for seed in range(5):
        X, w = nearly_dependent(kind, seed, e)
        for patterns in KINDS:
            instance = instance_of(X.tolist(), Given((tuple(w),), (1.0,), form), architecture, patterns)
            found = [(method, method(instance, architecture).verdict) for method in METHODS]
            if Isometry()(instance, architecture).get("holds"):
                found.append((GATED, "recovered"))
            for method, verdict in found:
                counts[str(verdict)] += 1
                if verdict == "recovered":
                    assert verify_rigorously(instance, architecture, method, verdict).proved, (seed, patterns, method)
    assert counts["undecided" if e else "recovered"] > 0


def test_normalised_activations_that_are_rounding_have_no_verdict() -> None:
    """The neuron is orthogonal to two rows up to rounding, negative on the others, and divided by its length."""
    architecture, met = ARCHITECTURES["relu_norm"], 0
    for seed in range(100, 130):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((6, 3))
        w = np.cross(X[0], X[1])
        X[2:] *= -np.sign(X[2:] @ w)[:, None]
        neuron = Given((tuple(w / np.linalg.norm(w)),), (1.0,), "normalized_relu")
        for kind in ("sampled", "exhaustive"):
            instance = instance_of(X.tolist(), neuron, architecture, kind)
            reasons = {method(instance, architecture).reason for method in METHODS}
            assert reasons <= {FAINT, DEAD, BLANK}
            met += reasons == {FAINT}
            assert Isometry()(instance, architecture).get("holds") is None
    assert met > 0


@pytest.mark.parametrize(("n", "verdict"), [(110, "not_optimal"), (220, "recovered")])
def test_a_hundred_columns_are_decided_over_all_patterns(n: int, verdict: str) -> None:
    architecture = ARCHITECTURES["relu_skip"]
    setting = Setting(n, 100, planted=Linear(), patterns=Patterns(kind="all"))
    instance = draw(setting, np.random.default_rng([n, 11]), architecture)
    assert len(instance.patterns) == n
    row = EXACT(instance, architecture)
    assert (row.verdict, row["patterns_proved"]) == (verdict, "all")
