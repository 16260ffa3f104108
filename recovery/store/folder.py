"""A results folder: sweep.json describes the sweep, trials/ holds the rows, and rounds/ the rounds of a rule."""

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from recovery.errors import StoreError
from recovery.store.files import Damaged, clean_temporaries, listed, read_regular, sync_folder, write_atomically
from recovery.store.parts import TRIALS, list_parts, write_part
from recovery.store.round_files import ROUNDS, Round, intact_rounds, write_round
from recovery.store.sweepfile import SWEEP_FILE, Content, decode, encode, rebuilt
from recovery.text import path_text, printable

DAMAGED = "damaged"
MOST_DIFFERENCES = 12
MOST_NAMED = 12


@dataclass(frozen=True)
class Folder:
    """One results folder: its paths, and the operations on its files."""

    path: Path

    @property
    def sweep_file(self) -> Path:
        return self.path / SWEEP_FILE

    @property
    def trials(self) -> Path:
        return self.path / TRIALS

    @property
    def rounds(self) -> Path:
        return self.path / ROUNDS

    def load(self) -> Content:
        """Return the content of sweep.json, or the parts' copy of it. Raises `StoreError` if neither is readable."""
        content, fault = self._read()
        if fault and (content := rebuilt(self.trials)) is None:
            raise StoreError(
                f"{self.sweep_file}: {fault}, and no part describes the sweep; move the folder away, or restore the "
                "file from a copy"
            )
        assert content is not None
        return content

    def damage(self) -> str | None:
        """Return what is wrong with sweep.json, or None. Raises `StoreError` if the folder holds no sweep."""
        return self._read()[1]

    def _read(self) -> tuple[Content | None, str | None]:
        """Return the content of sweep.json and None; if it is damaged or missing, None and what is wrong with it."""
        try:
            return decode(read_regular(self.sweep_file)), None
        except (FileNotFoundError, NotADirectoryError) as error:
            if list_parts(self.trials):
                return None, "is missing"
            what = "is a file, not a results folder" if self.path.is_file() else "no such results folder"
            what = "holds no sweep" if self.path.is_dir() else what
            then = _suggestion(self.path) or "run `recover sweep` first"
            raise StoreError(f"{self.path}: {what} (no {SWEEP_FILE}); {then}") from error
        except OSError as error:
            raise StoreError(f"{self.sweep_file}: cannot be read: {error.strerror or error}") from error
        except (ValueError, RecursionError) as error:
            return None, printable(str(error))

    def exists(self) -> bool:
        """Return whether the folder holds a sweep, in sweep.json or in the metadata of its parts."""
        if self.sweep_file.exists():
            return not self.damage() or bool(list_parts(self.trials))
        return rebuilt(self.trials) is not None

    def create(self, content: Mapping[str, Any]) -> bool:
        """Create the folder and its sweep.json; return False if another process was first. Raises `StoreError`."""
        with self._writing():
            try:
                self.trials.mkdir(parents=True, exist_ok=True)
            except (FileExistsError, NotADirectoryError) as error:
                file = next(path for path in (self.trials, *self.trials.parents) if path.exists() and not path.is_dir())
                raise StoreError(f"{file}: a file is in the way; give another --out") from error
            if self.sweep_file.exists() and not self.exists():
                self._set_aside(self.sweep_file, "")
            if list_parts(self.trials):
                raise StoreError(
                    f"{self.path}: holds rows but no {SWEEP_FILE}, and no part describes the sweep; move the folder "
                    "away, or give another --out"
                )
            return write_atomically(self.sweep_file, encode(content), replace=False)

    def update(self, content: Mapping[str, Any]) -> None:
        """Replace sweep.json. Raises `StoreError`."""
        with self._writing():
            write_atomically(self.sweep_file, encode(content))

    def prepare(self, damaged: Sequence[Damaged]) -> list[Damaged]:
        """Prepare for writing: delete abandoned temporary files, and move damaged files to damaged/.

        damaged: the damaged parts. Returns the moved files, each with what happens next. Raises `StoreError`.
        """
        with self._writing():
            self.trials.mkdir(exist_ok=True)
            for folder in (self.path, self.trials, self.rounds):
                clean_temporaries(folder)
            probe = self.trials / ".probe"
            probe.touch()
            probe.unlink(missing_ok=True)
        moved = []
        if fault := self.damage():
            content = self.load()
            moved += self._set_aside(self.sweep_file, f"{fault}; rebuilt from the parts")
            self.update(content)
        again, later = "what has no other row runs again", "a later round contains it, or it is planned again"
        for files, then in ((damaged, again), (intact_rounds(self.rounds)[1], later)):
            for path, reason in files:
                moved += self._set_aside(path, f"{reason}; {then}")
            if files:
                sync_folder(files[0].path.parent)
        return moved

    def _set_aside(self, path: Path, reason: str) -> list[Damaged]:
        aside = self.path / DAMAGED / path.name
        with self._writing(), suppress(FileNotFoundError):  # the file is missing, or another process has moved it
            aside.parent.mkdir(exist_ok=True)
            path.replace(aside)
            return [Damaged(aside, f"moved aside: {reason}")]
        return []

    def write(self, rows: pa.Table, dataset: str = TRIALS) -> Path:
        """Add rows as one part of a dataset; return its path. Raises `StoreError`, and leaves no incomplete part."""
        folder = self.path / dataset
        with self._writing(dataset):
            folder.mkdir(exist_ok=True)
            return write_part(folder, rows)

    def write_round(self, content: Round) -> None:
        """Add a round, or keep the one that is there. Raises `StoreError`."""
        with self._writing():
            write_round(self.rounds, content)

    def listing(self) -> frozenset[str]:
        """Return the names of the files with rows and rounds, none of which ever changes."""
        folders = (self.trials, self.rounds)
        return frozenset(f"{folder.name}/{path.name}" for folder in folders for path in listed(folder, "[!.]*"))

    @contextmanager
    def _writing(self, dataset: str = TRIALS) -> Iterator[None]:
        folders = (self.path / dataset, self.rounds, self.path / DAMAGED)
        for path in folders:
            if path.is_symlink():  # the folder may be somebody else's
                raise StoreError(f"{path}: is a symbolic link, which is not followed; replace it by what it points to")
        try:
            yield
        except OSError as error:
            if files := [path for path in folders if path.exists() and not path.is_dir()]:
                raise StoreError(f"{files[0]}: a file is in the way; move it away") from error
            kept = "stored rows are kept; free space, change its permissions or give another --out"
            gone = "the folder was moved or deleted, with its rows, or cannot be created"
            then = kept if self.path.is_dir() else gone
            raise StoreError(f"{self.path}: cannot be written: {error.strerror or error}; {then}") from error


