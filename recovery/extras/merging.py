"""Merging of results folders of one sweep, such as shards that ran on different machines: a copy of their parts.

Sources are only read. Parts are named by their content, so after a kill the same command continues without loss.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from recovery.errors import StoreError
from recovery.store.files import write_atomically, writing
from recovery.store.folder import Folder, shown_differences
from recovery.store.grid import read
from recovery.store.parts import list_parts


def merge_folders(paths: Sequence[Path], out: Path) -> Mapping[Path, int]:
    """Copy the parts and rounds of `paths` into the new or existing folder `out`; return the trials of each.

    Raises `StoreError`, before anything is written, for folders of different sweeps, contradictory rounds, and damage.
    """
    into, places = Folder(out), {path.resolve(): path for path in paths if path.resolve() != out.resolve()}
    grids = [read(path) for path in [*([out] if into.exists() else []), *places.values()]]
    first, longest = grids[0], max(grids, key=lambda grid: len(grid.rounds))
    for grid in grids:
        if grid.left_out:
            text = str(grid.left_out).removesuffix(" are left out")
            why = "it has rows of another sweep"
            raise StoreError(f"{grid.path} is not merged, because {why}.\n{text}; move them away")
        # the folder of a config, where its code and files are, differs between machines
        if shown := shown_differences(*({**one.sweep["config"], "folder": ""} for one in (first, grid))):
            text = f"{grid.path} and {first.path} are different sweeps; nothing was merged:"
            raise StoreError("\n".join([text, *shown]))
        if list(grid.rounds) != list(longest.rounds[: len(grid.rounds)]):
            raise StoreError(
                f"{grid.path} and {longest.path} planned their rounds from different rows; nothing was merged. Merge "
                "the shards of a sweep in rounds before its second round"
            )
    if not into.exists():
        into.create(first.sweep)
    into.prepare([])  # reading has refused damaged parts
    for planned in longest.rounds:
        into.write_round(planned)
    for path in places.values():
        for part in list_parts(path / into.trials.name):
            with writing(into.path):
                write_atomically(into.trials / part.name, part.read_bytes())
    return {grid.path: len(grid.table) for grid in grids if grid.path.resolve() in places}
