"""Solvers of convex programs: each takes a program and returns a solution."""
