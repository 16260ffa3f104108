"""Random streams of a trial: each from the root seed and a hash of what the stream depends on, and of nothing else.

The same replicate therefore meets the same X under every method, solver, noise level and planted model, and no
stream changes when an axis or the number of replicates grows.
"""

import struct
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any

import numpy as np

from recovery.config.components import canonical_json
from recovery.config.sweep import Cell
from recovery.instances.draw import Streams

UNSEEN = ("kind", "signs", "angle", "weights", "condition", "tau", "biases", "bias", "outer")
"""Fields of a planted model that do not change what is drawn for it, only what becomes of that."""


def streams(cell: Cell, replicate: int) -> Streams:
    """The random streams of one trial.

    data, test: n, d, data, replicate. planted: these and the planted directions' law (not their signs, angle or
    activation). noise: n, replicate. patterns: n, d, count, replicate. training: n, d, architecture, replicate.
    hyperplane: n, d, replicate. All: the axes of one's own that no field of the cell says.
    """
    own = [cell.canonical["axes"]] if "axes" in cell.canonical else []
    return Streams(lambda name: _seed(cell.seed, name, *_DEPENDS[name](cell.canonical), *own, replicate))


def _geometry(at: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in at["planted"].items() if key not in UNSEEN}


_DEPENDS: dict[str, Callable[[Mapping[str, Any]], tuple[Any, ...]]] = {
    "data": lambda at: (at["n"], at["d"], at["data"]),
    "planted": lambda at: (at["n"], at["d"], at["data"], _geometry(at)),
    "noise": lambda at: (at["n"],),
    "patterns": lambda at: (at["n"], at["d"], at["patterns"]["count"]),
    "test": lambda at: (at["n"], at["d"], at["data"]),
    "training": lambda at: (at["n"], at["d"], at["architecture"]),
    "hyperplane": lambda at: (at["n"], at["d"]),
}


def _seed(seed: int, *depends: Any) -> np.random.SeedSequence:
    """SeedSequence(seed, spawn_key=a hash of the JSON of `depends`, in four words).

    It is made in a third of the time as the words that NumPy puts together for it: those of the seed, filled up to four
    with zeros, then those of the key.
    """
    digest = blake2b(canonical_json(depends).encode(), digest_size=16).digest()
    count = max(4, -(-seed.bit_length() // 32))
    words = struct.unpack(f"<{count}I", seed.to_bytes(4 * count, "little")) + struct.unpack(">4I", digest)
    return np.random.SeedSequence(np.array(words, dtype=np.uint32))
