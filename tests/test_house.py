"""Every import points down the house; nothing below the line knows YAML, tables or the disk's layout."""

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FLOORS = [
    {"cli"},
    {"api", "extras"},
    {"report"},
    {"runner"},
    {"store"},
    {"config"},
    {"methods"},
    {"conditions", "instances", "selection", "solvers", "tensors"},
    {"training"},
    {"programs", "sampling", "theory"},
    {"expressions", "notebook", "user"},
    {"compiled", "errors", "text", "types"},
]
LEVEL = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
ABOVE_THE_LINE = ("ruamel", "pydantic", "pandas", "pyarrow", "joblib", "click", "rich", "matplotlib", "statsmodels")
WINGS = {"report": ["page", "texts", "figures", "claims", "statistics", "diagram"]}
"""Rooms with wings, from the top down. A file of the room itself composes the wings, and no wing knows it."""
SOURCES = sorted([*ROOT.glob("recovery/*/**/*.py"), *ROOT.glob("recovery/[a-z]*.py"), *ROOT.glob("cli/*.py")])


def room_of(path):
    """The room that a file stands in, and its wing or None."""
    *parts, name = path.relative_to(ROOT).parts
    if parts == ["recovery"]:
        return name.removesuffix(".py"), None
    return (parts[1], parts[2] if len(parts) > 2 else None) if parts[0] == "recovery" else (parts[0], None)


@cache
def parsed(path):
    return ast.parse(path.read_text())


@cache
def imports(path):
    """Every module that a file imports, wherever in the file."""
    return tuple(_imports(path))


def _imports(path):
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = ".".join(path.relative_to(ROOT).parts[: -node.level]) if node.level else ""
            if node.module:
                yield f"{package}.{node.module}" if package else node.module
            elif package:
                yield from {package, *(f"{package}.{alias.name}" for alias in node.names)}


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_down(path):
    room, _ = room_of(path)
    for module in imports(path):
        parts = module.split(".")
        if parts[0] != "recovery" or len(parts) < 2 or parts[1] == room:
            continue
        other = parts[1]
        assert other in LEVEL, f"{module} is in no room"
        assert LEVEL[other] > LEVEL[room], f"{room} imports {module}"


def test_only_the_commands_import_extras():
    """A newcomer reads the core without opening them; `recovery` itself offers one of them from Python."""
    extra = {
        path: {module for module in imports(path) if module.split(".")[:2] == ["recovery", "extras"]}
        for path in SOURCES
    }
    assert {room_of(path)[0] for path, modules in extra.items() if modules} == {"cli", "extras"}
    named = set(imports(ROOT / "recovery/__init__.py"))
    assert {module for module in named if "extras" in module} <= {
        "recovery.extras.selected",
        "recovery.extras.selected.select_columns",
    }


def test_no_circle_of_modules():
    """A topological order of all modules exists, imports inside functions counted."""
    modules = {".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): p for p in SOURCES}
    graph = {name: {m for m in imports(path) if m in modules and m != name} for name, path in modules.items()}
    assert list(TopologicalSorter(graph).static_order())


LATE = {
    "recovery/runner/sweep_status.py": {"recovery.runner.rounds", "recovery.config"},
    "recovery/store/grid.py": {"recovery.config.components", "recovery.config"},
    "recovery/config/header.py": {"recovery.theory"},
    "recovery/programs/groups.py": {"recovery.programs.transforms"},
    "recovery/programs/orthonormal.py": {"recovery.programs.transforms"},
    "recovery/api.py": {"recovery.report.page.chart"},
    "recovery/report/command.py": {"recovery.report.figures", "recovery.report.page", "recovery.report.texts.terminal"},
    "recovery/runner/own_code.py": {"recovery.runner.supervised"},
    "recovery/solvers/dual_search.py": {"recovery.solvers.cone_projections"},
    "recovery/solvers/table.py": {"recovery.solvers.cones"},
    "recovery/training/models.py": {"recovery.training.passes"},
    "recovery/training/optimizers.py": {"recovery.training.passes"},
}
"""What is imported inside functions: the curves of theory, by a config that names one; Altair, for a chart;
matplotlib, for pictures and pages; rich, for a map; worker processes, for own code; exact programs, sums of projections
and training; configs, for what `status` seldom asks."""


def test_imports_inside_functions_are_those_that_save_start_up_time():
    """The commands load what they need when they run; nothing else may hide an import of ours."""
    late = {}
    for path in SOURCES:
        if room_of(path)[0] == "cli":
            continue
        for node in ast.walk(parsed(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                inner = [n.module for n in ast.walk(node) if isinstance(n, ast.ImportFrom) and n.module]
                ours = {module for module in inner if module.startswith("recovery")}
                if ours:
                    late.setdefault(str(path.relative_to(ROOT)), set()).update(ours)
    assert late == LATE


WINGED = [path for path in SOURCES if room_of(path)[0] in WINGS and room_of(path)[1]]


@pytest.mark.parametrize("path", WINGED, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_between_wings_point_down(path):
    room, wing = room_of(path)
    below = WINGS[room][WINGS[room].index(wing) :]
    for module in imports(path):
        parts = module.split(".")
        if parts[:2] == ["recovery", room]:
            assert len(parts) > 2, f"{path} imports the room that it stands in"
            assert parts[2] in below, f"{wing} imports {module}"


LIBRARY = [path for path in SOURCES if LEVEL[room_of(path)[0]] >= LEVEL["conditions"] or room_of(path)[1] == "proofs"]


@pytest.mark.parametrize("path", LIBRARY, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_library_knows_no_config_and_no_store(path):
    if path.name in ("files.py", "frames.py"):
        return  # the user's own matrix or table, read with pandas
    assert not [module for module in imports(path) if module.split(".")[0] in ABOVE_THE_LINE]


def test_every_room_is_on_the_plan_and_packaged():
    rooms = {p.parent.name for p in ROOT.glob("recovery/*/__init__.py")}
    packaged = (ROOT / "pyproject.toml").read_text()
    plan = (ROOT / "CONTRIBUTING.md").read_text()
    assert rooms == set(LEVEL) - {
        "api",
        "cli",
        "compiled",
        "errors",
        "expressions",
        "notebook",
        "text",
        "types",
        "user",
    }
    for room in rooms:
        assert f'"recovery.{room}"' in packaged
        assert f"recovery/{room}/" in plan


def test_every_wing_is_on_the_plan_and_packaged():
    packaged, plan = (ROOT / "pyproject.toml").read_text(), (ROOT / "CONTRIBUTING.md").read_text()
    for room, wings in WINGS.items():
        assert {p.parent.name for p in ROOT.glob(f"recovery/{room}/*/__init__.py")} == set(wings)
        for wing in wings:
            assert f'"recovery.{room}.{wing}"' in packaged
            assert f"    {wing}/" in plan


def test_no_two_classes_share_a_name():
    """One word, one meaning; names that begin with an underscore stay in their module."""
    places = {}
    for path in SOURCES:
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
