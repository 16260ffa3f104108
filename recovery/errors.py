"""The errors of the program, which all derive from `RecoverError`."""

from recovery.text import path_text


class RecoverError(Exception):
    """An error that the user can fix; its message says what was found, what is allowed, and what to do."""

    def __str__(self) -> str:
        """Return the message, which may contain names of somebody else's files."""
        return "\n".join(map(path_text, super().__str__().split("\n")))


class ParameterError(RecoverError, ValueError):
    """A value outside what a function or a parameter accepts."""


def refuse(*conflicts: tuple[bool, str]) -> None:
    """Raise `ParameterError` with the message of the first pair (condition, message) whose condition is true."""
    for there, message in conflicts:
        if there:
            raise ParameterError(message)


class DataError(RecoverError):
    """A file or a user's ensemble that does not give usable data."""


class SolverError(RecoverError):
    """A solver that is not installed or that failed; it is no evidence about recovery."""


class StoreError(RecoverError):
    """A results folder that cannot be read, written or continued."""


class ReportError(RecoverError):
    """Results that cannot be shown in the requested way."""
