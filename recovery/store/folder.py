"""A results folder: sweep.json says what is swept, trials/ holds the rows. Opening it for a sweep creates it,
continues it, or refuses."""

import difflib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from recovery.errors import StoreError
from recovery.store.parts import (
    TRIALS,
    Damaged,
    clean_temporaries,
    list_parts,
    merge,
    read_parts,
    read_regular,
    sync_folder,
    write_atomically,
    write_part,
)
from recovery.store.records import TRAJECTORIES, trajectory_table
from recovery.store.round_files import ROUNDS, Round, read_rounds, write_round
from recovery.store.sweepfile import SWEEP_FILE, Content, decode, encode, rebuilt
from recovery.text import printable
from recovery.types import Array

DAMAGED = "damaged"
MOST_DIFFERENCES = 12
MOST_NAMED = 12
LARGEST_BYTES = 64 * 2**20
"""Of sweep.json."""


@dataclass(frozen=True)
class Folder:
    """The paths of one results folder, and what may be done to them."""

    path: Path

    @property
    def sweep_file(self) -> Path:
        return self.path / SWEEP_FILE

    @property
    def trials(self) -> Path:
        return self.path / TRIALS

    @property
    def trajectories(self) -> Path:
        return self.path / TRAJECTORIES

    @property
    def rounds(self) -> Path:
        return self.path / ROUNDS

    def load(self) -> dict[str, Any]:
        """The content of sweep.json; where it is damaged, that of the parts. Raises `StoreError` if neither has any."""
        content, fault = self._read()
        if fault and (content := rebuilt(self.trials)) is None:
            raise StoreError(
                f"{self.sweep_file}: {fault}, and no part says what it was; move the folder away, or take the file "
                "from a copy"
            )
        assert content is not None
        return content

    def damage(self) -> str | None:
        """What is wrong with sweep.json, if anything. Raises `StoreError` if there is none."""
        return self._read()[1]

    def _read(self) -> tuple[Content | None, str | None]:
        try:
            return decode(read_regular(self.sweep_file, LARGEST_BYTES)), None
        except (FileNotFoundError, NotADirectoryError) as error:
            what = "is a file, not a results folder" if self.path.is_file() else "no such results folder"
            what = "holds no sweep" if self.path.is_dir() else what
            then = _others(self.path) or "run `recover sweep` first"
            raise StoreError(f"{self.path}: {what} (no {SWEEP_FILE}); {then}") from error
        except OSError as error:
            raise StoreError(f"{self.sweep_file}: cannot be read: {error.strerror or error}") from error
        except (ValueError, RecursionError) as error:
            return None, printable(str(error))

    def exists(self) -> bool:
        """Whether it holds a sweep. A damaged sweep.json without any part is none."""
        return self.sweep_file.exists() and not (self.damage() and not list_parts(self.trials))

    def create(self, content: Mapping[str, Any]) -> bool:
        """Make the folder and its sweep.json; False if another process was first. Raises `StoreError`."""
        try:
            self.trials.mkdir(parents=True, exist_ok=True)
            if self.sweep_file.exists() and not self.exists():
                self._set_aside(self.sweep_file, "")
            if list_parts(self.trials):
                raise StoreError(f"{self.path}: holds rows but no {SWEEP_FILE}; move it away, or give another --out")
            return write_atomically(self.sweep_file, encode(content), replace=False)
        except (FileExistsError, NotADirectoryError) as error:
            file = next(path for path in (self.trials, *self.trials.parents) if path.is_file())
            raise StoreError(f"{file}: a file is in the way; give another --out") from error
        except OSError as error:
            raise self._unwritable(error) from error

    def update(self, content: Mapping[str, Any]) -> None:
        """Replace sweep.json."""
        try:
            write_atomically(self.sweep_file, encode(content))
        except OSError as error:
            raise self._unwritable(error) from error

    def prepare(self) -> list[Damaged]:
        """Make ready for writing: clear abandoned temporary files and set damaged parts aside."""
        try:
            self.trials.mkdir(exist_ok=True)
            for folder in (self.path, self.trials, self.trajectories, self.rounds):
                clean_temporaries(folder)
            probe = self.trials / ".probe"
            probe.touch()
            probe.unlink(missing_ok=True)
        except OSError as error:
            raise self._unwritable(error) from error
        return self._set_damaged_aside()

    def _set_damaged_aside(self) -> list[Damaged]:
        """Move damaged files to damaged/; returns them at their new place, each with what comes of it."""
        moved = []
        if fault := self.damage():
            content = self.load()
            moved += self._set_aside(self.sweep_file, f"{fault}; rebuilt from the parts")
            self.update(content)
        for directory in (self.trials, self.trajectories, self.rounds):
            rounds = directory == self.rounds
            _, damaged = read_rounds(directory) if rounds else read_parts(directory, ["trial_id"])
            then = "a later round says all that it said, or it is planned again" if rounds else "its trials run again"
            for path, reason in damaged:
                moved += self._set_aside(path, f"{reason}; {then}")
            if damaged:
                sync_folder(directory)
        return moved

    def _set_aside(self, path: Path, reason: str) -> list[Damaged]:
        aside = self.path / DAMAGED / path.name
        try:
            aside.parent.mkdir(exist_ok=True)
            path.replace(aside)
        except FileNotFoundError:  # another process was first
            return []
        except OSError as error:
            raise self._unwritable(error) from error
        return [Damaged(aside, reason)]

    def write(self, rows: pa.Table, dataset: str = TRIALS) -> Path:
        """Add one part. Raises `StoreError` (disk full, folder gone), with nothing half-written."""
        place = self.path / dataset
        try:
            place.mkdir(exist_ok=True)
            return write_part(place, rows)
        except OSError as error:
            raise self._unwritable(error) from error

    def write_trajectories(self, records: Iterable[tuple[str, Mapping[str, Array]]]) -> None:
        """Add what trials recorded on their way, (trial id, record) each. Raises `StoreError`."""
        if kept := list(records):
            self.write(trajectory_table(kept), TRAJECTORIES)

    def write_round(self, content: Round) -> None:
        """Add a round, unless another process was first. Raises `StoreError`."""
        try:
            write_round(self.rounds, content)
        except OSError as error:
            raise self._unwritable(error) from error

    def statuses(self) -> pa.Table:
        """`trial_id` and `status` of every stored trial, each once; `ok` wins where one is stored more than once.

        A trial that left a record which is no longer there counts as missing.
        """
        parts, _ = read_parts(self.trials, columns=["trial_id", "status", "started_at", "recorded"])
        rows = merge([table for _, table in parts])
        if "recorded" in rows.column_names:
            recorded = rows.filter(pc.is_valid(rows["recorded"]))["trial_id"].to_pylist()
            if lost := self.without_record(recorded):
                rows = rows.filter(pc.invert(pc.is_in(rows["trial_id"], pa.array(sorted(lost), pa.string()))))
        return rows.select(["trial_id", "status"])

    def without_record(self, recorded: Collection[str]) -> set[str]:
        """Those of the trials that left a record whose record is no longer there."""
        if not recorded:
            return set()
        parts, _ = read_parts(self.trajectories, columns=["trial_id"])
        return set(recorded).difference(*(table["trial_id"].to_pylist() for _, table in parts))

    def listing(self) -> frozenset[str]:
        """The names of the files that hold rows, records and rounds; none of them ever changes."""
        folders = (self.trials, self.trajectories, self.rounds)
        return frozenset(f"{folder.name}/{path.name}" for folder in folders for path in folder.glob("[!.]*"))

    def of_other_code(self, codes: Collection[str]) -> set[str]:
        """The trials that are stored only with code of the user's that is none of these hashes."""
        parts, _ = read_parts(self.trials, columns=["trial_id", "own_code"])
        known = [table.filter(pc.is_valid(table["own_code"])) for _, table in parts if "own_code" in table.column_names]
        if all(code in codes for table in known for code in pc.unique(table["own_code"]).to_pylist()):
            return set()
        current = [pc.is_in(table["own_code"], pa.array(sorted(codes), pa.string())) for table in known]
        others = {
            trial_id
            for table, same in zip(known, current, strict=True)
            for trial_id in table.filter(pc.invert(same))["trial_id"].to_pylist()
        }
        for table, same in zip(known, current, strict=True) if others else ():
            others.difference_update(table.filter(same)["trial_id"].to_pylist())
        return others

    def timings(self) -> pa.Table:
        """`trial_id` and `seconds` of every stored trial that is ok; empty if there is no folder."""
        rows = merge(
            [table for _, table in read_parts(self.trials, ["trial_id", "status", "started_at", "seconds"])[0]]
        )
        return rows.filter(pc.equal(rows["status"], "ok")).select(["trial_id", "seconds"])

    def _unwritable(self, error: OSError) -> StoreError:
        return StoreError(
            f"{self.path}: cannot be written: {error.strerror or error}; free space or mend its permissions, "
            "or give another --out. What is stored stays, and the same command goes on."
        )


