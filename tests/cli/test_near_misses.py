"""Command lines with a small mistake get a suggestion of the correct one."""

from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.config.sweeps import write
from tests.invoke import recover


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "good.yaml", name="good", replicates=1, d=None, axes={"d": [1, 2]})
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("check good.yaml --set n=[10,20]", "write `--set 'axes.n=[10,20]'`"),
        ("check good.yaml --set d=[10,20]", "write `--set 'axes.d=[10,20]'`"),
        ("check good.yaml --set n 40", "did you mean --set n=40?"),
        ("check good.yml", "did you mean 'good.yaml'?"),
    ],
)
def test_configs(folder: Path, arguments: str, words: str) -> None:
    done = recover(*arguments.split())
    assert done.exit_code == 2
    assert words in done.stderr


def test_results(folder: Path) -> None:
    assert recover("sweep", "good.yaml", "-j", 1, "-q").exit_code == 0
    for arguments, words in [
        ("report good", "did you mean 'results/good'?"),
        ("report results/goood", "did you mean 'results/good'?"),
        ("report results", "the sweeps in it: good"),
        ("report results/good --value recoverd", "did you mean 'recovered'?"),
        ("report elsewhere", "run `recover sweep` first"),
        ("bundle results/good --out not_there/good.zip", "not_there: no such folder"),
    ]:
        done = recover(*arguments.split())
        assert done.exit_code == 2
        assert words in done.stderr
    assert not (folder / "not_there").exists()


def test_x_beyond_memory_is_warned_of(folder: Path) -> None:
    done = recover("check", "good.yaml", "--set", "n=10000000", "--set", "axes.d=[10000]")
    assert done.exit_code == 0
    assert "warning: X of the largest cell" in done.stderr
    assert recover("check", "good.yaml").stderr == ""


def test_a_bundle_has_the_code_that_it_names(folder: Path) -> None:
    config = folder / "good.yaml"
    config.write_text(config.read_text().replace("gaussian", "bundled_law:law"))
    (folder / "bundled_law.py").write_text(
        "from bundled_help import wide\n\n\ndef law(rng, n, d):\n    return wide(rng, n, d)\n"
    )
    (folder / "bundled_help.py").write_text("def wide(rng, n, d):\n    return rng.standard_normal((n, d))\n")
    (folder / "unused.py").write_text("")
    assert recover("sweep", "good.yaml", "-j", 1, "-q").exit_code == 0
    assert recover("bundle", "results/good").exit_code == 0
    with ZipFile("good.zip") as archive:
        names = {name.removeprefix("good/") for name in archive.namelist()}
        archive.extractall("elsewhere")
    assert {"bundled_law.py", "bundled_help.py"} <= names
    assert "unused.py" not in names
    assert recover("check", "elsewhere/good/config.json").exit_code == 0


OWN = """
from dataclasses import dataclass
import numpy as np
import recovery


class Draws:
    def draw(self, rng, X):
        return recovery.Neurons("linear", np.eye(X.shape[1])[:, :1], np.ones(1))


@dataclass(frozen=True)
class Uncounted(Draws):
    form, slope = "linear", 0.0


class Undecorated(Draws):
    form, neurons, slope = "linear", 1, 0.0


@dataclass
class Thawed(Draws):
    form, neurons, slope = "linear", 1, 0.0


@dataclass(frozen=True)
class Untyped(Draws):
    k = 1
    form, neurons, slope = "linear", 1, 0.0


@dataclass(frozen=True)
class Costless:
    columns = recovery.select("recovered")

    def __call__(self, instance, architecture):
        return {"recovered": True}


SOLVER = recovery.Solver({"gated": lambda program: np.zeros(3)})
"""


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("planted={kind: nearly_mine:Uncounted}", "it lacks `neurons`"),
        ("planted={kind: nearly_mine:Undecorated}", "it lacks `@dataclass(frozen=True)` above it"),
        ("planted={kind: nearly_mine:Thawed}", "; write `@dataclass(frozen=True)` above it"),
        ("planted={kind: nearly_mine:Untyped, k: 2}", "there are none; a field has a type: write `k: int = ...`"),
        ("method={kind: nearly_mine:Costless}", "it lacks `cost(n, d)`"),
    ],
)
def test_an_own_class_is_told_what_it_lacks(folder: Path, field: str, words: str) -> None:
    (folder / "nearly_mine.py").write_text(OWN)
    done = recover("check", "good.yaml", "--set", field)
    assert done.exit_code == 2
    assert words in done.stderr


def test_an_own_solver_that_returns_no_solution_is_a_row_that_says_so(folder: Path) -> None:
    (folder / "nearly_mine.py").write_text(OWN)
    assert recover("sweep", "good.yaml", "--set", "method.solver=nearly_mine:SOLVER", "-j", 1, "-q").exit_code == 1
    assert "the solver returned ndarray; allowed: a Solution" in recover("status", "results/good").stdout


def test_trials_show_the_columns_that_were_asked_for(folder: Path) -> None:
    assert recover("sweep", "good.yaml", "-j", 1, "-q").exit_code == 0
    heads = recover("trials", "results/good", "--where", "pattern_count > 0 and d = 2").stdout.splitlines()[0].split()
    assert heads.count("d") == 1
    assert heads[-1] == "pattern_count"
