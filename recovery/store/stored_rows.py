"""What a run needs to know of the stored rows: which trials have one, its status, its time and its code."""

from collections.abc import Collection, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from recovery.store.parts import Damaged, makers, merge, read_all

COLUMNS = ("trial_id", "status", "started_at", "seconds", "own_code")


class StoredRows:
    """The rows in a folder of parts, read as far as `COLUMNS`. Each part is read once, because parts never change.

    rows: one per trial. damaged: parts whose bytes are not those that were written. Raises `StoreError`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._parts = folder, dict[Path, pa.Table | Damaged]()
        self.refresh()

    def refresh(self) -> None:
        """Read the parts that are new since the last call."""
        self._parts = read_all(self._folder, COLUMNS, known=self._parts)
        self.rows = merge([part for part in self._parts.values() if isinstance(part, pa.Table)])

    @property
    def damaged(self) -> Sequence[Damaged]:
        return [part for part in self._parts.values() if isinstance(part, Damaged)]

    def of_other_plans(self, digest: str) -> list[Path]:
        """Return the parts that were not written under the plan with this digest alone."""
        tables = [(path, part) for path, part in self._parts.items() if isinstance(part, pa.Table)]
        return [path for path, table in tables if {maker.get("digest") for maker in makers(table)} != {digest}]

    def stale(self, codes: Collection[str]) -> set[str]:
        """Return the trials that ran user code and have no row whose hash of that code is in `codes`."""
        tables = [part for part in self._parts.values() if isinstance(part, pa.Table)]
        rows = pa.concat_tables(tables) if tables else self.rows
        rows = rows.filter(pc.is_valid(rows["own_code"]))
        same = pc.is_in(rows["own_code"], pa.array(sorted(codes), pa.string()))
        stale, current = (rows.filter(mask)["trial_id"].to_pylist() for mask in (pc.invert(same), same))
        return set(stale).difference(current)
