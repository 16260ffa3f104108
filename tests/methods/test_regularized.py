"""Rows of regularised programs that no certificate proves."""

import numpy as np
import pytest

from recovery.instances.draw import Setting, draw
from recovery.instances.planted import Linear
from recovery.methods.min_norm import Regularized
from recovery.programs.architecture import ARCHITECTURES
from recovery.programs.solution import Outcome, Solution
from recovery.solvers.table import SOLVERS, Solver


@pytest.mark.parametrize("program", ["gated", "exact"])
def test_an_optimum_that_is_not_proved_leaves_the_verdict_open_with_its_reason(program, monkeypatch):
    def give_up(program):
        zeros = np.zeros((program.size, program.groups.rank))
        return Solution(zeros, np.zeros(program.groups.n), Outcome.NUMERICAL_TROUBLE)

    monkeypatch.setitem(SOLVERS, "auto", Solver({"gated": give_up, "exact": give_up}))
    instance = draw(Setting(12, 3, planted=Linear(), noise=0.1), np.random.default_rng(0))
    row = Regularized(1e-3, program=program)(instance, ARCHITECTURES["relu_skip"])
    assert (row.verdict, row.certificate) == ("undecided", "none")
    assert set(row) <= set(Regularized.columns)
    assert "rounding errors" in row.reason
