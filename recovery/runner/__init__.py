"""Runs the missing trials of a sweep: one trial, batches of trials, workers, and the run that stores their rows."""
