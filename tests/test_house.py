"""Every import points down the house; nothing below the line knows YAML, tables or the disk's layout."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FLOORS = [
    {"cli"},
    {"report"},
    {"runner"},
    {"methods", "store", "config"},
    {"instances", "solvers", "training"},
    {"programs", "sampling", "theory"},
    {"errors", "types"},
]
LEVEL = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
SIDEWAYS = {("config", "methods"), ("store", "methods")}
"""Rooms of one floor that know each other: configs name methods, and the row schema is made from `Measurement`."""
ABOVE_THE_LINE = ("ruamel", "pydantic", "pandas", "pyarrow", "joblib", "click", "rich", "matplotlib", "statsmodels")
SOURCES = sorted([*ROOT.glob("recovery/*/*.py"), *ROOT.glob("cli/*.py")])


def imports(path):
    """Every module that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_down(path):
    room = path.parent.name
    for module in imports(path):
        parts = module.split(".")
        if parts[0] != "recovery" or len(parts) < 2 or parts[1] == room:
            continue
        other = parts[1]
        assert other in LEVEL, f"{module} is in no room"
        assert LEVEL[other] > LEVEL[room] or (room, other) in SIDEWAYS, f"{room} imports {module}"


@pytest.mark.parametrize(
    "path", [p for p in SOURCES if LEVEL[p.parent.name] >= LEVEL["instances"]], ids=lambda p: str(p.relative_to(ROOT))
)
def test_the_library_knows_no_config_and_no_store(path):
    if path.name == "files.py":
        return  # the user's own matrix, read with pandas
    assert not [module for module in imports(path) if module.split(".")[0] in ABOVE_THE_LINE]


def test_every_room_is_on_the_plan_and_packaged():
    rooms = {p.parent.name for p in ROOT.glob("recovery/*/__init__.py")}
    packaged = (ROOT / "pyproject.toml").read_text()
    plan = (ROOT / "CONTRIBUTING.md").read_text()
    assert rooms == set(LEVEL) - {"cli", "errors", "types"}
    for room in rooms:
        assert f'"recovery.{room}"' in packaged
        assert f"recovery/{room}/" in plan
