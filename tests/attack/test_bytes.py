"""A flipped byte in any file of a results folder is named, and the next sweep mends it: no row is lost."""

import random
import shutil
from pathlib import Path

import pandas as pd
import pytest

from recovery.errors import RecoverError
from recovery.store import read
from tests.invoke import recover
from tests.runner.sweeps import rows, sweep, write_config


@pytest.mark.parametrize("count", [6, pytest.param(200, marks=pytest.mark.soak)])
def test_no_flipped_byte_costs_a_row(tmp_path: Path, count: int) -> None:
    sampling = {"kind": "until", "rule": "threshold +-2.5", "ceiling": 3}
    axes = {"n": [2, 4, 6, 8, 10, 12], "d": [3]}
    method = {"act": "transition", "record": True}
    config = write_config(tmp_path, method=method, sampling=sampling, axes=axes)
    whole = tmp_path / "whole"
    for index in (1, 2):
        sweep(config, whole, shard=(index, 2))
    sweep(config, whole)
    expected, rng = rows(whole), random.Random(count)
    for _ in range(count):
        out = Path(shutil.copytree(whole, tmp_path / "out"))
        files = sorted(path for path in out.rglob("*") if path.is_file())
        assert {path.parent.name for path in files} == {"out", "trials", "rounds"}
        file = rng.choice(files)
        data = bytearray(file.read_bytes())
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        file.write_bytes(data)
        if file.name == "sweep.json":
            assert recover("status", out).exit_code == 0
            assert recover("verify", out, "--trust", "--sample", 1).exit_code == 1
        else:
            assert file.name in recover("status", out).stderr
            with pytest.raises(RecoverError, match=file.name):
                read(out)
        sweep(config, out)
        pd.testing.assert_frame_equal(rows(out), expected, check_like=True)
        shutil.rmtree(out)
