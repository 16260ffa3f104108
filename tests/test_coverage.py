"""The coverage pages name what exists, and their verdicts are those of the gallery."""

from dataclasses import replace

import pytest

from docs.measured import gallery
from docs.statements import PAPERS, Entry, entries, faults
from recovery.config import Sweep
from recovery.config.claims import Statement


@pytest.mark.parametrize("paper", PAPERS)
def test_entries_agree_with_the_gallery(paper: str) -> None:
    assert list(faults(entries(paper), gallery())) == []


@pytest.mark.parametrize("paper", PAPERS)
def test_each_claim_of_the_paper_belongs_to_an_entry(paper: str, shipped_sweeps: list[Sweep]) -> None:
    named = {claim for entry in entries(paper) for claim in entry.claims}
    stated = {
        (sweep.name, number)
        for sweep in shipped_sweeps
        for number, claim in enumerate(sweep.claims, 1)
        if sweep.name.startswith(f"{paper.lower()}-") and not claim.source.startswith("ours")
        if not isinstance(claim, Statement)  # a statement in words is not judged
    }
    assert sorted(stated - named) == []


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"verdict": "supported"}, "supported, but its claims are contradicted"),
        ({"verdict": "false"}, "found verdict 'false'"),
        ({"basis": "hope"}, "found basis 'hope'"),
        ({"by": ["p1-theorem5 9"], "verdict": "supported"}, "there is no p1-theorem5 9"),
        ({"by": ["p1-no-such"]}, "there is no p1-no-such"),
        ({"by": ["tests/test_layers.py::test_nothing"]}, "there is no tests/test_layers.py::test_nothing"),
        ({"by": [], "verdict": "out of scope"}, "out of scope without a note"),
        ({"by": ["p1-theorem5 1", "p1-theorem5 1"]}, "counted 2 times"),
    ],
)
def test_a_wrong_entry_is_noticed(change: dict[str, str | list[str]], found: str) -> None:
    right = Entry("Theorem 5", 12, "says", ["p1-theorem5 1"], "contradicted", "counterexample")
    assert list(faults([right], gallery())) == []
    assert any(found in fault for fault in faults([replace(right, **change)], gallery()))
