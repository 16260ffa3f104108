"""Algorithms for programs: a program in, a solution out."""
