"""Status of a stored sweep: counts, the recent rate, the time left, and stale rows. Only reads the folder."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recovery.errors import ParameterError
from recovery.store import Grid, read
from recovery.store.folder import Folder
from recovery.store.grid import StoredRows
from recovery.store.row_schema import FAILURES
from recovery.text import printable
from recovery.user import user_names

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
WINDOW = timedelta(minutes=5)
"""A sweep runs if a trial began this short a time ago, and the recent rate is of trials since."""
MOST_ERRORS = 5
NUMBER = r"\d+(\.\d*)?([eE][-+]?\d+)?"
COLUMNS_READ = ("trial_id", "status", "seconds", "started_at", "error_type", "error_message", "made_by")


@dataclass(frozen=True)
class SweepStatus:
    """Status of a results folder.

    planned: all trials; of a sweep with a rule, those of the rounds planned so far. errors: (trials, error type,
    message, id of one trial), the most frequent first. rate: trials per second in the last minutes of work. last_row:
    when the newest stored trial began. round: the current round. own: whether trials run user code. left_out: rows that
    are not the sweep's, as text, '' if none. edited: number of stale rows, as text, '' if none. versions: the versions
    of the program that made the rows, as text, '' if only this one did.
    """

    path: str
    name: str
    planned: int
    stored: int
    statuses: dict[str, int]
    errors: list[tuple[int, str, str, str]]
    rate: float | None
    last_row: datetime | None
    round: int | None
    own: bool
    left_out: str
    edited: str
    versions: str

    @property
    def missing(self) -> int:
        return max(self.planned - self.stored, 0)  # files of rounds may be lost, or the number edited

    @property
    def failed(self) -> int:
        return sum(self.statuses.get(status, 0) for status in FAILURES)

    @property
    def idle(self) -> float | None:
        """The seconds since the last stored trial began, at least 0 if clocks differ."""
        return None if self.last_row is None else max((datetime.now(UTC) - self.last_row).total_seconds(), 0.0)

    @property
    def seconds_left(self) -> float | None:
        """The seconds that the missing trials take at the recent rate; None if the sweep does not run."""
        idle = self.idle
        return None if not self.rate or idle is None or idle > WINDOW.total_seconds() else self.missing / self.rate

    @property
    def document(self) -> dict[str, Any]:
        """The status as plain data."""
        return {**asdict(self), "missing": self.missing, "seconds_left": self.seconds_left}


def sweep_status(path: Path) -> SweepStatus:
    """Return the status of a results folder, without composing its trials. Raises `StoreError` and `ConfigError`."""
    grid = read(path, COLUMNS_READ)
    config, rows = grid.sweep["config"], grid.table
    rate = last = None
    if len(rows):
        # use lists of integers: to make arrays or Python's times, Arrow would import pandas, which is slow to import
        began = np.array(rows["started_at"].cast(pa.int64()).to_pylist())
        last = EPOCH + timedelta(microseconds=int(began.max()))
        late = began >= began.max() - WINDOW // timedelta(microseconds=1)
        longest = max(np.array([seconds or 0.0 for seconds in rows["seconds"].to_pylist()])[late].tolist())
        rate = int(late.sum()) / max(float(np.ptp(began[late])) * 1e-6, longest, 1e-6)
    planned, current = grid.sweep["trials"], None
    if config.get("sampling", {}).get("kind") == "until":
        first = grid.sweep["cells"] * config.get("replicates", 1)
        planned, current = (grid.rounds[-1]["trials"], grid.rounds[-1]["round"]) if grid.rounds else (first, 1)
    statuses = {pair["values"]: pair["counts"] for pair in pc.value_counts(rows["status"]).to_pylist()}
    return SweepStatus(
        path=str(path),
        name=grid.sweep["name"],
        planned=planned,
        stored=len(rows),
        statuses=statuses,
        errors=_errors(rows) if statuses.keys() & set(FAILURES) else [],
        rate=rate,
        last_row=last,
        round=current,
        own=any(user_names(config)),
        left_out=str(grid.left_out or ""),
        edited=stale_rows(grid),
        versions=grid.version_words(),
    )


def _errors(rows: pa.Table) -> list[tuple[int, str, str, str]]:
    """Return the most frequent errors as in `SweepStatus.errors`; messages that differ in numbers alone are one."""
    failed = rows.filter(pc.is_in(rows["status"], pa.array(FAILURES)))
    kinds = ["error_type", "error_message"]
    alike = pc.replace_substring_regex(failed["error_message"], NUMBER, "#")
    groups = failed.append_column("alike", alike).group_by(["error_type", "alike"], use_threads=False)
    counts = [("trial_id", "count"), ("error_message", "count_distinct")]
    groups = groups.aggregate([*counts, ("trial_id", "min"), ("error_message", "first")])
    several = pc.if_else(pc.greater(groups["error_message_count_distinct"], 1), " (or other numbers)", "")
    message = pc.binary_join_element_wise(groups["error_message_first"], several, "")
    groups = groups.append_column("error_message", message)
    groups = groups.sort_by([("trial_id_count", "descending"), ("trial_id_min", "ascending")])
    return [
        (row["trial_id_count"], *(printable(row[kind] or "") for kind in kinds), printable(row["trial_id_min"]))
        for row in groups[:MOST_ERRORS].to_pylist()
    ]


def stale_rows(grid: Grid) -> str:
    """Report as text how many rows are stale, or why this is unknown; '' if none are. User code is not imported."""
    document = grid.sweep["config"]
    if not any(user_names(document)):
        return ""
    # imported here, because recovery.config is slow to import and few sweeps have user code
    from recovery.config import from_document

    try:
        count = len(StoredRows(Folder(grid.path).trials).stale(from_document(document)))
    except ParameterError as error:
        return f"the user code cannot be compared with the code of the stored rows: {error}"
    return stale_words(count, "`recover sweep --rerun changed`") if count else ""


def stale_words(count: int, command: str) -> str:
    """Return the message about stale rows, with the command that runs their trials again."""
    return f"{count} stored rows are stale: the user code has changed since; {command} runs their trials again"
