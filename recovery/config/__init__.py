"""From YAML to a validated sweep, and from a sweep to its trials."""

from recovery.config.axes import user_code_choices
from recovery.config.header import ReportSpec
from recovery.config.load import find, load, load_shipped, read_config, shipped
from recovery.config.refinement import divided, refined
from recovery.config.sampling import Boundary, Even, Until
from recovery.config.sweep import Sweep, from_document
from recovery.config.tree import ConfigError, MissingFileError
from recovery.config.trials import Cell, SweepCells, Trial, Trials, trials_of
from recovery.config.user_axes import user_axes, user_code_in

__all__ = [
    "Boundary",
    "Cell",
    "ConfigError",
    "Even",
    "MissingFileError",
    "ReportSpec",
    "Sweep",
    "SweepCells",
    "Trial",
    "Trials",
    "Until",
    "divided",
    "find",
    "from_document",
    "load",
    "load_shipped",
    "read_config",
    "refined",
    "shipped",
    "trials_of",
    "user_axes",
    "user_code_choices",
    "user_code_in",
]
