"""Bad configs: every error with its position and remedy on one screen, exit 2, and nothing written."""

import contextlib
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from recovery.config import ConfigError, load
from recovery.config.axes import all_paths
from recovery.config.claims import CLAIMS
from recovery.config.components import COMPONENTS
from recovery.config.header import HEADER
from recovery.config.reader import read_text
from tests.invoke import recover

from .sweeps import BASE, load_fields

GOOD = """\
name: small
seed: 7
data: {ensemble: gaussian}
planted: {kind: linear, direction: random}
noise: 0
architecture: relu_skip
method: {kind: min_norm, program: gated}
axes:
  n: [4, 8]
  d: {start: 1, stop: 3}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(folder: Path, text: str | bytes, *options: str) -> str:
    """The message of `recover sweep`, after checking that it exits with 2, fits a screen and writes nothing."""
    config = folder / "config.yaml"
    config.write_bytes(text if isinstance(text, bytes) else text.encode())
    before = sorted(folder.rglob("*"))
    result = recover("sweep", "config.yaml", *options)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert sorted(folder.rglob("*")) == before
    assert len(result.stderr.splitlines()) <= 24
    return result.stderr


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new", "position", "parts"),
    [
        ("noise: 0", "nois: 0", "5:1: nois", ["unknown key", "did you mean 'noise'?"]),
        ("direction", "directoin", "4:25: planted.directoin", ["kind, direction", "did you mean 'direction'?"]),
        ("seed: 7", "seed: seven", "2:7: seed", ["found 'seven'", "an integer >= 0"]),
        ("noise: 0", "noise: '0.1'", "5:8: noise", ["'0.1'", "a number >= 0"]),
        ("noise: 0", "noise: true", "5:8: noise", ["found true"]),
        ("noise: 0", "noise: .inf", "5:8: noise", ["found inf", "a number"]),
        ("noise: 0", "noise: -0.1", "5:8: noise", ["found -0.1", ">= 0"]),
        ("gaussian", "gausian", "3:18: data.ensemble", ["found 'gausian'", "haar", "did you mean 'gaussian'?"]),
        ("{ensemble: gaussian}", "gaussian", "3:7: data", ["allowed: a mapping", "did you mean {ensemble: gaussian}?"]),
        ("relu_skip", "relu_skp", "6:15: architecture", ["did you mean 'relu_skip'?"]),
        ("seed: 7", "seed: 7\nseed: 8", "3:1: seed", ["second time", "line 2"]),
        ("[4, 8]", "[]", "9:6: axes.n", ["empty list", "at least one"]),
        ("start: 1", "start: 9", "10:6: axes.d", ["empty range"]),
        ("[4, 8]", "[0, 8]", "9:7: axes.n[0]", ["found 0", "an integer >= 1"]),
        ("[4, 8]", "[4, 8.5]", "9:10: axes.n[1]", ["found 8.5"]),
        ("[4, 8]", "[4, 8, 4]", "9:13: axes.n[2]", ["a second time"]),
        ("noise: 0", "noise: 0,1", "5:8: noise", ["did you mean 0.1?"]),
        ("name: small", "name: small: the first", "1:12", ["second colon", "quotes"]),
        ("gaussian", "normal", "3:18: data.ensemble", ["did you mean 'gaussian'?"]),
        ("stop: 3", "end: 3", "10:17: axes.d.end", ["did you mean 'stop'?"]),
        ("[4, 8]", "range(10, 20, 5)", "9:6: axes.n", ["did you mean {start: 10, stop: 20, step: 5}?"]),
        ("gated}", "gated", "7:9", ["this { is not closed"]),
        ("[4, 8]", "[4, 8", "9:6", ["is not YAML here", "this [ is not closed"]),
        ("[4, 8]", "many", "9:6: axes.n", ["uses 'many'", "[many]"]),
        ("[4, 8]", "2d", "9:6: axes.n", ["cannot read '2d'", "2 * d"]),
        ("[4, 8]", "8 / noise", "9:6: axes.n", ["no value at noise = 0"]),
        ("[4, 8]", "dd + 1", "9:6: axes.n", ["did you mean 'd'?"]),
        ("[4, 8]", "1 - d", "9:6: axes.n", ["found 0", ">= 1"]),
        ("n: [4, 8]", "nn: [4, 8]", "9:3: axes.nn", ["no field that can be"]),
        ("n: [4, 8]", "n: n + 1", "9:6: axes.n", ["computed from itself"]),
        (
            "  n: [4, 8]",
            "  n: [4, 8]\n  data.ensmble: [haar]",
            "10:3: axes.data.ensmble",
            ["did you mean 'data.ensemble'?"],
        ),
        ("  n: [4, 8]\n", "", "1:1: n", ["is missing", "`n: 100`", "axis"]),
        (
            "{ensemble: gaussian}",
            "{ensemble: file, path: nowhere.csv}",
            "3:30: data.path",
            ["no file 'nowhere.csv'", "relative paths start in"],
        ),
        ("name: small", "name: ../small", "1:7: name", ["found '../small'", "letters"]),
        ("seed: 7", "seed: !!python/object/apply:os.system ['touch owned']", "2:7: seed", ["tags are never followed"]),
        ("seed: 7", "title: !include /etc/passwd", "2:8: title", ["!include", "plain"]),
        (
            "axes:",
            "claims: [{kind: order, of: recovered, axis: n, values: [4]}]\naxes:",
            "8:56: claims[0].values",
            ["found [4]; allowed: a list (each a plain value or a list (each a plain value)) of length >= 2"],
        ),
        ("axes:", "report: {value: 'max_deviation<=nan'}\naxes:", "8:17: report.value", ["found 'max_deviation<=nan'"]),
        ("noise: 0", "noise: {a: 1, b: 2, c: 3, d: 4, e: 5}", "5:8: noise", ["found {a: 1, b: 2, c: 3, d: 4, ...}"]),
        ("axes:", "claims: [{kind: treshold}]\naxes:", "8:17: claims[0].kind", ["did you mean 'threshold'?"]),
        (
            "axes:",
            "report: {value: recoverd, x: m, curves: [wendl]}\naxes:",
            "8:17: report.value",
            ["did you mean 'recovered'?", "8:30: report.x", "8:42: report.curves[0]", "did you mean 'wendel'?"],
        ),
    ],
)
def test_bad_config(folder: Path, old: str, new: str, position: str, parts: list[str]) -> None:
    assert_refused(folder, changed(old, new), position, parts)


@pytest.mark.parametrize(
    ("text", "position", "parts"),
    [
        (
            changed("noise: 0", "n: [5, 10]").replace("  n: [4, 8]\n", ""),
            "5:4: n",
            ["found [5, 10]", "under axes: `axes: {n: [5, 10]}`"],
        ),
        (b"name: caf\xe9\n", "1:10", ["byte 0xe9", "UTF-8"]),
        ("", "1:1", ["is empty"]),
        ("- 1\n", "1:1", ["mapping"]),
        ("x" * 10_000_000, "1:1", ["larger than 1 MB"]),
        ("a: &a [*a]\n", "1:4", ["alias to something around itself"]),
        ("[" * 2_000, "1:1", ["nested deeper"]),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 40 else "",
)
def test_text_that_is_no_config(folder: Path, text: str | bytes, position: str, parts: list[str]) -> None:
    assert_refused(folder, text, position, parts)


def assert_refused(folder: Path, text: str | bytes, position: str, parts: list[str]) -> None:
    message = refused(folder, text)
    assert f"config.yaml:{position}" in message
    for part in parts:
        assert part in message
    assert not (folder / "owned").exists()


def test_an_anchor_may_be_set_again() -> None:
    tree = read_text("a: &r [1]\nb: *r\nc: &r [2]\nd: *r\n", "here")
    assert (tree.value, tree.problems) == ({"a": [1], "b": [1], "c": [2], "d": [2]}, [])


def test_an_alias_bomb_is_refused(folder: Path) -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    assert "once aliases are expanded" in refused(folder, "\n".join(lines))


MANY = """\
name: ../many
seed: -7
colour: red
data: {ensemble: gausian}
planted: {kind: linear, directoin: random}
noise: -1
architecture: relu_skp
method: {kind: min_norm, program: gatd}
axes:
  n: [4, x]
  d: 2e
