"""The names of the backends that run trials: `recovery.runner.engine` has what each does."""

from typing import Literal, get_args

Backend = Literal["processes", "threading", "dask"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)
