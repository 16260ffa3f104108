"""Stored figures as a gallery shows them: their pictures, their claims, how much of each is stored, what it took."""

from collections import Counter
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from PIL import Image

from recovery.config import Even, MissingFileError, load
from recovery.errors import RecoverError
from recovery.extras.reproduction import Figure
from recovery.report.claims import Analysis
from recovery.report.claims.result import ClaimResult
from recovery.report.diagram import Diagram
from recovery.report.figures import drawings, render
from recovery.runner.plan import Plan
from recovery.store import read
from recovery.types import Index

PICTURES = "pictures"
DOTS = 220
SMALL = (400, 280)
"""Pixels of a thumbnail: twice what the site gives it, for screens with small pixels."""
COLOURS = 128
"""Of a picture, which is a third as large as with all."""
"""Verdict on a claim -> head of the column that counts it."""


@dataclass(frozen=True)
class Extent:
    """How much of a shipped config is stored: rows, those of them that are measurements, and in words."""

    full: int
    stored: int = 0
    ok: int = 0
    words: str = "not run"

    @classmethod
    def of(cls, plan: Plan, replicates: int) -> "Extent":
        """Of a plan of all that is shipped, with so many replicates; by the trials' ids, so that others count for
        nothing."""
        cells = plan.trials.counts(~plan.unstored)
        return cls(plan.sweep.size, int(cells.sum()), plan.counts["ok"], _in_words(plan, cells, replicates))


def _in_words(plan: Plan, cells: Index, replicates: int) -> str:
    stored, low, high = int(cells.sum()), int(cells.min()), int(cells.max())
    if not stored:
        return "not run"
    if not plan.unstored.any() and plan.next_round is None:
        return "full"
    share = f"unfinished: {100 * stored // plan.sweep.size or 'under 1'} % of its trials"
    if not isinstance(plan.sweep.sampling, Even):
        return share
    if low == high:
        return f"reduced: {low} of {replicates} replicates"
    return f"{share}, {low} to {high} of {replicates} replicates"


@dataclass(frozen=True)
class Shown:
    """What is stored of a figure; no pictures where nothing can be drawn, and then a `remark` if anything is stored."""

    name: str
    title: str
    source: str
    folder: Path
    size: Extent
    seconds: float = 0.0
    command: str = ""
    pictures: tuple[tuple[str, str], ...] = ()
    claims: tuple[ClaimResult, ...] = ()
    remark: str = ""

    @property
    def verdicts(self) -> Counter[str]:
        return Counter(claim.verdict for claim in self.claims)


def show(name: str, place: Path) -> Shown:
    """What is stored in `place`/NAME of a shipped config, its pictures drawn into `place`.

    A grid that cannot be read or drawn is an entry that says why.
    """
    folder = place / name
    try:
        sweep = load(name)
    except MissingFileError as error:
        remark = f"its data file is not there; `recover check {name}` says what it must hold"
        return Shown(name, error.title, error.source, folder, Extent(0, words="needs a file"), remark=remark)
    head, size = (name, sweep.title, sweep.source, folder), Extent(sweep.size)
    if not folder.is_dir():
        return Shown(*head, size)
    try:
        size = Extent.of(Figure(name, folder).plan(), sweep.replicates)
        if not size.stored:
            return Shown(*head, size)
        analysis = Analysis(Diagram.of(read(folder)))
        planned, seconds = analysis.diagram.sweep.replicates, float(analysis.diagram.frame["seconds"].sum())
        command = f"recover sweep {name}" + ("" if planned == sweep.replicates else f" --set replicates={planned}")
        pictures = []
        for suffix, drawing in drawings(analysis).items():
            file = f"{PICTURES}/{'-'.join(filter(None, [name, suffix]))}.png"
            png = with_few_colours(render(drawing.draw(), "png", DOTS))
            (place / file).write_bytes(png)
            (place / thumbnail(file)).write_bytes(made_small(png))
            pictures.append((file, drawing.words))
        return Shown(*head, size, seconds, command, tuple(pictures), tuple(analysis.claims))
    except RecoverError as error:
        return Shown(*head, size, remark=str(error))


def thumbnail(picture: str) -> str:
    """Where the small copy of a picture lies."""
    return f"{PICTURES}/small/{Path(picture).name}"


def made_small(png: bytes) -> bytes:
    """A picture on white, all of it, in `SMALL` pixels."""
    picture = Image.open(BytesIO(png)).convert("RGB")
    picture.thumbnail(SMALL, Image.Resampling.LANCZOS)
    sheet = Image.new("RGB", SMALL, "white")
    sheet.paste(picture, ((SMALL[0] - picture.width) // 2, (SMALL[1] - picture.height) // 2))
    small = BytesIO()
    sheet.quantize(COLOURS).save(small, "png", optimize=True)
    return small.getvalue()


def with_few_colours(png: bytes) -> bytes:
    small = BytesIO()
    Image.open(BytesIO(png)).convert("RGB").quantize(COLOURS).save(small, "png", optimize=True)
    return small.getvalue()
