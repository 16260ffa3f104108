"""Figures as files: their formats, and what each needs."""

import re
import shutil
from io import BytesIO
from typing import Any

import matplotlib
import numpy as np
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure

from recovery.errors import ReportError
from recovery.report.figures.style import FILES

MOST_AREAS = 10_000
"""Panels with more grid cells than this are embedded in vector files as bitmaps."""


def render(figure: Figure, kind: str, dots: int | None = None) -> bytes:
    """Return the figure as a png, svg, pdf, eps or pgf file, at print resolution or `dots` per inch.

    The same figure always gives the same bytes, so the date of an eps file is removed. Raises `ReportError` as `_pgf`.
    """
    if kind == "pgf":
        return _pgf(figure)
    dates: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    buffer = BytesIO()
    with matplotlib.rc_context(FILES):
        figure.savefig(buffer, format=kind, metadata=dates.get(kind), dpi=dots or FILES["savefig.dpi"])
    return re.sub(rb"%%CreationDate: .*\n", b"", buffer.getvalue(), count=1) if kind == "eps" else buffer.getvalue()


def _pgf(figure: Figure) -> bytes:
    """Return the figure as commands of LaTeX, with colour bars as areas, because they cannot contain pixels.

    Raises `ReportError` without LaTeX, which measures the text, and for a map with more than `MOST_AREAS` grid cells.
    """
    from matplotlib.backends.backend_pgf import LatexError  # imports slowly

    latex = next((name for name in ("pdflatex", "lualatex", "xelatex") if shutil.which(name)), None)
    if latex is None:
        raise ReportError("a pgf file needs LaTeX: install pdflatex with the package pgf, or choose pdf")
    meshes = [mesh for mesh in figure.findobj(QuadMesh) if mesh.get_rasterized()]
    if any(np.size(np.asarray(mesh.get_array())) > MOST_AREAS for mesh in meshes):
        raise ReportError(f"a pgf file has no pixels, and a map has more than {MOST_AREAS} grid cells; choose pdf")
    for mesh in meshes:
        mesh.set_rasterized(False)
    buffer = BytesIO()
    try:
        with matplotlib.rc_context({**FILES, "pgf.texsystem": latex}):
            figure.savefig(buffer, format="pgf")
    except LatexError as error:
        reason = next((line for line in error.latex_output.splitlines() if line.startswith("!")), str(error))
        raise ReportError(f"{latex} cannot make a pgf file ({reason}); choose pdf") from error
    return buffer.getvalue()
