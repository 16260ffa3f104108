from typing import Any

import pandas as pd
import pytest

from recovery.report.claims import Finding, findings
from recovery.report.diagram import Diagram

from .grids import fail, grid, wendel_rows

THRESHOLD = {"kind": "threshold", "of": "recovered", "ratio": "n/d", "value": 2.0, "tolerance": 0.2}
CURVE = {"kind": "curve", "of": "all_ones", "curve": "wendel", "level": 1e-3}


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    made = wendel_rows(n=range(10, 201, 10), d=range(10, 61, 10), ensemble=["gaussian", "haar"], replicates=10, seed=11)
    made["all_ones"] = ~made["recovered"]
    return made


def judge(rows: pd.DataFrame, claim: dict[str, Any]) -> Finding:
    return findings(Diagram.of(grid(rows, claims=[claim])))[0]


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "holds"),
        ({"value": 2.5}, "contradicted"),
        ({"tolerance": 0.02}, "cannot tell"),
        ({"where": {"data.ensemble": "haar"}}, "holds"),
        ({"where": {"ensemble": "haar", "noise": 0}}, "holds"),
        ({"where": {"ensemble": "cauchy"}}, "cannot tell"),
        ({"of": "test_distance"}, "cannot tell"),
    ],
)
def test_thresholds(rows: pd.DataFrame, change: dict[str, Any], verdict: str) -> None:
    assert judge(rows, THRESHOLD | change).verdict == verdict


def test_a_claim_about_one_panel_looks_at_no_other(rows: pd.DataFrame) -> None:
    spoilt = rows.copy()
    spoilt.loc[spoilt["ensemble"] == "gaussian", "recovered"] = False
    assert judge(spoilt, THRESHOLD | {"where": {"ensemble": "haar"}}).verdict == "holds"
    assert judge(spoilt, THRESHOLD).verdict == "cannot tell"


def test_unfinished_trials_can_leave_a_claim_open(rows: pd.DataFrame) -> None:
    assert judge(fail(rows, slice(0, None, 4)), THRESHOLD).verdict == "cannot tell"


def test_the_law_agrees_with_itself_and_a_shifted_one_does_not(rows: pd.DataFrame) -> None:
    found = judge(rows, CURVE)
    assert found.verdict == "holds"
    assert "p = " in found.measured
    shifted = rows.assign(n=rows["n"] * 1.15)
    assert judge(shifted, CURVE).verdict == "contradicted"


def test_an_impossible_outcome_contradicts_the_law(rows: pd.DataFrame) -> None:
    spoilt = rows.copy()
    spoilt.loc[(spoilt["n"] == 10) & (spoilt["d"] == 60) & (spoilt["replicate"] == 0), "all_ones"] = False
    assert judge(spoilt, CURVE).verdict == "contradicted"


def test_too_few_trials_cannot_tell(rows: pd.DataFrame) -> None:
    few = rows[(rows["replicate"] == 0) & (rows["d"] == 30)]
    assert judge(few, CURVE).verdict == "cannot tell"


def test_statements_are_printed_and_not_judged(rows: pd.DataFrame) -> None:
    found = judge(rows, {"kind": "statement", "text": "It looks sharp.", "source": "P1"})
    assert (found.stated, found.verdict, found.source) == ("It looks sharp.", "not tested", "P1")
