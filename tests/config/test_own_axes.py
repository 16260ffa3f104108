"""User axes, which are words that are no fields, and axes that expressions compute."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recovery.config import ConfigError, Sweep, from_document, load
from recovery.runner.trial import streams

from .sweeps import BASE, ids, load_fields, points

MODULE = """
from dataclasses import dataclass
from typing import Annotated, ClassVar
import annotated_types
import numpy as np
import recovery
from recovery.instances.planted import Neurons

@dataclass(frozen=True)
class Sparse:
    k: Annotated[int, annotated_types.Ge(0)] = 1
    share: float = 1.0
    form: ClassVar = "linear"
    neurons: ClassVar = 1
    slope: ClassVar = 0.0
    def draw(self, rng, X):
        return Neurons("linear", np.eye(X.shape[1])[:, :1], np.ones(1))

@dataclass(frozen=True)
class Guess:
    tempo: float = 1.0
    columns: ClassVar = recovery.select("recovered")
    def __call__(self, instance, architecture):
        return {"recovered": True}
    def cost(self, n, d):
        return 1.0

def law(rng, n, d, width: float = 1.0):
    return width * rng.standard_normal((n, d))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "axes_of_mine.py").write_text(MODULE)
    before = sys.path[:]
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.path[:] = before
    sys.modules.pop("axes_of_mine", None)


OWN: dict[str, Any] = {
    "planted": {"kind": "axes_of_mine:Sparse"},
    "method": {"kind": "axes_of_mine:Guess"},
    "data": {"ensemble": "axes_of_mine:law"},
    "architecture": None,
}


def own(folder: Path, **fields: Any) -> Sweep:
    content = {key: value for key, value in {**BASE, **OWN, **fields}.items() if value is not None}
    (folder / "config.yaml").write_text(json.dumps(content))
    return load(folder / "config.yaml")


def test_expressions_are_exact_and_sizes_are_rounded() -> None:
    sweep = load_fields(n=None, d=30, axes={"delta": [0.1, 0.05, 0.01], "n": "delta * d"})
    assert points(sweep, "delta", "n") == [(0.1, 3), (0.05, 2), (0.01, 1)]
    other = load_fields(n=None, d=30, axes={"delta": [0.1, 0.05], "n": "floor(delta * d)"})
    assert points(other, "n") == [(3,), (1,)]


def test_expressions_use_each_other_in_any_order() -> None:
    axes = {"noise": "n / 100", "n": "2 * d", "d": [5, 10]}
    assert points(load_fields(n=None, d=None, axes=axes), "d", "n", "noise") == [(5, 10, 0.1), (10, 20, 0.2)]


def test_a_circle_is_refused() -> None:
    with pytest.raises(ConfigError, match="computed from itself"):
        load_fields(n=None, d=None, axes={"n": "2 * d", "d": "n / 2"})


def test_the_trials_are_those_of_the_sizes_that_come_out() -> None:
    """A computed axis is a way to write sizes; ids do not depend on it."""
    plain = load_fields(n=None, d=None, axes={"zip": [{"n": [10, 20], "d": [5, 10]}]})
    assert ids(load_fields(n=None, d=None, axes={"d": [5, 10], "n": "2 * d"})) == ids(plain)
    assert ids(load_fields(n=None, d=None, axes={"d": [5, 10], "n": {"times": "d", "values": [2]}})) == ids(plain)


def test_values_that_round_alike_are_cells_of_their_own() -> None:
    sweep = load_fields(n=None, d=10, axes={"delta": [0.5, 0.51], "n": "delta * d"})
    assert points(sweep, "delta", "n") == [(0.5, 5), (0.51, 5)]
    assert len(ids(sweep)) == 2 * sweep.replicates
    first, second = (streams(cell, 0) for cell in sweep.cells)
    assert first.data.integers(2**63) != second.data.integers(2**63)


