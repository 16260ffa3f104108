"""Rows on their way to disk: joined to their coordinates, and written as a part every couple of seconds."""

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any

import pyarrow as pa

from recovery.config import Sweep, Trial
from recovery.errors import StoreError
from recovery.runner.trial import TRAJECTORY, Row
from recovery.store.folder import Folder
from recovery.store.parts import PROVENANCE
from recovery.store.row_schema import coordinate_types, row_schema

FIRST_PAUSE, LONGEST_PAUSE = 0.25, 2.0
"""Seconds between parts: short at first, so that a run that is killed early has stored something."""


class Recorder:
    """While entered, a thread of its own stores what `add` was given, however long the next row takes.

    `content`: what sweep.json holds; every part carries it. If rows cannot be stored, `on_failure` hears why at once.
    """

    def __init__(
        self, folder: Folder, sweep: Sweep, content: Mapping[str, Any], on_failure: Callable[[str], None]
    ) -> None:
        self._folder = folder
        self._sweep = sweep
        self._on_failure = on_failure
        types = coordinate_types({name: column.distinct for name, column in sweep.cells.coordinates.items()})
        made = {**{key: value for key, value in content.items() if key != "provenance"}, **content["provenance"]}
        self.schema = row_schema(types, sweep.columns).with_metadata({PROVENANCE: json.dumps([made])})
        self._rows: list[tuple[Trial, Row]] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._store_regularly, daemon=True)
        self._failed: StoreError | None = None

    def __enter__(self) -> "Recorder":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._closing.set()
        self._thread.join()
        self._raise_failed()
        self._flush()

    def add(self, rows: Iterable[tuple[Trial, Row]]) -> None:
        """Take rows over. Raises `StoreError` if storing earlier ones failed."""
        self._raise_failed()
        with self._lock:
            self._rows.extend(rows)

    def _store_regularly(self) -> None:
        pause = FIRST_PAUSE
        while not self._closing.wait(pause):
            try:
                self._flush()
            except BaseException as error:
                self._failed = error if isinstance(error, StoreError) else StoreError(f"rows cannot be stored: {error}")
                self._on_failure(str(self._failed))
                return
            pause = min(2 * pause, LONGEST_PAUSE)

    def _flush(self) -> None:
        with self._lock:
            rows, self._rows = self._rows, []
        if rows:
            # first, so that a stored row has its record
            self._folder.write_trajectories((row["trial_id"], row[TRAJECTORY]) for _, row in rows if TRAJECTORY in row)
            self._folder.write(self._table(rows))

    def _table(self, rows: list[tuple[Trial, Row]]) -> pa.Table:
        full = [
            {"sweep": self._sweep.name, "replicate": trial.replicate, **trial.cell.coordinates, **row}
            for trial, row in rows
        ]
        columns = [pa.array([row.get(field.name) for row in full], field.type) for field in self.schema]
        return pa.table(columns, schema=self.schema)

    def _raise_failed(self) -> None:
        if self._failed is not None:
            raise self._failed
