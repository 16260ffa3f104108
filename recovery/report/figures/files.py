"""Figures as files."""

from io import BytesIO
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from recovery.report.figures.style import FILES


def render(figure: Figure, kind: str, dots: int | None = None) -> bytes:
    """Return the figure as a png, svg or pdf file, at print resolution or `dots` per inch.

    The same figure always gives the same bytes.
    """
    dates: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    buffer = BytesIO()
    with matplotlib.rc_context(FILES):
        figure.savefig(buffer, format=kind, metadata=dates.get(kind), dpi=dots or FILES["savefig.dpi"])
    return buffer.getvalue()
