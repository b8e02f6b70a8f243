"""A folder, on a cluster

`each` runs a function of yours over many clips, in processes of this machine or in any executor of Python's
`concurrent.futures`. Every clip is shoved; one that fails is an error beside its name and stops no other. A Dask
scheduler is named with `--dask HOST:PORT`, a Ray cluster with `--ray ADDRESS` (`local` starts one here).
"""

from __future__ import annotations

import sys
import tempfile
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import poise
from poise.core.batch import each

OUT = Path(tempfile.mkdtemp()) if "--headless" in sys.argv else Path("out")


def shoved(path: Path) -> float:
    """What one worker does: read, push, write; how far the body was moved [m]."""
    motion = poise.load(path).cut(0.0, 1.5)
    push = poise.Push("chest", force=(0.0, 200.0, 0.0), start=0.3, duration=0.2)
    result = poise.simulate(motion, pushes=[push])
    poise.save(result.motion, path.with_name(f"{path.stem}_shoved.bvh"))
    return result.report["events"][0]["com_excursion_max_m"]


class RayExecutor(Executor):
    """Ray as an executor: its promises are futures already."""

    def __init__(self, address: str) -> None:
        import ray  # pyright: ignore[reportMissingImports]  # not needed by Poise itself

        self._ray, _ = ray, ray.init(address)

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._ray.remote(max_retries=0)(fn).remote(*args, **kwargs).future()


def executor() -> Executor:
    """The cluster's that was named, or two processes here."""
    if "--ray" in sys.argv:
        return RayExecutor(sys.argv[sys.argv.index("--ray") + 1])
    if "--dask" in sys.argv:
        from distributed import Client  # pyright: ignore[reportMissingImports]  # not needed by Poise itself

        return Client(sys.argv[sys.argv.index("--dask") + 1]).get_executor()
    return ProcessPoolExecutor(2)


def main() -> None:
    """Make a folder of clips, one of them broken; shove all; check."""
    OUT.mkdir(exist_ok=True)
    names = ("walk", "quadruped", "broken")
    for name in names[:2]:
        poise.save(poise.load(poise.sample_path(name)), OUT / f"{name}.bvh")
    (OUT / "broken.bvh").write_text("This is not a motion.\n")
    found = {}
    with executor() as workers:
        for path, moved in each(shoved, [OUT.resolve() / f"{n}.bvh" for n in names], executor=workers):
            found[path.stem] = moved
            print(f"{path.name}: {moved}" if isinstance(moved, Exception) else f"{path.name}: {100 * moved:.0f} cm")
    check(found)


def check(found: dict[str, float | Exception]) -> None:
    """Both figures were moved and written; what is broken is told."""
    for name in ("walk", "quadruped"):
        assert not isinstance(moved := found[name], Exception)
        assert 0.01 < moved < 1.0
        assert (OUT / f"{name}_shoved.bvh").exists()
    assert isinstance(found["broken"], poise.PoiseError)


if __name__ == "__main__":
    main()
