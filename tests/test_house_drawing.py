"""The drawing of the house says what the imports say."""

import re

import pytest

from docs.house import direct, drawing, floors, rooms


def test_every_room_is_drawn_below_all_that_import_it() -> None:
    house, level = rooms(), floors(rooms())
    assert {"cli", "config", "methods", "solvers", "programs"} <= house.keys()
    assert all(level[other] > level[room] for room, others in house.items() for other in others)
    assert sorted(re.findall(r">([a-z]+)</text>", drawing())) == sorted(house)


def test_lines_that_are_left_out_are_implied_by_others() -> None:
    house = {"a": frozenset("bc"), "b": frozenset("c"), "c": frozenset()}
    assert direct(house) == {("a", "b"), ("b", "c")}
    assert drawing().count("<path ") == len(direct(rooms())) < sum(map(len, rooms().values()))


def test_a_circle_is_refused() -> None:
    with pytest.raises(ValueError, match="circle"):
        floors({"a": frozenset("b"), "b": frozenset("a")})
