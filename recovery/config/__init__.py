"""From YAML to a validated sweep, and from a sweep to its trials."""

from recovery.config.axes import is_user_axis as is_user_axis
from recovery.config.components import user_code_in as user_code_in
from recovery.config.header import ReportSpec as ReportSpec
from recovery.config.load import find as find, load as load, load_shipped as load_shipped, shipped as shipped
from recovery.config.refinement import divided as divided, refined as refined
from recovery.config.sampling import Even as Even, Until as Until
from recovery.config.sweep import Sweep as Sweep, from_document as from_document, measuring as measuring
from recovery.config.tree import ConfigError as ConfigError
from recovery.config.trials import Cell as Cell, Trial as Trial, Trials as Trials
