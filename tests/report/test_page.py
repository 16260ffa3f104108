"""The HTML page of a report: its text, and its behaviour in a real browser without a network."""

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree

import pandas as pd
import pytest
from selenium.webdriver.support.ui import WebDriverWait

from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram
from recovery.report.page import report_page
from recovery.report.page.html import pictures
from recovery.report.statistics.proportions import exact_interval

from . import vega
from .conftest import visit
from .grids import analysed, fail, grid, wendel_rows

HOSTILE = "</script><script>window.harmed = 1</script><img src=x onerror='window.harmed = 1'> \U0001f4a5 $x$"
CLAIMS = [
    {"kind": "threshold", "of": "recovered", "ratio": "n/d", "value": 2.0, "tolerance": 0.5, "source": HOSTILE},
    {"kind": "threshold", "of": "recovered", "ratio": "n/d", "value": 4.0, "tolerance": 0.3},
]


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
    assert len(text) < 3_000_000
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


def test_tables_hold_without_scripts(text: str) -> None:
    assert '<td data-name="verdict" class="verdict supported">supported</td>' in text
    assert '<td data-name="verdict" class="verdict contradicted">contradicted</td>' in text
    assert "6 in total" in text
    assert "recover replay &#x27;results/it&#x27;&quot;&#x27;&quot;&#x27;s drawn&#x27; 0000" in text


@pytest.fixture
def opened(browser: Any, text: str, tmp_path: Path) -> Iterator[Any]:
    yield from visit(browser, text, tmp_path / "page.html")


def detail(driver: Any) -> str:
    return str(driver.find_element("id", "detail").text)


PLACE = """
const [k, x, y] = arguments, view = document.getElementById("maps").figure;
const find = (item) => {
  for (const mark of item.items || []) for (const inner of mark.items || []) {
    if (mark.name === `concat_${k}_group`) return inner;
    const deeper = inner.items && find(inner);
    if (deeper) return deeper;
  }
};
const group = find({ items: [view.scenegraph().root] }), [ox, oy] = view.origin();
return [ox + group.x + view.scale(`concat_${k}_x`)(x), oy + group.y + view.scale(`concat_${k}_y`)(y)];
"""
"""Return the position of (x, y) in panel k, in pixels of the figure."""


def point_at(driver: Any, diagram: Diagram, panel: int, n: float, d: float, click: bool = False) -> None:
    """Move the mouse onto a cell."""
    from selenium.webdriver.common.action_chains import ActionChains

    target = driver.find_element("css selector", "#maps canvas")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", target)
    across, down = driver.execute_script(PLACE, panel, n, d)
    move = ActionChains(driver).move_to_element_with_offset(
        target, int(across - target.size["width"] / 2), int(down - target.size["height"] / 2)
    )
    (move.click() if click else move).perform()


def cell(diagram: Diagram, panel: int, n: int, d: int) -> Any:
    cells = diagram.panels[panel].cells
    return cells[(cells["n"] == n) & (cells["d"] == d)].iloc[0]


def choose(driver: Any, control: str, text: str) -> None:
    """Select an option of a control, and wait for the new figure."""
    from selenium.webdriver.support.ui import Select

    before = driver.execute_script("return document.getElementById('maps').drawn")
    Select(driver.find_element("id", control)).select_by_visible_text(text)
    WebDriverWait(driver, 20).until(
        lambda d: d.execute_script("return document.getElementById('maps').drawn") != before
    )


def spec(driver: Any) -> Any:
    """Return the Vega-Lite specification of the figure shown, with at most 50 rows per table."""
    return driver.execute_script(
        "return JSON.parse(JSON.stringify(document.getElementById('maps').spec,"
        " (name, v) => (name === 'values' && v.length > 50 ? v.slice(0, 50) : v)))"
    )


def panels(driver: Any) -> list[str]:
    return [panel["title"]["text"] for panel in spec(driver)["concat"]]


def wait(driver: Any) -> None:
    """Wait until the figure follows a new width or colour scheme."""
    driver.execute_async_script("setTimeout(arguments[0], 600)")


def label(driver: Any) -> str:
    return str(driver.find_element("id", "maps").accessible_name)


