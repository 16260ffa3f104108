"""Methods, which attempt recovery on an instance and return measurements: one file per method."""
