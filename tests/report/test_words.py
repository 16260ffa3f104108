"""The picture, the page and the notebook's chart of a grid say the same words, and the page binds what Python made."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from matplotlib.collections import LineCollection
from matplotlib.container import ErrorbarContainer

from recovery.report.claims import Analysis
from recovery.report.diagram import PLAIN, Diagram, shared_parts, unmarked
from recovery.report.figures import main_kind
from recovery.report.figures.style import MATH
from recovery.report.page import payload
from recovery.report.page.chart import Picture
from recovery.report.page.template import templates
from recovery.store import read

from ..needs import need_programs
from .grids import analysed, drawn, wendel_rows

ROOT = Path(__file__).parents[2]
GRIDS = ["p1-fig06", "p1-fig07", "p1-fig12", "p1-fig17", "p1-prop06", "p3-table1", "p4-start"]
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


def text_of(title: Any) -> str:
    return title if isinstance(title, str) else " ".join(title)


def words_of_spec(spec: Json) -> dict[str, set[str]]:
    """The same of a Vega-Lite specification. A key has what its layers' rows have, or a scale's domain, where given."""
    found: dict[str, set[str]] = {name: set() for name in ("title", "panels", "thresholds", "axes", "key", "colours")}
    for panel in spec["concat"]:
        found["panels"].add(text_of(panel["title"]["text"]))
        found["thresholds"].add(panel["title"].get("subtitle", ""))
        for layer in panel["layer"]:
            encoding, rows = layer.get("encoding", {}), layer.get("data", {}).get("values", [])
            found["axes"] |= {(encoding.get(axis, {}).get("axis") or {}).get("title", "") for axis in ("x", "y")}
            for channel in ("stroke", "shape", "color", "fill", "opacity"):
                part = encoding.get(channel, {})
                if not rows or part.get("legend") is None:
                    continue
                if part.get("type") == "quantitative":
                    found["colours"].add(part["legend"]["title"])
                elif channel == "opacity":
                    (transform,) = layer["transform"]
                    found["key"].add(json.loads(transform["calculate"]))
                else:
                    domain = part.get("scale", {}).get("domain")
                    found["key"] |= set(domain) if domain else {row[part["field"]] for row in rows}
    found["title"] = {spec["title"]["text"]} if "title" in spec else set()
    return {name: words - {""} for name, words in found.items()}


def page_of(grid: Json, **state: Any) -> Json:
    """Return what the page's script makes of a grid."""
    need_programs("Node", "node")
    given = json.dumps({"grid": grid, "templates": templates(), "state": state})
    script = ROOT / "tests" / "report" / "script" / "spec.js"
    done = subprocess.run(["node", script], input=given, capture_output=True, text=True, check=True)
    found: Json = json.loads(done.stdout, parse_int=float)
    return found


@pytest.fixture(scope="module")
def page(analysis: Analysis) -> Json:
    return page_of(json.loads(json.dumps(payload(analysis, main_kind(analysis)))))


@pytest.mark.deep
def test_the_page_the_picture_and_the_notebook_say_the_same_words(analysis: Analysis, page: Json) -> None:
    picture = words_of_picture(analysis)
    chart = words_of_spec(Picture(payload(analysis, main_kind(analysis), every=False)).spec())
    assert all(picture[name] for name in ("title", "axes", "key"))
    assert picture["panels"] == chart["panels"]
    assert chart == picture
    assert words_of_spec(page) | {"title": picture["title"]} == picture
    assert analysis.diagram.heading in picture["title"]


