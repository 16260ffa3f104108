"""From YAML to a validated sweep, and from a sweep to its trials."""

from recovery.config.axes import is_user_axis
from recovery.config.components import user_code_in
from recovery.config.header import ReportSpec
from recovery.config.load import find, load, load_shipped, shipped
from recovery.config.refinement import divided, refined
from recovery.config.sampling import Even, Until
from recovery.config.sweep import Sweep, from_document, measuring
from recovery.config.tree import ConfigError
from recovery.config.trials import Cell, Trial, Trials
