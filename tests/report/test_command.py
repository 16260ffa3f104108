"""`recover report` as a command, on results folders as a sweep stores them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from recovery.cli.main import main
from recovery.store.folder import Folder

from .grids import fail, grid, wendel_rows


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return store(fail(wendel_rows(), slice(0, 7)), tmp_path / "drawn")


def store(rows: pd.DataFrame, path: Path, **document: Any) -> Path:
    made = grid(rows, path, **document)
    folder = Folder(path)
    folder.create({"format": 1, **made.sweep})
    if len(rows):
        folder.write(made.table)
    return path


def run_command(*arguments: object) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


def run(*arguments: object) -> Result:
    return run_command("report", *arguments)


def test_by_default_a_map_and_the_path_of_a_png(results: Path) -> None:
    result = run(results)
    assert result.exit_code == 0, result.output
    assert "Drawn from the law" in result.stdout
    picture = Path(result.stdout.splitlines()[-1])
    assert picture.parent == results / "report"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_tables_go_to_stdout(results: Path) -> None:
    assert run(results, "--format", "csv").stdout.startswith('"d","n","trials","ok","failed","missing","recovered_yes"')
    assert json.loads(run(results, "--format", "json").stdout)[0]["totals"]["failed"] == 7


def test_several_grids_at_once(results: Path, tmp_path: Path) -> None:
    other = store(wendel_rows(n=[20, 40]), tmp_path / "other", name="other")
    out = tmp_path / "both"
    out.mkdir()
    assert run(results, other, "--format", "svg", "--out", out).exit_code == 0
    assert sorted(path.name for path in out.iterdir()) == ["drawn-recovered.svg", "other-recovered.svg"]
    table = run(results, other, "--format", "csv").stdout
    assert {line.split(",")[0] for line in table.splitlines()[1:]} == {'"drawn"', '"other"'}


def test_two_sweeps_of_one_name_have_two_pictures(results: Path, tmp_path: Path) -> None:
    other, third = store(wendel_rows(n=[20, 40]), tmp_path / "other"), tmp_path / "a" / "other"
    shutil.copytree(other, third)
    for number, (folders, names) in enumerate(
        (([results, other], ["drawn", "other"]), ([results, other, third], ["drawn-1", "other-2", "other-3"]))
    ):
        out = tmp_path / f"both{number}"
        done = run(*folders, "--format", "svg", "--out", out)
        assert done.exit_code == 0, done.output
        assert sorted(path.name for path in out.iterdir()) == [f"{name}-recovered.svg" for name in names]
        assert all(str(out / f"{name}-recovered.svg") in done.stdout for name in names)


@pytest.mark.parametrize("name", ["both.pdf", "both.png", "file"])
def test_several_pictures_do_not_go_into_one_file(results: Path, tmp_path: Path, name: str) -> None:
    other, out = store(wendel_rows(n=[20, 40]), tmp_path / "other"), tmp_path / name
    if name == "file":
        out.write_text("mine")
    done = run(results, other, "--out", out)
    assert done.exit_code == 2
    assert f"{out}: 2 results folders give as many pictures; give a folder as --out, or --format html" in done.stderr
    assert out.read_text() == "mine" if name == "file" else not out.exists()


def test_value_chooses_what_is_shown(results: Path) -> None:
    result = run(results, "--format", "json", "--value", "max_deviation<=1e-3")
    assert json.loads(result.stdout)[0]["value"] == "max_deviation<=0.001"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--value", "nonsense"], "nonsense is not a column"),
        (["--value", "objective<=oops"], "cannot read the value"),
        (["--format", "png", "--out", "/proc/nowhere/x.png"], "cannot write"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(results: Path, arguments: list[str], message: str) -> None:
    result = run(results, *arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    nowhere = run(tmp_path / "nowhere")
    assert nowhere.exit_code == 2
    assert "no such results folder" in nowhere.output


FORMATS = ["terminal", "html", "png", "svg", "pdf", "csv", "json"]


@pytest.mark.parametrize("kind", FORMATS)
def test_an_empty_grid_is_a_message_in_every_format(tmp_path: Path, kind: str) -> None:
    result = run(store(wendel_rows().iloc[:0], tmp_path / "empty"), "--format", kind)
    assert result.exit_code == 2
    assert "no trials yet; run: recover sweep drawn" in result.output


@pytest.mark.deep
@pytest.mark.parametrize("kind", FORMATS)
def test_grids_of_different_configs_in_every_format(results: Path, tmp_path: Path, kind: str) -> None:
    report = {"value": "absolute_distance", "x": "n", "y": "d"}
    other = store(wendel_rows(noise=[0.0, 0.1]), tmp_path / "other", name="other", report=report)
    out = tmp_path / "out"
    out.mkdir()
    target = out if kind in ("png", "svg", "pdf") else out / f"both.{kind}"
    result = run(results, other, "--format", kind, "--out", target)
    assert result.exit_code == 0, result.output
    assert len(list(out.iterdir())) == (2 if target == out else 1)
    if kind == "html":
        assert target.read_text().count("<h1>") == 2


@pytest.mark.parametrize(("value", "code"), [(2.0, 0), (4.0, 1)])
def test_check_claims_sets_the_exit_code(tmp_path: Path, value: float, code: int) -> None:
    claim = {"kind": "threshold", "of": "recovered", "ratio": "n/d", "value": value, "tolerance": 0.5}
    path = store(wendel_rows(), tmp_path / "drawn", claims=[claim])
    result = run(path, "--format", "terminal", "--check-claims")
    assert result.exit_code == code
    assert ("contradicted" in result.stdout) == bool(code)
    assert run(path, "--format", "terminal").exit_code == 0
