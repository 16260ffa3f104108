"""The types that signatures share. Real arrays are float64 unless a docstring says otherwise."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]
Index = NDArray[np.intp]
Rng = np.random.Generator
Scalar = bool | int | float | str | None
"""A plain value: of a coordinate, or of a measured column."""
