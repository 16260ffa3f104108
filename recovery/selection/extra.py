"""The optional dependency of this room, scikit-learn: asked for before anything runs."""

from importlib.util import find_spec

from recovery.errors import ParameterError


def require(purpose: str) -> None:
    """Raises `ParameterError` that says how to install scikit-learn, if `purpose` has to do without it."""
    if find_spec("sklearn") is None:
        raise ParameterError(f"{purpose} needs scikit-learn, which is not installed: pip install 'recover[selection]'")
