"""Verdicts proved again by a machine that rounds nothing: balls around real numbers, and whole numbers."""
