"""From YAML to a validated sweep to trials."""

from recovery.config.header import (
    Claim,
    CurveClaim,
    NamedCurve,
    OrderClaim,
    RatioCurve,
    Statement,
    StyleSpec,
    TableClaim,
    ThresholdClaim,
    build_style,
)
from recovery.config.load import find, from_document, load, load_shipped, own_code, shipped
from recovery.config.problems import ConfigError, MissingFileError
from recovery.config.sampling import Boundary
from recovery.config.sweep import Cell, Sweep, Trial

__all__ = [
    "Boundary",
    "Cell",
    "Claim",
    "ConfigError",
    "CurveClaim",
    "MissingFileError",
    "NamedCurve",
    "OrderClaim",
    "RatioCurve",
    "Statement",
    "StyleSpec",
    "Sweep",
    "TableClaim",
    "ThresholdClaim",
    "Trial",
    "build_style",
    "find",
    "from_document",
    "load",
    "load_shipped",
    "own_code",
    "shipped",
]
