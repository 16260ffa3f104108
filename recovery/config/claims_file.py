"""A file of claims about stored rows: YAML with the key `claims` alone, whose claims are written as in a config."""

from collections.abc import Sequence
from pathlib import Path

from recovery.config.claims import Claim, build_claims, claim_faults
from recovery.config.header import curve_names
from recovery.config.reader import read
from recovery.config.tree import ConfigError, Fault, Invalid
from recovery.methods.columns import Columns


def read_claims(path: Path, axes: Sequence[str], columns: Columns) -> tuple[Claim, ...]:
    """Read the claims of a file about rows with these axes and columns. Raises `ConfigError` with every problem."""
    tree, problems = read(path)
    faults = [Fault((key,), "unknown key; allowed: claims", key=True) for key in tree.value if key != "claims"]
    if not tree.value.get("claims"):
        faults.append(Fault((), "found no claims; write `claims:` and a list such as [{kind: threshold, ...}]"))
    try:
        claims = build_claims(tree.value.get("claims", []))
        faults += claim_faults(claims, axes, columns, curve_names)
    except Invalid as error:
        faults += [Fault(("claims", *fault.path), fault.text, fault.key) for fault in error.faults]
    problems += tree.problems((), faults)
    if problems:
        raise ConfigError(problems)
    return claims
