"""Every public name has its place in the reference, and each entry an example; test_docs compares the tables."""

import re

import recovery
from tests.test_docs import DOCS

ENTRY = re.compile(r"^## `recovery\.(\w+)`\n(.*?)(?=^## |\Z)", flags=re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^```python\n(?:.*\n)+?```|an example\.$", flags=re.MULTILINE)
"""Python that test_docs runs, or a link to the page that has it."""
TEXTS = {
    name: text
    for page in ("python", "instances", "programs")
    for name, text in ENTRY.findall((DOCS / "reference" / f"{page}.md").read_text())
}
ELSEWHERE = {
    *("ARCHITECTURES", "ENSEMBLES", "METHODS", "PLANTED"),
    *("Ensemble", "Method", "Neurons", "Planted", "PlantedNetwork", "ReluNetwork", "Target", "Sweep"),
    *("TrialCertificate", "OptimalNetwork"),
}
"""Tables, which have pages of their own, and types: what functions return, and what the tutorials show."""


def test_every_public_name_has_its_place() -> None:
    assert TEXTS.keys() | ELSEWHERE == set(recovery.__all__)
    assert not TEXTS.keys() & ELSEWHERE


def test_each_entry_has_an_example() -> None:
    assert [name for name, text in TEXTS.items() if not EXAMPLE.search(text)] == []
