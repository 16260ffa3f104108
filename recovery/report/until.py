"""Adaptive sweeps (`--until`): the interim analyses that decide for each threshold when enough trials are stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from recovery.config import Until, from_document
from recovery.config.claims import ThresholdClaim
from recovery.interval import Interval
from recovery.report.claims.lines import Line
from recovery.report.claims.result import decided
from recovery.report.claims.threshold import claims_about, stated_limits, tests_of
from recovery.report.diagram import Diagram
from recovery.report.statistics import Estimates, Threshold
from recovery.report.statistics.estimates import interim_level, records_of
from recovery.runner.rounds import Interim, PanelInterim
from recovery.store import read
from recovery.text import many

STEP = 4.0
"""Largest factor by which a round lowers the variance: few trials do not show reliably how many are needed."""
SPARE, LEAST = 1.15, 1.3
"""A round lowers the variance by the factor `SPARE` more than necessary, and by at least the factor `LEAST`."""
WIDEST, CURVED = 0.5, 4.0
"""Widest steps of x at a threshold with a bracket, and with a curve, in half widths that meet the target."""


def interim_analysis(path: Path) -> Interim:
    """Evaluate the rule in `sampling` on the stored rows, for each threshold that is pooled or of a slice.

    Earlier rounds record how often the rule was tested.
    """
    grid = read(path)
    diagram = Diagram.of(grid, from_document(grid.sweep["config"]).report.event)
    until = diagram.sweep.sampling
    assert isinstance(until, Until)
    stated = [one["until"] for one in grid.rounds if "until" in one]
    same = bool(stated) and (stated[-1]["rule"], stated[-1].get("refine", False)) == (until.rule, until.refine)
    ids = diagram.frame["trial_id"].to_numpy()
    first_trials = diagram.frame["replicate"] == 0
    of_cell = dict(zip(diagram.cells.code[first_trials], ids[first_trials], strict=True))
    panels, words = [], []
    places = until.quarters or (diagram.probability,)
    shown = [Estimates(diagram).showing(str(diagram.quantity), probability) for probability in places]
    for estimates, found in [(one, found) for one in shown for found in one.all_thresholds]:
        cells, title, chance = found.panel.cells, found.panel.title, found.along.probability
        goal = Goal(until, claims_about(estimates, found))
        history = records_of(estimates.diagram, title)
        first = next((one["first"] for one in history if "first" in one), diagram.sweep.replicates * len(cells))
        left = (until.ceiling * first - int(cells["trials"].sum())) // len(places)
        record, factor = record_of(found, goal, history, same, left)
        mine = frozenset(ids[np.isin(diagram.cells.code, cells.index)].tolist())
        between = [(of_cell[low], of_cell[high]) for low, high in steps_to_divide(found, goal, record)]
        record |= {"probability": chance, "first": first}
        panels.append(PanelInterim(mine, factor, max(left, 0), record, between, chance))
        words += [_words(found, goal, record)] if len(cells) else []
    return Interim(panels, words, outcomes_of(diagram))


def outcomes_of(diagram: Diagram) -> dict[str, bool]:
    """Return trial id -> whether the event occurred, for the finished trials that decide it."""
    values = diagram.quantity.values(diagram.frame)
    known = diagram.cells.finished & ~np.isnan(values)
    return dict(zip(diagram.frame["trial_id"][known], (values[known] == 1).tolist(), strict=True))


@dataclass(frozen=True)
class Goal:
    """The target of a threshold: a width of its interval, or a verdict on each of the `claims` about it."""

    until: Until
    claims: list[ThresholdClaim]

    def met(self, found: Threshold) -> bool:
        """Return whether the interval meets the target."""
        half = self.until.half
        if half is None:
            return all(decided(tests_of(found, claim.limits))[1] != "inconclusive" for claim in self.claims)
        return bool(_half(found.interval) <= half * (1 + 1e-9))

    def wanted(self, found: Threshold) -> float:
        """Return the factor by which the variance must fall to meet the target; infinite without an interval."""
        parts = [(inner, outer) for _, inner, outer in found.tested]
        if not all(inner.known and inner.bounded for inner, _ in parts):
            return np.inf
        if self.until.half is not None:
            return float((_half(found.interval) / self.until.half) ** 2)
        falls = [_falls(*part, *claim.limits) for claim in self.claims for part in parts]
        return max(falls, default=1.0)

    def allowed(self, found: Threshold) -> float:
        """Return the half width that meets the target: the given one, or one that would decide the claims."""
        wanted = float(np.sqrt(np.clip(self.wanted(found), 1.0, STEP**2)))
        return self.until.half or _half(found.interval) / wanted


def steps_to_divide(found: Threshold, goal: Goal, record: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """Return the steps of x inside which the next round adds a value, as the indices of their two cells.

    More trials cannot make a bracket by the cells shorter than a step, and a smooth curve may bend inside a wide step.
    record: see `record_of`.
    """
    by_cells = found.found is not None and found.found.curve is None
    if not goal.until.refine or record["known"] or not found.interval.bounded:
        return []
    reach = found.found.interval(found.level) if found.found else found.interval
    steps, most = list[tuple[Any, Any]](), (WIDEST if by_cells else CURVED) * goal.allowed(found) * (1 + 1e-9)
    for one in found.slices:
        order = np.argsort(one.places, kind="stable")
        places, index = one.places[order], one.panel.cells.index[order]
        low, high = places[:-1], places[1:]
        wide = (high > reach.low) & (low < reach.high) & (found.lengths(low, high) > most)
        steps += list(zip(index[:-1][wide], index[1:][wide], strict=True))
    return steps


def _half(interval: Interval) -> float:
    return (interval.high - interval.low) / 2


def _falls(inner: Interval, outer: Interval, least: float, most: float) -> float:
    """Return the factor by which the variance must fall until `inner` is inside the limits, or `outer` outside."""
    at, low, high = inner.estimate, inner.low, inner.high
    if least < at < most:
        return float(max((at - low) / (at - least), (high - at) / (most - at)) ** 2)
    reach, room = (outer.high - at, least - at) if at <= least else (at - outer.low, at - most)
    return float((reach / room) ** 2) if room > 0 else np.inf


def record_of(
    found: Threshold, goal: Goal, history: Sequence[Mapping[str, Any]], same: bool, left: int
) -> tuple[dict[str, Any], float]:
    """Return the record of a threshold for this round, and the factor by which its variance must fall next.

    history: its records of earlier rounds; same: the last is about this rule; left: trials it may get. The factor is
    1 if the target is met or trials cannot help. An interim analysis takes place after the first round, after a round
    that was large enough to meet the target, and at the ceiling.
    """
    trials = int(found.panel.cells["trials"].sum())
    before = history[-1] if history else None
    unchanged = before is not None and before["trials"] == trials and (before["left"] > 0 or left <= 0)
    if before is not None and same and (before["known"] or unchanged):
        # keep the earlier record: the target is met, or no trials were added because they cannot help or none are left
        return dict(before), 1.0
    tested = bool(before is None or before["aimed"] or left <= 0)
    tests = (before["tests"] if before else 0) + tested
    known = not len(found.panel.cells) or (tested and goal.met(found))
    wanted = 1.0 if known else SPARE * goal.wanted(replace(found, level=interim_level(tests + 1)))
    doubt = "monotone" if not found.monotone else "change" if found.changes and goal.until.half is not None else None
    # one in a hundred tests errs, so a round alone rejects neither assumption
    again = doubt if before and before.get("doubt") == doubt else None
    limit = again if doubt else "spacing" if not known and _is_limited_by_spacing(found, goal) else None
    ends = {name: float(getattr(found.interval, name)) for name in ("estimate", "low", "high")}
    record = {
        "title": found.panel.title,
        "trials": trials,
        "left": max(left, 0),
        "tests": tests,
        "level_of": tests if known or left <= 0 else tests + 1,
        "known": known,
        "aimed": not known and wanted <= STEP,
        **({"limit": limit} if limit else {}),
        **({"doubt": doubt} if doubt else {}),
        **{name: end if np.isfinite(end) else None for name, end in ends.items()},
    }
    return record, 1.0 if known or limit else float(np.clip(wanted, LEAST, STEP))


def _is_limited_by_spacing(found: Threshold, goal: Goal) -> bool:
    if found.found is None or found.found.curve is not None or goal.until.refine or not found.interval.bounded:
        return False
    inside = [
        found.lengths(low, high)
        for one in found.slices
        for low, high in pairwise(np.sort(one.places))
        if low <= found.found.estimate <= high
    ]
    return min(inside, default=0.0) / 2 > goal.allowed(found)


def _words(found: Threshold, goal: Goal, record: dict[str, Any]) -> str:
    """Describe a threshold after a round, with its trials and its target: a half width, or a verdict on the claims."""
    if goal.until.half is not None:
        wanted = f"half width {goal.until.half:g}"
    else:
        wanted = f"whether {' and '.join(map(stated_limits, goal.claims))}" if goal.claims else "nothing"
    most = record["trials"] + record["left"]
    trials = many(record["trials"], "trial") if record["known"] else f"{record['trials']} of at most {most} trials"
    return f"{Line.of(found).sentence}; {trials}; target: {wanted}{', met' if record['known'] else ''}"
