"""Labels of a config: axes, measured columns and curves in pictures, pages and the terminal; tables keep the names."""

from io import StringIO
from pathlib import Path

import pandas as pd
import pytest

from recovery.config import ConfigError, load
from recovery.errors import ReportError
from recovery.report.claims import Analysis
from recovery.report.page import report_page
from recovery.report.texts import as_csv
from tests.runner.sweeps import write_config

from .grids import analysed, drawn, text_of, wendel_rows

LABELS = {"n": r"samples $\delta$", "d": "dimension", "recovered": "success", "wendel": "an exact law"}


def analysis(**report: object) -> Analysis:
    shown = {"value": "recovered", "x": "n", "y": "d", "curves": ["wendel"], **report}
    return analysed(wendel_rows(), report=shown)


def test_a_picture_has_the_labels_with_mathematics() -> None:
    figure = drawn(analysis(labels=LABELS, figure="map"))
    words = {text.get_text() for text in figure.findobj(match=lambda one: hasattr(one, "get_text"))}
    assert {r"samples $\delta$", "dimension"} <= words
    assert any("success" in text for text in words)
    assert any("an exact law" in text for text in words)
    assert not any("recovered" in text or "Wendel" in text for text in words)


def test_the_page_and_the_terminal_have_them_as_unicode_and_the_table_has_the_names() -> None:
    shown = analysis(labels=LABELS)
    for report in (text_of(shown), report_page([shown])):
        assert all(word in report for word in ("samples δ", "dimension", "success"))
    assert {"n", "d", "recovered_fraction"} <= set(pd.read_csv(StringIO(as_csv([shown]))))


def test_a_label_of_nothing_is_refused_at_its_place(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"report.labels.*found 'dd'; allowed: a coordinate, column or curve"):
        load(write_config(tmp_path, report={"labels": {"dd": "dimension"}}))


def test_mathematics_that_matplotlib_lacks_is_named() -> None:
    with pytest.raises(ReportError, match=r"report.labels.n: found '\$\\\\nosuch\$', which is no mathematics"):
        drawn(analysis(labels={"n": r"$\nosuch$"}))


def test_labels_of_a_stranger_bring_no_markup_and_no_escape_sequences() -> None:
    labels = {"n": "</script><script>alert(1)</script>", "d": "a\x1b[31mb", "recovered": "[bold]"}
    shown = analysis(labels=labels)
    assert "\x1b" not in text_of(shown)
    assert "[bold]" in text_of(shown)
    assert "<script>alert" not in report_page([shown])
