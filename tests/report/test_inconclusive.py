"""Inconclusive claims of every kind say what would decide them, one line per panel, and the advice does decide."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from recovery.config.claims import CLAIMS

from .grids import fail, judge, wendel_rows

TIMES = re.compile(r"needs about (\d+) times the replicates")


def rows_of(**options: Any) -> pd.DataFrame:
    made = wendel_rows(**{"n": range(10, 81, 10), "d": range(10, 41, 10), "replicates": 10, "seed": 11, **options})
    return made.assign(test_distance=np.random.default_rng(0).exponential(size=len(made)), all_ones=~made["recovered"])


THRESHOLD = {"kind": "threshold", "of": "recovered", "ratio": "n/d", "value": 2.0, "tolerance": 0.02}
VALUE = {"kind": "value", "of": "recovered"}
BOUND = {"kind": "bound", "of": "recovered"}
BINOMIAL = {"kind": "binomial", "of": "recovered", "probability": 0.5}
MONOTONE = {"kind": "monotone", "of": "recovered", "along": "n", "direction": "rises"}
ORDER = {"kind": "order", "of": "recovered", "axis": "planted", "values": ["a", "b"]}
TABLE = {"kind": "table", "of": "test_distance", "axis": "d", "across": "n", "at": [20], "values": {"10": [1.0]}}
POWER = {"kind": "power", "of": "recovered", "along": "d", "value": 1.0, "tolerance": 0.01}
SCALING = {"kind": "scaling", "of": "recovered", "ratio": "n/d", "value": 2.0, "tolerance": 0.1}
FEW, ALL, LOST = rows_of(replicates=1), rows_of(), fail(rows_of(), slice(None))

CASES: list[tuple[dict[str, Any], pd.DataFrame]] = [
    (THRESHOLD, ALL),
    (THRESHOLD | {"tolerance": 0.5}, ALL[ALL["n"] >= 3 * ALL["d"]]),
    (THRESHOLD | {"tolerance": 0.5}, ALL[ALL["n"] <= ALL["d"]]),
    (THRESHOLD, LOST),
    (THRESHOLD | {"where": {"ensemble": "none"}}, ALL),
    (THRESHOLD | {"of": "test_distance"}, ALL),
    (BOUND | {"at_least": 0.01}, FEW),
    (BOUND | {"at_least": "theorem5"}, LOST),
    (BOUND | {"of": "test_distance", "at_most": 50.0}, ALL),
    (VALUE | {"at_least": float(ALL["recovered"].mean()) - 0.01}, ALL),
    (VALUE | {"at_least": 0.5}, LOST),
    (VALUE | {"of": "test_distance", "at_most": 3.0}, FEW[:10]),
    (VALUE | {"of": "test_distance", "at_most": 3.0}, ALL.assign(test_distance=1.0)),
    (VALUE | {"of": "test_distance", "at_most": 3.0, "statistic": "median"}, fail(ALL, slice(0, 200))),
    (VALUE | {"of": "test_distance", "at_most": 300.0, "statistic": "every"}, fail(ALL, slice(0, 9))),
    (BINOMIAL | {"tolerance": 0.01}, rows_of(n=[20], d=[10])),
    (BINOMIAL, LOST),
    (MONOTONE, FEW),
    (MONOTONE, rows_of(n=[20])),
    (POWER, ALL),
    (POWER, LOST),
    (POWER | {"of": "test_distance"}, ALL),
    (POWER | {"of": "test_distance"}, rows_of(d=[10])),
    (SCALING, rows_of(d=[10, 20])),
    (ORDER, rows_of(planted=["a", "b"])),
    (ORDER, LOST.assign(planted="a")),
    (ORDER, fail(rows_of(planted=["a", "b"]), slice(None))),
    (TABLE | {"error": 0.1}, rows_of(n=[20], d=[10])),
    (TABLE | {"error": 0.1}, rows_of(n=[20], d=[10], replicates=40)),
]


def test_inconclusive_claims_of_every_kind_say_what_would_decide_them() -> None:
    inconclusive = []
    for claim, rows in CASES:
        found = judge(rows, claim)
        if found.verdict == "inconclusive":
            inconclusive.append(str(claim["kind"]))
            assert re.search("; needs [a-z0-9]", found.measured), found.measured
            assert not re.search(r"\b(inf|nan)\b", found.measured), found.measured
        assert found.sentence.startswith(f"{found.verdict_words}: claimed ")
    assert set(inconclusive) == set(CLAIMS) - {"statement"}
    assert len(inconclusive) >= len(CASES) - 3


def test_only_a_finer_grid_moves_a_limit_out_of_a_gap_between_cells() -> None:
    rows = wendel_rows(n=range(10, 81, 10), d=[10], replicates=60)
    sharp = rows.assign(recovered=pd.array(rows["n"] > 20, dtype="boolean"))
    found = judge(sharp, THRESHOLD | {"tolerance": 0.3})
    assert found.measured.endswith("; needs a finer grid of n")
    assert judge(sharp, THRESHOLD | {"tolerance": 1.5}).verdict == "supported"
    both = pd.concat([sharp, rows_of(d=[40], n=range(40, 161, 10))], ignore_index=True)
    alone, pooled = judge(both, THRESHOLD | {"where": {"d": 10}}), judge(sharp, THRESHOLD)
    assert alone.measured == pooled.measured


def test_a_claim_about_more_patterns_names_the_pattern_set() -> None:
    rows = rows_of().assign(pattern_count=40)
    found = judge(rows, THRESHOLD | {"tolerance": 0.5, "patterns": "all"})
    assert found.verdict == "inconclusive"
    assert found.measured.endswith("; needs trials with patterns {kind: all}")


def test_one_line_is_about_the_panel_that_decides() -> None:
    rows = rows_of(ensemble=["gaussian", "haar"])
    rows = rows[(rows["ensemble"] == "gaussian") | (rows["replicate"] < 5)].reset_index(drop=True)
    found = judge(rows, THRESHOLD | {"tolerance": 0.2})
    start = f"inconclusive: claimed {found.stated}; measured "
    assert re.match(rf"{re.escape(start)}(Gaussian|Haar): n/d at 50 % = ", found.sentence)
    assert re.search("; the deciding one of 2( .*)?; needs ", found.sentence)
    assert "\n" not in found.sentence


@pytest.mark.parametrize(
    ("claim", "rows"),
    [
        (VALUE | {"at_least": 0.45}, rows_of(n=[20], d=[10], replicates=60)),
        (VALUE | {"value": 0.5, "tolerance": 0.1}, rows_of(n=[20], d=[10], replicates=40)),
        (BINOMIAL | {"tolerance": 0.05}, rows_of(n=[20], d=[10], replicates=100)),
        (ORDER, rows_of(n=[18, 20], d=[10], planted=["a", "b"], replicates=40)),
    ],
)
def test_the_advised_replicates_of_the_same_results_decide(claim: dict[str, Any], rows: pd.DataFrame) -> None:
    found = judge(rows, claim)
    assert found.verdict == "inconclusive"
    advised = TIMES.search(found.measured)
    assert advised, found.measured
    # the width of an interval follows the law of square roots only approximately
    more = [rows.assign(replicate=rows["replicate"] + i * 1000) for i in range(int(1.5 * int(advised[1])) + 1)]
    assert judge(pd.concat(more, ignore_index=True), claim).verdict != "inconclusive"
