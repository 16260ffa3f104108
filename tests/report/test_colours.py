"""Colours of lines, as readers with and without all kinds of cones see them."""

from itertools import combinations, pairwise

import pytest
from coloraide import Color

from recovery.report.figures.style import line_styles
from recovery.report.page.encodings import dark_colours, series

EYES = ("normal", "protan", "deutan")
BACKGROUNDS = {"light": "#ffffff", "dark": "#0d1117"}
MANY = [str(i) for i in range(40)]


def seen(colour: str, eyes: str) -> Color:
    """Return a colour as a reader sees it who lacks the cones for red (protan) or green (deutan), or lacks none."""
    return Color(colour) if eyes == "normal" else Color(colour).filter(eyes)


def of_page(count: int, theme: str, in_order: bool) -> list[str]:
    values = [*range(count)] if in_order else [str(i) for i in range(count)]
    colours: list[str] = series([str(i) for i in range(count)], values)["color"]["scale"]["range"]
    return colours if theme == "light" else [dark_colours(count)[colour] for colour in colours]


def of_picture(values: list[object]) -> list[str]:
    return [look["color"] for look in line_styles(values)]


UNORDERED = {"picture": of_picture(["a", "b", "c", "d", "e", "f"])} | {
    theme: of_page(6, theme, in_order=False) for theme in BACKGROUNDS
}
SHADED = {("picture", count): of_picture([*range(count)]) for count in range(3, 11)} | {
    (theme, count): of_page(count, theme, in_order=True) for theme in BACKGROUNDS for count in range(3, 11)
}


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("where", UNORDERED)
def test_all_pairs_of_unordered_lines_are_told_apart(where: str, eyes: str) -> None:
    colours = [seen(colour, eyes) for colour in UNORDERED[where]]
    assert min(a.delta_e(b, method="2000") for a, b in combinations(colours, 2)) >= 10


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize(("where", "count"), SHADED)
def test_neighbours_of_ordered_lines_are_told_apart(where: str, count: int, eyes: str) -> None:
    colours = [seen(colour, eyes) for colour in SHADED[where, count]]
    assert min(a.delta_e(b, method="76") for a, b in pairwise(colours)) >= 7.5


@pytest.mark.parametrize("where", UNORDERED)
def test_lines_are_visible_on_their_background(where: str) -> None:
    background = BACKGROUNDS.get(where, "#ffffff")
    contrasts = [Color(colour).contrast(background, method="wcag21") for colour in UNORDERED[where]]
    assert min(contrasts) >= 3
    assert min(Color(colour).contrast(background, method="wcag21") for colour in SHADED[where, 10]) >= 3


def test_shades_become_lighter_or_darker_all_the_way() -> None:
    for (where, count), colours in SHADED.items():
        lightness = [Color(colour).convert("lab")["lightness"] for colour in colours]
        assert lightness == sorted(lightness), (where, count)


def test_unordered_lines_differ_in_more_than_colour() -> None:
    looks = line_styles(MANY)
    assert len({(one["color"], one["marker"]) for one in looks}) == len(MANY)
    assert len({one["marker"] for one in looks[:7]}) == 7


def test_two_numbers_or_truth_values_have_no_shades() -> None:
    assert line_styles([1, 2]) == line_styles(["a", "b"]) == line_styles([True, False])
    assert line_styles([1, 2, None]) == line_styles(["a", "b", "c"])