def _others(path: Path) -> str:
    """The sweeps that were meant instead of a folder that is none: those in it, or one of a name like it."""
    if path.is_dir():
        inside = sorted(sweep.parent.name for sweep in path.glob(f"*/{SWEEP_FILE}"))
        more = f" and {len(inside) - MOST_NAMED} more" if len(inside) > MOST_NAMED else ""
        return f"the sweeps in it: {', '.join(inside[:MOST_NAMED])}{more}" if inside else ""
    for folder in (path.parent, Path("results") / path.parent) if not path.is_absolute() else (path.parent,):
        names = [sweep.parent.name for sweep in folder.glob(f"*/{SWEEP_FILE}")]
        near = difflib.get_close_matches(path.name, names, n=1, cutoff=0.6)
        if near and folder / near[0] != path:
            return f"did you mean {str(folder / near[0])!r}?"
    return ""


def check_continuation(folder: Folder, stored: Mapping[str, Any], new: Mapping[str, Any], lost: int) -> None:
    """Refuse a plan that leaves out so many trials of the stored one (`lost`), with the fields that differ."""
    if not lost:
        return
    lines = differences(stored["config"], new["config"])
    shown = [f"  {line}" for line in lines[:MOST_DIFFERENCES]]
    if len(lines) > MOST_DIFFERENCES:
        shown.append(f"  and {len(lines) - MOST_DIFFERENCES} more")
    sampling = stored["config"].get("sampling", {})
    if sampling.get("kind") == "until" and "sampling" not in new["config"]:
        shown.append(f"It was run with a rule: the same command with --until {sampling.get('rule')!r} goes on.")
    raise StoreError(
        "\n".join(
            [
                f"{folder.path} holds another sweep: {lost} of its {stored['trials']} trials are not in this one.",
                *shown,
                "A folder goes on under a config that keeps all its trials. For this one give another --out,",
                "or move the folder away.",
            ]
        )
    )


def differences(old: Any, new: Any, path: str = "") -> list[str]:
    """`path: old -> new` for every leaf in which two documents differ."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        keys = [*old, *(key for key in new if key not in old)]
        return [
            line
            for key in keys
            for line in differences(old.get(key, _ABSENT), new.get(key, _ABSENT), f"{path}.{key}" if path else str(key))
        ]
    if old == new:
        return []
    return [f"{path}: {_short(old)} -> {_short(new)}"]


_ABSENT = object()


def _short(value: Any) -> str:
    if value is _ABSENT:
        return "(absent)"
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
