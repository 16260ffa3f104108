"""Values that trials did not measure are unknown in every answer, and one command measures them."""

import gzip
import json
import re
from base64 import b64decode
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import recovery
from recovery.extras.compare import compare
from recovery.report.diagram import summary
from tests.invoke import recover, said

from .grids import analysed, fail, grid, judge, leave_undecided, wendel_rows

CONFIG = """
name: small
title: Small
seed: 3
replicates: 6
data: {ensemble: gaussian}
planted: {kind: linear}
architecture: relu_skip
patterns: {kind: sampled}
method: {kind: min_norm}
axes: {n: [20, 45, 60, 120], d: [40]}
report: {value: recovered, x: n, y: d}
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same draws, once without and once with the distances of the trials that were decided without a solve."""
    folder = tmp_path_factory.mktemp("sweeps")
    (folder / "small.yaml").write_text(CONFIG)
    for name, more in (("brief", ()), ("full", ("--set", "method.distances=true"))):
        run = recover("sweep", folder / "small.yaml", "--quiet", *more, "--out", folder / name, "--jobs", "1")
        assert run.exit_code == 0, run.output
    return folder / "brief", folder / "full"


def counts(path: Path, value: str) -> tuple[int, int, int]:
    table = recovery.read(path).cells(value)
    return tuple(int(table[name].sum()) for name in ("yes", "no", "unmeasured"))


def test_an_event_that_was_not_measured_is_unknown(folders: tuple[Path, Path]) -> None:
    """Another tolerance of recovery is no more than its trials say: what is not known may be either."""
    brief, full = folders
    frame = recovery.read(brief).frame
    lacking = frame["max_deviation"].isna()
    assert lacking.any()
    assert not (lacking & frame["recovered"]).any()
    for bound in (1e-3, 0.3, 0.5, 2.0):
        (yes, no, unknown), (true, false, none) = (counts(path, f"max_deviation<={bound:g}") for path in folders)
        assert none == 0
        assert unknown == lacking.sum()
        assert yes <= true <= yes + unknown
        assert no <= false <= no + unknown
    terminal = ("--value", "test_distance<=0.1", "--format", "terminal")
    text = recover("report", brief, *terminal).output
    assert f"{lacking.sum()} unmeasured" in text
    assert "undecided" not in text.partition("50 %")[0]
    assert f"recover sweep {brief.as_posix()} --measure test_distance" in " ".join(text.split())
    assert "unmeasured" not in recover("report", full, *terminal).output


def test_one_command_measures_the_value_on_the_same_draws(folders: tuple[Path, Path], tmp_path: Path) -> None:
    brief, full = folders
    out = tmp_path / "filled"
    recovery.run(brief.parent / "small.yaml", out, quiet=True, jobs=1)
    before = recovery.read(out).frame.set_index("trial_id")
    assert recover("sweep", out, "--measure", "test_distance", "--quiet", "--jobs", "1").exit_code == 0
    after = recovery.read(out).frame.set_index("trial_id").loc[before.index]
    assert after["test_distance"].notna().all()
    assert after[["verdict", "certificate"]].equals(before[["verdict", "certificate"]])
    same = before["test_distance"].notna()
    assert after.loc[same, "test_distance"].equals(before.loc[same, "test_distance"])
    assert after.loc[same, "started_at"].equals(before.loc[same, "started_at"])  # these did not run again
    wanted = recovery.read(full).frame
    assert sorted(after["test_distance"]) == pytest.approx(sorted(wanted["test_distance"]))
    again = recover("sweep", out, "--measure", "test_distance", "--quiet", "--jobs", "1")
    assert "(0 run now)" in again.stdout
    refused = recover("sweep", out, "--measure", "recovered", "--quiet")
    assert refused.exit_code == 2
    assert "not measured on demand; allowed: absolute_distance" in refused.output


def test_a_report_or_a_claim_measures_its_value_in_every_trial(folders: tuple[Path, Path], tmp_path: Path) -> None:
    """The ids of the trials are those without it, and `check` says so."""
    config = tmp_path / "small.yaml"
    config.write_text(CONFIG + 'claims: [{kind: binomial, of: "max_deviation<=0.5", probability: 0.5, source: ours}]\n')
    plain = recovery.load(CONFIG)
    sweep = recovery.load(config)
    assert [cell.id for cell in sweep.cells] == [cell.id for cell in plain.cells]
    assert "max_deviation" in recover("check", config).output
    assert "max_deviation" not in recover("check", folders[0].parent / "small.yaml").output
    rows = recovery.run(sweep, tmp_path / "out", quiet=True, jobs=1).frame
    assert rows["max_deviation"].notna().all()


