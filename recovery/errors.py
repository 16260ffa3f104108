"""The one exception root. Everything that the program raises on purpose descends from `RecoverError`."""


class RecoverError(Exception):
    """Something that the user can mend; its message says what was found, what is allowed, and what to do."""


class ParameterError(RecoverError, ValueError):
    """A value outside what a function or a parameter accepts."""


class DataError(RecoverError):
    """A file or an ensemble of the user's that cannot serve as data."""


class SolverError(RecoverError):
    """A solver that is not installed, or that broke down; never a verdict on recovery."""


class StoreError(RecoverError):
    """A results folder that cannot be read, written or continued."""


class ReportError(RecoverError):
    """A grid that cannot be shown as asked."""
