"""After `make demo` alone, in an environment without the tests' packages, the README's commands and Python run."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
MADE_OF = ("pyproject.toml", "Makefile", "README.md", "LICENSE", "recovery", "cli", "configs")
"""What `make demo` reads of a clone."""
TABLE = "rooms,age,distance,price\n" + "".join(
    f"{i % 5},{i % 7},{i % 11},{3 * (i % 5) - max(i % 7 - 3, 0) + (i % 3) / 10}\n" for i in range(60)
)
"""table.csv, a reader's own."""
PLACEHOLDERS = {"CONFIG": "quickstart", "COMMAND": "sweep"}
INSTEAD = {
    "recover sweep p1-fig06": "recover sweep p1-fig06 --dry-run",
    "recover reproduce all --max-time-each 5m": "recover reproduce p2-fig01 p1-fig03 --max-time-each 5m",
    "recover verify --rigorous": "recover verify results/quickstart --sample 2 --rigorous",
    "recover verify": "recover verify results/quickstart --sample 2",
    "recover sweep CONFIG --until 'threshold +-0.05'": (
        "recover sweep quickstart --until 'threshold +-0.3' --out results/until"
    ),
}
"""What stands for commands in a sentence that would take hours, or that leave their folder unsaid."""


def in_blocks() -> list[str]:
    """The lines of the README's `sh` blocks, without the two that make things."""
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if not line.startswith("make ")]


def in_sentences() -> list[str]:
    """The commands that its sentences name with their arguments."""
    prose = re.sub(r"```.*?```", "", README, flags=re.DOTALL)
    return [" ".join(text.split()) for text in re.findall(r"`(recover\s[^`]+)`", prose)]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the program in which `make demo` has run."""
    clone = tmp_path_factory.mktemp("clone")
    for name in MADE_OF:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, clone / name)
    (clone / "table.csv").write_text(TABLE)
    run(["make", "demo", f"PYTHON={sys.executable}"], clone)
    return clone


def run(command: list[str], clone: Path) -> str:
    """What a command says in the clone's environment; it must succeed."""
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
    assert INSTEAD.keys() <= set(in_sentences())


@pytest.mark.deep
def test_after_make_demo_alone_every_command_of_the_readme_runs(demo: Path) -> None:
    modules = "import importlib.util as u; print([m for m in ('pytest', 'sphinx', 'selenium') if u.find_spec(m)])"
    assert run(["python", "-c", modules], demo) == "[]\n"
    failed = []
    for line in dict.fromkeys([*in_blocks(), *in_sentences()]):
        words = [PLACEHOLDERS.get(word, word) for word in shlex.split(INSTEAD.get(line, line), comments=True)]
        try:
            run(words, demo)
        except AssertionError as error:
            failed.append(str(error))
    assert not failed, "\n".join(failed)


@pytest.mark.deep
def test_after_make_demo_alone_the_python_of_the_readme_runs(demo: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    run(["python", "-c", code], demo)
