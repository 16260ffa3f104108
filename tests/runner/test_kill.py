import random
from pathlib import Path

import pandas as pd

from .kills import kill_and_resume, stored_ids
from .sweeps import rows, sweep, write_config


def test_twenty_kills_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    config = write_config(tmp_path, method={"act": "linger", "seconds": 0.02, "path": str(slow)}, replicates=400)
    found = kill_and_resume(config, tmp_path / "out", 20, random.Random(1), slow=slow)
    assert len(found) == 20
    assert 0 < found[-1] < 2400
    assert set(stored_ids(tmp_path / "out").values()) == {1}
    assert not list((tmp_path / "out").rglob("*.tmp"))
    sweep(config, tmp_path / "undisturbed", jobs=2, backend="threading")
    pd.testing.assert_frame_equal(rows(tmp_path / "out"), rows(tmp_path / "undisturbed"))
