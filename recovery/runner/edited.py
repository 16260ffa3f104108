"""Whether the files of a sweep's own code are still what its stored trials ran."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recovery.errors import ParameterError
from recovery.store import Grid
from recovery.store.folder import Folder
from recovery.user import fingerprints, user_names

MOST_MODULES = 8
"""Of a sweep whose stored code is compared with today's: any choice of them may be what a trial ran."""


def own_names(document: Mapping[str, Any]) -> set[str]:
    """The user's code that a stored document names, as `module:NAME`."""
    if not any(user_names(document)):
        return set()
    from recovery.config import own_code  # takes longer than all else that `status` does

    return own_code(dict(document))


def edited(grid: Grid) -> str:
    """How many stored trials ran other code of the user's than its files hold now, in words; '' where none did.

    Nothing is imported. Code of a notebook is stored with the sweep, and is not compared.
    """
    document = grid.sweep["config"]
    names = own_names(document)
    if not names or document.get("code") or len({name.partition(":")[0] for name in names}) > MOST_MODULES:
        return ""
    try:
        codes = fingerprints(names, [Path(document.get("folder", ".")), Path.cwd()])
    except ParameterError as error:
        return f"whether its own code was edited is not known here: {error}"
    count = len(Folder(grid.path).of_other_code(codes))
    words = (
        f"{count} stored trials ran other code of yours than there is now; `recover sweep --rerun-changed` runs them"
    )
    return f"{words} again" if count else ""
