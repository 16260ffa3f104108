import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from recovery.instances.files import read_matrix
from tests.invoke import recover, refused, said

run = partial(recover, "inspect")


def save(path: Path, X: np.ndarray) -> Path:
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    written = {".npy": lambda: np.save(path, X), ".csv": lambda: frame.to_csv(path, index=False)}
    written.get(path.suffix, lambda: frame.to_parquet(path))()
    return path


@pytest.fixture(name="X")
def small_matrix() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((20, 3))


@pytest.mark.parametrize("suffix", [".csv", ".npy", ".parquet"])
def test_every_format_gives_the_same_findings(tmp_path: Path, X: np.ndarray, suffix: str) -> None:
    result = said("inspect", save(tmp_path / f"X{suffix}", X), "--json")
    found = json.loads(result)
    assert (found["n"], found["d"], found["patterns"], found["exhaustive"]) == (20, 3, 382, True)
    assert [f["condition"] for f in found["findings"]] == ["(31)", "SNIC-L", "orth-SNIC-L"]
    np.save(tmp_path / "again.npy", X)
    again = json.loads(run(tmp_path / "again.npy", "--json").stdout)["findings"]
    assert [f["answer"] for f in found["findings"]] == [f["answer"] for f in again]


def test_a_matrix_of_positive_rows_has_the_all_ones_pattern(tmp_path: Path, X: np.ndarray) -> None:
    assert "positive product with every row, so" in said("inspect", save(tmp_path / "X.npy", np.abs(X)))
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


@pytest.mark.deep
def test_large_data_are_sampled_and_say_so(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    data = save(tmp_path / "X.npy", rng.standard_normal((90, 9)))
    result = run(data, "--planted", save(tmp_path / "w.npy", rng.standard_normal((1, 9))))
    assert "sampled and searched" in result.stdout
    assert "not refuted (every tested pattern passes, but not all were tested)" in result.stdout


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: np.where(X[3, 1] == X, np.nan, X), "row 4, column 2 (c1)"),
        (lambda X: np.column_stack([X[:, :2], np.full(20, 4.0)]), "constant columns: 3 (= 4)"),
        (lambda X: X[:2], "2 rows and 3 columns"),
        (lambda X: np.column_stack([X[:, :2], X[:, 0] - X[:, 1]]), "3 columns have rank 2"),
    ],
)
def test_bad_data_are_named(tmp_path: Path, X: np.ndarray, change: Any, message: str) -> None:
    assert message in refused("inspect", save(tmp_path / "bad.csv", change(X)))


def test_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,town\n3,Rome\n4,Oslo\n")
    assert "column 'town' holds text, e.g. 'Rome'" in refused("inspect", tmp_path / "t.csv")


def test_planted_that_do_not_fit_are_named(tmp_path: Path, X: np.ndarray) -> None:
    data = save(tmp_path / "X.npy", X)
    assert "looks transposed" in run(data, "--planted", save(tmp_path / "a.npy", np.ones((3, 2)))).stderr
    assert "row 2 is zero" in run(data, "--planted", save(tmp_path / "b.npy", np.diag([1.0, 0, 1]))).stderr
    many = run(data, "--planted", save(tmp_path / "c.npy", np.eye(3)), "--kind", "linear")
    assert "one linear neuron" in many.stderr
    assert "--planted" in run(data, "--kind", "relu").stderr
    assert "no such file" in run(tmp_path / "none.npy").stderr


def written(path: Path, X: np.ndarray, **style: Any) -> Path:
    pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])]).to_csv(path, **style)
    return path


@pytest.mark.parametrize("style", [{"sep": ";", "decimal": ","}, {"sep": ";"}, {"sep": "\t"}, {"header": False}])
def test_other_ways_to_write_a_table_are_the_same_table(tmp_path: Path, X: np.ndarray, style: dict[str, Any]) -> None:
    path = written(tmp_path / "data.csv", X, index=False, **style)
    np.testing.assert_array_equal(read_matrix(path), X)


def test_an_index_that_was_saved_is_no_data(tmp_path: Path, X: np.ndarray) -> None:
    path = written(tmp_path / "data.csv", X)
    assert "its first column has no name and numbers the rows" in refused("inspect", path)
    alone = run(written(tmp_path / "alone.csv", X, index=False), "--json")
    without = run(path, "--exclude", "1", "--json")
    assert json.loads(without.stdout)["findings"] == json.loads(alone.stdout)["findings"]
    assert "columns used: x0, x1" in run(path, "--exclude", "1").stdout
    named = run(written(tmp_path / "named.csv", X, index_label="id"), "--columns", "id", "--columns", "x1")
    assert "columns used: id, x1\n" in named.stdout
    warned = run(tmp_path / "named.csv")
    assert "column 'id' numbers the rows; --exclude 'id' leaves it out" in warned.stderr
    config = tmp_path / "config.yaml"
    config.write_text(
        f"name: a\ndata: {{ensemble: file, path: {path}}}\nplanted: {{kind: linear}}\narchitecture: relu_skip\n"
        "method: {kind: isometry}\nn: 5\nd: 2\n"
    )
    assert re.search(r"config.yaml:2:.*numbers the rows", refused("check", config), re.DOTALL)


def test_columns_that_are_not_there_or_not_named(tmp_path: Path, X: np.ndarray) -> None:
    path = written(tmp_path / "data.csv", X, index=False)
    assert "no column 'x_1'; it has x0, x1" in run(path, "--exclude", "x_1").stderr
    path.write_text("x0,x1\n" + "".join(f"r{i},{i},{i * i}\n" for i in range(6)))
    assert "more entries than its header" in run(path).stderr
