"""`recover submit`: write and submit a script that runs a sweep on a SLURM cluster."""

from pathlib import Path

import click

from . import options


@click.command()
@options.config
@click.option("--array", metavar="N[%M]", help="Job array of N tasks, M at a time; each runs one shard on one core.")
@click.option("--dask", type=click.IntRange(1), metavar="N", help="One job: a Dask cluster of N one-core workers.")
@options.out
@options.overrides
@click.option("--time", metavar="TIME", help="Time limit, such as 2h or 02:00:00. A task that reaches it is requeued.")
@click.option("--mem", metavar="SIZE", help="Memory per task, such as 4G.")
@click.option("--sbatch", "further", metavar="OPTION", multiple=True, help="Another #SBATCH option; repeatable.")
@click.option("--now", is_flag=True, help="Also submit the script.")
def command(
    config: str,
    array: str | None,
    dask: int | None,
    out: Path | None,
    overrides: tuple[str, ...],
    time: str | None,
    mem: str | None,
    further: tuple[str, ...],
    now: bool,
) -> None:
    """Write an sbatch script that runs the sweep CONFIG, and print its path.

    \b
    recover submit p1-fig06 --array 50 --time 02:00:00 --now
    recover submit p1-fig06 --dask 32 --sbatch=--partition=long
    """
    from recovery.config import Even
    from recovery.extras.slurm_script import Job, array_of, sbatch, slurm_memory, slurm_option, slurm_time, write_script
    from recovery.runner.loading import load
    from recovery.runner.plan import plan

    if (array is None) == (dask is None):
        raise click.UsageError("give either --array N or --dask N")
    sweep = load(config, overrides)
    folder = (out or Path("results") / sweep.name).absolute()
    plan(sweep, folder)  # fails now with an error that would otherwise end every task
    modules = Path(config).absolute().parent if Path(config).is_file() else None
    config = str(Path(config).absolute()) if modules else config
    arguments = [config, "--out", str(folder), *(part for text in overrides for part in ("--set", text))]
    logs = folder / "slurm"
    job = Job(
        sweep.name,
        arguments,
        logs,
        Path.cwd(),
        time and slurm_time(time),
        mem and slurm_memory(mem),
        [slurm_option(option) for option in further],
        not isinstance(sweep.sampling, Even),
        modules,
    )
    script = logs / ("array.sbatch" if array else "dask.sbatch")
    write_script(script, job.array(*array_of(array)) if array else job.dask(dask or 1))
    click.echo(sbatch(script) if now else f"{script}\nsubmit it: sbatch {script}")
