"""Stored rows as one table, with one row per trial of the sweep.

A part names the configs that produced it. If one of them is not the folder's config, a row is kept if its trial id is
planned.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recovery.errors import RecoverError
from recovery.methods.columns import Columns, columns_from
from recovery.store.files import Damaged
from recovery.store.folder import Folder
from recovery.store.parts import TRIALS, makers, merge, read_all, read_parts
from recovery.store.provenance import running_version
from recovery.store.round_files import Round, added, counts, read_rounds
from recovery.store.row_schema import RECORD, finished, keys_of, may_lack
from recovery.text import path_text
from recovery.types import Array
from recovery.user import fingerprint, folders_of

if TYPE_CHECKING:
    import pandas as pd

    from recovery.config import Sweep


@dataclass(frozen=True)
class Grid:
    """The rows of a results folder, its sweep.json and its rounds.

    left_out: rows of the folder that are not in the table, because they are not the sweep's. versions: each version of
    the program, and how many rows it made.
    """

    path: Path
    sweep: dict[str, Any]
    table: pa.Table
    rounds: Sequence[Round] = ()
    left_out: LeftOut | None = None
    versions: Sequence[tuple[str, int]] = ()

    @cached_property
    def columns(self) -> Columns:
        """The columns that the sweep's methods measure."""
        return columns_from(self.sweep["columns"])

    def version_words(self) -> str:
        """Return which versions of the program made the rows; '' if the running version, at any commit, made all."""
        release = running_version().partition("+")[0]
        if len(self.versions) <= 1 and all(version.partition("+")[0] == release for version, _ in self.versions):
            return ""
        counted = ", ".join(f"{count} by {version}" for version, count in self.versions)
        return f"rows by version of the program: {counted}; this is {running_version()}"

    @property
    def frame(self) -> pd.DataFrame:
        """The rows as pandas; measured columns that may be null have the types `boolean` and `Int64`."""
        import pandas as pd  # imported here, because pandas is slow to import and a sweep does not need it

        frame: pd.DataFrame = self.table.to_pandas(types_mapper={pa.bool_(): pd.BooleanDtype()}.get)
        integers = [name for name, column in self.columns.items() if column.kind is int and name in frame]
        return frame.astype(dict.fromkeys(integers, "Int64"))


def read(path: str | Path, columns: Sequence[str] | None = None) -> Grid:
    """Read a results folder without its records, also while a sweep writes to it.

    columns: columns to read, `trial_id` and `made_by` among them; by default all. Raises `StoreError` for a missing
    folder, and for damage, except of a sweep.json that the metadata of the parts replaces.
    """
    folder = Folder(Path(path))
    content = folder.load()
    parts, rounds = read_parts(folder.trials, columns), read_rounds(folder.rounds)
    own, left_out = own_rows(content, rounds, parts)
    table = merge(own)
    counts = sorted((pair["values"], pair["counts"]) for pair in pc.value_counts(table["made_by"]).to_pylist())
    return Grid(folder.path, content, table, rounds, left_out, counts)


def read_records(results: Path) -> dict[str, dict[str, Array]]:
    """Return trial id -> arrays, for each trial that has a record. Raises `StoreError` for a damaged part."""
    parts = read_parts(results / TRIALS, ["trial_id", "status", "started_at"], records=True)
    rows = merge([table for _, table in parts])
    names = [name for name in rows.column_names if name.startswith(RECORD)]
    found: dict[str, dict[str, Array]] = {}
    for name in names:
        kept = rows.select(["trial_id", name]).filter(pc.is_valid(rows[name]))
        for trial, values in zip(kept["trial_id"].to_pylist(), kept[name], strict=True):
            found.setdefault(trial, {})[name.removeprefix(RECORD)] = np.array(values.as_py(), np.float64)
    return found


def unmeasured(folder: Folder, columns: Collection[str]) -> set[str]:
    """Return the ids of finished trials whose row lacks a value of these columns that it may have (`may_lack`)."""
    wanted = ["trial_id", "status", "started_at", "unmeasured", *columns]
    rows = merge([table for _, table in read_parts(folder.trials, columns=wanted)])
    rows, names = rows.filter(finished(rows)), set(columns) & {*rows.column_names}
    plain = rows.select(["trial_id", "unmeasured", *names]).to_pylist()
    lacking = [(row, name) for row in plain for name in names if row[name] is None]
    return {row["trial_id"] for row, name in lacking if may_lack(row["unmeasured"], name)}


