"""`recover report` as a command, on results folders as a sweep stores them."""

import shutil
from functools import partial
from hashlib import blake2b
from pathlib import Path

import pytest

import recovery
from recovery.report.figures import joint_figure
from tests.invoke import recover, refused, said

from .grids import analysed, fail, store, wendel_rows
from .text_faults import BAR, faults


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return store(fail(wendel_rows(n=[10, 20, 40, 60], d=[5, 10, 30]), slice(0, 7)), tmp_path / "drawn")


run = partial(recover, "report")
TERMINAL = ("report", "--format", "terminal")


def test_by_default_a_map_and_the_path_of_a_png(results: Path) -> None:
    result = said("report", results)
    assert "Drawn from the law" in result
    picture = Path(result.splitlines()[-1])
    assert picture.parent == results / "report"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_several_grids_at_once(results: Path, tmp_path: Path) -> None:
    other = store(wendel_rows(n=[20, 40], d=[10]), tmp_path / "other", name="other")
    out = tmp_path / "both"
    out.mkdir()
    assert run(results, other, "--format", "svg", "--out", out).exit_code == 0
    assert sorted(path.name for path in out.iterdir()) == ["drawn-recovered.svg", "other-recovered.svg"]
    table = run(results, other, "--format", "csv").stdout
    assert {line.split(",")[0] for line in table.splitlines()[1:]} == {'"drawn"', '"other"'}


def test_two_sweeps_of_one_name_have_two_pictures(results: Path, tmp_path: Path) -> None:
    other, third = store(wendel_rows(n=[20, 40], d=[10]), tmp_path / "other"), tmp_path / "a" / "other"
    shutil.copytree(other, third)
    for number, (folders, names) in enumerate(
        (([results, other], ["drawn", "other"]), ([results, other, third], ["drawn-1", "other-2", "other-3"]))
    ):
        out = tmp_path / f"both{number}"
        done = said("report", *folders, "--format", "svg", "--out", out)
        assert sorted(path.name for path in out.iterdir()) == [f"{name}-recovered.svg" for name in names]
        assert all(str(out / f"{name}-recovered.svg") in done for name in names)


def test_several_folders_are_one_figure_in_a_file(results: Path, tmp_path: Path) -> None:
    other = store(wendel_rows(n=[20, 40], d=[10]), tmp_path / "other")
    out, text = tmp_path / "both.pdf", tmp_path / "file"
    assert str(out) in said("report", results, other, "--out", out)
    assert out.read_bytes().startswith(b"%PDF")
    text.write_text("mine")
    assert f"{text} is a file without the ending of a picture" in refused("report", results, other, "--out", text)
    assert text.read_text() == "mine"
    two = ("--value", "recovered", "--value", "absolute_distance")
    assert "shows one value; name it with --value" in refused("report", results, other, *two, "--out", out)


def test_the_panels_of_several_folders_have_one_scale_and_one_key() -> None:
    far, near = (wendel_rows(n=n, d=[5, 10], ensemble=["gaussian", "haar"]) for n in ([10, 20], [20, 40, 60]))
    far["absolute_distance"], near["absolute_distance"] = 10.0, 0.1
    parts = [analysed(rows, "absolute_distance", title=of) for rows, of in ((far, "far"), (near, "near"))]
    figure = joint_figure(parts)
    panels, bars = [ax for ax in figure.axes if ax.get_label() != BAR], figure.axes[4:]
    assert [ax.get_title(loc="left") for ax in panels] == [
        "(a) far, Gaussian",
        "(b) far, Haar",
        "(c) near, Gaussian",
        "(d) near, Haar",
    ]
    assert {ax.collections[0].get_clim() for ax in panels} == {(0.05, 20.0)}
    assert len(bars) == 1
    assert faults(figure) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--value", "nonsense"], "nonsense is not a column"),
        (["--value", "objective<=oops"], "cannot read the value"),
        (["--format", "png", "--out", "/proc/nowhere/x.png"], "cannot be written"),
        (["--set", "x"], "allowed: `--set KEY=VALUE`, such as `--set x=n/d`"),
        (["--set", "limit=[0, 1]"], "--set limit=[0, 1]: limit: unknown key; allowed: value, x, y"),
        (["--set", "limits=[1, 0]"], "limits are [low, high] with low < high"),
        (["--set", "x=m"], "report.x is 'm'; the grid's coordinates are"),
        (["--set", "x=d", "--set", "y=d"], "report.x and report.y are both 'd'"),
        (["--set", "pool=n/m"], "m is no coordinate of the rows"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(results: Path, arguments: list[str], message: str) -> None:
    assert message in refused("report", results, *arguments)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["x=d", "y=n"], "n 5  10 30  d"),
        (["report.pool=none"], "n at 50 %"),
        (["value=max_deviation", "limits=[1.0e-7, 3]"], ": 1e-07 .123456789# 3"),
    ],
)
def test_a_report_has_other_settings_and_a_picture_has_its_map(
    results: Path, tmp_path: Path, settings: list[str], words: str
) -> None:
    given = [word for setting in settings for word in ("--set", setting)]
    printed, usual = said("report", results, *given, "--out", tmp_path / "f.png"), said(*TERMINAL, results)
    assert words in printed
    assert words not in usual
    assert "n/d at 50 % = " in usual
    assert (tmp_path / "f.png").exists()


