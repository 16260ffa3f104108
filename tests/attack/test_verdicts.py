"""A second implementation agrees with verdicts over all patterns."""

import pytest

from tests.suites import first

from .verdicts import fates


@pytest.mark.parametrize(
    "draws", [*first(1, [range(4), range(4, 50)]), pytest.param(range(50, 6000), marks=pytest.mark.soak)], ids=len
)
def test_no_verdict_is_false(draws: range) -> None:
    found = [(seed, *fate) for seed in draws for fate in fates(seed)]
    assert [each for each in found if each[-1].startswith(("false", "exception"))] == []
    assert sum(each[-1].startswith("open") for each in found) <= len(found) / 1000
    assert sum(each[-1] == "agrees" for each in found) > len(found) / 3
