"""Methods by name: one line a method."""

from recovery.methods.arrangement import Arrangement
from recovery.methods.isometry import Isometry, Limit
from recovery.methods.method import Method
from recovery.methods.min_norm import LeastSquares, MinNorm, Regularized
from recovery.methods.select import Select
from recovery.methods.tensor import Tensor
from recovery.methods.train import Contraction, Train

METHODS: dict[str, type[Method]] = {
    "min_norm": MinNorm,
    "regularized": Regularized,
    "least_squares": LeastSquares,
    "isometry": Isometry,
    "arrangement": Arrangement,
    "limit": Limit,
    "train": Train,
    "tensor": Tensor,
    "select": Select,
    "contraction": Contraction,
}
