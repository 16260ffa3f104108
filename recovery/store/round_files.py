"""What the rounds of a boundary sweep ask for: one small JSON file a round, written once, never changed.

A file says how many trials each cell has asked for by the end of its round, so the last one is the whole plan. The
first writer of a round wins and all others read what it wrote.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from recovery.store.parts import Damaged, document_checksum, read_regular, write_atomically

ROUNDS = "rounds"
LARGEST_BYTES = 64 * 2**20
Round = Mapping[str, Any]
"""round: its number, from 2; counts: id of a cell -> its trials so far, where they are more than the first round's;
budget, value, trials (after it), based_on, slices: what it was planned from."""


def write_round(folder: Path, content: Round) -> bool:
    """Add a round; False if another process was first."""
    folder.mkdir(exist_ok=True)
    name, data = encode_round(content)
    return write_atomically(folder / name, data, replace=False)


def encode_round(content: Round) -> tuple[str, bytes]:
    """The name and the bytes of its file."""
    data = {**content, "checksum": document_checksum(content)}
    return f"{content['round']:02}.json", f"{json.dumps(data, indent=1)}\n".encode()


def read_rounds(folder: Path) -> tuple[list[Round], list[Damaged]]:
    """The rounds in their order, and the files that are not as they were written."""
    rounds, damaged = [], []
    for path in sorted(folder.glob("[0-9]*.json")):
        try:
            content = json.loads(read_regular(path, LARGEST_BYTES))
            whole = isinstance(content, dict) and content.pop("checksum", None) == document_checksum(content)
        except FileNotFoundError:  # set aside since it was listed
            continue
        except (OSError, ValueError, RecursionError):
            whole = False
        if whole:
            rounds.append(content)
        else:
            damaged.append(Damaged(path, "is not the round that was written"))
    return sorted(rounds, key=lambda content: content["round"]), damaged


def counts(rounds: Sequence[Round]) -> Mapping[str, int]:
    """Id of a cell -> the trials that the rounds ask of it, where they are more than the first round's."""
    asked: Mapping[str, int] = rounds[-1]["counts"] if rounds else {}
    return asked