@pytest.mark.deep
def test_the_page_binds_the_parts_that_the_notebook_binds(analysis: Analysis, page: Json) -> None:
    """Layer by layer the same marks, encodings and rows; what only a notebook has are its tooltips."""
    chart = json.loads(json.dumps(Picture(payload(analysis, main_kind(analysis), every=False)).spec()), parse_int=float)
    ours, theirs = ([layer for panel in spec["concat"] for layer in panel["layer"]] for spec in (chart, page))
    theirs = [layer for layer in theirs if not layer["data"].get("name", "").startswith("here")]
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        one["encoding"].pop("tooltip", None)
        for layer in (one, other):
            for part in layer["encoding"].values():
                for layout in ("columns", "labelLimit"):  # follow the width of the page
                    if part.get("legend"):
                        part["legend"].pop(layout, None)
        assert one["mark"] == other["mark"]
        assert one["encoding"] == other["encoding"]
        fields = sorted(set(re.findall(r'"field": "(\w+)"', json.dumps(one["encoding"]))) - {"bar"})
        rows, same = (
            sorted(json.dumps([row.get(name) for name in fields]) for row in layer["data"]["values"])
            for layer in (one, other)
        )
        assert rows == same


def test_words_differ_only_by_their_script() -> None:
    where = {"noise": 1e-5, "data.ensemble": "cubic_gaussian", "method.steps": 200_000, "planted.k": None}
    assert PLAIN.where(where) == "σ = 10⁻⁵, cubic Gaussian, steps = 2 × 10⁵, k = none"
    assert unmarked(MATH.where(where)) == PLAIN.where(where)
    assert PLAIN.axis("method.learning_rate") == "learning rate η"
    assert PLAIN.axis("my_own") == "my own"


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


def test_the_scripts_own_tests_pass() -> None:
    need_programs("Node", "node")
    files = sorted((ROOT / "tests" / "report" / "script").glob("*.test.js"))
    done = subprocess.run(["node", "--test", *files], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert int(re.findall(r"# pass (\d+)", done.stdout)[0]) >= 16


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ({"data.ensemble": "haar", "patterns.kind": "exhaustive"}, "Haar, all patterns"),
        ({"patterns.count": "auto"}, "default number of patterns"),
        ({"patterns.count": "100"}, "100 patterns"),
        ({"planted": "normalized_relu k=2 geometry=basis"}, "normalised ReLU, k = 2, orthonormal weights"),
        ({"method": "tensor success=0.2 polish=none"}, "tensor, success = 0.2, no polish"),
        ({"method.outer": "free", "method.refit": False, "noise": 0.5}, "free outer weights, no refit, σ = 0.5"),
        ({"my_own": "fast", "method.cutoff": None}, "my own = fast, no cutoff"),
    ],
)
def test_titles_have_words_for_values_that_are_no_numbers(where: Json, words: str) -> None:
    assert PLAIN.title(where) == words
    assert unmarked(MATH.title(where)) == words


def test_titles_omit_what_all_values_of_a_coordinate_share() -> None:
    methods = ["tensor success=0.2", "tensor success=0.2 averages=plain"]
    script = PLAIN.labelled({}, {"method": shared_parts(methods)})
    assert [script.words("method", value) for value in methods] == ["default", "plain averages"]
    assert shared_parts(methods[:1]) == frozenset()


def test_the_key_names_the_law_and_draws_an_error_bar_as_one() -> None:
    rows = wendel_rows(ensemble=["gaussian", "haar"])
    analysis = analysed(rows, report={"curves": ["wendel"], "style": {"width": "column"}})
    figure = drawn(analysis)
    (legend,) = figure.legends
    entries = dict(zip([plain(text.get_text()) for text in legend.get_texts()], legend.legend_handles, strict=True))
    assert {"Wendel: P = 1/2", "Wendel: P = 5 % and 95 %"} <= set(entries)
    assert isinstance(entries["50 % at each d, with 95 % interval"], ErrorbarContainer | LineCollection)
    assert figure.get_suptitle() == ""


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "start = 0"),
        (1, "start = 1"),
        (True, "start"),
        (False, "no start"),
        (None, "no start"),
        ("far", "far start"),
    ],
)
def test_numbers_stay_numbers_in_titles(value: Any, words: str) -> None:
    """0 equals False, and 1 equals True: the titles of starts 0 and 1 were `no start` and `start`."""
    assert PLAIN.words("method.start", value) == words
    assert PLAIN.words("start", [value]) == PLAIN.pair("start", [value])
