"""Networks side by side: gradients against finite differences, batches against single fits."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from recovery.config import ConfigError, load
from recovery.instances.draw import Setting, draw
from recovery.instances.files import File, FileColumn
from recovery.instances.planted_functions import SparseNetwork
from recovery.programs.relu_network import ReluNetwork
from recovery.selection.hyperparameters import PenalizedDescent, Training, choose, run_grid
from recovery.selection.sparse_networks import Networks, distance, initialize, network
from recovery.store import read
from recovery.training.models import Minibatches
from recovery.training.optimizers import Adam
from tests.invoke import said as run

from .stand_ins import boys, phones

B, R, N, P = 3, 5, 17, 4


def problem(dtype=np.float64):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((N, P)), rng.standard_normal(N)
    return X, y, initialize(rng, B, R, P, dtype)


def test_errors_are_those_of_each_network():
    X, y, theta = problem()
    found = Networks(X, y, B, R, np.float64).errors(theta)
    expected = [np.mean((network(theta, i, R)(X) - y) ** 2) for i in range(B)]
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def literal_adam(X, y, theta, penalty, rate, steps):
    """Adam on (1/n) ||f - y||^2 + penalty ||W||_1, whose gradient is written entry by entry."""
    theta, rule = theta.copy(), Adam()
    for _ in range(steps):
        Z = X @ theta[:, :-2].T + theta[:, -2]
        residual = np.maximum(Z, 0) @ theta[:, -1] - y
        gradient = np.zeros_like(theta)
        for j in range(len(theta)):
            for i in range(len(X)):
                on = 2 * residual[i] / len(X) * (Z[i, j] > 0)
                gradient[j, :-2] += on * theta[j, -1] * X[i]
                gradient[j, -2] += on * theta[j, -1]
                gradient[j, -1] += on * Z[i, j]
            gradient[j, :-2] += penalty * np.sign(theta[j, :-2])
        rule.step(theta, gradient, rate)
    return theta


def test_a_batch_is_single_fits_by_the_letter():
    X, y, theta = problem()
    start, pairs = theta.copy(), [(0.1, 0.05), (0.01, 0.02), (0.3, 0.005)]
    PenalizedDescent(theta, Networks(X, y, B, R, np.float64), *np.array(pairs).T, Training()).run(30)
    for i, (penalty, rate) in enumerate(pairs):
        rows = slice(i * R, (i + 1) * R)
        np.testing.assert_allclose(theta[rows], literal_adam(X, y, start[rows], penalty, rate, 30), rtol=1e-9)


def test_an_epoch_of_batches_is_a_step_on_each_and_sees_every_row_once():
    X, y, theta = problem()
    batches, penalties, rates = (
        Minibatches(np.random.default_rng(1), X, y, 5, lambda X, y: Networks(X, y, B, R)),
        np.full(B, 0.1),
        np.full(B, 0.01),
    )
    rows = [(batch.rows[:, :-1].copy(), batch.y.copy()) for batch in batches()]
    assert [len(labels) for _, labels in rows] == [5, 5, 5, 2]
    np.testing.assert_allclose(np.sort(np.concatenate([labels for _, labels in rows])), np.sort(y), rtol=1e-6)
    start = theta.astype(np.float32)
    trained = start.copy()
    batches.rng = np.random.default_rng(1)
    PenalizedDescent(trained, batches, penalties, rates, Training()).run(1)
    expected = PenalizedDescent(start.copy(), Networks(X, y, B, R), penalties, rates, Training())
    for inputs, labels in rows:
        expected.batches = lambda inputs=inputs, labels=labels: (Networks(inputs, labels, B, R),)
        expected.run(1)
    np.testing.assert_allclose(trained, expected.theta, rtol=1e-5)
    assert np.abs(trained - start).max() > 0.01


def test_checkpoints_are_runs_of_their_own():
    X, y, _ = problem()
    grid = Training((0.1, 0.01), (0.05,), (R,), (7, 3))
    seen = {epochs: theta.copy() for _, epochs, theta in run_grid(np.random.default_rng(1), X, y, grid)}
    for epochs in (3, 7):
        alone = Training((0.1, 0.01), (0.05,), (R,), (epochs,))
        ((_, _, theta),) = run_grid(np.random.default_rng(1), X, y, alone)
        np.testing.assert_array_equal(theta, seen[epochs])


def test_proximal_steps_end_at_zeros_and_at_the_optimality_conditions():
    """|dE/dw| <= penalty where w = 0, and dE/dw = -penalty sign(w) where it is not."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((60, 8))
    y = np.maximum(X[:, 0] + 0.5, 0) - np.maximum(X[:, 1], 0)
    theta = initialize(rng, 1, 6, 8, np.float64)
    networks, penalty = Networks(X, y, 1, 6, np.float64), 0.1
    # free outer weights have no penalty and would grow without limit, as W shrinks
    theta[:, -1] = np.sign(theta[:, -1])
    for rate in (1e-2, 1e-3, 1e-4, 1e-5):
        descent = PenalizedDescent(
            theta, networks, np.array([penalty]), np.array([rate]), Training(shrinkage="proximal", outer="signs")
        )
        descent.run(1500)
    networks.gradient(theta, descent.gradient)
    W, slope = theta[:, :-2], descent.gradient[:, :-2]
    assert (W == 0).mean() > 0.5
    assert np.abs(slope[W == 0]).max() <= penalty * (1 + 1e-3)
    np.testing.assert_allclose(slope[W != 0], -penalty * np.sign(W[W != 0]), atol=1e-3 * penalty)


