"""Who does the clips of a folder: processes of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from poise.core.errors import InvalidValue, MissingExtra, install_line


@contextmanager
def workers_of(jobs: str | None) -> Iterator[dict[str, Any]]:
    """Who does the work, as arguments of `each`: so many processes, or the workers of a Dask scheduler.

    Raises:
        InvalidValue: if it is neither, nobody answers at the address, or workers have several threads.
        MissingExtra: for an address without the package `distributed`.
    """
    if jobs is None or jobs.lstrip("-").isdecimal():
        yield {"workers": None if jobs is None else int(jobs)}
        return
    if "://" not in jobs:
        raise InvalidValue(f"--jobs is {jobs!r}; give a number of processes, or an address such as tcp://node:8786.")
    try:
        from distributed import Client  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingExtra(f"--jobs with an address needs Dask: {install_line('cluster')}.") from None
    try:
        client: Any = Client(jobs, timeout=10.0)
    except (OSError, ValueError) as error:  # an address of no known kind, or nobody there
        raise InvalidValue(f"No Dask scheduler answers at {jobs} ({error}). Start one with: dask scheduler.") from None
    with client:
        if any(threads > 1 for threads in client.nthreads().values()):
            raise InvalidValue("A Dask worker would do several clips in one process: start workers with --nthreads 1.")
        yield {"executor": client.get_executor(pure=False)}
