"""`recover select` on a generated table: the right columns, a result that can be kept, messages for people."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import recovery
from recovery.cli.main import main
from recovery.extras import selected
from recovery.selection.hyperparameters import HyperparameterGrid
from recovery.selection.selectors import Selector

from .stand_ins import boys

SMALL = HyperparameterGrid((0.1, 0.01), (0.02,), (10,), (200,))


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setattr(selected, "Selector", lambda name, **rest: Selector(name, SMALL, **rest))
    rng = np.random.default_rng(1)
    n = 200
    frame = pd.DataFrame({f"x{i}": rng.standard_normal(n) for i in range(20)})
    frame.insert(0, "id", range(n))
    frame["colour"] = rng.choice(["red", "green", "blue"], n)
    frame["flat"] = 1
    frame["price"] = 3 * frame.x3 + 4 * np.maximum(frame.x7, 0) + 3.0 * (frame.colour == "red")
    frame.loc[rng.random(n) < 0.1, "x5"] = np.nan
    frame.to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


def run(*arguments):
    return CliRunner().invoke(main, ["select", *map(str, arguments)])


def test_the_right_columns_are_chosen_and_everything_is_said(data, tmp_path):
    found = run(data, "--target", "price", "--splits", 3, "--count", 3, "--out", tmp_path / "out")
    assert found.exit_code == 0, found.output
    assert sorted(found.output.split("chosen: ")[1].split("\n")[0].split(", ")) == ["colour", "x3", "x7"]
    for text in (
        "times the importance of the next",
        "'id' is left out",
        "'flat' is left out",
        "gaps: filled",
        "3 categories",
        "R2 on held-out rows, and root mean squared error",
    ):
        assert text in found.output
    assert (tmp_path / "out/selection.png").read_bytes().startswith(b"\x89PNG")
    kept = json.loads((tmp_path / "out/selection.json").read_text())
    assert {column["column"] for column in kept["columns"][:3]} == {"colour", "x3", "x7"}


def test_json_is_json_and_the_same_twice(data):
    first = run(data, "--target", "price", "--splits", 2, "--no-baselines", "--json")
    assert json.loads(first.output)["rows"] == 200
    assert run(data, "--target", "price", "--splits", 2, "--no-baselines", "--json").output == first.output


def test_nothing_to_find_is_said(data):
    frame = pd.read_csv(data)
    frame["price"] = np.random.default_rng(0).standard_normal(len(frame))
    frame.to_csv(data, index=False)
    found = run(data, "--target", "price", "--splits", 3, "--no-baselines", "--count", 2)
    assert "  warning: R2 of the network is not clearly above 0 (below 0 in " in found.output
    assert "no column explains the target" in found.output
    kept = run(data, "--target", "price", "--splits", 3, "--no-baselines", "--count", 2, "--json")
    assert "R2 of the network is not clearly above 0" in json.loads(kept.output)["warnings"][-1]


def test_a_baseline_that_predicts_where_the_network_does_not_is_named(data, monkeypatch):
    untrained = HyperparameterGrid((0.1,), (1e-6,), (10,), (1,))
    monkeypatch.setattr(selected, "Selector", lambda name, **rest: Selector(name, untrained, **rest))
    report = recovery.select_columns(data, "price", splits=3)
    warning = report.warnings[-1]
    assert "so its choice is meaningless. " in warning
    best = max(report.choices[1:], key=lambda one: one.r2.mean())
    assert f"{best.selector} has R2 = {best.r2.mean():.2f}; its stable columns: " in warning
    assert "x3" in warning.split("stable columns: ")[1].split(", ")
    assert "no column explains the target" not in warning


def test_a_study_of_the_shape_of_bgsboys(data, tmp_path):
    """P3, Table 7: 66 boys, BMI18 = WT18 / (HT18 / 100)^2 among 10 columns, 44 rows to fit; the body is drawn."""
    boys().to_csv(tmp_path / "boys.csv", index=False)
    found = run(tmp_path / "boys.csv", "--target", "BMI18", "--rows", 44, "--splits", 5, "--count", 2, "--json")
    result = json.loads(found.output)
    assert (result["rows"], len(result["columns"]), len(result["rmse"]["network"])) == (66, 10, 5)
    assert np.mean(result["rmse"]["lasso"]) < 0.2 < np.mean(result["rmse"]["forest"])
    chosen = {column["column"]: column["lasso"]["frequency"] for column in result["columns"]}
    assert chosen["WT18"] == chosen["HT18"] == 1.0


def test_errors_are_messages(data, tmp_path):
    found = run(data, "--target", "prise")
    assert found.exit_code == 2
    assert "has no column 'prise'" in found.output
    (tmp_path / "file").write_text("")
    found = run(data, "--target", "price", "--splits", 2, "--no-baselines", "--out", tmp_path / "file" / "deep")
    assert found.exit_code == 2
    assert "cannot write" in found.output
    found = run(data, "--target", "price", "--splits", 2, "--no-baselines", "--rows", 199)
    assert found.exit_code == 2
    assert "199 of 200 rows leave fewer than 2 to predict" in found.output


@pytest.mark.parametrize(
    ("next_one", "text"),
    [(0.5, "has 2 times the importance of the next"), (0.96, "only 4% above"), (0.999, "only less than 1% above")],
)
def test_a_cut_between_equals_is_not_called_one_times_as_important(next_one, text):
    importances, chosen = np.array([1.0, next_one]), np.array([True, False])
    choice = selected.SelectorChoice("network", importances, chosen, np.ones(2), np.ones(1), np.ones(1))
    assert text in choice.separation()[0]


def test_python_and_the_command_give_one_answer(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((80, 4)), columns=list("abcd"))
    table["y"] = 2 * table.a + 0.1 * rng.standard_normal(80)
    table.to_csv(tmp_path / "t.csv", index=False)
    report = recovery.select_columns(table, "y", splits=2, baselines=False)
    assert report.chosen[0] == "a"
    assert set(report.stable) <= set("abcd")
    assert list(report.frame["column"]) == [report.table.names[i] for i in report.order]
    said = run(tmp_path / "t.csv", "--target", "y", "--splits", 2, "--no-baselines").output
    assert said.splitlines()[1:] == str(report).splitlines()[1:]
    with pytest.raises(recovery.RecoverError, match="has no column 'z'"):
        recovery.select_columns(table, "z")


@pytest.mark.parametrize("kind", ["text", "category", "bool"])
def test_two_classes_are_a_target(kind):
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.standard_normal((60, 3)), columns=list("abc"))
    healthy = table.b > 0
    table["state"] = healthy if kind == "bool" else np.where(healthy, "well", "ill")
    if kind != "bool":
        table.loc[3, "state"] = None
        assert "'well' is 1, 'ill' is 0" in str(recovery.select_columns(table, "state", splits=2, baselines=False))
    if kind == "category":
        table["state"] = table["state"].astype("category")
    report = recovery.select_columns(table, "state", splits=2, baselines=False)
    assert report.chosen[0] == "b"
    assert ", accuracy and area under the ROC curve, means" in str(report)
    assert set(json.loads(report.as_json())["auc"]) == {"network"}
    assert report.choices[0].accuracy.max() > 0.8 < report.choices[0].auc.max()
    assert len(report.table.y) == 60 - (kind != "bool")


def test_accuracy_and_the_area_under_the_curve_are_shares_of_rows_and_of_pairs():
    rng = np.random.default_rng(0)
    labels, predicted = rng.choice([1.0, 3.0], 50), rng.integers(0, 5, 50).astype(float)
    pairs = predicted[labels == 3][:, None] - predicted[labels == 1]
    expected = np.mean((predicted > 2) == (labels == 3)), np.mean(pairs > 0) + np.mean(pairs == 0) / 2
    assert selected.as_classes(predicted, labels, 1.0, 3.0) == pytest.approx(expected)
    assert np.isnan(selected.as_classes(predicted, np.ones(50), 1.0, 3.0)[1])


def test_three_classes_are_no_target():
    table = pd.DataFrame({"a": np.arange(30) % 7, "kind": ["x", "y", "z"] * 10})
    with pytest.raises(recovery.RecoverError, match=r"holds 3 classes: x, y, z; .*1 for one of them"):
        recovery.select_columns(table, "kind")
    codes = table.assign(kind=table.kind.map({"x": 0, "y": 1, "z": 2}))
    said = str(recovery.select_columns(codes, "kind", splits=2, baselines=False))
    assert "'kind' has the values 0, 1, 2, which count as amounts; if they are classes, " in said
    assert "ROC" not in said
