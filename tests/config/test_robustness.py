"""Whatever a document holds, the answer is a sweep or a `ConfigError`."""

import contextlib
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings, strategies as st

from recovery.config import ConfigError, load
from recovery.config.axes import all_paths
from recovery.config.claims import CLAIMS
from recovery.config.components import COMPONENTS
from recovery.config.header import HEADER

from .sweeps import load_fields

PATHS = all_paths()
WORDS = st.sampled_from(["gaussian", "file", "relu", "linear", "min_norm", "auto", "n", "d", "", "x", *CLAIMS])
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-3, 9), st.floats(), WORDS)
NAMES = "kind ensemble k path start stop step logspace times values zip include exclude of where curves limits count"
KEYS = st.sampled_from(NAMES.split())
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)
AXES = st.dictionaries(st.sampled_from([*PATHS, "zip", "include", "exclude"]), ANYTHING, max_size=4)


@settings(max_examples=150)
@given(fields=st.dictionaries(st.sampled_from([*COMPONENTS, *HEADER]), ANYTHING, max_size=3), axes=st.none() | AXES)
def test_any_fields(fields: dict[str, Any], axes: Any) -> None:
    with contextlib.suppress(ConfigError):
        load_fields(**fields, **({} if axes is None or "axes" in fields else {"axes": axes}))


@settings(max_examples=100)
@given(option=st.one_of(st.text(), st.builds("{}={}".format, st.sampled_from([*PATHS, *HEADER]), st.text())))
def test_any_override(option: str) -> None:
    with contextlib.suppress(ConfigError):
        load_fields(option, axes={"n": [4, 8], "planted": [{"kind": "linear"}]})


@settings(max_examples=100)
@given(content=st.one_of(st.binary(), st.text("{}[]:,-&*!|>%@'\"# \n\tab1.", max_size=60).map(str.encode)))
def test_any_bytes(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(ConfigError):
        path = Path(folder) / "config.yaml"
        path.write_bytes(content)
        load(path)
