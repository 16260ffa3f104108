"""Number of trials that an adaptive sweep will take, from simulations with a guess of its success probabilities."""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy

from recovery.config import Cell, Sweep, Trial
from recovery.config.header import NamedCurve
from recovery.methods.columns import parse_event
from recovery.report.diagram import Diagram
from recovery.report.diagram.theory_lines import RISING
from recovery.report.until import interim_analysis, outcomes_of
from recovery.runner.engine import Engine
from recovery.runner.placement import TransitionCurve
from recovery.runner.plan import plan
from recovery.runner.progress import Progress
from recovery.runner.rounds import slices_of
from recovery.runner.run import Options, run
from recovery.runner.stop import Stop
from recovery.runner.trial import Row
from recovery.store import read
from recovery.theory import CURVES
from recovery.types import Array, Rng

SWEEPS = 5
"""Number of simulated sweeps. Their median has an error of about a fifth: more would not mend the guess."""
Chance = Callable[[Cell], float]


@dataclass(frozen=True, kw_only=True)
class Simulation(Engine):
    """An engine that draws the outcome of each trial with the probability of its cell, and runs nothing."""

    jobs: int = 1
    event: str
    chance: Chance
    rng: Rng = field(repr=False)

    def run(
        self, trials: Iterable[Trial], others: Callable[[], Array | None] = lambda: None
    ) -> Generator[list[tuple[Trial, Row]], None, None]:
        column, bound = parse_event(self.event)
        values: tuple[Any, Any] = (False, True) if bound is None else (bound + 1, bound)
        made: Row = {"started_at": datetime.now(UTC), "seconds": 0.0, "status": "ok", "unmeasured": "[]"}
        drawn = [(trial, values[self.rng.random() < self.chance(trial.cell)]) for trial in trials]
        yield [(trial, {**made, "trial_id": trial.id, column: value}) for trial, value in drawn]


def expected(sweep: Sweep, out: Path) -> str:
    """Return in words how many trials the rule of an adaptive sweep will take. out: its folder, whose rows are used."""
    (words, chance), trials, met = guess(sweep, out), list[int](), 0
    for seed in range(SWEEPS):
        engine = Simulation(event=sweep.report.event, chance=chance, rng=np.random.default_rng(seed))
        with TemporaryDirectory() as folder, Stop() as stop:
            summary = run(plan(sweep, Path(folder) / "simulated"), Options(engine), Progress(), stop, interim_analysis)
        trials, met = [*trials, summary.planned], met + (not summary.unmet)
    low, middle, high = np.quantile(trials, (0, 0.5, 1)).astype(int)
    sweeps = f"{low} to {high} in {SWEEPS} simulated sweeps, {met} of which meet the rule"
    return f"about {middle} trials ({sweeps}; {words})"


def guess(sweep: Sweep, out: Path) -> tuple[str, Chance]:
    """Return what the guess is made from, in words, and the function that guesses the event's probability at a cell."""
    stored, slices, fitted = plan(sweep, out), dict[str, Any](), False
    known = outcomes_of(Diagram.of(read(out), sweep.report.event)) if stored.counts else {}
    for cells, part in zip(*slices_of(sweep, stored.trials, known), strict=True):
        curve, found = part.curve, part.transition
        # without a fit, assume a rise from 2 to 98 % over the middle half of the slice
        middle, slope = float(np.median(part.n)), 8 / max(float(np.ptp(part.n)), 1e-9)
        even = TransitionCurve(False, curve.probability), middle, slope
        probit = (curve, found.half, found.slope) if found else even
        x = [sweep.slicing.value(cell.coordinates) for cell in cells]
        slices[sweep.slicing.key(cells[0].coordinates)] = (x, part.n, *probit)
        fitted = fitted or found is not None

    def of_slice(cell: Cell) -> float:
        x, places, curve, half, slope = slices[sweep.slicing.key(cell.coordinates)]
        place = np.interp([sweep.slicing.value(cell.coordinates)], x, places)
        return float(scipy.special.ndtr(slope * (place - half) / curve.width(place) + curve.quantile)[0])

    laws = [CURVES.get(RISING.get(one.name, one.name)) for one in sweep.report.lines if isinstance(one, NamedCurve)]
    given = set.intersection(*({*cell.coordinates} for cell in sweep.cells))
    usable = [law for law in laws if law and law.level == 0.5 and given.issuperset(law.axes)]
    if usable and not fitted:

        def by_law(cell: Cell) -> float:
            at = (np.array(cell.coordinates[axis], float) for axis in usable[0].axes)
            return float(usable[0].function(*at))

        return f"from the curve {usable[0].name}", by_law
    words = "the stored rows" if fitted else "a transition in the middle of each slice, from 2 to 98 % over half of it"
    return f"from {words}", of_slice
