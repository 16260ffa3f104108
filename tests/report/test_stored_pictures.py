"""The stored pictures, as they are in the repository."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from coloraide import Color
from PIL import Image

from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram
from recovery.report.figures.line_plots import RATIOS
from recovery.store import read
from tests.suites import first

ROOT = Path(__file__).parents[2]
PAGES = [*(ROOT / "results" / "papers").glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
LINKS = [(page, *link) for page in PAGES for link in re.findall(r"!\[(.*?)\]\((\S+?\.png)\)", page.read_text())]
SHOWN = {(page.parent / file).resolve(): words for page, words, file in LINKS}
STORED = [file for place in ("docs/tutorials", "results/papers") for file in (ROOT / place / "pictures").iterdir()]
COLOURED = r" over \S+ and \S+$|^Population loss of"
"""Text alternatives of maps and surfaces, which have a colour bar."""


def bar_of(picture: Any) -> Any:
    """Return the pixels from end to end of the colour bar of a picture, shape (k, 3): the line, down or across, along
    which most pixels differ, and by little, from the one before, while the pixels beside it are the same."""
    found = []
    for turned in (picture, picture.transpose(1, 0, 2)):
        lines, beside = turned[:, :-3:4], turned[:, 3::4][:, : turned[:, :-3:4].shape[1]]
        steps = np.abs(np.diff(lines, axis=0)).max(axis=2)
        good = (np.abs(lines - beside).max(axis=2)[1:] <= 1) & (steps <= 10)
        length = changes = np.zeros(good.shape[1], int)
        most, best = 0, lines[:0, 0]
        for y in range(len(good)):
            length, changes = (length + 1) * good[y], (changes + (steps[y] > 0)) * good[y]
            if changes.max() > most:
                most, x = int(changes.max()), int(changes.argmax())
                best = lines[y + 1 - length[x] : y + 2, x]
        found.append(best)
    return max(found, key=lambda pixels: len(np.unique(pixels, axis=0)))


@pytest.mark.parametrize("file", STORED, ids=lambda file: file.stem)
def test_a_stored_picture_is_shown_and_keeps_all_colours(file: Path) -> None:
    assert file in SHOWN
    with Image.open(file) as picture:
        assert picture.mode in ("RGB", "RGBA")


BARS = sorted((file for file, words in SHOWN.items() if re.search(COLOURED, words)), key=lambda file: file.name)


@pytest.mark.parametrize("file", first(6, BARS), ids=lambda file: file.stem)
def test_the_colour_bar_of_a_stored_picture_changes_in_lightness_all_the_way(file: Path) -> None:
    bar = bar_of(np.asarray(Image.open(file).convert("RGB")).astype(int))
    assert len(np.unique(bar, axis=0)) > 100
    lightness = np.array(
        [Color("srgb", pixel / 255).convert("lab")["lightness"] for pixel in bar[6:-6:4]]
    )  # no borders
    assert abs(lightness[-1] - lightness[0]) > 60
    steps = np.diff(lightness) * np.sign(lightness[-1] - lightness[0])
    assert steps.min() >= -0.5


def test_a_bar_of_few_colours_is_found_out() -> None:
    ramp = np.linspace(0, 255, 400).astype(int)[:, None, None]
    picture = np.full((440, 300, 3), 255)
    picture[20:420, 200:220] = ramp
    assert len(np.unique(bar_of(picture), axis=0)) > 100
    picture[20:420, 200:220] = ramp // 16 * 16
    assert len(np.unique(bar_of(picture), axis=0)) < 20


GRIDS = [folder.parent.name for folder in (ROOT / "results" / "papers").glob("*/sweep.json")]
FEW = ("p1-prop06", "p2-epochs")
"""Grids of a constant threshold in each panel, and of a threshold that changes in one panel."""


@pytest.mark.parametrize("name", first(len(FEW), [*FEW, *sorted({*GRIDS} - {*FEW})]))
def test_a_band_is_drawn_only_where_the_threshold_is_constant_and_meets_all_slices(name: str) -> None:
    analysis = Analysis(Diagram.of(read(ROOT / "results" / "papers" / name)))
    if not analysis.diagram.has_ratio or analysis.diagram.along.what != "n/d":
        return
    figure = RATIOS.draw(analysis)
    for pooled, ax in zip(analysis.pooled, figure.axes, strict=False):
        bands = [patch.get_extents().transformed(ax.transData.inverted()) for patch in ax.patches]
        assert pooled.constant or not bands
        for band in bands:
            assert all(one.interval.low <= band.x1 and one.interval.high >= band.x0 for one in pooled.each)
    if name in FEW:
        assert any(ax.patches for ax in figure.axes)
        assert all(one.constant for one in analysis.pooled) == (name == "p1-prop06")
