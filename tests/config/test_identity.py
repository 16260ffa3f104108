"""Dependence of trial ids and random streams on the fields of a config."""

import json
import pickle
import struct
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from recovery.config import Cell, ConfigError, from_document, load
from recovery.config.tree import canonical_json
from recovery.instances.draw import draw
from recovery.runner.trial import _seed, streams

from .sweeps import ids, load_fields, write

NAMES = ("data", "planted", "noise", "patterns", "test", "training")


def cell(**fields: Any) -> Cell:
    return load_fields(**fields).cells[0]


def meeting(a: Cell, b: Cell, replicate: int = 0) -> set[str]:
    """The streams of the same replicate that are the same in both cells."""
    first, second = streams(a, replicate), streams(b, replicate)
    return {n for n in NAMES if getattr(first, n).integers(2**63) == getattr(second, n).integers(2**63)}


def test_the_same_science_has_the_same_id() -> None:
    spelled_out = {
        "name": "other",
        "title": "a title",
        "replicates": 3,
        "report": {"value": "gap", "curves": ["wendel"]},
        "claims": [{"kind": "statement", "text": "words"}],
        "noise": 0,
        "planted": {"direction": "random", "kind": "linear"},
        "patterns": {"kind": "sampled"},
        "axes": {"d": [3]},
    }
    assert ids(load_fields()) < ids(load_fields(**spelled_out))


@pytest.mark.parametrize(
    "fields",
    [
        {"n": 9},
        {"d": 4},
        {"seed": 8},
        {"noise": 0.1},
        {"noise_scale": "unit"},
        {"data": {"ensemble": "haar"}},
        {"planted": {"kind": "relu"}},
        {"architecture": "relu_norm_skip"},
        {"patterns": {"all_ones": "ignore"}},
        {"method": {"kind": "min_norm", "solver": "SCS"}},
    ],
)
def test_other_science_has_other_ids(fields: dict[str, Any]) -> None:
    assert not ids(load_fields()) & ids(load_fields(**fields))


def test_integers_stand_for_floats() -> None:
    assert ids(load_fields(noise=3)) == ids(load_fields(noise=3.0))
    student = [{"ensemble": "student_t", "df": df} for df in (4, 4.0)]
    assert ids(load_fields(data=student[0])) == ids(load_fields(data=student[1]))


def test_enlarging_axes_and_replicates_keeps_every_trial() -> None:
    small = load_fields(axes={"n": [4, 8], "noise": [0]})
    assert ids(small) < ids(load_fields(axes={"noise": [0, 1], "n": [2, 4, 6, 8]}, replicates=5))


def test_the_text_of_a_cell_is_its_canonical_json() -> None:
    sweep = load_fields(axes={"planted": [{"kind": "linear"}, {"kind": "relu", "k": 2}], "noise": [0, 0.5]})
    assert all(canonical_json(cell.canonical) == cell.text for cell in sweep.cells)


def test_trials_travel_to_other_processes() -> None:
    for trial in load_fields().trials():
        again = pickle.loads(pickle.dumps(trial))
        assert (again.id, again.cell.canonical) == (trial.id, trial.cell.canonical)


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "n": st.one_of(
        st.lists(st.integers(1, 30), min_size=1, max_size=3, unique=True),
        st.builds(lambda a, k: {"start": a, "stop": a + k, "step": 2}, st.integers(1, 9), st.integers(0, 6)),
        st.just({"times": "d", "values": [1.5, 2]}),
    ),
    "d": st.lists(st.integers(1, 9), min_size=1, max_size=2, unique=True),
    "noise": st.one_of(
        st.lists(st.floats(0, 2), min_size=1, max_size=3, unique=True),
        st.just({"logspace": {"start": 0.01, "stop": 1, "count": 3}}),
    ),
    "data.ensemble": st.lists(st.sampled_from(["gaussian", "haar"]), min_size=1, unique=True),
    "planted": st.just([{"kind": "linear", "direction": "basis"}, {"kind": "relu", "k": 2, "geometry": "opposite"}]),
    "method.solver": st.just(["auto", "ECOS"]),
}
BLOCKS = st.sets(st.sampled_from(sorted(VALUES))).flatmap(
    lambda names: st.fixed_dictionaries({name: VALUES[name] for name in sorted(names)})
)


@settings(max_examples=60)
@given(axes=st.one_of(BLOCKS, st.lists(BLOCKS, min_size=1, max_size=2)), seed=st.integers(0, 2**63 - 1))
def test_a_stored_document_gives_the_same_sweep(axes: Any, seed: int) -> None:
    sweep = load_fields(axes=axes, seed=seed)
    stored = json.loads(json.dumps(sweep.document))
    again = from_document(stored)
    assert [trial.id for trial in again.trials()] == [trial.id for trial in sweep.trials()]
    assert [dict(cell.coordinates) for cell in again.cells] == [dict(cell.coordinates) for cell in sweep.cells]
    assert (again.digest, again.report, again.claims) == (sweep.digest, sweep.report, sweep.claims)