def _suggestion(path: Path) -> str:
    """Return a hint for a path without a sweep: the results folders in it, or the most similar name; '' if none."""
    if path.is_dir():
        inside = sorted(path_text(sweep.parent.name) for sweep in path.glob(f"*/{SWEEP_FILE}"))
        more = f" and {len(inside) - MOST_NAMED} more" if len(inside) > MOST_NAMED else ""
        return f"the sweeps in it: {', '.join(inside[:MOST_NAMED])}{more}" if inside else ""
    for folder in (path.parent, Path("results") / path.parent) if not path.is_absolute() else (path.parent,):
        names = [sweep.parent.name for sweep in folder.glob(f"*/{SWEEP_FILE}")]
        near = difflib.get_close_matches(path.name, names, n=1, cutoff=0.6)
        if near and folder / near[0] != path:
            return f"did you mean {str(folder / near[0])!r}?"
    return ""


def shown_differences(old: Any, new: Any) -> list[str]:
    """Return indented lines `path: old -> new` of `differences`, up to a number, with the number of further ones."""
    lines = [f"  {line}" for line in differences(old, new)]
    more = [f"  and {len(lines) - MOST_DIFFERENCES} more"] if len(lines) > MOST_DIFFERENCES else []
    return lines[:MOST_DIFFERENCES] + more


def differences(old: Any, new: Any, path: str = "") -> list[str]:
    """Return `path: old -> new` for every leaf in which two documents differ."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return [
            line
            for key in dict.fromkeys([*old, *new])
            for line in differences(old.get(key, _ABSENT), new.get(key, _ABSENT), f"{path}.{key}" if path else str(key))
        ]
    return [] if old == new else [f"{path}: {_short(old)} -> {_short(new)}"]


_ABSENT = object()


def _short(value: Any) -> str:
    if value is _ABSENT:
        return "(absent)"
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