@pytest.mark.parametrize("value", ["absolute_distance", "absolute_distance<=1e-3"])
@pytest.mark.parametrize("seeds", [(1, 1), (1, 2)])
@pytest.mark.parametrize("share", [0.1, 1.0])
def test_a_comparison_allows_for_every_value_that_one_side_lacks(
    value: str, seeds: tuple[int, int], share: float
) -> None:
    """Failures of one side that hide their values with a probability: no interval and no test gets sharper."""
    first, second = (wendel_rows(n=[15, 25], d=[10], replicates=12, seed=seed) for seed in (0, 1))
    lost = ~second["recovered"].to_numpy(bool) & (np.random.default_rng(0).random(len(second)) < share)
    assert lost.any()
    hidden = second.copy()
    hidden.loc[lost, "absolute_distance"] = np.nan
    one, *others = [
        grid(rows, seed=seed, name=name)
        for rows, seed, name in zip((first, second, hidden), (*seeds, seeds[1]), "abc", strict=True)
    ]
    whole, partly = (compare(one, other, value=value) for other in others)
    for full, part in zip(whole.table.to_dict("records"), partly.table.to_dict("records"), strict=True):
        if not np.isnan(full["low"]):
            assert part["low"] <= full["low"] + 1e-9
            assert part["high"] >= full["high"] - 1e-9
            assert part["p"] >= full["p"] - 1e-9
    assert f"(0 in a and {lost.sum()} in c)" in partly.sentence


def hiding(rows: pd.DataFrame, share: float = 1.0) -> pd.DataFrame:
    """The same rows, of which this share of the failures has no distance."""
    rows = rows.copy()
    lost = ~rows["recovered"].to_numpy(bool) & (np.random.default_rng(5).random(len(rows)) < share)
    rows.loc[lost, ["absolute_distance", "max_deviation"]] = np.nan
    return rows


def failing_far_away(variants: tuple[str, ...] = ("a",)) -> pd.DataFrame:
    """Failures are far away at small n; what recovers is nearer at small n, and nearer under the first variant."""
    rows = wendel_rows(n=range(12, 30, 2), d=[10], replicates=80, planted=variants)
    rng, won = np.random.default_rng(1), rows["recovered"].to_numpy(bool) | (rows["planted"] == "b").to_numpy()
    near = 1e-7 * rows["n"] * (1 + 4 * (rows["planted"] == "b")) * rng.uniform(0.99, 1.01, len(rows))
    rows["absolute_distance"] = np.where(won, near, 10.0)
    rows["recovered"], rows["verdict"] = pd.array(won, dtype="boolean"), np.where(won, "recovered", "not_optimal")
    rows["certificate"] = np.where(won, "gap", "none")
    return rows


EVENT = "absolute_distance<=0.1"
CLAIMS = {
    "median": {"kind": "value", "of": "absolute_distance", "statistic": "median", "at_most": 1e-3, "where": {"n": 14}},
    "every": {"kind": "value", "of": "absolute_distance", "statistic": "every", "at_most": 1e-3},
    "mean": {"kind": "value", "of": "absolute_distance", "statistic": "mean", "at_most": 1e-3},
    "bound": {"kind": "bound", "of": EVENT, "at_least": 0.9},
    "binomial": {"kind": "binomial", "of": EVENT, "probability": 0.99, "tolerance": 0.1},
    "table": {"kind": "table", "of": "absolute_distance", "axis": "d", "across": "n", "at": [20, 24]},
    "monotone": {"kind": "monotone", "of": "absolute_distance", "along": "n", "direction": "rises"},
    "power": {"kind": "power", "of": "absolute_distance", "along": "n", "value": 1.0, "tolerance": 0.2},
    "threshold": {"kind": "threshold", "of": EVENT, "ratio": "n/d", "at_most": 1.8},
    "order": {
        "kind": "order",
        "of": "absolute_distance",
        "axis": "planted",
        "values": ["a", "b"],
        "direction": "rises",
    },
}


@pytest.mark.parametrize("kind", CLAIMS)
def test_no_claim_holds_because_its_failures_were_not_measured(kind: str) -> None:
    """Supported by the measured trials, refuted by all of them, and no longer supported if it counts the others."""
    claim = CLAIMS[kind] | {"source": "ours"}
    rows = failing_far_away(("a", "b") if kind == "order" else ("a",))
    partly = hiding(rows, 0.9 if kind == "threshold" else 1.0)
    measured = partly[partly["absolute_distance"].notna()]
    if kind == "table":
        claim |= {"values": {"10": measured.groupby("n")["absolute_distance"].mean()[[20, 24]].tolist()}, "error": 1e-9}
    verdicts = [judge(some, claim) for some in (measured, rows, partly)]
    assert verdicts[0].verdict == "supported"
    assert verdicts[1].verdict == ("inconclusive" if kind == "power" else "contradicted")
    assert verdicts[2].verdict in ("inconclusive", "contradicted")
    assert "did not measure it" in verdicts[2].measured or " unmeasured" in verdicts[2].measured


