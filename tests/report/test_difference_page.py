"""The page of a comparison: its text, and its behaviour in a real browser without a network."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from recovery.extras.comparison import Comparison, compare_each, compare_two
from recovery.extras.comparison_report import comparison_page
from recovery.report.diagram import Diagram
from tests.invoke import said

from .conftest import visit
from .grids import grid, store, wendel_rows
from .test_page import HOSTILE, detail, fetched, point_at, spec


def make(name: str = HOSTILE) -> Comparison:
    """Compare two sweeps of which the second always recovers for d = 30 and has a hostile name."""
    first = wendel_rows(n=[40, 60, 80], d=[20, 30], replicates=30, noise=[0.0, 0.1])
    second = first.copy()
    second.loc[second["d"] == 30, "recovered"] = True
    one, other = (Diagram.of(grid(rows, "results/it's", name="a", seed=1)) for rows in (first, second))
    # no config may have such a name; a page does not rely on it
    return compare_two(one, replace(other, sweep=replace(other.sweep, name=name)))


@pytest.fixture(scope="module")
def found() -> Comparison:
    return make()


@pytest.fixture
def opened(browser: Any, found: Comparison, tmp_path: Path) -> Iterator[Any]:
    yield from visit(browser, comparison_page([found]), tmp_path / "comparison.html")


def test_the_page_is_small_names_no_address_and_takes_names_for_text(found: Comparison) -> None:
    text = comparison_page([found])
    assert len(text) < 600_000
    assert not re.search(r"https?://|//[a-z]+\.|@import|url\(", text)
    assert fetched(text) == []
    assert text.count("<script") == 3
    assert "<img" not in text
    assert "&lt;script&gt;" in text
    assert "recover compare &#x27;results/it" in text


def test_the_table_holds_the_tests_of_every_cell_without_scripts(found: Comparison) -> None:
    text = comparison_page([found])
    assert text.split('id="cells-differ"')[1].count("<tr>") == 1 + len(found.cells) + 3
    least = found.cells.sort_values("q").iloc[0]
    assert f"{least['p']:.4g}" in text
    assert f"{least['q']:.4g}" in text
    assert f"{len(found.different)} cells differ at a false-discovery rate of 5%" in text
    assert "McNemar" in text


def test_hover_shows_both_values_and_the_exact_test(opened: Any, found: Comparison) -> None:
    for panel, noise in ((0, 0.0), (1, 0.1)):
        point_at(opened, found.first, panel, 60, 30)
        cell = found.cells[(found.cells[["n", "d", "noise"]] == [60, 30, noise]).all(axis=1)].iloc[0]
        text = detail(opened)
        assert "n = 60, d = 30" in text
        assert f"σ = {noise:g}" in text
        for column in ("first", "second", "difference", "p", "q"):
            assert f"{cell[column]:.4g}" in text
        assert f"pairs larger in the second\n{cell['gained']:.0f}" in text


def test_the_key_states_symmetric_limits(opened: Any, found: Comparison) -> None:
    reach = float(np.abs(found.cells["difference"]).max())
    layers = spec(opened)["concat"][0]["layer"]
    fill = layers[0]["encoding"]["fill"]
    assert fill["legend"]["title"] == "difference in recovered"
    assert fill["scale"]["domain"][0] == pytest.approx(-reach)
    assert fill["scale"]["domain"][-1] == pytest.approx(reach)
    (shape,) = {str(layer["encoding"]["shape"]["scale"]["domain"]) for layer in layers if "shape" in layer["encoding"]}
    assert shape.startswith("['differs, false-discovery rate 5%")


def test_keyboard_and_screen_readers(opened: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    target = opened.find_element("id", "maps")
    assert target.accessible_name.startswith("difference in recovered: σ = 0; σ = 0.1.")
    target.send_keys(Keys.HOME, Keys.ARROW_UP)
    assert "n = 40, d = 30" in detail(opened)


def test_compare_writes_the_page(tmp_path: Path) -> None:
    rows = wendel_rows()
    paths = [store(rows, tmp_path / name, name=name, seed=seed) for name, seed in (("a", 1), ("b", 2))]
    said("compare", *paths, "--out", tmp_path / "c.html")
    text = (tmp_path / "c.html").read_text()
    assert "not paired" in text
    assert "Fisher" in text


def test_of_several_grids_one_is_chosen(browser: Any, tmp_path: Path) -> None:
    """Select the map of the last sweep, which always recovers, and read one of its cells."""
    from selenium.webdriver.support.select import Select

    rows = wendel_rows(n=[40, 60, 80], d=[20, 30], replicates=30)
    always = rows.assign(recovered=pd.array([True] * len(rows), dtype="boolean"))
    each = compare_each(
        *(Diagram.of(grid(one, name=name, seed=1)) for name, one in zip("abc", (rows, rows, always), strict=True))
    )
    for opened in visit(browser, comparison_page(each), tmp_path / "comparison.html"):
        chosen = Select(opened.find_element("id", "grid"))
        assert [option.text for option in chosen.options] == ["b minus a", "c minus a"]
        assert opened.find_element("id", "shown").text == "b minus a"
        chosen.select_by_visible_text("c minus a")
        point_at(opened, each[1].first, 0, 40, 30)
        assert opened.find_element("id", "shown").text == "c minus a"
        cell = each[1].cells[(each[1].cells[["n", "d"]] == [40, 30]).all(axis=1)].iloc[0]
        assert f"{cell['difference']:.4g}" in detail(opened)
        assert cell["difference"] > 0.5
