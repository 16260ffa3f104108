"""Options that several commands have."""

import click

trust = click.option(
    "--trust", is_flag=True, help="Run the code of its author's own that RESULTS names; only if you know who that is."
)
