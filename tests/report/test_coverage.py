"""A small version of benchmarks/coverage.py."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from scipy.stats import binomtest


@pytest.fixture(scope="module")
def coverage() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "coverage.py"
    spec = importlib.util.spec_from_file_location("coverage_benchmark", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("replicates", [5, 100])
def test_pooled_intervals_cover_with_their_probability_and_little_bias(coverage: ModuleType, replicates: int) -> None:
    found = coverage.measure(coverage.Design("small", (20, 40, 60), 10, 10, 200), replicates, 100, 1)
    assert binomtest(found.covered, 100, 0.95).pvalue > 1e-3
    assert abs(found.bias) < 0.002 + 4 * found.spread / 10


def test_separated_slices_are_covered_at_least_as_often(coverage: ModuleType) -> None:
    found = coverage.measure(coverage.Design("coarse", (20,), 25, 25, 200), 5, 100, 1)
    assert found.separated > 0.5
    assert binomtest(found.covered, 100, 0.95, alternative="less").pvalue > 1e-3
