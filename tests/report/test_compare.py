from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from recovery.errors import ReportError
from recovery.extras.comparison import Comparison, compare, differences_in_words
from recovery.extras.comparison_page import draw_difference
from recovery.report.diagram.diagram import Diagram
from recovery.report.figures import render

from .grids import fail, grid, wendel_rows
from .test_command import run_command, store


def both(first: pd.DataFrame, second: pd.DataFrame, **document: object) -> Comparison:
    return compare(Diagram.of(grid(first, seed=1)), Diagram.of(grid(second, **({"seed": 1} | document))))


def test_a_grid_does_not_differ_from_itself() -> None:
    rows = wendel_rows()
    found = both(rows, rows)
    assert found.paired
    assert (found.cells["difference"] == 0).all()
    assert found.sign_test == (0, 0, 1.0)
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


def test_numbers_are_compared_by_signed_ranks() -> None:
    first = wendel_rows(n=[60, 120], d=[30], replicates=20)
    second = first.copy()
    second.loc[second["n"] == 120, "absolute_distance"] *= 2
    found = compare(*(Diagram.of(grid(rows, seed=1), "absolute_distance") for rows in (first, second)))
    assert found.cells.set_index("n")["p"].to_dict() == pytest.approx({60: 1.0, 120: 2**-19})


@pytest.mark.parametrize("value", ["recovered", "max_deviation"])
def test_no_common_trial_is_an_error(value: str) -> None:
    rows = wendel_rows(n=[20, 40], d=[10], replicates=4)
    first, second = fail(rows, rows["replicate"] < 2), fail(rows, rows["replicate"] >= 2)
    with pytest.raises(ReportError, match="no cell in common over d, n"):
        compare(*(Diagram.of(grid(rows, seed=1), value) for rows in (first, second)))


def test_no_common_cell_is_an_error() -> None:
    with pytest.raises(ReportError, match="no cell in common"):
        both(wendel_rows(n=[10, 20]), wendel_rows(n=[30, 40]))


def test_the_figure_rings_the_cells_that_differ() -> None:
    first = wendel_rows(n=[60, 120], d=[30, 60], replicates=30, ensemble=["gaussian", "haar"])
    second = first.assign(recovered=pd.array(np.ones(len(first), dtype=bool), dtype="boolean"))
    svg = render(draw_difference(both(first, second)), "svg").decode()
    assert f"({len(both(first, second).different)} cells)" in svg
    assert len(both(first, second).different) > 0


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


def test_words_list_at_most_as_many_cells_as_asked() -> None:
    first = wendel_rows(n=[60, 120], d=[30, 60], replicates=30)
    second = first.assign(recovered=pd.array(np.ones(len(first), dtype=bool), dtype="boolean"))
    found = both(first, second)
    assert len(differences_in_words(found, 1)) == len(differences_in_words(found, 0)) + 1
