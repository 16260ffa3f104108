"""Storage of a run's rows: they are joined to their coordinates, and written as a part every few seconds.

At the end of the run its parts are joined into few.
"""

import json
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from recovery.config import Cell, Sweep, Trial
from recovery.errors import StoreError
from recovery.runner.trial import TRAJECTORY, Row
from recovery.store.compaction import join, present
from recovery.store.folder import Folder
from recovery.store.parts import PROVENANCE
from recovery.store.provenance import machine_in, version_in
from recovery.store.row_schema import coordinate_types, record_columns, row_schema
from recovery.types import Array

FIRST_PAUSE, LONGEST_PAUSE = 0.25, 2.0
"""Seconds between parts; short at first, so that a run that is killed early has stored rows."""


class Recorder:
    """Context manager whose thread stores the rows passed to `add` every few seconds, whether or not more rows come.

    cells: those of the trials. content: the content of sweep.json, which is copied to every part. on_failure: called
    with the reason as soon as rows cannot be stored. others: (parts of this run) -> keys of the trials that other
    runs have stored since its last call.
    """

    def __init__(
        self,
        folder: Folder,
        sweep: Sweep,
        cells: Iterable[Cell],
        content: Mapping[str, Any],
        on_failure: Callable[[str], None],
        others: Callable[[Collection[Path]], Array | None] = lambda own: None,
    ) -> None:
        self._folder = folder
        self._sweep = sweep
        self._on_failure, self._find_others = on_failure, others
        self._others: Array | None = None
        types = coordinate_types(cell.coordinates for cell in cells)
        made = {**{key: value for key, value in content.items() if key != "provenance"}, **content["provenance"]}
        self.schema = row_schema(types, sweep.columns).with_metadata({PROVENANCE: json.dumps([made])})
        self._made = {"made_by": version_in(made.get("program", {})), "made_on": machine_in(made)}
        self._written: list[Path] = []
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
        if len(self._written) > 1:
            join(self._folder, present(self._written))

    def add(self, rows: Iterable[tuple[Trial, Row]]) -> None:
        """Queue rows to be stored. Raises `StoreError` if earlier rows could not be stored."""
        self._raise_failed()
        with self._lock:
            self._rows.extend(rows)

    def stored_by_others(self) -> Array | None:
        """Return the keys of trials that other runs on the folder have stored since the last call; None if none has."""
        with self._lock:
            found, self._others = self._others, None
        return found

    def _store_regularly(self) -> None:
        pause = FIRST_PAUSE
        while not self._closing.wait(pause):
            try:
                self._flush()
                with suppress(StoreError):  # the folder may be unreadable for a moment
                    found = [keys for keys in (self._others, self._find_others(self._written)) if keys is not None]
                    self._others = np.concatenate(found) if found else None
            except BaseException as error:
                self._failed = error if isinstance(error, StoreError) else StoreError(f"rows cannot be stored: {error}")
                self._on_failure(str(self._failed))
                return
            pause = min(2 * pause, LONGEST_PAUSE)

    def _flush(self) -> None:
        with self._lock:
            rows, self._rows = self._rows, []
        if rows:
            self._written.append(self._folder.write(self._table(rows)))

    def _table(self, rows: list[tuple[Trial, Row]]) -> pa.Table:
        full = [
            {"sweep": self._sweep.name, "replicate": trial.replicate, **self._made, **trial.cell.coordinates, **row}
            for trial, row in rows
        ]
        columns = [pa.array([row.get(field.name) for row in full], field.type) for field in self.schema]
        table = pa.table(columns, schema=self.schema)
        records = [row.get(TRAJECTORY, {}) for _, row in rows]
        if any(records):
            for name, column in record_columns(records).items():
                table = table.append_column(name, column)
        return table

    def _raise_failed(self) -> None:
        if self._failed is not None:
            raise self._failed
