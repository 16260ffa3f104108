"""Forest plots: one row per threshold, with what is stated, the verdict and the number of trials."""

from typing import Any

import numpy as np
import pandas as pd

from recovery.report.claims import Analysis
from recovery.report.figures import main_figure, main_kind
from recovery.report.figures.forest import rows_of
from recovery.report.page.spec import Chart

from .grids import analysed, wendel_rows
from .text_faults import faults

NOISE = [round(0.1 * k, 1) for k in range(12)]
STATED = {"kind": "threshold", "of": "recovered", "ratio": "n/d", "value": 2.0, "tolerance": 0.9}


def many(**document: Any) -> Analysis:
    rows = wendel_rows(n=range(10, 81, 10), d=[10, 20], noise=NOISE, replicates=10)
    rows.loc[rows["noise"] == 0.5, "recovered"] = False  # the grid ends before the transition
    return analysed(rows, **document)


def test_a_grid_of_many_panels_is_one_row_for_each() -> None:
    claims = [STATED | {"where": {"noise": 0.1}}, STATED | {"where": {"noise": 0.2}, "value": 6.0}]
    analysis = many(claims=claims)
    assert main_kind(analysis) == "forest"
    assert [some[0].panel for some in rows_of(analysis)] == [f"σ = {noise:g}" for noise in NOISE]
    figure = main_figure(analysis)[1].draw()
    (ax,) = figure.axes
    assert [label.get_text() for label in ax.get_yticklabels()] == [f"σ = {noise:g}" for noise in NOISE]
    assert (np.diff(ax.get_yticks()) < 0).all()
    words = [text.get_text() for text in ax.texts]
    assert words[1].endswith("160 trials\n2 ± 0.9: supported")
    assert words[2].endswith("160 trials\n6 ± 0.9: contradicted")
    assert words[5] == "outside the grid, 160 trials"
    dots = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"]
    assert dots == [one.interval.estimate for one in analysis.pooled if one.interval.known]
    assert faults(figure) == []


def test_where_the_threshold_changes_no_pooled_number_and_no_band_is_drawn() -> None:
    """The transition at n = 1.6d for d = 20 and 2.4d for d = 60."""
    parts = [
        wendel_rows(n=range(5, 201, 5), d=[d], replicates=40, seed=d).assign(n=lambda rows, c=c: rows["n"] * c)
        for d, c in ((20, 0.8), (60, 1.2))
    ]
    rows = pd.concat(parts, ignore_index=True)
    pictures = {
        kind: main_figure(analysed(rows, report={"x": "n", "y": "d", "figure": kind}))[1].draw().axes[0]
        for kind in ("forest", "ratios")
    }
    assert not [line for line in pictures["forest"].lines if line.get_marker() == "o"]
    (span,) = [line for line in pictures["forest"].lines if len(line.get_xdata()) == 2]
    assert np.allclose(span.get_xdata(), [1.58, 2.39], atol=0.05)
    assert not pictures["ratios"].patches


def test_other_axes_and_pages_have_panels_in_place_of_rows() -> None:
    analysis = many()
    assert main_kind(analysis, panels=True) == "map"
    assert len(Chart(analysis, "map").views(every=False)[0]["spec"]["concat"]) == len(NOISE)
