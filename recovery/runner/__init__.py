"""Runs what a sweep still lacks: one trial, batches of trials, workers, and the sweep that stores their rows."""
