import sys
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
    cells = grid.cells()
    assert (cells["low"] <= cells["value"]).all()
    assert (cells["value"] <= cells["high"]).all()
    assert '<img style="max-width: 100%" src="data:image/png' in grid._repr_html_()
    assert list(grid.thresholds().query("pooled")["estimate"]) == pytest.approx([2.0], abs=0.3)
    assert grid.plot("absolute_distance").axes
    assert "failed" in repr(grid)


def test_cells_as_labelled_arrays(results: Path) -> None:
    grid = recovery.read(results)
    arrays, cells = grid.to_xarray(), grid.cells().set_index(["n", "d"])
    assert set(arrays["value"].dims) == {"n", "d"}
    assert arrays.attrs["name"] == grid.sweep["name"]
    for (n, d), cell in cells.iterrows():
        found = arrays.sel(n=n, d=d)
        assert (float(found["yes"]), float(found["low"])) == (cell["yes"], cell["low"])


def test_rows_as_labelled_arrays(results: Path) -> None:
    grid = recovery.read(results)
    arrays = grid.to_xarray(rows=True)
    assert set(arrays["status"].dims) == {"n", "d", "replicate"}
    for _, row in grid.frame.iterrows():
        found = arrays.sel(n=row["n"], d=row["d"], replicate=row["replicate"])
        assert (str(found["trial_id"].item()), float(found["seconds"])) == (row["trial_id"], row["seconds"])


def test_xarray_that_is_not_there_is_named(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(recovery.RecoverError, match="pip install xarray"):
        recovery.read(results).to_xarray()
