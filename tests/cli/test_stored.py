"""The commands that work on what is stored: replay, verify, compact, trials; and submit."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recovery.config import from_document
from recovery.runner.trial import draw_instance
from recovery.store import read
from recovery.store.parts import list_parts, write_part
from tests.config.sweeps import write
from tests.invoke import recover, refused, said
from tests.runner.sweeps import sweep, write_config


@pytest.fixture
def out(tmp_path: Path) -> Path:
    sweep(write_config(tmp_path), tmp_path / "out")
    return tmp_path / "out"


def edited(out: Path, column: str, change: Callable[[list[Any]], list[Any]]) -> pa.Table:
    """Change the values of a column in the first part, checksum and all; returns the rows before."""
    path = list_parts(out / "trials")[0]
    table = pq.read_table(path)
    index, field = table.schema.get_field_index(column), table.schema.field(column)
    path.unlink()
    values = pa.array(change(table[column].to_pylist()), field.type)
    write_part(path.parent, table.set_column(index, field, values))
    return table


def tamper(out: Path, column: str, add: float) -> str:
    """Change a stored number, checksum and all; returns the trial's id."""
    table = edited(out, column, lambda values: [values[0] + add, *values[1:]])
    return str(table["trial_id"][0])


def test_replay_and_verify_see_a_number_that_was_changed(out: Path) -> None:
    trial = tamper(out, "objective", 0.125)
    result = recover("replay", "--trust", out, trial)
    assert result.exit_code == 1
    assert "differs in objective" in result.stdout
    result = recover("verify", "--trust", out, "--sample", 24)
    assert result.exit_code == 1
    assert "23 the same, 1 different" in result.stdout
    assert f"{trial} differs in objective" in result.stdout


@pytest.mark.parametrize("column", ["n", "d", "replicate", "sweep", "ensemble", "recovered", "pattern_count"])
def test_verify_compares_everything_that_a_report_draws(out: Path, column: str) -> None:
    other = {"n": 21, "replicate": 3, "d": 20, "pattern_count": 1000, "sweep": "other", "ensemble": "haar"}
    table = edited(out, column, lambda values: [other.get(column, not value) for value in values])
    result = recover("verify", "--trust", out, "--sample", 24)
    assert result.exit_code == 1
    changed = sum(value != other.get(column) for value in table[column].to_pylist())
    assert f"{24 - changed} the same, {changed} different" in result.stdout
    assert f"differs in {column}: stored" in result.stdout


def test_a_second_row_of_a_trial_is_compared_though_no_report_draws_it(out: Path) -> None:
    path = list_parts(out / "trials")[0]
    table = pq.read_table(path).slice(0, 1)
    write_part(path.parent, table.set_column(table.schema.get_field_index("seconds"), "seconds", pa.array([0.5])))
    assert recover("verify", "--trust", out).exit_code == 0  # two sweeps may run a trial at the same time
    found = [not value for value in table["recovered"].to_pylist()]
    early = pa.array([0], pa.timestamp("us", tz="UTC"))
    second = table.set_column(table.schema.get_field_index("recovered"), "recovered", pa.array(found))
    write_part(path.parent, second.set_column(table.schema.get_field_index("started_at"), "started_at", early))
    result = recover("verify", "--trust", out, "--sample", 1)
    assert result.exit_code == 1
    assert f"second rows differ, of 1 trial, such as {table['trial_id'][0]} in recovered" in result.stdout


def test_rounding_is_no_difference(out: Path) -> None:
    tamper(out, "objective", 1e-13)
    assert "23 the same, 1 up to rounding, 0 different" in said("verify", "--trust", out, "--sample", 24)


def test_replay_saves_the_instance_as_it_was_drawn(out: Path, tmp_path: Path) -> None:
    trial = from_document(read(out).sweep["config"]).trials()[0]
    result = recover("replay", "--trust", out, trial.id, "--json", "--save", tmp_path / "trial.npz")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["differences"] == []
    instance = draw_instance(trial)
    with np.load(tmp_path / "trial.npz", allow_pickle=False) as saved:
        np.testing.assert_array_equal(saved["X"], instance.X)
        np.testing.assert_array_equal(saved["y"], instance.y)
        np.testing.assert_array_equal(saved["X"] @ saved["planted_directions"] @ saved["planted_signs"], saved["y"])
        assert saved["X_test"].shape == saved["X"].shape
        assert not saved["noise"].any()
        assert str(saved["trial_id"]) == trial.id


@pytest.fixture(name="noiseless")
def noiseless_sweep(tmp_path: Path) -> Path:
    out = tmp_path / "noiseless"
    options = ("--set", "replicates=1", "--set", "n=24", "--jobs", 1, "--out", out)
    assert recover("sweep", "quickstart", *options).exit_code == 0
    return out


def test_what_was_not_measured_for_one_reason_is_one_line(noiseless: Path) -> None:
    frame = read(noiseless).frame
    trial = frame.loc[frame["objective"].isna(), "trial_id"].iloc[0]
    lines = [line for line in said("replay", noiseless, trial).splitlines() if line.startswith("  unmeasured")]
    assert sum("objective" in line and "max_deviation" in line for line in lines) == 1
    assert not any("{" in line for line in lines)


