"""Tables of means with a source's numbers: means, errors, z-scores, verdicts, and three formats."""

import re

import numpy as np
import pytest

from recovery.config import ConfigError
from recovery.report.claims.mean_tables import claimed_tables
from recovery.report.figures.line_plots import PROFILE
from recovery.report.texts import as_latex
from recovery.report.texts.tables import mean_rows, mean_title

from ..config.sweeps import load_fields
from .grids import analysed, fail, text_of, wendel_rows

CLAIM = {
    **{"kind": "table", "of": "max_deviation", "axis": "ensemble", "across": "noise", "at": [0.0, 0.5]},
    **{"values": {"gaussian": [1.0, 2.0], "haar": [3.0, 4.0]}, "error": 0.1, "source": "P0 Table 1"},
}
MEANS = {("gaussian", 0.0): 1.0, ("gaussian", 0.5): 2.0, ("haar", 0.0): 3.0, ("haar", 0.5): 4.0}


def rows(shift=0.0, replicates=5, n=(10,)):
    """Trials at the claimed mean + (-0.2, -0.1, 0, 0.1, 0.2): with five per cell the standard error is 0.1/sqrt(2)."""
    drawn = wendel_rows(n=n, d=[5], replicates=replicates, noise=[0.0, 0.5], ensemble=["gaussian", "haar"])
    drawn["max_deviation"] = [MEANS[e, s] for e, s in zip(drawn["ensemble"], drawn["noise"], strict=True)]
    drawn["max_deviation"] += shift + 0.1 * (drawn["replicate"] % 5 - 2)
    return drawn


def analysis(frame, *claims):
    return analysed(frame, claims=list(claims), report={"value": "max_deviation", "x": "noise"})


def test_means_errors_and_scores():
    (table,) = claimed_tables(analysis(rows(shift=0.3), CLAIM).diagram)
    np.testing.assert_allclose(table.mean, [[1.3, 2.3], [3.3, 4.3]])
    np.testing.assert_allclose(table.error, 0.1 / np.sqrt(2))
    np.testing.assert_allclose(table.z, 0.3 / np.hypot(0.1 / np.sqrt(2), 0.1))
    assert (table.count == 5).all()


def test_a_table_of_some_rows_has_their_means():
    both = rows(n=(10, 20))
    both["max_deviation"] += 0.1 * both["n"]
    for n in (10, 20):
        (table,) = claimed_tables(analysis(both, {**CLAIM, "where": {"n": n}}).diagram)
        np.testing.assert_allclose(table.mean, 0.1 * n + np.array([[1.0, 2.0], [3.0, 4.0]]))
        assert (table.count == 5).all()


def test_rows_may_have_different_stated_errors_and_a_far_number_is_marked():
    far = {**CLAIM, "values": {"gaussian": [1.0, 2.0], "haar": [3.0, 5.0]}}
    assert analysis(rows(replicates=30), {**far, "errors": {"haar": 0.5}}).claims[0].verdict == "supported"
    (table,) = claimed_tables(analysis(rows(), far).diagram)
    assert mean_rows(table)[1]["noise = 0.5"] == "4.00 +- 0.07 (5, -8.2!)"


def test_failed_and_missing_trials_do_not_enter_means():
    cut = rows()
    some = cut[~((cut["ensemble"] == "haar") & (cut["noise"] == 0.5))].reset_index(drop=True)
    (table,) = claimed_tables(analysis(fail(some, [0]), CLAIM).diagram)
    assert table.count.tolist() == [[4, 5], [5, 0]]
    assert np.isnan(table.mean[1, 1])
    assert analysis(some, CLAIM).claims[0].verdict == "inconclusive"
    assert mean_rows(table)[1]["noise = 0.5"] == "- (4)"


def test_one_trial_has_no_error_and_proves_nothing():
    once = rows()[lambda frame: frame["replicate"] == 2].reset_index(drop=True)
    found = analysis(once, CLAIM)
    assert found.claims[0].verdict == "inconclusive"
    assert mean_rows(claimed_tables(found.diagram)[0])[0]["noise = 0"] == "1.00 (1)"


