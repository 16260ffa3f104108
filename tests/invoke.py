"""Commands in this process."""

from click.testing import CliRunner, Result

from recovery.cli.main import main


def recover(*arguments: object) -> Result:
    """Run `recover ARGUMENTS`; an exception other than an exit fails the test."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


def said(*arguments: object) -> str:
    """Return the standard output of `recover ARGUMENTS`, which must succeed."""
    result = recover(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments: object) -> str:
    """Return the message of `recover ARGUMENTS`, which must be refused with exit status 2."""
    result = recover(*arguments)
    assert result.exit_code == 2, result.output
    return result.stderr
