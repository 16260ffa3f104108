"""`recover schema`: print the JSON schema of a config."""

import json

import click


@click.command()
def command() -> None:
    """Print the JSON schema of a config, for editors and other programs.

    For an editor with the YAML language server, store it as schema.json and begin a config with the line
    `# yaml-language-server: $schema=schema.json`.
    """
    from recovery.config.schema import json_schema

    click.echo(json.dumps(json_schema(), indent=2))
