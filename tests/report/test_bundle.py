import zipfile
from pathlib import Path

import pytest
from ruamel.yaml import YAML

import recovery
from recovery.report.claims import Analysis
from recovery.report.command import bundle
from recovery.report.diagram.diagram import Diagram
from recovery.store import read

from .grids import fail, wendel_rows
from .test_command import run_command, store


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return store(
        fail(wendel_rows(seed=1), slice(0, 4)), tmp_path / "drawn", title='A "quoted": title', source="P1 Figure 6"
    )


def test_archive_unpacks_to_the_same_results(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "drawn.zip"
    assert run_command("bundle", results, "--out", out).exit_code == 0
    with zipfile.ZipFile(out) as archive:
        archive.extractall(tmp_path / "again")
    again = read(tmp_path / "again" / "drawn")
    assert again.table.equals(read(results).table)
    assert again.sweep == read(results).sweep
    names = {path.name for path in (tmp_path / "again" / "drawn").rglob("*") if path.is_file()}
    assert {"config.json", "report.html", "cells.csv", "figure.pdf", "CITATION.cff", "README.md"} <= names


@pytest.mark.deep
def test_citation_is_yaml_with_the_required_keys(results: Path, tmp_path: Path) -> None:
    run_command("bundle", results, "--out", tmp_path / "x.zip")
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        cited = YAML(typ="safe").load(archive.read("drawn/CITATION.cff").decode())
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    assert cited["title"] == 'A "quoted": title (drawn)'


@pytest.mark.deep
def test_the_same_results_give_the_same_archive(results: Path) -> None:
    first, second = (bundle(Analysis(Diagram.of(read(results)))) for _ in range(2))
    assert first == second


def test_notebook_reads_plots_and_tabulates(results: Path) -> None:
    grid = recovery.read(results)
    assert grid._repr_png_().startswith(b"\x89PNG")
    assert len(grid.cells()) == len(grid.frame.groupby(["n", "d"]))
    assert list(grid.thresholds()["n/d"]) == pytest.approx([2.0], abs=0.3)
    assert grid.plot("absolute_distance").axes
    assert "failed" in repr(grid)
