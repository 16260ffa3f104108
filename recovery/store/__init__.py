"""Results folders: immutable Parquet parts with the rows, sweep.json, which describes the sweep, and its rounds."""

from recovery.store.grid import Grid, read

__all__ = ["Grid", "read"]
