"""The errors of the program, which all derive from `RecoverError`."""


class RecoverError(Exception):
    """An error that the user can fix; its message says what was found, what is allowed, and what to do."""


class ParameterError(RecoverError, ValueError):
    """A value outside what a function or a parameter accepts."""


class DataError(RecoverError):
    """A file or a user's ensemble that does not give usable data."""


class SolverError(RecoverError):
    """A solver that is not installed or that failed; it is no evidence about recovery."""


class StoreError(RecoverError):
    """A results folder that cannot be read, written or continued."""


class ReportError(RecoverError):
    """Results that cannot be shown in the requested way."""
