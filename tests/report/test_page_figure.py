"""The figures on the HTML page: ticks, legends, marks and text on the canvas, light and dark, wide and narrow."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from selenium.webdriver.support.ui import WebDriverWait

from recovery.report.diagram import PLAIN, Axis
from recovery.report.page import report_page

from .conftest import visit
from .grids import analysed, fail, wendel_rows
from .test_page import HOSTILE, choose, panels, spec, wait

TEXTS = """
const view = document.getElementById("maps").figure, [ox, oy] = view.origin(), found = [];
const walk = (item, x, y) => {
  for (const mark of item.items || []) for (const inner of mark.items || []) {
    const b = inner.bounds;
    if (mark.marktype === "text" && String(inner.text) && inner.opacity !== 0)
      found.push([String(inner.text), b.x1 + x, b.y1 + y, b.x2 + x, b.y2 + y, inner.limit || 1e9]);
    if (inner.items) walk(inner, x + (inner.x || 0), y + (inner.y || 0));
  }
};
walk({ items: [view.scenegraph().root] }, ox, oy);
const canvas = document.querySelector("#maps canvas");
return [found, canvas.clientWidth, canvas.clientHeight, document.getElementById("maps").clientWidth];
"""
"""Return each text of the figure with its box and its length limit, and the sizes of the canvas and its container."""
CHARTS = "return [...document.querySelectorAll('[data-chart]')].every((holder) => holder.querySelector('canvas'))"
"""Whether the charts of fits are drawn."""
BETAS = [1e-4, 1e-3, 1e-2, 1e-1, 1.0]


def page_of(rows: Any, value: str | None = None, **document: Any) -> str:
    return report_page([analysed(rows, value, **document)])


def log_page() -> str:
    rows = wendel_rows(d=[20], n=range(10, 401, 10), replicates=1, **{"method.beta": BETAS})
    return page_of(rows, report={"x": "n", "y": "method.beta"})


def marked_page() -> str:
    rows = wendel_rows(ensemble=["gaussian", "haar"], seed=1)
    rows.loc[::13, "recovered"] = None
    rows.loc[::13, "verdict"] = "undecided"
    return page_of(fail(rows, [*range(0, 30, 2), *range(5, 10)]))


def wordy_page() -> str:
    rows = wendel_rows(n=[20, 40], architecture=["relu_norm_skip", "a_name_that_is_very_long_indeed"], d=[10])
    return page_of(rows, report={"x": "n", "y": "architecture"})


def crowded_page() -> str:
    """Return a page with long names of panels, and charts of fits."""
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
                WebDriverWait(opened, 60).until(lambda d: d.execute_script(CHARTS))
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


def test_axes_have_the_ticks_of_the_figure_and_a_scale_that_can_be_chosen(browser: Any, tmp_path: Path) -> None:
    for opened in visit(browser, log_page(), tmp_path / "log.html"):
        texts, *_ = opened.execute_script(TEXTS)
        words = [word for word, *_ in texts]
        ticks = [f"{value:g}" for _, value in Axis(range(10, 401, 10)).ticks]
        assert ticks == ["100", "200", "300", "400"]
        assert [word for word in words if word in ticks] == ticks
        heights = [
            (top + bottom) / 2 for word, _, top, _, bottom, _ in texts if word in [PLAIN.value(b) for b in BETAS]
        ]
        steps = np.diff(heights)
        assert len(steps) == 4
        assert steps == pytest.approx(np.full(4, steps[0]), rel=0.02)
        scale = "return document.getElementById('maps').figure.scale('concat_0_y').type"
        assert opened.execute_script(scale) == "log"
        choose(opened, "sy", "linear")
        assert opened.execute_script(scale) == "linear"


def test_the_key_has_only_what_the_map_has_and_panels_say_their_thresholds(browser: Any, tmp_path: Path) -> None:
    marks = {"trials failed", "no trial finished", "trials undecided"}
    whole = page_of(wendel_rows(ensemble=["gaussian", "haar"], replicates=20))
    for text, expected in ((whole, set()), (marked_page(), marks)):
        for opened in visit(browser, text, tmp_path / "page.html"):
            words = [word for word, *_ in opened.execute_script(TEXTS)[0]]
            assert marks & {word.partition(" (")[0] for word in words} == expected
            assert panels(opened) == ["(a) Gaussian", "(b) Haar"]
            assert len([word for word in words if word.startswith("50 %: n/d = ")]) == 2


def test_theory_looks_in_the_key_as_on_the_map_and_is_seen_on_either_ground(browser: Any, tmp_path: Path) -> None:
    for opened in visit(browser, page_of(wendel_rows()), tmp_path / "page.html"):
        try:
            seen = []
            for scheme, ground in (("light", 255), ("dark", 14)):
                feature = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
                opened.execute_cdp_cmd("Emulation.setEmulatedMedia", feature)
                wait(opened)
                layers = spec(opened)["concat"][0]["layer"]
                (theory,) = [
                    layer for layer in layers if layer["mark"]["type"] == "line" and "stroke" in layer["encoding"]
                ]
                stroke = theory["encoding"]["stroke"]  # one encoding draws the line, and the key
                assert "n = 2d" in stroke["scale"]["domain"]
                for colour in stroke["scale"]["range"]:
                    parts = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
                    assert abs(np.dot(parts, [0.3, 0.59, 0.11]) - ground) > 70, colour
                seen.append(stroke["scale"]["range"])
            assert seen[0] != seen[1]
        finally:
            opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_grid_along_one_axis_is_a_curve_with_intervals_and_no_map(browser: Any, tmp_path: Path) -> None:
    for opened in visit(browser, page_of(wendel_rows(d=[10])), tmp_path / "line.html"):
        kinds = [layer["mark"]["type"] for layer in spec(opened)["concat"][0]["layer"]]
        assert "rule" in kinds
        assert "line" in kinds
        assert "rect" not in kinds
        assert not opened.find_elements("css selector", ".picture")


def test_a_value_that_a_method_does_not_measure_says_so(browser: Any, tmp_path: Path) -> None:
    rows = wendel_rows(method=["min_norm", "limit"])
    rows.loc[rows["method"] == "limit", ["recovered", "verdict", "certificate"]] = None
    for opened in visit(browser, page_of(rows), tmp_path / "silent.html"):
        words = [word for word, *_ in opened.execute_script(TEXTS)[0]]
        assert words.count("not measured") == 1


def test_a_fine_grid_is_painted_and_the_page_says_so(browser: Any, tmp_path: Path) -> None:
    size = 160
    rows = wendel_rows(n=range(1, size + 1), d=range(1, size + 1), replicates=1)
    for opened in visit(browser, page_of(rows), tmp_path / "fine.html"):
        assert f"{size * size} grid cells, drawn as one picture per panel" in opened.find_element("id", "about").text
        colours = opened.execute_script(
            "const c = document.querySelector('#maps canvas'), [w, h] = [c.width, c.height];"
            "const all = c.getContext('2d').getImageData(0, 0, w, h).data;"
            "const at = ([x, y]) => 4 * (Math.round(y * h) * w + Math.round(x * w));"
            "return [[0.2, 0.4], [0.9, 0.85]].map(at).map((k) => [...all.slice(k, k + 3)])"
        )
        assert colours[0][2] > colours[0][0]  # few rows for each dimension: dark blue
        assert colours[1][0] > colours[1][2]  # many: yellow


def test_values_of_an_axis_are_text(browser: Any, tmp_path: Path) -> None:
    values = [HOSTILE, "'\"];window.harmed = 1//\\", "\u2028${window.harmed = 1}"]
    rows = wendel_rows(n=[20, 40], d=[10], replicates=2, ensemble=values)
    text = page_of(rows, report={"x": "n", "y": "ensemble"}, title=HOSTILE)
    assert text.count("<script") == 3
    for opened in visit(browser, text, tmp_path / "values.html"):
        layers = spec(opened)["concat"][0]["layer"]
        series = next(layer["encoding"]["color"] for layer in layers if "color" in layer["encoding"])["scale"]["domain"]
        assert sorted(series) == sorted(values)
        choose(opened, "form", "map")
        words = [word for word, *_ in opened.execute_script(TEXTS)[0]]
        assert set(values) <= set(words)
        opened.find_element("css selector", "#cell-table > summary").click()
        WebDriverWait(opened, 20).until(lambda d: d.find_elements("css selector", "#cells tr"))
        shown = opened.find_element("id", "cells").get_attribute("textContent")
        assert all(value in str(shown) for value in values)