claims:
  - {kind: treshold}
  - {kind: value, of: recoverd, at_least: 0.5}
report: {value: recoverd, scale: cubic, curves: [wendl]}
"""
PLACES = "1:7 2:7 3:1 4:18 5:25 6:8 7:15 8:35 10:10 11:6 13:12 14:23 15:17 15:34 15:50"


def test_every_error_of_a_config_is_listed_in_one_run(folder: Path) -> None:
    lines = refused(folder, MANY).splitlines()
    assert [":".join(line.removeprefix("Error: ").split(":")[1:3]) for line in lines] == PLACES.split()


def test_a_long_list_of_errors_is_cut_to_a_screen(folder: Path) -> None:
    message = refused(folder, GOOD + "".join(f"extra{i}: 1\n" for i in range(100)))
    assert "and 80 more" in message


def test_a_file_with_nan_is_refused(folder: Path) -> None:
    np.save(folder / "x.npy", np.array([[1.0, 2.0], [np.nan, 4.0]]))
    message = refused(folder, changed("{ensemble: gaussian}", "{ensemble: file, path: x.npy}"))
    assert "config.yaml:3:30: data.path" in message
    assert "not finite" in message
    assert "row 2, column 1" in message


def test_a_file_with_too_few_rows_is_refused(folder: Path) -> None:
    np.save(folder / "x.npy", np.ones((5, 3)))
    message = refused(folder, changed("{ensemble: gaussian}", "{ensemble: file, path: x.npy}"))
    assert "config.yaml:9:10: axes.n[1]: found n = 8" in message
    assert "5 rows" in message


def test_a_fault_of_a_combination_is_placed_at_the_axis_value(folder: Path) -> None:
    text = changed("planted: {kind: linear, direction: random}", "planted: {kind: relu, geometry: opposite}")
    message = refused(folder, text + "  planted.k: [2, 3]\n")
    assert "config.yaml:11:18: axes.planted.k[1]" in message
    assert "k = 2 neurons, found k = 3" in message


def test_what_the_method_cannot_measure_is_refused_before_it_runs(folder: Path) -> None:
    message = refused(folder, changed("architecture: relu_skip\n", "") + "  architecture: [relu_skip, relu]\n")
    assert (
        "config.yaml:10:29: axes.architecture[1]: architecture 'relu' has no skip connection, so no linear group"
        in message
    )


def test_a_missing_solver_is_refused_with_what_is_installed(folder: Path) -> None:
    message = refused(folder, changed("program: gated", "solver: MOSEK"))
    assert "config.yaml:7:34: method.solver: " in message
    assert "CLARABEL" in message


@pytest.mark.parametrize(
    ("option", "parts"),
    [
        ("data.ensemble=gausian", ["data.ensemble: found 'gausian'", "did you mean 'gaussian'?"]),
        ("data.ensmble=haar", ["data.ensmble: is no field of data", "did you mean 'data.ensemble'?"]),
        ("nois=1", ["is no field", "did you mean 'noise'?"]),
        ("noise", ["PATH=VALUE"]),
        ("axes.n=[4", ["is not YAML here"]),
        ("noise=!!python/name:os.system", ["tags are never followed"]),
        ("n=0", ["axes.n[0]: found 0"]),
        ("n=10,20", ["found '10,20'", "several values are a list under axes: [10, 20]"]),
    ],
)
def test_bad_override(folder: Path, option: str, parts: list[str]) -> None:
    message = refused(folder, GOOD, "--set", option)
    assert f"--set {option}: " in message
    for part in parts:
        assert part in message


def test_a_typo_in_a_key_of_many_is_answered_with_a_suggestion_alone(folder: Path) -> None:
    message = refused(folder, GOOD, "--set", "method.solvr=auto")
    assert message.strip() == (
        "Error: --set method.solvr=auto: method.solvr: is no field of method; did you mean 'method.solver'?"
    )


JUDGED = {key: value for key, value in {**BASE, "n": 20, "d": 5}.items() if key not in ("seed", "replicates")}


@pytest.mark.parametrize(
    ("fields", "place", "words"),
    [
        ("noise: 0.5\nreport: {value: recovered}", "9:17", "recovered, which is null with noise, and every cell has"),
        ("noise: 0.5\nreport:\n  value: [gap, recovered]", "10:16", "or another column: max_deviation"),
        ("noise: 0.5\nclaims:\n  - {kind: value, of: recovered, at_least: 0.5}", "10:23", "null with noise"),
        (
            "axes: {noise: [0, 1]}\nclaims:\n  - {kind: threshold, of: recovered, ratio: n/d, at_least: 1}",
            "10:45",
            "found n/d, which no axis changes; allowed: an axis, or an expression of axes: noise",
        ),
        (
            "axes: {n: [10, 20]}\nclaims:\n  - {kind: threshold, of: recovered, along: noise, at_least: 1}",
            "10:45",
            "found noise, which no axis changes",
        ),
        (
            "axes: {d: [10, 20]}\nclaims:\n  - {kind: power, of: recovered, along: n, value: 1, tolerance: 0.1}",
            "10:41",
            "found n, which no axis changes",
        ),
        (
            "axes: {n: [10, 20]}\nclaims:\n  - {kind: value, of: recovered, at_least: 0.5, where: {d: 7}}",
            "10:60",
            "found 7, but d is no axis, and is 5 in every cell; remove it, or give d an axis with this value",
        ),
    ],
)
def test_what_no_trial_can_decide_is_refused(fields: str, place: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "one.yaml"
    path.write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in JUDGED.items()) + fields + "\n")
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert f"one.yaml:{place}:" in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "fields",
    [
        "axes: {noise: [0, 0.5]}\nreport: {value: recovered}",
        "noise: 0.5\nreport: {value: max_deviation}",
        "axes: {n: [10, 20]}\nclaims:\n  - {kind: threshold, of: recovered, ratio: n/d, at_least: 1, where: {d: 5.0}}",
        "axes: {data.ensemble: [gaussian, haar]}\nclaims:\n"
        "  - {kind: value, of: recovered, at_least: 0, where: {ensemble: haar}}",
    ],
)
def test_what_some_trial_can_decide_is_allowed(fields: str) -> None:
    load("".join(f"{key}: {json.dumps(value)}\n" for key, value in JUDGED.items()) + fields)


# Whatever a document holds, the answer is a sweep or a `ConfigError`.

PATHS = all_paths()
WORDS = st.sampled_from(["gaussian", "file", "relu", "linear", "min_norm", "auto", "n", "d", "", "x", *CLAIMS])
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-3, 9), st.floats(), WORDS)
NAMES = "kind ensemble k path start stop step logspace times values zip of where curves limits count"
KEYS = st.sampled_from(NAMES.split())
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)
AXES = st.dictionaries(st.sampled_from([*PATHS, "zip"]), ANYTHING, max_size=4)


ODD = st.sampled_from(
    ["\0", "\t", "*a", "&a ", "<<: ", "!!binary aGk=", "!!int ''", "---", "[", "}", ": ", "zip: [{}]"]
)


@given(st.lists(st.tuples(st.integers(0, len(GOOD)), st.integers(0, 40), ODD | st.text(max_size=3)), min_size=1))
def test_damaged_text_is_refused_with_its_place_and_runs_nothing(faults: list[tuple[int, int, str]]) -> None:
    text = GOOD
    for at, length, word in faults:
        text = text[:at] + word + text[at + length :]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "config.yaml")
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        problems: list[Any] = []
        try:
            load(path)
        except ConfigError as error:
            problems += error.problems
        assert all(str(problem.place).startswith(str(path)) for problem in problems)
        assert list(path.parent.iterdir()) == [path]


@settings(max_examples=150)
@given(fields=st.dictionaries(st.sampled_from([*COMPONENTS, *HEADER]), ANYTHING, max_size=3), axes=st.none() | AXES)
def test_any_fields(fields: dict[str, Any], axes: Any) -> None:
    with contextlib.suppress(ConfigError):
        load_fields(**fields, **({} if axes is None or "axes" in fields else {"axes": axes}))


@settings(max_examples=100)
@given(option=st.one_of(st.text(), st.builds("{}={}".format, st.sampled_from([*PATHS, *HEADER]), st.text())))
def test_any_override(option: str) -> None:
    with contextlib.suppress(ConfigError):
        load_fields(option, axes={"n": [4, 8], "planted": [{"kind": "linear"}]})
