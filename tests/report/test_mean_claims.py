"""Claims about means: no verdict without evidence, exact bounds of counts, and tables with one error rate."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, binom

from recovery.report.claims.result import ClaimResult
from recovery.report.statistics.samples import Sample

from . import grids
from .grids import wendel_rows

BOUND = {"kind": "bound", "of": "test_distance", "at_least": 0.5}
VALUE = {"kind": "value", "of": "test_distance", "value": 0.5, "tolerance": 0.1}
TABLE = {"kind": "table", "axis": "method", "across": "n", "at": [10, 20, 30, 40], "error": 0.1}


def judge(values: Any, claim: dict[str, Any], **rows: Any) -> ClaimResult:
    """Judge a claim about these values, one per trial of a grid; by default the grid has one cell."""
    made = wendel_rows(**{"n": [20], "d": [10], "replicates": len(values), **rows})
    made[claim["of"]] = pd.array(values)
    return grids.judge(made, claim)


def rare(rng: np.random.Generator, trials: int) -> Any:
    """5 with probability 0.1, otherwise 0: the mean is 0.5."""
    return np.where(rng.random(trials) < 0.1, 5.0, 0.0)


@pytest.mark.parametrize("claim", [BOUND, VALUE])
def test_few_trials_contradict_no_mean_and_the_reason_says_so(claim: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    found = [judge(rare(rng, 10), claim) for _ in range(20)]
    assert {one.verdict for one in found} == {"inconclusive"}
    assert all("too few trials for a mean of values without a known range" in one.measured for one in found)
    assert all(re.search(r"; needs (at least )?30 trials", one.measured) for one in found)


def test_rare_values_contradict_their_own_mean_at_most_as_often_as_the_level() -> None:
    """All of 30 values are 0 in 4 % of draws."""
    rng, grids, level = np.random.default_rng(1), 30, 1e-3
    wrong = sum(judge(rare(rng, 30), VALUE).verdict == "contradicted" for _ in range(grids))
    assert wrong <= binom.isf(1e-3, grids, level)


def test_many_trials_decide_a_mean_and_say_that_the_interval_is_approximate() -> None:
    values = np.random.default_rng(2).normal(1.0, 0.5, 60)
    for claim, verdict in (
        (BOUND, "supported"),
        (VALUE, "contradicted"),
        (VALUE | {"value": 1.0, "tolerance": 0.3}, "supported"),
    ):
        found = judge(values, claim)
        assert found.verdict == verdict
        assert "the interval is approximate: exponential tilting" in found.measured
    assert judge(values, BOUND | {"at_least": 1.5}).verdict == "contradicted"


@pytest.mark.parametrize("hits", [1, 4, 20, 36])
@pytest.mark.parametrize("level", [0.95, 0.999])
def test_the_upper_bound_of_two_valued_data_is_about_the_exact_one(hits: int, level: float) -> None:
    """The bound may lie between those for one hit fewer and, with 6 % on top, for the hits themselves."""
    values = np.repeat([5.0, 0.0], [hits, 40 - hits])
    bound = Sample(values, False).interval("mean", level).high / 5
    low, high = beta.ppf((1 + level) / 2, [hits, hits + 1], [41 - hits, 40 - hits])
    assert low < bound < 1.06 * high


def test_equal_values_contradict_no_mean() -> None:
    """100 zeros may come from a law whose value is 5 with probability 0.01."""
    found = judge(np.zeros(100), VALUE | {"value": 0.05, "tolerance": 0.01})
    assert found.verdict == "inconclusive"
    assert "equal values show no spread" in found.measured


def table(rng: np.random.Generator, replicates: int = 100) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Trials of 20 cells with the means 1 to 20, and the claim that a second sample of each cell makes."""
    methods = [f"m{i}" for i in range(5)]
    rows = wendel_rows(n=TABLE["at"], d=[10], replicates=replicates, method=methods)
    means = np.arange(1.0, 21.0).reshape(5, 4)
    rows["test_distance"] = means.repeat(replicates) + rng.standard_normal(len(rows))
    stated = means + rng.standard_normal((5, 4)) * 0.1
    values = {name: list(map(float, row)) for name, row in zip(methods, stated, strict=True)}
    return rows, TABLE | {"of": "test_distance", "values": values}


def verdict(rows: pd.DataFrame, claim: dict[str, Any]) -> ClaimResult:
    return grids.judge(rows, claim, report={"value": "test_distance", "x": "n"})


def test_exact_tables_are_contradicted_at_most_as_often_as_the_level_of_a_table() -> None:
    """With |z| > 3 for one number, 5.3 % of exact tables of 20 numbers were contradicted."""
    rng, tables = np.random.default_rng(4), 40
    wrong = sum(verdict(*table(rng)).verdict == "contradicted" for _ in range(tables))
    assert wrong <= binom.isf(1e-3, tables, 1e-3)


def test_a_table_reports_how_many_of_its_numbers_agree() -> None:
    rows, claim = table(np.random.default_rng(5))
    assert verdict(rows, claim).verdict_words == "supported (20 of 20 numbers agree)"
    claim["values"]["m2"][1] += 2.0
    one = verdict(rows, claim)
    assert one.verdict_words == "contradicted (19 of 20 numbers agree)"
    assert one.measured.startswith("19 of 20 numbers agree; m2 at n 20: ")
    for row in claim["values"].values():
        row[:] = [number - 3.0 for number in row]
    assert verdict(rows, claim).verdict_words == "contradicted (0 of 20 numbers agree)"


def test_a_table_of_few_trials_is_inconclusive() -> None:
    rows, claim = table(np.random.default_rng(6), replicates=10)
    found = verdict(rows, claim)
    assert found.verdict == "inconclusive"
    assert "20 undecided; needs 30 trials for each mean" in found.measured
