import random
from pathlib import Path

import pandas as pd
import pytest

from .kills import kill_and_resume, stored_ids
from .sweeps import rows, sweep, write_config


@pytest.mark.parametrize(("kills", "trials"), [(2, 960), pytest.param(20, 2400, marks=pytest.mark.soak)])
def test_kills_lose_nothing_and_repeat_nothing(tmp_path: Path, kills: int, trials: int) -> None:
    slow = tmp_path / "slow"
    method = {"act": "linger", "seconds": 0.02, "path": str(slow)}
    config = write_config(tmp_path, method=method, replicates=trials // 6)
    found = kill_and_resume(config, tmp_path / "out", kills, random.Random(1), slow=slow)
    assert len(found) == kills
    assert 0 < found[-1] < trials
    assert set(stored_ids(tmp_path / "out").values()) == {1}
    assert not list((tmp_path / "out").rglob("*.tmp"))
    sweep(config, tmp_path / "undisturbed", jobs=2, backend="threading")
    pd.testing.assert_frame_equal(rows(tmp_path / "out"), rows(tmp_path / "undisturbed"))
