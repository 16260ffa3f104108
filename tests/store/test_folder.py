import threading
from pathlib import Path

import pytest

from recovery.errors import StoreError
from recovery.store.folder import Folder, differences
from recovery.store.round_files import read_rounds

from .rows import CONTENT, folder, rows


def test_only_one_of_many_creates(tmp_path: Path) -> None:
    wins: list[bool] = []
    threads = [
        threading.Thread(target=lambda i=i: wins.append(Folder(tmp_path / "new").create({**CONTENT, "digest": str(i)})))
        for i in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(wins) == [False] * 7 + [True]


def test_rows_without_sweep_json_are_not_taken_over(tmp_path: Path) -> None:
    folder(tmp_path, rows("a")).sweep_file.unlink()
    with pytest.raises(StoreError, match=r"rows but no sweep\.json"):
        Folder(tmp_path).create(CONTENT)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 99}', "[" * 100_000, "\xff"])
def test_a_broken_sweep_json_is_named(tmp_path: Path, text: str) -> None:
    folder(tmp_path).sweep_file.write_text(text, encoding="latin-1")
    with pytest.raises(StoreError, match=r"sweep\.json"):
        Folder(tmp_path).load()


@pytest.mark.parametrize("text", ["", "{", "[]", "5", '{"round": 2}', "[" * 100_000, "\xff"])
def test_a_round_that_is_none_is_set_aside(tmp_path: Path, text: str) -> None:
    stored = folder(tmp_path, rows("a"))
    stored.rounds.mkdir()
    (stored.rounds / "02.json").write_text(text, encoding="latin-1")
    with pytest.raises(
        StoreError, match=r"02\.json: .*\n`recover sweep` moves damaged files aside, and runs the trials"
    ):
        read_rounds(stored.rounds)
    (damaged,) = stored.prepare([])
    assert damaged.path == tmp_path / "damaged" / "02.json"
    assert "planned again" in damaged.reason


def test_a_file_is_no_results_folder(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").touch()
    with pytest.raises(StoreError, match="is a file, not a results folder"):
        Folder(tmp_path / "config.yaml").load()


def test_differences_name_every_leaf() -> None:
    old = {"data": {"ensemble": "haar"}, "axes": {"n": [1, 2]}, "title": "x"}
    new = {"data": {"ensemble": "gaussian"}, "axes": {"n": [1, 2], "d": [3]}, "title": "x"}
    assert differences(old, new) == ['data.ensemble: "haar" -> "gaussian"', "axes.d: (absent) -> [3]"]
