"""The picture and the chart of a grid say the same words."""

import json
from pathlib import Path
from typing import Any

import pytest

from recovery.report.claims import Analysis
from recovery.report.diagram import PLAIN, Diagram
from recovery.report.diagram.vocabulary import shared_parts, unmarked
from recovery.report.figures import main_kind
from recovery.report.figures.style import MATH
from recovery.report.page.spec import Chart
from recovery.store import read

from .grids import analysed, drawn, text_of, wendel_rows

ROOT = Path(__file__).parents[2]
GRIDS = ["p1-fig04", "p1-fig06", "p1-fig07", "p1-fig12", "p1-fig17", "p1-prop06", "p3-table1", "p4-start"]
"""Figures of every kind: maps over n and d and over other axes, fractions over n/d, theory, lines of words."""
Json = dict[str, Any]


@pytest.fixture(scope="module", params=GRIDS)
def analysis(request: pytest.FixtureRequest) -> Analysis:
    return Analysis(Diagram.of(read(ROOT / "results" / "papers" / request.param)).one_by_one[0])


def plain(text: str) -> str:
    """A text of matplotlib on one line, without mathematics markup."""
    return unmarked(" ".join(text.replace("\u00a0", " ").split()))


def words_of_picture(analysis: Analysis) -> dict[str, set[str]]:
    figure = drawn(analysis)
    count = len(analysis.diagram.panels)
    panels, bars = figure.axes[:count], figure.axes[count:]
    beside = {plain(ax.get_title(loc="right")) for ax in panels} - {""}
    return {
        "title": {plain(figure.get_suptitle())},
        "panels": {plain(ax.get_title(loc="left")) for ax in panels} - {""},
        "thresholds": beside,
        "axes": {plain(text) for ax in panels for text in (ax.get_xlabel(), ax.get_ylabel())} - {""},
        "key": {plain(text.get_text()) for legend in figure.legends for text in legend.get_texts()},
        "colours": {plain(ax.get_ylabel() or ax.get_xlabel()) for ax in bars},
    }


def words_of_chart(chart: Chart) -> dict[str, set[str]]:
    """The same of a Vega-Lite specification, whose keys have the domains of scales, or what rows of layers have."""
    (view,) = chart.views(every=False)
    found: dict[str, set[str]] = {name: set() for name in ("panels", "thresholds", "axes", "key", "colours")}
    for panel in view["spec"]["concat"]:
        found["panels"].add(panel["title"]["text"])
        found["thresholds"].add(panel["title"].get("subtitle", ""))
        for layer in panel["layer"]:
            encoding, rows = layer["encoding"], layer["data"].get("values", [])
            found["axes"] |= {(encoding.get(axis, {}).get("axis") or {}).get("title", "") for axis in ("x", "y")}
            for channel in ("stroke", "shape", "color", "fill", "opacity"):
                part = encoding.get(channel, {})
                if part.get("legend") is None:
                    continue
                if part["type"] == "quantitative":
                    found["colours"].add(part["legend"]["title"])
                elif channel == "opacity":
                    found["key"].add(json.loads(layer["transform"][1]["calculate"]))
                else:
                    domain = part["scale"].get("domain")
                    found["key"] |= set(domain) if domain else {row[part["field"]] for row in rows}
    return {name: words - {""} for name, words in found.items()}


@pytest.mark.deep
def test_the_chart_and_the_picture_say_the_same_words(analysis: Analysis) -> None:
    picture = words_of_picture(analysis)
    assert all(picture[name] for name in ("title", "axes", "key"))
    # only pictures say so: at a chart one can point
    picture["key"] = {words for words in picture["key"] if not words.startswith("no mark: ")}
    assert words_of_chart(Chart(analysis, main_kind(analysis))) | {"title": picture["title"]} == picture
    assert analysis.diagram.heading in picture["title"]


