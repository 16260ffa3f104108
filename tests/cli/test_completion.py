"""Shell completion, through the interface of click."""

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from recovery.cli.main import main
from tests.config.sweeps import write
from tests.invoke import recover


def completed(words: str) -> list[str]:
    """The last word may be unfinished, or empty."""
    *before, last = words.split(" ")
    shell = ShellComplete(main, {}, "recover", "_RECOVER_COMPLETE")
    return [item.value for item in shell.get_completions(before, last)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "small.yaml", axes={"n": [4, 8], "d": [1]})
    (tmp_path / "broken.yaml").write_text("axes: {")
    (tmp_path / "table.csv").write_text("price,rooms,size\n1,2,3\n")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "among"),
    [
        ("sw", {"sweep"}),
        ("sweep --max", {"--max-time", "--max-failures"}),
        ("sweep p1-fig0", {"p1-fig06"}),
        ("sweep quickstart --backend ", {"processes", "threading", "dask", "ray"}),
        ("sweep quickst", {"quickstart"}),
        ("sweep sma", {"small.yaml"}),
        ("sweep small.yaml --set ax", {"axes=", "axes.n=", "axes.d="}),
        ("sweep quickstart --set data.", {"data.ensemble="}),
        ("check small.yaml --set me", {"method=", "method.kind="}),
        ("report somewhere --style wid", {"width=column", "width=page", "width=slide"}),
        ("report somewhere --style title", {"title=true", "title=false"}),
        ("select table.csv --target ", {"price", "rooms", "size"}),
        ("select table.csv --target ro", {"rooms"}),
    ],
)
def test_words_are_completed(folder: Path, words: str, among: set[str]) -> None:
    found = completed(words)
    assert among <= set(found)
    assert all(word.startswith(words.split(" ")[-1]) for word in found)


def test_values_are_the_columns_that_the_grid_measured(folder: Path) -> None:
    assert recover("sweep", "small.yaml", "-j", 1, "-q").exit_code == 0
    assert {"recovered", "max_deviation"} <= set(completed("report results/small --value "))
    assert completed("report results/small --value recov") == ["recovered"]
    assert "recovered" in completed("compare results/small results/small --value re")


@pytest.mark.parametrize(
    "words",
    [
        "sweep nowhere.yaml --set ",
        "report nowhere --value ",
        "select nowhere.csv --target ",
        "sweep table.csv --set ",
        "sweep broken.yaml --set ",
    ],
)
def test_what_cannot_be_read_completes_nothing(folder: Path, words: str) -> None:
    assert completed(words) == []
