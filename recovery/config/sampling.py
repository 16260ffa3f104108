"""Allocation of trials to grid cells: uniform, or adaptive until a stopping rule is met.

Sampling that no trial of a config can end is refused before anything runs.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, sqrt
from statistics import median
from typing import Annotated, Any

from annotated_types import Ge
from pydantic import Field

from recovery.config.claims import Claim, ThresholdClaim
from recovery.config.header import Header, ReportSpec
from recovery.config.names import column_of
from recovery.config.slicing import Slicing
from recovery.config.tree import Tree
from recovery.config.trials import MOST_TRIALS, Cell
from recovery.errors import ParameterError
from recovery.methods.columns import Columns
from recovery.text import choices, did_you_mean


@dataclass(frozen=True)
class Even:
    """Every cell gets `replicates` trials."""


RULE = re.compile(r"(?:(threshold|width) *(?:\+-|\+/-|\xb1) *(\d*\.?\d+(?:[eE][+-]?\d+)?)|decided) *")
DECIDED = 50
"""Ceiling of the rule `decided`: no width says beforehand how many trials a verdict takes."""
PLENTY = 2.5
"""Trials of a threshold by the rule's ceiling, per squared ratio of the range of x in a slice to the half width: about
four times those of a logistic transition over half of the range."""


@dataclass(frozen=True)
class Until:
    """The first round has `replicates` trials of each cell; more follow near the boundary until the `rule` is met.

    rule: `threshold +-0.05` stops when the interval of each threshold, pooled or of a slice, has a half-width of at
    most 0.05; `width +-0.05` when the interval of each distance from the 25 % to the 75 % threshold has; `decided` when
    each claim about thresholds is supported or contradicted. ceiling: each panel or slice is capped at this many times
    the trials of its first round; 0 until `load` derives it from the rule. refine: add values of x to the axis where
    its spacing limits the width of an interval.
    """

    rule: Annotated[
        str, Field(pattern=f"^{RULE.pattern}$", description="'threshold +-NUMBER', 'width +-NUMBER' or 'decided'")
    ]
    ceiling: Annotated[int, Ge(2)] = 0
    refine: bool = False

    def __post_init__(self) -> None:
        if self.half == 0:
            raise ParameterError(f"found {self.rule!r}; allowed: half a width above 0")

    @property
    def half(self) -> float | None:
        """The half-width that the interval of each threshold may have; None for the rule `decided`.

        A width is the distance of two thresholds, so the intervals of these must be shorter by the square root of two.
        """
        found = RULE.fullmatch(self.rule)
        return float(found[2]) / sqrt(len(self.quarters) or 1) if found and found[2] else None

    @property
    def quarters(self) -> tuple[float, ...]:
        """The probabilities whose thresholds bound a width; empty for the other rules, about the report's threshold."""
        return (0.25, 0.75) if self.rule.startswith("width") else ()

    def ceiling_for(self, cells: Sequence[Cell], slicing: Slicing, replicates: int) -> int:
        """Return the ceiling; if none is given, the trials that the rule may take over those of the first round."""
        if self.ceiling or self.half is None:
            return self.ceiling or DECIDED
        slices = slicing.groups(cells)
        panels = {slicing.key(cell.coordinates, slicing.by) for cell in cells} if slicing.pool else slices
        values = [[slicing.value(cell.coordinates, slicing.what) for cell in mine] for mine in slices.values()]
        first, reach = replicates * len(cells), median(max(some) - min(some) for some in values)
        most = ceil(PLENTY * (reach / self.half) ** 2 * len(panels) / first)
        return max(2, min(most, MOST_TRIALS // first))


Sampling = Even | Until

WITH_UNTIL = "with sampling: {kind: until}"

SAMPLINGS: dict[str, type[Any]] = {"uniform": Even, "until": Until}


@dataclass(frozen=True)
class Sections(Header):
    """The keys of a config that are neither science fields nor axes."""

    sampling: Sampling = field(kw_only=True)
    claims: tuple[Claim, ...] = field(kw_only=True)
    report: ReportSpec = field(kw_only=True)


def report_endless(tree: Tree, sections: Sections, slicing: Slicing, cells: Sequence[Cell], columns: Columns) -> None:
    """Add to the tree's problems those of the sampling: too many trials, or a rule that can never be met.

    Adaptive sampling needs an event and several numbers along x in some slice; the rule `decided` needs a claim about
    the threshold.
    """
    until, report, trials = sections.sampling, sections.report, len(cells) * sections.replicates
    ceiling = until.ceiling if isinstance(until, Until) and trials <= MOST_TRIALS else 0
    if (most := trials * (ceiling or 1)) > MOST_TRIALS:
        text = f"{most} trials; at most {MOST_TRIALS} are allowed: lower it, or split the sweep"
        tree.report(("sampling", "ceiling") if ceiling else ("replicates",), text)
    if isinstance(until, Even):
        return
    x, event = slicing.x, report.event
    numbers = [name for name, column in columns.items() if column.kind in (bool, int, float)]
    truths = [name for name in numbers if columns[name].kind is bool]
    if event not in truths and ("<" not in event or column_of(event) not in numbers):
        text = f"found {event!r}; allowed {WITH_UNTIL}: {choices([*truths, 'COLUMN<=NUMBER'])}"
        tree.report(("report", "value"), text + did_you_mean(event, truths))
    if slicing.moving is None:
        text = f"found a threshold along {x}, which has one value here; allowed {WITH_UNTIL}"
        tree.report(("report", "x"), f"{text}: an axis of several numbers, such as `delta` with `n: delta * d`")
    values = (cell.coordinates[x] for cell in cells if x in cell.coordinates)
    if words := [value for value in values if isinstance(value, bool | str | None)]:
        text = f"found {x!r}, which has the value {words[0]}; allowed {WITH_UNTIL}: numbers"
        tree.report(("report", "x"), text)
    stated = [claim for claim in sections.claims if isinstance(claim, ThresholdClaim)]
    wanted = (event, report.probability, slicing.what)
    if until.half is None and wanted not in [claim.key for claim in stated]:
        known = choices([f"{claim.of} along {claim.what}" for claim in stated])
        key = "ratio" if slicing.what == "n/d" else "along"
        text = f"{{kind: threshold, of: {event}, {key}: {slicing.what}, ...}}"
        found = f"thresholds of {known}" if stated else "no threshold"
        tree.report(("claims",), f"found {found}; allowed with --until decided: {text}, of what the report shows")
