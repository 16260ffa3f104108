import numpy as np

from recovery.theory.wendel import kinematic_exponent, proposition6, theorem5, theorem11, wendel

N, D = np.meshgrid(np.arange(10, 4001, 30), np.arange(10, 401, 10))


def test_exponent_as_printed() -> None:
    assert kinematic_exponent(100, 10) == 40**2 / (64 * 100**2)


def test_proposition_6_bounds_the_exact_law_on_its_side() -> None:
    bound, law = proposition6(N, D), wendel(N, D)
    above, below = 2 * D < N, 2 * D > N
    assert (law[above] <= bound[above] + 1e-12).all()
    assert (law[below] >= bound[below] - 1e-12).all()
    assert (bound[above] < 1).any()  # somewhere it says something
    assert (bound[below] > 0).any()


def test_success_bounds_start_at_the_threshold_and_grow_with_n() -> None:
    for bound in (theorem5, theorem11):
        value = bound(np.arange(50, 2000), 50)
        assert (value[: 2 * 50 - 50 + 1] == 0).all()
        assert (np.diff(value[51:]) >= 0).all()
        assert value[-1] > 0.6


def test_theorem_11_as_printed() -> None:
    assert np.isclose(theorem11(300, 100), 1 - np.exp(-(100**2) / 1800))
    assert theorem11(100, 50) == 0
