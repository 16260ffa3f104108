"""Rows that cannot be stored, or never come, stop the sweep; a trial is judged by what it does in a fresh process."""
