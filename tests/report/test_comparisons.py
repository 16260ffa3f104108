"""`recover compare` and `recovery.compare`: intervals, thresholds, the axis of one folder, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, binomtest, false_discovery_control, multinomial

import recovery
from benchmarks.differences import misses
from recovery.errors import ReportError
from recovery.extras.compare import Comparison, compare
from recovery.interval import Interval
from recovery.report.statistics.differences import paired_difference, threshold_difference
from tests.invoke import recover, said

from .grids import fail, grid, store, wendel_rows

Rows = pd.DataFrame


def with_outcome(rows: Rows, recovered: object) -> Rows:
    return rows.assign(recovered=pd.array(recovered, dtype="boolean"))


def both(first: Rows, second: Rows, **document: object) -> Comparison:
    return compare(grid(first, seed=1, name="a"), grid(second, **({"seed": 1, "name": "b"} | document)))


@pytest.mark.parametrize("pairs", [1, 2, 5, 10, 20, 50])
def test_the_interval_of_pairs_keeps_its_level_at_small_counts(pairs: int) -> None:
    """Sum the exact law of the counts, rare discordant pairs included."""
    counts = np.array([(a, b, pairs - a - b) for a in range(pairs + 1) for b in range(pairs + 1 - a)])
    low, high = paired_difference(counts[:, 0], counts[:, 1], pairs)
    for gained in (0.0, 0.001, 0.02, 0.1, 0.3, 0.5, 0.85):
        for lost in (0.0, 0.001, 0.02, 0.1):
            law = multinomial.pmf(counts, pairs, [gained, lost, 1 - gained - lost])
            covered = (low <= gained - lost + 1e-9) & (gained - lost <= high + 1e-9)
            assert law[covered].sum() >= 0.95


@pytest.mark.parametrize(("cells", "replicates"), [(1, 20), (20, 1), (20, 5), (200, 1)])
@pytest.mark.parametrize("law", ["1/2", "0.02"])
def test_equal_sweeps_are_rarely_told_apart_at_any_number_of_cells(law: str, cells: int, replicates: int) -> None:
    """At a rate of 0.05, more are told apart than the bound with probability 0.001."""
    unpaired, paired = misses(law, cells, replicates, 0.0, 100)
    assert max(unpaired, paired) <= binom.ppf(0.999, 100, 0.05) / 100


def test_thresholds_differ_by_the_root_of_the_sum_of_squares() -> None:
    found = threshold_difference(Interval(2.0, 1.7, 2.4), Interval(3.0, 2.6, 3.1))
    assert (found.estimate, found.low, found.high) == pytest.approx(
        (1.0, 1 - np.hypot(0.4, 0.4), 1 + np.hypot(0.1, 0.3))
    )
    unknown = threshold_difference(Interval(2.0, 1.7, 2.4), Interval(np.nan, 4.0, np.inf))
    assert (unknown.known, unknown.low, unknown.high) == (False, 1.6, np.inf)


@pytest.fixture
def methods(tmp_path: Path) -> Path:
    """Three methods on the same draws: the second is a little better than the first, the third never succeeds."""
    rows = wendel_rows(d=[5, 15, 25], replicates=20, method=["lasso", "mine", "omp"])
    first = rows[rows["method"] == "lasso"]["recovered"].to_numpy(bool)
    rows.loc[rows["method"] == "mine", "recovered"] = first | (np.arange(len(first)) % 10 == 0)
    rows.loc[rows["method"] == "omp", "recovered"] = False
    axes = {"method.kind": ["lasso", "mine", "omp"]}
    return store(rows, tmp_path / "sensing", axes=axes, seed=1)


def test_the_values_of_an_axis_are_compared(methods: Path) -> None:
    found = recovery.compare(methods, by="method")
    assert found.overall[["first", "second"]].to_numpy().tolist() == [["lasso", "mine"], ["lasso", "omp"]]
    assert found.overall["paired"].all()
    better = found.overall.iloc[0]
    assert better["lost"] == 0
    assert better["difference"] == pytest.approx(better["gained"] / better["trials"])
    assert 0 < better["low"] < better["difference"] < better["high"]
    assert found.table["scope"].value_counts().to_dict() == {"overall": 2, "slice": 2 * 3, "cell": 2 * 30}
    assert f"mine minus lasso: difference {better['difference']:+.4g}, " in found._repr_html_()
    assert recovery.compare(recovery.read(methods), by="method.kind").table.equals(found.table)


def test_the_axis_of_the_diagram_can_be_compared(methods: Path) -> None:
    found = recovery.compare(methods, by="d")
    for d in (15, 25):
        assert any(f"d differs (5 and {d})" in note for note in found.notes)
    assert len(found.notes) == 1 + 2
    assert found.overall["difference"].is_monotonic_decreasing


def test_both_thresholds_and_their_difference_are_given(methods: Path) -> None:
    found = recovery.compare(methods, by="method").thresholds
    assert found["second"].tolist() == ["mine", "omp"]
    better, never = found.iloc[0], found.iloc[1]
    assert better["difference_low"] < better["difference"] < better["difference_high"]
    assert float(better["value_second"]) - float(better["value_first"]) == pytest.approx(better["difference"], abs=2e-3)
    assert never["value_second"] == "outside the grid"
    assert never["minus"].startswith("above +")


def test_the_command_prints_words_or_one_json_object(methods: Path, tmp_path: Path) -> None:
    words = said("compare", methods, "--by", "method")
    assert "mine: 30 common cells, paired: 600 pairs of trials with the same draws" in words
    for title in ("All cells:", "Slices:", "Thresholds:", "Grid cells that differ"):
        assert title in words
    printed = recover("compare", methods, "--by", "method", "--json")
    content = json.loads(printed.stdout, parse_constant=pytest.fail)
    assert list(content) == ["value", "sentence", "notes", "table", "thresholds"]
    assert content["table"][0]["gained"] > 0
    assert content["thresholds"][0]["where"] == {}
    said("compare", methods, "--by", "method", "--out", tmp_path / "all.json")
    assert json.loads((tmp_path / "all.json").read_text()) == content


def test_all_pairs_can_show_a_difference_that_no_cell_shows() -> None:
    """One pair in each of 60 cells is gained: no cell can differ, all together do."""
    rows = wendel_rows(replicates=5)
    lost = rows["replicate"].to_numpy() == 0
    found = both(with_outcome(rows, ~lost), with_outcome(rows, [True] * len(rows)))
    assert found.overall["low"].item() > 0
    assert "0 of 60 grid cells differ at a false-discovery rate of 5%" in found.sentence
    same = both(rows, rows)
    assert same.overall[["difference", "gained", "lost", "p"]].to_numpy().tolist() == [[0, 0, 0, 1]]
    assert (same.table["difference"] == 0).all()
    assert (len(same.different), same.table["paired"].all()) == (0, True)


def test_an_axis_of_one_side_may_be_a_constant_of_the_other() -> None:
    rows = wendel_rows(replicates=20, seed=3, noise=[0.0, 0.1])
    one = wendel_rows(replicates=20, seed=5)
    for found in (both(rows, one, seed=2), both(one, rows, seed=2)):
        assert [row["where"] for row in found.thresholds.to_dict("records")] in ([{}], [{"noise": 0.0}])
    same = wendel_rows(n=[10, 20, 30], d=[10], replicates=9)
    same = with_outcome(same, same["replicate"] % 3 == 0)
    assert both(same, same, seed=2).overall["difference"].tolist() == [0.0]


def test_numbers_have_their_largest_difference(tmp_path: Path) -> None:
    rows = wendel_rows(n=[60, 120], d=[30], replicates=10).assign(absolute_distance=2.0)
    moved = rows.assign(absolute_distance=2.0 + np.where(np.arange(len(rows)) < 3, 1e-3, 1e-9))
    moved.loc[19, "absolute_distance"] = 1.0
    paths = [store(one, tmp_path / name, name=name) for name, one in (("a", rows), ("b", moved))]
    found = recovery.compare(*paths, value="absolute_distance")
    whole = found.overall.iloc[0]
    assert whole["largest"] == 1.0
    assert whole["difference"] == pytest.approx(1e-9, rel=1e-3)
    assert found.cells["largest"].tolist() == pytest.approx([1e-3, 1.0])
    assert len(found.thresholds) == 0
    assert found.sentence.endswith("; largest difference 1; 2 of 2 grid cells differ at a false-discovery rate of 5%")


def test_equal_infinite_values_do_not_differ(tmp_path: Path) -> None:
    rows = wendel_rows(n=[60], d=[30], replicates=10).assign(absolute_distance=np.inf)
    paths = [store(rows, tmp_path / name, name=name) for name in "ab"]
    whole = recovery.compare(*paths, value="absolute_distance").overall.iloc[0]
    assert whole[["difference", "largest", "p"]].tolist() == [0, 0, 1]


def test_the_reason_is_named_why_trials_are_not_paired(tmp_path: Path) -> None:
    rows = wendel_rows(n=[20, 40], d=[10, 20], replicates=2)
    haar = both(rows, rows.assign(ensemble="haar"), data={"ensemble": "haar"})
    assert "not paired, because data.ensemble differs (gaussian and haar)" in haar.notes[1]
    assert "not paired, because seed differs (1 and 2)" in both(rows, rows, seed=2).notes[1]
    relu = both(rows, rows.assign(architecture="relu"))
    assert relu.notes[1:] == (
        "4 common cells, paired: 8 pairs of trials with the same draws",
        "architecture: relu_skip in a, relu in b",
    )
    axes = {"delta": [1, 2], "d": [10, 20], "n": "delta * d"}
    parts = [wendel_rows(n=[delta * d], d=[d]).assign(delta=delta) for delta in (1, 2) for d in (10, 20)]
    rows = pd.concat(parts, ignore_index=True)
    rows["trial_id"] = [f"{i:032x}" for i in range(len(rows))]
    folder = store(rows, tmp_path / "a", axes=axes, report={"value": "recovered", "x": "d"}, seed=1)
    assert "delta differs (1 and 2)" in recovery.compare(folder, by="delta").notes[1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"by": "metod"}, r"metod is no axis; allowed: method, n, d; did you mean 'method'\?"),
        ({"by": "noise"}, r"noise has one value; allowed: method, n, d"),
        ({}, r"add another one, or give --by AXIS"),
    ],
)
def test_refusals_name_what_is_allowed(methods: Path, options: dict[str, object], words: str) -> None:
    with pytest.raises(ReportError, match=words):
        recovery.compare(methods, **options)  # type: ignore[arg-type]
    with pytest.raises(ReportError, match=r"--by method: found 2 results folders, allowed is one"):
        recovery.compare(methods, methods, by="method")


def test_grids_without_a_common_cell_or_a_second_axis_are_refused(tmp_path: Path) -> None:
    line = store(wendel_rows(d=[10]), tmp_path / "line", report={"value": "recovered", "x": "n"})
    with pytest.raises(ReportError, match=r"n is the only axis; a comparison needs another one as x"):
        recovery.compare(line, by="n")
    with pytest.raises(ReportError, match=r"no grid cell in common over d, n; no value of d is in both"):
        both(wendel_rows(d=[10]), wendel_rows(d=[20]))


def test_pairs_are_tested_by_their_discordant_trials() -> None:
    rows = wendel_rows(n=[60, 120], d=[30], replicates=30)
    first = with_outcome(rows, [False] * 30 + [True] * 30)
    second = with_outcome(rows, [True] * 12 + [False] * 18 + [True] * 30)
    cells = both(first, second).cells.set_index("n")
    assert cells.loc[60, "p"] == pytest.approx(binomtest(12, 12).pvalue)
    assert cells.loc[120, "p"] == 1.0
    assert cells.loc[60, "difference"] == pytest.approx(0.4)


def test_numbers_are_compared_by_the_sign_test() -> None:
    first = wendel_rows(n=[60, 120], d=[30], replicates=20)
    second = first.copy()
    second.loc[second["n"] == 120, "absolute_distance"] *= 2
    grids = [grid(rows, seed=1, name=name) for rows, name in ((first, "a"), (second, "b"))]
    found = compare(*grids, value="absolute_distance")
    assert found.cells.set_index("n")["p"].to_dict() == pytest.approx({60: 1.0, 120: 2**-19})


def test_a_side_that_does_not_measure_the_quantity_is_named() -> None:
    """With noise a program has no verdict, so `recovered` is missing in each row."""
    rows = wendel_rows(n=[20, 40], d=[10], replicates=4, ensemble=["gaussian", "haar"])
    rows["recovered"] = rows["recovered"].astype("boolean").mask(rows["ensemble"] == "haar")
    with pytest.raises(ReportError, match="haar: no finished trial measures recovered; choose another quantity"):
        compare(grid(rows, seed=1), by="ensemble")


def test_failed_trials_drop_out_of_both_grids() -> None:
    rows = wendel_rows(n=[60], d=[30], replicates=10)
    assert both(rows, fail(rows, slice(0, 3))).cells["trials"].tolist() == [7]


def test_a_coordinate_that_repeats_another_does_not_tell_grids_apart() -> None:
    first = wendel_rows(ensemble=["gaussian", "haar"])
    first["data.ensemble"] = first["ensemble"]
    found = both(first, first.iloc[::-1].reset_index(drop=True))
    assert len(found.notes) == 2
    assert found.table["paired"].all()


def test_many_equal_cells_raise_no_false_discoveries_and_a_true_one_is_found() -> None:
    first, second = (
        wendel_rows(n=range(10, 201, 10), d=range(10, 61, 10), replicates=30, seed=seed) for seed in (1, 2)
    )
    assert len(both(first, second, seed=2).different) == 0
    second.loc[(second["n"] == 200) & (second["d"] == 20), "recovered"] = False
    assert both(first, second, seed=2).different[["n", "d"]].to_numpy().tolist() == [[200, 20]]


def test_any_number_of_grids_is_compared_with_the_first(tmp_path: Path) -> None:
    rows = wendel_rows(replicates=30)
    drawn = {"a": rows, "b": with_outcome(rows, [True] * len(rows)), "c": wendel_rows(replicates=30, seed=3)}
    paths = [store(one, tmp_path / name, name=name, seed=1) for name, one in drawn.items()]
    assert "recovered: differences from a" in said("compare", *paths, "--out", tmp_path / "c.csv")
    written = pd.read_csv(tmp_path / "c.csv")
    cells = written[written["scope"] == "cell"]
    assert cells["second"].value_counts().to_dict() == {"b": 60, "c": 60}
    assert cells["q"].to_numpy() == pytest.approx(false_discovery_control(cells["p"], method="by"))
    alone = recover("compare", paths[0])
    assert (alone.exit_code, "a: a comparison needs at least two results folders" in alone.stderr) == (2, True)


def test_grids_of_one_name_are_called_by_their_folders() -> None:
    rows = wendel_rows(n=[20, 40], d=[10])
    found = compare(*[grid(rows, f"results/{name}", name="same") for name in "ab"])
    assert found.notes[0] == "results/b minus results/a"


def test_fields_that_are_no_coordinates_tell_grids_apart() -> None:
    rows = wendel_rows(n=[20, 40], d=[10])
    found = both(rows, rows, method={"kind": "min_norm", "program": "exact"})
    assert "method.program: not given in a, exact in b" in found.notes
    assert found.table["paired"].all()
    null = rows.assign(**{"method.beta": np.nan})
    assert not any("method.beta" in note for note in both(null, null).notes)
    assert "method.beta: None in a, 0.5 in b" in both(null, rows.assign(**{"method.beta": 0.5})).notes
    data = [{"ensemble": "student_t", "df": df} for df in (3, 5)]
    names = zip("ab", data, strict=True)
    found = compare(*[grid(rows.assign(ensemble="student_t"), name=name, data=one) for name, one in names])
    assert not found.table["paired"].any()
