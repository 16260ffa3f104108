"""Key and certificate of one dask cluster, which only processes that can read their folder can join.

python -m recovery.extras.credentials FOLDER     writes FOLDER/cert.pem and FOLDER/key.pem, readable by the user only
"""

import sys
from pathlib import Path

from recovery.errors import ParameterError, RecoverError


def write(folder: Path) -> None:
    """Write key and certificate; a requeued job, which keeps its number, replaces those of its killed predecessor.

    Raises `ParameterError` if packages that dask needs for TLS are not installed.
    """
    try:
        from distributed.security import Security

        security = Security.temporary()
    except ImportError as error:
        raise ParameterError(
            "dask over TLS needs packages that are not installed: pip install 'recover[dask]'"
        ) from error
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    for name, text in (("cert", security.tls_ca_file), ("key", security.tls_client_key)):
        path = folder / f"{name}.pem"
        path.unlink(missing_ok=True)
        path.touch(mode=0o600)
        path.write_text(text)


if __name__ == "__main__":
    try:
        write(Path(sys.argv[1]))
    except RecoverError as error:
        sys.exit(f"Error: {error}")
