"""Types shared by signatures. Real arrays are float64 unless a docstring says otherwise."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]
Index = NDArray[np.intp]
EPS = float(np.finfo(float).eps)
"""Distance of 1 from the next float64."""
Codes = NDArray[np.integer[Any]]
"""Codes of a categorical column: indices into its values, in a compact integer type."""
Rng = np.random.Generator
Scalar = bool | int | float | str | None
"""A plain value of a coordinate or of a measured column."""