class LeftOut(NamedTuple):
    """Number of the folder's rows that are not the sweep's, and the parts that hold them."""

    rows: int
    paths: Sequence[Path]

    def __str__(self) -> str:
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        what = "rows of another sweep, or of trials that this one does not plan, are left out"
        return f"{path_text(self.paths[0])}{more}: {self.rows} {what}"


def own_rows(
    content: Mapping[str, Any], rounds: Sequence[Round], parts: Sequence[tuple[Path, pa.Table]]
) -> tuple[list[pa.Table], LeftOut | None]:
    """Return, of each part, the rows that belong to the sweep whose sweep.json has `content`; and those that do not.

    All rows of a part that names only this config, or none, belong to it. A part of another config may come from a
    smaller plan of the same sweep or from another sweep: rows of planned trials belong to it, or all of its rows if the
    trials cannot be composed here and the seeds are equal.
    """
    kept, paths, lost = [], [], 0
    keys_once = cache(partial(_planned_keys, content["config"], rounds))
    for path, table in parts:
        made_by, own = makers(table.schema), table
        if any(maker.get("digest") != content["digest"] for maker in made_by):
            if (planned := keys_once()) is not None:
                own = table.filter(pa.array(np.isin(keys_of(table["trial_id"]), planned)))
            elif any(maker["config"].get("seed") != content["config"].get("seed") for maker in made_by):
                own = table.slice(0, 0)
        if len(own):
            kept.append(own)
        if len(own) < len(table):
            paths.append(path)
            lost += len(table) - len(own)
    return kept, LeftOut(lost, paths) if lost else None


def _planned_keys(config: dict[str, Any], rounds: Sequence[Round]) -> Array | None:
    """Return the keys of the trials of a config and its rounds, or None if they cannot be composed here."""
    # imported here, because recovery.config is slow to import and few folders need it
    from recovery.config import from_document, refined

    try:
        return from_document(refined(config, added(rounds))).trials(counts(rounds)).keys
    except RecoverError:
        return None


_READ = ("trial_id", "status", "started_at", "seconds", "own_code")
"""Columns of the stored rows that a run needs."""


class StoredRows:
    """The rows in a folder of parts, read as far as `_READ`. Each part is read once, because parts never change.

    rows: one per trial. damaged: parts whose bytes are not those that were written. Raises `StoreError`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._parts = folder, dict[Path, pa.Table | Damaged]()
        self.refresh()

    def refresh(self) -> None:
        """Read the parts that are new since the last call."""
        self._parts = read_all(self._folder, _READ, known=self._parts)
        self.rows = merge([table for _, table in self._tables()])

    def keys_of_others(self, own: Collection[Path], *, failed: bool) -> Array | None:
        """Return the keys of the trials in parts that are new since the last call or refresh, except the paths `own`.

        failed: whether failed trials are included. None if no part is new. Raises `StoreError`.
        """
        known = dict.fromkeys(own, Damaged(self._folder, "not read")) | self._parts
        found = read_all(self._folder, _READ, known=known)
        new = {path: part for path, part in found.items() if path not in known and isinstance(part, pa.Table)}
        self._parts |= new
        rows = merge([*new.values()])
        rows = rows if failed else rows.filter(finished(rows))
        return keys_of(rows["trial_id"]) if new else None

    def _tables(self) -> list[tuple[Path, pa.Table]]:
        return [(path, part) for path, part in self._parts.items() if isinstance(part, pa.Table)]

    @property
    def damaged(self) -> Sequence[Damaged]:
        return [part for part in self._parts.values() if isinstance(part, Damaged)]

    def of_other_plans(self, digest: str) -> list[Path]:
        """Return the parts whose metadata name another plan than the one with this digest, or no plan."""
        return [
            path for path, table in self._tables() if {one.get("digest") for one in makers(table.schema)} != {digest}
        ]

    def stale(self, sweep: Sweep) -> set[str]:
        """Return the ids of trials whose rows ran user code, but none of them the code that the sweep's files hold now,
        which is hashed, not imported. Raises `ParameterError` if a file is not found."""
        own = {cell.own for cell in sweep.cells} - {frozenset()}
        codes = {fingerprint(names, folders_of(sweep.document)) for names in own}
        rows = pa.concat_tables([self.rows.slice(0, 0), *(table for _, table in self._tables())])
        rows = rows.filter(pc.is_valid(rows["own_code"])) if own else self.rows.slice(0, 0)
        same = pc.is_in(rows["own_code"], pa.array(sorted(codes), pa.string()))
        stale, current = (rows.filter(mask)["trial_id"].to_pylist() for mask in (pc.invert(same), same))
        return set(stale).difference(current)
