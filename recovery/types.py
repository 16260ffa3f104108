"""The types that signatures share. Real arrays are float64 unless a docstring says otherwise."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]
Index = NDArray[np.intp]
Codes = NDArray[np.integer[Any]]
"""Numbers of values in a list, in as few bytes as they need."""
Rng = np.random.Generator
Scalar = bool | int | float | str | None
"""A plain value: of a coordinate, or of a measured column."""