def test_text_and_latex_say_the_same():
    found = analysis(rows(), CLAIM)
    (table,) = claimed_tables(found.diagram)
    assert mean_rows(table)[0] == {
        "ensemble": "gaussian",
        "noise = 0": "1.00 +- 0.07 (1, +0.0)",
        "noise = 0.5": "2.00 +- 0.07 (2, +0.0)",
    }
    assert mean_title(table) == (
        "max deviation: mean and standard error of 5 trials (stated by P0 Table 1, z-score; ! beyond 3)"
    )
    latex = as_latex([found])
    assert re.search(r"gaussian +& 1.00 \$\\pm\$ 0.07 \(1, \+0.0\) +& 2.00 \$\\pm\$ 0.07", latex)
    assert re.search(r"haar +3.00 \+- 0.07 \(3, \+0.0\)", text_of(found))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": {"gaussian": [1.0]}}, "gaussian has 1 numbers for 2 values of noise"),
        ({"error": [0.1]}, "error has 1 numbers"),
        ({"errors": {"cubic": 1.0}}, "'cubic' is no row of values"),
        ({"across": "nois"}, "found 'nois'; allowed: a coordinate"),
        ({"of": "deviation"}, "found 'deviation'; allowed: a measured column"),
    ],
)
def test_errors_in_a_table_are_reported(change, message):
    with pytest.raises(ConfigError, match=message):
        load_fields(claims=[{**CLAIM, **change}])


def test_rows_named_by_text_with_signs_are_safe_in_latex():
    frame = rows().assign(ensemble=lambda f: f["ensemble"].map({"gaussian": "a_b", "haar": "50%"}))
    latex = as_latex([analysis(frame, {**CLAIM, "values": {"a_b": [1.0, 2.0], "50%": [3.0, 4.0]}})])
    assert re.search(r"a\\_b +& ", latex)
    assert re.search(r"50\\% +& ", latex)


def test_a_profile_draws_means_with_the_numbers_of_the_source_as_crosses():
    """The median of skewed values differs from their mean, which is what the source prints."""
    skewed = rows(shift=0.3)
    skewed.loc[skewed["replicate"] == 4, "max_deviation"] += 1.0
    report = {"value": "max_deviation", "x": "noise", "y": "ensemble"}
    ax = PROFILE.draw(analysed(fail(skewed, skewed.index[:1]), claims=[CLAIM], report=report)).axes[0]
    assert ax.get_ylabel().split()[0] == "mean"
    crosses = [line.get_ydata() for line in ax.lines if line.get_marker() == "x"]
    np.testing.assert_allclose(crosses, [[1.0, 2.0], [3.0, 4.0]])
    means = [line.get_ydata() for line in ax.lines if line.get_marker() in ("o", "s")]
    np.testing.assert_allclose(means, [[1.3 + (0.2 + 1.0) / 4, 2.5], [3.5, 4.5]])


def test_a_profile_has_crosses_on_lines_of_numbers() -> None:
    both = wendel_rows(n=[10, 20], d=[5], replicates=5, noise=[0.0, 0.5])
    claim = {**CLAIM, "axis": "n", "values": {"10": [1.0, 2.0], "20": [3.0, 4.0]}}
    analysis = analysed(both, claims=[claim], report={"value": "max_deviation", "x": "noise", "y": "n"})
    crosses = [line.get_ydata() for line in PROFILE.draw(analysis).axes[0].lines if line.get_marker() == "x"]
    np.testing.assert_array_equal(crosses, [[1.0, 2.0], [3.0, 4.0]])


def test_a_profile_has_crosses_only_in_the_panels_of_a_claim():
    """A claim about other trials, columns or axes leaves medians."""
    both = wendel_rows(n=[10, 20], d=[5], replicates=5, noise=[0.0, 0.5], ensemble=["gaussian", "haar"])
    both["max_deviation"] = 0.1 * both["n"] + 0.01 * both["replicate"]
    report = {"value": "max_deviation", "x": "noise", "y": "ensemble", "panel": "n"}
    for change, label, marked in (
        ({"where": {"n": 20}}, "mean", [0, 2]),
        ({"of": "frequency"}, "median", [0, 0]),
        ({"axis": "n", "values": {"10": [1.0, 2.0]}}, "median", [0, 0]),
    ):
        figure = PROFILE.draw(analysed(both, claims=[{**CLAIM, **change}], report=report))
        crosses = [[line.get_marker() for line in ax.lines].count("x") for ax in figure.axes]
        assert crosses == marked
        assert figure.axes[0].get_ylabel().split()[0] == label
