"""Refinement of a grid: further values of the axis that moves within a slice, between two neighbouring grid cells."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from math import sqrt
from typing import Any

import numpy as np

from recovery.config.axes import parse
from recovery.config.components import user_code_in
from recovery.config.points import BROKEN
from recovery.config.slicing import given_axes
from recovery.config.sweep import Sweep, plain_document
from recovery.config.tree import Tree, canonical_json, refusal
from recovery.config.trials import Cell
from recovery.config.values import log_spaced

Axes = Mapping[str, Any]
"""A block of axes, as a config writes it."""
CENTRAL = 0.2
"""A new value has the fewest digits that put it into the central fifth of the step that it divides."""


def refined(document: Mapping[str, Any], added: Sequence[Axes]) -> dict[str, Any]:
    """Return the config with `added` blocks of axes. The grid cells of its own axes come first, in their order.

    A uniform sweep ignores the axes that rounds have added. Raises `ConfigError` if the blocks name user code that the
    config does not name.
    """
    if not added or document.get("sampling", {}).get("kind") != "until":
        return dict(document)
    grown = {**document, "axes": [*(block for _, block in Tree(dict(document), "").axis_blocks()), *added]}
    if names := user_code_in(grown) - user_code_in(document):
        raise refusal("the stored rounds", f"name user code that the config does not name: {', '.join(sorted(names))}")
    return grown


def divided(
    sweep: Sweep, added: Sequence[Axes], cells: Sequence[Cell], steps: Iterable[tuple[Cell, Cell]]
) -> tuple[list[Axes], list[int]]:
    """Return blocks of axes with values inside the steps, and how many each step gets: three divide it into quarters.

    cells: those of the sweep and of `added`, the blocks of earlier rounds. steps: pairs of neighbouring cells of one
    slice. A value is left out if the axis holds integers and it is none, or if its computed n, or other computed
    value, is that of an end or of another value; a step without values stays whole.
    """
    document, moving = refined(sweep.document, added), sweep.slicing.moving
    assert moving is not None
    tree = Tree(plain_document(document), "document")
    specs, blocks = [spec for _, spec in tree.axis_blocks()], parse(tree)
    starts = list(accumulate((block.count for block in blocks[:-1]), initial=0))
    given: set[Any] = {cell.coordinates[moving] for cell in cells} - {None}
    whole, numbers = all(type(value) is int for value in given), np.sort(np.array(list(given), float))
    log = bool((numbers > 0).all()) and log_spaced(numbers)
    found, counts = dict[str, dict[str, Any]](), list[int]()
    for step in steps:
        low, high = sorted(cell.coordinates[moving] for cell in step)  # type: ignore[type-var]
        candidates = quarters(low, high, whole=whole, log=log)  # type: ignore[arg-type]
        k = bisect_right(starts, step[0].point) - 1
        point = blocks[k].point(step[0].point - starts[k])
        texts = {path: text for path, text in specs[k].items() if isinstance(text, str)}
        # the block's axes at this point, computed ones as text, without the moving axis
        template = {**{path: [one.value] for path, one in point.items() if path not in {moving, *texts}}, **texts}
        values = _distinct(document, template, moving, step, candidates)
        counts.append(len(values))
        if values:
            found.setdefault(canonical_json(template), {**template, moving: []})[moving] += values
    return list(found.values()), counts


def quarters(low: float, high: float, *, whole: bool, log: bool) -> list[float]:
    """Return the middle of a step, then those of both halves, as far as they exist. whole, log: see `middle`."""
    half = middle(low, high, whole=whole, log=log)
    halves = [] if half is None else [(low, half), (half, high)]
    return [one for one in (half, *(middle(*pair, whole=whole, log=log) for pair in halves)) if one is not None]


def middle(low: float, high: float, *, whole: bool, log: bool) -> float | None:
    """Return a short number halfway between two, by ratio if `log`, an integer if `whole`; None if there is none."""
    half = sqrt(low * high) if log else (low + high) / 2
    if whole:
        return round(half) if low < round(half) < high else None
    room = CENTRAL / 2 * (high - low)
    return next(value for digits in range(1, 18) if abs((value := float(f"{half:.{digits}g}")) - half) <= room)


def _distinct(
    document: Mapping[str, Any], template: Axes, moving: str, step: tuple[Cell, Cell], candidates: Iterable[float]
) -> list[float]:
    """Return the candidates of `moving` whose computed axes differ from those at both ends of `step` and at others."""
    found, seen = list[float](), list[list[Any]]()
    for value in candidates:
        (block,) = parse(Tree(plain_document({**document, "axes": [{**template, moving: [value]}]}), "document"))
        operands = {one.path: one.expression.names for one in block.computed}
        names = [path for path in operands if moving in given_axes(path, operands)]
        new = [block.point(0)[name].value for name in names]
        known = [*seen, *([cell.coordinates[name] for name in names] for cell in step)]
        if not names or (BROKEN not in new and new not in known):
            found.append(value)
            seen.append(new)
    return found
