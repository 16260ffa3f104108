"""`recover submit`: write and submit a script that runs a sweep on a SLURM cluster."""

import shlex
from pathlib import Path

import click

from . import options


@click.command()
@options.config
@click.option("--array", metavar="N[%M]", required=True, help="N tasks, M at a time; each runs one shard on one core.")
@options.out
@options.overrides
@click.option("--time", metavar="TIME", help="Time limit, such as 02:00:00. A task that reaches it is requeued.")
@click.option("--mem", metavar="SIZE", help="Memory per task, such as 4G.")
@click.option("--sbatch", "further", metavar="OPTION", multiple=True, help="Another #SBATCH option; repeatable.")
@click.option("--setup", type=options.FolderPath(exists=True, dir_okay=False), help="Shell lines for each task.")
@click.option("--now", is_flag=True, help="Also submit the script.")
def command(
    config: str,
    array: str,
    out: Path | None,
    overrides: tuple[str, ...],
    time: str | None,
    mem: str | None,
    further: tuple[str, ...],
    setup: Path | None,
    now: bool,
) -> None:
    """Create the results folder of the sweep CONFIG, write an sbatch script that runs it, and print its path.

    \b
    recover submit p1-fig24 --array 50 --time 02:00:00 --now
    recover submit p1-fig24 --array 50%10 --sbatch=--partition=long --setup modules.sh

    Tasks read the sweep from the folder, so later edits of CONFIG do not reach them. Submit the same script again to
    run the trials that are missing.
    """
    from recovery.config import Even
    from recovery.errors import ParameterError
    from recovery.extras.slurm import LEAST_SECONDS, array_script, sbatch
    from recovery.report.formats import write
    from recovery.runner.forecast import forecast
    from recovery.runner.loading import load
    from recovery.runner.plan import plan
    from recovery.runner.run import Options, open_folder

    sweep = load(config, overrides)
    results = (out or Path("results") / sweep.name).absolute()
    asked = [*([f"--time={time}"] if time else []), *([f"--mem={mem}"] if mem else []), *further]
    lines = setup.read_text(errors="replace") if setup else ""
    text = array_script(sweep.name, results, array, asked, lines, rounds=not isinstance(sweep.sampling, Even))
    planned = plan(sweep, results)
    if planned.next_round is None and (tasks := int(array.partition("%")[0])) > 1:
        expected = forecast(planned, Options.of(sweep, tasks, None, None, shard=(1, 1)))
        if expected.timed > expected.failed and expected.seconds < LEAST_SECONDS:
            raise ParameterError(f"{tasks} tasks for {expected}: starting one takes longer; use `recover sweep`")
    open_folder(planned)
    script = write(results / "slurm" / "array.sbatch", text.encode(), results)
    click.echo(f"{len(planned.missing)} of {len(planned.trials)} trials to run", err=True)
    click.echo(sbatch(script) if now else f"{script}\nsubmit it: {shlex.join(['sbatch', str(script)])}")
