"""How the threshold n/d depends on the tolerance below which a deviation or a distance counts as recovery."""

from recovery.report.diagram.diagram import Diagram
from recovery.report.diagram.quantity import is_measured
from recovery.report.statistics.likelihood import Counts
from recovery.report.statistics.threshold import Threshold, fit
from recovery.report.statistics.transition import ratio_counts, thinned

TOLERANCES = [10.0**k for k in range(-8, 2)]
COLUMNS = ("max_deviation", "absolute_distance", "test_distance")


def sensitivity(diagram: Diagram) -> tuple[str, list[list[tuple[float, Threshold]]]]:
    """(column, for each panel (tolerance, threshold)); no panels where no such column was measured over n and d.
    A panel too fine to be fitted so often is thinned (`transition.thinned`)."""
    asked = diagram.quantity.column
    names = [asked] if asked in COLUMNS else [name for name in COLUMNS if name in diagram.frame]
    names = [name for name in names if is_measured(diagram.frame, name, diagram.grid.columns)]
    if not names or {diagram.layout.x, diagram.layout.y} != {"n", "d"}:
        return "", []
    tallies = diagram.cells.tallies(names[0], TOLERANCES)
    found: list[list[tuple[float, Threshold]]] = []
    for panel in diagram.panels:
        cells = thinned(panel).cells[["n", "d"]]
        series = []
        last: tuple[bytes, Threshold] | None = None
        for tolerance, tally in zip(TOLERANCES, tallies, strict=True):
            counts = ratio_counts(cells.join(tally))
            if last is None or last[0] != _fingerprint(counts):
                last = (_fingerprint(counts), fit(counts))
            series.append((tolerance, last[1]))
        found.append(series)
    return names[0], found


def _fingerprint(counts: Counts) -> bytes:
    return counts.yes.tobytes() + counts.no.tobytes()
