"""The level of an interval that a sweep looks at several times, to go on until it tells enough.

Stopping at the first interval that suits would miss more often than its level says. So the k-th test of a panel has an
error of its own, and the errors sum to 0.05: the interval at which a sweep stops covers 95 % of the time, whatever the
tests share (Bonferroni; spending as Lan and DeMets 1983, without an end to the tests). When to test next is chosen from
the width so far, before the trials of that test are drawn.
"""

from recovery.config import Until
from recovery.interval import LEVEL
from recovery.report.diagram import Diagram

FIRST = 0.1
"""Of the whole error, what the test after the first round takes: few sweeps know enough then."""


def level_of(test: int) -> float:
    """Of the first, second, ... test: errors 0.005, 0.0225, 0.01125, ..., each half of the one before."""
    return 1 - (1 - LEVEL) * (FIRST if test == 1 else (1 - FIRST) / 2 ** (test - 1))


def levels(diagram: Diagram) -> list[float]:
    """Of each panel: of the test at which it was known, of the last one, or of the one to come; 95 % without tests."""
    looked = diagram.grid.rounds[-1].get("until") if diagram.grid.rounds else None
    if looked is None and not isinstance(diagram.sweep.sampling, Until):
        return [LEVEL] * len(diagram.panels)
    known = {panel["title"]: panel for panel in looked["panels"]} if looked else {}
    return [level_of(known[panel.title]["level_of"] if panel.title in known else 1) for panel in diagram.panels]
