"""How a stored sweep stands: counts, the rate of late, and the time that is left. Reads only."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recovery.errors import ParameterError
from recovery.store import Grid, read
from recovery.store.folder import Folder
from recovery.store.row_schema import FAILURES
from recovery.text import printable
from recovery.types import Array
from recovery.user import fingerprints, user_names

WINDOW = timedelta(minutes=5)
MICROSECOND = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOST_ERRORS = 5
LOOKED_AT = ("trial_id", "status", "seconds", "started_at", "error_type", "error_message", "recorded")
MOST_MODULES = 8
"""Of a sweep whose stored code is compared with today's: any choice of them may be what a trial ran."""


@dataclass(frozen=True)
class SweepStatus:
    """Counts of a results folder. `rate` is trials a second in the last minutes of work.

    Of a boundary sweep, `planned` has the rounds to come, unless a rule ends them; `round` is the one under way, and
    `round_missing` how many trials it and those before it still lack.
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
    own: bool
    """Whether trials run code of the user's."""
    left_out: str
    """Where rows are that are not the sweep's and do not count, and how many; '' where there are none."""
    edited: str
    """How many rows ran other code of the user's than there is now; '' where none did."""

    @property
    def missing(self) -> int:
        return self.planned - self.stored


def sweep_status(path: Path) -> SweepStatus:
    """Count what is stored of what is planned, without composing the trials. Raises `StoreError` and `ConfigError`."""
    grid = read(path, LOOKED_AT)
    planned, coming, open_ended = _planned(grid)
    total = grid.sweep["trials"] if not open_ended and (coming or not grid.rounds) else planned
    rows = _with_records(grid)
    stored = len(rows)
    rate = last = None
    if stored:
        began = _numbers(rows["started_at"].cast(pa.int64()))
        last = EPOCH + int(began.max()) * MICROSECOND
        late = began >= began.max() - WINDOW // MICROSECOND
        span = max(float(np.ptp(began[late])) * 1e-6, float(_numbers(rows["seconds"])[late].max()))
        rate = int(late.sum()) / max(span, 1e-6)
    statuses = {pair["values"]: pair["counts"] for pair in pc.value_counts(rows["status"]).to_pylist()}
    return SweepStatus(
        path=str(path),
        name=grid.sweep["name"],
        planned=total,
        stored=stored,
        statuses=statuses,
        errors=_errors(rows) if statuses.keys() & set(FAILURES) else [],
        rate=rate,
        seconds_left=None if rate is None else (total - stored) / rate,
        last_row=last,
        round=coming[0] - 1 if coming else grid.rounds[-1]["round"] if grid.rounds else None,
        round_missing=planned - stored,
        own=bool(own_names(grid.sweep["config"])),
        left_out=str(grid.left_out or ""),
        edited=edited(grid),
    )


def _numbers(column: pa.ChunkedArray) -> Array:
    """The numbers of a column, 0 for null. Arrow's own ways there import pandas, which takes as long as all else."""
    filled = pc.coalesce(column, pc.xor(pc.is_null(column), pc.is_null(column)).cast(column.type))
    return np.concatenate([np.from_dlpack(chunk) for chunk in filled.chunks])


def _with_records(grid: Grid) -> pa.Table:
    """The rows without those whose record is no longer there: their trials run again."""
    rows = grid.table
    if "recorded" not in rows.column_names:
        return rows
    recorded = rows.filter(pc.is_valid(rows["recorded"]))["trial_id"].to_pylist()
    lost = Folder(grid.path).without_record(recorded)
    return rows.filter(pc.invert(pc.is_in(rows["trial_id"], pa.array(sorted(lost), pa.string())))) if lost else rows


def _planned(grid: Grid) -> tuple[int, tuple[int, int] | None, bool]:
    """The trials that are planned so far, the number and size of the round after them, and whether a rule ends them."""
    config = grid.sweep["config"]
    if "sampling" not in config or not (grid.rounds or "cells" in grid.sweep):
        return grid.sweep["trials"], None, False
    from recovery.config import Until, from_document  # these take longer than all else, and few sweeps have rounds
    from recovery.runner.rounds import next_round

    sweep = from_document(config)
    first = grid.sweep["cells"] * sweep.replicates
    planned = grid.rounds[-1]["trials"] if grid.rounds else first
    return planned, next_round(sweep.sampling, first, grid.rounds, planned), isinstance(sweep.sampling, Until)


def _errors(rows: pa.Table) -> list[tuple[int, str, str, str]]:
    failed = rows.filter(pc.is_in(rows["status"], pa.array(FAILURES)))
    kinds = ["error_type", "error_message"]
    kinds_of_error = failed.group_by(kinds).aggregate([("trial_id", "count"), ("trial_id", "min")])
    kinds_of_error = kinds_of_error.sort_by([("trial_id_count", "descending"), ("trial_id_min", "ascending")])[
        :MOST_ERRORS
    ]
    return [
        (row["trial_id_count"], *(printable(row[kind] or "") for kind in kinds), printable(row["trial_id_min"]))
        for row in kinds_of_error.to_pylist()
    ]


def age(moment: datetime) -> float:
    """Seconds since then; never negative, whatever the clocks did."""
    return max((datetime.now(UTC) - moment).total_seconds(), 0.0)


def own_names(document: Mapping[str, Any]) -> set[str]:
    """The user's code that a stored document names, as `module:NAME`."""
    if not any(user_names(document)):
        return set()
    from recovery.config import own_code  # takes longer than all else that `status` does

    return own_code(dict(document))


def edited(grid: Grid) -> str:
    """How many stored trials ran other code of the user's than its files hold now, in words; '' where none did.

    Nothing is imported. Code of a notebook is stored with the sweep, and is not compared.
    """
    document = grid.sweep["config"]
    names = own_names(document)
    if not names or document.get("code") or len({name.partition(":")[0] for name in names}) > MOST_MODULES:
        return ""
    try:
        codes = fingerprints(names, [Path(document.get("folder", ".")), Path.cwd()])
    except ParameterError as error:
        return f"whether its own code was edited is not known here: {error}"
    count = len(Folder(grid.path).of_other_code(codes))
    words = (
        f"{count} stored trials ran other code of yours than there is now; `recover sweep --rerun-changed` runs them"
    )
    return f"{words} again" if count else ""
