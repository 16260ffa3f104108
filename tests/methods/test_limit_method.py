import numpy as np
import pytest

from recovery.errors import ParameterError
from recovery.instances.draw import Setting, draw
from recovery.instances.patterns import Patterns
from recovery.instances.planted import Linear, NormalizedRelu, Planted, Relu
from recovery.methods.isometry import Limit
from recovery.programs.architecture import ARCHITECTURES
from tests.suites import first

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
    value, limit = measure(planted, architecture, 100_000, degrees, tilt)
    assert value == pytest.approx(limit, abs=0.015)  # the error is O(n^{-1/2})


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
