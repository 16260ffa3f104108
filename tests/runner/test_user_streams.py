"""Random choices of a user's method: one generator per trial, and a warning about draws that are equal."""

import subprocess
import sys
from pathlib import Path

from recovery.store import read

from .sweeps import write_config

METHOD = """
from dataclasses import dataclass
import numpy as np
from recovery.methods.columns import select
from recovery.methods.method import METHODS, Measurement

@dataclass(frozen=True)
class Draws:
    act: str = "rng"
    columns = select("gap", "objective")

    def cost(self, n, d):
        return 1.0

    def __call__(self, instance, architecture):
        if self.act == "rng":
            first, second = instance.rng.standard_normal(), instance.rng.standard_normal()
        if self.act == "streams":
            first, second = (instance.streams.training.standard_normal() for _ in range(2))
        if self.act == "shipped":
            METHODS["isometry"]()(instance, architecture)
            METHODS["isometry"]()(instance, architecture)
            first, second = instance.streams.training.standard_normal(), 0.0
        return Measurement(gap=first, objective=second)
"""


def drawn(folder: Path, act: str) -> tuple[list[tuple[float, float]], str]:
    """Return the two numbers that each trial draws, and what the sweep prints to stderr."""
    (folder / "draws.py").write_text(METHOD)
    config = write_config(
        folder, method={"kind": "draws:Draws", "act": act}, architecture="relu_skip", axes={"n": [4]}, d=2
    )
    out = folder / act
    line = [sys.executable, "-m", "recovery.cli", "sweep", str(config), "--out", str(out), "--jobs", "1"]
    done = subprocess.run(line, text=True, capture_output=True, check=True)
    return list(read(out).frame.sort_values("replicate")[["gap", "objective"]].itertuples(index=False)), done.stderr


def test_one_generator_gives_new_numbers_in_each_draw_and_trial(tmp_path: Path) -> None:
    pairs, said = drawn(tmp_path, "rng")
    assert len({number for pair in pairs for number in pair}) == 8
    assert "warning" not in said
    assert drawn(tmp_path, "streams")[0] == [(first, first) for first, _ in pairs]  # at the start of the same stream


def test_equal_draws_are_warned_of_once(tmp_path: Path) -> None:
    _, said = drawn(tmp_path, "streams")
    assert said.count("draws:Draws reads instance.streams.training twice") == 1
    assert "instance.rng" in said


def test_a_shipped_method_that_user_code_calls_may_read_a_stream_again(tmp_path: Path) -> None:
    assert "warning" not in drawn(tmp_path, "shipped")[1]