def test_hover_shows_the_counts_and_the_interval(opened: Any, diagram: Diagram) -> None:
    for panel, n, d in [(0, 50, 25), (1, 60, 30)]:
        point_at(opened, diagram, panel, n, d)
        row = cell(diagram, panel, n, d)
        text = detail(opened)
        low, high = (float(end[0]) for end in exact_interval([row["yes"]], [row["no"]]))
        assert f"n = {n}, d = {d}, {diagram.panels[panel].title}" in text
        assert f"{row['yes']} of {row['yes'] + row['no']}" in text
        found = [float(end) for end in re.search(r"95 % interval\s+([\d.]+) % to ([\d.]+) %", text).groups()]  # type: ignore[union-attr]
        assert found == pytest.approx([100 * low, 100 * high], abs=0.051)
        assert "certificates" in text
        assert "recover replay" in text
    point_at(opened, diagram, 0, 10, 5)
    assert "0 finished, 5 failed" in detail(opened)
    assert "# failed" in detail(opened)
    assert "not measured" in detail(opened)


def test_click_pins_a_cell(opened: Any, diagram: Diagram) -> None:
    point_at(opened, diagram, 0, 50, 25, click=True)
    held = detail(opened)
    point_at(opened, diagram, 0, 90, 10)
    assert detail(opened) == held
    assert "n = 50, d = 25" in held


def test_switching_the_value_changes_what_is_read(opened: Any, diagram: Diagram) -> None:
    point_at(opened, diagram, 0, 50, 25, click=True)
    assert label(opened).startswith("fraction recovered")
    choose(opened, "value", "absolute distance")
    assert "median absolute distance" in detail(opened)
    assert spec(opened)["concat"][0]["layer"][0]["encoding"]["fill"]["scale"]["type"] == "log"
    choose(opened, "sc", "linear")
    assert spec(opened)["concat"][0]["layer"][0]["encoding"]["fill"]["scale"]["type"] == "linear"
    choose(opened, "look", "mean")
    assert label(opened).startswith("mean absolute distance")


def test_a_threshold_recounts_the_trials(opened: Any, diagram: Diagram) -> None:
    choose(opened, "value", "largest deviation")
    choose(opened, "at", "at most 1e-07")
    point_at(opened, diagram, 1, 100, 5)
    again = Diagram.of(diagram.grid, "max_deviation<=1e-7")
    row = cell(again, 1, 100, 5)
    assert f"{row['yes']} of {row['yes'] + row['no']}" in detail(opened)


def test_a_link_opens_the_same_view_again(opened: Any) -> None:
    start = opened.current_url
    for control, text in [
        ("value", "absolute distance"),
        ("look", "highest"),
        ("x", "d"),
        ("sx", "log"),
        ("panel", "(b) Haar"),
    ]:
        choose(opened, control, text)
    link, shown = opened.current_url, spec(opened)
    usual = {"value": "99", "panel": "<img src=x onerror='window.harmed = 1'>", "x": "replicate", "sx": "even"}
    for address, words in [(link, "highest absolute distance"), (f"{start}#{urlencode(usual)}", "fraction recovered")]:
        opened.get("about:blank")
        opened.get(address)
        WebDriverWait(opened, 60).until(lambda d: d.execute_script("return document.body.dataset.ready") == "yes")
        assert label(opened).startswith(words)
        assert panels(opened) == (["(b) Haar"] if address == link else ["(a) Gaussian", "(b) Haar"])
        assert (spec(opened) == shown) == (address == link)


def test_axes_can_be_swapped_and_a_panel_coordinate_can_go_up(opened: Any, diagram: Diagram) -> None:
    choose(opened, "x", "d")
    assert [layer["x"]["axis"]["title"] for layer in encodings(spec(opened))] == ["d", "d"]
    point_at(opened, diagram, 1, 30, 60)
    row = cell(diagram, 1, 60, 30)
    assert f"{row['yes']} of {row['yes'] + row['no']}" in detail(opened)
    choose(opened, "y", "ensemble")
    assert len(panels(opened)) == 10  # one for each n
    point_at(opened, diagram, 5, 30, 1)
    assert f"{row['yes']} of {row['yes'] + row['no']}" in detail(opened)
    assert "n = 60" in detail(opened)


def encodings(figure: Any) -> list[Any]:
    return [panel["layer"][0]["encoding"] for panel in figure["concat"]]


