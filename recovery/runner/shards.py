"""Which share of a sweep this process runs, when several share it without talking to each other."""

import heapq
from collections.abc import Iterable, Mapping

from recovery.config import Trial
from recovery.errors import ParameterError
from recovery.runner.batches import cost


def share(trials: Iterable[Trial], index: int, count: int) -> list[Trial]:
    """Shard `index` (from 1) of `count`: every trial is in exactly one, and their costs are balanced.

    Greedy: the dearest trial to the shard with the least so far. It depends on the whole plan and nothing else,
    so that shards agree whenever they start.
    """
    dearest_first = sorted(trials, key=lambda trial: (-cost(trial), trial.id))
    loads = [(0.0, shard) for shard in range(1, min(count, len(dearest_first)) + 1)]  # the others get nothing
    mine = []
    for trial in dearest_first:
        load, shard = heapq.heappop(loads)
        heapq.heappush(loads, (load + cost(trial), shard))
        if shard == index:
            mine.append(trial)
    return mine


def slurm_shard(environment: Mapping[str, str]) -> tuple[int, int] | None:
    """The shard of this task of a SLURM job array; None outside one. Raises `ParameterError` for an array with gaps."""
    task = environment.get("SLURM_ARRAY_TASK_ID")
    if task is None:
        return None
    first, last, count, step = (
        int(environment.get(f"SLURM_ARRAY_TASK_{name}", default))
        for name, default in (("MIN", task), ("MAX", task), ("COUNT", "1"), ("STEP", "1"))
    )
    index, rest = divmod(int(task) - first, step)
    if rest or first + (count - 1) * step != last:
        raise ParameterError(
            f"this SLURM array (tasks {first} to {last}, {count} of them) has gaps, so its shards are not known; "
            "give --shard I/N"
        )
    return index + 1, count
