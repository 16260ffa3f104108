"""Runs a sweep: what is missing, in batches, on workers, a row for every trial."""
