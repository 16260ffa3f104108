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
from recovery.types import Rng

UNSEEN = ("kind", "signs", "angle")
"""Fields of a planted model that do not change how its first directions are drawn."""


def streams(cell: Cell, replicate: int) -> Streams:
    """The six generators of one trial.

    data, test: n, d, data, replicate. planted: these and the planted directions' law (not their signs, angle or
    activation). noise: n, replicate. patterns: n, d, count, replicate. training: n, d, architecture, replicate.
    """
    at = cell.canonical
    n, d, data = at["n"], at["d"], at["data"]
    geometry = {key: value for key, value in at["planted"].items() if key not in UNSEEN}
    return Streams(
        data=_stream(cell.seed, "data", n, d, data, replicate),
        planted=_stream(cell.seed, "planted", n, d, data, geometry, replicate),
        noise=_stream(cell.seed, "noise", n, replicate),
        patterns=_stream(cell.seed, "patterns", n, d, at["patterns"]["count"], replicate),
        test=_stream(cell.seed, "test", n, d, data, replicate),
        training=_stream(cell.seed, "training", n, d, at["architecture"], replicate),
    )


def _stream(seed: int, *depends: Any) -> Rng:
    digest = blake2b(canonical_json(depends).encode(), digest_size=16).digest()
    words = tuple(int.from_bytes(digest[i : i + 4], "big") for i in range(0, 16, 4))
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=words)))