def test_limits_of_the_interval_colour_the_map(opened: Any, diagram: Diagram) -> None:
    for words, side in (("lower limit", 0), ("upper limit", 1)):
        choose(opened, "look", words)
        shown = opened.execute_script("return document.getElementById('maps').spec.concat[1].layer[0].data.values")
        cells = diagram.panels[1].cells
        ends = exact_interval(cells["yes"], cells["no"])[side]
        assert [row["v"] for row in shown] == pytest.approx(ends.tolist(), abs=1e-4)


def test_what_is_shown_can_be_saved(browser: Any, text: str, diagram: Diagram, tmp_path: Path) -> None:
    for opened in visit(browser, text, tmp_path / "page.html"):
        opened.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
        choose(opened, "panel", "(b) Haar")
        for kind in ("svg", "png", "csv", "json"):
            opened.find_element("id", f"save-{kind}").click()
            place = tmp_path / f"drawn-recovered.{kind}"
            WebDriverWait(opened, 20).until(lambda _, place=place: place.exists() and place.stat().st_size)
        cells = diagram.panels[1].cells
        table = pd.read_csv(tmp_path / "drawn-recovered.csv")
        assert table["fraction recovered"].tolist() == pytest.approx(cells["value"].tolist(), abs=1e-4)
        assert table["yes"].tolist() == cells["yes"].tolist()
        content = json.loads((tmp_path / "drawn-recovered.json").read_text())
        assert [row["n"] for row in content["cells"]] == cells["n"].tolist()
        drawing = ElementTree.parse(tmp_path / "drawn-recovered.svg")
        words = ["".join(text.itertext()) for text in drawing.iter("{http://www.w3.org/2000/svg}text")]
        assert {"(b) Haar", "fraction recovered", "100"} <= set(words)
        assert (tmp_path / "drawn-recovered.png").read_bytes().startswith(b"\x89PNG")


def test_details_stay_on_the_screen_of_a_phone(browser: Any, text: str, tmp_path: Path) -> None:
    phone = {"width": 375, "height": 700, "deviceScaleFactor": 2, "mobile": True}
    for opened in visit(browser, text, tmp_path / "phone.html"):
        opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
        try:
            wait(opened)
            target = opened.find_element("id", "maps")
            opened.execute_script("arguments[0].scrollIntoView({block: 'start'})", target)
            box = opened.execute_script("return document.getElementById('detail').getBoundingClientRect().toJSON()")
            assert box["top"] < 700
            assert box["bottom"] <= 700.5
            assert opened.execute_script("return document.documentElement.scrollWidth") <= 375
            shown = "[...document.querySelectorAll('.controls label')].filter((label) => !label.hidden)"
            tops = f"return {shown}.map((label) => label.offsetTop)"
            assert len(set(opened.execute_script(tops))) <= 3  # rows of the toolbar
        finally:
            opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_page_begins_with_the_answer_and_has_thresholds_before_claims(text: str, diagram: Diagram) -> None:
    (answer,) = re.findall(r'<p class="answer">(.*?)</p>', text)
    assert re.fullmatch(r"n/d at 50 % = \d\.\d+ to \d\.\d+ in 2 panels; 2 claims: 1 \w+, 1 \w+", answer)
    assert text.index(answer) < text.index('id="maps"') < text.index(">Thresholds<") < text.index(">Claims<")
    lines = re.findall(r'data-name="panel">(\w+)<', text)
    assert set(lines) == {panel.title for panel in diagram.panels} == {"Gaussian", "Haar"}
    words = [name.strip() for name in re.findall(r"<label>(?:<span[^>]*>)?([\w ]+)", text)]
    assert words[5:] == ["x axis", "y axis", "x scale", "y scale", "Value scale", "Panel"]


def test_the_figure_has_the_whole_width_and_details_appear_below_it(opened: Any) -> None:
    boxes = (
        "return ['maps', 'detail'].map((id) => document.getElementById(id).getBoundingClientRect().toJSON())"
        ".concat(document.body.getBoundingClientRect().toJSON())"
    )
    figure, details, body = opened.execute_script(boxes)
    assert details["height"] == 0  # nothing is selected
    assert figure["width"] > 0.9 * body["width"]
    opened.execute_script("document.getElementById('maps').focus()")
    WebDriverWait(opened, 20).until(lambda driver: detail(driver))
    after, details, _ = opened.execute_script(boxes)
    assert (after["width"], after["height"]) == (figure["width"], figure["height"])
    assert 0 < details["height"] < 350


