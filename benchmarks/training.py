"""How near training comes to the machine's product rate: 400 AdamW epochs of n + 1 neurons in float32, as P1 trains.

python -m benchmarks.training
"""

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks import machine, one_thread, written
from recovery.instances.draw import Setting, draw
from recovery.instances.planted import Linear, NormalizedRelu, Planted
from recovery.methods.train import Train
from recovery.programs.architecture import ARCHITECTURES

METHOD = Train(learning_rate=2e-3, weight_decay=1e-6, reset_state=True, precision="float32")
SIZES = ((10, 10), (50, 10), (50, 50), (100, 10), (100, 100), (200, 50), (400, 10), (400, 100))
REPEATS = 5


def fastest(function: Callable[[], object]) -> float:
    """Processor seconds of the fastest of some calls."""
    found = []
    for _ in range(REPEATS):
        start = time.process_time()
        function()
        found.append(time.process_time() - start)
    return min(found)


def product_rate() -> float:
    """Operations a second of a matrix product in float32."""
    A = np.random.default_rng(0).random((1000, 1000), np.float32)
    return 2e9 / fastest(lambda: A @ A)


def row(architecture: str, planted: Planted, n: int, d: int, rate: float) -> str:
    """One line of the table. An epoch has two products of n + 1 neurons, n rows and d inputs."""
    instance = draw(Setting(n, d, planted=planted), np.random.default_rng(1))
    seconds = fastest(partial(METHOD, instance, ARCHITECTURES[architecture]))
    products = METHOD.epochs * 4 * n * (n + 1) * d / rate
    epoch = 1e6 * seconds / METHOD.epochs
    return f"| {architecture} | ({n}, {d}) | {1e3 * seconds:.3g} ms | {epoch:.3g} us | {products / seconds:.0%} |"


def main() -> None:
    planted: dict[str, Planted] = {"relu_skip": Linear(), "relu_norm": NormalizedRelu(k=1)}
    with one_thread():
        rate = product_rate()
        lines = [
            "| architecture | (n, d) | 400 epochs | an epoch | of product rate |",
            "|---|---|---|---|---|",
            *[row(name, law, n, d, rate) for name, law in planted.items() for n, d in SIZES],
            "",
            f"One thread, {rate / 1e9:.1f} GFLOP/s in a matrix product in float32, {machine()}",
        ]
    written(__file__, lines)


if __name__ == "__main__":
    main()
