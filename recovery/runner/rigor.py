"""Stored verdicts proved again by a machine that rounds nothing: one trial, and the counts of many."""

import csv
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from recovery.config import Trial
from recovery.errors import StoreError
from recovery.methods.min_norm import MinNorm
from recovery.methods.rigorous import Verified, verify_rigorously
from recovery.runner.trial import Row, draw_instance


@dataclass(frozen=True)
class Checked:
    """A stored row's verdict, what became of its proof, and the seconds that this took."""

    trial_id: str
    verdict: str | None
    result: Verified
    seconds: float

    @property
    def outcome(self) -> str:
        """`proved`, `not proved`, or `no verdict` where the row claims nothing."""
        if self.result.proved:
            return "proved"
        return "no verdict" if self.verdict in (None, "undecided") else "not proved"


def check(trial: Trial, row: Row) -> Checked:
    """Prove the verdict of a trial's stored row."""
    clock = time.perf_counter()
    verdict, method = row.get("verdict"), trial.cell.method
    if not isinstance(method, MinNorm):
        result = Verified(False, "only verdicts of min_norm are proved")
    else:
        try:
            result = verify_rigorously(draw_instance(trial), trial.cell.architecture, method, verdict)
        except Exception as error:  # also the user's own: a row that fails is a row
            result = Verified(False, f"{type(error).__name__}: {error}")
    return Checked(trial.id, verdict, result, time.perf_counter() - clock)


def summary(checked: Iterable[Checked]) -> list[str]:
    """Lines with the share of verdicts proved, what was proved of each verdict, and why others were not."""
    rows = list(checked)
    claims = [row for row in rows if row.outcome != "no verdict"]
    proved = [row for row in claims if row.result.proved]
    share = f" ({100 * len(proved) / len(claims):.3g} %)" if claims else ""
    lines = [f"{len(proved)} of {len(claims)} verdicts proved{share}, {len(rows) - len(claims)} rows without a verdict"]
    for verdict, count in sorted(Counter(str(row.verdict) for row in claims).items()):
        lines.append(f"  {verdict}: {sum(row.verdict == verdict for row in proved)} of {count}")
    for reason, count in Counter(row.result.reason for row in claims if not row.result.proved).most_common():
        lines.append(f"  not proved, {count}: {reason}")
    errors = [row.result.label_error for row in proved if row.result.label_error is not None]
    if errors:
        lines.append(f"  proved about the labels A W* exactly; stored labels are within {max(errors):.2g} of them")
    if rows:
        seconds = sorted(row.seconds for row in rows)
        lines.append(f"  {seconds[len(seconds) // 2]:.2g} s a row (median), at most {seconds[-1]:.2g} s")
    return lines


def write(path: Path, checked: Iterable[Checked]) -> None:
    """A line a row: trial_id, verdict, outcome, reason, bound, label_error, seconds. Raises `StoreError`."""
    try:
        with path.open("w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["trial_id", "verdict", "outcome", "reason", "bound", "label_error", "seconds"])
            for row in checked:
                found = row.result
                out.writerow(
                    [row.trial_id, row.verdict, row.outcome, found.reason, found.bound, found.label_error, row.seconds]
                )
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from error
