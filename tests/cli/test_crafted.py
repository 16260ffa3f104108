"""Results folders that somebody has crafted, with valid checksums: each is a message, and costs little memory."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recovery.config import ConfigError, load
from recovery.store.parts import document_checksum
from tests.invoke import recover, refused
from tests.runner.sweeps import write_config

from .test_foreign import edit

Round = dict[str, Any]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two rounds, and its config beside it."""
    folder = tmp_path_factory.mktemp("made")
    config = write_config(
        folder,
        method={"kind": "isometry"},
        architecture="relu_skip",
        sampling={"kind": "until", "rule": "threshold +-1.5", "ceiling": 2},
        axes={"n": [4, 6, 8, 10], "d": [3]},
        report={"value": "holds"},
    )
    done = recover("sweep", config, "--out", folder / "out", "--backend", "threading", "-q")
    assert done.exit_code == 1  # the rule is not met at the ceiling
    return folder


@pytest.fixture
def out(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made / "out", tmp_path / "out"))


def cell(content: Round) -> str:
    return str(next(iter(content["counts"])))


UNTIL = {"rule": "decided", "ended": True, "words": []}
PANEL = {"title": "", "known": True, "aimed": False, "trials": 1, "left": 0, "tests": 1, "level_of": 1}
ROUNDS: dict[str, Callable[[Round], Round]] = {
    "nothing": lambda content: {},
    "a count that is text": lambda content: {**content, "counts": {cell(content): "x"}},
    "a huge count": lambda content: {**content, "counts": {cell(content): 10**30}},
    "a cell that is no id": lambda content: {**content, "counts": {"zz": 5}},
    "another number": lambda content: {**content, "round": 3},
    "a panel of a huge level": lambda content: {
        **content,
        "until": {**UNTIL, "panels": [{**PANEL, "level_of": 10**6}]},
    },
}


@pytest.mark.parametrize("craft", ROUNDS)
def test_a_round_that_no_sweep_writes_is_damage(made: Path, out: Path, craft: str) -> None:
    path = out / "rounds" / "02.json"
    content = json.loads(path.read_text())
    content.pop("checksum")
    new = ROUNDS[craft](content)
    path.write_text(json.dumps({**new, "checksum": document_checksum(new)}))
    for command in (["status"], ["report", "--format", "json"], ["verify"]):
        assert "02.json: is not a round that this program wrote" in refused(command[0], out, *command[1:])
    done = recover("sweep", made / "fake.yaml", "--out", out, "--backend", "threading")
    assert done.exit_code == 1  # the rule is not met
    assert "02.json: moved aside" in done.stderr
    assert recover("status", out).exit_code == 0


@pytest.mark.parametrize("replicates", [10**18, 10**30])
def test_more_trials_than_a_sweep_can_have_are_refused(out: Path, replicates: int) -> None:
    edit(out, replicates=replicates)
    for command in (["report", "--format", "json"], ["verify"], ["replay", "0"]):
        assert "10000000" in refused(command[0], out, *command[1:])


@pytest.mark.parametrize("field", ["title", "source"])
def test_a_title_has_a_bounded_length(out: Path, tmp_path: Path, field: str) -> None:
    """Drawing a title of a megabyte took 25 s."""
    edit(out, **{field: "x " * 500_000})
    for command in (["report"], ["report", "--format", "html"]):
        assert len(refused(command[0], out, *command[1:])) < 500
    with pytest.raises(ConfigError, match=field):
        load(write_config(tmp_path, **{field: "x" * 1001}))
    load(write_config(tmp_path, **{field: "x" * 1000}))
