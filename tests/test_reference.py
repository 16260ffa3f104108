"""The reference's tables of parameters are those of the functions and classes that they are about."""

import inspect
import re
from typing import Any

import pytest

import recovery
from tests.test_docs import DOCS

ENTRY = re.compile(r"^## `recovery\.(\w+)`\n(.*?)(?=^## |\Z)", flags=re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^```python\n(?:.*\n)+?```|an example\.$", flags=re.MULTILINE)
"""Python that test_docs runs, or a link to the page that has it."""
ROW = re.compile(r"^\| `(\w+)` \| (.+?) \| (?:`(.+?)`|none: must be given) \|$", flags=re.MULTILINE)
TEXTS = {
    name: text
    for page in ("python", "instances", "programs")
    for name, text in ENTRY.findall((DOCS / "reference" / f"{page}.md").read_text())
}
ENTRIES = {name: ROW.findall(text) for name, text in TEXTS.items()}
RESULTS = {"Instance", "RecoverError"}
"""Their members are listed in place of parameters."""
ELSEWHERE = {
    *("ARCHITECTURES", "ENSEMBLES", "METHODS", "PLANTED"),
    *(
        "Ensemble",
        "Method",
        "Neurons",
        "Planted",
        "PlantedNetwork",
        "ReluNetwork",
        "Target",
        "Sweep",
    ),
    *("TrialCertificate", "OptimalNetwork"),
}
"""Tables, which have pages of their own, and types: what functions return, and what the tutorials show."""


def test_every_public_name_has_its_place() -> None:
    assert ENTRIES.keys() | ELSEWHERE == set(recovery.__all__)
    assert not ENTRIES.keys() & ELSEWHERE


def test_each_entry_has_an_example() -> None:
    assert [name for name, text in TEXTS.items() if not EXAMPLE.search(text)] == []


@pytest.mark.parametrize("name", sorted(ENTRIES.keys() - RESULTS))
def test_a_table_has_the_parameters_and_their_defaults(name: str) -> None:
    signature = inspect.signature(getattr(recovery, name))
    assert [(row[0], row[2]) for row in ENTRIES[name]] == [
        (one.name, "" if one.default is one.empty else shown(one.default)) for one in signature.parameters.values()
    ]


def shown(default: Any) -> str:
    """A default as a table has it: sets in order, values by the defaults of their own left out."""
    if isinstance(default, frozenset):
        return f"frozenset({{{', '.join(map(repr, sorted(default)))}}})"
    if isinstance(default, recovery.Architecture):
        return repr(default.name)
    if default == type(default)():
        return f"{type(default).__name__}()" if hasattr(default, "__dataclass_fields__") else repr(default)
    return repr(default)
