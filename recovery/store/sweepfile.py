"""sweep.json: what a results folder holds rows of, with a checksum; where it is damaged, the parts still say it."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from recovery.errors import ParameterError
from recovery.store.parts import PROVENANCE, Damaged, document_checksum, list_parts, read_part
from recovery.store.row_schema import stored_columns
from recovery.text import FOLDER_NAME, is_plain

SWEEP_FILE = "sweep.json"
FORMAT = 2
WITHOUT_CHECKSUM = 1
FIELDS = {"name": str, "digest": str, "trials": int, "config": dict, "provenance": dict}
LATER = {"cells": int, "columns": dict}
"""Fields that files of earlier versions do not have."""
PLACES = {"folder": str, "files": dict, "code": dict}
"""Fields of `config` where something of it is a file, or was written in a notebook."""

Content = dict[str, Any]
"""format, name, digest (of the config), trials, cells, config, columns, provenance."""


def encode(content: Mapping[str, Any]) -> bytes:
    """The bytes of the file, checksum included."""
    plain = {**content, "format": FORMAT}
    return (json.dumps({**plain, "checksum": document_checksum(plain)}, indent=2) + "\n").encode()


def decode(data: bytes) -> Content:
    """The content of the file's bytes. Raises ValueError, saying what is wrong with them."""
    content = json.loads(data)
    if not isinstance(content, dict):
        raise ValueError("is no mapping")
    claimed = content.pop("checksum", None)
    if content.get("format") != (WITHOUT_CHECKSUM if claimed is None else FORMAT):
        raise ValueError("is not a sweep that this version of the program can read")
    if claimed is not None and claimed != document_checksum(content):
        raise ValueError("does not match its checksum")
    check(content)
    return content


def check(content: Mapping[str, Any]) -> None:
    """Raises ValueError where a field is missing or is not what it must be."""
    for field, kind in FIELDS.items():
        if not isinstance(content.get(field), kind):
            raise ValueError(f"its field {field!r} is missing or wrong")
    for part, kinds in ((content, LATER), (content["config"], PLACES)):
        for field, kind in kinds.items():
            if field in part and not isinstance(part[field], kind):
                raise ValueError(f"its field {field!r} is wrong")
    for name in (content["name"], content["config"].get("name")):
        if not isinstance(name, str) or not re.fullmatch(FOLDER_NAME, name):
            raise ValueError(f"{name!a:.60} is no name of a sweep")
    for text in _texts(content):
        if not is_plain(text):
            raise ValueError(f"holds the control characters {text!a:.60}")
    try:
        stored_columns(content.get("columns"))
    except (KeyError, TypeError, AttributeError, ParameterError) as error:
        raise ValueError("its columns are wrong") from error


def rebuilt(trials: Path) -> Content | None:
    """The content as the latest of the parts in `trials` has it; None if no part does."""
    for path in sorted(list_parts(trials), key=lambda path: path.stat().st_mtime, reverse=True):
        part = read_part(path, columns=["trial_id"])
        if isinstance(part, Damaged):
            continue
        try:
            made = json.loads((part.schema.metadata or {}).get(PROVENANCE, b"[]"))[-1]
            known = {field: made.pop(field) for field in ("name", "digest", "trials", "cells", "config", "columns")}
            content = {"format": FORMAT, **known, "provenance": made}
            check(content)
        except (ValueError, LookupError, AttributeError):
            continue
        return content
    return None


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