def test_claims_name_unmeasured_undecided_failed_and_missing_trials_apart() -> None:
    rows = leave_undecided(fail(hiding(failing_far_away()), [0, 1]), [2, 3, 4])
    rows.loc[rows.index[[2, 3, 4]], "absolute_distance"] = np.nan
    lost = rows["absolute_distance"].isna().sum() - 5
    words = f"3 undecided and {lost} unmeasured and 2 failed"
    for kind in ("median", "every", "mean", "monotone"):
        assert words in judge(rows, CLAIMS[kind] | {"source": "ours", "where": {}}).measured
    line = summary(analysed(rows, EVENT, trials=len(rows) + 7).diagram)
    assert f"2 failed, 7 missing, 3 undecided, {lost} unmeasured" in line


def test_a_median_has_the_bounds_that_unmeasured_values_leave() -> None:
    rows = wendel_rows(n=[60], d=[10], replicates=5)
    rows["absolute_distance"], rows["verdict"] = [1.0, 2.0, 4.0, np.nan, np.nan], "not_optimal"
    for values, median, mean, highest in (([1, 2, 4, 5, np.nan], 3.0, np.nan, np.nan), ([1, 2, 4, 5, 6], 4, 3.6, 6)):
        rows["absolute_distance"] = np.array(values, float)
        cell = analysed(rows, "absolute_distance").diagram.table.iloc[0]
        assert cell["value"] == median
        assert (cell["mean"], cell["highest"]) == (
            pytest.approx(mean, nan_ok=True),
            pytest.approx(highest, nan_ok=True),
        )
    rows["absolute_distance"] = [1.0, 2.0, np.nan, np.nan, np.nan]
    cell = analysed(rows, "absolute_distance").diagram.table.iloc[0]
    assert np.isnan(cell["value"])
    assert (cell["count"], cell["undecided"], cell["unmeasured"]) == (2, 0, 3)


@pytest.mark.parametrize("value", ["test_distance<=0.1", "max_deviation<=0.5"])
def test_the_terminal_python_the_page_and_the_csv_leave_unmeasured_outcomes_open(
    folders: tuple[Path, Path], value: str, tmp_path: Path
) -> None:
    brief, full = (recovery.read(path) for path in folders)
    lacking = int(brief.frame[value.partition("<")[0]].isna().sum())
    partly, whole = (one.cells(value) for one in (brief, full))
    assert (partly["low"] <= whole["value"]).all()
    assert (whole["value"] <= partly["high"]).all()
    assert partly["unmeasured"].sum() == lacking > 0 == partly["undecided"].sum() == whole["unmeasured"].sum()
    (found,), (truth,) = (one.analysis(value).pooled for one in (brief, full))
    assert found.interval.low <= truth.interval.low
    assert found.interval.high >= truth.interval.high
    table = pd.read_csv(StringIO(said("report", folders[0], "--value", value, "--format", "csv")))
    for end in ("low", "high"):
        assert table[f"{value}_{end}"].tolist() == pytest.approx(partly[end].tolist(), nan_ok=True)
    assert table[f"{value}_unmeasured"].tolist() == partly["unmeasured"].tolist()
    terminal = " ".join(said("report", folders[0], "--value", value, "--format", "terminal").split())
    said("report", folders[0], "--value", value, "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    (packed,) = re.findall(r'id="data">(.*?)</script>', page)
    assert (
        f'"unmeasured":{partly["unmeasured"].tolist()}'.replace(" ", "") in gzip.decompress(b64decode(packed)).decode()
    )
    for text in (terminal, page):
        assert f"{lacking} unmeasured" in text
        assert f"{lacking} trials did not measure it, and may be either" in text


def test_every_form_of_a_comparison_says_which_side_lacks_values(folders: tuple[Path, Path], tmp_path: Path) -> None:
    brief, full = folders
    lacking = int(recovery.read(brief).frame["test_distance"].isna().sum())
    asked = ("compare", full, brief, "--value", "test_distance")
    words = f"not known in {lacking} of 24 (0 in {full.as_posix()} and {lacking} in {brief.as_posix()})"
    assert words in " ".join(said(*asked).split())
    assert words in json.loads(said(*asked, "--json"))["sentence"]
    compared = recovery.compare(full, brief, value="test_distance")
    assert words in compared._repr_html_()
    said(*asked, "--out", tmp_path / "differences.csv")
    table = pd.read_csv(tmp_path / "differences.csv")
    assert table.loc[table["scope"] == "overall", "unknown_second"].tolist() == [lacking]
    assert compared.overall["p"].item() == 1.0


def test_a_sweep_until_its_event_is_known_measures_the_event_in_every_trial(tmp_path: Path) -> None:
    """The rule is about the first value of the report, which `check` names among the columns that it needs."""
    (tmp_path / "small.yaml").write_text(CONFIG.replace("value: recovered", "value: [max_deviation<=0.5, recovered]"))
    rule = ("--set", "sampling={kind: until, rule: threshold +-10, refine: false, ceiling: 2}")
    assert "max_deviation" in said("check", tmp_path / "small.yaml", *rule)
    recover("sweep", tmp_path / "small.yaml", *rule, "--quiet", "--jobs", "1", "--out", tmp_path / "out")
    rows = recovery.read(tmp_path / "out").frame
    assert len(rows) >= 24
    assert rows["max_deviation"].notna().all()
