"""The names of the backends that run trials: `recovery.runner.workers` has what each does."""

from typing import Literal, get_args

Backend = Literal["processes", "threading", "dask", "ray"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)
