"""From YAML to a validated sweep, and from a sweep to its trials."""

from recovery.config.axes import user_code_choices
from recovery.config.claims import (
    BinomialClaim,
    BoundClaim,
    Claim,
    CurveClaim,
    MonotoneClaim,
    OrderClaim,
    Statement,
    TableClaim,
    ThresholdClaim,
    ValueClaim,
)
from recovery.config.header import (
    ExpressionCurve,
    NamedCurve,
    PointsCurve,
    RatioCurve,
    ReportSpec,
    StyleSpec,
    build_style,
)
from recovery.config.load import find, load, load_shipped, read_config, shipped
from recovery.config.sampling import Boundary, Even, Until
from recovery.config.sweep import Sweep, from_document
from recovery.config.tree import ConfigError, MissingFileError
from recovery.config.trials import Cell, SweepCells, Trial, Trials, trials_of
from recovery.config.user_axes import user_axes, user_code_in

__all__ = [
    "BinomialClaim",
    "BoundClaim",
    "Boundary",
    "Cell",
    "Claim",
    "ConfigError",
    "CurveClaim",
    "Even",
    "ExpressionCurve",
    "MissingFileError",
    "MonotoneClaim",
    "NamedCurve",
    "OrderClaim",
    "PointsCurve",
    "RatioCurve",
    "ReportSpec",
    "Statement",
    "StyleSpec",
    "Sweep",
    "SweepCells",
    "TableClaim",
    "ThresholdClaim",
    "Trial",
    "Trials",
    "Until",
    "ValueClaim",
    "build_style",
    "find",
    "from_document",
    "load",
    "load_shipped",
    "read_config",
    "shipped",
    "trials_of",
    "user_axes",
    "user_code_choices",
    "user_code_in",
]
