"""Placement of further trials: a transition estimated from few trials, and the grid cells that sharpen it most."""
