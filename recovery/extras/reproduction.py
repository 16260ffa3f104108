"""The plan of a shipped figure in its results folder."""

from pathlib import Path

from recovery.config import Even, from_document, load
from recovery.runner.plan import Plan, plan
from recovery.store.folder import Folder


def figure_plan(name: str, out: Path, most: int | None = None) -> Plan:
    """Plan at most `most` replicates per grid cell (None: all), but not fewer than the folder was planned with before.

    Raises `StoreError` if the folder `out` belongs to another sweep.
    """
    sweep, folder = load(name), Folder(out)
    before = from_document(folder.load()["config"]).replicates if folder.exists() else 0
    wanted = max(min(most or sweep.replicates, sweep.replicates), before)
    if wanted != sweep.replicates and isinstance(sweep.sampling, Even):
        sweep = load(name, [f"replicates={wanted}"])
    return plan(sweep, out)
