"""A user's own ensemble and method, named in YAML."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from recovery.config import ConfigError, Sweep, from_document, load
from recovery.errors import ParameterError
from recovery.runner.trial import draw_instance, measure
from recovery.user import fingerprint

from .sweeps import ids, load_fields, write

MODULE = '''
from dataclasses import dataclass
from typing import Annotated, ClassVar

import annotated_types
from recovery.methods.columns import Column
from recovery.programs.architecture import Architecture
from recovery.solvers.table import Solver

def spiked(rng, n, d, scale=1.0):
    return scale * rng.standard_normal((n, d))

def flat(rng, n, d):
    return rng.standard_normal(n * d)

def holed(rng, n, d):
    X = rng.standard_normal((n, d))
    X[1, 0] = float("nan")
    return X

MINE = Solver({"gated": lambda program: None})

@dataclass(frozen=True)
class Guess:
    """A coin."""

    odds: Annotated[float, annotated_types.Ge(0)] = 1.0
    columns: ClassVar = {"angle": Column(float, "a guess", "degrees")}

    def __call__(self, instance, architecture):
        raise NotImplementedError

    def cost(self, n, d):
        return 1.0

class Base:
    def __call__(self, instance, architecture):
        return {}

    def cost(self, n, d):
        return 1.0

@dataclass(frozen=True)
class Silent(Base):
    pass

class Plain:
    pass

class Featureless(Architecture):
    def features(self, X):
        return None

FEATURELESS = Featureless("featureless")

@dataclass(frozen=True)
class Vague(Guess):
    law: "Nowhere" = None

@dataclass(frozen=True)
class Bursting(Guess):
    def __post_init__(self):
        raise RuntimeError("no value will do")

@dataclass(frozen=True)
class Several:
    neurons: int
    form: ClassVar = "other"
    slope: ClassVar = 0.0

    def draw(self, rng, X):
        raise NotImplementedError

@dataclass(frozen=True)
class Formless:
    form: str
    neurons: ClassVar = 1
    slope: ClassVar = 0.0
    draw = Several.draw

class Drawn:
    form, slope, draw = "linear", 0.0, Several.draw

@dataclass(frozen=True)
class Uncounted(Drawn):
    pass

class Undecorated(Drawn):
    neurons = 1

@dataclass
class Thawed(Undecorated):
    pass

@dataclass(frozen=True)
class Untyped(Drawn):
    k = neurons = 1

@dataclass(frozen=True)
class Uncalled:
    columns = Guess.columns

@dataclass(frozen=True)
class Choosy(Guess):
    def cost(self, n, d):
        if n in (5, 6):
            raise ValueError(f"n is {n}, d is {d}")
        if n == 7:
            raise StopIteration
        if n == 8:
            raise SystemExit("n is 8")
        return {9: -9.0, 10: float("nan"), 11: "much", 12: True, 13: "1.5"}.get(n, n + d / 100)

@dataclass(frozen=True)
class Weighted(Guess):
    weights: list[float] = ()
    copy: int = 1

    def __call__(self, instance, architecture):
        return {"angle": sum(self.weights)}
'''


RAISED = (
    "ValueError: n is 5, d is 3",
    "ValueError: n is 6, d is 3",
    "StopIteration: ",
    "SystemExit: n is 8",
    "ValueError: could not convert string to float: 'much'",
)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    before = sys.path[:]
    (tmp_path / "own_things.py").write_text(MODULE)
    (tmp_path / "broken_things.py").write_text("raise RuntimeError('not today')")
    yield tmp_path
    sys.path[:] = before
    sys.modules.pop("own_things", None)


def own(folder: Path, **fields: Any) -> Sweep:
    return load(write(folder / "config.yaml", **fields))


def test_an_ensemble_beside_the_config_is_drawn_with_its_parameters(folder: Path) -> None:
    sweep = own(folder, data={"ensemble": "own_things:spiked"}, axes={"data.scale": [1, 100]})
    small, large = (cell.imported.setting.ensemble.draw(np.random.default_rng(0), 4, 2) for cell in sweep.cells)
    assert np.allclose(large, 100 * small)
    assert [cell.coordinates["ensemble"] for cell in sweep.cells] == ["own_things:spiked"] * 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("flat", r"ensemble .*flat returned an array of shape \(20,\); expected \(\d+, 2\)"),
        ("holed", "ensemble .*holed returned 1 NaN or infinite of 20 numbers"),
    ],
)
def test_what_an_ensemble_must_not_return_is_a_row_that_says_so(folder: Path, name: str, message: str) -> None:
    (trial, *_) = own(folder, n=10, d=2, data={"ensemble": f"own_things:{name}"}).trials()
    row = measure(trial)
    assert (row["status"], row["error_type"]) == ("failed", "DataError")
    assert re.search(message, row["error_message"])


@pytest.mark.parametrize(
    "fields",
    [{"data": {"ensemble": "own_things:spiked"}}, {"method": {"kind": "min_norm", "solver": "own_things:MINE"}}],
)
def test_a_stored_document_finds_the_module_again(folder: Path, fields: dict[str, Any]) -> None:
    sweep = own(folder, **fields)
    sys.path.remove(str(folder))
    del sys.modules["own_things"]
    assert ids(from_document(sweep.document, checked=True)) == ids(sweep)


def test_a_method_beside_the_config_is_validated_like_ours(folder: Path) -> None:
    method = own(folder, method={"kind": "own_things:Guess", "odds": 2}).cells[0].imported.method
    assert method.odds == 2.0  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match=r"method.odds: found -1; allowed: a number >= 0"):
        own(folder, method={"kind": "own_things:Guess", "odds": -1})


def test_what_a_planted_model_must_have_may_be_a_field(folder: Path) -> None:
    planted = {"kind": "own_things:Several", "neurons": 3}
    sweep = own(folder, planted=planted, method={"kind": "own_things:Guess"})
    assert sweep.cells[0].imported.setting.planted.neurons == 3


def test_each_cell_has_the_cost_that_it_was_told(folder: Path) -> None:
    axes = {"n": [20, 12, 40, 13, 30], "d": [3, 1, 2]}
    cells = own(folder, method={"kind": "own_things:Choosy"}, axes=axes).cells
    told = {12: 1.0, 13: 1.5}
    assert [cell.cost for cell in cells] == [told.get(n, n + d / 100) for n in axes["n"] for d in axes["d"]]


def test_every_cost_that_is_none_is_a_problem(folder: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        own(folder, method={"kind": "own_things:Choosy"}, axes={"n": [20, *range(5, 12), 30]})
    refused = [f"its cost or check raises {error}" for error in RAISED]
    wrong = [f"its cost is {cost}; a cost is a number of seconds, at least 0" for cost in (-9.0, "nan")]
    assert sorted(problem.text for problem in caught.value.problems) == sorted([*refused, *wrong])


def test_fields_of_a_method_may_be_lists(folder: Path) -> None:
    sweep = own(folder, method={"kind": "own_things:Weighted", "weights": [1, 2.5]})
    assert list(sweep.columns) == ["angle"]
    assert measure(sweep.trials()[0])["angle"] == 3.5


def test_parameters_are_axes_by_their_paths(folder: Path) -> None:
    kinds = {"planted": {"kind": "own_things:Several", "neurons": 1}, "data": {"ensemble": "own_things:spiked"}}
    axes = {"planted.neurons": [1, 3], "method.odds": [0.5, 2], "data.scale": [1, 4]}
    cell = own(folder, **kinds, method={"kind": "own_things:Guess"}, axes=axes).cells[-1]
    assert (cell.imported.setting.planted.neurons, cell.imported.method.odds) == (3, 2.0)  # type: ignore[attr-defined]
    assert cell.canonical["data"]["scale"] == 4
    with pytest.raises(ConfigError, match=r"axes.odds: is no field that can be an axis"):
        own(folder, method={"kind": "own_things:Guess"}, axes={"odds": [1, 2]})
    axes = {"rho": [0.1, 0.125], "planted.neurons": "rho * n"}
    with pytest.raises(ConfigError, match=r"axes.planted.neurons: found 2.5; allowed: an integer"):
        own(folder, **kinds, method={"kind": "own_things:Guess"}, n=20, axes=axes)


def test_the_identity_of_user_code_is_what_the_config_says_of_it(folder: Path) -> None:
    """The defaults of a class are no part of it, so that a stored sweep is composed without its code."""
    plain, said = (own(folder, method={"kind": "own_things:Guess", **more}) for more in ({}, {"odds": 1.0}))
    assert plain.cells[0].canonical["method"] == {"kind": "own_things:Guess"}
    assert not ids(plain) & ids(said)
    sys.modules.pop("own_things")
    (folder / "own_things.py").unlink()
    assert ids(from_document(plain.document)) == ids(plain)


def test_an_architecture_is_needed_only_by_the_programs_methods(folder: Path) -> None:
    sweep = own(folder, architecture=None, method={"kind": "own_things:Guess"})
    assert sweep.cells[0].coordinates["architecture"] == "none"
    assert ids(from_document(sweep.document)) == ids(sweep)
    for method in ({"method": {"kind": "min_norm"}}, {"method": None, "axes": {"method": [{"kind": "min_norm"}]}}):
        with pytest.raises(ConfigError, match="architecture: is missing"):
            own(folder, architecture=None, **method)


def test_a_module_whose_file_is_gone_since_its_import_still_serves(folder: Path) -> None:
    (cell,) = own(folder, method={"kind": "own_things:Weighted"}).cells
    before = fingerprint(cell.own)
    (folder / "own_things.py").unlink()
    assert own(folder, method={"kind": "own_things:Weighted"}).cells[0].id == cell.id
    assert fingerprint(cell.own) != before


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"data": {"ensemble": "no_such:f"}}, "no module 'no_such'; put no_such.py beside the config"),
        ({"data": {"ensemble": "broken_things:f"}}, "'broken_things' cannot be imported: RuntimeError: not today"),
        ({"data": {"ensemble": "own_things:spikd"}}, "has no 'spikd'; did you mean 'spiked'?"),
        ({"data": {"ensemble": "own_things:spiked", "size": 1}}, "unexpected keyword argument 'size'"),
        ({"data": {"ensemble": "own_things:annotated_types"}}, "is no function"),
        ({"data": {"ensemble": "own_things:Plain"}}, "is a class; an ensemble is a function"),
        ({"method": {"kind": "own_things:Plain"}}, "is not a frozen dataclass"),
        ({"data": {"ensemble": "builtins:max"}}, "no signature found"),
        ({"architecture": "own_things:FEATURELESS"}, "cannot serve: AttributeError"),
        ({"planted": {"kind": "own_things:Formless"}}, "Formless.form is None; allowed for the class"),
        ({"planted": {"kind": "own_things:Uncounted"}}, "it lacks `neurons`"),
        ({"planted": {"kind": "own_things:Undecorated"}}, "it lacks `@dataclass(frozen=True)` above it"),
        ({"planted": {"kind": "own_things:Thawed"}}, "; write `@dataclass(frozen=True)` above it"),
        ({"planted": {"kind": "own_things:Untyped", "k": 2}}, "because it has no type; write `k: int = ...`"),
        ({"method": {"kind": "own_things:Uncalled"}}, "it lacks `__call__(instance, architecture)`"),
        ({"method": {"kind": "own_things:Vague"}}, "annotated so): NameError: name 'Nowhere' is not defined"),
        ({"method": {"kind": "own_things:Bursting"}}, "annotated so): RuntimeError: no value will do"),
        ({"method": {"kind": "own_things:Silent"}}, "Silent declares no columns; give the class"),
        ({"method": {"kind": "own_things:Guess"}, "report": {"value": "angel"}}, "did you mean 'angle'?"),
        ({"method": {"kind": "own_things:Guess", "od": 1}}, "unknown key; allowed: odds; did you mean 'odds'?"),
    ],
)
def test_what_cannot_serve_is_refused(folder: Path, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        own(folder, **fields)
    assert message in str(caught.value)


@pytest.mark.parametrize("folders", [None, []])
def test_the_hash_follows_imports_of_neighbours_and_of_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folders: list[Path] | None
) -> None:
    files = {
        "hashed.py": "import math\nfrom first import (\n    one,\n)\nfrom inner.deep import f; import \\\n  last\n",
        "first.py": "from second import *\none = 1\n",
        "second.py": "",
        "inner/deep.py": "from . import near\nfrom ..third import x\nf = 1\n",
        "inner/near.py": "def broken(:\n",
        "third.py": "",
        "last.py": "import hashed\n",
        "other.py": "",
        "math/data.csv": "",
        "first/data.py": "",
        "unused.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "inner/deep").symlink_to(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "hashed", SimpleNamespace(__file__=str(tmp_path / "hashed.py")))
    before, changes = fingerprint(["hashed:f"], folders), set()
    for name, text in files.items():
        (tmp_path / name).write_text(text + "# changed\n")
        if fingerprint(["hashed:f"], folders) != before:
            changes.add(name)
        (tmp_path / name).write_text(text)
    assert changes == {"hashed.py", "first.py", "second.py", "inner/deep.py", "inner/near.py", "third.py", "last.py"}
    (tmp_path / "hashed.py").unlink()
    if folders is not None:
        with pytest.raises(ParameterError, match="no file of the module 'hashed'"):
            fingerprint(["hashed:f"], folders)


@pytest.mark.parametrize(
    ("name", "hint"),
    [("X_test", "test"), ("y_test", "test_labels"), ("pattern", "patterns"), ("rgn", "rng"), ("zzz", "")],
)
def test_a_missing_attribute_of_an_instance_is_guessed(name: str, hint: str) -> None:
    instance = draw_instance(load_fields(n=6, d=2).trials()[0])
    assert instance.coordinates["n"] == 6
    with pytest.raises(AttributeError) as raised:
        getattr(instance, name)
    assert str(raised.value) == f"an instance has no {name!r}" + (f"; did you mean {hint!r}?" if hint else "")
