"""Tables of made-up rows."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from recovery.methods.columns import COLUMNS, columns_document
from recovery.store.folder import Folder
from recovery.store.grid import StoredRows
from recovery.store.row_schema import coordinate_types, row_schema

START = datetime(2026, 1, 1, tzinfo=UTC)
CONTENT = {
    **{"name": "made-up", "digest": "0", "trials": 4, "cells": 1, "config": {"name": "made-up", "n": 10}},
    **{"columns": columns_document(COLUMNS), "provenance": {}},
}


def rows(*ids: str, status: str = "ok", started_at: datetime = START, **columns: object) -> pa.Table:
    """One row an id, with n = 10, d = 2 and the given columns."""
    schema = row_schema(coordinate_types([{"n": 10, "d": 2}]), COLUMNS)
    row = {
        **{"sweep": "made-up", "replicate": 0, "n": 10, "d": 2, "status": status, "started_at": started_at},
        **{"seconds": 1.0, "made_by": "0"},
    }
    return pa.Table.from_pylist([{**row, "trial_id": trial, **columns} for trial in ids], schema=schema)


def folder(path: Path, *tables: pa.Table) -> Folder:
    """A results folder that holds one part a table."""
    made = Folder(path)
    made.create(CONTENT)
    for table in tables:
        made.write(table)
    return made


def statuses(folder: Folder) -> dict[str, str]:
    """Trial id -> status."""
    found = StoredRows(folder.trials).rows.select(["trial_id", "status"])
    return dict(zip(*found.to_pydict().values(), strict=True))
