"""Convex programs of two-layer networks, and certificates about them; plain arrays, no solver."""
