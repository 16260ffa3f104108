"""The architectures that can be trained, by name."""

from recovery.programs.architecture import ARCHITECTURES

TRAINED = {name: architecture for name, architecture in ARCHITECTURES.items() if "trained" in architecture.uses}
