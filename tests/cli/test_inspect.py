import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from recovery.cli.main import main


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["inspect", *map(str, arguments)])


def save(path: Path, X: np.ndarray) -> Path:
    if path.suffix == ".npy":
        np.save(path, X)
    elif path.suffix == ".csv":
        pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]).to_csv(path, index=False)
    else:
        pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]).to_parquet(path)
    return path


@pytest.fixture(name="X")
def small_matrix() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((20, 3))


@pytest.mark.parametrize("suffix", [".csv", ".npy", ".parquet"])
def test_every_format_gives_the_same_findings(tmp_path: Path, X: np.ndarray, suffix: str) -> None:
    result = run(save(tmp_path / f"X{suffix}", X), "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert (found["n"], found["d"], found["patterns"], found["exhaustive"]) == (20, 3, 382, True)
    assert [f["condition"] for f in found["findings"]] == ["(31)", "SNIC-L", "orth-SNIC-L"]
    np.save(tmp_path / "again.npy", X)
    again = json.loads(run(tmp_path / "again.npy", "--json").stdout)["findings"]
    assert [f["answer"] for f in found["findings"]] == [f["answer"] for f in again]


def test_a_matrix_of_positive_rows_has_the_all_ones_pattern(tmp_path: Path, X: np.ndarray) -> None:
    result = run(save(tmp_path / "X.npy", np.abs(X)))
    assert result.exit_code == 0
    assert "positive product with every row, so" in result.stdout
    linear = json.loads(run(tmp_path / "X.npy", "--planted", save(tmp_path / "w.npy", X[:1]), "--json").stdout)
    assert [f["answer"] for f in linear["findings"]] == ["no"] * 4
    assert linear["findings"][3]["value"] >= 1 - 1e-9


def test_planted_neurons_and_their_kinds(tmp_path: Path, X: np.ndarray) -> None:
    data = save(tmp_path / "X.npy", X)
    one, two = save(tmp_path / "one.csv", np.ones((1, 3))), save(tmp_path / "two.csv", np.eye(3)[:2])
    assert "[NIC-L]" in run(data, "--planted", one).stdout
    relu = run(data, "--planted", one, "--kind", "relu").stdout
    assert "[NIC-1]" in relu
    assert "[Prop. 22]" in relu
    assert "[NIC-k]" in run(data, "--planted", two).stdout
    assert "[NNIC-k]" in run(data, "--planted", two, "--kind", "normalized_relu").stdout


def test_large_data_are_sampled_and_say_so(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    data = save(tmp_path / "X.npy", rng.standard_normal((90, 9)))
    result = run(data, "--planted", save(tmp_path / "w.npy", rng.standard_normal((1, 9))))
    assert "sampled and searched" in result.stdout
    assert "not refuted (every pattern looked at passes; not all were)" in result.stdout


def bad(X: np.ndarray, kind: str) -> object:
    X = X.copy()
    if kind == "nan":
        X[3, 1] = np.nan
    elif kind == "constant":
        X[:, 2] = 4.0
    elif kind == "few rows":
        X = X[:2]
    elif kind == "dependent":
        X[:, 2] = X[:, 0] - X[:, 1]
    return X


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("nan", r"row 4, column 2 (c1)"),
        ("constant", "constant columns: 3 (= 4)"),
        ("few rows", "2 rows and 3 columns"),
        ("dependent", "3 columns of rank 2"),
    ],
)
def test_bad_data_are_named(tmp_path: Path, X: np.ndarray, kind: str, message: str) -> None:
    result = run(save(tmp_path / "bad.csv", bad(X, kind)))  # type: ignore[arg-type]
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,town\n3,Rome\n4,Oslo\n")
    result = run(tmp_path / "t.csv")
    assert result.exit_code == 2
    assert "column 'town' holds text, e.g. 'Rome'" in result.stderr


def test_planted_that_do_not_fit_are_named(tmp_path: Path, X: np.ndarray) -> None:
    data = save(tmp_path / "X.npy", X)
    assert "looks transposed" in run(data, "--planted", save(tmp_path / "a.npy", np.ones((3, 2)))).stderr
    assert "row 2 is zero" in run(data, "--planted", save(tmp_path / "b.npy", np.diag([1.0, 0, 1]))).stderr
    many = run(data, "--planted", save(tmp_path / "c.npy", np.eye(3)), "--kind", "linear")
    assert "one linear neuron" in many.stderr
    assert "--planted" in run(data, "--kind", "relu").stderr
    assert "no such file" in run(tmp_path / "none.npy").stderr
