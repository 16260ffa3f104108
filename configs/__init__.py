"""The sweeps that ship with the program, one YAML file a figure or table."""
