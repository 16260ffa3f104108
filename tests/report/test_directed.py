from collections import Counter
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import ndtr
from scipy.stats import binomtest

from recovery.report.statistics.directed import LEVELS, Directed, directed
from recovery.report.statistics.likelihood import Counts
from recovery.report.statistics.threshold import fit
from recovery.types import Array

N, D = (a.ravel().astype(float) for a in np.meshgrid(np.arange(10, 301, 10), np.arange(10, 81, 10)))
V = D / np.sqrt(N)


def judged(yes: Array, total: float, n: Array = N, d: Array = D) -> Directed:
    found = fit(Counts.of(np.sqrt(n), d / np.sqrt(n), yes, total - yes), intervals=False)
    return directed(n, d, yes, total - yes, found.estimate, found.slope)


def drawn(chance: Any, replicates: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).binomial(replicates, chance).astype(float)


MODEL = ndtr((N - 2 * D) / np.sqrt(N))


def test_scores_are_the_drop_in_deviance_of_the_larger_model() -> None:
    """Second opinion: statsmodels fits the model with a drift column of its own."""
    yes = drawn(ndtr((N - (2 + 0.02 * np.log(D / 40)) * D) / np.sqrt(N)), 2000)
    columns = np.column_stack([np.sqrt(N), -V, -V * np.log(D)])
    probit = sm.families.Binomial(link=sm.families.links.Probit())
    small, large = (sm.GLM(np.column_stack([yes, 2000 - yes]), columns[:, :k], probit).fit() for k in (2, 3))
    found = judged(yes, 2000)
    assert found.z["drift"] ** 2 == pytest.approx(small.deviance - large.deviance, rel=0.02)
    slope = large.params[2] / large.params[0]
    assert np.sign(found.z["drift"]) == np.sign(slope)
    assert found.ends[1][1] - found.ends[0][1] == pytest.approx(slope * np.log(8), rel=0.2)


def test_the_model_itself_is_rejected_as_often_as_the_level_says() -> None:
    rejected = Counter(name for seed in range(150) for name in judged(drawn(MODEL, 10, seed), 10).rejected)
    for name, level in LEVELS.items():
        assert binomtest(rejected[name], 150, level, alternative="greater").pvalue > 1e-3


@pytest.mark.parametrize(
    ("chance", "direction", "sign"),
    [
        (ndtr((N - (2 + 0.15 * np.log(D / 10)) * D) / np.sqrt(N)), "drift", 1),
        (ndtr((N - 2 * D) / (0.3 * N)), "exponent", -1),
        (1 - 2.0 ** -np.exp((N - 2 * D) / np.sqrt(N)), "skew", 1),
        (0.02 + 0.96 * MODEL, "tails", -1),
        (np.clip(0.5 + (N - 2 * D) / np.sqrt(N) / 3, 0, 1), "tails", 1),
    ],
)
def test_each_failure_is_called_by_its_name(chance: Array, direction: str, sign: int) -> None:
    found = judged(drawn(chance, 200), 200)
    assert found.rejected[0] == direction
    assert np.sign(found.z[direction]) == sign


def test_the_widened_ratio_covers_where_the_curve_is_skew() -> None:
    """A skewness that 5 replicates seldom show: the model's own estimate is off by two standard errors."""
    chance = 1 - 2.0 ** -((N / (2 * D)) ** 6)
    own, widened, z = 0, 0, []
    for seed in range(100):
        yes = drawn(chance, 5, seed)
        counts = Counts.of(np.sqrt(N), V, yes, 5 - yes)
        found = fit(counts)
        checked = directed(N, D, yes, 5 - yes, found.estimate, found.slope)
        own += found.low <= 2 <= found.high
        widened += abs(checked.ratio[0] - 2) <= 1.96 * checked.ratio[1]
        z.append(checked.z["skew"])
    assert own < 60
    assert widened > 80
    assert np.mean(z) > 2


def test_one_size_has_no_drift_and_two_have() -> None:
    one = D == 40
    assert "drift" not in judged(drawn(MODEL[one], 20), 20, N[one], D[one]).z
    two = (D == 40) | (D == 80)
    assert "drift" in judged(drawn(MODEL[two], 20), 20, N[two], D[two]).z


def test_success_that_falls_with_n_is_judged_alike() -> None:
    yes = drawn(MODEL, 20)
    rising, falling = judged(yes, 20), judged(20 - yes, 20)
    assert falling.ratio == pytest.approx(rising.ratio, rel=1e-4)
    assert falling.z["drift"] == pytest.approx(rising.z["drift"], abs=1e-3)
    assert falling.z["tails"] == pytest.approx(rising.z["tails"], abs=1e-3)


def test_a_change_beyond_all_numbers_is_infinite() -> None:
    ends = ((5.0, 0.01, 1.0), (400.0, 9.0, 40.0))
    found = Directed({"drift": 1.0}, (0.01, 1.0), 1.0, (2.0, 30.0), ends)
    estimate, low, high = found.change()
    assert (low, high) == (-1.0, np.inf)
    assert estimate == np.inf
