"""What a phase diagram does not need: each command's own, imported by that command alone."""