def test_fingers_read_of_tapping_and_mice_of_pointing(opened: Any) -> None:
    touch, said = opened.execute_script(
        "return [matchMedia('(hover: none)').matches, document.getElementById('keys').innerText]"
    )
    assert said.startswith("Tap a cell" if touch else "Point at a cell")
    assert ("Tap a cell" in said) != ("Point at a cell" in said)


def test_keyboard_walks_the_cells(opened: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    target = opened.find_element("id", "maps")
    for keys, words in [
        ([Keys.HOME], "n = 10, d = 5, Gaussian"),
        ([Keys.ARROW_RIGHT, Keys.ARROW_UP], "n = 20, d = 10, Gaussian"),
        ([Keys.END], "n = 100, d = 10, Gaussian"),
        ([Keys.PAGE_DOWN], "n = 100, d = 10, Haar"),
    ]:
        target.send_keys(*keys)
        assert words in detail(opened)
    target.send_keys(Keys.ENTER)
    assert "Pinned" in detail(opened)
    assert opened.execute_script("return document.getElementById('maps').figure.data('here1').length") == 2


def test_screen_readers_meet_names_and_a_live_region(opened: Any) -> None:
    assert label(opened) == "fraction recovered: Gaussian; Haar. n on the x axis, d on the y axis"
    assert opened.find_element("id", "detail").get_attribute("aria-live") == "polite"
    for control, words in (("value", "Value"), ("panel", "Panel"), ("x", "x axis"), ("save-csv", "CSV")):
        assert opened.find_element("id", control).accessible_name.startswith(words)


def test_cells_are_also_a_table_that_can_be_sorted(opened: Any, diagram: Diagram) -> None:
    opened.find_element("css selector", "#cell-table > summary").click()
    WebDriverWait(opened, 20).until(lambda d: d.find_elements("css selector", "#cells tr"))  # the event comes later
    assert len(opened.find_elements("css selector", "#cells tr")) == len(diagram.table)
    column = "return [...document.querySelectorAll('#cells tr')].map((row) => row.cells[3].textContent)"
    heads = opened.find_elements("css selector", "#cells-head button")
    assert [head.text for head in heads[:5]] == ["n", "d", "ensemble", "fraction recovered", "95 % low"]
    for way in (1, -1):
        opened.find_elements("css selector", "#cells-head button")[3].click()
        found = [float(text) for text in opened.execute_script(column) if text]
        assert found == sorted(found, key=lambda v, way=way: way * v)  # type: ignore[misc]
    sort = opened.find_elements("css selector", "#cells-head th")[3].get_attribute("aria-sort")
    assert sort == "descending"


def test_dark_and_light_differ_and_are_legible(opened: Any) -> None:
    def colours() -> list[str]:
        return opened.execute_script("const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]")

    seen = []
    for scheme in ("light", "dark"):
        feature = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        opened.execute_cdp_cmd("Emulation.setEmulatedMedia", feature)
        ink, paper = ([int(v) for v in re.findall(r"\d+", text)[:3]] for text in colours())
        assert abs(sum(ink) - sum(paper)) > 500
        seen.append(paper)
    assert seen[0] != seen[1]


def test_what_was_drawn_beside_the_map_is_on_the_page_with_words_for_it(browser: Any, tmp_path: Path) -> None:
    rows = wendel_rows()
    rows["convex_recovered"] = rows["recovered"].where(rows["n"] < 60, other=True)
    text = report_page([analysed(rows, title=HOSTILE)])
    assert len(text) < 3_000_000
    for opened in visit(browser, text, tmp_path / "pictures.html"):
        (picture,) = opened.find_elements("css selector", ".picture img")
        assert int(picture.get_attribute("naturalWidth")) > 400
        assert "the same draws" in picture.accessible_name


def test_pictures_beyond_the_room_of_a_page_are_named() -> None:
    text = pictures([("first", b"x" * 1_000_000), ("second", b"x" * 1_000_000)])
    assert text.count("<img") == 1
    assert "Too large for this page" in text
    assert "second" in text


def test_the_library_of_the_page_is_that_of_vl_convert() -> None:
    assert gzip.decompress(vega.PLACE.read_bytes()).decode() == vega.bundle(), "run `make vega`"
