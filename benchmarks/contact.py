"""Every config, run small, in every format, with every figure that it has: contact sheets to look at, and which texts
are cut.

    python -m benchmarks.contact [NAME ...]

Sweeps are thinned to a few values of each axis and three replicates, and stopped after `SECONDS`; what is missing
stays a hole at its place. Grids, pictures, reports and sheets go to results/contact, where a second run goes on with
the sweeps. What fails is named and counted, and the rest goes on.
"""

import copy
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from PIL import Image

from recovery.config import Sweep, load_shipped
from recovery.config.values import listed
from recovery.report.claims import Analysis
from recovery.report.command import report
from recovery.report.diagram import Diagram
from recovery.report.figures import figures_beside, main_figure, render
from recovery.report.formats import REPORT
from recovery.store import read

SECONDS = 15
"""A sweep's: 61 configs are to take less than half an hour."""
MOST = {"n": 10, "d": 5}
"""Values of an axis that are kept; of others nine."""
LARGEST = {"n": 120, "d": 30, "method.epochs": 300}
METHOD = {"epochs": 300, "draws": 200, "record": 5}
"""The largest settings of a method."""
SELECT = {"penalties": [0.01], "rates": [0.02], "neurons": [20], "epochs": [200]}
"""The grid of method `select`."""
DOTS = 80
LEAST = 0.3
"""Inches of width and height of a panel below which nobody can read it."""
SHEET = (1700, 2200)
GAP = 8
BAR = "<colorbar>"
"""Matplotlib's label of the axes of a colour bar."""


def thinned(document: dict[str, Any]) -> dict[str, Any]:
    """A config with few values on each axis, few replicates and short training."""
    document = copy.deepcopy(document)
    document["replicates"] = min(document["replicates"], 3)
    method = document.get("method") or {}
    for name, most in METHOD.items():
        if isinstance(method.get(name), int):
            method[name] = min(method[name], most)
    if isinstance(method, dict) and method.get("kind") == "select":
        method |= SELECT
    if "sampling" in document:
        document["sampling"] |= {"budget": 1200, "rounds": 4}
    axes = document.get("axes", {})
    for block in axes if isinstance(axes, list) else [axes]:
        for name, spec in block.items():
            if name not in ("zip", "include", "exclude") and not (isinstance(spec, dict) and "times" in spec):
                block[name] = _few([value for value, _ in listed(spec)], MOST.get(name, 9), LARGEST.get(name))
    return document


def _few(values: list[Any], most: int, largest: float | None) -> list[Any]:
    kept = [value for value in values if largest is None or value <= largest] or values[:2]
    return [kept[i] for i in np.unique(np.linspace(0, len(kept) - 1, min(most, len(kept))).round().astype(int))]


@contextmanager
def texts_drawn() -> Iterator[list[Text]]:
    """The texts that matplotlib draws inside the block."""
    found: list[Text] = []
    draw = Text.draw

    def noting(self: Text, renderer: Any) -> None:
        if self.get_visible() and self.get_text().strip():
            found.append(self)
        draw(self, renderer)

    Text.draw = noting  # type: ignore[method-assign,assignment]
    try:
        yield found
    finally:
        Text.draw = draw  # type: ignore[method-assign]


