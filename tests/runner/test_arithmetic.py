"""Rows that one processor stored and another checks: the arithmetic is part of what is checked."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from recovery.cli.main import main
from recovery.config import Trial
from recovery.runner import arithmetic as arithmetics, rerun as replaying
from recovery.runner.arithmetic import (
    KERNEL,
    TARGET,
    WITHOUT,
    Arithmetic,
    arithmetic,
    computing_in,
    here,
    other_versions,
    others,
)
from recovery.store import read
from recovery.store.compaction import compact
from recovery.store.folder import Folder
from recovery.store.parts import PROVENANCE, list_parts, write_part
from recovery.store.provenance import provenance
from tests.runner.sweeps import sweep, write_config

OWN = here()
CONFIG = """
name: chaotic
seed: 3
replicates: 4
data: {ensemble: gaussian}
planted: {kind: linear, direction: random}
architecture: relu
patterns: {kind: sampled, all_ones: ignore}
method: {kind: train, optimizer: adamw, learning_rate: 0.05, epochs: 2000}
n: 30
axes: {d: [10]}
"""


def made(kernel: str, simd: object = None) -> dict[str, Any]:
    return {"blas": [{"internal_api": "openblas", "architecture": kernel}], "simd": simd}


def test_the_process_knows_its_own_arithmetic_and_stores_it() -> None:
    assert arithmetic(provenance()) == OWN
    assert others([provenance(), made(OWN.kernel)]) == []  # rows of before say nothing of NumPy
    assert others([made("Else"), provenance(), made("Else"), made(OWN.kernel, ["X"])]) == [
        Arithmetic("Else"),
        Arithmetic(OWN.kernel, ("X",)),
    ]


def test_rows_that_are_older_than_the_note_tell_by_their_processor_what_numba_compiled_for() -> None:
    intel = arithmetic(made("SkylakeX") | {"cpu": "Intel(R) Xeon(R) Processor @ 2.50GHz"})
    assert intel == Arithmetic("SkylakeX", None, "skylake-avx512")
    assert arithmetic(made("SkylakeX", ["X"]) | {"cpu": "Intel", "compiled_for": "haswell"}).target == "haswell"
    assert arithmetic(made("Haswell") | {"cpu": "Ampere"}).target is None


@pytest.mark.parametrize(
    "maker",
    [
        {},
        {"blas": None},
        {"blas": [3, {"internal_api": "mkl", "architecture": "x"}]},
        {"blas": [*made("A")["blas"], *made("B")["blas"]]},
        made("A\x1b[2J"),
        made("A B"),
        made(""),
        made("A" * 50),
        made("A", ["a\x00"]),
        made("A", [3, "b\n"]),
        made("A") | {"compiled_for": "x y"},
        made("A") | {"compiled_for": 3.5},
    ],
)
def test_what_names_no_arithmetic_is_none(maker: dict[str, Any]) -> None:
    assert arithmetic(maker) is None
    assert others([maker]) == []


def test_workers_compute_in_the_other_arithmetic_and_this_process_stays() -> None:
    other = Arithmetic("Else", ("X86_V2",), "haswell")
    before = dict(os.environ)
    with computing_in(other):
        assert os.environ[KERNEL] == "Else"
        assert os.environ[TARGET] == "haswell"
        assert set(os.environ[WITHOUT].split()) == set(OWN.simd)
    assert dict(os.environ) == before
    with pytest.raises(ZeroDivisionError), computing_in(other):
        1 / 0  # noqa: B018
    assert dict(os.environ) == before


DOUBLED = """
import numpy as np
from numba import float64, njit
double = njit([float64[:](float64[::1])])(lambda x: 2.0 * x + 1.0)
print("\\n".join(double.inspect_asm().values()))
"""


def test_numba_compiles_for_the_other_processor_without_instructions_that_only_this_one_has() -> None:
    other = Arithmetic(OWN.kernel, ("X86_V3",), "znver3")
    environment = {**os.environ, **other.environment()}
    done = subprocess.run([sys.executable, "-c", DOUBLED], env=environment, capture_output=True, text=True, check=True)
    assert "ymm" in done.stdout
    assert "zmm" not in done.stdout


def test_half_precision_instructions_are_no_other_arithmetic() -> None:
    assert arithmetic(made("A", ["X86_V4", "AVX512_SPR"])) == arithmetic(made("A", ["X86_V4"]))


ASIS = "as it is stored"


class Machine:
    """A machine that has some kernels, each with what it computes for one column of one row; the others as stored."""

    def __init__(self, out: Path, column: str, values: dict[str, object]) -> None:
        self.values, self.column, self.computed = values, column, list[str]()
        self.stored = {row["trial_id"]: row for row in read(out).table.to_pylist()}
        self.trial = min(self.stored)

    def run(self, trials: Iterable[Trial], jobs: int = 1) -> Iterator[tuple[Trial, dict[str, Any]]]:
        kernel = os.environ[KERNEL]
        for trial in trials:
            self.computed.append(kernel)
            value = self.values[kernel]
            odd = {self.column: value} if trial.id == self.trial and value != ASIS else {}
            yield trial, self.stored[trial.id] | odd


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("arithmetic")
    method = {"kind": "min_norm", "program": "gated"}
    sweep(write_config(place, method=method, architecture="relu_skip"), place / "out")
    return place / "out"


def verify(
    monkeypatch: pytest.MonkeyPatch, folder: Path, makers: list[str], column: str, values: dict[str, object]
) -> tuple[Machine, dict[str, int], str, int]:
    """The machine; and counts, output and exit status of `recover verify` where `makers` computed the rows."""
    grid = replace(read(folder), makers=[made(kernel) for kernel in makers])
    machine = Machine(folder, column, values)
    monkeypatch.setenv(KERNEL, "Here")
    monkeypatch.setattr(replaying, "run", machine.run)
    monkeypatch.setattr(arithmetics, "here", lambda: Arithmetic("Here", ()))
    monkeypatch.setattr(Arithmetic, "runs_here", lambda self: self.kernel in values)
    monkeypatch.setattr("recovery.store.read", lambda path: grid)
    said = CliRunner().invoke(main, ["verify", "--trust", str(folder), "--sample", "24"])
    counted = CliRunner().invoke(main, ["verify", "--trust", str(folder), "--sample", "24", "--json"])
    assert said.exit_code == counted.exit_code
    return machine, json.loads(counted.stdout), said.stdout, said.exit_code


@pytest.mark.parametrize(
    ("makers", "others", "kind", "words"),
    [
        (["Here"], {}, "different", "23 the same, 1 different"),
        (["Here", "Else"], {"Else": ASIS}, "other", "1 the same with OpenBLAS Else, which computed them, 0 different"),
        (["Third", "Else"], {"Else": -2.0, "Third": -3.0}, "different", "23 the same, 1 different"),
        (["Invented"], {}, "open", "1 not comparable: OpenBLAS Invented, which computed rows of this grid, does not"),
    ],
    ids=["of this one", "of another one", "edited", "of one that cannot run"],
)
def test_a_row_that_differs_agrees_only_with_an_arithmetic_that_runs_and_computes_it(
    makers: list[str], others: dict[str, object], kind: str, words: str, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    machine, counts, said, status = verify(monkeypatch, folder, makers, "objective", {"Here": -1.0, **others})
    assert (counts["same"], counts[kind], counts["failures"]) == (23, 1, status)
    assert status == (kind != "other")
    assert (f"{machine.trial} differs in objective" in said) == (kind != "other")
    assert words in said
    assert machine.computed[: 24 + len(others)] == ["Here"] * 24 + sorted(others)


def test_verdicts_that_exclude_each_other_are_different_in_whatever_arithmetic(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    stored = {row["trial_id"]: row["verdict"] for row in read(folder).table.to_pylist()}
    (other,) = {"recovered", "not_optimal"} - {stored[min(stored)]}
    for verdict, status in ((other, 1), ("undecided", 0)):
        values = {"Here": verdict, "Else": ASIS}
        machine, counts, _, found = verify(monkeypatch, folder, ["Else"], "verdict", values)
        assert (counts["different"], counts["other"], found) == (status, 1 - status, status)
        assert ("Else" in machine.computed) == (verdict == "undecided")


@pytest.mark.deep
def test_training_is_verified_with_the_kernel_that_computed_it(tmp_path: Path) -> None:
    """Prescott runs on every processor of 64 bits; the machine's own kernel is a later one."""
    config, out = tmp_path / "chaotic.yaml", tmp_path / "out"
    config.write_text(CONFIG)

    def recover(kernel: str, *arguments: object) -> tuple[int, str]:
        command = [sys.executable, "-m", "recovery.cli", *map(str, arguments)]
        done = subprocess.run(command, env=os.environ | {KERNEL: kernel}, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    assert recover("Prescott", "sweep", config, "--out", out, "--quiet")[0] == 0
    verified = ("verify", out, "--sample", 4)
    assert "4 the same, 0 different" in recover("Prescott", *verified)[1]
    status, said = recover("Haswell", *verified)
    assert status == 0, said
    assert re.search(r"[1-4] the same with OpenBLAS (?!Haswell)\w+, NumPy ", said)  # Prescott's code has several names
    compact(Folder(out))
    (part,) = list_parts(out / "trials")
    table = pq.read_table(part)
    column = table.schema.get_field_index("test_distance")
    values = table[column].to_pylist()
    values[0] *= 1 + 1e-4
    part.unlink()
    edited = write_part(part.parent, table.set_column(column, table.schema.field(column), [values]))
    for kernel in ("Prescott", "Haswell"):
        status, said = recover(kernel, *verified)
        assert status == 1
        assert "1 different" in said
        assert f"{table['trial_id'][0]} differs in test_distance: stored {values[0]}" in said
    makers = json.loads(table.schema.metadata[PROVENANCE])
    for kernel, word in (
        ("Haswell", "1 different"),
        ("NEOVERSEN1", "1 not comparable"),
    ):  # the same edit, and a false claim
        claim = {PROVENANCE: json.dumps([{**maker, **made(kernel)} for maker in makers])}
        table = pq.read_table(edited).replace_schema_metadata(claim)
        edited.unlink()
        edited = write_part(part.parent, table)
        status, said = recover("Prescott", *verified)
        assert status == 1
        assert word in said


def test_versions_of_numpy_are_told_apart() -> None:
    own = {"libraries": {"numpy": np.__version__}}
    assert other_versions([own, {}, {"libraries": None}, {"libraries": {"numpy": "x y"}}, {"libraries": {}}]) == []
    assert other_versions([own, {"libraries": {"numpy": "1.0"}}]) == ["NumPy 1.0"]


def test_a_row_that_differs_is_open_where_another_numpy_stored_rows(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setattr(replaying, "other_versions", lambda makers: ["NumPy 1.0"])
    _, counts, said, status = verify(monkeypatch, folder, ["Here"], "objective", {"Here": -1.0})
    assert (counts["same"], counts["different"], counts["open"], status) == (23, 0, 1, 1)
    assert "1 not comparable: NumPy 1.0, which computed rows of this grid, does not run on this machine" in said
