"""Where the next trials of a transition go: its estimate from few trials, and the cells that sharpen it most."""
