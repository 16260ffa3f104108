"""The house, drawn from the imports of its files: each room below all rooms that import it."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
BOX, GAP, RISE = (118, 34), 14, 50
SMALL = {"compiled", "errors", "text", "types"}
"""Modules of a few lines, which nearly every room imports; the drawing leaves them out."""
Rooms = Mapping[str, frozenset[str]]


def rooms() -> Rooms:
    """Room -> the rooms that its files import, wherever in the file; `cli` and what lies in recovery/."""
    files = [*ROOT.glob("recovery/*/**/*.py"), *ROOT.glob("recovery/[a-z]*.py"), *ROOT.glob("cli/*.py")]
    found = defaultdict[str, set[str]](set)
    for path in files:
        parts = path.relative_to(ROOT).with_suffix("").parts
        room = parts[1] if parts[0] == "recovery" else parts[0]
        found[room] |= set(_imported(path)) - {room}
    return {room: frozenset(others & found.keys() - SMALL) for room, others in found.items() if room not in SMALL}


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            names = []
        for name in names:
            parts = name.split(".")
            if parts[0] == "recovery" and len(parts) > 1:
                yield parts[1]


def floors(house: Rooms) -> dict[str, int]:
    """Room -> how many rooms stand above it in the longest chain of imports. Raises `ValueError` for a circle."""
    level = dict.fromkeys(house, 0)
    for _ in house:
        lower = [(other, level[room] + 1) for room, others in house.items() for other in others]
        moved = [(other, depth) for other, depth in lower if depth > level[other]]
        if not moved:
            return level
        for other, depth in moved:
            level[other] = max(level[other], depth)
    raise ValueError("rooms import each other in a circle")


def direct(house: Rooms) -> set[tuple[str, str]]:
    """The imports that no chain of others implies: enough to tell who stands on whom."""
    below = dict[str, frozenset[str]]()
    for room in sorted(house, key=lambda one: -floors(house)[one]):
        below[room] = house[room].union(*(below[other] for other in house[room]))
    return {
        (room, other)
        for room, others in house.items()
        for other in others
        if not any(other in below[between] for between in others - {other})
    }


def drawing() -> str:
    """The house as SVG: a box a room, a line from each room down to those that it imports."""
    house = rooms()
    level = floors(house)
    rows = [sorted(room for room in house if level[room] == floor) for floor in range(max(level.values()) + 1)]
    width = max(len(row) for row in rows) * (BOX[0] + GAP) + GAP
    place = {
        room: (width / 2 + (k - (len(row) - 1) / 2) * (BOX[0] + GAP), GAP + BOX[1] / 2 + floor * (BOX[1] + RISE))
        for floor, row in enumerate(rows)
        for k, room in enumerate(row)
    }
    height = len(rows) * (BOX[1] + RISE) - RISE + 2 * GAP
    lines = []
    for room, other in sorted(direct(house)):
        (x, y), (u, v) = place[room], place[other]
        y, v = y + BOX[1] / 2, v - BOX[1] / 2
        bend = (v - y) / 2
        lines.append(f'<path d="M{x:.0f} {y:.0f}C{x:.0f} {y + bend:.0f} {u:.0f} {v - bend:.0f} {u:.0f} {v:.0f}"/>')
    boxes = [
        f'<rect x="{x - BOX[0] / 2:.0f}" y="{y - BOX[1] / 2:.0f}" width="{BOX[0]}" height="{BOX[1]}" rx="5"/>'
        f'<text x="{x:.0f}" y="{y + 5:.0f}">{escape(room)}</text>'
        for room, (x, y) in place.items()
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
