"""An interval is one value, and every report prints it with its own confidence level."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from recovery.config import Until
from recovery.interval import Interval, interval_words
from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram, summary
from recovery.report.diagram.vocabulary import fraction_words
from recovery.report.figures import render
from recovery.report.page import report_page
from recovery.report.texts import as_json, as_latex
from recovery.report.until import Goal, record_of
from recovery.store import Grid

from .grids import analysed, drawn, grid, text_of, wendel_rows

RULE = "threshold +-0.05"
CLAIM = {"kind": "threshold", "of": "recovered", "ratio": "n/d", "value": 2.0, "tolerance": 0.5}


def adaptive(level_of: int) -> Grid:
    """Return the grid of a sweep that ended after this number of interim analyses."""
    rows = wendel_rows(n=range(10, 61, 10), d=range(5, 21, 5), replicates=20)
    until = {"rule": RULE, "ended": True, "panels": [{"title": "", "tests": level_of, "level_of": level_of}]}
    until["panels"][0]["known"] = True
    record = {"round": 2, "counts": {}, "budget": len(rows), "value": "recovered", "trials": len(rows), "until": until}
    return replace(grid(rows, sampling={"kind": "until", "rule": RULE}, claims=[CLAIM]), rounds=[record])


@pytest.mark.parametrize(("tests", "level", "words"), [(1, 0.995, "99.5 %"), (2, 0.9775, "97.75 %")])
def test_an_adaptive_sweep_shows_its_own_level_everywhere(tests: int, level: float, words: str) -> None:
    analysis = Analysis(Diagram.of(adaptive(tests)))
    picture = render(drawn(analysis), "svg").decode()
    (document,) = json.loads(as_json([analysis]))
    assert [record["level"] for record in document["thresholds"]] == pytest.approx(
        [level] * len(document["thresholds"])
    )
    assert {"estimate", "low", "high"} <= set(document["thresholds"][0])
    shown = [text_of(analysis, 400), picture, report_page([analysis]), as_latex([analysis])]
    for report in (*shown, analysis.claims[0].measured):
        assert words in report.replace("\\%", "%")
        assert "95 %" not in report.replace("99.5 %", "").replace("lower 95 %", "").replace("upper 95 %", "") or (
            report in shown[1:3]  # cells have intervals of 95 %
        )


def test_a_panel_at_its_ceiling_keeps_its_record_and_level_without_new_trials() -> None:
    diagram = Diagram.of(adaptive(3))
    (found,) = Analysis(diagram).pooled
    goal = Goal(Until("threshold +-0.35"), [])  # a little less than the half width
    trials = int(found.panel.cells["trials"].sum())
    last = {"title": "", "trials": trials, "left": 0, "tests": 3, "level_of": 3, "known": False, "aimed": False}
    last |= {"low": None}  # it had no interval, so nothing shows that trials do not help
    assert record_of(found, goal, [last], True, 0) == (last, 1.0)
    raised, factor = record_of(found, goal, [last], True, 100)
    assert raised["left"] == 100
    assert factor > 1


def test_a_lucky_early_interval_is_no_proof_that_trials_do_not_help() -> None:
    """With few trials slices may agree by chance; a sweep stops where two analyses in a row find a change or a fall."""
    goal = Goal(Until("threshold +-0.02"), [])
    sizes, stops = range(10, 51, 5), []
    for shift in (0, 1):
        slices = [wendel_rows(n=range(10, 121, 5), d=[d], replicates=40) for d in sizes]
        rows = pd.concat(part.assign(n=part["n"] + 4 * shift * (part["d"] % 4)) for part in slices)
        (found,) = analysed(rows).pooled
        trials = int(found.panel.cells["trials"].sum())
        early = {"trials": trials // 20, "left": 9, "tests": 1, "level_of": 2, "known": False, "aimed": True}
        early |= {"doubt": "change", "low": found.interval.estimate - 0.01, "high": found.interval.estimate + 0.01}
        stops.append(record_of(found, goal, [early], True, 10**6)[0].get("limit"))
    rows = wendel_rows(n=range(10, 121, 5), d=[20], replicates=40)
    (found,) = analysed(rows.assign(recovered=rows["recovered"] & ~rows["n"].between(60, 80))).pooled
    assert not found.monotone
    for doubt in ("change", "monotone"):
        stops.append(record_of(found, goal, [early | {"doubt": doubt}], True, 10**6)[0].get("limit"))
    assert stops == [None, "change", None, "monotone"]


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        (Interval(1.9931, 1.955, 2.03), "1.993 (95 % interval 1.955 to 2.030)"),
        (Interval(1.9931, 1.955, np.inf, 0.99), "1.993 (99 % interval above 1.955)"),
        (Interval(np.nan, -np.inf, 2.03, 0.98875), "98.875 % interval below 2.030"),
        (Interval(1.9931, -np.inf, np.inf), "1.993 (95 % interval unbounded)"),
    ],
)
def test_an_interval_formats_itself(interval: Interval, text: str) -> None:
    assert f"{interval:.3f}" == text


def test_a_key_names_the_levels_of_all_panels() -> None:
    assert interval_words([0.95, 0.95]) == "95 % interval"
    assert interval_words([0.995, 0.9775]) == "97.75 % to 99.5 % intervals"


def test_a_fraction_with_undecided_trials_is_a_range() -> None:
    assert fraction_words(16, 30, 10) == "16 to 26 of 40 (40 % to 65 %)"
    assert fraction_words(863, 1319, 1) == "863 to 864 of 1320"
    assert fraction_words(3, 4, 0) == "3 of 4"
    rows = wendel_rows(n=[20], d=[10], replicates=40)
    rows["recovered"] = pd.array([True] * 16 + [False] * 14 + [None] * 10, dtype="boolean")
    assert "recovered: 16 to 26 of 40 (40 % to 65 %)" in summary(Diagram.of(grid(rows)))
