"""The file ending of --out selects the format of reports, comparisons and bundles, or is refused."""

from pathlib import Path

import pytest

from recovery.errors import ReportError
from recovery.report.formats import BUNDLE, COMPARISON, REPORT, format_of

from .grids import wendel_rows
from .test_command import run, run_command, store

MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF", "html": b"<!doctype html>", "json": b"[", "csv": b'"'}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return store(wendel_rows(), tmp_path / "drawn")


@pytest.mark.parametrize("ending", MAGIC)
def test_a_report_is_what_its_file_is_named(results: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / "new" / f"x.{ending}"
    for options in [[], ["--format", ending]] if ending in ("svg", "json") else [[]]:
        result = run(results, "--out", out, *options)
        assert result.exit_code == 0, result.output
        assert out.read_bytes().lower().startswith(MAGIC[ending].lower())
    assert not (results / "report").exists()


@pytest.mark.parametrize(("ending", "first"), [("tex", "% Drawn"), ("md", "## Drawn"), ("txt", "Drawn")])
def test_short_endings_are_formats_too(results: Path, tmp_path: Path, ending: str, first: str) -> None:
    assert run(results, "--out", tmp_path / f"x.{ending}").exit_code == 0
    assert (tmp_path / f"x.{ending}").read_text().startswith(first)


@pytest.mark.parametrize("command", ["report", "compare", "bundle"])
def test_an_ending_that_is_no_format_is_refused(results: Path, tmp_path: Path, command: str) -> None:
    folders = [results, store(wendel_rows(seed=1), tmp_path / "other")][: 2 if command == "compare" else 1]
    result = run_command(command, *folders, "--out", tmp_path / "x.jpg")
    assert result.exit_code == 2
    assert "no format ends in .jpg; allowed: " in result.output
    assert not (tmp_path / "x.jpg").exists()


def test_an_ending_and_a_format_must_agree(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"ends as pdf, but --format is png"):
        format_of(tmp_path / "x.pdf", "png", REPORT)
    assert format_of(tmp_path / "x.PDF", None, COMPARISON) == "pdf"
    assert format_of(tmp_path / "x.zip", None, BUNDLE) == "zip"
    assert format_of(tmp_path, None, REPORT) is None


def test_options_of_style_reach_the_figure_and_mistakes_are_named(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.svg"
    assert run(results, "--out", out, "--style", "width=slide", "--style", "title=false").exit_code == 0
    text = out.read_text()
    assert 'width="720pt"' in text  # ten inches
    assert "Drawn from the law" not in text
    wrong = run(results, "--style", "width=wall")
    assert wrong.exit_code == 2
    assert "allowed: auto, column, page or slide" in wrong.output
    assert run(results, "--style", "wide").exit_code == 2


def test_latex_and_markdown_have_thresholds_beside_claims(tmp_path: Path) -> None:
    claim = {"kind": "threshold", "of": "recovered", "ratio": "n/d", "value": 2.0, "tolerance": 0.5, "source": "P1"}
    results = store(wendel_rows(), tmp_path / "claimed", claims=[claim])
    latex, markdown = (run(results, "--format", kind).stdout for kind in ("latex", "markdown"))
    assert r"\begin{tabular}" in latex
    assert r"\toprule" in latex
    for text in (latex, markdown):
        assert "2 ± 0.5" in text
        assert "supported" in text
    assert markdown.count("\n## ") == 2  # claims, cells; thresholds come first
