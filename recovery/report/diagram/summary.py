"""A diagram in one paragraph: its trials, and what an adaptive sweep did with them."""

from collections.abc import Mapping
from typing import Any

from recovery.methods.method import METHODS
from recovery.report.diagram.diagram import Diagram
from recovery.report.diagram.grid_cells import unknown
from recovery.report.diagram.vocabulary import fraction_words
from recovery.text import command_text, many


def summary(diagram: Diagram) -> str:
    """Return in one line how many trials finished, failed, are missing, undecided or unmeasured, and the rounds."""
    totals, rounds, table = diagram.totals, diagram.grid.rounds, diagram.table
    rule = rounds[-1].get("until", {}) if rounds else {}
    parts = [f"{many(totals['trials'], 'trial')} in {many(len(table), 'cell')}", f"{totals['ok']} finished"]
    parts += [f"{totals[name]} {name}" for name in ("failed", "missing", "undecided", "unmeasured") if totals[name]]
    if diagram.proportion:
        yes, no = int(table["yes"].sum()), int(table["no"].sum())
        parts.append(f"{diagram.quantity.label}: {fraction_words(yes, yes + no, unknown(totals))}")
    if rounds:
        # if the rule has ended the sweep, the last record placed no trials and is not counted as a round
        count = rounds[-1]["round"] - bool(rule.get("ended"))
        least, most = table["trials"].min(), table["trials"].max()
        placed = f"placed by outcome in {many(count, 'round')}: {least} to {most} a cell"
        parts.append(f"{placed}, most where {rounds[-1]['value']} is in doubt along {diagram.along.x}")
    return ", ".join(parts) + (_tests(rule) if rule else "") + _unmeasured(diagram)


def _unmeasured(diagram: Diagram) -> str:
    """Return a sentence on trials that did not measure the value, with the command that does; empty without one."""
    count, column = diagram.totals["unmeasured"], diagram.quantity.column
    kinds = {str(method).partition(" ")[0] for method in diagram.frame["method"].unique()} if count else ()
    if not any(column in getattr(METHODS[kind], "on_demand", ()) for kind in kinds if kind in METHODS):
        return ""
    command = command_text("sweep", diagram.grid.path, "--measure", column)
    return f". {many(count, 'trial')} did not measure {column}, which may have any value there: `{command}` does"


def _tests(rule: Mapping[str, Any]) -> str:
    """Return a sentence on the interim analyses of an adaptive sweep. rule: its state, as the last round records it."""
    panels = rule["panels"]
    end = "met" if all(panel["known"] for panel in panels) else "not met" if rule["ended"] else "open"
    tests = many(max(panel["tests"] for panel in panels), "test")
    return f". '{rule['rule']}' is {end} after {tests}; the level of each interval allows for that"
