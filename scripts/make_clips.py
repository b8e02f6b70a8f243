"""Draw the clips of the gallery that do not come with the package: `python scripts/make_clips.py [FOLDER]`.

As the bundled samples, they are computed from the numbers in `scripts/samples`; no captured motion goes in.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from samples import bvh, dive
from samples.figure import Array, Figure

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


if __name__ == "__main__":
    main()
