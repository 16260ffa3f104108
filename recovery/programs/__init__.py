"""Convex programs as data, and what can be proved about a candidate solution."""
