"""The wheel holds one top-level name, and runs elsewhere."""

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import recovery
from recovery.store.provenance import provenance

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return next(folder.glob("*.whl"))


def test_the_distribution_has_a_name_of_its_own_and_one_version(wheel):
    """The package index has another `recover`; the program, its wheel and its citation have one version."""
    assert wheel.name.startswith(f"recovery_lab-{recovery.__version__}-")
    scripts = zipfile.ZipFile(wheel).read(f"recovery_lab-{recovery.__version__}.dist-info/entry_points.txt").decode()
    assert scripts.split() == ["[console_scripts]", "recover", "=", "recovery.cli.start:main"]
    assert f"\nversion: {recovery.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    said = subprocess.run(
        [sys.executable, "-m", "recovery.cli", "--version"], capture_output=True, text=True, check=True
    )
    assert said.stdout == f"recover, version {recovery.__version__}\n"
    assert provenance()["program"]["version"] == recovery.__version__


def test_the_wheel_holds_one_top_level_name(wheel):
    names = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"recovery"}


def test_the_wheel_holds_every_config_and_module(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    for path in ROOT.glob("configs/*.yaml"):
        assert f"recovery/configs/{path.name}" in names
    for path in [*ROOT.glob("recovery/**/*.py"), *ROOT.glob("recovery/report/page.*")]:
        assert str(path.relative_to(ROOT)) in names
    for path in ROOT.glob("cli/*.py"):
        assert f"recovery/cli/{path.name}" in names


def test_the_wheel_runs_in_another_environment_and_directory(wheel, tmp_path):
    """A fresh environment has the dependencies' files but not this checkout: `recovery` is the wheel's."""
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True, timeout=120)
    python = environment / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--no-deps", "--no-index", "--quiet", str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=120)
    site = next(environment.glob("lib/python*/site-packages"))
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    where = subprocess.run(
        [str(python), "-c", "import recovery; print(recovery.__file__)"],
        cwd=elsewhere, env=clean, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert where.stdout.startswith(str(environment))
    sweep = ["sweep", "quickstart", "--set", "axes.n=[10]", "--set", "replicates=1", "--jobs", "1", "--quiet"]
    subprocess.run(
        [str(environment / "bin" / "recover"), *sweep], cwd=elsewhere, env=clean, check=True, capture_output=True
    )
    assert json.loads((elsewhere / "results" / "quickstart" / "sweep.json").read_text())
    report = subprocess.run(
        [str(environment / "bin" / "recover"), "report", "results/quickstart"],
        cwd=elsewhere, env=clean, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert ".png" in report.stdout
