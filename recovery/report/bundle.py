"""A results folder as one archive to hand on: config, rows, report in every format, provenance, citation."""

import json
import zipfile
from datetime import date
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from recovery.report.claims import Analysis
from recovery.report.figures import drawings, render
from recovery.report.page import report_page
from recovery.report.texts import as_csv, as_json
from recovery.store.parts import write_part
from recovery.store.rounds import ROUNDS, encode_round
from recovery.store.sweepfile import encode

EPOCH = (1980, 1, 1, 0, 0, 0)
"""Every entry's date, so that the same results give the same archive."""


def bundle(analysis: Analysis) -> bytes:
    """A zip archive that unpacks to NAME/: trials/, sweep.json and any rounds/ are a results folder again."""
    diagram = analysis.diagram
    with TemporaryDirectory() as folder:
        part = write_part(Path(folder), diagram.grid.table)
        rows = part.read_bytes()
    drawn = {name or "figure": drawing.draw() for name, drawing in drawings(analysis).items()}
    document = json.dumps(diagram.sweep.document, indent=2, ensure_ascii=False, default=str)
    contents: dict[str, bytes] = {
        "sweep.json": encode(diagram.grid.sweep),
        f"trials/{part.name}": rows,
        **{f"{ROUNDS}/{name}": data for name, data in map(encode_round, diagram.grid.rounds)},
        "config.json": document.encode(),
        "report/report.html": report_page([analysis]).encode(),
        "report/cells.csv": as_csv([analysis]).encode(),
        "report/report.json": as_json([analysis]).encode(),
        **{f"report/{name}.{kind}": render(drawn[name], kind) for name in drawn for kind in ("png", "svg", "pdf")},
        "CITATION.cff": citation(analysis).encode(),
        "README.md": readme(analysis).encode(),
    }
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in contents.items():
            file.writestr(zipfile.ZipInfo(f"{diagram.name}/{name}", EPOCH), data, zipfile.ZIP_DEFLATED)
    return archive.getvalue()


def citation(analysis: Analysis) -> str:
    """Citation File Format 1.2.0; text is quoted as JSON, which YAML reads as it stands."""
    diagram = analysis.diagram
    finished = diagram.frame["started_at"].max() if "started_at" in diagram.frame else None
    day = finished.date() if finished is not None and finished == finished else date(1980, 1, 1)
    lines = [
        "cff-version: 1.2.0",
        "type: dataset",
        "message: If you use these results, cite them and the program that made them.",
        f"title: {json.dumps(f'{diagram.title} ({diagram.name})', ensure_ascii=False)}",
        "authors:",
        "  - name: the authors of recover",
        f"date-released: {day.isoformat()}",
        "references:",
        "  - type: software",
        "    title: recover, the laboratory for phase transitions in neural-network recovery",
        "    authors:",
        "      - name: the authors of recover",
        f"    version: {json.dumps(version('recover'))}",
    ]
    if diagram.sweep.source:
        lines.append(f"notes: {json.dumps('Reproduces ' + diagram.sweep.source, ensure_ascii=False)}")
    return "\n".join(lines) + "\n"


def readme(analysis: Analysis) -> str:
    """What the archive holds, and how to run it again."""
    name = analysis.diagram.name
    return (
        f"# {name}\n\n"
        f"`sweep.json` and `trials/` are a results folder of recover {version('recover')}; `report/` shows it.\n\n"
        f"    recover report {name}                         draw it again\n"
        f"    recover verify {name}                         run some of its trials again\n"
        f"    recover sweep {name}/config.json --out again  run all of them again\n"
    )
