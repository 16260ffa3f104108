"""The configs that ship, and the commands about them."""

import json
import re
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from recovery.config import Sweep, load, shipped
from recovery.config.claims import BinomialClaim, ValueClaim
from tests.invoke import said

CONFIGS = shipped()


def test_a_shipped_config_is_valid_and_named_by_its_file(shipped_sweeps: list[Sweep]) -> None:
    assert [sweep.name for sweep in shipped_sweeps] == list(CONFIGS)
    assert [sweep.name for sweep in shipped_sweeps if not (sweep.title and sweep.source)] == []


def test_trial_ids_are_those_of_version_0_3(shipped_sweeps: list[Sweep]) -> None:
    """trial_ids.json has, for each config, a hash of its sorted ids. A change of one makes stored rows worthless."""
    pinned = json.loads((Path(__file__).parent / "trial_ids.json").read_text())
    found = {
        sweep.name: blake2b("".join(sorted(sweep.trials().ids)).encode(), digest_size=8) for sweep in shipped_sweeps
    }
    assert {name: digest.hexdigest() for name, digest in found.items()} == pinned


@pytest.mark.parametrize(
    ("name", "trials"), [("p1-fig04", 4000), ("p1-fig05", 3200), ("p1-fig06", 8000), ("p1-fig18", 8000)]
)
def test_the_papers_figures_have_the_papers_size(name: str, trials: int) -> None:
    assert load(name).size == trials


def test_a_claim_of_a_theorem_about_patterns_says_which_it_is_about(shipped_sweeps: list[Sweep]) -> None:
    """The pattern set of recovery or of an isometry condition: `patterns`, or the coordinate `patterns.kind`."""
    programs = ("min_norm", "isometry", "regularized")
    for sweep in shipped_sweeps:
        kinds = {name for name in programs if f"kind: {name}" in CONFIGS[sweep.name].read_text()}
        for claim in sweep.claims if kinds else ():
            theorem = re.search(r"Theorem|Proposition|Corollary", claim.source)
            if theorem and getattr(claim, "of", None) in ("recovered", "holds"):
                named = getattr(claim, "patterns", None) or claim.where.get("patterns.kind")
                assert named, f"{sweep.name}: {claim.source}"


def test_a_claim_about_one_number_rests_on_ten_draws(shipped_sweeps: list[Sweep]) -> None:
    """A trial of the method `arrangement` has draws of its own."""
    few = []
    for sweep in shipped_sweeps:
        claims = [one for one in sweep.claims if isinstance(one, ValueClaim | BinomialClaim)]
        cells = [set(trial.cell.coordinates.items()) for trial in sweep.trials()] if claims else []
        draws = sweep.document.get("method", {}).get("draws", 1)
        for claim in claims:
            wanted = {(key, as_word(value)) for key, value in claim.where.items()}
            if draws * sum(wanted <= cell for cell in cells) < 10:
                few.append((sweep.name, claim.where))
    assert few == []


def as_word(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def test_check_says_what_would_run() -> None:
    result = said("check", "p1-fig06", "--set", "data.ensemble=haar", "--set", "name=b")
    assert "axis     data.ensemble: haar" in result
    assert "axis     n: 10 .. 400 (40 values)" in result
    assert "trials   2000 (5 replicates of each cell)" in result
    assert "results  results/b" in result


def test_check_says_which_noise_the_labels_get() -> None:
    noisy = ["check", "quickstart", "--set", "claims=[]", "--set", "report.value=test_distance", "--set", "noise=0.5"]
    assert "noise    each label gets N(0, noise^2 / n), and with" in said(*noisy)
    assert "noise    each label gets N(0, noise^2)\n" in said(*noisy, "--set", "noise_scale=unit")
    assert "noise" not in said("check", "quickstart")


def test_configs_lists_every_shipped_config(monkeypatch: pytest.MonkeyPatch, shipped_sweeps: list[Sweep]) -> None:
    monkeypatch.setattr("recovery.config.load_shipped", lambda: shipped_sweeps)
    assert [line.split()[0] for line in said("configs").splitlines()] == list(CONFIGS)
    assert [one["name"] for one in json.loads(said("configs", "--json"))] == list(CONFIGS)
