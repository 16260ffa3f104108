"""Two hundred kills of one sweep, half of them with a compaction: no row is lost, none is other than undisturbed."""

import random
from pathlib import Path

import pandas as pd
import pytest

from recovery.store.compact import compact
from recovery.store.folder import Folder
from tests.runner.kills import kill_and_resume, stored_ids
from tests.runner.sweeps import rows, sweep, write_config


@pytest.mark.soak
@pytest.mark.parametrize("kills", [200])
def test_kills_lose_nothing_and_repeat_nothing(tmp_path: Path, kills: int) -> None:
    slow, out = tmp_path / "slow", tmp_path / "out"
    method = {"act": "linger", "seconds": 0.05, "path": str(slow)}
    config = write_config(tmp_path, method=method, replicates=10 * kills)
    found = kill_and_resume(config, out, kills, random.Random(1), slow=slow, compacting=True)
    assert len(found) == kills
    print(f"{kills} kills; rows stored at each: {found}")
    compact(Folder(out))
    sweep(config, tmp_path / "undisturbed", jobs=2)
    pd.testing.assert_frame_equal(rows(out), rows(tmp_path / "undisturbed"))
    assert set(stored_ids(out).values()) == {1}
