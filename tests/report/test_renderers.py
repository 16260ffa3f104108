import json
import re
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from recovery.report.claims import Analysis
from recovery.report.diagram import PLAIN, Diagram
from recovery.report.diagram.axis import scale_of
from recovery.report.diagram.theory_lines import lines
from recovery.report.figures import render
from recovery.report.figures.map import MAP
from recovery.report.texts.tables import as_csv, as_json, columns_of, csv_text
from recovery.theory import CURVES

from .grids import analysed, fail, grid, leave_undecided, text_of, wendel_rows


def test_json_is_strict_and_agrees_with_csv() -> None:
    diagram = Diagram.of(grid(fail(wendel_rows(), slice(0, 5))))
    content = json.loads(as_json([Analysis(diagram)]), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))[
        0
    ]
    table = pd.read_csv(StringIO(as_csv([Analysis(diagram)])))
    assert content["cells"]["recovered_yes"] == table["recovered_yes"].tolist()
    assert content["totals"]["failed"] == 5
    assert content["cells"]["recovered_fraction"][0] is None  # a cell in which nothing finished


def test_plain_map_has_n_across_and_d_up() -> None:
    rows = wendel_rows(n=[10, 50, 90], d=[5, 30], replicates=2)
    rows["recovered"] = pd.array(rows["n"] > 2 * rows["d"], dtype="boolean")
    lines_ = text_of(Diagram.of(grid(fail(rows, slice(-2, None))))).splitlines()
    top = next(line for line in lines_ if line.strip().startswith("30 "))
    bottom = next(line for line in lines_ if line.strip().startswith("5 "))
    assert top.split() == ["30", ".", ".", "x"]  # the last cell lost both of its trials
    assert bottom.split() == ["5", ".", "#", "#"]
    assert lines_.index(top) < lines_.index(bottom)


def test_colour_is_for_terminals_only() -> None:
    diagram = Diagram.of(grid(wendel_rows()))
    assert "\x1b[" in text_of(diagram, colour=True)
    assert "\x1b[" not in text_of(diagram)


def test_markup_in_a_title_is_shown_as_it_stands() -> None:
    diagram = Diagram.of(grid(wendel_rows(n=[20, 40], d=[10, 20]), title="[bold red]x[/] $a_b$ <script> \U0001f4a5"))
    assert "[bold red]x[/] $a_b$ <script>" in text_of(diagram)
    assert render(MAP.draw(Analysis(diagram)), "svg").count(b"<script") == 0


@pytest.mark.deep
def test_wide_grids_are_shown_by_blocks_within_the_width() -> None:
    out = text_of(Diagram.of(grid(wendel_rows(n=range(10, 310), d=range(5, 65), replicates=1))), width=80)
    assert max(map(len, out.splitlines())) <= 80
    assert "each character stands for" in out


@pytest.mark.parametrize(("width", "across", "lines"), [(60, 1, 2), (80, 1, 2), (200, 2, 1)])
def test_maps_stand_beside_one_another_and_all_text_fits_the_width(width: int, across: int, lines: int) -> None:
    rows = wendel_rows(n=range(10, 401, 10), ensemble=["gaussian", "haar", "rademacher"], d=[10, 20], replicates=2)
    claims = [{"kind": "threshold", "of": "recovered", "ratio": "n/d", "value": 2.0, "tolerance": 0.5}]
    out = text_of(Diagram.of(grid(rows, claims=claims)), width=width).splitlines()
    assert max(map(len, out)) <= width
    assert [line.split() for line in out].count(["Gaussian", "Haar"]) == across - 1
    key = [i for i, line in enumerate(out) if line.startswith("fraction recovered: 0 .") or "no known value" in line]
    assert len(key) == lines
    assert not any("\u2026" in line for line in out)


def test_failed_and_missing_trials_have_different_marks() -> None:
    rows = fail(wendel_rows(n=[10, 20, 30], d=[5], replicates=2), [0]).drop(index=3)
    (line,) = [line for line in text_of(Diagram.of(grid(rows, replicates=2))).splitlines() if line.startswith(" 5 ")]
    assert [mark for mark in line if mark in "!~"] == ["!", "~"]


