"""Thresholds along any numeric axis: per slice and pooled, at any probability, in every format, and their claims."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from benchmarks.axes import LAWS, slice_intervals
from recovery.api import Results
from recovery.errors import ReportError
from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram
from recovery.report.figures.map import MAP
from recovery.report.page import report_page
from recovery.report.texts import as_json, as_latex

from .grids import analysed, grid, text_of, wendel_rows

KEYS = ["along", "where", "pooled", "probability", "estimate", "low", "high", "level"]


def shown(
    decreasing: bool = False,
    report: dict[str, Any] | None = None,
    widths: Sequence[int] = (10, 20, 40),
    **document: Any,
) -> Analysis:
    """Trials over alpha, 0.5 to 4, and width: success is certain beyond alpha = 2 in half of the trials' odds."""
    alpha = np.arange(0.5, 4.01, 0.5).tolist()
    rows = wendel_rows(n=alpha, d=[8], width=list(widths), replicates=20, seed=2).rename(columns={"n": "alpha"})
    rng = np.random.default_rng(5)
    rows["recovered"] = (rng.random(len(rows)) < 1 / (1 + np.exp(-4 * (rows["alpha"] - 2.1)))) != decreasing
    spec = {"value": "recovered", "x": "alpha", "y": "width"} | (report or {})
    return analysed(rows, report=spec, **document)


@pytest.mark.parametrize(
    ("law", "probability"), [("decreasing gompertz", 0.9), ("negative x", 0.5), ("few slices", 0.9)]
)
def test_the_interval_of_a_slice_covers(law: str, probability: float) -> None:
    """Along axes of every kind; test_estimator has more laws."""
    pairs = [pair for seed in range(8) for pair in slice_intervals(LAWS[law], 10, seed, probability)]
    covered = sum(interval.low <= truth <= interval.high for interval, truth in pairs)
    assert binomtest(covered, len(pairs), 0.95, alternative="less").pvalue > 1e-3
    assert np.mean([interval.known for interval, _ in pairs]) > 0.9


def test_an_axis_whose_name_does_not_fit_beside_the_map_is_named_below_it() -> None:
    lines = [line.strip() for line in text_of(shown(report={"x": "alpha*alpha"}), width=30).splitlines()]
    assert "alpha*alpha" in lines


@pytest.mark.parametrize("decreasing", [False, True])
def test_each_slice_of_an_own_axis_has_an_entry_with_the_same_keys(decreasing: bool) -> None:
    (document,) = json.loads(as_json([shown(decreasing)]))
    assert [entry["where"] for entry in document["thresholds"]] == [{"width": 10}, {"width": 20}, {"width": 40}]
    for entry in document["thresholds"]:
        assert [entry[key] for key in KEYS[:1] + KEYS[2:4]] == ["alpha", False, 0.5]
        assert entry["low"] < entry["estimate"] < entry["high"]
        assert entry["estimate"] == pytest.approx(2.1, abs=0.4)


def test_slices_are_pooled_to_the_same_alpha_and_the_pooled_entry_is_first() -> None:
    results = Results(shown(report={"pool": "alpha"}).diagram.grid).thresholds()
    assert results["pooled"].tolist() == [True, False, False, False]
    assert results["along"].tolist() == ["alpha"] * 4
    first, *slices = results.itertuples()
    assert first.estimate == pytest.approx(np.mean([one.estimate for one in slices]), abs=0.05)
    assert first.high - first.low < max(one.high - one.low for one in slices)


def test_an_expression_of_other_coordinates_is_pooled() -> None:
    """With m = 2 in every row, n/(m*d) is half of n/d; a coordinate that does not vary may be used."""
    rows = wendel_rows(n=range(10, 201, 10), d=range(10, 61, 10), replicates=8).assign(m=2)
    half, whole = (
        analysed(rows, report={"value": "recovered", "x": "n", "y": "d"} | pool).thresholds()[0]
        for pool in ({"pool": "n / (m * d)"}, {})
    )
    assert half["along"] == "n / (m * d)"
    for key in ("estimate", "low", "high"):
        assert half[key] == pytest.approx(whole[key] / 2)
    assert half["factor_high"] == pytest.approx(whole["factor_high"])


def test_nothing_is_pooled_where_the_config_says_so() -> None:
    """By default thresholds along n over d are pooled to n/d."""
    rows = wendel_rows(n=range(10, 101, 10), d=[10, 20, 30], replicates=8)
    spec = {"value": "recovered", "x": "n", "y": "d"}
    found = analysed(rows, report=spec | {"pool": "none"}).thresholds()
    assert [(one["pooled"], one["along"], one["where"]["d"]) for one in found] == [
        (False, "n", d) for d in (10, 20, 30)
    ]
    assert analysed(rows, report=spec).thresholds()[0]["along"] == "n/d"


@pytest.mark.parametrize("decreasing", [False, True])
def test_a_higher_probability_is_reached_where_more_trials_succeed(decreasing: bool) -> None:
    """The logistic law has probability 0.9 at 2.1 + log(9)/4 = 2.65, and 0.1 at 1.55."""
    (at,) = {0.9} if not decreasing else {0.1}
    found = shown(decreasing, {"pool": "alpha", "probability": at}).pooled[0]
    assert found.interval.low <= 2.649 <= found.interval.high
    assert found.falling == decreasing


