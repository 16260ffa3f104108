"""P3's tables of real data from config to report table, on drawn tables of the same shape."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from recovery.cli.main import main
from recovery.config import ConfigError, load
from recovery.instances.draw import Setting, draw
from recovery.instances.files import File, FileColumn
from recovery.store import read

from .stand_ins import boys, phones

SMALL = ["method.neurons=[10]", "method.epochs=[50]", "method.penalties=[0.01]", "method.rates=[0.05]"]


def run(*arguments):
    found = CliRunner().invoke(main, [*map(str, arguments)])
    assert found.exit_code == 0, found.output
    return found.output


@pytest.fixture
def table7(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    boys().to_csv("bgsboys.csv", index=False)
    return tmp_path


def test_table_7_from_config_to_report(table7):
    settings = [word for text in ("replicates=3", *SMALL) for word in ("--set", text)]
    run("sweep", "p3-table7", *settings, "-q", "--jobs", 1)
    frame = read("results/p3-table7").frame
    assert (frame["status"] == "ok").all()
    assert len(frame) == 15
    lasso = frame[frame["method.selector"] == "lasso"]
    assert lasso["chosen"].map(lambda text: set(text.split(", ")) >= {"HT18", "WT18"}).all()
    assert (lasso["true_positives"] == 2).all()
    assert (lasso["test_rmse"] ** 2).to_numpy() == pytest.approx(lasso["test_mse"].to_numpy())
    report = run("report", "results/p3-table7", "--format", "markdown")
    assert "test rmse: mean and standard error of 3 trials (stated by P3 Table 7" in report
    assert report.count("| network ") >= 3
    (line,) = (line for line in report.splitlines() if line.startswith("| lasso") and "WT18" in line)
    assert "WT18 (3)" in line
    assert "HT18 (3)" in line
    assert "columns chosen" in run("report", "results/p3-table7", "--format", "latex")
    assert "chosen most often" in run("report", "results/p3-table7", "--format", "terminal")
    assert run("replay", "results/p3-table7", frame["trial_id"][0])


def test_table_8_from_config_to_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = phones(300)
    assert table.shape == (300, 682)
    table.to_csv("ujiindoorloc.csv", index=False)
    small = ["n=200", "method.test_rows=100", "replicates=2", "method.selector=omp"]
    run("sweep", "p3-table8", *[word for text in small for word in ("--set", text)], "-q", "--jobs", 1)
    frame = read("results/p3-table8").frame
    assert (frame["true_positives"] == 2).all()
    assert (frame["test_rmse"] < table["LONGITUDE"].std() / 3).all()
    report = run("report", "results/p3-table8", "--format", "markdown")
    assert "BUILDINGID_2 (2)" in report


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
        load("p3-table7", [change])


def test_an_unknown_support_is_not_counted(table7):
    unknown = "planted={kind: column, name: BMI18}"
    settings = [word for text in (unknown, "method.selector=lasso", "replicates=1") for word in ("--set", text)]
    run("sweep", "p3-table7", *settings, "-q", "--jobs", 1)
    (row,) = read("results/p3-table7").frame.to_dict("records")
    assert row["chosen"]
    assert row["test_rmse"] > 0
    with pytest.raises(ConfigError, match="count: planted needs to know what matters"):
        load("p3-table7", [unknown, "method.cutoff=count", "method.count=planted"])


def test_ids_know_the_content_of_the_file_and_the_column(table7):
    ids = {trial.id for trial in load("p3-table7").trials()}
    document = json.loads(json.dumps(load("p3-table7").document))
    assert "needs" not in document
    boys().assign(ST9=0.5).to_csv("bgsboys.csv", index=False)
    assert not ids & {trial.id for trial in load("p3-table7").trials()}