KINDS = [
    ("png", b"\x89PNG"),
    pytest.param("svg", b"<?xml", marks=pytest.mark.deep),
    pytest.param("pdf", b"%PDF", marks=pytest.mark.deep),
]


@pytest.mark.parametrize(("kind", "magic"), KINDS)
def test_pictures_are_the_same_bytes_each_time(kind: str, magic: bytes) -> None:
    rows = fail(wendel_rows(n=[20, 40], d=[10, 20], ensemble=["gaussian", "haar"]), slice(0, 7))
    diagram = Diagram.of(grid(rows))
    first, second = (render(MAP.draw(Analysis(diagram)), kind) for _ in range(2))
    assert first.startswith(magic)
    assert first == second


def test_pdf_embeds_truetype_fonts_and_no_type3() -> None:
    pdf = render(MAP.draw(analysed(wendel_rows(n=[20, 40], d=[10, 20]))), "pdf")
    assert b"/Type3" not in pdf
    assert b"/FontFile2" in pdf


def test_figure_states_failed_missing_undecided_and_unmeasured_trials() -> None:
    rows = leave_undecided(fail(wendel_rows(), slice(0, 7)), slice(20, 23))
    rows.loc[30:31, "recovered"] = pd.NA
    svg = render(MAP.draw(analysed(rows.drop(index=[50, 51]), trials=len(rows))), "svg").decode()
    words = re.sub(r"<[^>]+>", "", svg)
    assert "trials failed (7) and missing (2)" in words
    assert "trials undecided (3) and unmeasured (2)" in words
    assert "no trial finished" in words


def test_wendel_line_lies_where_the_law_is_one_half() -> None:
    found = lines(Diagram.of(grid(wendel_rows(n=range(10, 401, 10), d=range(10, 101, 10), replicates=1))), 0)
    half = next(line for line in found if not line.secondary and line.label != "n = 2d")
    n, d = half.points.T
    assert np.abs(CURVES["wendel"].function(n, d) - 0.5).max() < 5e-3
    assert np.abs(n - 2 * d).max() < 0.05
    assert {line.label for line in found if line.label.startswith("n =")} == {"n = 2d"}


def test_no_curves_where_the_axes_are_not_n_and_d() -> None:
    rows = wendel_rows(n=[60], d=[10], noise=np.linspace(0, 1, 5))
    assert lines(Diagram.of(grid(rows, report={"curves": ["wendel"]})), 0) == []


def test_distances_state_the_limits_of_their_log_scale() -> None:
    report = {"value": "absolute_distance", "x": "n", "y": "d", "scale": "log", "limits": [1e-6, 10.0]}
    svg = render(MAP.draw(analysed(wendel_rows(), report=report)), "svg").decode()
    words = [re.sub(r"<[^>]+>|\s", "", text) for text in re.findall(r"<text[^>]*>(.*?)</text>", svg, flags=re.DOTALL)]
    assert "medianabsolutedistance,logscale" in "".join(words)
    assert {"10\N{MINUS SIGN}6", "10\N{MINUS SIGN}4", "10\N{MINUS SIGN}2", "1"} <= set(words)


def test_a_log_scale_spans_eight_decades_and_says_that_values_lie_below() -> None:
    rows = wendel_rows(n=[20, 40, 60], d=[10], replicates=1)
    rows["absolute_distance"] = [0.0, 1e-16, 1.0]
    scale = scale_of(Diagram.of(grid(rows), "absolute_distance"))
    assert scale.limits == (1e-8, 1.0)
    assert scale.extend == "min"
    assert scale.unit(np.array([0.0, 1e-4, 1.0])).tolist() == pytest.approx([0.0, 0.5, 1.0])


