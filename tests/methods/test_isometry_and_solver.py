"""Wherever a condition holds over all patterns, the program over these patterns recovers."""

import numpy as np
import pytest

from recovery.instances.draw import Setting, draw
from recovery.instances.patterns import Patterns
from recovery.instances.planted import Linear, NormalizedRelu, Planted, Relu
from recovery.methods.isometry import Isometry
from recovery.methods.min_norm import MinNorm
from recovery.programs.architecture import ARCHITECTURES


@pytest.mark.parametrize(
    ("architecture", "planted", "n"),
    [
        ("relu_skip", Linear(), 9),
        ("relu_norm_skip", Linear(), 9),
        ("relu", Relu(k=1), 30),
        ("relu", Relu(k=2, geometry="opposite"), 30),
        ("relu_norm", NormalizedRelu(k=1), 9),
        ("relu_norm", NormalizedRelu(k=2, geometry="opposite"), 16),
    ],
)
def test_a_condition_that_holds_is_a_recovery_by_the_solver(architecture: str, planted: Planted, n: int) -> None:
    held = failed = 0
    for seed in range(12):
        setting = Setting(n, 2, planted=planted, patterns=Patterns(kind="exhaustive"))
        condition = Isometry()(draw(setting, np.random.default_rng(seed)), ARCHITECTURES[architecture])
        solved = MinNorm(solver="newton")(draw(setting, np.random.default_rng(seed)), ARCHITECTURES[architecture])
        if condition.holds:
            held += 1
            assert solved.recovered
        failed += not condition.holds
        decided = MinNorm()(draw(setting, np.random.default_rng(seed)), ARCHITECTURES[architecture])
        assert (decided.certificate == "isometry") == condition.holds
    assert held > 0
    assert failed > 0 or architecture != "relu"
