"""Random streams of a trial: each from the root seed and a hash of what the stream depends on, and of nothing else.

The same replicate therefore meets the same X under every method, solver, noise level and planted model, and no
stream changes when an axis or the number of replicates grows.
"""

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
    hyperplane: n, d, replicate.
    """
    at = cell.canonical
    n, d, data = at["n"], at["d"], at["data"]
    geometry = {key: value for key, value in at["planted"].items() if key not in UNSEEN}
    depends: dict[str, tuple[Any, ...]] = {
        "data": (n, d, data),
        "planted": (n, d, data, geometry),
        "noise": (n,),
        "patterns": (n, d, at["patterns"]["count"]),
        "test": (n, d, data),
        "training": (n, d, at["architecture"]),
        "hyperplane": (n, d),
    }
    return Streams({name: _seed(cell.seed, name, *values, replicate) for name, values in depends.items()})


def _seed(seed: int, *depends: Any) -> np.random.SeedSequence:
    digest = blake2b(canonical_json(depends).encode(), digest_size=16).digest()
    words = tuple(int.from_bytes(digest[i : i + 4], "big") for i in range(0, 16, 4))
    return np.random.SeedSequence(seed, spawn_key=words)
