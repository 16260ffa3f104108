"""The page about several sweeps: groups, thresholds, and its controls in a real browser."""

import re
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from recovery.extras.overview import _thumbnail, thresholds
from recovery.report.figures.style import WIDTHS
from tests.invoke import recover

from .conftest import visit
from .grids import analysed, wendel_rows

CONFIG = """\
name: small
title: "a title <script>window.harmed = 1</script>"
replicates: 10
data: {ensemble: gaussian}
planted: {kind: linear}
architecture: relu_skip
method: {kind: min_norm}
axes: {n: [2, 4, 6, 9, 12, 16], d: [2, 3]}
"""


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page of two sweeps of P1, the second one incomplete, and of another sweep."""
    base = tmp_path_factory.mktemp("three")
    config = base / "c.yaml"
    config.write_text(CONFIG)
    for name, shard in (("p1-first", "1/1"), ("p1-second", "1/2"), ("other", "1/1")):
        assert recover("sweep", config, "--out", base / name, "-j", 1, "-q", "--shard", shard).exit_code == 0
    recover("index", base, "-q")
    return (base / "index.html").read_text()


def test_sweeps_are_grouped_by_paper_with_short_thresholds(three: str) -> None:
    titles = re.findall("<h2>(.*?)</h2>", three)
    assert re.findall("<a href='#(.*?)'>", three) == re.findall("<section id='(.*?)'>", three) == ["P1", "ours"]
    assert titles == ["P1: Overparameterized ReLU neural networks learn the simplest model", "Other sweeps"]
    groups = [re.findall(r"<strong><a [^>]*>(.*?)</a>", part) for part in three.split("<section ")[1:]]
    assert groups == [["p1-first", "p1-second"], ["other"]]
    lines = [line.replace("\u00a0", " ") for line in re.findall(r'<div class="line">(n/d\u00a0=.*?)</div>', three)]
    assert len(lines) == 3
    for line in lines:
        assert re.fullmatch(r"n/d = \d\.\d{3}, (\d\.\d{3} to \d\.\d{3}|(above|below) \d\.\d{3}) \(95 %\)", line)


def test_thresholds_along_an_axis_have_its_name_and_four_digits(tmp_path: Path) -> None:
    rows = wendel_rows(n=[10, 20, 30, 40], d=[7, 9], replicates=40).rename(columns={"n": "planted.bias"})
    rows["n"] = 7
    report = {"value": "recovered", "x": "planted.bias", "y": "d", "style": {"width": "page", "font_size": 20}}
    analysis = analysed(rows, report=report)
    lines = thresholds(analysis)
    assert len(lines) == 2
    for line in lines:
        numbers = re.fullmatch(r"d = [79]: bias = ([\d.]+), (?:([\d.]+) to ([\d.]+)|\w+ ([\d.]+)) \(95 %\)", line)
        assert numbers, line
        assert all(len(number.replace(".", "")) <= 4 for number in numbers.groups() if number)
    assert _thumbnail(analysis).get_figwidth() == WIDTHS["column"]


def test_the_page_filters_and_sorts(three: str, browser: Any, tmp_path: Path) -> None:
    def names() -> list[str]:
        return [one.text for one in browser.find_elements(By.TAG_NAME, "strong") if one.is_displayed()]

    for _ in visit(browser, three, tmp_path / "index.html"):
        assert names() == ["p1-first", "p1-second", "other"]
        Select(browser.find_element(By.ID, "order")).select_by_value("missing")
        assert names() == ["p1-second", "p1-first", "other"]
        browser.find_element(By.ID, "filter").send_keys("SECOND title")
        assert names() == ["p1-second"]
        assert browser.find_element(By.ID, "shown").text == "1 of 3 sweeps"
        assert [one.is_displayed() for one in browser.find_elements(By.TAG_NAME, "h2")] == [True, False]
        browser.find_element(By.ID, "filter").send_keys(Keys.CONTROL, "a", Keys.DELETE)
        Select(browser.find_element(By.ID, "order")).select_by_value("")
        assert names() == ["p1-first", "p1-second", "other"]
