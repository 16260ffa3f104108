"""README and docs are correct: each page runs from top to bottom in an empty folder, as its reader would run it.

In a page, a block whose first line is `# NAME.py` or `# NAME.yaml` is that file; other Python blocks run by themselves;
`sh` blocks run line by line; of `console` blocks, too large or made for other machines, the options must exist. Each
line of an `output` block is a line that the steps since the previous one printed, in this order; `...` is any text.
"""

import inspect
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from pkgutil import resolve_name

import click
import numpy as np
import pytest

from docs.generate import PAGES
from docs.markdown import FORMULAS
from docs.steps import FENCE, NAMED, blocks
from docs.terms import definitions
from recovery.cli.main import main
from recovery.config import load

from .invoke import said
from .needs import lacking
from .processes import Run, forked_commands

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PARTS = sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PARTS]
OUTSIDE = re.compile(r"<(?:script|link|img|iframe)[^>]*?(?:src|href)=\"(?:https?:)?//[^\"]*\"")
MOST_LINES = 90
"""A README that is longer is read by nobody."""


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def commands(page: Path, language: str) -> Iterator[list[str]]:
    for found, text in blocks(page):
        for line in text.splitlines() if found == language else ():
            yield shlex.split(line.removeprefix("$ "), comments=True)


def exists(arguments: list[str]) -> None:
    command = main.get_command(click.Context(main), arguments[1])
    assert command is not None
    command.make_parser(click.Context(command)).parse_args(arguments[2:])


READER = """
import faulthandler, io, json, re, runpy, shlex, sys
from contextlib import redirect_stdout
from click.testing import CliRunner
from recovery.cli.main import main
faulthandler.dump_traceback_later(600, exit=True)
names, printed = {"__name__": "__main__"}, io.StringIO()
for kind, text in json.loads(sys.argv[1]):
    if kind == "output":
        found = (" ".join(line.split()) for line in printed.getvalue().splitlines())
        for line in filter(None, text.splitlines()):
            shown = re.escape(" ".join(line.split())).replace(re.escape("..."), ".*")
            assert any(re.fullmatch(shown, other) for other in found), (line, printed.getvalue())
        printed = io.StringIO()
    elif kind == "python":
        with redirect_stdout(printed):
            exec(text, names)
    else:
        program, *arguments = shlex.split(text, comments=True)
        if program == "python":
            sys.argv = arguments
            with redirect_stdout(printed):
                runpy.run_path(arguments[0], run_name="__main__")
        else:
            assert program == "recover", text
            result = CliRunner().invoke(main, arguments)
            assert result.exit_code == 0, (text, result.output)
            printed.write(result.output)
"""
"""Runs the commands and the Python of one page, in one process: to start another for each takes longer than most."""


@pytest.fixture(scope="module")
def read() -> Iterator[Run]:
    with forked_commands(READER) as run:
        yield run


@pytest.mark.deep
@pytest.mark.parametrize("page", PARTS, ids=named)
def test_a_page_runs_from_top_to_bottom(page: Path, tmp_path: Path, read: Run) -> None:
    if page.name == "jax.md" and find_spec("jax") is None:
        lacking("JAX")
    steps: list[tuple[str, str]] = []
    for language, text in blocks(page):
        file = NAMED.match(text)
        if file:
            assert not (tmp_path / file[1]).exists(), "a page shows a file once"
            (tmp_path / file[1]).write_text(text)
        elif language in ("python", "output"):
            steps.append((language, text))
        elif language == "sh":
            steps += [(language, line) for line in text.splitlines()]
        elif language == "yaml":
            is_true(text, tmp_path)
    if steps:
        done = read(tmp_path, json.dumps(steps))
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    for picture in re.findall(r"\]\(pictures/(.+?)\)", page.read_text()):
        assert list(tmp_path.rglob(picture)), f"no step of the page draws {picture}"


TYPED = """
import recovery
from coarse import COARSE
from pair import Pair

planted: recovery.Planted = Pair(0.5)
solver: recovery.Solver = COARSE
"""
WRONG = """

class Nothing:
    form = "relu"


other: recovery.Planted = Nothing()
method: recovery.Method = Pair()
ensemble: recovery.Ensemble = Pair()
another: recovery.Solver = Pair()
"""


