"""A module of a user's with one method, written beside a config."""

from pathlib import Path
from textwrap import dedent, indent

MODULE = """\
import os, sys, time
from dataclasses import dataclass

import numpy as np

from recovery.methods.columns import select
from recovery.methods.method import METHODS, Measurement

{head}

@dataclass(frozen=True)
class {name}:
{members}
    columns = select({columns})

    def __call__(self, {arguments}):
{call}
"""
COST = "def cost(self, n, d):\n    return 1.0"


def write_method(
    file: Path,
    call: str,
    *columns: str,
    name: str = "Own",
    head: str = "",
    members: str = "",
    cost: str = COST,
    arguments: str = "instance, architecture",
) -> str:
    """Write the module and return its method as `kind` in a config. call: statements that end in `return`.

    members: lines of the class, such as its fields; cost: its other methods; arguments: of the call.
    """
    parts = {
        "arguments": arguments,
        "head": dedent(head),
        "name": name,
        "columns": ", ".join(map(repr, columns or ("recovered",))),
    }
    parts["members"] = indent(f"{dedent(members)}\n\n{dedent(cost)}\n", "    ")
    file.write_text(MODULE.format(call=indent(dedent(call), "        "), **parts))
    return f"{file.stem}:{name}"
