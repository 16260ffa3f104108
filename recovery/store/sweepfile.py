"""sweep.json: the description of a results folder's sweep, with a checksum. Every part has a copy in its metadata."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recovery.errors import ParameterError
from recovery.methods.columns import LARGEST_INTEGER, columns_from
from recovery.store.files import Damaged, sealed, unsealed
from recovery.store.parts import list_parts, makers, read_part
from recovery.text import FOLDER_NAME, is_plain
from recovery.user import leaves

SWEEP_FILE = "sweep.json"
FORMAT = 2
DESCRIBED = {"name": str, "digest": str, "trials": int, "cells": int, "config": dict, "columns": dict}
FIELDS = {**DESCRIBED, "provenance": dict}
OPTIONAL_IN_CONFIG = {"folder": str, "files": dict}
"""Fields of `config` if it names files or user code."""

Content = dict[str, Any]
"""format, name, digest (of the config), trials, cells, config, columns, provenance."""


def encode(content: Mapping[str, Any]) -> bytes:
    """Return the bytes of sweep.json with this content and its checksum."""
    return sealed({**content, "format": FORMAT}, 2)


def decode(data: bytes) -> Content:
    """Return the content in the bytes of sweep.json. Raises ValueError with what is wrong with them."""
    content = unsealed(data)
    if content.get("format") != FORMAT:
        raise ValueError("has a format that this version of the program cannot read")
    check(content)
    return content


def check(content: Mapping[str, Any]) -> None:
    """Raise ValueError if a field of the content of sweep.json is missing or invalid."""
    for field, kind in FIELDS.items():
        if not isinstance(content.get(field), kind):
            raise ValueError(f"its field {field!r} is missing or invalid")
    for field, kind in OPTIONAL_IN_CONFIG.items():
        if not isinstance(content["config"].get(field, kind()), kind):
            raise ValueError(f"its field {field!r} is invalid")
    for name in (content["name"], content["config"].get("name")):
        if not isinstance(name, str) or not re.fullmatch(FOLDER_NAME, name):
            raise ValueError(f"{name!a:.60} is not a valid name of a sweep")
    if min(content["trials"], content["cells"]) < 0:
        raise ValueError("its number of trials or cells is negative")
    for leaf in leaves(content):
        if isinstance(leaf, str) and not is_plain(leaf):
            raise ValueError(f"contains control characters: {leaf!a:.60}")
        if isinstance(leaf, int) and abs(leaf) > LARGEST_INTEGER:
            raise ValueError("has an integer of more than 64 bits")
    try:
        columns_from(content["columns"])
    except (KeyError, TypeError, AttributeError, ParameterError) as error:
        raise ValueError("its columns are invalid") from error


def rebuilt(trials: Path) -> Content | None:
    """Return the content in the metadata of the latest part in `trials`, or None if no part has any."""
    for path in sorted(list_parts(trials), key=lambda path: path.stat().st_mtime, reverse=True):
        part = read_part(path, columns=["trial_id"])
        if isinstance(part, Damaged):
            continue
        try:
            made = makers(part.schema)[-1]
            known = {field: made.pop(field) for field in DESCRIBED}
            content = {"format": FORMAT, **known, "provenance": made}
            check(content)
        except (ValueError, LookupError, AttributeError):
            continue
        return content
    return None