@pytest.mark.deep
def test_a_type_checker_knows_what_ones_own_classes_need(tmp_path: Path) -> None:
    """The classes of the pages satisfy their protocols; what lacks a part is named at each of its lines.

    The settings and the cache are those of `make lint`, which has checked the program before.
    """
    for page in ("own-planted", "own-solver"):
        for _, text in blocks(DOCS / "tutorials" / f"{page}.md"):
            if (file := NAMED.match(text)) and file[1].endswith(".py"):
                (tmp_path / file[1]).write_text(text)

    (tmp_path / "use.py").write_text(TYPED + WRONG)
    asked = [sys.executable, "-m", "mypy", str(tmp_path / "use.py")]
    environment = {**os.environ, "MYPYPATH": str(tmp_path)}
    done = subprocess.run(asked, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    errors = re.findall(r"^\S+/(\S+):(\d+): error: Incompatible types in assignment", done.stdout, re.M)
    first = (TYPED + WRONG).splitlines().index("other: recovery.Planted = Nothing()") + 1
    assert errors == [("use.py", str(line)) for line in range(first, first + 4)], done.stdout
    assert done.stdout.count(" error: ") == len(errors)


def is_true(text: str, folder: Path) -> None:
    """A whole config loads; each line of a part is in a config that ships."""
    if text.startswith("name:"):
        (folder / "shown.yaml").write_text(text)
        assert load(folder / "shown.yaml").size > 0
    else:
        shipped = {line for path in (ROOT / "configs").glob("*.yaml") for line in path.read_text().splitlines()}
        assert {line.split(" #")[0].rstrip() for line in text.splitlines()} <= shipped


@pytest.mark.parametrize("page", TEXTS, ids=named)
def test_commands_that_are_only_shown_exist(page: Path) -> None:
    for words in commands(page, "console"):
        arguments = [word for word in words if not re.match(r"[A-Z_]+=", word)]
        if arguments[0] == "recover":
            exists(arguments)


def test_the_recipes_of_the_cookbook_are_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`recover check` accepts each sweep of the page with its `--set`; its file of claims fits stored rows.

    The conditions of a reader's matrix are measured.
    """
    page = DOCS / "cookbook.md"
    rng = np.random.default_rng(0)
    for name, rows in (("X.csv", 60), ("w.csv", 1), ("table.csv", 60)):
        np.savetxt(tmp_path / name, rng.standard_normal((rows, 5)), delimiter=",")
    for _, text in blocks(page):
        if file := NAMED.match(text):
            (tmp_path / file[1]).write_text(text)
    monkeypatch.chdir(tmp_path)
    assert sum(line.startswith("I want") for line in page.read_text().splitlines()) >= 18
    steps = [["report", str(ROOT / "results/papers/p1-fig06"), "--claims", "mine.yaml"]]
    for _, command, *rest in commands(page, "console"):
        if command == "sweep" and not rest[0].startswith("results/"):
            sets = [word for pair in pairwise(rest) if pair[0] == "--set" for word in pair]
            steps.append(["check", rest[0], *sets])
    steps.append(["sweep", "matrix.yaml", "--backend", "threading", "-q"])
    steps.append(["trials", "results/matrix", "--where", "isometry_margin > 0"])
    *_, rows = (said(*step) for step in steps)
    assert {"planted", "uniform", "trace"} <= set(rows.split())


def test_the_readme_is_short_and_shows_a_config_that_ships() -> None:
    """Its commands and its Python run in test_readme."""
    page = ROOT / "README.md"
    assert len(page.read_text().splitlines()) <= MOST_LINES
    (config,) = [text for language, text in blocks(page) if language == "yaml"]
    assert (ROOT / "configs" / "quickstart.yaml").read_text().endswith(config)
    for arguments in commands(page, "sh"):
        if arguments[0] == "recover":
            exists(arguments)
        else:
            assert f"\n{arguments[1]}:" in (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("page", TEXTS, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", FENCE.sub("", page.read_text())):
        assert (page.parent / target).is_file(), target
        assert ":" not in target


def test_the_steps_of_a_trial_name_objects_with_the_file_that_defines_each() -> None:
    steps = re.findall(r"^(\d+)\. (.*?)(?=^\d+\. |^## )", (DOCS / "developers.md").read_text(), re.M | re.S)
    assert [number for number, _ in steps] == [str(number) for number in range(1, 11)]
    for _, text in steps:
        named = re.findall(r"\[`(recovery\.[\w.]+)`\]\((.+?)\)", text)
        assert named
        for name, file in named:
            assert inspect.getsourcefile(resolve_name(name)) == str((DOCS / file).resolve())


def test_the_numbers_of_the_performance_page_are_those_of_its_tables() -> None:
    number = re.compile(r"\d(?:[\d.,]*\d)?(?:e-?\d+)?%?")
    rows = re.findall(r"^\|[^|]+\|([^|]+)\| \[.*\) \| `(\w+)` \|$", (DOCS / "performance.md").read_text(), re.M)
    assert len(rows) > 10
    for measured, name in rows:
        table = number.findall((ROOT / "benchmarks" / f"{name}.md").read_text())
        assert set(number.findall(measured)) <= set(table), name


@pytest.mark.parametrize("page", PAGES)
def test_generated_pages_are_those_of_the_program(
    page: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr("docs.generate.load_shipped", lambda: request.getfixturevalue("shipped_sweeps"))
    assert (DOCS / "reference" / page).read_text() == PAGES[page](), "run `python -m docs.generate`"


def test_each_word_of_the_glossary_has_a_first_sentence_that_a_tooltip_can_show() -> None:
    found = definitions()
    assert len(found) >= (DOCS / "glossary.md").read_text().count("\n: ") > 45
    assert [word for word, meaning in found.items() if not re.fullmatch(r"[^\\*]{10,}\.", meaning)] == []


def test_each_formula_of_the_docstrings_is_typeset_somewhere() -> None:
    text = "".join((DOCS / "reference" / page).read_text() for page in PAGES)
    assert [plain for plain, latex in FORMULAS.items() if f"${latex}$" not in text] == []


@pytest.mark.deep
def test_the_site_is_built_without_a_warning_and_needs_no_other_address(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(DOCS), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    words = set[str]()
    for page in tmp_path.rglob("*.html"):
        assert OUTSIDE.findall(page.read_text()) == [], page
        words |= set(re.findall(r'glossary\.html#(term-[^"]+)" title="[^"]+\."', page.read_text()))
    assert len(words) > 40
    assert all(f'id="{word}"' in (tmp_path / "glossary.html").read_text() for word in words)
    assert "<summary>Config</summary>" in (tmp_path / "papers" / "P4.html").read_text()
