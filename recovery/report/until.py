"""Adaptive sweeps (`--until`): the interim analyses that decide for each threshold when enough trials are stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from recovery.config import Until
from recovery.config.claims import ThresholdClaim
from recovery.report.claims.lines import Line
from recovery.report.claims.result import decided
from recovery.report.claims.threshold import stated_limits, tests_of
from recovery.report.diagram import Diagram
from recovery.report.statistics import Estimates, Threshold, at_level
from recovery.report.statistics.crossings import slices_of
from recovery.report.statistics.estimates import interim_level
from recovery.report.statistics.pooled import reach_of_scatter
from recovery.report.statistics.transition import numbers
from recovery.runner.rounds import Interim, PanelInterim
from recovery.store import read
from recovery.text import many
from recovery.theory.normal import normal_reach

STEP, POOLED_STEP = 4.0, 2.5
"""Largest factor by which a round lowers the variance, of a slice and of a pooled threshold: few trials, and the
scatter of few slices, do not show reliably how many are needed."""
SPARE, LEAST = 1.15, 1.3
"""A round lowers the variance by the factor `SPARE` more than necessary, and by at least `LEAST`."""
WIDEST = 0.5
"""Widest step of x at a threshold, in half widths of its interval."""
FEW = 5
"""Slices from which on the interval has their scatter, and what the steps of x hide on average."""
NEAR = 1.5
"""An interval at most this factor wider than the spacing allows gains little from further trials."""
MORE, NARROWER = 3.0, 0.9
"""With `MORE` times the trials, an interval must be narrower by the factor `NARROWER`, otherwise trials do not help.
With many slices, whose scatter is a rough estimate, the square of `MORE` applies."""


def interim_analysis(path: Path) -> Interim:
    """Evaluate the rule in `sampling` on the stored rows, for each threshold that is pooled or of a slice.

    Earlier rounds record how often the rule was tested.
    """
    grid = read(path)
    diagram = Diagram.of(grid, _event(grid.sweep["config"]))
    until = diagram.sweep.sampling
    assert isinstance(until, Until)
    stated = [one["until"] for one in grid.rounds if "until" in one]
    same = bool(stated) and (stated[-1]["rule"], stated[-1].get("refine", False)) == (until.rule, until.refine)
    ids = diagram.frame["trial_id"].to_numpy()
    of_cell = dict(
        zip(diagram.cells.code[diagram.frame["replicate"] == 0], ids[diagram.frame["replicate"] == 0], strict=True)
    )
    panels, words = [], []
    estimates = Estimates(diagram)
    for found in estimates.all_thresholds:
        cells = found.panel.cells
        goal = Goal(until, _claims(estimates, found))
        history = [panel for one in stated for panel in one["panels"] if panel["title"] == found.panel.title]
        first = next((one["first"] for one in history if "first" in one), diagram.sweep.replicates * len(cells))
        left = until.ceiling * first - int(cells["trials"].sum())
        record, factor = record_of(found, goal, history, same, left)
        mine = frozenset(ids[np.isin(diagram.cells.code, cells.index)].tolist())
        between = [(of_cell[low], of_cell[high]) for low, high in steps_to_divide(found, goal, record)]
        panels.append(PanelInterim(mine, factor, max(left, 0), {**record, "first": first}, between))
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
        and (claim.of, claim.what, claim.probability) == shown
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
            return all(decided(tests_of(found, claim.limits))[1] != "inconclusive" for claim in self.claims)
        return bool(_half(found) <= half * (1 + 1e-9))

    def wanted(self, found: Threshold) -> float:
        """Return the factor by which the variance must fall to meet the target; infinite without an interval."""
        given, half = found.interval, self.until.half
        if not np.isfinite([given.estimate, given.low, given.high]).all():
            return np.inf
        if half is not None:
            return float(((given.high - given.low) / 2 / half) ** 2)
        return max((_falls(found, *claim.limits) for claim in self.claims), default=1.0)

    def allowed(self, found: Threshold) -> float:
        """Return the half width that meets the target: the given one, or one that would decide the claims."""
        return self.until.half or _half(found) / float(np.sqrt(np.clip(self.wanted(found), 1.0, STEP**2)))


@dataclass(frozen=True)
class Spacing:
    """The steps between neighbouring x in the slices of a threshold; `half` is the half width they leave.

    steps: the indices of the two cells, the length, and the jump of the success fraction; distance: of the crossing
    from the step. scale: change of x per change of the threshold. few: the interval is made of those of the slices,
    which end at values of x.
    """

    steps: pd.DataFrame
    slices: int
    scale: float
    few: bool
    curve: bool

    @classmethod
    def of(cls, found: Threshold) -> "Spacing":
        pooled = {one.y for one in found.each} or {one.y for one in found.slices}
        all_parts = zip(slices_of(found.panel, found.along), found.slices, strict=True)
        parts, rows = [pair for pair in all_parts if pair[1].y in pooled], []
        x = [numbers(part.cells, found.along.x) for part, _ in parts]
        spans = [(np.ptp(at), np.ptp(found.along.values(part.cells))) for at, (part, _) in zip(x, parts, strict=True)]
        for (part, crossing), places in zip(parts, x, strict=True):
            order, at = np.argsort(places, kind="stable"), crossing.interval.estimate
            cells, low, high = part.cells.iloc[order], places[order][:-1], places[order][1:]
            # half a trial of each kind is added, so that a few trials that end alike do not count as a jump from 0 to 1
            share = (numbers(cells, "yes") + 0.5) / (numbers(cells, "yes") + numbers(cells, "no") + 1)
            ends = {"left": cells.index[:-1], "right": cells.index[1:], "jump": np.abs(np.diff(share))}
            distance = np.maximum(np.maximum(low - at, at - high), 0)
            rows.append(pd.DataFrame({**ends, "length": high - low, "distance": distance}))
        scale = np.mean([span / pooled for span, pooled in spans if pooled > 0])
        return cls(
            pd.concat(rows),
            len(parts),
            float(scale),
            len(found.each) < FEW,
            found.assumption == "curve",
        )

    @property
    def half(self) -> float:
        """The half width of the threshold's interval that very many trials would leave."""
        if self.curve:
            return 0.0
        here = self.steps[self.steps["distance"] == 0]
        if self.few:
            return float(np.sqrt((here["length"] ** 2).mean() / self.slices)) / 2 / self.scale
        return float((here["length"] * here["jump"] ** 3).mean()) / 2 / self.scale

    def wider_than(self, half: float) -> list[tuple[Any, Any]]:
        """Return the steps that are too wide for a half width, as the indices of their two cells.

        Errors of slices that are pooled average out, so their intervals and steps may be wider. What a step hides adds
        up, however, if the success fraction jumps there. With few slices, the steps near the ends of the interval of
        each slice count as well, because the interval is rounded to them.
        """
        averaged = self.slices**-0.5
        reach, share = (half / averaged, averaged) if self.few else (half, WIDEST * averaged)
        effect = self.steps["length"] * np.maximum(self.steps["jump"] ** 3, share)
        near = self.steps["distance"] < reach * self.scale
        wide = self.steps[near & (effect > WIDEST * half * self.scale * (1 + 1e-9))]
        return list(zip(wide["left"], wide["right"], strict=True))


