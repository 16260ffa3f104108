import pytest
from scipy.stats import chi2, norm

from recovery.theory.normal import density, normal_reach, tail


def test_the_normal_law_is_scipys() -> None:
    for x in (-8.0, -1.0, 0.0, 0.5, 6.0):
        assert float(density(x)) == pytest.approx(norm.pdf(x), rel=1e-13)
        assert float(tail(x)) == pytest.approx(norm.sf(x), rel=1e-13)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99, 1 - 1e-4, 1 - 1e-6])
def test_a_reach_holds_its_level_on_both_sides(level: float) -> None:
    assert normal_reach(level) == pytest.approx(norm.isf((1 - level) / 2), rel=1e-9)
    assert normal_reach(level) ** 2 == pytest.approx(chi2.isf(1 - level, 1), rel=1e-9)
