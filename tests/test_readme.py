"""What the README shows is true: its configs load, its commands exist, its table of commands is the program's."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from recovery.cli.main import COMMANDS, main
from recovery.config import load

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)


def commands():
    lines = [line.split("#")[0].strip() for block in blocks("sh") for line in block.splitlines()]
    return [line for line in lines if line.startswith("recover ")]


def reference():
    """The table of commands with the options of each, from the program itself."""
    context = click.Context(main)
    rows = ["| command | does |", "|---|---|"]
    for name, (_, text) in COMMANDS.items():
        command = main.get_command(context, name)
        shown = []
        for parameter in command.params:
            if isinstance(parameter, click.Argument):
                shown.append(parameter.make_metavar(context))
            elif not getattr(parameter, "hidden", False):
                shown.append(max(parameter.opts, key=len))
        rows.append(f"| `recover {name} {' '.join(shown)}`".rstrip() + f" | {text} |")
    return "\n".join(rows).replace(" ` |", "` |")


def test_the_table_of_commands_is_the_programs():
    written = TEXT.split("keeps it true -->")[1].split("<!-- /commands -->")[0].strip()
    assert written == reference()


@pytest.mark.parametrize("text", [b for b in blocks("yaml") if b.startswith("name:")])
def test_configs_load(text, tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    assert load(path).size > 0


def test_the_config_explained_is_the_quickstart():
    shown = next(b for b in blocks("yaml") if b.startswith("name: quickstart"))
    assert (ROOT / "configs" / "quickstart.yaml").read_text().endswith(shown)


@pytest.mark.parametrize("text", [b for b in blocks("yaml") if not b.startswith("name:")])
def test_parts_of_configs_are_those_of_a_shipped_one(text):
    lines = {line.split(" #")[0].rstrip() for line in text.splitlines()}
    assert any(lines <= set(path.read_text().splitlines()) for path in (ROOT / "configs").glob("*.yaml"))


@pytest.mark.parametrize("line", commands())
def test_commands_and_options_exist(line):
    _, name, *arguments = shlex.split(line)
    command = main.get_command(click.Context(main), name)
    assert command is not None
    command.make_parser(click.Context(command)).parse_args(arguments)


@pytest.mark.parametrize("code", blocks("python"))
def test_python_examples_run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (ROOT / target).is_file()