def test_a_stored_document_gives_the_same_trials(folder: Path) -> None:
    axes = {"delta": [0.3, 0.6], "rho": [0.2, 0.5], "n": "delta * d", "planted.k": "rho * n", "tempo": [1.0, 2.0]}
    sweep = own(folder, n=None, d=20, axes=axes)
    again = from_document(json.loads(json.dumps(sweep.document)), trust=True)
    assert ids(again) == ids(sweep)
    assert [cell.coordinates for cell in again.cells] == [cell.coordinates for cell in sweep.cells]
    names = ("delta", "n", "planted.k")
    untrusted = from_document(json.loads(json.dumps(sweep.document)))
    assert untrusted.combinations(names) == list(dict.fromkeys(points(sweep, *names)))
    assert untrusted.computed == ("n", "planted.k")


def test_a_field_of_integers_is_rounded(folder: Path) -> None:
    sweep = own(folder, n=20, axes={"rho": [0.11, 0.125], "planted.k": "rho * n", "planted.share": "rho * n"})
    assert points(sweep, "planted.k", "planted.share") == [(2, 2.2), (3, 2.5)]
    assert sweep.document["axes"]["planted.k"] == "round(rho * n)"


def test_own_components_take_axes_by_name(folder: Path) -> None:
    sweep = own(folder, axes={"k": [1, 3], "tempo": [0.5, 2], "width": [1, 4]})
    cell = sweep.cells[-1]
    assert (cell.imported.setting.planted.k, cell.imported.method.tempo) == (3, 2.0)  # type: ignore[attr-defined]
    assert cell.canonical["data"]["width"] == 4
    assert "axes" not in cell.canonical
    said = own(folder, axes={"planted.k": [1, 3], "method.tempo": [0.5, 2], "data.width": [1, 4]})
    assert ids(said) == ids(sweep)


def test_an_axis_that_nothing_takes_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"axes.tempi: .*no component of yours takes it; .*did you mean 'tempo'"):
        own(folder, axes={"tempi": [1, 2]})


def test_an_axis_of_one_block_that_cannot_be_computed_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"axes\[1\].tempi: .* uses 'slow', which is neither an axis nor a number"):
        load_fields(axes=[{"noise": [0.1]}, {"tempi": "slow"}])


@pytest.mark.parametrize("name", ["seed", "status", "recovered", "sqrt", "pi"])
def test_words_that_mean_something_else_are_no_axes(folder: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="choose another"):
        own(folder, n=None, axes={name: [1, 2], "n": f"4 * {name}" if name not in ("sqrt", "pi") else [4]})


def test_an_architecture_is_needed_only_by_the_programs_methods(folder: Path) -> None:
    sweep = own(folder)
    assert sweep.cells[0].coordinates["architecture"] == "none"
    assert ids(from_document(sweep.document, trust=True)) == ids(sweep)
    with pytest.raises(ConfigError, match="architecture: is missing"):
        own(folder, method={"kind": "min_norm"})
    with pytest.raises(ConfigError, match="architecture: is missing"):
        own(folder, method=None, axes={"method": [{"kind": "min_norm"}, {"kind": "axes_of_mine:Guess"}]})


@pytest.mark.parametrize("x", ["n/d", "n / d", "sqrt(n)"])
def test_a_report_is_over_arithmetic_of_coordinates(x: str) -> None:
    load_fields(n=None, axes={"n": [4, 8]}, report={"x": x})


@pytest.mark.parametrize(("x", "words"), [("n/dd", "did you mean 'd'"), ("n/", "cannot read"), ("m", "a coordinate")])
def test_a_report_over_nothing_is_refused(x: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        load_fields(n=None, axes={"n": [4, 8]}, report={"x": x})


def test_a_boundary_has_no_computed_axes() -> None:
    with pytest.raises(ConfigError, match="along n, which has one value"):
        load_fields(
            n=None, axes={"delta": [1, 2], "n": "4 * delta"}, sampling={"kind": "boundary", "rounds": 2, "budget": 99}
        )
