"""Cost estimates of convex methods: from the whole setting, always a positive number."""

import math
from pathlib import Path

import pytest

from recovery.config import load
from recovery.instances.draw import Setting
from recovery.instances.patterns import Patterns
from recovery.methods.isometry import Isometry
from recovery.methods.min_norm import MinNorm, Regularized

KINDS = ("sampled", "searched", "exhaustive", "all")


@pytest.mark.parametrize("program", ["gated", "exact"])
@pytest.mark.parametrize("kind", KINDS)
def test_costs_are_positive_numbers_of_any_setting(kind, program):
    for method in (MinNorm(program=program), Regularized(0.1, program=program), Isometry()):
        for n, d in ((1, 1), (10, 400), (100_000, 5000)):
            for noise in (0.0, 0.1):
                cost = method.setting_cost(Setting(n, d, noise=noise, patterns=Patterns(kind)))
                assert 0.0 < cost < math.inf


def test_more_patterns_a_search_and_noise_are_dearer():
    sampled, searched, exhaustive, _ = (Setting(30, 3, noise=0.1, patterns=Patterns(kind)) for kind in KINDS)
    cost = Regularized(0.1, program="exact").setting_cost
    assert cost(sampled) < cost(searched)
    assert cost(sampled) < cost(exhaustive)
    assert MinNorm().setting_cost(Setting(30, 3)) < MinNorm().setting_cost(sampled)


def test_a_proof_over_all_patterns_is_dearer_with_rows_and_ends_at_its_limit():
    def cost(n, d, nodes=2_000_000, method=None):
        return (method or Isometry()).setting_cost(Setting(n, d, patterns=Patterns("all", nodes=nodes)))

    assert cost(16, 8) < cost(24, 8) < cost(24, 8, method=MinNorm()) < cost(48, 16)
    assert cost(400, 100) == cost(800, 100) > cost(400, 100, nodes=1000)
    assert cost(400, 2) < cost(400, 6)
    exact = MinNorm(program="exact")
    assert cost(30, 10, method=exact) < cost(30, 16, method=exact) < cost(30, 24, method=exact)


def test_a_cell_asks_for_the_cost_of_its_setting(tmp_path: Path):
    config = tmp_path / "noise.yaml"
    config.write_text(
        "name: noise\nseed: 1\nreplicates: 1\nn: 20\nd: 4\ndata: {ensemble: gaussian}\narchitecture: relu_skip\n"
        "planted: {kind: linear, direction: random}\nmethod: {kind: min_norm}\naxes:\n  noise: [0, 0.1]\n"
    )
    quiet, noisy = load(config).cells
    assert quiet.cost == MinNorm().setting_cost(quiet.setting) < noisy.cost
