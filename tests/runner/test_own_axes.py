"""Adaptive sweeps along axes of the user's own: `--until` and the boundary, per slice and pooled, in either direction.

The fake method succeeds with probability Phi((n - 2d) / sqrt n), so the threshold along delta = n/d is 2.
"""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from recovery.config import load
from recovery.extras.compare import compare
from recovery.methods.columns import TALLIED
from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram
from recovery.report.statistics.estimates import interim_level
from recovery.store import read
from tests.invoke import refused, said
from tests.own_method import write_method

from .sweeps import rounds, until_config as config
from .test_until import until

AXES = {"delta": {"start": 0.5, "stop": 4, "step": 0.25}, "d": [8, 16], "n": "delta * d"}
FIRST = 15 * 2 * 4
ALONG = {"value": "recovered", "x": "delta", "y": "d"}


def own(folder: Path, axes: dict[str, Any] = AXES, **fields: Any) -> Path:
    return config(folder, axes=axes, **{"report": ALONG, "replicates": 4, **fields})


def thresholds(out: Path) -> list[Any]:
    return Analysis(Diagram.of(read(out))).all_thresholds


@pytest.mark.parametrize(
    ("axes", "report", "at"),
    [
        (AXES, ALONG, [2, 2]),
        (AXES, {**ALONG, "pool": "delta"}, [2]),
        ({"n": {"start": 7, "stop": 64, "step": 2}, "d": [8, 16]}, {**ALONG, "x": "d / n"}, [0.5, 0.5]),
        ({"d": [16], "n": "delta * d", "delta": AXES["delta"]}, {"value": "recovered", "x": "delta"}, [2]),
    ],
)
def test_it_goes_on_until_each_threshold_is_narrow(tmp_path: Path, axes: Any, report: Any, at: list[float]) -> None:
    half = 0.35 * at[0] / 2
    summary = until(own(tmp_path, axes, report=report), tmp_path / "out", f"threshold +-{half}")
    found = thresholds(tmp_path / "out")
    assert (summary.unmet, len(found)) == ("", len(at))
    for one, true in zip(found, at, strict=True):
        assert one.interval.low <= true <= one.interval.high
        assert (one.interval.high - one.interval.low) / 2 <= half
    last = rounds(tmp_path / "out")[-1]["until"]["panels"]
    assert [interim_level(panel["level_of"]) for panel in last] == [one.interval.level for one in found]
    assert [panel["title"] for panel in last] == [one.panel.title for one in found]


def test_a_slice_that_is_known_gets_no_more_trials_and_the_ceiling_is_per_slice(tmp_path: Path) -> None:
    """At d = 2 the transition is wider than at d = 60."""
    axes = {**AXES, "d": [2, 60]}
    summary = until(own(tmp_path, axes), tmp_path / "out", "threshold +-0.4", ("sampling.ceiling=3",))
    wide, sharp = rounds(tmp_path / "out")[-1]["until"]["panels"]
    assert sharp["known"]
    assert wide["trials"] > sharp["trials"]
    assert wide["trials"] <= 3 * FIRST // 2
    assert len(summary.interim) == 2
    assert summary.interim[1].startswith("d = 60: δ at 50 % = ")


def test_trials_that_cannot_narrow_the_interval_are_not_spent(tmp_path: Path) -> None:
    """At d = 64 all trials fail at delta = 1 and succeed at 3, so the interval is 1 to 3 after any number of trials."""
    axes = {**AXES, "delta": [0.5, 1, 3, 3.25], "d": [64]}
    summary = until(own(tmp_path, axes, replicates=8), tmp_path / "out", "threshold +-0.5")
    assert summary.planned == 32
    assert summary.unmet.startswith("the spacing of the grid limits the interval, not the trials")
    (found,) = thresholds(tmp_path / "out")
    assert (found.interval.low, found.interval.high) == (1, 3)


