"""Gradient-descent training of small networks."""
