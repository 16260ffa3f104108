"""`recover certificate`: the program, weights, dual and certificate of one trial."""

import sys
from pathlib import Path

import click

from . import options


@click.command()
@options.results
@click.argument("trial_id")
@click.option(
    "--out",
    type=options.instance_file,
    metavar="FILE",
    help="Write all arrays as .npz, and check.py.",
)
@options.trust
def command(results: Path, trial_id: str, out: Path | None, trust: bool) -> None:
    """Compute the certificate of the trial TRIAL_ID of RESULTS again. A unique prefix of the id is enough.

    W and the dual are computed again and the row is compared with the stored one. With --out FILE.npz also write
    check.py next to the file: it recomputes the certificate with NumPy alone, and with --cvxpy solves the program.

    Exit status: 0 if the row is the stored one up to rounding, or no row is stored; otherwise 1.
    """
    from recovery.extras.certificate import CHECK, certificate

    found = certificate(results, trial_id, trust=trust)
    click.echo(str(found))
    if out is not None:
        found.save(out)
        click.echo(f"saved     {out}, {out.with_name(CHECK)}")
    sys.exit(0 if found.agrees else 1)
