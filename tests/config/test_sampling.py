"""`sampling` and `backend`: what they change of a sweep, and what is refused."""

from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from recovery.backends import BACKENDS
from recovery.config import ConfigError, Until, from_document, load
from recovery.config.header import Header

from .sweeps import ids, load_fields

GRID: dict[str, Any] = {"n": None, "axes": {"n": [4, 8, 12]}}
UNTIL: dict[str, Any] = {"kind": "until", "rule": "threshold +-9", "ceiling": 4}


def test_uniform_sampling_and_a_backend_change_no_document() -> None:
    plain = load_fields()
    spelled_out = load_fields(sampling={"kind": "uniform"}, backend="threading")
    assert (spelled_out.document, spelled_out.digest) == (plain.document, plain.digest)
    assert (plain.backend, spelled_out.backend) == ("processes", "threading")


def test_a_rule_is_stored_and_its_first_round_is_a_uniform_sweep() -> None:
    sweep, plain = load_fields(**GRID, sampling=UNTIL), load_fields(**GRID)
    assert sweep.document == {**plain.document, "sampling": UNTIL}
    assert from_document(sweep.document).sampling == sweep.sampling == Until("threshold +-9", 4)
    assert ids(sweep) == ids(plain)
    assert sweep.size == 24


def test_further_trials_are_those_of_more_replicates() -> None:
    sweep, larger = load_fields(**GRID, sampling=UNTIL), load_fields(**GRID, replicates=5)
    counts = {sweep.cells[1].id: 5, sweep.cells[2].id: 1}
    found = list(sweep.trials(counts))
    assert {trial.id for trial in found} < ids(larger)
    assert [trial.replicate for trial in found] == [0, 1, 0, 1, 2, 3, 4, 0, 1]
    assert list(larger.trials(counts)) == list(larger.trials())


CONFIG = """\
name: small
replicates: 2
data: {ensemble: gaussian}
planted: {kind: linear}
architecture: relu_skip
method: {kind: min_norm}
sampling: {kind: until, ceiling: 3, rule: threshold +-9}
axes:
  n: [4, 8]
  d: [2, 3]
"""


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("until", "untl", [":7:18: sampling.kind: found 'untl'", "uniform or until", "mean 'until'?"]),
        ("kind: until, ", "", [":7:11: sampling: `kind` is missing; add one of uniform or until"]),
        ("ceiling: 3", "ceiling: 1", [":7:34: sampling.ceiling: found 1; allowed: an integer >= 2"]),
        (", rule: threshold +-9", "", [":7:11: sampling: `rule` is missing"]),
        ("rule", "ruel", [":7:37: sampling.ruel: unknown key", "did you mean 'rule'?"]),
        ("rule: threshold +-9", "rule: decided", [": claims: found no threshold; allowed with --until decided"]),
        ("n: [4, 8]", "n: [4]", [": report.x: found a threshold along n, which has one value here; allowed with"]),
        ("axes", "report: {x: noise}\naxes", [":8:13: report.x: found a threshold along noise, which has one value"]),
        ("axes:", "report: {x: lasso}\naxes:\n  data.ensemble: [gaussian, haar]", [":8:13: report.x: found 'lasso'"]),
        (
            "axes:",
            "report: {x: data.ensemble}\naxes:\n  data.ensemble: [gaussian, haar]",
            [":8:13: report.x: found 'data.ensemble', which has the value gaussian", "allowed with"],
        ),
        ("axes", "report: {value: gap}\naxes", [":8:17: report.value: found 'gap'", "recovered", "all_ones"]),
        ("axes", "report: {value: method<=3}\naxes", [":8:17: report.value: found 'method'"]),
        ("axes", "report: {value: verdict<=3}\naxes", [":8:17: report.value: found 'verdict<=3'", "COLUMN<=NUMBER"]),
        ("axes", "backend: proceses\naxes", [":8:10: backend: found 'proceses'", "did you mean 'processes'?"]),
    ],
)
def test_what_cannot_be_sampled_is_refused_with_its_place(tmp_path: Path, old: str, new: str, parts: list[str]) -> None:
    path = tmp_path / "config.yaml"
    assert old in CONFIG
    path.write_text(CONFIG.replace(old, new, 1))
    with pytest.raises(ConfigError) as refused:
        load(path)
    for part in parts:
        assert part in str(refused.value)


def test_a_rule_can_be_set_on_the_command_line() -> None:
    overrides = ["sampling={kind: until, rule: threshold +-9}", "sampling.ceiling=7"]
    assert load_fields(*overrides, **GRID).sampling == Until("threshold +-9", 7)


def test_every_backend_has_one_name() -> None:
    from recovery.cli.sweep import BACKENDS as OFFERED

    assert BACKENDS == OFFERED == get_args(get_type_hints(Header)["backend"])


def test_a_rule_of_methods_that_measure_nothing_true_or_false_is_refused() -> None:
    sampling = {"kind": "until", "rule": "threshold +-9"}
    with pytest.raises(ConfigError, match=r"allowed with sampling: \{kind: until\}: COLUMN<=NUMBER"):
        load_fields(method={"kind": "limit"}, planted={"kind": "relu"}, architecture="relu", sampling=sampling, **GRID)
