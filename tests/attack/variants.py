"""Configs that nobody wrote: shipped ones made small and given other values that are allowed, and damaged ones."""

import io
import random
from functools import cache
from typing import Any

from ruamel.yaml import YAML

from recovery.config import shipped

ENSEMBLES = (
    *({"ensemble": name} for name in ("gaussian", "haar", "cubic_gaussian", "whitened_cubic", "rademacher", "uniform")),
    *({"ensemble": "correlated", "rho": rho} for rho in (0.0, 0.5, 0.99)),
)
PLANTED = (
    *({"kind": "linear", "direction": name} for name in ("random", "smallest_singular", "nonnegative", "basis")),
    *({"kind": kind, "k": k} for kind in ("relu", "normalized_relu") for k in (1, 2)),
)
ARCHITECTURES = ("relu", "relu_skip", "relu_norm", "relu_norm_skip", "relu_bias")
METHODS = (
    *({"kind": "min_norm", "program": program} for program in ("gated", "exact")),
    *(
        {"kind": "regularized", "program": program, "beta": beta}
        for program in ("gated", "exact")
        for beta in (1e-6, 0.1)
    ),
    *({"kind": kind} for kind in ("isometry", "least_squares", "limit", "arrangement")),
)
PATTERNS = (
    {},
    {"kind": "exhaustive"},
    {"kind": "searched"},
    {"kind": "all", "nodes": 50},
    {"count": 3},
    {"all_ones": "ignore"},
)
SIZES: dict[str, tuple[Any, ...]] = {
    "data": ENSEMBLES,
    "planted": PLANTED,
    "architecture": ARCHITECTURES,
    "method": METHODS,
    "patterns": PATTERNS,
    "noise": (0, 1e-12, 0.1, 10.0),
    "seed": (0, 1, 2**31),
}


@cache
def _texts() -> list[str]:
    return [text for _, path in sorted(shipped().items()) if len(text := path.read_text()) < 4000]


def config_text(rng: random.Random) -> bytes:
    """A config: half of them made small and varied within what is allowed, half damaged by faults."""
    from .test_configs import mutated

    text = rng.choice(_texts())
    if rng.random() < 0.3:
        return mutated(text, rng)
    varied_text = varied(text, rng)
    return mutated(varied_text, rng) if rng.random() < 0.15 else varied_text.encode()


def varied(text: str, rng: random.Random) -> str:
    """The config with few and small cells, and other values of some fields; without claims and figures."""
    yaml = YAML(typ="safe")
    document = yaml.load(text)
    for field in ("claims", "report", "sampling", "needs", "axes"):
        document.pop(field, None)
    document["replicates"] = rng.choice([1, 2, 3])
    for field in rng.sample(sorted(SIZES), rng.randint(0, 4)):
        document[field] = rng.choice(SIZES[field])
    d = rng.choice([1, 2, 3, 5])
    document["axes"] = {"n": sorted(rng.sample(range(1, 16), rng.randint(1, 3))), "d": [d]}
    for field in ("n", "d"):
        document.pop(field, None)
    if rng.random() < 0.3:
        document["axes"]["noise"] = rng.sample([0, 0.01, 0.1, 1.0], 2)
        document.pop("noise", None)
    for field in ("data", "planted", "method", "architecture"):  # what an axis of the shipped config gave
        document.setdefault(field, rng.choice(SIZES[field]))
    out = io.StringIO()
    yaml.dump(document, out)
    return out.getvalue()
