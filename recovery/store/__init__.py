"""Where rows live: immutable Parquet parts under one folder, and the sweep.json that says what they are."""

from recovery.store.grid import Grid, read

__all__ = ["Grid", "read"]
