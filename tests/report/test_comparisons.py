"""`recover compare` and `recovery.compare`: intervals, thresholds, the axis of one folder, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, multinomial

import recovery
from benchmarks.differences import LAWS, judged
from recovery.errors import ReportError
from recovery.extras.comparison import compare_two
from recovery.report.diagram import Diagram
from recovery.report.statistics.proportions import paired_difference, unpaired_difference
from recovery.report.statistics.samples import median_interval

from .grids import grid, wendel_rows
from .test_command import run_command, store

Rows = pd.DataFrame


def with_outcome(rows: Rows, recovered: object) -> Rows:
    return rows.assign(recovered=pd.array(recovered, dtype="boolean"))


@pytest.mark.parametrize("pairs", [1, 2, 5, 10, 20, 50])
def test_the_interval_of_pairs_keeps_its_level_at_small_counts(pairs: int) -> None:
    """Sum the exact law of the counts, rare discordant pairs included."""
    counts = np.array([(a, b, pairs - a - b) for a in range(pairs + 1) for b in range(pairs + 1 - a)])
    low, high = paired_difference(counts[:, 0], counts[:, 1], pairs)
    for gained in (0.0, 0.001, 0.02, 0.1, 0.3, 0.5, 0.85):
        for lost in (0.0, 0.001, 0.02, 0.1):
            law = multinomial.pmf(counts, pairs, [gained, lost, 1 - gained - lost])
            covered = (low <= gained - lost + 1e-12) & (gained - lost <= high + 1e-12)
            assert law[covered].sum() >= 0.945


def test_the_interval_without_pairs_keeps_its_level_over_many_small_cells() -> None:
    """Compare two sides of 100 cells with 5 trials each, 400 times. The bound has the level 0.001."""
    rng = np.random.default_rng(0)
    chance = np.linspace(0.0, 1.0, 100)
    other = np.clip(chance + 0.3, 0, 1)
    total = np.full((2, 100), 5.0)
    covered = 0
    for _ in range(400):
        yes = rng.binomial(5, [chance, other]).astype(float)
        _, low, high = unpaired_difference(yes, total, np.zeros(100, dtype=int))
        covered += low[0] <= (other - chance).mean() <= high[0]
    assert covered >= binom.ppf(0.001, 400, 0.95)


@pytest.mark.parametrize("size", [3, 6, 15])
def test_the_interval_of_a_median_is_exact(size: int) -> None:
    rng = np.random.default_rng(size)
    found = [median_interval(rng.exponential(size=size) - np.log(2)) for _ in range(1000)]
    assert sum(one.low <= 0 <= one.high for one in found) >= binom.ppf(0.001, 1000, 0.95)
    assert all(one.bounded == (size >= 6) for one in found)


@pytest.mark.parametrize("law", ["shifted", "comonotone", "independent"])
def test_intervals_of_differences_cover(law: str) -> None:
    """Compare 40 pairs of sweeps: at 95 %, fewer than 32 intervals cover with a probability below 0.001."""
    rows = pd.DataFrame([judged(LAWS[law], 5, seed) for seed in range(40)])
    least = binom.ppf(0.001, 40, 0.95)
    assert rows["pooled"].sum() >= least
    assert rows["overall"].sum() >= least
    assert rows["slices"].sum() >= least
    assert rows["withheld"].mean() <= 0.1


def test_pairs_make_the_interval_of_a_threshold_shorter() -> None:
    """Two sweeps with the same draws that differ in one trial of a hundred, against two with separate draws."""
    rows = wendel_rows(n=range(10, 101, 10), d=[20, 25, 30], replicates=20)
    recovered = rows["recovered"].to_numpy(bool)
    other = with_outcome(rows, recovered ^ (np.arange(len(rows)) % 100 == 0))
    found = {}
    for seed in (1, 2):
        compared = compare_two(Diagram.of(grid(rows, seed=1)), Diagram.of(grid(other, seed=seed)))
        found[seed] = [one.difference.high - one.difference.low for _, one in compared.thresholds]
    assert len(found[1]) == 4
    assert np.median(np.array(found[1]) / np.array(found[2])) < 0.9


@pytest.fixture
def methods(tmp_path: Path) -> Path:
    """Three methods on the same draws: the second is a little better than the first, the third never succeeds."""
    rows = wendel_rows(replicates=20, method=["lasso", "omp", "mine"])
    first = rows[rows["method"] == "lasso"]["recovered"].to_numpy(bool)
    rows.loc[rows["method"] == "omp", "recovered"] = first | (np.arange(len(first)) % 10 == 0)
    rows.loc[rows["method"] == "mine", "recovered"] = False
    axes = {"method.kind": ["lasso", "omp", "mine"]}
    return store(rows, tmp_path / "sensing", axes=axes, seed=1)


def test_the_values_of_an_axis_are_compared(methods: Path) -> None:
    found = recovery.compare(methods, by="method")
    assert found.overall[["first", "second"]].to_numpy().tolist() == [["lasso", "omp"], ["lasso", "mine"]]
    assert found.overall["paired"].all()
    better = found.overall.iloc[0]
    assert better["lost"] == 0
    assert better["difference"] == pytest.approx(better["gained"] / better["trials"])
    assert 0 < better["low"] < better["difference"] < better["high"]
    assert {"first", "second", "low", "high", "where", "pooled"} <= set(found.thresholds)
    assert found.thresholds["pooled"].tolist() == sorted(found.thresholds["pooled"], reverse=True)
    assert len(found.slices) == 2 * 6
    assert len(found.cells) == 2 * 60
    assert "95 % interval" in found._repr_html_()
    for name in ("method.kind", "method"):
        assert recovery.compare(methods, by=name).overall.equals(found.overall)
    assert recovery.compare(recovery.read(methods), by="method").overall.equals(found.overall)


def test_the_axis_of_the_diagram_can_be_compared(methods: Path) -> None:
    found = recovery.compare(methods, by="d")
    assert found.overall["not_paired_because"].tolist() == [f"d differs (5 and {d})" for d in (10, 15, 20, 25, 30)]
    assert found.overall["difference"].is_monotonic_decreasing


def test_the_command_prints_words_or_one_json_object(methods: Path) -> None:
    words = run_command("compare", methods, "--by", "method")
    assert words.exit_code == 0, words.output
    assert "omp: 60 common cells, paired: 1200 pairs of trials with the same draws" in words.stdout
    assert "Thresholds: n/d at 50 %:" in words.stdout
    printed = run_command("compare", methods, "--by", "method", "--json")
    content = json.loads(printed.stdout, parse_constant=pytest.fail)
    assert list(content) == ["value", "overall", "thresholds", "slices", "cells"]
    assert content["overall"][0]["gained"] > 0
    assert content["thresholds"][0]["where"] == {}


def test_no_message_denies_a_difference_that_all_pairs_show(tmp_path: Path) -> None:
    """One pair in each of 60 cells is gained: no cell can differ, all together do."""
    rows = wendel_rows(replicates=5)
    lost = rows["replicate"].to_numpy() == 0
    paths = [
        store(with_outcome(rows, ~lost | better), tmp_path / name, name=name)
        for name, better in (("a", False), ("b", True))
    ]
    words = run_command("compare", *paths).stdout
    assert "no single cell differs at a false-discovery rate of 5% (Benjamini-Yekutieli), but all cells" in words
    assert "no cell has more than 1 discordant pairs" in words
    same = run_command("compare", paths[0], paths[0]).stdout
    assert "no cell differs" in same
    assert "0 cells differ" not in words + same


def test_numbers_have_their_largest_differences_and_pairs_beyond_a_tolerance(tmp_path: Path) -> None:
    rows = wendel_rows(n=[60, 120], d=[30], replicates=10).assign(absolute_distance=2.0)
    moved = rows.assign(absolute_distance=2.0 + np.where(np.arange(len(rows)) < 3, 1e-3, 1e-9))
    moved.loc[19, "absolute_distance"] = 1.0
    paths = [store(one, tmp_path / name, name=name) for name, one in (("a", rows), ("b", moved))]
    found = recovery.compare(*paths, value="absolute_distance", tolerance=1e-6)
    whole = found.overall.iloc[0]
    assert whole[["largest", "largest_relative"]].tolist() == pytest.approx([1.0, 0.5])
    assert whole["difference"] == pytest.approx(1e-9, rel=1e-3)
    assert whole["beyond"] == 4
    assert found.cells["beyond"].tolist() == [3, 1]
    assert len(found.thresholds) == 0
    words = run_command("compare", *paths, "--value", "absolute_distance", "--tolerance", 1e-6).stdout
    assert "largest difference 1 (relative 0.5); 16 of 20 pairs differ by at most the tolerance 1e-06" in words


def test_equal_infinite_values_do_not_differ(tmp_path: Path) -> None:
    rows = wendel_rows(n=[60], d=[30], replicates=10).assign(absolute_distance=np.inf)
    paths = [store(rows, tmp_path / name, name=name) for name in "ab"]
    whole = recovery.compare(*paths, value="absolute_distance").overall.iloc[0]
    assert whole[["difference", "largest", "largest_relative", "p"]].tolist() == [0, 0, 0, 1]


def test_the_reason_is_named_why_folders_are_not_paired(tmp_path: Path) -> None:
    rows = wendel_rows(replicates=2)
    one = store(rows, tmp_path / "a", name="a", seed=1)
    other = store(rows.assign(ensemble="haar"), tmp_path / "b", name="b", seed=1, data={"ensemble": "haar"})
    seeded = store(rows, tmp_path / "c", name="c", seed=2)
    assert "not paired, because data.ensemble differs (gaussian and haar)" in run_command("compare", one, other).stdout
    assert "not paired, because seed differs (1 and 2)" in run_command("compare", one, seeded).stdout


def test_two_values_of_a_user_axis_in_an_expression_have_separate_draws(tmp_path: Path) -> None:
    axes = {"delta": [1, 2], "d": [10, 20], "n": "delta * d"}
    rows = pd.concat([wendel_rows(n=[delta * d], d=[d]).assign(delta=delta) for delta in (1, 2) for d in (10, 20)])
    rows["trial_id"] = [f"{i:032x}" for i in range(len(rows))]
    report = {"value": "recovered", "x": "d"}
    folder = store(rows.reset_index(drop=True), tmp_path / "a", axes=axes, report=report, seed=1)
    reason = recovery.compare(folder, by="delta").overall.loc[0, "not_paired_because"]
    assert reason == "delta differs (1 and 2)"


def test_refusals_name_what_is_allowed(methods: Path, tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"metod is no axis; allowed: method, n, d; did you mean 'method'\?"):
        recovery.compare(methods, by="metod")
    with pytest.raises(ReportError, match=r"noise has one value; allowed: method, n, d"):
        recovery.compare(methods, by="noise")
    with pytest.raises(ReportError, match=r"--by method: found 2 results folders, allowed is one"):
        recovery.compare(methods, methods, by="method")
    with pytest.raises(ReportError, match=r"--tolerance: recovered is an event; leave --tolerance out"):
        recovery.compare(methods, by="method", tolerance=0.1)
    with pytest.raises(ReportError, match=r"add another one, or give --by AXIS"):
        recovery.compare(methods)
    line = store(wendel_rows(d=[10]), tmp_path / "line", report={"value": "recovered", "x": "n"})
    with pytest.raises(ReportError, match=r"n is the only axis; a comparison needs another one as x"):
        recovery.compare(line, by="n")
