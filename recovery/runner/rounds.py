"""Rounds of a sweep that samples until a rule is met.

A round is planned from the rows of the earlier rounds, once all of these are stored. A round therefore does not depend
on workers, shards, order or interruptions. Failed and undecided trials count as drawn, but have no outcome.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from recovery.config import Cell, Sweep, Trial, Trials, Until, divided
from recovery.errors import StoreError
from recovery.runner.placement import Slice, TransitionCurve, sharpen
from recovery.store.round_files import Round, added, counts
from recovery.types import Index


@dataclass(frozen=True)
class PanelInterim:
    """Interim analysis of one panel.

    trials: ids of its trials. factor: by how much the next round should lower the variance of the threshold; 1 if the
    rule is met. left: trials that the panel may still get. record: what the round's file stores about the panel. steps:
    ids of neighbouring grid cells between which the next round should add values of x. probability: at the threshold.
    """

    trials: frozenset[str]
    factor: float
    left: int
    record: dict[str, Any]
    steps: Sequence[tuple[str, str]] = ()
    probability: float = 0.5


class Interim(NamedTuple):
    """Interim analysis of a sweep's rule: per panel, and in `words`. outcomes: trial id -> whether the event occurred,
    for the trials that decide that."""

    panels: Sequence[PanelInterim]
    words: Sequence[str]
    outcomes: Mapping[str, bool]


InterimAnalysis = Callable[[Path], Interim]
"""Function that analyses a results folder."""


def plan_round(
    sweep: Sweep, trials: Sequence[Trial], number: int, interim: Interim, earlier: Sequence[Round] = ()
) -> Round:
    """Return the next round, whose trials are placed where earlier outcomes leave the threshold most uncertain.

    trials: all trials of the earlier rounds. interim: the analysis of their rows, which says how many are needed.
    earlier: the earlier rounds, which may have added grid cells. Raises `StoreError` if no trial has an outcome.
    """
    assert isinstance(sweep.sampling, Until)
    if not interim.outcomes:
        raise StoreError(
            f"round {number} cannot be planned: no trial measured {sweep.report.event!r}; "
            "`recover status` shows why trials failed, and report.value names the event of the boundary"
        )
    drawn, every = Counter(trial.cell.id for trial in trials), Trials.of(trials).cells
    axes, new, panels = _refined(sweep, earlier, every, interim.panels)
    placed = _placed(*slices_of(sweep, trials, interim.outcomes), panels)
    drawn.update(placed)
    ended = not new and not any(placed.values())
    refine = {"refine": True} if sweep.sampling.refine else {}
    state = {"ended": ended, "panels": [panel.record for panel in panels], "words": list(interim.words)}
    return {
        "round": number,
        "budget": sweep.size,
        "value": sweep.report.event,
        "trials": sum(drawn.values()) + new * sweep.replicates,
        "counts": {cell: count for cell, count in sorted(drawn.items()) if count > sweep.replicates},
        "until": {"rule": sweep.sampling.rule, **refine, **state},
        **({"axes": axes, "cells": len(every) + new} if new else {}),
    }


def slices_of(
    sweep: Sweep, trials: Sequence[Trial], outcomes: Mapping[str, bool]
) -> tuple[list[list[Cell]], list[Slice]]:
    """Return the grid cells of each slice, with the counts of their outcomes. outcomes: trial id -> outcome.

    Places are values of n, along which the transition is about sqrt n wide; along other axes they are grid indices,
    which suit linear and log axes alike.
    """
    counts = [Counter(one.cell.id for one in trials if outcomes.get(one.id) is wanted) for wanted in (True, False)]
    slicing, every = sweep.slicing, Trials.of(trials).cells
    curve = TransitionCurve(slicing.x == "n", sweep.report.probability)
    slices, parts = slicing.groups(every), list[Slice]()
    # in the order of x: the order of axes does not matter
    groups = [sorted(slices[key], key=lambda one: (slicing.value(one.coordinates), one.id)) for key in sorted(slices)]
    first = {cell.id for cell in every[: len(sweep.cells)]}
    for cells in groups:
        x = np.array([slicing.value(cell.coordinates) for cell in cells])
        given = np.unique(x[[cell.id in first for cell in cells]])
        places = x if curve.grows else np.interp(x, given, np.arange(len(given)))
        won, lost = (np.array([count[cell.id] for cell in cells], dtype=np.float64) for count in counts)
        parts.append(Slice(places, won, lost, curve))
    return groups, parts


def _refined(
    sweep: Sweep, earlier: Sequence[Round], cells: Sequence[Cell], panels: Sequence[PanelInterim]
) -> tuple[list[Mapping[str, Any]], int, Sequence[PanelInterim]]:
    """Return the blocks of axes with the values that panels request, the number of new cells, and the panels.

    A panel that gets values gets no replicates in this round: few trials show which step holds the threshold.
    """
    steps = [*dict.fromkeys(step for one in panels for step in one.steps[: one.left // (3 * sweep.replicates)])]
    if not steps:
        return [], 0, panels
    known = {cell.id: cell for cell in cells}
    axes, counts = divided(sweep, added(earlier), cells, [(known[low], known[high]) for low, high in steps])
    got = {step for step, count in zip(steps, counts, strict=True) if count}
    refined = [
        replace(panel, factor=1.0, record={**panel.record, "aimed": False}) if got & set(panel.steps) else panel
        for panel in panels
    ]
    return axes, sum(counts), refined


def _placed(groups: Sequence[Sequence[Cell]], slices: Sequence[Slice], panels: Sequence[PanelInterim]) -> Counter[str]:
    """Return cell id -> further trials: those that a panel needs to meet the rule. groups: the cells of `slices`."""
    placed = Counter[str]()
    for panel in panels:
        mine = [i for i, cells in enumerate(groups) if cells[0].id in panel.trials]
        if panel.factor > 1 and panel.left:
            curves = [replace(slices[i].curve, probability=panel.probability) for i in mine]
            there = [replace(slices[i], curve=curve) for i, curve in zip(mine, curves, strict=True)]
            for i, (_, more) in zip(mine, sharpen(there, panel.factor, panel.left), strict=True):
                placed.update({cell.id: extra for cell, extra in zip(groups[i], more, strict=True)})
    return placed


def split(sweep: Sweep, rounds: Sequence[Round], trials: Trials) -> list[Index]:
    """Return the indices of the trials of each round, the first round included."""
    stage, cells = np.zeros(len(trials), np.intp), len(sweep.cells)
    for i, later in enumerate(rounds):
        requested = sweep.requested(counts(rounds[:i]), trials.cells)
        requested[cells:] = 0  # earlier rounds have no trials in grid cells that this round or a later one adds
        stage += trials.replicate >= requested[trials.cell]
        cells = later.get("cells", cells)
    return [np.flatnonzero(stage == number) for number in range(len(rounds) + 1)]
