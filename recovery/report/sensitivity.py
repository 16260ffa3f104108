"""How the threshold n/d depends on the tolerance below which a deviation or a distance counts as recovery."""

from dataclasses import replace

from recovery.report.diagram import Diagram
from recovery.report.likelihood import Counts
from recovery.report.quantity import Quantity, is_measured
from recovery.report.threshold import Threshold, fit
from recovery.report.transition import poolable, ratio_counts

TOLERANCES = [10.0**k for k in range(-8, 2)]
COLUMNS = ("max_deviation", "absolute_distance", "test_distance")


def sensitivity(diagram: Diagram) -> tuple[str, list[list[tuple[float, Threshold]]]]:
    """(column, for each panel (tolerance, threshold)); no panels where no such column was measured over n and d."""
    asked = diagram.quantity.column
    names = [asked] if asked in COLUMNS else [name for name in COLUMNS if name in diagram.frame]
    names = [name for name in names if is_measured(diagram.frame, name)]
    if not names:
        return "", []
    events = [replace(diagram, quantity=Quantity(names[0], tolerance)) for tolerance in TOLERANCES]
    if not poolable(events[0]):
        return "", []
    found: list[list[tuple[float, Threshold]]] = []
    for i in range(len(diagram.panels)):
        series = []
        last: tuple[bytes, Threshold] | None = None
        for event in events:
            counts = ratio_counts(event.panels[i].cells)
            if last is None or last[0] != _fingerprint(counts):
                last = (_fingerprint(counts), fit(counts))
            series.append((float(event.quantity.at_most or 0.0), last[1]))
        found.append(series)
    return names[0], found


def _fingerprint(counts: Counts) -> bytes:
    return counts.yes.tobytes() + counts.no.tobytes()
