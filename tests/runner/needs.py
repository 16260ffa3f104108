"""What a test needs of the machine. CI installs all of it, so there a skip is a failure."""

import importlib.util
import os
import shutil
from typing import NoReturn

import pytest


def lacking(what: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI lacks {what}")
    pytest.skip(f"needs {what}")


def need_module(name: str) -> None:
    if importlib.util.find_spec(name) is None:
        lacking(name)


def need_programs(*names: str) -> None:
    for name in names:
        if shutil.which(name) is None:
            lacking(name)
