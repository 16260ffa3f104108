"""The file ending of --out selects the format of reports, comparisons and bundles, or is refused."""

import re
from pathlib import Path

import pytest

from recovery.errors import ReportError
from recovery.report.formats import COMPARISON, REPORT, format_of
from tests.invoke import refused, said

from .grids import store, wendel_rows
from .test_command import run

MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF", "html": b"<!doctype html>", "json": b"[", "csv": b'"'}
MAGIC |= {"tex": b"% Drawn", "txt": b"Drawn"}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return store(wendel_rows(n=[10, 20, 40, 60], d=[5, 10]), tmp_path / "drawn")


@pytest.mark.parametrize("ending", MAGIC)
def test_a_report_is_what_its_file_is_named(results: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / "new" / f"x.{ending}"
    said("report", results, "--out", out)
    assert out.read_bytes().lower().startswith(MAGIC[ending].lower())
    assert not (results / "report").exists()


@pytest.mark.parametrize("command", ["report", "compare"])
def test_an_ending_that_is_no_format_is_refused(results: Path, tmp_path: Path, command: str) -> None:
    folders = [results, store(wendel_rows(seed=1), tmp_path / "other")][: 2 if command == "compare" else 1]
    assert "no format ends in .jpg; allowed: " in refused(command, *folders, "--out", tmp_path / "x.jpg")
    assert not (tmp_path / "x.jpg").exists()


def test_an_ending_and_a_format_must_agree(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"ends as pdf, but --format is png"):
        format_of(tmp_path / "x.pdf", "png", REPORT)
    assert format_of(tmp_path / "x.CSV", None, COMPARISON) == "csv"
    assert format_of(tmp_path, None, REPORT) is None


def test_options_of_style_reach_the_figure_and_mistakes_are_named(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.svg"
    assert run(results, "--out", out, "--style", "width=slide", "--style", "title=false").exit_code == 0
    text = out.read_text()
    assert 'width="720pt"' in text  # ten inches
    assert "Drawn from the law" not in text
    assert "allowed: auto, column, page or slide" in refused("report", results, "--style", "width=wall")
    assert run(results, "--style", "wide").exit_code == 2


def test_a_picture_has_the_width_and_the_font_size_asked_for(results: Path, tmp_path: Path) -> None:
    def svg(*style: str) -> str:
        out = tmp_path / "x.svg"
        chosen = [word for one in style for word in ("--style", one)]
        said("report", results, "--out", out, *chosen)
        return out.read_text()

    for width, points, size in (("86mm", 72 * 86 / 25.4, 6), ("245 pt", 72 * 245 / 72.27, 12)):
        text = svg(f"width={width}", f"font_size={size}")
        assert f'width="{points:.6f}pt"' in text
        assert "Drawn from the law" not in text  # journals print captions
        (label,) = re.findall(r"font-size: ([\d.]+)px[^<]*>fraction recovered<", text)
        assert float(label) == size


def test_latex_has_thresholds_beside_claims(tmp_path: Path) -> None:
    claim = {"kind": "threshold", "of": "recovered", "ratio": "n/d", "value": 2.0, "tolerance": 0.5, "source": "P1"}
    latex = run(store(wendel_rows(), tmp_path / "claimed", claims=[claim]), "--format", "latex").stdout
    for words in (r"\begin{tabular}", r"\toprule", r"2 $\pm$ 0.5", "supported"):
        assert words in latex
    assert latex.count("\n% ") == 1  # claims; thresholds come first


def test_latex_has_numbers_at_the_right_and_cells_on_request(tmp_path: Path) -> None:
    results = store(wendel_rows(noise=[0.0, 0.1]), tmp_path / "noisy")
    latex = run(results, "--format", "latex").stdout
    assert latex.count(r"\begin{tabular}") == 1
    assert r"\begin{tabular}{lllrrll}" in latex  # value, panel and what; estimate and interval; method and remark
    assert r"$\sigma$ = 0.1" in latex
    cells = run(results, "--format", "latex", "--columns", "recovered").stdout
    assert cells.startswith(latex)
    assert cells.count(r"\begin{tabular}") == 2
    assert r"recovered\_fraction" in cells


def test_csv_has_the_shown_value_and_more_columns_on_request(tmp_path: Path) -> None:
    results = store(wendel_rows(), tmp_path / "wide")
    heads = [
        run(results, "--format", "csv", *more).stdout.splitlines()[0]
        for more in ((), ("--columns", "seconds"), ("--columns", "max_deviation<=1e-3"), ("--columns", "all"))
    ]
    few, more, event, every = ([name.strip('"') for name in head.split(",")] for head in heads)
    answers = ("yes", "no", "undecided", "unmeasured", "fraction", "low", "high", "level", "worst", "best")
    assert few == ["d", "n", "trials", "ok", "failed", "missing", *(f"recovered_{name}" for name in answers)]
    assert "seconds_median" in more
    assert "max_deviation<=0.001_fraction" in event
    assert {*few, *more, "absolute_distance_median"} < {*every}
    wrong = run(results, "--format", "csv", "--columns", "secons")
    assert (wrong.exit_code, "did you mean 'seconds'" in wrong.output) == (2, True)
    assert "csv and latex" in run(results, "--format", "png", "--columns", "all").output
