"""Round files: one JSON file per round, written once and never changed.

A file has the number of trials of each grid cell up to the end of its round, so the last file is the whole plan. If
several processes plan a round, the first one writes its file and the others read it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from recovery.errors import StoreError
from recovery.methods.columns import LARGEST_INTEGER
from recovery.store.files import Damaged, listed, read_regular, refuse, sealed, unsealed, write_atomically
from recovery.store.parts import MOST_ROWS
from recovery.text import printable
from recovery.user import leaves

ROUNDS = "rounds"
Round = Mapping[str, Any]
"""round: its number, from 2. counts: grid cell id -> its trials so far, where they exceed those of the first round.
trials: all trials up to its end. budget, value: what it was planned from. until: the interim analysis. axes: the blocks
of axes that the round adds to the grid, if any. cells: all grid cells up to its end, if a round has added some."""
FIELDS = {"round": int, "budget": int, "trials": int, "value": str, "counts": dict, "until": dict}


def write_round(folder: Path, content: Round) -> None:
    """Write a round's file. If another process wrote it first, that file is kept, and no error is raised."""
    folder.mkdir(exist_ok=True)
    write_atomically(folder / f"{content['round']:02}.json", sealed(content, 1), replace=False)


def _is_round(content: Mapping[str, Any], name: str) -> bool:
    """Return whether a document has the fields that this program writes into a round's file of this name."""
    return (
        all(type(content.get(field)) is kind for field, kind in FIELDS.items())
        and name == f"{content['round']:02}.json"
        and all(type(count) is int and 0 < count <= MOST_ROWS for count in content["counts"].values())
        and all(abs(leaf) <= LARGEST_INTEGER for leaf in leaves(content) if isinstance(leaf, int))
    )


def read_rounds(folder: Path) -> list[Round]:
    """Return the rounds in order. Raises `StoreError` if one is damaged or cannot be read at present."""
    rounds, damaged = intact_rounds(folder)
    refuse(damaged)
    return rounds


def intact_rounds(folder: Path) -> tuple[list[Round], list[Damaged]]:
    """Return the rounds in order, and the damaged files. Raises `StoreError` if a file cannot be read at present."""
    rounds, damaged = [], []
    try:
        for path in listed(folder, "[0-9]*.json"):
            try:
                content = unsealed(read_regular(path))
                if not _is_round(content, path.name):
                    raise ValueError("is not a round that this program wrote")
                rounds.append(content)
            except FileNotFoundError:  # another process has moved the file to damaged/ since it was listed
                continue
            except (ValueError, RecursionError) as error:
                damaged.append(Damaged(path, printable(str(error))))
    # the files may be intact, for example with too many open files or a failing network file system
    except OSError as error:
        raise StoreError(f"{folder}: cannot be read: {error}") from error
    return sorted(rounds, key=lambda content: content["round"]), damaged


def counts(rounds: Sequence[Round]) -> Mapping[str, int]:
    """Return grid cell id -> trials after the last round, where they exceed those of the first round."""
    last: Mapping[str, int] = rounds[-1]["counts"] if rounds else {}
    return last


def added(rounds: Sequence[Round]) -> list[dict[str, Any]]:
    """Return the blocks of axes that the rounds have added to the grid."""
    return [block for content in rounds for block in content.get("axes", [])]