@pytest.mark.parametrize("pool", [{}, {"pool": "alpha"}])
def test_every_format_shows_the_same_numbers(pool: dict[str, str]) -> None:
    analysis = shown(report=pool, widths=range(10, 90, 10))  # with fewer a change by half is not excluded
    found = analysis.all_thresholds[0].interval
    number, ends = f"{found.estimate:.6f}"[:3], f"{found.low:.6f}"[:3]
    for text in (text_of(analysis), as_latex([analysis]), report_page([analysis])):
        assert number in text
        assert ends in text
    labels = [text.get_text() for legend in MAP.draw(analysis).legends for text in legend.get_texts()]
    assert any("50 %" in label for label in labels)


def test_without_y_there_is_one_threshold() -> None:
    rows = wendel_rows(n=range(10, 101, 10), d=[20], replicates=20)
    found = analysed(rows, report={"value": "recovered", "x": "n"}).thresholds()
    assert [(entry["along"], entry["where"], entry["pooled"]) for entry in found] == [("n", {}, False)]
    assert found[0]["low"] <= 40 <= found[0]["high"]


@pytest.mark.parametrize(
    ("pool", "words"),
    [
        ("8 / alpha", "does not increase with alpha where width = 10; choose one that does"),
        ("alpha * m", "has the name 'm'|m is no coordinate of the rows"),
        ("log(alpha - 4)", "has no value in some grid cells"),
    ],
)
def test_a_pooled_expression_that_cannot_be_pooled_is_refused(pool: str, words: str) -> None:
    with pytest.raises(ReportError, match=words):
        shown(report={"pool": pool}).thresholds()


def test_slices_of_words_are_not_pooled() -> None:
    rows = wendel_rows(n=range(10, 101, 10), d=[10], ensemble=["gaussian", "haar"], replicates=20)
    spec = {"value": "recovered", "x": "n", "y": "ensemble"}
    assert [one["where"]["ensemble"] for one in analysed(rows, report=spec).thresholds()] == ["gaussian", "haar"]
    with pytest.raises(ReportError, match="slices are pooled along numbers, found gaussian"):
        analysed(rows, report=spec | {"pool": "n"}).thresholds()


CLAIM = {"kind": "threshold", "of": "recovered", "along": "alpha"}


@pytest.mark.parametrize("pool", [{}, {"pool": "alpha"}])
@pytest.mark.parametrize(
    ("stated", "verdict"),
    [
        ({"value": 2.1, "tolerance": 0.9}, "supported"),
        ({"value": 3.5, "tolerance": 0.2}, "contradicted"),
        ({"at_least": 1.0}, "supported"),
        ({"at_most": 1.0}, "contradicted"),
        ({"value": 3.1, "tolerance": 0.2, "probability": 0.95}, "inconclusive"),
    ],
)
def test_a_claim_of_a_threshold_along_an_own_axis_is_judged(pool: Any, stated: Any, verdict: str) -> None:
    (claim,) = shown(report=pool, claims=[CLAIM | stated]).claims
    assert claim.verdict == verdict
    assert "threshold" in claim.stated
    assert "of 'recovered' at " in claim.stated
    assert ("the deciding one of 3" in claim.measured) == (not pool)


def test_a_claim_may_be_about_one_slice_and_about_another_axis() -> None:
    claims = [
        CLAIM | {"value": 2.1, "tolerance": 0.9, "where": {"width": 20}},
        CLAIM | {"value": 2.1, "tolerance": 0.9, "where": {"width": 21}},
        CLAIM | {"along": "width", "at_least": 5},
        CLAIM | {"along": "alpha*width", "at_least": 5, "where": {"width": 20}},
    ]
    one, none, other, expression = shown(report={"pool": "alpha"}, claims=claims).claims
    assert none.measured == "no cells of the grid match; needs cells that match"
    assert one.verdict == "supported"
    assert one.measured.startswith("\N{GREEK SMALL LETTER ALPHA} at 50 % = ")  # of this slice alone
    assert "the grid ends before" in other.measured
    assert "alpha*width" in expression.stated
    alone = shown(claims=claims[:1]).claims[0]
    assert (alone.verdict, alone.measured.count(" at 50 % = ")) == ("supported", 1)


def test_claims_stand_beside_the_thresholds_that_they_are_about() -> None:
    analysis = shown(claims=[CLAIM | {"value": 2.1, "tolerance": 0.9, "where": {"width": 20}, "source": "the paper"}])
    (line,) = [line for line in analysis.lines if line.source == "the paper"]
    assert (line.panel, line.stated, line.verdict) == ("width = 20", "2.1 ± 0.9", "supported")
    assert len(analysis.lines) == 3


@pytest.mark.parametrize("along", ["delta", "n/d", "n"])
def test_a_trend_along_an_axis_that_others_are_computed_from_is_judged(along: str) -> None:
    """With n = delta d, no line of cells has equal n and d and several delta: lines have equal d."""
    axes = {"delta": [1, 2, 3, 4], "d": [4, 8], "n": "delta * d"}
    rows = wendel_rows(n=range(4, 33, 4), d=[4, 8], replicates=40, seed=1)
    rows = rows.assign(delta=rows["n"] / rows["d"]).query("delta in [1, 2, 3, 4]").reset_index(drop=True)
    claim = {"kind": "monotone", "of": "recovered", "along": along, "direction": "rises"}
    spec = {"value": "recovered", "x": "n", "y": "d"}
    stored = grid(rows, report=spec, axes=axes, claims=[claim, claim | {"direction": "falls"}])
    assert [one.verdict for one in Analysis(Diagram.of(stored)).claims] == ["supported", "contradicted"]
