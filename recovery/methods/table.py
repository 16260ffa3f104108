"""Methods by name: one line a method. Each is imported when it is first asked for, which few commands do for all."""

from collections.abc import Iterator, Mapping
from importlib import import_module

from recovery.methods.method import Method

PLACES = {
    "min_norm": "min_norm.MinNorm",
    "regularized": "min_norm.Regularized",
    "least_squares": "min_norm.LeastSquares",
    "isometry": "isometry.Isometry",
    "arrangement": "arrangement.Arrangement",
    "limit": "isometry.Limit",
    "train": "train.Train",
    "tensor": "tensor.Tensor",
    "select": "select.Select",
    "contraction": "train.Contraction",
}
"""Name -> its module of this package, and its class."""


class _Methods(Mapping[str, type[Method]]):
    def __getitem__(self, name: str) -> type[Method]:
        module, _, cls = PLACES[name].partition(".")
        method: type[Method] = getattr(import_module(f"recovery.methods.{module}"), cls)
        return method

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)

    def __contains__(self, name: object) -> bool:
        return name in PLACES


METHODS = _Methods()
