"""The imports between packages, and their drawing: each package stands below all packages that import it."""

import ast
from collections.abc import Mapping
from functools import cache
from graphlib import TopologicalSorter
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = sorted([*ROOT.glob("recovery/*/**/*.py"), *ROOT.glob("recovery/[a-z]*.py"), *ROOT.glob("cli/*.py")])
BOX, GAP, RISE = (118, 34), 14, 50
SMALL = {"compiled", "errors", "interval", "text", "types"}
"""Short modules that nearly every package imports; the drawing omits them."""
Graph = Mapping[str, frozenset[str]]


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


def packages() -> Graph:
    """Return the packages that each package imports, without the short modules of `SMALL`."""
    found: dict[str, set[str]] = {package_of(path)[0]: set() for path in SOURCES}
    for path in SOURCES:
        package = package_of(path)[0]
        parts = [module.split(".") for module in imports(path)]
        found[package] |= {part[1] for part in parts if part[0] == "recovery" and len(part) > 1} - {package}
    return {
        package: frozenset(others & found.keys() - SMALL) for package, others in found.items() if package not in SMALL
    }


def depths(graph: Graph) -> dict[str, int]:
    """Return the length of the longest chain of imports down to each package. Raises `graphlib.CycleError`."""
    depth = dict.fromkeys(graph, 0)
    for package in reversed(list(TopologicalSorter(graph).static_order())):
        for other in graph[package]:
            depth[other] = max(depth[other], depth[package] + 1)
    return depth


def direct(graph: Graph) -> set[tuple[str, str]]:
    """Return the imports that no chain of other imports implies."""
    below = dict[str, frozenset[str]]()
    for package in TopologicalSorter(graph).static_order():
        below[package] = graph[package].union(*(below[other] for other in graph[package]))
    return {
        (package, other)
        for package, others in graph.items()
        for other in others
        if not any(other in below[between] for between in others - {other})
    }


def drawing() -> str:
    """Return an SVG with a box for each package and a line from each package down to those that it imports."""
    graph = packages()
    depth = depths(graph)
    rows = [sorted(package for package in graph if depth[package] == row) for row in range(max(depth.values()) + 1)]
    width = max(len(row) for row in rows) * (BOX[0] + GAP) + GAP
    place = {
        package: (width / 2 + (k - (len(row) - 1) / 2) * (BOX[0] + GAP), GAP + BOX[1] / 2 + i * (BOX[1] + RISE))
        for i, row in enumerate(rows)
        for k, package in enumerate(row)
    }
    height = len(rows) * (BOX[1] + RISE) - RISE + 2 * GAP
    lines = []
    for package, other in sorted(direct(graph)):
        (x, y), (u, v) = place[package], place[other]
        y, v = y + BOX[1] / 2, v - BOX[1] / 2
        bend = (v - y) / 2
        lines.append(f'<path d="M{x:.0f} {y:.0f}C{x:.0f} {y + bend:.0f} {u:.0f} {v - bend:.0f} {u:.0f} {v:.0f}"/>')
    boxes = [
        f'<rect x="{x - BOX[0] / 2:.0f}" y="{y - BOX[1] / 2:.0f}" width="{BOX[0]}" height="{BOX[1]}" rx="5"/>'
        f'<text x="{x:.0f}" y="{y + 5:.0f}">{escape(package)}</text>'
        for package, (x, y) in place.items()
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">',
            "<style>path{fill:none;stroke:#6b7280;stroke-width:1.2}rect{fill:#eef4fb;stroke:#1f5f99}"
            "text{font:14px sans-serif;text-anchor:middle;fill:#111}</style>",
            f'<rect width="{width}" height="{height}" style="fill:#fff;stroke:none"/>',
            *lines,
            *boxes,
            "</svg>",
        ]
    )
