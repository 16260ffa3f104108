"""`recover status` and `recover index` of a folder with several sweeps, and the page in a real browser."""

import json
import re
import shutil
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from recovery.extras.overview import _thumbnail, thresholds
from recovery.report.figures.style import WIDTHS
from recovery.store.folder import Folder
from tests.invoke import recover, refused, said

from .conftest import visit
from .grids import analysed, wendel_rows

CONFIG = """\
name: small
title: "a title <script>window.harmed = 1</script>"
replicates: 4
data: {ensemble: gaussian}
planted: {kind: linear}
architecture: relu_skip
method: {kind: min_norm}
axes: {n: [2, 4, 6, 9, 12, 16], d: [2, 3]}
claims: [{kind: threshold, of: recovered, ratio: n/d, value: 2, tolerance: 40}]
"""


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page of two sweeps of P1, the second one incomplete, and of another sweep."""
    base = tmp_path_factory.mktemp("three")
    config = base / "c.yaml"
    config.write_text(CONFIG.replace("replicates: 4", "replicates: 10"))
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


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole sweep, half of one in a folder below with an odd name, one without rows, and one that is damaged."""
    base = tmp_path_factory.mktemp("many") / "results"
    base.mkdir()
    config = base.parent / "c.yaml"
    config.write_text(CONFIG)
    assert recover("sweep", config, "--out", base / "whole", "-j", 1, "-q").exit_code == 0
    half = base / "below" / "<b>&'\" half"
    assert recover("sweep", config, "--out", half, "-j", 1, "-q", "--shard", "1/2").exit_code == 0
    shutil.copytree(base / "whole", base / "empty", ignore=shutil.ignore_patterns("*.parquet"))
    (base / "damaged").mkdir()
    (base / "damaged" / "sweep.json").write_text("{")
    (base / "not a sweep").mkdir()
    (base / "linked").symlink_to(base / "whole")
    return base


def test_status_of_a_folder_has_a_line_a_sweep(many: Path) -> None:
    done = said("status", many)
    whole = next(line for line in done.splitlines() if line.startswith("whole"))
    assert whole.split()[1:3] == ["48", "48"]
    half = next(line for line in done.splitlines() if line.startswith("below/"))
    stored = len(Folder(many / "below" / "<b>&'\" half").statuses())
    assert 0 < stored < 48
    assert half.split("half")[1].split()[:2] == [str(stored), "48"]
    assert "damaged: " in done
    assert done.splitlines()[-1] == (f"4 sweeps: 1 complete, 1 cannot be read; {48 + stored} of 144 trials stored")


def test_status_of_a_folder_as_json(many: Path) -> None:
    found = {
        Path(one.get("path", one.get("folder"))).name: one
        for one in json.loads(recover("status", many, "--json").stdout)
    }
    assert found["whole"]["missing"] == 0
    assert found["empty"]["stored"] == 0
    assert "sweep.json" in found["damaged"]["error"]
    assert "linked" not in found


def test_the_page_shows_each_sweep(many: Path) -> None:
    (many / "whole" / "report").mkdir(exist_ok=True)
    (many / "whole" / "report" / "a page.html").write_text("")
    said("index", many, "-q")
    page = (many / "index.html").read_text()
    rows = page.split("<tbody>")[1].split("</tbody>")[0].split("<tr>")[1:]
    assert len(rows) == 4
    by_name = {re.search(r"<strong>(?:<a[^>]*>)?(.*?)(?:</a>)?</strong>", row)[1]: row for row in rows}  # type: ignore[index]
    assert {unescape(name) for name in by_name} == {"whole", "below/<b>&'\" half", "empty", "damaged"}
    assert "48 of 48" in by_name["whole"]
    assert by_name["whole"].count('href="whole/report/a%20page.html"') == 2  # of the picture and of the name
    assert 'href="empty"' in by_name["empty"]
    assert "n/d = " in by_name["whole"] or "x = " in by_name["whole"]
    assert "1 supported" in by_name["whole"]
    assert ". Measured: n/d = " in by_name["whole"]
    assert "data:image/png" in by_name["whole"]
    assert "<progress" in next(row for name, row in by_name.items() if "half" in name)
    assert "holds no trials yet" in by_name["empty"]
    assert "sweep.json" in by_name["damaged"]
    assert "<script>window" not in page
    assert "<b>" not in page


def test_a_page_elsewhere_links_from_there(many: Path, tmp_path: Path) -> None:
    (many / "whole" / "report").mkdir(exist_ok=True)
    (many / "whole" / "report" / "a page.html").write_text("")
    recover("index", many, "--out", tmp_path, "-q")
    links = {unquote(unescape(link)) for link in re.findall(r'href="(.*?)"', (tmp_path / "index.html").read_text())}
    assert len(links) == 4
    assert all((tmp_path / link).exists() for link in links)


@pytest.mark.parametrize(
    ("folder", "message"),
    [("nowhere", "no such folder"), ("not a sweep", "no sweep is stored"), ("damaged/sweep.json", "is a file")],
)
def test_a_folder_without_sweeps_is_refused(many: Path, folder: str, message: str) -> None:
    assert message in refused("index", many / folder)


def test_an_ending_that_is_no_page_is_refused(many: Path) -> None:
    assert "no format ends in .pdf" in refused("index", many, "--out", "page.pdf")
