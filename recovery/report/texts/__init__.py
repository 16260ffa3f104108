"""Reports as text: the map of a terminal, tables."""