def steps_to_divide(found: Threshold, goal: Goal, record: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """Return the steps of x inside which the next round adds a value, as the indices of their two cells.

    record: see `record_of`. Where trials do not help, the half width to which the steps are compared is halved.
    """
    if not goal.until.refine or record["known"] or not found.interval.known or found.assumption == "curve":
        return []
    return Spacing.of(found).wider_than(goal.allowed(found) / (1 + ("limit" in record)))


def _half(found: Threshold) -> float:
    return (found.interval.high - found.interval.low) / 2


def _falls(found: Threshold, least: float, most: float) -> float:
    """Return by which factor the variance must fall to put the interval inside the limits, or the outer one outside."""
    at, low, high = found.interval.estimate, found.interval.low, found.interval.high
    lower, higher = found.outer_interval.low, found.outer_interval.high
    if least < at < most:
        return float(max((at - low) / (at - least), (high - at) / (most - at)) ** 2)
    reach, room = (higher - at, least - at) if at <= least else (at - lower, at - most)
    return float((reach / room) ** 2) if room > 0 else np.inf


def record_of(
    found: Threshold, goal: Goal, history: Sequence[Mapping[str, Any]], same: bool, left: int
) -> tuple[dict[str, Any], float]:
    """Return the record of a threshold for this round, and the factor by which its variance must fall next.

    history: its records of the earlier rounds; same: the last of them is about this rule. The factor is 1 for a
    threshold that gets no more trials. An interim analysis takes place after the first round, after a round that was
    large enough to meet the target, and at the ceiling.
    """
    trials = int(found.panel.cells["trials"].sum())
    before = history[-1] if history else None
    if (
        before is not None
        and same
        and (before["known"] or (before["trials"] == trials and (before["left"] > 0 or left <= 0)))
    ):
        # keep the earlier record: the target is met, or no trials were added because they cannot help or none are left
        return dict(before), 1.0
    tested = bool(before is None or before["aimed"] or left <= 0)
    tests = (before["tests"] if before else 0) + tested
    known = not len(found.panel.cells) or (tested and goal.met(found))
    wanted = 1.0 if known else SPARE * goal.wanted(at_level(found, interim_level(tests + 1)))
    limit, step = None if known else _limit(found, goal, history), STEP if found.along.pool is None else POOLED_STEP
    record = {
        "title": found.panel.title,
        "trials": trials,
        "left": max(left, 0),
        "tests": tests,
        "level_of": tests if known or left <= 0 else tests + 1,
        "known": known,
        "aimed": not known and wanted <= step,
        **({"limit": limit} if limit else {}),
        **{name: _number(getattr(found.interval, name)) for name in ("estimate", "low", "high")},
    }
    return record, 1.0 if known or limit else float(np.clip(wanted, LEAST, step))


def _limit(found: Threshold, goal: Goal, history: Sequence[Mapping[str, Any]]) -> str | None:
    """Return what limits the interval if more trials do not help: `spacing` of the grid or `scatter` of the slices.

    The scatter falls with the trials unless the slices differ. The earlier rounds show whether it still does, and a
    test shows whether the trials explain it. (Trials of one slice may be correlated, so the test is not enough.)
    """
    if not np.isfinite(_half(found)):
        return None
    spacing, trials = Spacing.of(found), found.panel.cells["trials"].sum()
    if goal.allowed(found) < spacing.half and _half(found) <= NEAR * spacing.half:
        return "spacing"
    more = MORE if spacing.few else MORE**2
    then = [_deviation(one) for one in history if one["low"] is not None and more * one["trials"] <= trials]
    if not then or _half(found) / normal_reach(found.interval.level) < NARROWER * then[-1]:
        return None
    # the interval of a slice whose crossing is at a grid value spans at least two steps, so up to twice the half width
    # of the spacing counts as limited by the spacing
    if spacing.few:
        return "spacing" if _half(found) <= 2 * spacing.half * (1 + 1e-9) else None
    return "scatter" if goal.allowed(found) < spacing.half + reach_of_scatter(found) else None


def _deviation(record: Mapping[str, Any]) -> float:
    """Return half the interval of a record in units of its level's normal quantile."""
    high = np.inf if record["high"] is None else record["high"]
    return float(high - record["low"]) / 2 / normal_reach(interim_level(record["level_of"]))


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _words(found: Threshold, goal: Goal, record: dict[str, Any]) -> str:
    """Describe a threshold after a round.

    For example, `n/d at 50 % = 2.010, 1.930 to 2.090 (99.5 %); 3400 of at most 40000 trials; target: half width 0.05`.
    Without a half width, the target is a verdict on the claims.

    record: see `record_of`.
    """
    if goal.until.half is not None:
        wanted = f"half width {goal.until.half:g}"
    else:
        wanted = f"whether {' and '.join(map(stated_limits, goal.claims))}" if goal.claims else "nothing"
    most = record["trials"] + record["left"]
    trials = many(record["trials"], "trial") if record["known"] else f"{record['trials']} of at most {most} trials"
    return f"{Line.of(found).sentence}; {trials}; target: {wanted}{', met' if record['known'] else ''}"
