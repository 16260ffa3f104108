"""Imports go from higher layers to lower ones only; the library below `methods` uses no YAML, no tables and no disk."""

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = sorted([*ROOT.glob("recovery/*/**/*.py"), *ROOT.glob("recovery/[a-z]*.py"), *ROOT.glob("cli/*.py")])
LAYERS = [
    {"cli"},
    {"api", "extras"},
    {"report"},
    {"runner"},
    {"store"},
    {"config"},
    {"methods"},
    {"conditions"},
    {"instances", "selection", "solvers", "tensors"},
    {"training"},
    {"programs", "theory"},
    {"expressions", "user"},
    {"backends", "compiled", "errors", "interval", "types"},
    {"text"},
]
LEVEL = {package: level for level, layer in enumerate(LAYERS) for package in layer}
MODULES = {"api", "cli", "backends", "compiled", "errors", "expressions", "interval", "text", "types", "user"}
"""Modules in recovery/, and `cli`, which is not below recovery/."""
SUBPACKAGES = {"report": ["page", "texts", "figures", "claims", "statistics", "diagram"]}
"""Subpackages in layers, from the highest. A file of the package itself combines them, and none of them imports it."""
NOT_IN_THE_LIBRARY = {"ruamel", "pydantic", "pandas", "pyarrow", "joblib", "click", "rich", "matplotlib"}
LATE = {
    "recovery/runner/sweep_status.py": {"recovery.config"},
    "recovery/store/grid.py": {"recovery.config"},
    "recovery/config/names.py": {"recovery.theory"},
    "recovery/api.py": {"recovery.report.page.spec"},
    "recovery/report/command.py": {"recovery.report.figures", "recovery.report.page", "recovery.report.texts.terminal"},
    "recovery/runner/loading.py": {"recovery.runner.pool"},
}
"""File -> the modules that its functions import, which saves start-up time: theory curves, used by few configs; Altair,
for a chart; matplotlib, for pictures; rich, for a map; worker processes, for user code."""


def package_of(path: Path) -> tuple[str, str | None]:
    """Return the package of a file and its subpackage, or None; a module in recovery/ counts as a package."""
    *parts, name = path.relative_to(ROOT).parts
    if parts == ["recovery"]:
        return name.removesuffix(".py"), None
    return (parts[1], parts[2] if len(parts) > 2 else None) if parts[0] == "recovery" else (parts[0], None)


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> frozenset[str]:
    """Return the full name of every module that a file imports, also inside functions."""
    found = set[str]()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = ".".join(path.relative_to(ROOT).parts[: -node.level]) if node.level else ""
            if node.module:
                found.add(f"{package}.{node.module}".strip("."))
            else:
                found |= {package, *(f"{package}.{alias.name}" for alias in node.names)}
    return frozenset(found)


def test_imports_go_to_lower_layers() -> None:
    assert {package_of(path)[0] for path in SOURCES} == LEVEL.keys()
    wrong = []
    for path in SOURCES:
        package, subpackage = package_of(path)
        layers = SUBPACKAGES.get(package, []) if subpackage else []
        for module in imports(path):
            parts = module.split(".")
            if parts[0] != "recovery" or len(parts) < 2:
                continue
            if parts[1] != package:
                right = LEVEL[parts[1]] > LEVEL[package]
            else:
                right = not layers or (parts[2:3] != [] and parts[2] in layers[layers.index(str(subpackage)) :])
            if not right:
                wrong.append(f"{path.relative_to(ROOT)} imports {module}")
    assert wrong == []


def test_the_library_uses_no_config_and_no_store() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in SOURCES
        if LEVEL[package_of(path)[0]] >= LEVEL["conditions"] or package_of(path)[1] == "proofs"
        if path.name not in ("files.py",)  # they read the user's matrix or table with pandas
        for module in imports(path)
        if module.split(".")[0] in NOT_IN_THE_LIBRARY
    ]
    assert wrong == []


def test_no_module_imports_a_solver_that_may_be_missing() -> None:
    """ECOS has no wheel for new versions of Python: only its name is given to CVXPY."""
    assert [path for path in SOURCES if "ecos" in imports(path)] == []


def test_only_the_commands_import_extras() -> None:
    """The core can be read without them; `recovery` itself offers two of them from Python."""
    extra = {path: {m for m in imports(path) if m.split(".")[:2] == ["recovery", "extras"]} for path in SOURCES}
    assert {package_of(path)[0] for path, modules in extra.items() if modules} == {"cli", "extras"}
    assert {module for module in imports(ROOT / "recovery/__init__.py") if "extras" in module} <= {
        "recovery.extras.certificate",
        "recovery.extras.certificate.TrialCertificate",
        "recovery.extras.certificate.certificate",
        "recovery.extras.compare",
        "recovery.extras.compare.compare",
    }


def test_modules_import_each_other_in_no_circle() -> None:
    """A topological order of all modules exists, also with the imports inside functions."""
    modules = {".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): p for p in SOURCES}
    graph = {name: {m for m in imports(path) if m in modules and m != name} for name, path in modules.items()}
    assert list(TopologicalSorter(graph).static_order())


def test_imports_inside_functions_are_those_that_save_start_up_time() -> None:
    """The commands import what they need when they run; elsewhere each late import is listed."""
    late = dict[str, set[str]]()
    for path in SOURCES:
        for node in ast.walk(parsed(path)) if package_of(path)[0] != "cli" else ():
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                inner = {n.module for n in ast.walk(node) if isinstance(n, ast.ImportFrom) and n.module}
                if ours := {module for module in inner if module.startswith("recovery")}:
                    late.setdefault(str(path.relative_to(ROOT)), set()).update(ours)
    assert late == LATE


def test_every_package_is_in_the_contributing_guide_and_in_the_wheel() -> None:
    packaged, guide = (ROOT / "pyproject.toml").read_text(), (ROOT / "CONTRIBUTING.md").read_text()
    found = {path.parent.name for path in ROOT.glob("recovery/*/__init__.py")}
    assert found == LEVEL.keys() - MODULES
    inner = {f"{top}/{name}" for top, names in SUBPACKAGES.items() for name in names}
    assert {
        f"{top}/{p.parent.name}" for top in SUBPACKAGES for p in ROOT.glob(f"recovery/{top}/*/__init__.py")
    } == inner
    for package in found | inner:
        assert f'"recovery.{package.replace("/", ".")}"' in packaged
        assert f"recovery/{package}/" in guide or f"    {package.partition('/')[2]}/" in guide


def test_no_two_classes_share_a_name() -> None:
    """Names that begin with an underscore stay in their module."""
    places = dict[str, list[str]]()
    for path in SOURCES:
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
