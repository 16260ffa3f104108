"""Features beyond phase diagrams: each module belongs to one command, which alone imports it."""
