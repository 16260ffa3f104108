"""The rounds of a boundary sweep, and of one that goes on until it knows.

Each is planned from the rows of the rounds before it, once all of these are stored.
So what a round asks for depends on no worker, shard, order or interruption. Failed and undecided trials count as
drawn; they answer nothing.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from recovery.config import Boundary, Cell, Sweep, Trial, Trials, Until
from recovery.config.sampling import Sampling
from recovery.config.tree import canonical_json
from recovery.errors import StoreError
from recovery.sampling.placement import Slice, Transition, place, sharpen
from recovery.store.round_files import Round, counts
from recovery.types import Index


@dataclass(frozen=True)
class PanelLook:
    """What the rows tell of one panel's rule.

    trials: the ids of its trials. factor: by how much the variance of its threshold has to fall next; 1: enough. left:
    the trials that it may still get. record: what the round keeps of it.
    """

    trials: frozenset[str]
    factor: float
    left: int
    record: dict[str, Any]


class Look(NamedTuple):
    """What the rows tell of a rule: panel by panel, and in words."""

    panels: Sequence[PanelLook]
    words: Sequence[str]


Looking = Callable[[Path], Look]
"""A results folder -> what its rows tell of the rule of its sampling."""


def next_round(sampling: Sampling, first: int, rounds: Sequence[Round], planned: int) -> tuple[int, int] | None:
    """The number and the trials of the round after `rounds`, which came to `planned` trials; None after the last.

    Rounds to come share what is left of the budget equally. A budget that grew after the last is spent in one more.
    Until a rule is met, each takes what it needs, of so many at most. first: the trials of the first round.
    """
    number = rounds[-1]["round"] + 1 if rounds else 2
    if isinstance(sampling, Until):
        last = rounds[-1].get("until", {}) if rounds else {}
        over = last.get("ended") and (last["rule"], rounds[-1]["budget"]) == (sampling.rule, sampling.ceiling * first)
        return None if over else (number, max(sampling.ceiling * first - planned, 0))
    if not isinstance(sampling, Boundary):
        return None
    left = sampling.budget - planned
    if number <= sampling.rounds:
        return number, left // (sampling.rounds - number + 1)
    return (number, left) if left > 0 and rounds[-1]["budget"] < sampling.budget else None


def plan_round(
    sweep: Sweep,
    trials: Sequence[Trial],
    number: int,
    size: int,
    answers: Mapping[str, bool | None],
    look: Look | None = None,
) -> Round:
    """Place `size` trials by what `trials`, those of the earlier rounds, answered (trial id -> answer); of a sweep with
    a rule, those that its panels need by a `look` at the same rows.

    A slice is what agrees in all coordinates but n. Raises `StoreError` if no trial has an answer.
    """
    told = {trial.id: answer for trial in trials if (answer := answers.get(trial.id)) is not None}
    if not told:
        raise StoreError(
            f"round {number} has nothing to go by: no trial measured {sweep.report.event!r}; "
            "`recover status` says why trials failed, and report.value names what the boundary is of"
        )
    drawn = Counter(trial.cell.id for trial in trials)
    yes = Counter(trial.cell.id for trial in trials if told.get(trial.id) is True)
    no = Counter(trial.cell.id for trial in trials if told.get(trial.id) is False)
    groups = _slices(sweep.cells)
    parts = [
        Slice(
            np.array([cell.setting.n for cell in cells], dtype=np.float64),
            *(np.array([count[cell.id] for cell in cells], dtype=np.float64) for count in (yes, no)),
        )
        for cells in groups
    ]
    placed = place(parts, size) if look is None else _needed(groups, parts, look.panels)
    records: list[dict[str, Any]] = []
    for cells, (transition, added) in zip(groups, placed, strict=True):
        drawn.update({cell.id: more for cell, more in zip(cells, added, strict=True)})
        where = {axis: value for axis, value in cells[0].coordinates.items() if axis in sweep.axes and axis != "n"}
        known = {"n50": transition.half, "standard_error": transition.error} if transition else {}
        records.append({"where": where, "placed": sum(added), **known})
    text = "\n".join(f"{trial} {told[trial]}" for trial in sorted(told))
    ruled = {}
    if look is not None and isinstance(sweep.sampling, Until):
        ended = not any(record["placed"] for record in records)
        kept = [panel.record for panel in look.panels]
        ruled = {"until": {"rule": sweep.sampling.rule, "ended": ended, "panels": kept, "words": list(look.words)}}
    return {
        "round": number,
        "budget": sweep.size,
        "value": sweep.report.event,
        "trials": sum(drawn.values()),
        "based_on": {"trials": len(trials), "answers": len(told), "digest": blake2b(text.encode()).hexdigest()[:16]},
        "slices": records,
        "counts": {cell: count for cell, count in sorted(drawn.items()) if count > sweep.replicates},
        **ruled,
    }


def _needed(
    groups: Sequence[Sequence[Cell]], parts: Sequence[Slice], panels: Sequence[PanelLook]
) -> list[tuple[Transition | None, list[int]]]:
    """The trials that each panel needs, and none for one that is known."""
    placed: list[tuple[Transition | None, list[int]]] = [(None, [0] * len(part.n)) for part in parts]
    for panel in panels:
        mine = [i for i, cells in enumerate(groups) if cells[0].id in panel.trials]
        if panel.factor > 1 and panel.left:
            for i, more in zip(mine, sharpen([parts[i] for i in mine], panel.factor, panel.left), strict=True):
                placed[i] = more
    return placed


def split(sweep: Sweep, rounds: Sequence[Round], trials: Trials) -> list[Index]:
    """The places of the trials of each round, from the first on."""
    stage = np.zeros(len(trials), np.intp)
    for i in range(len(rounds)):
        stage += trials.replicate >= sweep.asked(counts(rounds[:i]))[trials.cell]
    return [np.flatnonzero(stage == number) for number in range(len(rounds) + 1)]


def _slices(cells: Sequence[Cell]) -> list[list[Cell]]:
    """The cells of each slice by n, in an order that does not depend on that of the axes."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        key = canonical_json({axis: value for axis, value in cell.coordinates.items() if axis != "n"})
        groups.setdefault(key, []).append(cell)
    return [sorted(groups[key], key=lambda cell: (cell.setting.n, cell.id)) for key in sorted(groups)]