def test_zeros_have_another_colour_than_the_positive_values() -> None:
    """Half of a distance and zero had one colour, because the scale began at the smallest positive value."""
    rows = wendel_rows(n=[20, 40, 60], d=[10], replicates=1)
    rows["absolute_distance"] = [1.0, 0.5, 0.0]
    scale = scale_of(Diagram.of(grid(rows), "absolute_distance"))
    assert scale.extend == "min"
    assert scale.unit(np.array([1.0, 0.5, 0.0])).tolist() == pytest.approx([1.0, 1 - np.log10(2), 0.0])


def test_no_color_prints_characters_in_place_of_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = wendel_rows(n=[10, 50, 90], d=[5, 30], replicates=2)
    rows["recovered"] = pd.array(rows["n"] > 2 * rows["d"], dtype="boolean")
    monkeypatch.setenv("NO_COLOR", "1")
    text = text_of(analysed(rows), colour=True)
    top = next(line for line in text.splitlines() if line.strip().startswith("30 "))
    assert top.split() == ["30", ".", ".", "#"]
    assert "[38;" not in text  # no colour of letters
    assert "[48;" not in text  # and no background colour


@pytest.mark.parametrize("n", [[10, 20], [5, 100, 2000], [100, 100_000]])
def test_every_value_of_a_short_axis_is_labelled(n: list[int]) -> None:
    text = text_of(analysed(wendel_rows(n=n, d=[5, 10, 15], ensemble=["gaussian", "haar"])))
    labels = [word for line in text.splitlines() if line.split()[:1] == ["d"] for word in line.split()]
    assert labels == ["d", *map(PLAIN.value, n), "n"] * 2


def test_many_sparse_panels_are_one_table_of_thresholds() -> None:
    ratios = np.linspace(1.5, 2.5, 6)
    parts = [
        wendel_rows(n=[round(d * r) for r in ratios], d=[d], ensemble=list("abcdef"), replicates=10)
        for d in (20, 31, 43, 57)
    ]
    claim = {"kind": "threshold", "of": "recovered", "ratio": "n/d", "value": 2.0, "tolerance": 0.4}
    text = text_of(analysed(pd.concat(parts, ignore_index=True), claims=[claim]))
    rows = [line for line in text.splitlines() if line.startswith(" recovered") and "2 ± 0.4" in line]
    assert [row.split()[1] for row in rows] == list("abcdef")
    assert "n/d at 50 %" in text
    assert "#" not in text  # no maps


def table(numbers: list[float], words: list[str]) -> pd.DataFrame:
    size = min(len(numbers), len(words))
    return pd.DataFrame({"x": numbers[:size], "n": range(size), "word, with comma": words[:size]})


@given(st.lists(st.floats(), min_size=1), st.lists(st.text(min_size=1).filter(lambda s: "\0" not in s), min_size=1))
def test_tables_read_back_as_they_were(numbers: list[float], words: list[str]) -> None:
    made = table(numbers, words)
    text = json.dumps(columns_of(made), allow_nan=False)
    content = json.loads(text)
    np.testing.assert_array_equal([np.nan if v is None else float(v) for v in content["x"]], made["x"])
    assert content["word, with comma"] == made["word, with comma"].tolist()
    assert content["n"] == made["n"].tolist()


def test_csv_quotes_what_must_be_and_leaves_nulls_empty() -> None:
    made = pd.DataFrame({"a": [0.1, np.nan, 1e-300, np.inf], "b": ["x", 'say "hi"', "1,2", None], "c,": [1, 2, 3, 4]})
    lines = csv_text(made)
    assert lines.splitlines()[0] == '"a","b","c,"'
    again = pd.read_csv(StringIO(lines))
    pd.testing.assert_frame_equal(again, made, check_dtype=False)
    assert lines.splitlines()[2] == ',"say ""hi""",2'


def test_empty_tables_keep_their_columns() -> None:
    empty = pd.DataFrame({"x": [1]}).iloc[:0]
    assert (csv_text(empty), columns_of(empty)) == ('"x"\n', {"x": []})
