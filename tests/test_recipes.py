"""The recipes of CONTRIBUTING: one file adds a thing, a sweep runs with it, and brute force agrees."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import recovery
from recovery.config import ConfigError, load
from recovery.config.claims import CLAIMS
from recovery.instances.draw import Setting, draw
from recovery.instances.patterns import Patterns
from recovery.instances.planted import Linear, Relu
from recovery.methods.convex import PlantedProgram
from recovery.methods.isometry import Isometry
from recovery.methods.min_norm import MinNorm, Regularized
from recovery.programs.architecture import ARCHITECTURES
from recovery.programs.certificate import certify
from recovery.report.claims import analysis
from recovery.solvers.conic import solve_conic

from . import own_things
from .config.sweeps import BASE
from .suites import first

OWN = {**BASE, "name": "own", "seed": 5, "n": 24, "d": 4}
TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shutil.copy(Path(own_things.__file__), tmp_path / "own_things.py")
    before = sys.path[:]
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.path[:] = before
    sys.modules.pop("own_things", None)


def sweep(folder, **fields):
    (folder / "config.yaml").write_text(json.dumps({**OWN, **fields}))
    return recovery.run(folder / "config.yaml", folder / "results", jobs=1, quiet=True).frame


@pytest.mark.parametrize(
    "fields",
    [
        {"data": {"ensemble": "own_things:spiked", "scale": 5}},
        {"architecture": "own_things:LEAKY_SKIP"},
        {"architecture": "own_things:BIASED", "planted": {"kind": "relu"}},
        {"architecture": "own_things:BIASED", "planted": {"kind": "relu"}, "method": {"kind": "isometry"}},
        {"architecture": "own_things:LEAKY", "planted": {"kind": "own_things:LeakyNeuron"}},
        {"architecture": "own_things:LEAKY", "planted": {"kind": "own_things:LeakyNeuron", "k": 2}, "noise": 0.1},
        {"method": {"kind": "min_norm", "program": "exact"}, "architecture": "own_things:LEAKY_SKIP"},
        {"method": {"kind": "own_things:Angle"}, "report": {"value": "angle"}},
        {"method": {"kind": "min_norm", "solver": "own_things:MINE"}},
    ],
)
def test_one_file_is_enough_for_a_sweep(folder, fields):
    rows = sweep(folder, **fields)
    assert list(rows["status"]) == ["ok", "ok"]
    for component in ("architecture", "planted"):
        if component in fields:
            named = fields[component] if component == "architecture" else fields[component]["kind"]
            assert set(rows[component]) == {named}


def test_an_own_column_is_stored_shown_and_documented(folder):
    sweep(folder, method={"kind": "own_things:Angle"})
    results = recovery.read(folder / "results")
    column = results.grid.columns["angle"]
    assert (column.kind, column.unit) == (float, "degrees")
    assert results.frame["angle"].max() < 1e-6
    assert len(results.cells("angle")) == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"architecture": "own_things:NOT_ONE"}, "is not a value of recovery.programs.architecture.Architecture"),
        ({"architecture": "own_things:TWISTED"}, "features(X) must be X and then further columns"),
        ({"architecture": "own_things:LEAKI"}, "did you mean 'LEAKY'"),
        (
            {"architecture": "own_things:ONLY_GATED", "method": {"kind": "min_norm", "program": "exact"}},
            "cannot be solved as an exact program",
        ),
        (
            {"architecture": "own_things:BIASED", "planted": {"kind": "relu"}, "method": {"kind": "train"}},
            "cannot be trained",
        ),
        ({"architecture": "own_things:LEAKY", "planted": {"kind": "relu"}}, "it has no group for them"),
        ({"architecture": "own_things:BIASED"}, "has no skip connection"),
        ({"planted": {"kind": "own_things:LEAKY"}}, "is not a frozen dataclass with `form`"),
        ({"method": {"kind": "min_norm", "solver": "own_things:LEAKY"}}, "is not a value of recovery.Solver"),
        (
            {"method": {"kind": "min_norm", "solver": "own_things:MINE", "program": "exact"}},
            "does not take exact programs",
        ),
        ({"method": {"kind": "min_norm", "solver": "clarabell"}}, "allowed: auto, newton"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_runs(folder, fields, message):
    (folder / "config.yaml").write_text(json.dumps({**OWN, **fields}))
    with pytest.raises(ConfigError) as caught:
        load(folder / "config.yaml")
    assert message in str(caught.value)
    assert not (folder / "results").exists()


@pytest.mark.parametrize("by", first(1, [1e-6, 0.1, 1e-3]))
@pytest.mark.parametrize("program", ["gated", "exact"])
@pytest.mark.parametrize("solver", ["auto", "CLARABEL"])
@pytest.mark.parametrize("n", first(1, [24, 40]))
def test_labels_that_the_planted_weights_do_not_give_are_never_recovered(by, program, solver, n):
    for noise in (0.0, 0.1):
        setting = Setting(n, 4, planted=own_things.Shifted(by), noise=noise)
        instance = draw(setting, np.random.default_rng(n))
        row = MinNorm(program=program, solver=solver)(instance, ARCHITECTURES["relu_skip"])
        assert not row.recovered
        assert row.verdict != "recovered"


def test_a_method_called_twice_on_one_instance_measures_the_same():
    setting = Setting(12, 3, planted=Relu(), patterns=Patterns(kind="searched"))
    instance = draw(setting, np.random.default_rng(3))
    methods = [recovery.METHODS["isometry"](), MinNorm(), MinNorm(program="exact"), Regularized(beta=0.1)]
    methods += [recovery.METHODS["train"](epochs=20, compare="verdict"), recovery.METHODS["limit"](degrees=40.0)]
    methods += [recovery.METHODS["arrangement"](draws=5)]
    for method in methods:
        first, second = (method(instance, ARCHITECTURES["relu"]) for _ in range(2))
        assert dict(first) == dict(second)


CASES = [
    (own_things.BIASED, Relu()),
    (own_things.LEAKY, own_things.LeakyNeuron()),
    (own_things.LEAKY_SKIP, Linear()),
    (own_things.LEAKY_SKIP, own_things.LeakyNeuron()),
]


@pytest.mark.parametrize(("architecture", "planted"), CASES)
@pytest.mark.parametrize("kind", ["gated", "exact"])
@pytest.mark.parametrize("seeds", first(1, [range(4), range(4, 13)]))
def test_own_architectures_agree_with_a_conic_solver_on_their_formed_operators(architecture, planted, kind, seeds):
    for seed in seeds:
        n, d = [(8, 3), (14, 3), (24, 3), (18, 5)][seed % 4]
        setting = Setting(n, d, planted=planted, patterns=Patterns(count=12))
        instance = draw(setting, np.random.default_rng(seed), architecture)
        problem = PlantedProgram.of(instance, architecture, kind)
        reference = solve_conic(problem.program, "CLARABEL", options=TIGHT)
        optimum, wanted = certify(problem.program, reference).objective, problem.program.norms(problem.planted).sum()
        deviation = np.abs(reference.W - problem.planted).max()
        row = MinNorm(program=kind)(instance, architecture)
        assert row.verdict != "undecided"
        if row.recovered:
            assert deviation < 1e-3
            assert optimum > wanted * (1 - 1e-7)
        else:
            assert optimum < wanted * (1 + 1e-6)
            assert (optimum < wanted * (1 - 1e-9)) == (row.verdict == "not_optimal")
        relaxed = Regularized(beta=0.05, program=kind)(instance, architecture)
        training = PlantedProgram.of(instance, architecture, kind, beta=0.05).program
        theirs = certify(training, solve_conic(training, "CLARABEL", options=TIGHT))
        assert relaxed.objective == pytest.approx(theirs.objective, rel=1e-6)


@pytest.mark.parametrize(("architecture", "planted"), CASES)
def test_the_isometry_value_of_an_own_architecture_is_that_of_its_own_operators(architecture, planted):
    for seed in range(10):
        setting = Setting(24, 3, planted=planted, patterns=Patterns(count=12))
        instance = draw(setting, np.random.default_rng(seed), architecture)
        problem = PlantedProgram.of(instance, architecture, "gated")
        groups, W = problem.program.groups, problem.planted
        support = np.flatnonzero(W.any(axis=1))
        A = np.hstack([groups.block(g) for g in support])
        lam = np.linalg.pinv(A.T) @ np.concatenate([W[g] / np.linalg.norm(W[g]) for g in support])
        others = np.setdiff1d(np.arange(groups.count), support)
        brute = max(float(np.linalg.norm(groups.block(g).T @ lam)) for g in others)
        assert Isometry()(instance, architecture).isometry_value == pytest.approx(brute, rel=1e-9)


def test_an_own_kind_of_claim_is_read_checked_and_judged(folder, monkeypatch):
    monkeypatch.setitem(CLAIMS, "mean", own_things.MeanClaim)
    monkeypatch.setitem(analysis.KINDS, own_things.MeanClaim, (own_things.state_mean, own_things.judge_mean))
    told = [{"kind": "mean", "of": "recovered", "value": value, "tolerance": 0.1} for value in (1, 0)]
    rows = sweep(folder, claims=told)
    assert rows["recovered"].mean() == 1  # n = 6 d
    found = recovery.read(folder / "results").claims()
    assert list(found["verdict"]) == ["supported", "contradicted"]
    assert found["stated"][0] == "the mean of recovered is 1 within 0.1"
    with pytest.raises(ConfigError, match="tolerance"):
        load({**OWN, "claims": [{"kind": "mean", "of": "recovered", "value": 1}]})
    with pytest.raises(ConfigError, match="nothing_known"):
        load({**OWN, "claims": [{**told[0], "of": "nothing_known"}]})
