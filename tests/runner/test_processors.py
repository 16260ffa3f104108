"""A grid that one processor stored is the same on another: OpenBLAS has other kernels for each, rounding otherwise."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFIG = """
name: processors
seed: 3
replicates: 2
planted: {kind: normalized_relu, k: 1}
patterns: {kind: sampled, all_ones: decide}
axes:
  data.ensemble: [gaussian, haar, rademacher]
  architecture: [relu_norm]
  method.program: [gated, exact]
  noise: [0.1]
  zip:
    - {n: [24, 30, 40], d: [14, 10, 5]}
data: {ensemble: gaussian}
architecture: relu_norm
method: {kind: min_norm, program: gated}
"""


def recover(kernels: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"OPENBLAS_CORETYPE": kernels}
    command = [sys.executable, "-m", "recovery.cli", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


@pytest.mark.deep
def test_normalised_networks_with_noise_have_the_same_rows_under_other_kernels(tmp_path: Path) -> None:
    """With fewer than about two rows a variable singular values are equal, and leave a choice of bases."""
    config, results = tmp_path / "processors.yaml", str(tmp_path / "results")
    config.write_text(CONFIG)
    swept = recover("Haswell", "sweep", str(config), "--out", results, "--quiet", "-j", "1")
    assert swept.returncode == 0, swept.stdout + swept.stderr
    verified = recover("Prescott", "verify", results, "--sample", "36", "--seed", "1")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "36 of 36 rows replayed" in verified.stdout
    assert ", 0 different" in verified.stdout
