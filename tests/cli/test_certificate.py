"""`recover certificate`: a trial's program, weights, dual and certificate, and the program that checks them."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recovery
from recovery.api import Results
from recovery.errors import ParameterError, StoreError
from recovery.extras.certificate import TrialCertificate
from tests.cli.test_stored import tamper
from tests.invoke import recover, refused

ROOT = Path(__file__).parents[2]
DISTANCES = {"max_deviation", "absolute_distance", "test_distance"}
SKIP = {"architecture": ["relu_skip"], "planted": [{"kind": "linear"}], "d": [4]}
NORM = {"architecture": ["relu_norm"], "planted": [{"kind": "normalized_relu", "k": 1}], "d": [4]}
MIN_NORM, MIN_EXACT = {"kind": "min_norm"}, {"kind": "min_norm", "program": "exact"}
EXACT = {"kind": "regularized", "program": "exact", "beta": 0.05}
CONFIG = {
    "name": "certified",
    "seed": 3,
    "replicates": 1,
    "data": {"ensemble": "gaussian"},
    "axes": [
        {"patterns.kind": ["sampled"], **SKIP, "method": [MIN_NORM, MIN_EXACT], "noise": [0, 0.1], "n": [5, 20]},
        {"patterns.kind": ["sampled", "all"], **SKIP, "method": [EXACT], "noise": [0.1], "n": [10]},
        {"patterns.kind": ["all"], **SKIP, "method": [MIN_NORM], "noise": [0], "n": [8, 14]},
        {"patterns.kind": ["sampled"], **NORM, "method": [MIN_NORM], "noise": [0.1], "n": [10]},
        {
            "patterns.kind": ["sampled"],
            **NORM,
            "method": [EXACT, {**EXACT, "confinement": "none"}],
            "noise": [0.1],
            "n": [8, 14],
        },
        {
            "patterns.kind": ["sampled"],
            **SKIP,
            "architecture": ["relu_norm_skip"],
            "method": [MIN_NORM, EXACT],
            "noise": [0.1],
            "n": [14],
        },
    ],
}
CONFIGS = ["all-exact", "all-gated", "all-theorems", "p1-fig06", "p1-fig07"]
CONFIGS += ["p1-fig09", "p1-fig12", "p1-fig20", "p1-fig23", "p1-fig24"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return recovery.run(CONFIG, tmp_path_factory.mktemp("sweep") / "out", jobs=1, quiet=True)


@pytest.fixture(scope="module")
def certified(results: Results) -> list[TrialCertificate]:
    return [recovery.certificate(results.grid.path, trial) for trial in results.frame["trial_id"]]


def checked(saved: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> bool:
    """Run check.py on a saved certificate; return whether it agrees."""
    monkeypatch.setattr("sys.argv", ["check.py", str(saved), *options])
    try:
        runpy.run_path(str(saved.with_name("check.py")), run_name="__main__")
    except SystemExit:
        return False
    return True


def test_every_certificate_is_its_row_and_numpy_alone_recomputes_it(
    certified: list[TrialCertificate],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert {one.row.get("verdict") for one in certified} >= {None, "recovered", "not_optimal"}
    for one in certified:
        assert one.agrees, str(one)
        one.save(tmp_path / "trial.npz")
        assert checked(tmp_path / "trial.npz", monkeypatch, "--cvxpy"), str(one)
        (optimum,) = (line.split()[-1] for line in capsys.readouterr().out.splitlines() if "by cvxpy" in line)
        assert float(optimum) == pytest.approx(one.numbers.objective, rel=1e-5), str(one)


def test_a_denied_recovery_is_judged(
    certified: list[TrialCertificate],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kinds = {(one.row.get("verdict"), one.row.get("certificate")): one for one in certified}
    denied = [one for kind, one in kinds.items() if kind[0] == "not_optimal" or kind == ("not_unique", "duplicate")]
    assert {one.row["verdict"] for one in denied} == {"not_optimal", "not_unique"}
    for one in denied:
        one.save(tmp_path / "trial.npz")
        assert checked(tmp_path / "trial.npz", monkeypatch)
        assert f"{one.row['verdict']} is claimed, proved" in capsys.readouterr().out
    recovered = next(one for kind, one in kinds.items() if kind[0] == "recovered")
    for verdict in ("not_optimal", "not_unique"):
        false = {"verdict": np.array(verdict), "certificate": np.array("duplicate")}
        assert not checked(edited(recovered, tmp_path / "trial.npz", **false), monkeypatch)


def test_a_program_is_the_one_that_the_method_forms(certified: list[TrialCertificate]) -> None:
    for one in certified:
        if one.instance.setting.patterns.kind == "all":
            continue
        program = one.method.problem(one.instance, one.architecture).program
        assert program.kind == one.program.kind
        assert (program.beta, program.groups.confined) == (one.program.beta, one.program.groups.confined)
        np.testing.assert_array_equal(program.groups.patterns, one.program.groups.patterns)
        assert one.numbers.objective == program.objective(one.solution.W)


@pytest.mark.parametrize("interpolates", [True, False])
@pytest.mark.parametrize("name", ["V", "lam", "y", "base", "objective", "dual_objective", "largest_dual_ratio"])
def test_a_changed_number_does_not_pass_the_check(
    name: str, interpolates: bool, certified: list[TrialCertificate], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noisy = [one for one in certified if one.program.has_cones and one.instance.setting.noise > 0]
    one = next(one for one in noisy if one.program.interpolates is interpolates)
    values = np.array(one.arrays()[name])
    place = np.unravel_index(np.argmax(np.abs(values)), values.shape)
    # A penalised objective changes with the square of a change of optimal weights, and with no residual to miss.
    values[place] *= 1 + (1e-3 if name == "V" and not interpolates else 1e-6)
    assert not checked(edited(one, tmp_path / "trial.npz", **{name: values}), monkeypatch)


def edited(one: TrialCertificate, path: Path, **changes: Any) -> Path:
    """Save the arrays of a certificate with changes, beside the program that checks them."""
    one.save(path)
    np.savez(path, **{**one.arrays(), **changes})
    return path


def restated(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """State the numbers that check.py computes."""
    capsys.readouterr()
    checked(path, monkeypatch)
    found = {
        line.split()[0]: float(line.split()[1].rstrip(","))
        for line in capsys.readouterr().out.splitlines()
        if ", stated" in line
    }
    with np.load(path) as file:
        np.savez(path, **{**{key: file[key].copy() for key in file.files}, **found})


@pytest.mark.parametrize("edit", ["weights", "verdict", "dual", "labels", "scales"])
def test_an_edit_with_all_numbers_restated_does_not_pass(
    edit: str,
    certified: list[TrialCertificate],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    wanted = {"weights": None, "verdict": "not_optimal"}.get(edit, "recovered")
    sampled = [one for one in certified if one.instance.setting.patterns.kind != "all"]
    one = next(one for one in sampled if one.row["verdict"] == wanted)
    arrays = one.arrays()
    labels = arrays["y"] + np.eye(len(arrays["y"]))[0]
    changes = {
        "weights": {"V": arrays["V"] / 2, "weights": arrays["weights"] / 2},
        "verdict": {"verdict": np.array("recovered")},
        "dual": {"lam": arrays["lam"] * 0.9},
        "labels": {"y": labels},
        "scales": {"y": labels, "scales": np.array([1e300, *np.ones(len(labels) - 1)])},
    }
    path = edited(one, tmp_path / "trial.npz", **changes[edit])
    restated(path, monkeypatch, capsys)
    assert not checked(path, monkeypatch)
    assert "differs" not in capsys.readouterr().out


def test_the_command_prints_and_writes_and_sees_a_changed_row(tmp_path: Path) -> None:
    small = {**CONFIG, "axes": [{**SKIP, "method": [MIN_NORM], "noise": [0.1], "n": [10]}]}
    folder = recovery.run(small, tmp_path / "out", jobs=1, quiet=True).grid.path
    trial = tamper(folder, "objective", 0.125)
    result = recover("certificate", folder, trial[:6], "--out", tmp_path / "trial.npz")
    assert result.exit_code == 1
    assert "differs   in objective" in result.stdout
    assert "optimal" in result.stdout
    saved = np.load(tmp_path / "trial.npz")
    np.testing.assert_array_equal(saved["V"], recovery.certificate(folder, trial).solution.W)
    (tmp_path / "check.py").write_text("print('mine')\n")
    assert "is another program" in refused("certificate", folder, trial, "--out", tmp_path / "trial.npz")
    assert recover("certificate", folder, trial, "--out", "trial.txt").exit_code == 2


def test_a_trial_without_a_program_and_an_unknown_trial_are_messages(tmp_path: Path) -> None:
    config = {**CONFIG, "axes": [{**SKIP, "method": [{"kind": "least_squares"}], "n": [10]}]}
    results = recovery.run(config, tmp_path / "out", jobs=1, quiet=True)
    with pytest.raises(ParameterError, match="least_squares solves no convex program"):
        recovery.certificate(results.grid.path, results.frame["trial_id"].iloc[0])
    with pytest.raises(StoreError, match="no trial id starts with 'zz'"):
        recovery.certificate(results.grid.path, "zz")


@pytest.mark.deep
@pytest.mark.parametrize("name", CONFIGS)
def test_stored_trials_of_the_papers_are_recomputed_by_numpy(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five of each config, n <= 100. Rows of older solvers may have another optimum where the planted one is none."""
    folder = ROOT / "results" / "papers" / name
    frame = recovery.read(folder).frame
    frame = frame[frame["n"].fillna(0) <= 100].sample(frac=1, random_state=1)
    kinds = [key for key in ("verdict", "architecture", "patterns.kind", "method.program", "planted") if key in frame]
    rank = frame.groupby(kinds, dropna=False).cumcount()
    chosen = frame.assign(rank=rank).sort_values("rank", kind="stable")["trial_id"].head(5)
    for trial in chosen:
        one = recovery.certificate(folder, trial)
        unlike = {each.column for each in one.differences if not each.rounding}
        assert not unlike or (unlike <= DISTANCES and one.row["verdict"] == "not_optimal"), str(one)
        one.save(tmp_path / "trial.npz")
        assert checked(tmp_path / "trial.npz", monkeypatch), str(one)