def test_a_word_without_quotes_is_a_name(noiseless: Path) -> None:
    assert "text has quotes: 'gaussian'" in refused("trials", noiseless, "--where", "ensemble = gaussian")


def test_verdicts_are_proved_and_a_changed_one_is_not(noiseless: Path, tmp_path: Path) -> None:
    proofs = tmp_path / "proofs.csv"
    result = said("verify", noiseless, "--rigorous", "--out", proofs)
    assert "5 of 5 rows, 5 of 5 verdicts proved (100 %), 0 rows without a verdict" in result
    found = pd.read_csv(proofs)
    assert (found["outcome"] == "proved").all()
    assert {"recovered", "not_optimal"} <= set(found["verdict"])
    turned = {"recovered": "not_unique"}
    table = edited(noiseless, "verdict", lambda values: [turned.get(value, "recovered") for value in values])
    result = recover("verify", noiseless, "--rigorous")
    assert result.exit_code == 1
    assert "0 of 5 verdicts proved (0 %)" in result.stdout
    trial, first = (str(table[name][0]) for name in ("trial_id", "verdict"))
    proved = f"not proved: the opposite is proved: {first}"
    assert f"{trial} {turned.get(first, 'recovered')}: {proved}" in result.stdout


@pytest.mark.parametrize(
    ("column", "change"), [("recovered", lambda value: not value), ("patterns_proved", lambda value: "all")]
)
def test_what_no_proof_looks_at_is_replayed(noiseless: Path, column: str, change: Callable[[Any], Any]) -> None:
    edited(noiseless, column, lambda values: list(map(change, values)))
    result = recover("verify", noiseless, "--rigorous")
    assert result.exit_code == 1
    assert "5 of 5 verdicts proved" in result.stdout
    assert f"differs in {column}: stored" in result.stdout


def test_what_rigorous_cannot_do_is_said(noiseless: Path) -> None:
    assert "--out needs --rigorous" in recover("verify", noiseless, "--out", "x.csv").stderr
    result = refused("verify", noiseless, "--rigorous", "--sample", 1, "--out", noiseless / "no" / "x.csv")
    assert "cannot be written" in result


def test_a_dry_run_estimates_from_times(tmp_path: Path) -> None:
    config, out = write_config(tmp_path, method={"seconds": 0.05}), tmp_path / "out"
    said = recover("sweep", config, "--out", out, "--dry-run", "--jobs", 2).stdout
    assert re.search(r"about [^(]+ with 2 jobs \([^)]+ of one core\), from \d+ trials timed now", said)
    assert not out.exists()
    sweep(config, out)
    write_config(tmp_path, method={"seconds": 0.05}, replicates=84)
    result = recover("sweep", config, "--out", out, "--dry-run", "--jobs", 2)
    assert "504 trials, 24 stored, 480 to run" in result.stdout
    seconds = int(re.search(r"about (\d+) s with 2 jobs", result.stdout)[1])
    assert seconds == pytest.approx(read(out).frame["seconds"].mean() * 480 / 2, abs=1)


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "a/b", "1/0"])
def test_a_wrong_shard_is_a_usage_error(tmp_path: Path, text: str) -> None:
    assert "--shard" in refused("sweep", write_config(tmp_path), "--shard", text)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    out = tmp_path / "out"
    config = write(tmp_path / "listed.yaml", replicates=4, seed=0, axes={"n": [4, 12], "d": [3]})
    assert recover("sweep", config, "--out", out, "-j", 1, "-q").exit_code == 0
    return out


def test_conditions_pick_rows(results: Path, tmp_path: Path) -> None:
    frame = read(results).frame
    n = int(frame["n"].max())
    wanted = frame[(frame["n"] == n) & (frame["verdict"] == "recovered")]
    done = said("trials", results, "--where", f"n={n} and verdict == 'recovered'", "--limit", 1000)
    assert 0 < len(wanted) < len(frame)
    assert {line.split()[0] for line in done.splitlines()[2:]} == set(wanted["trial_id"])
    for name, load in (("rows.csv", pd.read_csv), ("rows.parquet", pd.read_parquet)):
        recover("trials", results, "--where", f"n={n} and verdict == 'recovered'", "--out", tmp_path / name)
        assert set(load(tmp_path / name)["trial_id"].astype(str)) == set(wanted["trial_id"])


def test_what_is_no_condition_and_no_format_is_refused(results: Path, tmp_path: Path) -> None:
    for options, words in (
        (("--where", "verdct = 'recovered'"), "did you mean 'verdict'"),
        (("--out", tmp_path / "rows.docx"), "allowed: .csv, .parquet"),
    ):
        assert words in refused("trials", results, *options)


def test_a_condition_that_no_trial_satisfies_is_named(out: Path) -> None:
    done = recover("trials", out, "--where", "n > 10000")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "no trial satisfies: n > 10000\n"
