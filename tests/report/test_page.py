"""The page's text as it stands in the file, and the page at work in a real browser without a network."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recovery.report.claims.analysis import Analysis
from recovery.report.diagram.diagram import Diagram
from recovery.report.pages.html import pictures
from recovery.report.pages.page import as_html
from recovery.report.statistics.proportions import wilson

from .conftest import visit
from .grids import fail, grid, wendel_rows

HOSTILE = "</script><script>window.harmed = 1</script><img src=x onerror='window.harmed = 1'> \U0001f4a5 $x$"
CLAIMS = [
    {"kind": "threshold", "of": "recovered", "ratio": "n/d", "value": 2.0, "tolerance": 0.5, "source": HOSTILE},
    {"kind": "threshold", "of": "recovered", "ratio": "n/d", "value": 4.0, "tolerance": 0.3},
]


def make_page() -> tuple[str, Diagram]:
    rows = fail(wendel_rows(ensemble=["gaussian", "haar"], seed=1), [0, 1, 2, 3, 4, 17], HOSTILE)
    stored = grid(rows, "results/it's drawn", title=HOSTILE, source=HOSTILE, claims=CLAIMS)
    stored.sweep["provenance"] = {"cpu": HOSTILE, "program": {"version": "1"}}
    diagram = Diagram.of(stored)
    return as_html([Analysis(diagram)]), diagram


@pytest.fixture(scope="module")
def page() -> tuple[str, Diagram]:
    return make_page()


def test_page_is_small_and_names_no_address(page: tuple[str, Diagram]) -> None:
    text, _ = page
    assert len(text) < 3_000_000
    visible = text.replace("http://www.w3.org/2000/svg", "")  # a name of a kind of element, not an address
    assert not re.search(r"https?://|//[a-z]+\.|@import|url\(", visible)


def test_config_text_never_becomes_markup(page: tuple[str, Diagram]) -> None:
    text, _ = page
    assert text.count("<script") == 2  # the data and the program
    assert "<img" not in text
    assert "onerror='" not in text
    assert "&lt;script&gt;" in text


def test_tables_hold_without_scripts(page: tuple[str, Diagram]) -> None:
    text, _ = page
    assert '<td class="verdict holds">holds</td>' in text
    assert '<td class="verdict contradicted">contradicted</td>' in text
    assert "6 in all" in text
    assert "recover replay &#x27;results/it&#x27;&quot;&#x27;&quot;&#x27;s drawn&#x27; 0000" in text


@pytest.fixture
def opened(browser: Any, page: tuple[str, Diagram], tmp_path: Path) -> Iterator[Any]:
    yield from visit(browser, page[0], tmp_path / "page.html")


def detail(driver: Any) -> str:
    return str(driver.find_element("id", "detail").text)


def point_at(driver: Any, diagram: Diagram, panel: int, n: int, d: int, click: bool = False) -> None:
    """Move the mouse onto a cell, found from the drawing's own margins."""
    from selenium.webdriver.common.action_chains import ActionChains

    target = driver.find_elements("css selector", ".map")[panel]
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", target)
    x, y = diagram.panels[panel].x, diagram.panels[panel].y
    wide, tall = target.size["width"] - 50, target.size["height"] - 40
    across = 44 + wide * (list(x).index(n) + 0.5) / len(x)
    down = 6 + tall * (1 - (list(y).index(d) + 0.5) / len(y))
    move = ActionChains(driver).move_to_element_with_offset(
        target, int(across - target.size["width"] / 2), int(down - target.size["height"] / 2)
    )
    (move.click() if click else move).perform()


def cell(diagram: Diagram, panel: int, n: int, d: int) -> Any:
    cells = diagram.panels[panel].cells
    return cells[(cells["n"] == n) & (cells["d"] == d)].iloc[0]


def choose(driver: Any, control: str, text: str) -> None:
    from selenium.webdriver.support.ui import Select

    Select(driver.find_element("id", control)).select_by_visible_text(text)


