"""`make soak`: 200 kills of a sweep (or as many as the argument says), with the seed printed to repeat them."""

import random
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

from tests.runner.kills import kill_and_resume, stored_ids
from tests.runner.sweeps import rows, sweep, write_config


def main() -> None:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns() % 2**32
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        config = write_config(path, method={"seconds": 0.02}, replicates=20 * kills)
        began = time.monotonic()
        found = kill_and_resume(config, path / "out", kills, random.Random(seed))
        sweep(config, path / "undisturbed", jobs=8, backend="threading")
        pd.testing.assert_frame_equal(rows(path / "out"), rows(path / "undisturbed"))
        assert set(stored_ids(path / "out").values()) == {1}
        print(
            f"seed {seed}: {len(found)} kills in {time.monotonic() - began:.0f} s, {found[-1]} of {120 * kills} rows "
            "stored at the last; the final rows equal those of an undisturbed run, none lost, none twice"
        )


if __name__ == "__main__":
    main()