FORMATS = ["terminal", "html", "png", "svg", "pdf", "csv", "json"]


@pytest.mark.parametrize("kind", FORMATS)
def test_an_empty_grid_is_a_message_in_every_format(tmp_path: Path, kind: str) -> None:
    result = refused("report", store(wendel_rows().iloc[:0], tmp_path / "empty"), "--format", kind)
    assert "no trials yet; run: recover sweep drawn" in result


@pytest.mark.parametrize(("value", "code"), [(2.0, 0), (4.0, 1)])
def test_check_claims_sets_the_exit_code(tmp_path: Path, value: float, code: int) -> None:
    claim = {"kind": "threshold", "of": "recovered", "ratio": "n/d", "value": value, "tolerance": 0.5}
    path = store(wendel_rows(), tmp_path / "drawn", claims=[claim])
    result = run(path, "--format", "terminal", "--check-claims")
    assert result.exit_code == code
    assert ("contradicted" in result.stdout) == bool(code)
    assert run(path, "--format", "terminal").exit_code == 0


PAPERS = Path(__file__).parents[2] / "results" / "papers"
GRIDS = {
    "p1-fig12": "{kind: value, of: support_recovered, at_least: 0.9, where: {method.beta: 0.5}}",
    "p1-fig02b": "{kind: value, of: pattern_count, at_least: 0, statistic: every}",
    "all-theorems": "{kind: bound, of: recovered, at_least: 0.9, where: {method.program: exact}}",
}
"""Stored grid -> a claim about it that is supported."""


def checksum(folder: Path) -> str:
    """A hash of the names, times and contents of all files."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    whole = b"".join(f"{path} {path.stat().st_mtime_ns}".encode() + path.read_bytes() for path in files)
    return blake2b(whole).hexdigest()


@pytest.mark.parametrize("name", GRIDS)
def test_claims_of_a_reader_are_judged_and_leave_the_folder_as_it_is(name: str, tmp_path: Path) -> None:
    mine, before = tmp_path / "mine.yaml", checksum(PAPERS / name)
    mine.write_text(f"claims:\n  - {GRIDS[name]}\n")
    result = said("report", PAPERS / name, "--claims", mine)
    (line,) = result.splitlines()
    assert line.startswith("supported: claimed ")
    assert "; measured " in line
    mine.write_text(f"claims:\n  - {GRIDS[name]}\n  - {{kind: value, of: seconds, at_least: 1e6}}\n")
    result = run(PAPERS / name, "--claims", mine)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[1].startswith("contradicted: claimed ")
    assert checksum(PAPERS / name) == before


def test_faults_of_a_file_of_claims_have_their_place(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("name: x\nclaims:\n  - {kind: value, of: support_recoverd, at_least: 0.9}\n")
    result = refused("report", PAPERS / "p1-fig12", "--claims", mine)
    assert f"{mine}:1:1: name: unknown key; allowed: claims" in result
    assert f"{mine}:3:23: claims[0].of: found 'support_recoverd'" in result
    assert "did you mean 'support_recovered'?" in result
    mine.write_text("claims: []\n")
    assert "found no claims" in run(PAPERS / "p1-fig12", "--claims", mine).stderr


def test_a_picture_with_claims_is_not_written_into_the_folder(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(f"claims:\n  - {GRIDS['p1-fig12']}\n")
    assert "give --out FILE" in refused("report", PAPERS / "p1-fig12", "--claims", mine, "--format", "html")
    said("report", PAPERS / "p1-fig12", "--claims", mine, "--out", tmp_path / "page.tex")
    assert "0.9" in (tmp_path / "page.tex").read_text()


def test_notebook_reads_plots_and_tabulates(tmp_path: Path) -> None:
    rows = fail(wendel_rows(d=[5, 15, 25], seed=1), slice(0, 4))
    grid = recovery.read(store(rows, tmp_path / "drawn"))
    assert grid._repr_png_().startswith(b"\x89PNG")
    assert len(grid.cells()) == len(grid.frame.groupby(["n", "d"]))
    cells = grid.cells()
    assert (cells["low"] <= cells["value"]).all()
    assert (cells["value"] <= cells["high"]).all()
    assert '<img style="max-width: 100%" src="data:image/png' in grid._repr_html_()
    assert list(grid.thresholds().query("pooled")["estimate"]) == pytest.approx([2.0], abs=0.3)
    assert grid.plot("absolute_distance").axes
    assert "failed" in repr(grid)
