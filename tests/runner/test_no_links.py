"""A sweep, workers and all, where files cannot be linked."""

import random
import subprocess
from pathlib import Path

import pytest

from tests.needs import need_programs

from .kills import kill_and_resume
from .sweeps import assert_undisturbed, write_config


@pytest.mark.deep
def test_kills_lose_nothing_where_files_cannot_be_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_programs("a C compiler", "gcc")
    library, source = tmp_path / "no_links.so", Path(__file__).with_name("no_links.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    (tmp_path / "file").touch()
    refused = subprocess.run(["ln", "file", "link"], cwd=tmp_path, capture_output=True, text=True)
    assert "Operation not permitted" in refused.stderr
    slow, out = tmp_path / "slow", tmp_path / "out"
    method = {"act": "linger", "seconds": 0.02, "path": str(slow)}
    config = write_config(tmp_path, method=method, replicates=200)
    kill_and_resume(config, out, 6, random.Random(2), slow=slow, compacting=True)
    assert_undisturbed(config, out, jobs=2, backend="threading")
    assert not [*out.rglob("*.tmp")]
