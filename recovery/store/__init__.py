"""The Parquet dataset of a sweep and where it came from."""
