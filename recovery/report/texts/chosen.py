"""Which columns of a file selectors chose most often, in words: as P3's Tables 7 and 8 have it."""

from collections import Counter
from functools import partial

import numpy as np

from recovery.report.diagram import Diagram
from recovery.report.diagram.diagram import has

COLUMN = "chosen"
"""The measured column: names, the most important one first."""
MOST = 10


def chosen_rows(diagram: Diagram) -> list[dict[str, str]]:
    """A line for each combination of the axes that vary: the columns chosen most often, each with its count of trials.

    No line where nothing was chosen by name.
    """
    frame = diagram.frame
    if COLUMN not in frame:
        return []
    frame = frame[(frame["status"] == "ok") & frame[COLUMN].notna()]
    axes = [axis for axis in diagram.sweep.axes if frame[axis].nunique(dropna=False) > 1]
    lines = []
    for values in dict.fromkeys(diagram.sweep.combinations(axes)):
        here = np.logical_and.reduce([np.ones(len(frame), np.bool_), *map(partial(has, frame), axes, values)])
        counts = Counter(name for names in frame[COLUMN][here] for name in names.split(", ") if name)
        often = ", ".join(f"{name} ({count})" for name, count in counts.most_common(MOST))
        named = {axis.split(".")[-1]: str(value) for axis, value in zip(axes, values, strict=True)}
        lines.append({**named, "trials": str(here.sum()), "chosen most often": often or "none"})
    return lines if len(frame) else []
