"""The HTML page of a report: its text, and its behaviour in a real browser without a network."""

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest

import recovery.report.page.page as module
from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram
from recovery.report.page import report_page, spec
from recovery.report.statistics import exact_interval

from . import vega
from .conftest import visit, wait_for
from .grids import analysed, fail, grid, leave_undecided, wendel_rows

HOSTILE = "</script><script>window.harmed = 1</script><img src=x onerror='window.harmed = 1'> \U0001f4a5 $x$"
CLAIMS = [
    {"kind": "threshold", "of": "recovered", "ratio": "n/d", "value": 2.0, "tolerance": 0.5, "source": HOSTILE},
    {"kind": "threshold", "of": "recovered", "ratio": "n/d", "value": 4.0, "tolerance": 0.3},
]
BETAS = [1e-4, 1e-3, 1e-2, 1e-1, 1.0]


@pytest.fixture(scope="module")
def diagram() -> Diagram:
    rows = fail(wendel_rows(ensemble=["gaussian", "haar"], seed=1), [0, 1, 2, 3, 4, 17], HOSTILE)
    stored = grid(rows, "results/it's drawn", title=HOSTILE, source=HOSTILE, claims=CLAIMS)
    stored.sweep["provenance"] = {"cpu": HOSTILE, "program": {"version": "1"}}
    return Diagram.of(stored)


@pytest.fixture(scope="module")
def text(diagram: Diagram) -> str:
    return report_page([Analysis(diagram)])


def test_page_is_small_and_names_no_address(text: str) -> None:
    assert len(text) < 1_500_000
    assert not re.search(r"https?://|//[a-z]+\.|@import|url\(", text)
    assert fetched(text) == []


def fetched(text: str) -> list[tuple[str, str, str | None]]:
    """Return every attribute of a page that refers to another resource or executes text."""
    found: list[tuple[str, str, str | None]] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            for name, value in attrs:
                outside = name in ("src", "href", "srcset", "data", "action") and not str(value).startswith(
                    ("#", "data:")
                )
                if outside or name.startswith("on") or tag in ("link", "iframe", "object", "embed", "base"):
                    found.append((tag, name, value))

    Reader().feed(text)
    return found


def test_the_policy_admits_the_two_scripts_of_the_file_and_nothing_else(text: str) -> None:
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    parts = dict(part.split(" ", 1) for part in policy.split("; "))
    assert parts["default-src"] == "'none'"
    assert parts["img-src"] == "data:"
    assert "unsafe" not in policy
    program = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    packed = re.search(r'<script type="text/plain" id="library">(.*?)</script>', text)
    assert packed is not None
    scripts = [*program, gzip.decompress(base64.b64decode(packed[1])).decode()]
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert parts["script-src"].split() == [f"'sha256-{digest}'" for digest in digests]


def test_config_text_never_becomes_markup(text: str) -> None:
    assert text.count("<script") == 3  # the library, the data and the program
    assert "<img" not in text
    assert "onerror='" not in text
    assert "&lt;script&gt;" in text


def test_the_page_begins_with_the_answer_and_its_tables_need_no_script(text: str) -> None:
    (answer,) = re.findall(r'<p class="answer">(.*?)</p>', text)
    assert re.fullmatch(r"n/d at 50 % = \d\.\d+ to \d\.\d+ in 2 panels; 2 claims: 1 \w+, 1 \w+", answer)
    assert text.index(answer) < text.index('class="maps"') < text.index(">Thresholds<") < text.index(">Claims<")
    assert '<td data-name="verdict" class="verdict supported">supported</td>' in text
    assert '<td data-name="verdict" class="verdict contradicted">contradicted</td>' in text
    assert "6 in total, one row for each message" in text
    assert text.count('<td data-name="status">') == 1
    assert '<td data-name="trials">6</td>' in text
    assert "recover replay &#39;results/it&#39;&#34;&#39;&#34;&#39;s drawn&#39; 0000" in text


@pytest.fixture
def opened(browser: Any, text: str, tmp_path: Path) -> Iterator[Any]:
    yield from visit(browser, text, tmp_path / "page.html")


