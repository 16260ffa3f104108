"""Rounds of a sweep that samples until a rule is met.

A round is planned from the rows of the earlier rounds, once all of these are stored. A round therefore does not depend
on workers, shards, order or interruptions. Failed and undecided trials count as drawn, but have no outcome.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from recovery.config import Cell, Sweep, Trial, Trials, Until, divided
from recovery.config.slicing import Slicing
from recovery.errors import StoreError
from recovery.runner.placement import Slice, Transition, TransitionCurve, sharpen
from recovery.store.round_files import Round, added, counts
from recovery.types import Index


@dataclass(frozen=True)
class PanelInterim:
    """Interim analysis of one panel.

    trials: ids of its trials. factor: by how much the next round should lower the variance of the threshold; 1 if the
    rule is met. left: trials that the panel may still get. record: what the round's file stores about the panel. steps:
    ids of neighbouring grid cells between which the next round should add a value of x.
    """

    trials: frozenset[str]
    factor: float
    left: int
    record: dict[str, Any]
    steps: Sequence[tuple[str, str]] = ()


class Interim(NamedTuple):
    """Interim analysis of a sweep's rule: per panel, and as lines of text."""

    panels: Sequence[PanelInterim]
    words: Sequence[str]


InterimAnalysis = Callable[[Path], Interim]
"""Function that analyses a results folder."""


def next_round(sampling: Until, first: int, rounds: Sequence[Round]) -> int | None:
    """Return the number of the round after `rounds`, or None after the last one. first: trials of the first round."""
    last: Round = rounds[-1] if rounds else {"round": 1, "budget": 0, "until": {}}
    until = last["until"]
    state = (until.get("rule"), until.get("refine", False), last["budget"])
    over = until.get("ended") and state == (sampling.rule, sampling.refine, sampling.ceiling * first)
    return None if over else int(last["round"]) + 1


def plan_round(
    sweep: Sweep,
    trials: Sequence[Trial],
    number: int,
    stored: Mapping[str, bool | None],
    interim: Interim,
    earlier: Sequence[Round] = (),
) -> Round:
    """Return the next round, whose trials are placed where earlier outcomes leave the threshold most uncertain.

    trials: all trials of the earlier rounds. stored: trial id -> outcome, None if undecided. interim: the analysis of
    the same rows, which says how many trials are needed. earlier: the earlier rounds, which may have added grid cells.
    Raises `StoreError` if no trial has an outcome.
    """
    assert isinstance(sweep.sampling, Until)
    outcomes = {trial.id: outcome for trial in trials if (outcome := stored.get(trial.id)) is not None}
    if not outcomes:
        raise StoreError(
            f"round {number} cannot be planned: no trial measured {sweep.report.event!r}; "
            "`recover status` shows why trials failed, and report.value names the event of the boundary"
        )
    drawn = Counter(trial.cell.id for trial in trials)
    yes = Counter(trial.cell.id for trial in trials if outcomes.get(trial.id) is True)
    no = Counter(trial.cell.id for trial in trials if outcomes.get(trial.id) is False)
    slicing, every = sweep.slicing, Trials.of(trials).cells
    curve = TransitionCurve(slicing.x == "n", sweep.report.probability)
    groups, parts = _slices(every, slicing), list[Slice]()
    first = {cell.id for cell in every[: len(sweep.cells)]}
    for cells in groups:
        x = np.array([slicing.value(cell.coordinates) for cell in cells])
        given = np.unique(x[[cell.id in first for cell in cells]])
        # places are values of n, along which the transition is about sqrt n wide; along other axes they are grid
        # indices, which suit linear and log axes alike
        places = x if curve.grows else np.interp(x, given, np.arange(len(given)))
        won, lost = (np.array([count[cell.id] for cell in cells], dtype=np.float64) for count in (yes, no))
        parts.append(Slice(places, won, lost, curve))
    axes, new, panels = _refined(sweep, earlier, every, interim.panels)
    placed = _place_by_panel(groups, parts, panels)
    records: list[dict[str, Any]] = []
    for cells, (transition, more) in zip(groups, placed, strict=True):
        drawn.update({cell.id: extra for cell, extra in zip(cells, more, strict=True)})
        fixed = [axis for axis in sweep.axes if axis not in (slicing.moving, *slicing.computed)]
        where = {axis: value for axis, value in cells[0].coordinates.items() if axis in fixed}
        known = {"n50": transition.half, "standard_error": transition.error} if transition and curve.grows else {}
        records.append({"where": where, "placed": sum(more), **known})
    text = "\n".join(f"{trial} {outcomes[trial]}" for trial in sorted(outcomes))
    digest = blake2b(text.encode()).hexdigest()[:16]
    ended = not new and not any(record["placed"] for record in records)
    refine = {"refine": True} if sweep.sampling.refine else {}
    state = {"ended": ended, "panels": [panel.record for panel in panels], "words": list(interim.words)}
    return {
        "round": number,
        "budget": sweep.size,
        "value": sweep.report.event,
        "trials": sum(drawn.values()) + new * sweep.replicates,
        "based_on": {
            "trials": len(trials),
            "answers": len(outcomes),
            "digest": digest,
        },
        "slices": records,
        "counts": {cell: count for cell, count in sorted(drawn.items()) if count > sweep.replicates},
        "until": {"rule": sweep.sampling.rule, **refine, **state},
        **({"axes": axes, "cells": len(every) + new} if new else {}),
    }


def _refined(
    sweep: Sweep, earlier: Sequence[Round], cells: Sequence[Cell], panels: Sequence[PanelInterim]
) -> tuple[list[Mapping[str, Any]], int, Sequence[PanelInterim]]:
    """Return the axes with the values that the panels request, the number of new cells, and the panels.

    A panel that gets values gets no replicates in this round: few are needed to find the step with the threshold.
    """
    steps = [step for panel in panels for step in panel.steps[: panel.left // sweep.replicates]]
    if not steps:
        return [], 0, panels
    known = {cell.id: cell for cell in cells}
    axes, mask = divided(sweep, added(earlier), cells, [(known[low], known[high]) for low, high in steps])
    got = {step for step, inside in zip(steps, mask, strict=True) if inside}
    refined = [
        replace(panel, factor=1.0, record={**panel.record, "aimed": False}) if got & set(panel.steps) else panel
        for panel in panels
    ]
    return axes, len(got), refined


def _place_by_panel(
    groups: Sequence[Sequence[Cell]], slices: Sequence[Slice], panels: Sequence[PanelInterim]
) -> list[tuple[Transition | None, list[int]]]:
    """Place the trials that each panel needs to meet the rule; none in a panel that meets it."""
    placed: list[tuple[Transition | None, list[int]]] = [(None, [0] * len(one.n)) for one in slices]
    for panel in panels:
        mine = [i for i, cells in enumerate(groups) if cells[0].id in panel.trials]
        if panel.factor > 1 and panel.left:
            for i, more in zip(mine, sharpen([slices[i] for i in mine], panel.factor, panel.left), strict=True):
                placed[i] = more
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


def _slices(cells: Sequence[Cell], slicing: Slicing) -> list[list[Cell]]:
    """Group the grid cells of each slice, in the order of x; the order of axes does not matter."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(slicing.key(cell.coordinates), []).append(cell)
    order = {key: sorted(groups[key], key=lambda cell: (slicing.value(cell.coordinates), cell.id)) for key in groups}
    return [order[key] for key in sorted(groups)]
