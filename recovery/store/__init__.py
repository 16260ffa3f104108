"""Results folders: immutable Parquet parts with the rows, and sweep.json, which describes the sweep."""

from recovery.store.grid import Grid, read

__all__ = ["Grid", "read"]
