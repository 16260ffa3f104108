"""How a stored sweep stands: counts, the rate of late, and the time that is left. Reads only."""

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from recovery.config import from_document
from recovery.runner.batches import cost
from recovery.runner.rounds import next_round
from recovery.store import read
from recovery.store.rounds import counts
from recovery.store.schema import FAILURES

WINDOW = timedelta(minutes=5)
MOST_ERRORS = 5


@dataclass(frozen=True)
class Standing:
    """Counts of a results folder. `rate` is trials a second in the last minutes of work.

    Of a boundary sweep, `planned` has the rounds to come; `round` is the one under way, and `round_missing` how many
    trials it and those before it still lack.
    """

    path: str
    name: str
    planned: int
    stored: int
    statuses: dict[str, int]
    errors: list[tuple[int, str, str, str]]
    """(trials, error type, message, one trial's id), the most frequent first"""
    rate: float | None
    seconds_left: float | None
    last_row: datetime | None
    round: int | None
    round_missing: int

    @property
    def missing(self) -> int:
        return self.planned - self.stored


def standing(path: Path) -> Standing:
    """Count what is stored of what is planned. Raises `StoreError`."""
    grid = read(path)
    sweep = from_document(grid.sweep["config"])
    planned = {trial.id: cost(trial) for trial in sweep.trials(counts(grid.rounds))}
    coming = next_round(sweep, grid.rounds, len(planned))
    later = sweep.size - len(planned) if coming else 0
    rows = grid.table.select(["trial_id", "status", "seconds", "started_at", "error_type", "error_message"]).to_pylist()
    rows = [row for row in rows if row["trial_id"] in planned]
    stored = {row["trial_id"] for row in rows}
    last = max((row["started_at"] for row in rows), default=None)
    recent = [row for row in rows if last is not None and row["started_at"] >= last - WINDOW]
    rate = seconds_left = None
    if recent and last is not None:
        span = max((last - min(row["started_at"] for row in recent)).total_seconds(), *(r["seconds"] for r in recent))
        rate = len(recent) / max(span, 1e-6)
        worked = sum(planned[row["trial_id"]] for row in recent)
        work = sum(cost for trial, cost in planned.items() if trial not in stored)
        seconds_left = (work + later * sum(planned.values()) / len(planned)) * span / worked
    return Standing(
        path=str(path),
        name=grid.sweep["name"],
        planned=len(planned) + later,
        stored=len(rows),
        statuses=dict(Counter(row["status"] for row in rows)),
        errors=_errors(rows),
        rate=rate,
        seconds_left=seconds_left,
        last_row=last,
        round=coming[0] - 1 if coming else grid.rounds[-1]["round"] if grid.rounds else None,
        round_missing=len(planned) - len(rows),
    )


def _errors(rows: list[dict[str, str]]) -> list[tuple[int, str, str, str]]:
    failed = [row for row in rows if row["status"] in FAILURES]
    counts = Counter((row["error_type"], row["error_message"]) for row in failed)
    example = {(row["error_type"], row["error_message"]): row["trial_id"] for row in failed}
    return [(count, *kind, example[kind]) for kind, count in counts.most_common(MOST_ERRORS)]


def age(moment: datetime) -> float:
    """Seconds since then; never negative, whatever the clocks did."""
    return max((datetime.now(UTC) - moment).total_seconds(), 0.0)