FIND = """
const view = document.querySelector(".maps").figure, [ox, oy] = view.origin();
const walk = (item, x, y, found) => {
  for (const mark of item.items || []) for (const inner of mark.items || []) {
    found(mark, inner, x, y);
    if (inner.items) walk(inner, x + (inner.x || 0), y + (inner.y || 0), found);
  }
};
const root = { items: [view.scenegraph().root] };
"""
PLACE = f"""{FIND}
const [panel, key, n, d] = arguments, places = [];
walk(root, ox, oy, (mark, item, x, y) => {{
  const cell = item.datum || {{}}, b = item.bounds;
  if (mark.marktype === "rect" && cell.panel === panel && cell.c1 === d && cell.c2 === n)
    places.push([(b.x1 + b.x2) / 2 + x, (b.y1 + b.y2) / 2 + y]);
}});
return places[0];
"""
"""Return the centre of a grid cell, in pixels of the figure."""
TEXTS = f"""{FIND}
const texts = [];
walk(root, ox, oy, (mark, item, x, y) => {{
  const b = item.bounds;
  if (mark.marktype === "text" && String(item.text) && item.opacity !== 0)
    texts.push([String(item.text), b.x1 + x, b.y1 + y, b.x2 + x, b.y2 + y, item.limit || 1e9]);
}});
const canvas = document.querySelector(".maps canvas");
return [texts, canvas.clientWidth, canvas.clientHeight, document.querySelector(".maps").clientWidth];
"""
"""Return each text of the figure with its box and its length limit, and the sizes of the canvas and its container."""


def point_at(driver: Any, panel: int, n: int, d: int, click: bool = False) -> str:
    """Move the mouse onto a cell, and return the numbers shown."""
    from selenium.webdriver.common.action_chains import ActionChains

    target = driver.find_element("css selector", ".maps canvas")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", target)
    across, down = driver.execute_script(PLACE, panel, "", n, d)
    move = ActionChains(driver).move_to_element_with_offset(
        target, round(across - target.size["width"] / 2), round(down - target.size["height"] / 2)
    )
    (move.click() if click else move).perform()
    return str(driver.find_element("css selector", ".detail").text)


def cell(diagram: Diagram, panel: int, n: int, d: int) -> Any:
    cells = diagram.panels[panel].cells
    return cells[(cells["n"] == n) & (cells["d"] == d)].iloc[0]


def choose(driver: Any, control: str, text: str) -> None:
    """Select an option of a control, and wait for the new figure."""
    from selenium.webdriver.support.ui import Select

    before = driver.execute_script("return document.querySelector('.maps').turn")
    Select(driver.find_element("css selector", f".{control}")).select_by_visible_text(text)
    changed = "return document.querySelector('.maps').turn"
    wait_for(driver, lambda d: d.execute_script(changed) != before)


def table(driver: Any) -> tuple[list[str], list[list[str]]]:
    """Return the headings and the rows of the table of cells."""
    read = "return [...document.querySelectorAll('.cells tr')].map((row) => [...row.cells].map((c) => c.textContent))"
    head, *rows = driver.execute_script(read)
    return head, rows


def wait(driver: Any) -> None:
    """Wait until the figure follows a new width or colour scheme."""
    driver.execute_async_script("setTimeout(arguments[0], 700)")


def test_a_cell_shows_its_counts_its_interval_and_a_command(opened: Any, diagram: Diagram) -> None:
    row, shown = cell(diagram, 1, 60, 30), point_at(opened, 1, 60, 30)
    low, high = (float(end[0]) for end in exact_interval([row["yes"]], [row["no"]]))
    facts = dict(zip(*[iter(shown.splitlines())] * 2, strict=True))
    assert (facts["n"], facts["d"], facts["ensemble"]) == ("60", "30", "haar")
    assert (facts["yes"], facts["no"]) == (str(row["yes"]), str(row["no"]))
    assert [float(facts[f"95 % {end}"]) for end in ("low", "high")] == pytest.approx([low, high], abs=1e-3)
    assert facts["repeat a trial"].startswith("recover replay 'results/it'\"'\"'s drawn' 0000")
    failed = point_at(opened, 0, 10, 5, click=True)
    assert "none" in failed
    assert "Pinned" in failed
    assert f"{0:032x}" in failed  # a failed trial
    assert point_at(opened, 0, 90, 10) == failed  # until another click
    assert "Pinned" in point_at(opened, 0, 90, 10, click=True)


def test_another_value_can_be_chosen(opened: Any, diagram: Diagram) -> None:
    choose(opened, "value", "absolute distance")
    shown = point_at(opened, 0, 50, 25)
    assert f"{cell(Diagram.of(diagram.grid, 'absolute_distance'), 0, 50, 25)['median']:.4g}" in shown
    assert "median absolute distance" in shown
    words = [word for word, *_ in opened.execute_script(TEXTS)[0]]
    assert "median absolute distance, log scale" in words
    assert not [word for word in words if "at 50 %" in word]  # the thresholds are those of another value


