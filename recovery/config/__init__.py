"""From YAML to a validated sweep to trials."""
