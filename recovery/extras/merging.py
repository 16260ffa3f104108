"""Folders of one sweep as one folder: shards that ran on other machines, or what was copied from them.

A record is written before the row that counts it, and sources are only read. So a merge that is killed has lost
nothing, and the same command goes on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from recovery.errors import StoreError
from recovery.methods.columns import Columns, columns_document, union
from recovery.runner.rerun import differences as unequal_columns
from recovery.store.folder import Folder, shown_differences
from recovery.store.grid import own_rows, refuse_other_types
from recovery.store.parts import TRIALS, merge, read_parts, refuse
from recovery.store.records import TRAJECTORIES
from recovery.store.round_files import Round, read_rounds
from recovery.store.row_schema import stored_columns


@dataclass(frozen=True)
class Source:
    """A folder that was read whole: what it sweeps, its rounds, and its rows."""

    folder: Folder
    content: dict[str, Any]
    rounds: Sequence[Round]
    rows: Sequence[pa.Table]

    @classmethod
    def of(cls, path: Path) -> "Source":
        """Raises `StoreError` for damage, and for rows of another sweep."""
        folder = Folder(path)
        content = folder.load()
        parts, damaged = read_parts(folder.trials)
        rounds, more = read_rounds(folder.rounds)
        refuse([*damaged, *more])
        refuse_other_types(content, parts)
        _, left_out = own_rows(content, rounds, parts)
        if left_out:
            lines = str(left_out).removesuffix(" are left out")
            raise StoreError(f"{path} is not merged, for what it holds of another sweep.\n{lines}; move them away")
        return cls(folder, content, rounds, [table for _, table in parts])


@dataclass(frozen=True)
class Merged:
    """What came of one source. `repeated`: its trials that were there already; `other`: those of them that measured
    something else."""

    path: Path
    trials: int
    repeated: int
    other: int


def merge_folders(paths: Sequence[Path], out: Path) -> list[Merged]:
    """Copy the rows, records and rounds of `paths` into `out`, which is made, or goes on.

    A trial that is there and `ok` keeps its row and its record.

    Raises `StoreError`, before anything is written, for folders of several sweeps, rounds that disagree, and damage.
    """
    into = Folder(out)
    before = [Source.of(out)] if into.exists() else []
    unlike = {path.resolve(): path for path in paths if path.resolve() != out.resolve()}
    sources = [Source.of(path) for path in unlike.values()]
    every = [*before, *sources]
    for source in every[1:]:
        _refuse_another(every[0], source)
    rounds = _rounds(every)
    columns = columns_document(union(stored_columns(one.content.get("columns")) for one in every))
    content = {**every[0].content, "columns": columns}
    if not before:
        into.create(content)
    elif before[0].content != content:
        into.update(content)
    into.prepare()
    for planned in rounds:
        into.write_round(planned)
    return [_take(source, into) for source in sources]


def _refuse_another(first: Source, other: Source) -> None:
    configs = [{key: item for key, item in one.content["config"].items() if key != "folder"} for one in (first, other)]
    if shown := shown_differences(configs[0], configs[1]):
        here, there = first.folder.path, other.folder.path
        raise StoreError("\n".join([f"{there} holds another sweep than {here}; nothing was merged:", *shown]))


def _rounds(sources: Sequence[Source]) -> Sequence[Round]:
    """The longest list of rounds. Raises `StoreError` where another is not how it begins."""
    longest = max(sources, key=lambda source: len(source.rounds))
    for source in sources:
        if list(source.rounds) != list(longest.rounds[: len(source.rounds)]):
            raise StoreError(
                f"{source.folder.path} and {longest.folder.path} planned their rounds from different rows; nothing was "
                "merged. Merge the shards of a boundary sweep before its second round"
            )
    return longest.rounds


def _take(source: Source, into: Folder) -> Merged:
    there = into.statuses()
    stored = there.filter(pc.equal(there["status"], "ok"))["trial_id"].combine_chunks()
    records, damaged = read_parts(source.folder.trajectories)
    refuse(damaged)
    for dataset, tables in ((TRAJECTORIES, [table for _, table in records]), (TRIALS, source.rows)):
        for table in tables:
            new = table.filter(pc.invert(pc.is_in(table["trial_id"], stored)))
            if len(new):
                into.write(new, dataset)
    rows = merge(list(source.rows))
    there = rows.filter(pc.is_in(rows["trial_id"], stored))
    other = _other(there, into, stored_columns(source.content.get("columns")))
    return Merged(source.folder.path, len(rows), len(there), other)


def _other(rows: pa.Table, into: Folder, columns: Columns) -> int:
    """How many of the rows that are `ok` differ, by more than rounding, from those of the same trials in `into`."""
    rows = rows.filter(pc.equal(rows["status"], "ok"))
    there = merge([table for _, table in read_parts(into.trials)[0]])
    there = there.filter(pc.is_in(there["trial_id"], pa.array(rows["trial_id"].to_pylist(), pa.string())))
    pairs = zip(*(table.sort_by("trial_id").to_pylist() for table in (rows, there)), strict=True)
    found = [unequal_columns(stored, again, columns) for again, stored in pairs]
    return sum(any(not one.rounding for one in unequal) for unequal in found)