def test_outer_signs_stay_where_they_start_and_the_rest_steps_as_by_the_letter():
    X, y, _ = problem()
    theta = initialize(np.random.default_rng(3), 2, R, X.shape[1], np.float64, signs=True)
    outer = theta[:, -1].copy()
    assert set(outer) == {-1.0, 1.0}
    networks = Networks(X, y, 2, R, np.float64)
    PenalizedDescent(theta, networks, np.array([0.1, 0.01]), np.array([0.05, 0.02]), Training(outer="signs")).run(30)
    np.testing.assert_array_equal(theta[:, -1], outer)
    grid = Training((0.1,), (0.01,), (5,), (50,), folds=2, outer="signs")
    fit = choose(np.random.default_rng(0), X, y, grid)
    assert set(np.abs(fit.network.a)) == {1.0}


def test_free_outer_weights_let_the_penalty_vanish():
    """W -> W / c, b -> b / c, a -> c a: the same network, and a smaller sum of |W|, which P3 does not speak of."""
    X, y, theta = problem()
    networks = Networks(X, y, B, R, np.float64)
    errors = networks.errors(theta).copy()
    scaled = np.hstack([theta[:, :-1] / 100, 100 * theta[:, -1:]])
    np.testing.assert_allclose(networks.errors(scaled), errors, rtol=1e-9)
    assert np.abs(scaled[:, :-2]).sum() < 0.02 * np.abs(theta[:, :-2]).sum()


def test_the_subgradient_leaves_no_zeros():
    X, y, _ = problem()
    grid = Training((1.0,), (0.01,), (5,), (100,), folds=2)
    assert np.all(choose(np.random.default_rng(0), X, y, grid).network.W != 0)
    proximal = choose(np.random.default_rng(0), X, y, replace(grid, shrinkage="proximal"))
    assert np.any(proximal.network.W == 0)


def planted(rng, r, p):
    return ReluNetwork(rng.standard_normal((r, p)), rng.standard_normal(r), rng.choice([-1.0, 1.0], r))


