"""`recover submit`: write and submit a script that runs a sweep on a SLURM cluster."""

import shutil
import sys
from pathlib import Path

import click

from . import options


@click.command()
@options.config
@click.option("--array", metavar="N[%M]", help="Job array of N tasks, M at a time; each runs one shard on one core.")
@click.option("--dask", type=click.IntRange(1), metavar="N", help="One job: a Dask cluster of N one-core workers.")
@click.option("--missing", is_flag=True, help="Submit the tasks of the last array that have missing trials.")
@options.out
@options.overrides
@click.option("--time", metavar="TIME", help="Time limit, such as 2h or 02:00:00. A task that reaches it is requeued.")
@click.option("--mem", metavar="SIZE", help="Memory per task, such as 4G.")
@click.option("--sbatch", "further", metavar="OPTION", multiple=True, help="Another #SBATCH option; repeatable.")
@click.option(
    "--setup", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Shell lines for each task."
)
@click.option("--now", is_flag=True, help="Also submit the script.")
def command(
    config: str,
    array: str | None,
    dask: int | None,
    missing: bool,
    out: Path | None,
    overrides: tuple[str, ...],
    time: str | None,
    mem: str | None,
    further: tuple[str, ...],
    setup: Path | None,
    now: bool,
) -> None:
    """Write an sbatch script that runs the sweep CONFIG, and print its path and a forecast.

    \b
    recover submit p1-fig06 --array 50 --time 02:00:00 --now
    recover submit p1-fig06 --dask 32 --sbatch=--partition=long --setup modules.sh
    recover submit results/p1-fig06 --missing --time 04:00:00

    The script, a copy of CONFIG and of the user modules beside it are written to a new folder in RESULTS/slurm, so
    later edits do not reach the tasks. With --missing, CONFIG is a results folder, and its script is submitted at once.
    """
    from recovery.config import Even
    from recovery.extras import submissions
    from recovery.extras.slurm_script import Job, array_of, sbatch, slurm_memory, slurm_option, slurm_time, write_script
    from recovery.extras.task_forecast import forecast_tasks
    from recovery.runner.loading import load
    from recovery.runner.plan import plan

    if (array is not None) + (dask is not None) + missing != 1:
        raise click.UsageError("give one of --array N, --dask N and --missing")
    time, mem = time and slurm_time(time), mem and slurm_memory(mem)
    asked = [slurm_option(option) for option in further]
    if missing:
        if out is not None or overrides or setup is not None:
            raise click.UsageError("--missing runs an array as it was submitted, without --out, --set and --setup")
        asked += [f"--time={time}"] if time else []
        asked += [f"--mem={mem}"] if mem else []
        click.echo(submissions.submit_missing(Path(config).absolute(), asked))
        return
    tasks, at_once = array_of(array) if array else (dask or 1, None)
    path, sweep = [*sys.path], load(config, overrides)
    folder = (out or Path("results") / sweep.name).absolute()
    expected = forecast_tasks(plan(sweep, folder), tasks)
    if array:
        expected.refuse_short_tasks()
    for warning in expected.warnings(time, mem):
        click.echo(f"warning: {warning}", err=True)
    logs, name = submissions.snapshot(config, overrides, folder)
    try:
        # without the folder of CONFIG, whose modules would be imported instead of those of the snapshot
        sys.path[:] = path
        # an error in the snapshot is raised here, because otherwise it would end every task
        load(str(logs / name), overrides)
        arguments = [str(logs / name), "--out", str(folder), *(part for text in overrides for part in ("--set", text))]
        rounds = not isinstance(sweep.sampling, Even)
        first = setup.read_text(errors="replace") if setup else ""
        job = Job(sweep.name, arguments, logs, Path.cwd(), time, mem, asked, rounds, logs, first)
        script = logs / ("array.sbatch" if array else "dask.sbatch")
        write_script(script, job.array(tasks, at_once) if array else job.dask(tasks))
        if array:
            submissions.Submission(logs, name, overrides, tasks).write_record()
    except BaseException:
        shutil.rmtree(logs)
        raise
    click.echo(str(expected), err=True)
    click.echo(sbatch(script) if now else f"{script}\nsubmit it: sbatch {script}")