def test_a_document_says_defaults_and_so_equals_a_longer_spelling() -> None:
    longer = load_fields(noise=0.0, patterns={"count": "auto"}, planted={"kind": "linear", "direction": "random"})
    assert load_fields().document == longer.document


def test_replicates_and_seeds_share_no_stream() -> None:
    assert not meeting(cell(), cell(seed=8))
    made = [streams(cell(), replicate) for replicate in range(50)]
    draws = {getattr(one, name).integers(2**63) for one in made for name in NAMES}
    assert len(draws) == 50 * len(NAMES)


@pytest.mark.parametrize(
    ("fields", "changed"),
    [
        ({"noise": 0.5}, set()),
        ({"method": {"kind": "min_norm", "solver": "CLARABEL"}}, set()),
        ({"patterns": {"all_ones": "ignore"}}, set()),
        ({"patterns": {"count": 60}}, {"patterns"}),
        ({"architecture": "relu_norm_skip"}, {"training"}),
        ({"planted": {"kind": "relu"}}, {"planted"}),
        ({"data": {"ensemble": "haar"}}, {"data", "planted", "test"}),
        ({"d": 4}, set(NAMES) - {"noise"}),
        ({"n": 9}, set(NAMES)),
    ],
)
def test_a_stream_changes_only_with_what_it_depends_on(fields: dict[str, Any], changed: set[str]) -> None:
    assert meeting(cell(), cell(**fields)) == set(NAMES) - changed


@pytest.mark.parametrize("fields", [{"kind": "normalized_relu"}, {"signs": "alternating"}])
def test_planted_directions_meet_across_signs_and_activations(fields: dict[str, Any]) -> None:
    planted = {"kind": "relu", "k": 2}
    assert "planted" in meeting(cell(planted=planted), cell(planted={**planted, **fields}))


def test_the_same_replicate_meets_the_same_instance_under_more_noise() -> None:
    quiet, loud = (draw(c.setting, streams(c, 1)) for c in (cell(noise=0.1), cell(noise=0.2)))
    assert np.array_equal(quiet.X, loud.X)
    assert np.array_equal(quiet.signal, loud.signal)
    assert np.allclose(loud.y - loud.signal, 2 * (quiet.y - quiet.signal))


def of_file(folder: Path, matrix: np.ndarray[Any, Any], name: str = "x.npy") -> Path:
    np.save(folder / name, matrix)
    return write(folder / "config.yaml", data={"ensemble": "file", "path": name})


def test_a_data_file_is_known_by_its_content(tmp_path: Path) -> None:
    X = np.arange(24.0).reshape(8, 3)
    first = load(of_file(tmp_path, X))
    assert ids(load(of_file(tmp_path, X, "copy.npy"))) == ids(first)
    assert not ids(load(of_file(tmp_path, X + 1))) & ids(first)


def test_a_stored_document_finds_its_data_file_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = load(of_file(tmp_path, np.ones((8, 3))))
    monkeypatch.chdir(Path(__file__).parent)
    assert ids(from_document(sweep.document)) == ids(sweep)


def test_a_stored_document_refuses_an_edited_data_file(tmp_path: Path) -> None:
    sweep = load(of_file(tmp_path, np.ones((8, 3))))
    document = {**sweep.document, "files": dict.fromkeys(sweep.document["files"], "0" * 64)}
    with pytest.raises(ConfigError, match="the file changed"):
        from_document(document, checked=True).trials()


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1, 2**32, 2**130 + 5])
def test_a_streams_seed_is_the_root_seed_with_a_hash_for_its_key(seed: int) -> None:
    found = _seed(seed, "data", 4, 2, {"ensemble": "gaussian"}, 3)
    text = b'["data",4,2,{"ensemble":"gaussian"},3]'
    expected = np.random.SeedSequence(seed, spawn_key=struct.unpack(">4I", blake2b(text, digest_size=16).digest()))
    assert (found.generate_state(8) == expected.generate_state(8)).all()
    for child, other in zip(found.spawn(2), expected.spawn(2), strict=True):
        assert (child.generate_state(8) == other.generate_state(8)).all()


def test_a_field_that_came_later_is_no_part_of_an_id_at_its_default() -> None:
    method = {"kind": "regularized", "beta": 0.1, "program": "exact"}
    before, said, other = (
        load_fields(method={**method, **more}) for more in ({}, {"confinement": "row_space"}, {"confinement": "none"})
    )
    assert ids(before) == ids(said)
    assert before.digest == said.digest
    assert "confinement" not in before.document["method"]
    assert ids(before).isdisjoint(ids(other))
    assert from_document(other.document).cells[0].method.confinement == "none"  # type: ignore[attr-defined]
    both = load_fields(method=method, axes={"method.confinement": ["row_space", "none"]})
    assert [trial.id for trial in from_document(both.document).trials()] == [trial.id for trial in both.trials()]
    assert [cell.coordinates["method.confinement"] for cell in both.cells] == ["row_space", "none"]
    assert ids(both) == ids(before) | ids(other)