def faults(figure: Figure) -> list[str]:
    """Texts that leave the canvas, pairs of texts that overlap or touch side by side, and panels too small to read."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]  # lets the layout settle
    with texts_drawn() as found:
        canvas.draw()  # type: ignore[no-untyped-call]
    width, height = canvas.get_width_height()
    boxes = [(text.get_text(), _box(text, canvas)) for text in dict.fromkeys(found)]
    cut = [
        f"cut: {text!r}"
        for text, box in boxes
        if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1
    ]
    panels = [ax.get_window_extent() for ax in figure.axes if ax.axison and ax.get_label() != BAR]
    sizes = [(box.width / figure.dpi, box.height / figure.dpi) for box in panels]
    cut += [f"sliver: a panel of {wide:.2f} x {high:.2f} inches" for wide, high in sizes if min(wide, high) < LEAST]
    for (one, a), (other, b) in combinations(boxes, 2):
        across, up = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        if across > -2 and up > 1:
            cut.append(f"overlap: {one!r} and {other!r}")
    return cut


def _box(text: Text, canvas: FigureCanvasAgg) -> Bbox:
    """The pixels of a text, without the empty lines below it that keep room for another."""
    box = text.get_window_extent(canvas.get_renderer())  # type: ignore[no-untyped-call]
    words = text.get_text()
    empty = len(words) - len(words.rstrip("\n"))
    return Bbox([[box.x0, box.y0 + box.height * empty / (words.count("\n") + 1)], [box.x1, box.y1]])


def sheets(pictures: Sequence[Path]) -> Iterator[Image.Image]:
    """Yield the pictures side by side on as many sheets as they need."""
    page: list[tuple[Image.Image, tuple[int, int]]] = []
    x = y = high = 0
    for picture in [*(Image.open(path).convert("RGB") for path in pictures), None]:
        if picture and x + picture.width > SHEET[0]:
            x, y, high = 0, y + high + GAP, 0
        if page and (picture is None or y + picture.height > SHEET[1]):
            sheet = Image.new("RGB", (SHEET[0], max(top + one.height for one, (_, top) in page)), "#cccccc")
            for one, place in page:
                sheet.paste(one, place)
            yield sheet.quantize(128)
            page, x, y, high = [], 0, 0, 0
        if picture:
            page.append((picture, (x, y)))
            x, high = x + picture.width + GAP, max(high, picture.height)


def run(sweep: Sweep, config: Path, folder: Path) -> None:
    """Run a thinned sweep until it has stored something, on a busy machine for longer."""
    config.write_text(json.dumps(thinned(sweep.document), default=str))
    command = [sys.executable, "-m", "cli", "sweep", str(config), "--out", str(folder), "--jobs", "1", "--quiet"]
    for seconds in (SECONDS, 4 * SECONDS, 16 * SECONDS):
        subprocess.run([*command, "--max-time", f"{seconds}s"], check=False, capture_output=True)
        if any((folder / "trials").glob("*")):
            return


def reported(name: str, kind: str, out: Path) -> None:
    """Write the report of a sweep in one format."""
    with redirect_stdout(StringIO()):
        report([out / "grids" / name], kind, None, out / "reports" / f"{name}.{kind}")


def drawn(name: str, out: Path, pictures: list[Path]) -> int:
    """Draw every figure of a sweep, add it to the pictures, and return how many texts are wrong."""
    analysis = Analysis(Diagram.of(read(out / "grids" / name)))
    count = 0
    for suffix, drawing in {"": main_figure(analysis)[1], **figures_beside(analysis)}.items():
        figure = drawing.draw()
        picture = out / "pictures" / f"{name}{'-' if suffix else ''}{suffix}.png"
        picture.write_bytes(render(figure, "png", DOTS))
        pictures.append(picture)
        wrong = faults(figure)
        count += len(wrong)
        print("\n  ".join([picture.stem, *wrong]), flush=True)
    return count


def attempt(name: str, function: Callable[..., int | None], *arguments: Any) -> int:
    """Return the number of faults; an exception is printed and counts as one."""
    try:
        return function(*arguments) or 0
    except Exception as error:
        print(f"{name} failed: {type(error).__name__}: {error}", flush=True)
        return 1


def main(out: Path, names: Sequence[str]) -> int:
    """Run, draw, measure and paste; return the number of faults."""
    for folder in (out / "grids", out / "pictures", out / "reports"):
        folder.mkdir(parents=True, exist_ok=True)
    sweeps, missing = load_shipped(names or None)
    for one in missing:
        print(f"{one.name}: left out, its data file is not there")
    count, pictures = 0, list[Path]()
    for name, sweep in {sweep.name: sweep for sweep in sweeps}.items():
        run(sweep, out / "grids" / f"{name}.json", out / "grids" / name)
        count += sum(attempt(f"{name}, {kind}", reported, name, kind, out) for kind in REPORT)
        count += attempt(f"{name}, figures", drawn, name, out, pictures)
    for i, sheet in enumerate(sheets(pictures)):
        sheet.save(out / f"sheet-{i + 1}.png", optimize=True)
    print(f"{len(sweeps)} configs, {len(pictures)} figures, {count} texts cut or overlapping, or reports that failed")
    return count


if __name__ == "__main__":
    sys.exit(main(Path("results/contact"), sys.argv[1:]) > 0)
