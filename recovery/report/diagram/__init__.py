"""A phase diagram as data: cells, layout, the quantity shown, its scale, and the theory in its plane."""
