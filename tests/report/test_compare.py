from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, false_discovery_control

from recovery.errors import ReportError
from recovery.extras.comparison import Comparison, compare_each, compare_two, sides_of, stacked
from recovery.extras.comparison_report import draw_differences
from recovery.extras.comparison_words import in_words
from recovery.report.diagram.diagram import Diagram
from recovery.report.figures import render

from .grids import fail, grid, wendel_rows
from .test_command import run_command, store


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
    """Values of d = 30 and 90 are on one side only, and at d = 100 both grids end inside the transition."""
    first = wendel_rows(n=range(100, 201, 10), d=[60, 70, 80, 90, 100], replicates=40)
    second = wendel_rows(n=range(100, 201, 10), d=[30, 60, 70, 80, 100], replicates=40, seed=1)
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


def test_compare_command_writes_words_figure_and_table(tmp_path: Path) -> None:
    rows = wendel_rows()
    first = store(rows, tmp_path / "a", name="a")
    second = store(rows.assign(recovered=pd.array([True] * len(rows), dtype="boolean")), tmp_path / "b", name="b")
    for out in (tmp_path / "c.png", tmp_path / "c.csv"):
        result = run_command("compare", first, second, "--out", out)
        assert result.exit_code == 0, result.output
        assert "common cells, paired" in result.stdout
        assert out.stat().st_size > 500
    assert run_command("compare", first, second, "--out", tmp_path / "c.doc").exit_code == 2


def test_any_number_of_grids_is_compared_with_the_first(tmp_path: Path) -> None:
    rows = wendel_rows(replicates=30)
    always, never = (rows.assign(recovered=pd.array([yes] * len(rows), dtype="boolean")) for yes in (True, False))
    paths = [store(one, tmp_path / name, name=name) for name, one in (("a", rows), ("b", always), ("c", never))]
    result = run_command("compare", *paths, "--out", tmp_path / "c.csv")
    assert result.exit_code == 0, result.output
    assert "recovered: differences from a" in result.stdout
    assert [line.split()[0] for line in result.stdout.split("All cells:\n")[1].splitlines()[2:4]] == ["b", "c"]
    assert "  c, d = " in result.stdout
    cells = pd.read_csv(tmp_path / "c.csv")
    assert cells["grid"].value_counts().to_dict() == {"b": len(cells) / 2, "c": len(cells) / 2}
    for out in (tmp_path / "c.png", tmp_path / "c.html"):
        assert run_command("compare", *paths, "--out", out).exit_code == 0
        assert out.stat().st_size > 500
    page = (tmp_path / "c.html").read_text()
    assert "<h1>Differences from a</h1>" in page
    assert page.split('id="cells-differ"')[1].count("<tr>") == (1 + len(cells)) + 4
    alone = run_command("compare", paths[0])
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
