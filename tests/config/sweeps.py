"""Small configs for tests, written to a temporary folder and loaded."""

import json
import tempfile
from pathlib import Path
from typing import Any

from recovery.config import Sweep, load

BASE: dict[str, Any] = {
    **{"name": "small", "seed": 7, "replicates": 2, "data": {"ensemble": "gaussian"}, "planted": {"kind": "linear"}},
    **{"architecture": "relu_skip", "method": {"kind": "min_norm"}, "n": 8, "d": 3},
}


def write(path: Path, **fields: Any) -> Path:
    """Write `BASE` with other fields; None takes one out."""
    content = {key: value for key, value in {**BASE, **fields}.items() if value is not None}
    path.write_text(json.dumps(content), encoding="utf-8")  # JSON is YAML 1.2
    return path


def load_fields(*overrides: str, **fields: Any) -> Sweep:
    """The sweep of `BASE` with other fields."""
    with tempfile.TemporaryDirectory() as folder:
        return load(write(Path(folder) / "config.yaml", **fields), overrides)


def ids(sweep: Sweep) -> set[str]:
    return {trial.id for trial in sweep.trials()}


def points(sweep: Sweep, *names: str) -> list[tuple[Any, ...]]:
    """The cells' coordinates in these columns, in order."""
    return [tuple(cell.coordinates[name] for name in names) for cell in sweep.cells]
