"""Failures that are one: where every trial of a method fails alike, running the others tells nothing more."""

from collections import Counter

from recovery.config import Trial
from recovery.runner.trial import TRACEBACK, Row

MOST_EQUAL = 50


class Failures:
    """Counts the failed trials of one run by method, type of error and place; `most` 0 never gives up."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._measured: set[str] = set()
        self._shown: set[frozenset[str]] = set()

    def add(self, trial: Trial, row: Row) -> str | None:
        """Why to stop, if this is one failure too many: so many of a method, all alike, and none measured."""
        method = str(trial.cell.coordinates["method"])
        if row["status"] == "ok":
            self._measured.add(method)
        if row["status"] != "failed":
            return None
        kind = (method, row["error_type"], _place(row))
        self._counts[kind] += 1
        if self._counts[kind] != self._most or method in self._measured:
            return None
        return f"{self._most} trials of {method} failed alike and none was measured ({': '.join(_said(row))})"

    def first(self, trial: Trial, row: Row) -> str | None:
        """The traceback of the first failed trial of each choice of the user's code; else None."""
        if row["status"] != "failed" or not trial.cell.own or trial.cell.own in self._shown:
            return None
        self._shown.add(trial.cell.own)
        return "\n  ".join([f"trial {trial.id} failed: {': '.join(_said(row))}", *row.get(TRACEBACK, "").splitlines()])


def _said(row: Row) -> list[str]:
    return [part for part in (row["error_type"], row["error_message"]) if part]


def _place(row: Row) -> str:
    return str(row.get(TRACEBACK, "")).rpartition("\n")[2]
