"""Commands in this process."""

from click.testing import CliRunner, Result

from recovery.cli.main import main


def recover(*arguments: object) -> Result:
    """Run `recover ARGUMENTS`; an exception other than an exit fails the test."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result