@pytest.fixture(scope="module")
def undrawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep with `data: none`, run in two shards, whose event has its threshold at c = 1 for every size."""
    folder = tmp_path_factory.mktemp("undrawn")
    call = "return {'recovered': bool(rng.random() < min(at['c'], 2) / 2), 'iterations': len(at)}"
    kind = write_method(folder / "undrawn.py", call, "recovered", "iterations", arguments="at, rng", cost="pass")
    report = {"value": "recovered", "x": "c", "y": "nodes"}
    claims = [{"kind": "threshold", "of": "recovered", "along": "c", "value": 1, "tolerance": 0.9}]
    fields = {"axes": {"nodes": [1, 2], "c": {"start": 0, "stop": 2, "step": 0.25}}, "claims": claims, "report": report}
    document = {"name": "own", "data": "none", "method": {"kind": kind}, "replicates": 20, **fields}
    (folder / "own.yaml").write_text(json.dumps(document))
    for index in (1, 2):
        for seed in (0, 1):
            shard, out = f"--shard={index}/2", f"--out={folder / str(seed)}"
            said("sweep", folder / "own.yaml", shard, out, f"--set=seed={seed}", "-q", "-j", 1)
    return folder


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("check own.yaml", r"axis     nodes: 1, 2"),
        ("sweep own.yaml --until 'threshold +-0.3' --set sampling.refine=true --out until -q -j 1", "target: .*, met"),
        ("sweep own.yaml --dry-run --out other", "360 to run"),
        ("status 0", "360 of 360 trials stored"),
        ("report 0 --check-claims", r"supported: .* c = 1"),
        ("report 0 --format html", r"\.html"),
        ("compare 0 1", "difference"),
        ("trials 0 --where 'nodes=2 and c<1'", "recovered"),
        ("verify 0 --sample 5 --trust", "5 the same, 0 different"),
        ("replay 0 {id} --trust", "equal to its stored row"),
    ],
)
def test_an_experiment_without_data_has_every_command(
    undrawn: Path, monkeypatch: pytest.MonkeyPatch, command: str, words: str
) -> None:
    monkeypatch.chdir(undrawn)
    frame = read(undrawn / "0").frame
    assert not {"d", "n", "noise", "planted", "architecture"} & set(frame.columns)
    assert set(frame["iterations"]) == {4}
    assert re.search(words, said(*shlex.split(command.format(id=frame["trial_id"][0]))))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("replay 0 {id} --trust --save x.npz", "with `data: none` a trial has no instance"),
        ("certificate 0 {id} --trust", "solves no convex program"),
        (
            "check own.yaml --set 'data={{ensemble: gaussian}}'",
            "(?s)planted: is missing; .* needs no such data has `data: none`.*any word",
        ),
        ("check own.yaml --set 'method={{kind: min_norm}}'", "`data: none` is for a method of your own"),
        ("check own.yaml --set 'axes.planted.k=[1]'", "any other word, because of `data: none`"),
        ("check own.yaml --set 'axes.count=[1]'", "is a name of the program's own; choose another"),
        ("check own.yaml --set report.x=d", "allowed: a coordinate: ensemble, method, nodes or c"),
    ],
)
def test_what_an_experiment_without_data_lacks_is_said(
    undrawn: Path, monkeypatch: pytest.MonkeyPatch, command: str, words: str
) -> None:
    monkeypatch.chdir(undrawn)
    assert re.search(words, refused(*shlex.split(command.format(id=read(undrawn / "0").frame["trial_id"][0]))))


def test_ids_of_an_experiment_without_data_depend_on_what_is_given(undrawn: Path) -> None:
    cell = load(undrawn / "own.yaml").cells[0]
    assert cell.canonical == {
        "axes": {"nodes": 1, "c": 0},
        "data": "none",
        "method": {"kind": "undrawn:Own"},
        "seed": 0,
    }


@pytest.mark.parametrize("value", ["recovered", "iterations"])
def test_no_axis_has_the_name_of_a_column_of_a_table(undrawn: Path, value: str) -> None:
    """Such an axis and the column would be one column of the table."""
    one, other = (Diagram.of(read(undrawn / seed), value) for seed in "01")
    differences = compare(one.grid.path, other.grid.path, value=value).table
    sides = {f"{name}_{side}" for name in ("value", "unknown") for side in ("first", "second")}
    assert {*one.table, *one.panels[0].cells, *differences} - {"nodes", "c", "first", "second"} - sides <= {*TALLIED}
