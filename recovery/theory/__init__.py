"""Closed-form curves, each with its source."""
