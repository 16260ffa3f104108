"""Adaptive sweeps along axes of the user's own: `--until` and the boundary, per slice and pooled, in either direction.

The fake method succeeds with probability Phi((n - 2d) / sqrt n), so the threshold along delta = n/d is 2.
"""

from pathlib import Path
from typing import Any

import pytest

from recovery.config import ConfigError, load
from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram
from recovery.report.statistics.estimates import interim_level
from recovery.store import read

from .sweeps import rounds, until_config as config
from .test_until import until

AXES = {"delta": {"start": 0.5, "stop": 4, "step": 0.25}, "d": [8, 16], "n": "delta * d"}
FIRST = 15 * 2 * 4
ALONG = {"value": "recovered", "x": "delta", "y": "d"}


def own(folder: Path, axes: dict[str, Any] = AXES, **fields: Any) -> Path:
    return config(folder, axes=axes, **{"report": ALONG, "replicates": 4, **fields})


def thresholds(out: Path) -> list[Any]:
    return Analysis(Diagram.of(read(out))).all_thresholds


@pytest.mark.parametrize(
    ("axes", "report", "at"),
    [
        (AXES, ALONG, [2, 2]),
        (AXES, {**ALONG, "pool": "delta"}, [2]),
        ({"n": {"start": 7, "stop": 64, "step": 2}, "d": [8, 16]}, {**ALONG, "x": "d / n"}, [0.5, 0.5]),
        ({"d": [16], "n": "delta * d", "delta": AXES["delta"]}, {"value": "recovered", "x": "delta"}, [2]),
    ],
)
def test_it_goes_on_until_each_threshold_is_narrow(tmp_path: Path, axes: Any, report: Any, at: list[float]) -> None:
    half = 0.35 * at[0] / 2
    summary = until(own(tmp_path, axes, report=report), tmp_path / "out", f"threshold +-{half}")
    found = thresholds(tmp_path / "out")
    assert (summary.unmet, len(found)) == ("", len(at))
    for one, true in zip(found, at, strict=True):
        assert one.interval.low <= true <= one.interval.high
        assert (one.interval.high - one.interval.low) / 2 <= half
    last = rounds(tmp_path / "out")[-1]["until"]["panels"]
    assert [interim_level(panel["level_of"]) for panel in last] == [one.interval.level for one in found]
    assert [panel["title"] for panel in last] == [one.panel.title for one in found]


def test_a_slice_that_is_known_gets_no_more_trials_and_the_ceiling_is_per_slice(tmp_path: Path) -> None:
    """At d = 2 the transition is wider than at d = 60."""
    axes = {**AXES, "d": [2, 60]}
    summary = until(own(tmp_path, axes), tmp_path / "out", "threshold +-0.3", ("sampling.ceiling=3",))
    wide, sharp = rounds(tmp_path / "out")[-1]["until"]["panels"]
    assert sharp["known"]
    assert wide["trials"] > sharp["trials"]
    assert wide["trials"] <= 3 * FIRST // 2
    assert len(summary.interim) == 2
    assert summary.interim[1].startswith("d = 60: δ at 50 % = ")


def test_trials_that_cannot_narrow_the_interval_are_not_spent(tmp_path: Path) -> None:
    """At d = 64 all trials fail at delta = 1 and succeed at 3, so the interval is 1 to 3 after any number of trials."""
    axes = {**AXES, "delta": [0.5, 1, 3, 3.25], "d": [64]}
    summary = until(own(tmp_path, axes), tmp_path / "out", "threshold +-0.5")
    assert summary.planned == 16
    assert summary.unmet.startswith("the spacing of the grid limits the interval, not the trials")
    (found,) = thresholds(tmp_path / "out")
    assert (found.interval.low, found.interval.high) == (1, 3)


def test_a_half_width_below_the_spacing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        load(own(tmp_path), ["sampling.refine=false"], "threshold +-0.1")
    assert "ends at values of delta, so its half width is at least 0.125: allow `refine: true`" in str(refused.value)
    assert load(own(tmp_path, report={**ALONG, "pool": "delta"}), (), "threshold +-0.1").size
