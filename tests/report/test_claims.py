"""Claims about thresholds and orders."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from recovery.theory import CURVES

from .grids import analysed, bent_rows, fail, judge, text_of, wendel_rows

THRESHOLD = {"kind": "threshold", "of": "recovered", "ratio": "n/d", "value": 2.0, "tolerance": 0.2}


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    made = wendel_rows(n=range(10, 201, 10), d=range(10, 61, 10), ensemble=["gaussian", "haar"], replicates=10, seed=11)
    made["all_ones"] = ~made["recovered"]
    return made


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "supported"),
        ({"value": 2.5}, "contradicted"),
        ({"tolerance": 0.02}, "inconclusive"),
        ({"where": {"data.ensemble": "haar"}}, "supported"),
        ({"where": {"ensemble": "haar", "noise": 0}}, "supported"),
        ({"where": {"ensemble": "cauchy"}}, "inconclusive"),
        ({"of": "test_distance"}, "inconclusive"),
    ],
)
def test_thresholds(rows: pd.DataFrame, change: dict[str, Any], verdict: str) -> None:
    assert judge(rows, THRESHOLD | change).verdict == verdict


def test_a_claim_about_one_panel_ignores_the_others(rows: pd.DataFrame) -> None:
    spoilt = rows.copy()
    spoilt.loc[spoilt["ensemble"] == "gaussian", "recovered"] = False
    assert judge(spoilt, THRESHOLD | {"where": {"ensemble": "haar"}}).verdict == "supported"
    assert judge(spoilt, THRESHOLD).verdict == "inconclusive"


def test_unfinished_trials_can_make_a_claim_inconclusive(rows: pd.DataFrame) -> None:
    assert judge(fail(rows, slice(0, None, 4)), THRESHOLD).verdict == "inconclusive"


def test_statements_are_printed_and_not_judged(rows: pd.DataFrame) -> None:
    found = judge(rows, {"kind": "statement", "text": "It looks sharp.", "source": "P1"})
    assert (found.stated, found.verdict, found.source) == ("It looks sharp.", "not tested", "P1")


ORDER = {"kind": "order", "of": "recovered", "axis": "planted"}
MEDIANS = {"soon": 1, "middle": 2, "late": 4}


@pytest.fixture(scope="module")
def planted() -> pd.DataFrame:
    """Three planted models: `soon` recovers from n = d, `middle` from 2d, `late` from 4d."""
    n, d = range(10, 201, 10), range(10, 41, 10)
    made = wendel_rows(n=n, d=d, replicates=10, planted=["soon", "middle", "late"])
    drawn = np.random.default_rng(5).random(len(made))
    for name, factor in MEDIANS.items():
        chance = CURVES["wendel"].function(2 * made["n"] / factor, made["d"])
        made.loc[made["planted"] == name, "recovered"] = (drawn >= chance)[made["planted"] == name]
    return made


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        (["soon", "middle", "late"], "supported"),
        (["soon", ["middle", "late"]], "supported"),
        ([["middle", "soon"], "late"], "supported"),
        (["soon", "late", "middle"], "contradicted"),
        (["soon", "never"], "inconclusive"),
    ],
)
def test_orders(planted: pd.DataFrame, values: list[Any], verdict: str) -> None:
    assert judge(planted, ORDER | {"values": values}).verdict == verdict


def test_orders_pool_panels_and_count_trials_without_a_partner(planted: pd.DataFrame) -> None:
    """With three ensembles, pairs agree in the ensemble too. A trial whose partner was never run is in no test."""
    parts = [planted.assign(ensemble=name) for name in ("gaussian", "haar", "cubic_gaussian")]
    rows = pd.concat(parts, ignore_index=True)
    rows["trial_id"] = [f"{i:032x}" for i in range(len(rows))]
    claim = ORDER | {"values": ["soon", "middle"]}
    assert judge(rows, claim).verdict == "supported"
    assert "without a partner" not in judge(rows, claim).measured
    alone = rows[(rows["planted"] != "middle") | (rows["replicate"] > 0)].reset_index(drop=True)
    found = judge(alone, claim)
    assert found.verdict == "supported"
    assert f"; {3 * 20 * 4} trials without a partner" in found.measured


NUMBERS = {"kind": "order", "of": "test_distance", "axis": "planted", "direction": "rises"}


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ({"values": ["soon", "middle", "late"]}, "supported"),
        ({"values": ["soon", "late", "middle"]}, "contradicted"),
        ({"values": ["late", "middle", "soon"], "direction": "falls"}, "supported"),
        ({"values": ["soon", "middle"], "direction": "falls"}, "contradicted"),
        ({"values": ["soon", "same"]}, "inconclusive"),
    ],
)
def test_orders_of_numbers(planted: pd.DataFrame, claim: dict[str, Any], verdict: str) -> None:
    """Values are smallest under `soon`, in about three of four pairs with `middle`; `same` has the law of `soon`."""
    numbers = pd.concat([planted, planted[planted["planted"] == "soon"].assign(planted="same")], ignore_index=True)
    numbers["trial_id"] = [f"{i:032x}" for i in range(len(numbers))]
    shift = numbers["planted"].map({**MEDIANS, "same": 1}).to_numpy(dtype=float)
    numbers["test_distance"] = shift + np.random.default_rng(6).standard_normal(len(numbers))
    assert judge(numbers, NUMBERS | claim).verdict == verdict
    few = fail(numbers, list(np.flatnonzero(numbers["planted"] == "soon")[::2]))
    if "soon" in claim["values"] and verdict == "supported":  # a failed trial could have had any value
        assert judge(few, NUMBERS | claim).verdict == "inconclusive"


def test_an_order_that_turns_at_one_size_is_contradicted(planted: pd.DataFrame) -> None:
    turned = planted.copy()
    for name, value in (("soon", False), ("middle", True)):
        turned.loc[(turned["d"] == 30) & (turned["planted"] == name), "recovered"] = value
    found = judge(turned, ORDER | {"values": ["soon", "middle"]})
    assert found.verdict == "contradicted"
    assert "in the opposite order at d = 30" in found.measured


def test_a_threshold_that_changes_with_d_is_inconclusive_unless_every_d_agrees() -> None:
    bent = bent_rows()
    found = judge(bent, THRESHOLD | {"tolerance": 0.35})
    assert found.verdict == "inconclusive"
    assert found.measured.startswith("d = 60: n/d at 50 % = 2.39")
    assert "; the deciding one of 2; needs about " in found.measured
    assert judge(bent, THRESHOLD | {"value": 2.4, "tolerance": 0.35}).verdict == "contradicted"  # 1.58 at d = 20
    assert judge(bent, THRESHOLD | {"tolerance": 0.9}).verdict == "supported"
    assert judge(bent, THRESHOLD | {"value": 4.0}).verdict == "contradicted"


def test_one_sided_thresholds(rows: pd.DataFrame) -> None:
    claim = {key: THRESHOLD[key] for key in ("kind", "of", "ratio")}
    assert judge(rows, claim | {"at_least": 1.5}).verdict == "supported"
    assert judge(rows, claim | {"at_least": 2.0}).verdict == "inconclusive"
    assert judge(rows, claim | {"at_least": 2.5}).verdict == "contradicted"
    assert judge(rows, claim | {"at_most": 2.5}).verdict == "supported"
    between = judge(rows, claim | {"at_least": 1.5, "at_most": 2.5})
    assert (between.verdict, between.stated) == ("supported", "threshold of 'recovered' at 50 %: n/d = 1.5 to 2.5")


def test_a_long_source_does_not_narrow_the_table_of_thresholds() -> None:
    source = "P1 section VII-A, on Figure 6: the boundaries indicate a phase transition between n = 2d and n = 3d"
    claim = {"kind": "threshold", "of": "recovered", "ratio": "n/d", "at_least": 1.0, "source": source}
    analysis = analysed(wendel_rows(noise=[0.0, 0.1, 0.2, 0.3, 0.4, 0.5]), claims=[claim])
    assert source in text_of(analysis, 300)
    narrow = text_of(analysis, 110)
    assert "n/d at 50 %" in narrow
    assert "VII-A" not in narrow