def test_the_distance_ignores_order_scaling_and_nothing_else():
    rng = np.random.default_rng(3)
    f = planted(rng, 4, 3)
    order, scale = [2, 0, 3, 1], np.array([1.0, 2.0, 0.5, 3.0])[:, None]
    same = ReluNetwork((f.W / scale)[order], (f.b / scale[:, 0])[order], (f.a * scale[:, 0])[order])
    assert distance(f, same) == pytest.approx(0.0, abs=1e-7)
    moved = ReluNetwork(f.W + 0.01, f.b, f.a)
    assert distance(f, moved) == pytest.approx(0.01 * math.sqrt(12))
    flipped = ReluNetwork(f.W, f.b, -np.abs(f.a))
    positive = ReluNetwork(f.W, f.b, np.abs(f.a))
    norms = np.sum(f.W**2) + np.sum(f.b**2)
    assert distance(positive, flipped) == pytest.approx(math.sqrt(2 * norms))


def test_the_distance_of_networks_of_different_sizes_counts_the_neurons_left_over():
    rng = np.random.default_rng(4)
    f = planted(rng, 5, 3)
    less = ReluNetwork(f.W[:3], f.b[:3], f.a[:3])
    left = math.sqrt(np.sum(f.W[3:] ** 2) + np.sum(f.b[3:] ** 2))
    assert distance(f, less) == pytest.approx(left)
    assert distance(less, f) == pytest.approx(left)


def test_the_weights_of_the_first_experiment_are_closer_than_assumption_3_allows():
    """P3, (19): the cosine of two planted weights is at most r^-0.1, here .758. Section 4.1.1 draws them positive."""
    for seed in range(200):
        W = SparseNetwork().draw(np.random.default_rng(seed), np.ones((1, 100))).network.W
        unit = W / np.linalg.norm(W, axis=1, keepdims=True)
        assert np.sort((unit @ unit.T).ravel())[-len(W) - 1] > 0.87 > len(W) ** -0.1


def test_the_linear_errors_of_table_6_are_those_of_uniform_inputs():
    """P3, 4.1.3: the inputs are "standard Gaussian". Then no linear model's error is below 20^2 E(x^2 - 1)^2 = 800.

    For x_3 uniform on (0, 1) the same part of the labels, 20 (x_3 - 1/2)^2, has the variance 400/180 = 2.2.
    """
    x, weight = np.polynomial.hermite_e.hermegauss(20)
    weight = weight / weight.sum()
    square = 20 * (x - 0.5) ** 2
    rest = square - weight @ square - (weight @ (square * x)) * x  # uncorrelated with the other terms and variables
    assert weight @ rest**2 == pytest.approx(800)
    u = (np.arange(100_000) + 0.5) / 100_000
    assert np.var(20 * (u - 0.5) ** 2) == pytest.approx(400 / 180, rel=1e-6)


# P3's tables of real data from config to report table, on drawn tables of the same shape.

SMALL = ["method.neurons=[10]", "method.epochs=[50]", "method.penalties=[0.01]", "method.rates=[0.05]"]


def page_config(name):
    """The config of this name on the page about P3, written to the current folder."""
    page = (Path(__file__).parents[2] / "docs" / "papers" / "P3.md").read_text()
    (text,) = (block for block in re.findall(r"```text\n(.*?)```", page, re.DOTALL) if f"name: {name}\n" in block)
    Path(f"{name}.yaml").write_text(text)
    return f"{name}.yaml"


