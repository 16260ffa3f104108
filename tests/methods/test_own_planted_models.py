"""Planted models of users: neurons that no row sees, and neurons that cancel."""

from dataclasses import dataclass

import numpy as np
import pytest

from recovery.extras.rigorous import verify_rigorously
from recovery.instances.draw import Setting, draw
from recovery.instances.ensembles import Gaussian
from recovery.methods.cascade import NOT_PLANTED
from recovery.methods.convex import BLANK, CANCELLED, DEAD, PlantedProgram
from recovery.methods.min_norm import MinNorm, Regularized
from recovery.programs.architecture import ARCHITECTURES

from .laws import Given

PROGRAMS = ["gated", "exact"]
PAIR, THIRD = ((1.0, 0.0), (1.0, 0.0)), (0.0, 1.0)


@dataclass(frozen=True)
class Positive:
    def draw(self, rng, n, d):
        return 0.1 + rng.random((n, d))


def instance_of(planted, architecture, ensemble=Gaussian()):
    return draw(Setting(8, 2, ensemble=ensemble, planted=planted), np.random.default_rng(0), architecture)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=str)
def test_a_neuron_that_no_row_sees_is_named(architecture, program):
    for directions, reason in ((((-1.0, 0.0),), BLANK), (((-1.0, 0.0), (1.0, 0.0)), DEAD)):
        instance = instance_of(Given(directions, (1.0,) * len(directions)), architecture, Positive())
        row = MinNorm(program=program)(instance, architecture)
        assert (row.verdict, row.reason) == ("undecided", reason)
        assert Regularized(program, beta=0.1)(instance, architecture).certificate == "gap"


@pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=str)
def test_neurons_that_cancel_are_nothing_to_gated_programs_and_waste_in_exact_ones(architecture, capfd):
    two, three = (
        instance_of(given, architecture)
        for given in (Given(PAIR, (1.0, -1.0)), Given((*PAIR, THIRD), (1.0, -1.0, 1.0)))
    )
    assert MinNorm()(two, architecture).reason == BLANK
    for instance, most in ((two, 1e-6), (three, 0.5)):
        exact = MinNorm(program="exact")
        assert exact(instance, architecture).verdict == "not_optimal"
        claimed = verify_rigorously(instance, architecture, exact, "not_optimal")
        assert claimed.proved
        assert claimed.bound < most
    verdict = MinNorm()(three, architecture).verdict  # about the third neuron, which is alone
    assert verdict == MinNorm()(instance_of(Given((THIRD,), (1.0,)), architecture), architecture).verdict
    assert verify_rigorously(three, architecture, MinNorm(), verdict).proved
    for claim in ("recovered", "not_optimal", "not_unique"):
        nothing = verify_rigorously(two, architecture, MinNorm(), claim)
        assert not nothing.proved
        assert nothing.opposite is None
    assert "DPOCON" not in "".join(capfd.readouterr())


def test_neurons_that_cancel_up_to_rounding_have_no_verdict(capfd):
    """0.1 (3, 1) + 0.1 (6, 2) - 0.1 (9, 3) is 5e-17 in floats: what direction that has, nobody planted.

    A kernel whose product leaves exactly nothing has planted the others alone.
    """
    sums = Given(((0.3, 0.1), (0.6, 0.2), (0.9, 0.3)), (1.0, 1.0, -1.0), unit=False)
    for others in (0, 1):
        planted = Given((*sums.directions, *[THIRD] * others), (*sums.signs, *[1.0] * others), unit=False)
        for architecture in ARCHITECTURES.values():
            instance = instance_of(planted, architecture)
            row = MinNorm()(instance, architecture)
            left = PlantedProgram.of(instance, architecture, "gated").planted.any(axis=1).sum() - others
            assert left in (0, 1)
            if left:
                assert (row.verdict, row.reason) == ("undecided", CANCELLED)
            elif others:
                alone = MinNorm()(instance_of(Given((THIRD,), (1.0,)), architecture), architecture)
                assert (row.verdict, row.reason) == (alone.verdict, alone.reason) == ("recovered", None)
            else:  # labels of 1e-17, and no weight that has them; or no labels either
                assert (row.verdict, row.reason) == ("undecided", NOT_PLANTED if instance.y.any() else BLANK)
    assert "DPOCON" not in "".join(capfd.readouterr())
