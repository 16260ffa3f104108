import numpy as np
import pytest

from recovery.errors import ParameterError
from recovery.instances.draw import Setting, draw
from recovery.instances.ensembles import Gaussian, Haar
from recovery.instances.patterns import Patterns
from recovery.instances.planted import Linear, NormalizedRelu, Planted, Relu
from recovery.methods.isometry import Isometry, Limit
from recovery.programs.architecture import ARCHITECTURES
from recovery.theory.wendel import wendel
from tests.suites import first

RELU = ARCHITECTURES["relu"]
SKIP = ARCHITECTURES["relu_skip"]
NORM = ARCHITECTURES["relu_norm"]


def test_linear_condition_fails_exactly_when_the_all_ones_pattern_exists_for_haar_data() -> None:
    """P1, Theorem 7: for orthonormal columns ||U^T D_j U w|| < 1 unless (I - D_j) U w = 0."""
    setting = Setting(30, 15, Haar(), Linear())
    for seed in range(20):
        measured = Isometry()(draw(setting, np.random.default_rng(seed)), SKIP)
        assert measured.holds == (not measured.all_ones)
    assert 0 < wendel(30, 15) < 1


def test_sampled_searched_and_exhaustive_patterns_are_ever_harder() -> None:
    values = {}
    for kind in ("sampled", "searched", "exhaustive"):
        setting = Setting(16, 3, Gaussian(), Relu(k=1), patterns=Patterns(kind=kind, count=20))
        measured = [Isometry()(draw(setting, np.random.default_rng(seed)), RELU) for seed in range(8)]
        values[kind] = np.array([m.isometry_value for m in measured])
        for m in measured:
            assert m.isometry_margin == pytest.approx(1 - m.isometry_value)
    assert (values["sampled"] <= values["searched"] + 1e-12).all()
    assert (values["searched"] <= values["exhaustive"] + 1e-12).all()
    assert (values["sampled"] < values["exhaustive"] - 1e-6).any()


def test_opposite_normalised_neurons_at_many_rows_hold_and_at_few_do_not() -> None:
    planted = NormalizedRelu(k=2, geometry="opposite")
    rng = np.random.default_rng(0)
    easy = Setting(200, 5, Gaussian(), planted, patterns=Patterns(count="double", all_ones="ignore"))
    hard = Setting(12, 8, Gaussian(), planted, patterns=Patterns(count="double", all_ones="ignore"))
    assert Isometry()(draw(easy, rng), NORM).holds
    measured = Isometry()(draw(hard, rng), NORM)
    assert not measured.holds
    assert measured.all_ones is None


def test_trace_condition_counts_rows_and_the_search_finds_the_worst() -> None:
    for seed in range(5):
        found = {}
        for kind in ("searched", "exhaustive"):
            setting = Setting(20, 3, Haar(), Linear(), patterns=Patterns(kind=kind))
            found[kind] = Isometry("trace", starts=8)(draw(setting, np.random.default_rng(seed)), SKIP)
        assert found["searched"].isometry_value == found["exhaustive"].isometry_value
        assert found["exhaustive"].holds == (found["exhaustive"].isometry_value <= 17)


def test_what_a_condition_is_not_about_is_refused() -> None:
    searched = draw(Setting(10, 2, patterns=Patterns(kind="searched")), np.random.default_rng(0))
    with pytest.raises(ParameterError, match="not searched"):
        Isometry("uniform")(searched, SKIP)


def test_the_worst_patterns_of_one_normalised_neuron_are_its_neighbours_which_sampling_never_meets() -> None:
    """P1, Theorem 11: n > 2d suffices. Below, a neighbour with at most d active rows spans the labels."""
    outcome = {}
    for n in (17, 60):
        for kind in ("sampled", "searched"):
            setting = Setting(n, 10, Gaussian(), NormalizedRelu(k=1), patterns=Patterns(kind=kind))
            draws = [draw(setting, np.random.default_rng(seed)) for seed in range(6)]
            outcome[n, kind] = sum(bool(Isometry(starts=1)(each, NORM).holds) for each in draws)
    assert outcome[17, "sampled"] >= outcome[17, "searched"] + 3
    assert outcome[17, "searched"] <= 1
    assert outcome[60, "sampled"] == outcome[60, "searched"] == 6


FEW = Patterns(count=1, all_ones="ignore")


def measure(planted: Planted, architecture: str, n: int, degrees: float, tilt: float = 0.0) -> tuple[float, float]:
    instance = draw(Setting(n, 4, planted=planted, patterns=FEW), np.random.default_rng(1))
    measured = Limit(degrees, tilt)(instance, ARCHITECTURES[architecture])
    assert measured.isometry_value is not None
    assert measured.predicted is not None
    return measured.isometry_value, measured.predicted


@pytest.mark.parametrize("degrees", first(1, [130.0, 20.0, 75.0]))
@pytest.mark.parametrize(
    ("planted", "architecture", "tilt"),
    [
        (Relu(k=1), "relu", 0.0),
        (NormalizedRelu(k=2, geometry="opposite"), "relu_norm", 0.0),
        (NormalizedRelu(k=2, geometry="basis"), "relu_norm", 0.0),
        (NormalizedRelu(k=2, geometry="basis"), "relu_norm", 35.0),
    ],
)
def test_the_condition_approaches_its_limit(planted: Planted, architecture: str, tilt: float, degrees: float) -> None:
    value, limit = measure(planted, architecture, 40_000, degrees, tilt)
    assert value == pytest.approx(limit, abs=0.024)  # the error is O(n^{-1/2})


def test_at_the_planted_neuron_itself_both_are_one() -> None:
    np.testing.assert_allclose(measure(NormalizedRelu(k=2, geometry="opposite"), "relu_norm", 50, 0.0), 1)
    np.testing.assert_allclose(measure(Relu(k=1), "relu", 50, 0.0), 1)


@pytest.mark.parametrize(
    ("planted", "architecture", "tilt"),
    [
        (Relu(k=2), "relu", 0.0),
        (Relu(k=1), "relu", 5.0),
        (Relu(k=1), "relu_norm", 0.0),
        (Linear(), "relu", 0.0),
        (NormalizedRelu(k=2, geometry="basis"), "relu", 0.0),
    ],
)
def test_other_settings_are_refused_before_anything_is_drawn(planted: Planted, architecture: str, tilt: float) -> None:
    with pytest.raises(ParameterError, match="a limit is known for one ReLU neuron"):
        Limit(10.0, tilt).check(Setting(50, 4, planted=planted), ARCHITECTURES[architecture])


def test_neurons_at_another_angle_have_no_known_limit() -> None:
    with pytest.raises(ParameterError, match="found two with cosine 0"):
        measure(NormalizedRelu(k=2, geometry="angle", angle=60.0), "relu_norm", 50, 10.0)
