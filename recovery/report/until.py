"""Adaptive sweeps (`--until`): the interim analyses that decide for each threshold when enough trials are stored."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recovery.config import Until
from recovery.config.claims import ThresholdClaim
from recovery.report.claims.sentences import at, unknown_words
from recovery.report.claims.threshold import judge_panel, stated_limits
from recovery.report.diagram import Diagram
from recovery.report.statistics import Estimates, Threshold, at_level
from recovery.report.statistics.estimates import interim_level
from recovery.runner.rounds import Interim, PanelInterim
from recovery.store import read
from recovery.text import many

STEP = 4.0
"""Largest factor by which a round lowers the variance: few trials do not show reliably how many are needed."""
SPARE, LEAST = 1.15, 1.3
"""A round lowers the variance by the factor `SPARE` more than necessary, and by at least `LEAST`."""


def interim_analysis(path: Path) -> Interim:
    """Evaluate the rule in `sampling` on the stored rows; earlier rounds record how often it was tested.

    It is evaluated for the threshold of each panel, or of each slice if slices are not pooled.
    """
    grid = read(path)
    diagram = Diagram.of(grid, _event(grid.sweep["config"]))
    until = diagram.sweep.sampling
    assert isinstance(until, Until)
    last = grid.rounds[-1].get("until", {}) if grid.rounds else {}
    before = {panel["title"]: panel for panel in last.get("panels", [])}
    same = last.get("rule") == until.rule
    ids = diagram.frame["trial_id"].to_numpy()
    panels, words = [], []
    estimates = Estimates(diagram)
    for found in estimates.all_thresholds:
        cells = found.panel.cells
        goal = Goal(until, _claims(estimates, found))
        left = until.ceiling * diagram.sweep.replicates * len(cells) - int(cells["trials"].sum())
        record, factor = record_of(found, goal, before.get(found.panel.title), same, left)
        mine = frozenset(ids[np.isin(diagram.cells.code, cells.index)].tolist())
        panels.append(PanelInterim(mine, factor, max(left, 0), record))
        if len(cells):
            words.append(_words(found, goal, record))
    return Interim(panels, words)


def _event(config: dict[str, Any]) -> str:
    value = config.get("report", {}).get("value") or "recovered"
    return str(value if isinstance(value, str) else value[0])


def _claims(estimates: Estimates, found: Threshold) -> list[ThresholdClaim]:
    """Return the claims of the config about this threshold."""
    diagram = estimates.diagram
    shown = (str(diagram.quantity), found.along.what, diagram.probability)
    return [
        claim
        for claim in diagram.sweep.claims
        if isinstance(claim, ThresholdClaim)
        and (claim.of, claim.what, claim.probability or diagram.probability) == shown
        and diagram.matching([found.panel], claim.where)
    ]


@dataclass(frozen=True)
class Goal:
    """The target of a threshold: a width of the interval, or a verdict on each of these claims."""

    until: Until
    claims: list[ThresholdClaim]

    def met(self, found: Threshold) -> bool:
        """Return whether the interval meets the target."""
        half = self.until.half
        if half is None:
            return all(judge_panel(found, *claim.limits)[1] != "inconclusive" for claim in self.claims)
        return bool((found.interval.high - found.interval.low) / 2 <= half)

    def wanted(self, found: Threshold) -> float:
        """Return the factor by which the variance must fall to meet the target; infinite without an interval."""
        given, half = found.interval, self.until.half
        if not np.isfinite([given.estimate, given.low, given.high]).all():
            return np.inf
        if half is not None:
            return float(((given.high - given.low) / 2 / half) ** 2)
        return max((_falls(found, *claim.limits) for claim in self.claims), default=1.0)


def _falls(found: Threshold, least: float, most: float) -> float:
    """Return the factor of variance that puts the interval inside the limits, or the outer interval outside."""
    at, low, high = found.interval.estimate, found.interval.low, found.interval.high
    lower, higher = found.outer_interval.low, found.outer_interval.high
    if least < at < most:
        return float(max((at - low) / (at - least), (high - at) / (most - at)) ** 2)
    reach, room = (higher - at, least - at) if at <= least else (at - lower, at - most)
    return float((reach / room) ** 2) if room > 0 else np.inf


def record_of(
    found: Threshold, goal: Goal, before: dict[str, Any] | None, same: bool, left: int
) -> tuple[dict[str, Any], float]:
    """Return the record of a threshold for this round, and the factor by which its variance must fall next.

    The factor is 1 for a threshold that gets no more trials. An interim analysis takes place after the first round,
    after a round that was large enough to meet the target, and at the ceiling.
    """
    trials = int(found.panel.cells["trials"].sum())
    if (
        before is not None
        and same
        and (before["known"] or (before["trials"] == trials and (before["left"] > 0 or left <= 0)))
    ):
        return before, 1.0  # the target is met, or further trials cannot meet it
    tested = bool(before is None or before["aimed"] or left <= 0)
    tests = (before["tests"] if before else 0) + tested
    known = not len(found.panel.cells) or (tested and goal.met(found))
    wanted = 1.0 if known else SPARE * goal.wanted(at_level(found, interim_level(tests + 1)))
    most = 1.0 if known or found.at_floor else float(np.clip(wanted, LEAST, STEP))
    record = {
        "title": found.panel.title,
        "trials": trials,
        "left": max(left, 0),
        "tests": tests,
        "level_of": tests if known or left <= 0 else tests + 1,
        "known": known,
        "aimed": not known and wanted <= STEP,
        **{name: _number(getattr(found.interval, name)) for name in ("estimate", "low", "high")},
    }
    return record, most


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _words(found: Threshold, goal: Goal, record: dict[str, Any]) -> str:
    """Describe a threshold after a round.

    For example, `n/d = 2.010 (99.5 % interval 1.930 to 2.090); 3400 of at most 40000 trials; target: half width 0.05`.
    Without an estimate, the reason is given; without a half width, the target is a verdict on the claims.

    record: see `record_of`.
    """
    title = f"{found.panel.title}: " if found.panel.title else ""
    text = at(found) if found.interval.known else unknown_words(found, found.along.percent)
    if goal.until.half is not None:
        wanted = f"half width {goal.until.half:g}"
    else:
        wanted = f"whether {' and '.join(map(stated_limits, goal.claims))}" if goal.claims else "nothing"
    most = record["trials"] + record["left"]
    trials = many(record["trials"], "trial") if record["known"] else f"{record['trials']} of at most {most} trials"
    return f"{title}{text}; {trials}; target: {wanted}{', met' if record['known'] else ''}"