def test_hover_shows_the_counts_and_the_interval(opened: Any, page: tuple[str, Diagram]) -> None:
    for panel, n, d in [(0, 50, 25), (1, 60, 30)]:
        point_at(opened, page[1], panel, n, d)
        row = cell(page[1], panel, n, d)
        text = detail(opened)
        low, high = (float(end[0]) for end in wilson([row["yes"]], [row["no"]]))
        assert f"n = {n}, d = {d}, {page[1].panels[panel].title}" in text
        assert f"{row['yes']} of {row['yes'] + row['no']}" in text
        found = [float(end) for end in re.search(r"95 % interval\s+([\d.]+) % to ([\d.]+) %", text).groups()]  # type: ignore[union-attr]
        assert found == pytest.approx([100 * low, 100 * high], abs=0.051)
        assert "certificates" in text
        assert "recover replay" in text


def test_failed_trials_are_told_apart_in_their_cell(opened: Any, page: tuple[str, Diagram]) -> None:
    point_at(opened, page[1], 0, 10, 5)
    assert "0 finished, 5 failed" in detail(opened)
    assert "# failed" in detail(opened)
    assert "not measured" in detail(opened)


def test_click_holds_a_cell_until_escape(opened: Any, page: tuple[str, Diagram]) -> None:
    point_at(opened, page[1], 0, 50, 25, click=True)
    held = detail(opened)
    point_at(opened, page[1], 0, 90, 10)
    assert detail(opened) == held
    assert "n = 50, d = 25" in held


def test_switching_the_value_changes_what_is_read(opened: Any, page: tuple[str, Diagram]) -> None:
    point_at(opened, page[1], 0, 50, 25, click=True)
    assert "fraction recovered" in opened.find_element("id", "key").text
    choose(opened, "value", "absolute distance")
    assert "median absolute distance" in detail(opened)
    assert "log scale" in opened.find_element("id", "key").text
    choose(opened, "statistic", "mean")
    assert "mean absolute distance" in opened.find_element("id", "key").text


def test_a_threshold_recounts_the_trials(opened: Any, page: tuple[str, Diagram]) -> None:
    choose(opened, "value", "largest deviation")
    choose(opened, "threshold", "at most 1e-7")
    point_at(opened, page[1], 1, 100, 5)
    again = Diagram.of(page[1].grid, "max_deviation<=1e-7")
    row = cell(again, 1, 100, 5)
    assert f"{row['yes']} of {row['yes'] + row['no']}" in detail(opened)


def test_one_panel_can_be_chosen(opened: Any) -> None:
    assert len(opened.find_elements("css selector", ".map")) == 2
    choose(opened, "panel", "haar")
    assert [h.text for h in opened.find_elements("css selector", "#maps h3")] == ["(b) haar"]


def test_a_link_opens_the_same_view_again(opened: Any) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    start = opened.current_url
    choose(opened, "value", "absolute distance")
    choose(opened, "statistic", "highest")
    choose(opened, "panel", "haar")
    link = opened.current_url
    for address, words in [(link, "highest absolute distance"), (f"{start}#quantity=99&panel=x", "fraction recovered")]:
        opened.get("about:blank")
        opened.get(address)
        WebDriverWait(opened, 60).until(lambda d: d.execute_script("return document.body.dataset.ready") == "yes")
        assert opened.find_element("id", "key").text.startswith(words)
        assert len(opened.find_elements("css selector", ".map")) == (1 if address == link else 2)


LABELS = """const [labels, draw] = [[], CanvasRenderingContext2D.prototype.fillText];
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  const [m, t] = [this.measureText(text), this.getTransform()], scale = window.devicePixelRatio;
  const [px, py] = [(t.a * x + t.c * y + t.e) / scale, (t.b * x + t.d * y + t.f) / scale];
  labels.push([text, px, py, m.width, this.textAlign, t.b !== 0, this.canvas.clientWidth, this.canvas.clientHeight]);
  return draw.apply(this, arguments);
};
window.labels = labels; window.dispatchEvent(new Event("resize"));"""


