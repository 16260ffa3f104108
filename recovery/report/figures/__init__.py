"""Diagrams and what was recorded beside them, drawn by matplotlib."""
