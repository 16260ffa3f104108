"""Two hundred kills of one sweep at random moments: no row is lost, none is stored twice."""

import random
from pathlib import Path

import pandas as pd
import pytest

from tests.runner.kills import kill_and_resume, stored_ids
from tests.runner.sweeps import rows, sweep, write_config


@pytest.mark.soak
@pytest.mark.parametrize("kills", [200])
def test_kills_lose_nothing_and_repeat_nothing(tmp_path: Path, kills: int) -> None:
    config, out = write_config(tmp_path, method={"seconds": 0.02}, replicates=20 * kills), tmp_path / "out"
    assert len(kill_and_resume(config, out, kills, random.Random(1))) == kills
    sweep(config, tmp_path / "undisturbed", jobs=8, backend="threading")
    pd.testing.assert_frame_equal(rows(out), rows(tmp_path / "undisturbed"))
    assert set(stored_ids(out).values()) == {1}