def test_axes_of_the_page_have_the_ticks_of_the_figure_and_nothing_is_cut(browser: Any, tmp_path: Path) -> None:
    betas = [1e-4, 1e-3, 1e-2, 1e-1, 1.0]
    rows = wendel_rows(d=[20], n=range(10, 401, 10), replicates=1, **{"method.beta": betas})
    diagram = Diagram.of(grid(rows, report={"x": "n", "y": "method.beta"}))
    for opened in visit(browser, as_html([Analysis(diagram)]), tmp_path / "log.html"):
        for width in (500, 1300):
            opened.execute_script(LABELS)
            opened.set_window_size(width, 900)
            opened.execute_async_script("const done = arguments[0]; setTimeout(done, 500)")
            drawn = opened.execute_script("return window.labels.splice(0)")
            words = [label[0] for label in drawn]
            if width == 1300:
                assert [word for word in words if word in ("100", "200", "300", "400")] == ["100", "200", "300", "400"]
                assert {"0.0001", "0.001", "0.01", "0.1", "1"} <= set(words)
            heights = [y for word, _, y, *_ in drawn if word in ("0.0001", "0.001", "0.01", "0.1", "1")]
            steps = np.diff(heights).tolist()
            assert steps == pytest.approx([steps[0]] * 4, rel=0.02)  # every decade has the same room
            for word, x, y, long, align, turned, wide, tall in drawn:
                left = {"center": x - long / 2, "right": x - long, "left": x, "start": x}[align]
                assert 0 <= y <= tall, word
                assert turned or (left >= -0.5 and left + long <= wide + 0.5), word
        opened.set_window_size(1300, 1000)


def test_the_key_has_only_what_the_map_has(browser: Any, tmp_path: Path) -> None:
    whole = Diagram.of(grid(wendel_rows(ensemble=["gaussian", "haar"])))
    for opened in visit(browser, as_html([Analysis(whole)]), tmp_path / "whole.html"):
        key = opened.find_element("id", "key").text
        assert not any(word in key for word in ("failed", "undecided", "nothing finished"))
        titles = [h.text for h in opened.find_elements("css selector", "#maps h3")]
        assert titles == ["(a) gaussian", "(b) haar"]
        assert len(opened.find_elements("css selector", "#maps .words")) == 2  # each panel says its threshold


def test_details_stay_on_the_screen_of_a_phone(browser: Any, page: tuple[str, Diagram], tmp_path: Path) -> None:
    phone = {"width": 375, "height": 700, "deviceScaleFactor": 2, "mobile": True}
    for opened in visit(browser, page[0], tmp_path / "phone.html"):
        opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
        try:
            target = opened.find_elements("css selector", ".map")[0]
            opened.execute_script("arguments[0].scrollIntoView({block: 'start'})", target)
            box = opened.execute_script("return document.getElementById('detail').getBoundingClientRect().toJSON()")
            assert box["top"] < 700
            assert box["bottom"] <= 700.5
            assert opened.execute_script("return document.documentElement.scrollWidth") <= 375
        finally:
            opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_grid_along_one_axis_shows_its_curve_and_folds_the_map(browser: Any, tmp_path: Path) -> None:
    text = as_html([Analysis(Diagram.of(grid(wendel_rows(d=[10]))))])
    for opened in visit(browser, text, tmp_path / "line.html"):
        assert opened.find_elements("css selector", ".picture img")
        assert not opened.find_element("css selector", ".map").is_displayed()


def test_keyboard_walks_the_cells(opened: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    target = opened.find_elements("css selector", ".map")[0]
    target.send_keys(Keys.HOME)
    assert "n = 10, d = 5" in detail(opened)
    target.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_UP)
    assert "n = 20, d = 10" in detail(opened)
    target.send_keys(Keys.END)
    assert "n = 100, d = 10" in detail(opened)


def test_screen_readers_meet_names_and_a_live_region(opened: Any) -> None:
    target = opened.find_elements("css selector", ".map")[0]
    assert target.accessible_name.startswith("gaussian: fraction recovered")
    assert opened.find_element("id", "detail").get_attribute("aria-live") == "polite"
    for control in ("value", "panel"):
        assert opened.find_element("id", control).accessible_name.startswith(control.capitalize())


def test_cells_are_also_a_table(opened: Any, page: tuple[str, Diagram]) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    opened.find_element("css selector", "#cell-table > summary").click()
    WebDriverWait(opened, 20).until(lambda d: d.find_elements("css selector", "#cells tr"))  # the event comes later
    assert len(opened.find_elements("css selector", "#cells tr")) == len(page[1].table)


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
    text = as_html([Analysis(Diagram.of(grid(rows, title=HOSTILE)))])
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
