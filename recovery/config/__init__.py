"""From YAML to a validated sweep to trials."""

from recovery.config.cells import Cell, SweepCells, Trial, Trials, trials_of
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
from recovery.config.header import ExpressionCurve, NamedCurve, PointsCurve, RatioCurve, StyleSpec, build_style
from recovery.config.load import find, from_document, load, load_shipped, own_code, shipped
from recovery.config.own_axes import own_axes
from recovery.config.problems import ConfigError, MissingFileError
from recovery.config.sampling import Boundary, Even, Until
from recovery.config.sweep import Sweep

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
    "own_axes",
    "own_code",
    "shipped",
    "trials_of",
]
