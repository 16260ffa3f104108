"""The reference's tables of parameters are those of the functions and classes that they are about."""

import inspect
import re
from typing import Any

import pytest

import recovery
from tests.test_docs import DOCS

ENTRY = re.compile(r"^## `recovery\.(\w+)`\n(.*?)(?=^## |\Z)", flags=re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| `(\w+)` \| (.+?) \| (?:`(.+?)`|none: must be given) \|$", flags=re.MULTILINE)
ENTRIES = {
    name: ROW.findall(text)
    for page in ("python", "instances")
    for name, text in ENTRY.findall((DOCS / "reference" / f"{page}.md").read_text())
}
OF_OTHERS = {"draw", "Instance", "select", "RecoverError"}
"""Their parameters are documented in the docstring only: they are few, or made by `draw`."""
ELSEWHERE = {
    *("ARCHITECTURES", "ENSEMBLES", "METHODS", "PLANTED"),
    *(
        "Ensemble",
        "Method",
        "Neurons",
        "Planted",
        "PlantedNetwork",
        "ReluNetwork",
        "Solver",
        "Target",
        "Sweep",
        "TrialCertificate",
    ),
    "OptimalNetwork",
}
"""Tables, which have pages of their own, and types, which the tutorials show."""


def test_every_public_name_has_its_place() -> None:
    assert ENTRIES.keys() | ELSEWHERE == set(recovery.__all__)
    assert not ENTRIES.keys() & ELSEWHERE


@pytest.mark.parametrize("name", sorted(ENTRIES.keys() - OF_OTHERS))
def test_a_table_has_the_parameters_and_their_defaults(name: str) -> None:
    signature = inspect.signature(getattr(recovery, name))
    assert [(row[0], row[2]) for row in ENTRIES[name]] == [
        (one.name, "" if one.default is one.empty else shown(one.default)) for one in signature.parameters.values()
    ]


def shown(default: Any) -> str:
    """A default as a table has it: sets in order, values by the defaults of their own left out."""
    if isinstance(default, frozenset):
        return f"frozenset({{{', '.join(map(repr, sorted(default)))}}})"
    if default == type(default)():
        return f"{type(default).__name__}()" if hasattr(default, "__dataclass_fields__") else repr(default)
    return repr(default)
