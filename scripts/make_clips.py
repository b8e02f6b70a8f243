"""Make the clips of the gallery that do not come with the package: `python scripts/make_clips.py [FOLDER]`.

As the bundled samples, they are computed from the numbers in `scripts/samples`; the run is made from goals alone, and
the walking controller from the bundled walk. No captured motion goes in.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from samples import bvh, dive
from samples.figure import Array, Figure

import poise

AUTHORS: dict[str, Callable[[], tuple[Figure, Array, Array, int]]] = {"dive": dive.dive}


def main() -> None:
    """Write all of them."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in AUTHORS.items():
        figure, translations, local, fps = draw()
        path = folder / f"{name}.bvh"
        bvh.write(path, bvh.text(figure.skeleton, bvh.channels(translations, local), fps))
        print(f"{path}: {len(translations) / fps:.1f} s")
    poise.save(poise.synthesize("run", seconds=6.0).motion, folder / "run.bvh")
    poise.locomotion.build([poise.load(poise.sample_path("walk"))]).save(folder / "walker.npz")


if __name__ == "__main__":
    main()
