"""A folder may grow: replicates, axes and --until continue it; every other config is refused with the differences."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from recovery.report.diagram import Diagram
from recovery.store import read
from tests.invoke import recover
from tests.own_method import write_method

from .sweeps import assert_undisturbed, rows, sweep, write_config

SMALL = {"axes": {"n": [4, 8], "d": [2]}, "replicates": 2}


@pytest.mark.parametrize(
    "larger",
    [
        {**SMALL, "replicates": 3},
        {**SMALL, "axes": {"n": [4, 6, 8], "d": [2, 3]}},
        {**SMALL, "axes": {"n": [4, 8], "d": [2], "noise": [0.0, 0.5]}},
        {**SMALL, "report": {"labels": {"n": "samples"}}, "title": "Another title"},
    ],
    ids=["replicates", "values", "axis", "report"],
)
def test_growth_continues_a_folder(tmp_path: Path, larger: dict[str, Any]) -> None:
    config, out = write_config(tmp_path, **SMALL), tmp_path / "out"
    sweep(config, out, shard=(1, 2))
    before = rows(out)
    summary = sweep(write_config(tmp_path, **larger), out)
    assert sum(summary.ran.values()) == summary.planned - len(before)
    pd.testing.assert_frame_equal(rows(out).loc[before.index, before.columns], before)
    assert_undisturbed(config, out)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({**SMALL, "replicates": 1}, "replicates: 2 -> 1"),
        ({**SMALL, "axes": {"n": [4], "d": [2]}}, "axes.n: [4, 8] -> [4]"),
        ({**SMALL, "axes": {"n": [4, 12], "d": [2]}}, "axes.n: [4, 8] -> [4, 12]"),
        ({**SMALL, "seed": 8}, "seed: 7 -> 8"),
    ],
)
def test_another_config_is_refused_with_the_differences(tmp_path: Path, other: dict[str, Any], said: str) -> None:
    out = tmp_path / "out"
    sweep(write_config(tmp_path, **SMALL), out)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    result = recover("sweep", write_config(tmp_path, **other), "--out", out)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "--out" in result.stderr
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_a_column_that_a_method_measures_no_more_is_no_coordinate(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for column, replicates in (("gap", 2), ("objective", 3)):
        kind = write_method(
            tmp_path / "own_column.py", f"return {{{column!r}: instance.y[0], 'recovered': True}}", column, "recovered"
        )
        config = write_config(tmp_path, **{**SMALL, "method": {"kind": kind}, "replicates": replicates})
        assert recover("sweep", config, "--out", out, "--keep-changed", "-j", 1).exit_code == 0
    diagram = Diagram.of(read(out))
    assert {"gap", "objective"} <= set(diagram.frame)
    assert (diagram.layout.x, diagram.layout.y, diagram.layout.panels) == ("n", None, ())
