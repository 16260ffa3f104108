"""Closed-form theory: one file a result, and `CURVES`, those that a report can draw by name over (n, d)."""

from recovery.theory.curve import Curve
from recovery.theory.wendel import wendel

CURVES: dict[str, Curve] = {
    curve.name: curve
    for curve in [
        Curve("wendel", "Wendel's law: half-spaces", "Wendel 1962; Cover 1965", wendel),
    ]
}
