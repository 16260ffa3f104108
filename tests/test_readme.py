"""After `make demo` alone, in an environment without the tests' packages, the README's commands and Python run."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs.steps import INSTEAD, in_blocks, in_sentences, readme_code, readme_steps

ROOT = Path(__file__).parents[1]
MADE_OF = ("pyproject.toml", "Makefile", "README.md", "LICENSE", "recovery", "cli", "configs")
"""Files of a clone that `make demo` reads."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the program in which `make demo` has run."""
    clone = tmp_path_factory.mktemp("clone")
    for name in MADE_OF:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, clone / name)
    run(["make", "demo", f"PYTHON={sys.executable}"], clone)
    return clone


def run(command: list[str], clone: Path) -> str:
    """Return the output of a command in the clone's environment; it must succeed."""
    ours = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "VIRTUAL_ENV", "VENV", "MAKE", "MFLAGS"))
    }
    ours["PATH"] = f"{clone / '.venv' / 'bin'}{os.pathsep}{ours['PATH']}"
    done = subprocess.run(command, cwd=clone, env=ours, stdin=-3, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def test_the_readme_names_commands() -> None:
    assert len(in_blocks()) >= 3
    assert all(line.startswith("recover ") for line in in_blocks())
    assert INSTEAD.keys() <= {*in_blocks(), *in_sentences()}


@pytest.mark.deep
def test_after_make_demo_alone_every_command_of_the_readme_runs(demo: Path) -> None:
    modules = "import importlib.util as u; print([m for m in ('pytest', 'sphinx', 'selenium') if u.find_spec(m)])"
    assert run(["python", "-c", modules], demo) == "[]\n"
    failed = []
    for words in readme_steps():
        try:
            run(words, demo)
        except AssertionError as error:
            failed.append(str(error))
    assert not failed, "\n".join(failed)


@pytest.mark.deep
def test_after_make_demo_alone_the_python_of_the_readme_runs(demo: Path) -> None:
    run(["python", "-c", readme_code()], demo)
