"""`recover compare` and `recovery.compare`: intervals, thresholds, the axis of one folder, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, binomtest, false_discovery_control, multinomial

import recovery
from benchmarks.differences import LAWS, judged
from recovery.errors import ReportError
from recovery.extras.compare import sides_of
from recovery.extras.comparison import Comparison, compare_each, compare_two, stacked
from recovery.extras.comparison_report import draw_differences
from recovery.extras.comparison_words import in_words
from recovery.report.diagram import Diagram
from recovery.report.figures import render
from recovery.report.statistics.proportions import paired_difference, unpaired_difference
from recovery.report.statistics.samples import median_interval
from tests.invoke import recover, said

from .grids import fail, grid, store, wendel_rows

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


@pytest.mark.parametrize(("law", "replicates"), [("comonotone", 1), ("independent", 1), ("comonotone", 2)])
def test_few_replicates_give_slices_an_interval_that_covers(law: str, replicates: int) -> None:
    """Compare 40 pairs of sweeps, which are the independent units. Slices of one pair share no trial."""
    rows = pd.DataFrame([judged(LAWS[law], replicates, seed) for seed in range(40)])
    assert rows["slices"].mean() >= 0.95
    assert rows["withheld"].mean() <= 0.1


def test_an_open_end_of_a_difference_is_printed_as_such(tmp_path: Path) -> None:
    """With one trial per cell, one success after the crossing gives the likelihood interval no upper end."""
    rows = wendel_rows(n=[20, 40, 60, 80], d=[20], replicates=1)
    paths = [
        store(with_outcome(rows, rows["n"] > least), tmp_path / name, name=name, seed=1)
        for name, least in (("a", 20), ("b", 60))
    ]
    compared = recovery.compare(*paths)
    alone = compared.thresholds[~compared.thresholds["pooled"]].iloc[0]
    assert alone["difference"] == pytest.approx(40)
    assert np.isfinite(alone["low"])
    assert alone["high"] == np.inf
    printed = json.loads(compared.as_json(), parse_constant=pytest.fail)["thresholds"][-1]
    assert (printed["difference"], printed["low"], printed["high"]) == (40, alone["low"], None)
    for words in (said("compare", *paths), compared._repr_html_()):
        assert f"above {alone['low']:+.4g} (95 %)" in words


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
    words = said("compare", methods, "--by", "method")
    assert "omp: 60 common cells, paired: 1200 pairs of trials with the same draws" in words
    assert "Thresholds: n/d at 50 %:" in words
    printed = recover("compare", methods, "--by", "method", "--json")
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
    words = recover("compare", *paths).stdout
    assert "no single cell differs at a false-discovery rate of 5% (Benjamini-Yekutieli), but all cells" in words
    assert "no cell has more than 1 discordant pairs" in words
    same = recover("compare", paths[0], paths[0]).stdout
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
    words = recover("compare", *paths, "--value", "absolute_distance", "--tolerance", 1e-6).stdout
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
    assert "not paired, because data.ensemble differs (gaussian and haar)" in recover("compare", one, other).stdout
    assert "not paired, because seed differs (1 and 2)" in recover("compare", one, seeded).stdout


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


def both(first: pd.DataFrame, second: pd.DataFrame, **document: object) -> Comparison:
    return compare_two(Diagram.of(grid(first, seed=1)), Diagram.of(grid(second, **({"seed": 1} | document))))


def test_a_grid_does_not_differ_from_itself() -> None:
    rows = wendel_rows()
    found = both(rows, rows)
    assert found.paired
    assert (found.cells["difference"] == 0).all()
    assert found.whole[["difference", "gained", "lost", "p"]].to_numpy().tolist() == [[0, 0, 0, 1]]
    assert {one.difference.estimate for _, one in found.thresholds if one.difference.known} == {0.0}
    assert len(found.different) == 0


def test_pairs_are_tested_by_their_discordant_trials() -> None:
    first = wendel_rows(n=[60, 120], d=[30], replicates=30)
    second = first.copy()
    first["recovered"] = pd.array([False] * 30 + [True] * 30, dtype="boolean")
    second["recovered"] = pd.array([True] * 12 + [False] * 18 + [True] * 30, dtype="boolean")
    cells = both(first, second).cells.set_index("n")
    assert cells.loc[60, "p"] == pytest.approx(binomtest(12, 12).pvalue)
    assert cells.loc[120, "p"] == 1.0
    assert cells.loc[60, "difference"] == pytest.approx(0.4)


def test_failed_trials_drop_out_of_both_grids() -> None:
    rows = wendel_rows(n=[60], d=[30], replicates=10)
    found = both(rows, fail(rows, slice(0, 3)))
    assert found.cells["trials"].tolist() == [7]


def test_other_seeds_or_data_do_not_pair() -> None:
    rows = wendel_rows()
    assert not both(rows, rows, seed=2).paired
    assert not both(rows, rows.assign(ensemble="haar")).paired
    assert both(rows, rows.assign(architecture="relu")).paired
    assert both(rows, rows.assign(architecture="relu")).fixed == {"architecture": ("relu_skip", "relu")}


def test_a_coordinate_that_repeats_another_does_not_tell_grids_apart() -> None:
    first = wendel_rows(ensemble=["gaussian", "haar"])
    first["data.ensemble"] = first["ensemble"]
    found = both(first, first.iloc[::-1].reset_index(drop=True))
    assert found.fixed == {}
    assert found.paired


def test_many_equal_cells_raise_no_false_discoveries_and_a_true_one_is_found() -> None:
    first = wendel_rows(n=range(10, 201, 10), d=range(10, 61, 10), replicates=30, seed=1)
    second = wendel_rows(n=range(10, 201, 10), d=range(10, 61, 10), replicates=30, seed=2)
    assert len(both(first, second, seed=2).different) == 0
    changed = (second["n"] == 200) & (second["d"] == 20)
    second.loc[changed, "recovered"] = False
    assert both(first, second, seed=2).different[["n", "d"]].to_numpy().tolist() == [[200, 20]]


def test_a_side_that_does_not_measure_the_quantity_is_named() -> None:
    """With noise a program has no verdict, so `recovered` is missing in each row."""
    rows = wendel_rows(n=[20, 40], d=[10], replicates=4, ensemble=["gaussian", "haar"])
    rows["recovered"] = rows["recovered"].astype("boolean").mask(rows["ensemble"] == "haar")
    with pytest.raises(ReportError, match="haar: no finished trial measures recovered; choose another quantity"):
        compare_two(*sides_of(Diagram.of(grid(rows, seed=1)), "ensemble"))


def test_numbers_are_compared_by_the_sign_test() -> None:
    first = wendel_rows(n=[60, 120], d=[30], replicates=20)
    second = first.copy()
    second.loc[second["n"] == 120, "absolute_distance"] *= 2
    found = compare_two(*(Diagram.of(grid(rows, seed=1), "absolute_distance") for rows in (first, second)))
    assert found.cells.set_index("n")["p"].to_dict() == pytest.approx({60: 1.0, 120: 2**-19})


@pytest.mark.parametrize("value", ["recovered", "max_deviation"])
def test_no_common_trial_or_cell_is_an_error(value: str) -> None:
    rows = wendel_rows(n=[20, 40], d=[10], replicates=4)
    first, second = fail(rows, rows["replicate"] < 2), fail(rows, rows["replicate"] >= 2)
    with pytest.raises(ReportError, match="no grid cell in common over d, n"):
        compare_two(*(Diagram.of(grid(rows, seed=1), value) for rows in (first, second)))
    with pytest.raises(ReportError, match="no grid cell in common"):
        both(wendel_rows(n=[10, 20]), wendel_rows(n=[30, 40]))


def test_the_figure_and_the_text_show_the_cells_that_differ() -> None:
    first = wendel_rows(n=[60, 120], d=[30, 60], replicates=30, ensemble=["gaussian", "haar"])
    second = first.assign(recovered=pd.array(np.ones(len(first), dtype=bool), dtype="boolean"))
    found = both(first, second)
    assert len(found.different) > 0
    assert f"({len(found.different)} cells)" in render(draw_differences([found]), "svg").decode()
    assert len(in_words([found], 1)) == len(in_words([found], 0)) + 1


def test_a_pooled_difference_names_the_sizes_that_it_leaves_out() -> None:
    """Values of d = 30 and 90 are on one side only. At d = 100 the first grid ends inside the transition, the second
    before it."""
    first = wendel_rows(n=range(100, 201, 10), d=[60, 70, 80, 90, 100], replicates=40)
    second = wendel_rows(n=range(100, 201, 10), d=[30, 60, 70, 80, 100], replicates=40, seed=1)
    second.loc[second["d"] == 100, "recovered"] = False
    found = both(first, second)
    ((_, pooled),) = [one for one in found.thresholds if one[1].pooled]
    assert pooled.left_out == (90, 100, 30)
    words = "\n".join(in_words([found], 20))
    assert "all d except 90, 100, 30 " in words
    assert "none: the grid cells of a side do not span the transition" in words
    same = both(first[first["d"] < 90], second[second["d"].between(60, 80)])
    assert "all d  " in "\n".join(in_words([same], 20))


def test_columns_of_pairs_are_explained_and_left_out_without_pairs() -> None:
    rows = wendel_rows(n=[20, 40], d=[10])
    paired, unpaired = ("\n".join(in_words([both(rows, rows, seed=seed)], 20)) for seed in (1, 2))
    assert "second larger    second smaller    exact p\n" in paired
    assert "second larger, second smaller: numbers of pairs of trials; exact p: of McNemar's test on them" in paired
    assert "second larger" not in unpaired


def test_any_number_of_grids_is_compared_with_the_first(tmp_path: Path) -> None:
    rows = wendel_rows(replicates=30)
    always, never = (rows.assign(recovered=pd.array([yes] * len(rows), dtype="boolean")) for yes in (True, False))
    paths = [store(one, tmp_path / name, name=name) for name, one in (("a", rows), ("b", always), ("c", never))]
    result = said("compare", *paths, "--out", tmp_path / "c.csv")
    assert "recovered: differences from a" in result
    assert [line.split()[0] for line in result.split("All cells:\n")[1].splitlines()[2:4]] == ["b", "c"]
    assert "  c, d = " in result
    cells = pd.read_csv(tmp_path / "c.csv")
    assert cells["grid"].value_counts().to_dict() == {"b": len(cells) / 2, "c": len(cells) / 2}
    for out in (tmp_path / "c.png", tmp_path / "c.html"):
        assert recover("compare", *paths, "--out", out).exit_code == 0
        assert out.stat().st_size > 500
    page = (tmp_path / "c.html").read_text()
    assert "<h1>Differences from a</h1>" in page
    assert page.split('id="cells-differ"')[1].count("<tr>") == (1 + len(cells)) + 4
    alone = recover("compare", paths[0])
    assert (alone.exit_code, "a: a comparison needs at least two results folders" in alone.stderr) == (2, True)


def test_discoveries_and_p_are_controlled_over_all_grids_together() -> None:
    drawn = [wendel_rows(n=range(20, 101, 20), d=[10, 30], replicates=30, seed=seed) for seed in range(3)]
    each = compare_each(*(Diagram.of(grid(rows, seed=1, name=name)) for rows, name in zip(drawn, "abc", strict=True)))
    p = np.concatenate([one.cells["p"] for one in each])
    q = np.concatenate([one.cells["q"] for one in each])
    assert q == pytest.approx(false_discovery_control(p, method="by"))
    assert len(stacked(each)) == len(p)
    exact = [one.whole.loc[0, "p"] for one in each]
    words = "\n".join(in_words(each, 0))
    assert all(f" {min(1.0, 2 * value):.3g}\n" in words for value in exact)


def test_grids_of_one_name_are_called_by_their_folders() -> None:
    rows = wendel_rows(n=[20, 40], d=[10])
    diagrams = [Diagram.of(grid(rows, f"results/{name}", name="same")) for name in "ab"]
    (found,) = compare_each(*diagrams)
    assert found.names == ("results/a", "results/b")
    assert found.title == "results/b minus results/a"


def test_fields_that_are_no_coordinates_tell_grids_apart() -> None:
    rows = wendel_rows(n=[20, 40], d=[10])
    gated, exact = ({"seed": 1, "method": {"kind": "min_norm", "program": name}} for name in ("gated", "exact"))
    found = compare_two(*(Diagram.of(grid(rows, **config)) for config in (gated, exact)))
    assert found.fixed == {"method.program": ("gated", "exact")}
    assert found.paired
    data = [{"ensemble": "student_t", "df": df} for df in (3, 5)]
    grids = [grid(rows.assign(ensemble="student_t"), data=one) for one in data]
    found = compare_two(*map(Diagram.of, grids))
    assert found.fixed == {"data.df": (3, 5)}
    assert not found.paired


def test_panels_of_three_grids_stand_one_after_another_where_the_config_asks_for_a_grid() -> None:
    rows = wendel_rows(n=[20, 40], d=[10, 20], noise=[0.0, 0.1], ensemble=["gaussian", "haar"])
    report = {"value": "recovered", "x": "n", "y": "d", "rows": "noise", "columns": "ensemble"}
    grids = [grid(rows, name=name, report=report) for name in "abc"]
    figure = draw_differences(compare_each(*map(Diagram.of, grids)))
    titles = [ax.get_title(loc="left") for ax in figure.axes if ax.get_title(loc="left")]
    assert len(titles) == 8
    assert titles[0].startswith("(a) b")
