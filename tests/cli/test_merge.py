"""`recover merge`: shards become the sweep that one run gives; another sweep is refused; a kill loses nothing."""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from pandas.testing import assert_frame_equal

from recovery.errors import StoreError
from recovery.extras.merging import merge_folders
from recovery.store import read
from recovery.store.files import write_atomically
from recovery.store.folder import Folder
from recovery.store.grid import read_records
from recovery.store.parts import list_parts
from tests.invoke import recover, refused, said
from tests.runner.sweeps import rows, sweep, write_config
from tests.store.rows import statuses


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    """The whole sweep in one run, its two shards, and the config."""
    config = write_config(tmp_path, method={"act": "transition", "record": True})
    whole, *shares = (tmp_path / name for name in ("whole", "first", "second"))
    sweep(config, whole)
    for i, share in enumerate(shares, start=1):
        sweep(config, share, shard=(i, 2))
    return [whole, *shares]


def test_two_shards_are_the_sweep_that_one_run_gives(tmp_path: Path, shards: list[Path]) -> None:
    whole, *shares = shards
    before = [bytes_of(share) for share in shares]
    assert "24 of 24 trials stored, 0 missing" in said("merge", *shares, "--out", tmp_path / "out")
    assert_frame_equal(rows(tmp_path / "out"), rows(whole))
    records, expected = read_records(tmp_path / "out"), read_records(whole)
    assert len(expected) == 24
    assert records.keys() == expected.keys()
    assert all(
        records[trial][name].tolist() == kept.tolist() for trial in expected for name, kept in expected[trial].items()
    )
    assert [bytes_of(share) for share in shares] == before
    assert recover("verify", tmp_path / "out", "--sample", 2, "--trust").exit_code == 0


def test_a_merge_into_one_of_its_folders_and_one_that_is_repeated_add_nothing_twice(shards: list[Path]) -> None:
    whole, first, second = shards
    merge_folders([first, second, second], first)
    assert_frame_equal(rows(first), rows(whole))
    stored = bytes_of(first)
    assert list(merge_folders([second], first)) == [second]
    assert bytes_of(first) == stored


def test_another_sweep_is_refused_by_name_before_anything_is_written(tmp_path: Path, shards: list[Path]) -> None:
    (tmp_path / "b").mkdir()
    sweep(write_config(tmp_path / "b", method={"act": "transition", "record": True}, seed=8), tmp_path / "other")
    result = refused("merge", shards[1], tmp_path / "other", "--out", tmp_path / "out")
    assert f"{tmp_path / 'other'} and {shards[1]} are different sweeps" in result
    assert "seed: 7 -> 8" in result
    assert not (tmp_path / "out").exists()
    for part in list_parts(tmp_path / "other" / "trials"):
        shutil.copy(part, shards[2] / "trials")
    with pytest.raises(StoreError, match=r"second is not merged[\s\S]*24 rows of another sweep") as raised:
        merge_folders(shards[1:], tmp_path / "out")
    assert list_parts(tmp_path / "other" / "trials")[0].name in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_a_shard_whose_config_lies_elsewhere_is_merged_and_one_of_more_replicates_is_not(
    tmp_path: Path, shards: list[Path]
) -> None:
    whole, first, _ = shards
    method = {"act": "transition", "record": True}
    for name, fields in (("elsewhere", {}), ("larger", {"replicates": 6})):
        (tmp_path / name).mkdir()
        sweep(write_config(tmp_path / name, method=method, **fields), tmp_path / name / "out", shard=(2, 2))  # type: ignore[arg-type]
    done = recover("merge", first, tmp_path / "elsewhere" / "out", "--out", tmp_path / "merged")
    assert "24 of 24 trials stored, 0 missing" in done.stdout
    assert_frame_equal(rows(tmp_path / "merged"), rows(whole))
    refusal = refused("merge", first, tmp_path / "larger" / "out", "--out", tmp_path / "merged")
    assert "replicates: 4 -> 6" in refusal
    assert_frame_equal(rows(tmp_path / "merged"), rows(whole))


def test_damage_and_what_is_no_sweep_are_refused_by_name(tmp_path: Path, shards: list[Path]) -> None:
    with pytest.raises(StoreError, match="nowhere: no such results folder"):
        merge_folders([shards[1], tmp_path / "nowhere"], tmp_path / "out")
    part = list_parts(shards[2] / "trials")[0]
    part.write_bytes(part.read_bytes()[:-1])
    with pytest.raises(StoreError, match=part.name):
        merge_folders(shards[1:], tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("writes", [1, 2])
def test_a_merge_that_ends_after_any_write_goes_on(
    tmp_path: Path, shards: list[Path], writes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, *shares = shards
    left = [writes]

    def write(path: Path, data: bytes) -> bool:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return write_atomically(path, data)

    with monkeypatch.context() as patched:
        patched.setattr("recovery.extras.merging.write_atomically", write)
        try:
            merge_folders(shares, tmp_path / "out")
        except KeyboardInterrupt:
            assert left == [0]
    found, records = statuses(Folder(tmp_path / "out")), read_records(tmp_path / "out")
    assert found.keys() <= records.keys()
    merge_folders(shares, tmp_path / "out")
    assert_frame_equal(rows(tmp_path / "out"), rows(whole))
    assert read_records(tmp_path / "out").keys() == read_records(whole).keys()


def copied(source: Path, out: Path, **columns: pa.Array) -> Path:
    """The folder with other columns in its rows."""
    table = read(source).table
    for name, values in columns.items():
        table = table.set_column(table.column_names.index(name), name, values)
    folder = Folder(out)
    folder.create(Folder(source).load())
    folder.write(table)
    return out


def test_an_ok_row_replaces_a_failed_one_and_is_not_replaced(tmp_path: Path, shards: list[Path]) -> None:
    failed = copied(shards[0], tmp_path / "failed", status=pa.array(["failed"] * 20 + ["ok"] * 4))
    for order in ((failed, shards[0]), (shards[0], failed)):
        out = tmp_path / order[0].name / "out"
        merge_folders(order, out)
        assert set(statuses(Folder(out)).values()) == {"ok"}
        assert_frame_equal(rows(out), rows(shards[0]))
