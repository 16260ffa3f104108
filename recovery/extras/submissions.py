"""Submissions of a sweep to SLURM, each in a numbered folder of its results: the script, and a snapshot of the config.

The tasks of an array read the snapshot, so later edits of the config and of the user code beside it do not reach them.
"""

import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from recovery.config.load import find, read_config
from recovery.errors import StoreError
from recovery.extras.slurm_script import queued_tasks, sbatch
from recovery.runner.loading import load
from recovery.runner.plan import plan
from recovery.store.folder import SUBMISSIONS, Folder
from recovery.store.parts import writing
from recovery.text import many
from recovery.user import texts, user_names, user_sources

RECORD = "submission.json"


@dataclass(frozen=True)
class Submission:
    """A submission in `folder`, with the name of its config there, the overrides, and the number of array tasks."""

    folder: Path
    config: str
    overrides: Sequence[str] = ()
    tasks: int = 1

    @property
    def script(self) -> Path:
        return self.folder / "array.sbatch"

    def write_record(self) -> None:
        """Write the record of the submission, which other commands read; last, when the submission is complete."""
        record = {"config": self.config, "overrides": list(self.overrides), "tasks": self.tasks}
        (self.folder / RECORD).write_text(json.dumps(record) + "\n")


def snapshot(config: str, overrides: Sequence[str], results: Path) -> tuple[Path, str]:
    """Copy a config and the user modules beside it into the folder of a new submission, and link its data files there.

    Returns the folder and the name of the copy. Raises `StoreError` if it cannot be written, and `ConfigError`.
    """
    source, document = find(config).resolve(), read_config(config, overrides).tree.value
    with writing(results, "; give another --out"):
        folder = _new_folder(results / SUBMISSIONS)
        for place, code in user_sources(user_names(document), source.parent).items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_bytes(code)
        for text in set(texts(document)):
            file = source.parent / text
            if not Path(text).is_absolute() and ".." not in Path(text).parts and _is_file(file):
                (folder / text).parent.mkdir(parents=True, exist_ok=True)
                (folder / text).symlink_to(file)
        shutil.copyfile(source, folder / source.name)
    return folder, source.name


def _new_folder(parent: Path) -> Path:
    """Create the folder with the next free number in `parent`, and return its path."""
    parent.mkdir(parents=True, exist_ok=True)
    number = max(_numbers(parent), default=0)
    while True:
        number += 1
        try:
            (parent / str(number)).mkdir()
        except FileExistsError:  # another process has created this folder: try the next number
            continue
        return parent / str(number)


def _numbers(parent: Path) -> list[int]:
    return [int(path.name) for path in parent.glob("[0-9]*") if path.name.isdecimal()]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # the text cannot be a path
        return False


def last_array(results: Path) -> Submission | None:
    """Return the last array that was submitted for a results folder. Raises `StoreError` if its record is damaged."""
    for number in sorted(_numbers(results / SUBMISSIONS), reverse=True):
        folder = results / SUBMISSIONS / str(number)
        record = folder / RECORD
        if not record.is_file():
            continue
        try:
            found: dict[str, Any] = json.loads(record.read_text())
            name, tasks, overrides = str(found["config"]), int(found["tasks"]), list(map(str, found["overrides"]))
            if Path(name).name != name or tasks < 1:
                raise ValueError("is invalid")
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise StoreError(f"{record}: cannot be read; delete it, and submit the sweep again") from error
        return Submission(folder, name, overrides, tasks)
    return None


def missing_tasks(array: Submission, results: Path, *, trust: bool) -> list[int] | None:
    """Return the tasks of an array that have trials without a row; None if this needs user code that is not trusted.

    Raises `ConfigError` and `StoreError` if the snapshot cannot be read, or is another sweep than the folder's.
    """
    config = array.folder / array.config
    if not trust and read_config(config, array.overrides).names_user_code:
        return None
    planned = plan(load(config, array.overrides), results)
    return np.unique(planned.shards(array.tasks)[planned.unstored]).tolist()


def submit_missing(results: Path, options: Sequence[str]) -> str:
    """Submit the tasks of the last array that have missing trials and do not wait or run; return what was submitted.

    options: of sbatch, which replace those of the script. This imports the user code of the submission. Raises
    `StoreError` without an array, and `SubmitError`.
    """
    if (array := last_array(results)) is None:
        Folder(results).load()
        raise StoreError(f"{results}: no array was submitted for this folder; use `recover submit CONFIG --array N`")
    tasks = missing_tasks(array, results, trust=True) or []
    queued = queued_tasks(array.script)
    if ready := [task for task in tasks if task not in queued]:
        return f"{sbatch(array.script, [f'--array={as_ranges(ready)}', *options])}: tasks {as_ranges(ready)}"
    return f"{results}: {many(len(tasks), 'task')} with missing trials, {len(tasks)} of them wait or run"


def as_ranges(numbers: Iterable[int]) -> str:
    """Return increasing numbers in SLURM's format, such as 1-3,7."""
    runs = (list(run) for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]))
    ends = ([run[0][1], run[-1][1]][: len(run)] for run in runs)
    return ",".join("-".join(map(str, one)) for one in ends)
