"""Merging of several results folders of one sweep, such as shards that ran on different machines.

Sources are only read. After a kill, the same command continues without loss.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from recovery.errors import StoreError
from recovery.methods.columns import columns_document, columns_from, union
from recovery.store.folder import Folder, shown_differences
from recovery.store.grid import own_rows
from recovery.store.parts import merge, read_parts
from recovery.store.round_files import Round, read_rounds
from recovery.store.stored_rows import StoredRows

NOT_IN_ROUNDS = ("folder", "title", "source", "needs", "claims")
NOT_IN_TRIALS = (*NOT_IN_ROUNDS, "report", "replicates")
"""Fields of a config in which the folders of one sweep may differ, with and without rounds."""


@dataclass(frozen=True)
class Source:
    """The content of a results folder: sweep.json, rounds, and rows."""

    folder: Folder
    content: dict[str, Any]
    rounds: Sequence[Round]
    rows: Sequence[pa.Table]

    @classmethod
    def of(cls, path: Path) -> "Source":
        """Read a results folder. Raises `StoreError` for damage, and for rows of another sweep."""
        folder = Folder(path)
        content = folder.load()
        parts, rounds = read_parts(folder.trials, records=True), read_rounds(folder.rounds)
        _, left_out = own_rows(content, rounds, parts)
        if left_out:
            lines = str(left_out).removesuffix(" are left out")
            raise StoreError(f"{path} is not merged, because it has rows of another sweep.\n{lines}; move them away")
        return cls(folder, content, rounds, [table for _, table in parts])


@dataclass(frozen=True)
class Merged:
    """The result for one source: its number of trials, and how many of them the target already had with status `ok`."""

    path: Path
    trials: int
    repeated: int


def merge_folders(paths: Sequence[Path], out: Path) -> list[Merged]:
    """Copy the rows, records and rounds of `paths` into the new or existing folder `out`.

    Trials that are already stored there with status `ok` keep their rows. The config with the most
    replicates, and of equal ones the first, describes the merged sweep. Raises `StoreError`, before
    anything is written, for folders of different sweeps, contradictory rounds, and damage.
    """
    into = Folder(out)
    before = [Source.of(out)] if into.exists() else []
    distinct = {path.resolve(): path for path in paths if path.resolve() != out.resolve()}
    sources = [Source.of(path) for path in distinct.values()]
    every = [*before, *sources]
    for source in every[1:]:
        _refuse_another(every[0], source)
    rounds = _rounds(every)
    columns = columns_document(union(columns_from(one.content["columns"]) for one in every))
    largest = max(every, key=lambda source: int(source.content["config"].get("replicates", 1)))
    content = {**largest.content, "columns": columns}
    if not before:
        into.create(content)
    elif before[0].content != content:
        into.update(content)
    into.prepare()
    for planned in rounds:
        into.write_round(planned)
    return [_take(source, into) for source in sources]


def _refuse_another(first: Source, other: Source) -> None:
    """Raise `StoreError` if the trials of two folders are not those of one sweep.

    The allocation of trials in rounds also depends on the replicates and on the value of the report.
    """
    configs = [one.content["config"] for one in (first, other)]
    free = NOT_IN_TRIALS if not any("sampling" in config for config in configs) else NOT_IN_ROUNDS
    configs = [{key: item for key, item in config.items() if key not in free} for config in configs]
    if shown := shown_differences(configs[0], configs[1]):
        here, there = first.folder.path, other.folder.path
        raise StoreError("\n".join([f"{there} and {here} are different sweeps; nothing was merged:", *shown]))


def _rounds(sources: Sequence[Source]) -> Sequence[Round]:
    """Return the longest list of rounds. Raises `StoreError` if another list is not a prefix of it."""
    longest = max(sources, key=lambda source: len(source.rounds))
    for source in sources:
        if list(source.rounds) != list(longest.rounds[: len(source.rounds)]):
            raise StoreError(
                f"{source.folder.path} and {longest.folder.path} planned their rounds from different rows; nothing was "
                "merged. Merge the shards of a sweep in rounds before its second round"
            )
    return longest.rounds


def _take(source: Source, into: Folder) -> Merged:
    """Copy the rows of a source, except those of trials that are already stored with status `ok`."""
    before = StoredRows(into.trials).rows
    stored = before.filter(pc.equal(before["status"], "ok"))["trial_id"].combine_chunks()
    for table in source.rows:
        new = table.filter(pc.invert(pc.is_in(table["trial_id"], stored)))
        if len(new):
            into.write(new)
    rows = merge(list(source.rows))
    repeated = rows.filter(pc.is_in(rows["trial_id"], stored))
    return Merged(source.folder.path, len(rows), len(repeated))
