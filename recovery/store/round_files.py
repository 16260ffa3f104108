"""Round files: one JSON file per round, written once and never changed.

A file has the number of trials of each grid cell up to the end of its round, so the last file is the whole plan. If
several processes plan a round, the first one writes its file and the others read it.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from recovery.errors import StoreError
from recovery.store.parts import Damaged, document_checksum, read_regular, write_atomically

ROUNDS = "rounds"
MOST_BYTES = 64 * 2**20
Round = Mapping[str, Any]
"""round: its number, from 2. counts: grid cell id -> its trials so far, where they exceed those of the first round.
trials: all trials up to its end. budget, value, based_on, slices: what it was planned from."""


def write_round(folder: Path, content: Round) -> bool:
    """Write a round's file; return False if another process wrote it first."""
    folder.mkdir(exist_ok=True)
    name, data = encode_round(content)
    return write_atomically(folder / name, data, replace=False)


def encode_round(content: Round) -> tuple[str, bytes]:
    """Return the name and the bytes of a round's file."""
    data = {**content, "checksum": document_checksum(content)}
    return f"{content['round']:02}.json", f"{json.dumps(data, indent=1)}\n".encode()


def read_rounds(folder: Path) -> tuple[list[Round], list[Damaged]]:
    """Return the rounds in order, and the damaged files. Raises `StoreError` if a file cannot be read at present."""
    rounds, damaged = [], []
    try:
        for path in sorted(folder.glob("[0-9]*.json")):
            try:
                content = json.loads(read_regular(path, MOST_BYTES))
                intact = isinstance(content, dict) and content.pop("checksum", None) == document_checksum(content)
            except FileNotFoundError:  # moved to damaged/ since it was listed
                continue
            except (ValueError, RecursionError):
                intact = False
            if intact:
                rounds.append(content)
            else:
                damaged.append(Damaged(path, "does not match its checksum"))
    except OSError as error:  # not damage: too many open files, a network file system
        raise StoreError(f"{folder}: cannot be read: {error}") from error
    return sorted(rounds, key=lambda content: content["round"]), damaged


def counts(rounds: Sequence[Round]) -> Mapping[str, int]:
    """Return grid cell id -> trials after the last round, where they exceed those of the first round."""
    last: Mapping[str, int] = rounds[-1]["counts"] if rounds else {}
    return last