def test_words_differ_only_by_their_script() -> None:
    where = {"noise": 1e-5, "data.ensemble": "cubic_gaussian", "method.steps": 200_000, "planted.k": None}
    assert PLAIN.where(where) == "σ = 10⁻⁵, cubic Gaussian, steps = 2 × 10⁵, k = none"
    assert unmarked(MATH.where(where)) == PLAIN.where(where)
    assert PLAIN.axis("method.learning_rate") == "learning rate η"
    assert PLAIN.axis("my_own") == "my own"
    assert [MATH.number(value) for value in (0.0, 400.0, 2e-7)] == ["0", "400", r"$2 \times 10^{-7}$"]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (123_457, "123457"),
        (123_456, "123456"),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
        (-2.5e-7, "-2.5 × 10⁻⁷"),
        (0.1 + 0.2, "0.3"),
        (True, "yes"),
        ("a=b <c>", "a=b <c>"),
        ("$x$ costs $5", "$x$ costs $5"),
        ("relu k=2", "ReLU, k = 2"),
    ],
)
def test_values_that_differ_have_different_words(value: Any, words: str) -> None:
    assert PLAIN.value(value) == words
    assert MATH.value("$x$") == r"\$x\$"


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ({"data.ensemble": "haar", "patterns.kind": "exhaustive"}, "Haar, all patterns"),
        ({"planted": "normalized_relu k=2 geometry=basis"}, "normalised ReLU, k = 2, orthonormal weights"),
        ({"method": "tensor success=0.2 polish=none"}, "tensor, success = 0.2, polish = none"),
        ({"method.outer": "free", "method.refit": False, "noise": 0.5}, "outer = free, refit = no, σ = 0.5"),
        ({"my_own": "fast", "method.cutoff": None, "start": 1}, "my own = fast, cutoff = none, start = 1"),
    ],
)
def test_titles_have_words_for_values_that_are_no_numbers(where: dict[str, Any], words: str) -> None:
    assert PLAIN.where(where) == words
    assert unmarked(MATH.where(where)) == words


def test_titles_omit_what_all_values_of_a_coordinate_share() -> None:
    methods = ["tensor success=0.2", "tensor success=0.2 averages=plain"]
    script = PLAIN.labelled({}, {"method": shared_parts(methods)})
    assert [script.pair("method", value) for value in methods] == ["default", "averages = plain"]
    assert shared_parts(methods[:1]) == frozenset()


def test_the_key_names_the_law_and_draws_an_error_bar_as_one() -> None:
    rows = wendel_rows(ensemble=["gaussian", "haar"])
    analysis = analysed(rows, report={"curves": ["wendel"], "style": {"width": "column"}})
    figure = drawn(analysis)
    (legend,) = figure.legends
    entries = dict(zip([plain(text.get_text()) for text in legend.get_texts()], legend.legend_handles, strict=True))
    assert {"Wendel: P = 1/2", "Wendel: P = 5 % and 95 %"} <= set(entries)
    bar: Any = entries["50 % at each d, with 95 % interval"]
    assert (bar.get_marker(), bar.get_linestyle()) == ("o", "-")  # as the marks in the map
    assert figure.get_suptitle() == ""


def test_words_of_an_axis_of_the_user_stay_as_they_are() -> None:
    words = ["a k=1", "a k=2", "forest", "lasso", "min_norm", "omp", "x_1"]
    rows = wendel_rows(n=[10], d=[5], word=words, method=["lasso", "min_norm"], replicates=2)
    analysis = analysed(rows, report={"x": "word", "y": "method"})
    ax = drawn(analysis).axes[0]
    assert [label.get_text() for label in ax.get_xticklabels()] == words
    assert [label.get_text() for label in ax.get_yticklabels()] == ["LASSO", "minimal norm"]
    assert PLAIN.where({"geometry": "basis", "kind": "forest"}) == "geometry = basis, forest"
    assert PLAIN.where({"method": "forest", "planted.geometry": "basis"}) == "random forest, orthonormal weights"
    chart = json.dumps([view["spec"] for view in Chart(analysis, main_kind(analysis)).views()])
    assert json.dumps(json.dumps(words))[1:-1] in chart
    assert "a k=1" in text_of(analysis)
    assert not any(word in chart + text_of(analysis) for word in ("random forest", "k = 1", "x 1"))