@pytest.fixture
def table7(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    boys().to_csv("bgsboys.csv", index=False)
    return tmp_path


def test_table_7_from_config_to_report(table7):
    settings = [word for text in ("replicates=3", *SMALL) for word in ("--set", text)]
    run("sweep", page_config("p3-table7"), *settings, "-q", "--jobs", 1)
    frame = read("results/p3-table7").frame
    assert (frame["status"] == "ok").all()
    assert len(frame) == 15
    lasso = frame[frame["method.selector"] == "lasso"]
    assert lasso["chosen"].map(lambda text: set(text.split(", ")) >= {"HT18", "WT18"}).all()
    assert (lasso["true_positives"] == 2).all()
    assert (lasso["test_rmse"] ** 2).to_numpy() == pytest.approx(lasso["test_mse"].to_numpy())
    report = run("report", "results/p3-table7", "--format", "latex")
    assert "test rmse: mean and standard error of 3 trials (stated by P3 Table 7" in report
    assert report.count(" network ") >= 3
    assert "columns chosen" in report
    (line,) = (line for line in report.splitlines() if line.lstrip().startswith("lasso") and "WT18" in line)
    assert "WT18 (3)" in line
    assert "HT18 (3)" in line
    assert "chosen most often" in run("report", "results/p3-table7", "--format", "terminal")
    assert run("replay", "results/p3-table7", frame["trial_id"][0])


def test_table_8_from_config_to_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = phones(300)
    assert table.shape == (300, 682)
    table.to_csv("ujiindoorloc.csv", index=False)
    small = ["n=200", "method.test_rows=100", "replicates=2", "method.selector=omp"]
    run("sweep", page_config("p3-table8"), *[word for text in small for word in ("--set", text)], "-q", "--jobs", 1)
    frame = read("results/p3-table8").frame
    assert (frame["true_positives"] == 2).all()
    assert (frame["test_rmse"] < table["LONGITUDE"].std() / 3).all()
    report = run("report", "results/p3-table8", "--format", "latex")
    assert r"BUILDINGID\_2 (2)" in report


def test_labels_of_a_file_are_its_column_and_the_other_rows_test(table7):
    frame = boys()
    setting = Setting(44, 10, File("bgsboys.csv"), FileColumn("BMI18"))
    instance = draw(setting, np.random.default_rng(0))
    inputs = frame.drop(columns="BMI18").to_numpy()
    rows = [int(np.flatnonzero((inputs == x).all(axis=1))[0]) for x in np.vstack([instance.X, instance.test])]
    assert sorted(rows) == list(range(66))
    assert instance.X.shape == (44, 10)
    np.testing.assert_array_equal(frame["BMI18"].to_numpy()[rows[:44]], instance.y)
    np.testing.assert_array_equal(frame["BMI18"].to_numpy()[rows[44:]], instance.planted.labels(instance.test))
    everything = draw(Setting(66, 10, File("bgsboys.csv"), FileColumn("BMI18")), np.random.default_rng(0))
    assert everything.test is None
    np.testing.assert_array_equal(everything.X, inputs)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("planted.name=BMI", r"no column 'BMI'; did you mean 'BMI18'\?"),
        ("planted.relevant=[WT18, HT19]", "relevant: 'HT19' is none of the first 10 columns"),
        ("d=11", "d = 11, and .*bgsboys.csv has 10 columns beside 'BMI18'"),
        ("axes.n=[67]", "found n = 67, and .* has 66 rows"),
        ("method.test_rows=23", "n = 44 and test_rows = 23, and the file has 66 rows"),
        ("data={ensemble: gaussian}", "a column need data: {ensemble: file, path: ...}"),
        ("planted={kind: linear}", "planted model with a known support"),
    ],
)
def test_what_the_file_cannot_give_is_said_before_anything_runs(table7, change, message):
    with pytest.raises(ConfigError, match=message):
        load(page_config("p3-table7"), [change])


def test_an_unknown_support_is_not_counted(table7):
    unknown = "planted={kind: column, name: BMI18}"
    settings = [word for text in (unknown, "method.selector=lasso", "replicates=1") for word in ("--set", text)]
    run("sweep", page_config("p3-table7"), *settings, "-q", "--jobs", 1)
    (row,) = read("results/p3-table7").frame.to_dict("records")
    assert row["chosen"]
    assert row["test_rmse"] > 0
    with pytest.raises(ConfigError, match="count: planted needs to know what matters"):
        load(page_config("p3-table7"), [unknown, "method.cutoff=count", "method.count=planted"])


def test_ids_know_the_content_of_the_file_and_the_column(table7):
    ids = {trial.id for trial in load(page_config("p3-table7")).trials()}
    document = json.loads(json.dumps(load(page_config("p3-table7")).document))
    assert "needs" not in document
    boys().assign(ST9=0.5).to_csv("bgsboys.csv", index=False)
    assert not ids & {trial.id for trial in load(page_config("p3-table7")).trials()}