def test_what_is_shown_can_be_saved(browser: Any, text: str, diagram: Diagram, tmp_path: Path) -> None:
    for opened in visit(browser, text, tmp_path / "page.html"):
        opened.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
        for kind in ("svg", "png", "csv", "json"):
            opened.find_element("css selector", f"button.{kind}").click()
            place = tmp_path / f"drawn-recovered.{kind}"
            wait_for(opened, lambda _, place=place: place.exists() and place.stat().st_size)
        cells = pd.concat([panel.cells for panel in diagram.panels])
        saved = pd.read_csv(tmp_path / "drawn-recovered.csv")
        assert saved["fraction recovered"].fillna(-1).tolist() == pytest.approx(cells["value"].fillna(-1).tolist())
        assert saved["yes"].tolist() == cells["yes"].tolist()
        content = json.loads((tmp_path / "drawn-recovered.json").read_text())
        assert [row["n"] for row in content["cells"]] == cells["n"].tolist()
        drawing = ElementTree.parse(tmp_path / "drawn-recovered.svg")
        words = ["".join(text.itertext()) for text in drawing.iter("{http://www.w3.org/2000/svg}text")]
        assert {"(b) Haar", "fraction recovered", "100"} <= set(words)
        assert (tmp_path / "drawn-recovered.png").read_bytes().startswith(b"\x89PNG")


def test_cells_are_also_a_table_that_the_keyboard_can_sort(opened: Any, diagram: Diagram) -> None:
    opened.find_element("css selector", ".cells > summary").click()
    wait_for(opened, lambda d: d.find_elements("css selector", ".cells td"))  # the event comes later
    head, rows = table(opened)
    assert head[:5] == ["ensemble", "d", "n", "fraction recovered", "95 % low"]
    assert len(rows) == len(diagram.table)
    for way in (1, -1):
        opened.find_elements("css selector", ".cells th button")[3].send_keys("\n")
        found = [float(row[3]) for row in table(opened)[1] if row[3]]
        assert found == sorted(found, key=lambda v, way=way: way * v)  # type: ignore[misc]
    assert opened.find_elements("css selector", ".cells th")[3].get_attribute("aria-sort") == "descending"


def test_screen_readers_meet_names_and_a_live_region(opened: Any) -> None:
    words = opened.find_element("css selector", ".maps").accessible_name
    assert words.startswith("fraction recovered: Gaussian; Haar. n on the x axis, d on the y axis")
    assert opened.find_element("css selector", ".detail").get_attribute("role") == "status"
    assert opened.find_elements("css selector", "main h1")
    for control, name in ((".value", "Value"), ("button.csv", "CSV")):
        assert opened.find_element("css selector", control).accessible_name.startswith(name)


def test_dark_and_light_differ_and_are_legible(opened: Any) -> None:
    def colours() -> list[str]:
        return opened.execute_script("const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]")

    pixels = (
        "const c = document.querySelector('.maps canvas');"
        "return [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data].reduce((a, b) => a + b, 0)"
    )
    seen = []
    try:
        for scheme in ("light", "dark"):
            feature = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            opened.execute_cdp_cmd("Emulation.setEmulatedMedia", feature)
            wait(opened)
            ink, paper = ([int(v) for v in re.findall(r"\d+", text)[:3]] for text in colours())
            assert abs(sum(ink) - sum(paper)) > 500
            seen.append((paper, opened.execute_script(pixels)))
        opened.execute_script("window.dispatchEvent(new Event('beforeprint'))")
        printed = opened.execute_script(pixels)
    finally:
        opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert seen[0][0] != seen[1][0]
    assert seen[0][1] != seen[1][1]
    assert printed == seen[0][1]


def page_of(rows: Any, value: str | None = None, **document: Any) -> str:
    return report_page([analysed(rows, value, **document)])


def log_page() -> str:
    rows = wendel_rows(d=[20], n=range(10, 401, 10), replicates=1, **{"method.beta": BETAS})
    return page_of(rows, report={"x": "n", "y": "method.beta"})


def marked_page() -> str:
    rows = leave_undecided(wendel_rows(ensemble=["gaussian", "haar"], seed=1), slice(None, None, 13))
    return page_of(fail(rows, [*range(0, 30, 2), *range(5, 10)]))


def wordy_page() -> str:
    rows = wendel_rows(n=[20, 40], architecture=["relu_norm_skip", "a_name_that_is_very_long_indeed"], d=[10])
    return page_of(rows, report={"x": "n", "y": "architecture"})


def crowded_page() -> str:
    """Return a page with long names of panels."""
    names = [f"a_planted_model_of_a_long_name geometry={end}" for end in ("opposite", "random", "basis", "nothing")]
    return page_of(wendel_rows(n=range(10, 101, 10), d=[10, 20, 30], ensemble=names))


