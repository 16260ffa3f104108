"""A second implementation agrees with verdicts over all patterns; `python -m tests.attack.verdicts` tries more."""

import numpy as np
import pytest

from recovery.instances.arrangements import enumerate_cells
from tests.suites import first

from .cells import cells
from .verdicts import fates


@pytest.mark.parametrize(
    "draws", [*first(1, [range(16), range(16, 50)]), pytest.param(range(50, 250), marks=pytest.mark.soak)], ids=len
)
def test_no_verdict_is_false(draws: range) -> None:
    found = [(seed, *fate) for seed in draws for fate in fates(seed)]
    assert [each for each in found if each[-1].startswith(("false", "open", "exception"))] == []
    assert sum(each[-1] == "agrees" for each in found) > len(found) / 3


def test_cells_of_extreme_rays_are_those_of_deletion_and_restriction() -> None:
    rng = np.random.default_rng(0)
    for trial in range(60):
        n, d = rng.integers(1, 8), rng.integers(1, 5)
        X = rng.integers(-2, 3, (n, d)).astype(float) if trial % 2 else rng.standard_normal((n, d))
        if X.any():
            assert cells(X) == {tuple(map(bool, cell)) for cell in enumerate_cells(X)[0].T}