@pytest.mark.parametrize("make", [log_page, marked_page, wordy_page, crowded_page])
def test_no_text_is_cut_and_none_overlaps_another(browser: Any, tmp_path: Path, make: Any) -> None:
    for opened in visit(browser, make(), tmp_path / "page.html"):
        try:
            for width in (375, 1300):
                size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
                opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
                wait(opened)
                assert opened.execute_script("return document.documentElement.scrollWidth") <= width
                texts, wide, tall, room = opened.execute_script(TEXTS)
                assert len(texts) > 5
                assert wide <= room
                for word, left, top, right, bottom, limit in texts:
                    assert max(right - left, bottom - top) < limit - 1, word  # otherwise it is cut off with an ellipsis
                    assert left >= -1, word
                    assert right <= wide + 1, word
                    assert top >= -1, word
                    assert bottom <= tall + 1, word
                for one, other in combinations(texts, 2):
                    across = min(one[3], other[3]) - max(one[1], other[1])
                    down = min(one[4], other[4]) - max(one[2], other[2])
                    assert across <= 1 or down <= 3, (one, other)  # a box has margins above and below its letters
        finally:
            opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_key_has_only_what_the_map_has_and_panels_say_their_thresholds(browser: Any, tmp_path: Path) -> None:
    marks = {"trials failed", "no trial finished", "trials undecided"}
    whole = page_of(wendel_rows(ensemble=["gaussian", "haar"], replicates=20))
    for text, expected in ((whole, set()), (marked_page(), marks)):
        for opened in visit(browser, text, tmp_path / "page.html"):
            words = [word for word, *_ in opened.execute_script(TEXTS)[0]]
            assert marks & {word.partition(" (")[0] for word in words} == expected
            assert {"(a) Gaussian", "(b) Haar"} <= {*words}
            assert len([word for word in words if word.startswith("n/d at 50 % = ")]) == 2


def test_many_panels_are_drawn_twelve_at_a_time(browser: Any, tmp_path: Path) -> None:
    rows = wendel_rows(n=[20, 40], d=[10, 20], replicates=1, ensemble=[f"e{k:02}" for k in range(14)])
    for opened in visit(browser, page_of(rows), tmp_path / "many.html"):
        choose(opened, "panels", "13 to 14 of 14")
        words = {word for word, *_ in opened.execute_script(TEXTS)[0]}
        assert {"(m) e12", "(n) e13"} <= words
        assert "(a) e00" not in words


def test_a_fine_grid_is_a_picture_without_a_chart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGE", 50)
    text = page_of(wendel_rows())
    assert "60 grid cells are too many for a chart" in text
    assert text.count("<img") == 1
    assert 'class="maps"' not in text


def test_a_page_names_the_values_for_which_it_has_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Left out" not in page_of(wendel_rows())
    monkeypatch.setattr(spec, "MOST_NUMBERS", 60)
    assert re.search("Left out: .*seconds.*--format csv --columns all", page_of(wendel_rows()))


def test_values_of_an_axis_are_text(browser: Any, tmp_path: Path) -> None:
    values = [HOSTILE, "'\"];window.harmed = 1//\\", "\u2028${window.harmed = 1}"]
    rows = wendel_rows(n=[20, 40], d=[10], replicates=2, ensemble=values)
    for figure in ("profile", "map"):
        text = page_of(rows, report={"x": "n", "y": "ensemble", "figure": figure}, title=HOSTILE)
        assert text.count("<script") == 3
        for opened in visit(browser, text, tmp_path / "values.html"):
            assert set(values) <= {word for word, *_ in opened.execute_script(TEXTS)[0]}
            opened.find_element("css selector", ".cells > summary").click()
            wait_for(opened, lambda d: d.find_elements("css selector", ".cells td"))
            assert {row[0] for row in table(opened)[1]} == set(values)


def test_several_grids_and_other_figures_are_on_one_page(browser: Any, tmp_path: Path) -> None:
    forest = {"x": "n", "y": "d", "figure": "forest"}
    text = report_page(
        [analysed(wendel_rows(), title=HOSTILE, report=forest), analysed(wendel_rows(seed=1), name="other")]
    )
    assert len(text) < 1_500_000
    for opened in visit(browser, text, tmp_path / "pictures.html"):
        assert len(opened.find_elements("css selector", ".maps canvas")) == 2
        (picture,) = opened.find_elements("css selector", ".picture img")
        assert int(picture.get_attribute("naturalWidth")) > 400
        assert "one row each" in picture.accessible_name


def test_the_library_of_the_page_is_that_of_vl_convert() -> None:
    assert gzip.decompress(vega.PLACE.read_bytes()).decode() == vega.bundle(), "run `make vega`"
