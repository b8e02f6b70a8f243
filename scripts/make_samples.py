"""Author the bundled samples: `python scripts/make_samples.py`, or `--check` to compare with the files that are there.

Everything is computed from the numbers in `scripts/samples`; no captured motion goes in. `--strips DIR` draws each
sample as stick figures from the side and from the front.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parent))

from samples import bvh, hover_hop, quadruped, sheet, walk
from samples.figure import Figure

Array = npt.NDArray[np.float64]

FOLDER = Path(__file__).parents[1] / "src" / "poise" / "samples"
AUTHORS: dict[str, Callable[[], tuple[Figure, Array, Array, int]]] = {
    "hover_hop": hover_hop.hover_hop,
    "quadruped": quadruped.quadruped,
    "walk": walk.walk,
}


def text(name: str) -> str:
    """What the file of this sample holds."""
    figure, translations, local, fps = AUTHORS[name]()
    return bvh.text(figure.skeleton, bvh.channels(translations, local), fps)


def difference(ours: str, theirs: str) -> float:
    """Largest difference between the numbers of two BVH files; infinite if anything else differs.

    Angles of the frames that differ by a full turn are the same: where a turn is half a circle, the last bit of another
    machine's sine decides between 180° and −180°.
    """
    a, b = ours.split(), theirs.split()
    if len(a) != len(b):
        return np.inf
    channels = [word for word in a if word.endswith(("position", "rotation"))]
    frames = a.index("Time:") + 2 if "Time:" in a else len(a)
    largest = 0.0
    for i, (x, y) in enumerate(zip(a, b)):
        if x != y:
            try:
                off = abs(float(x) - float(y))
            except ValueError:
                return np.inf
            if i >= frames and channels and channels[(i - frames) % len(channels)].endswith("rotation"):
                off = abs(math.remainder(off, 360.0))
            largest = max(largest, off)
    return largest


def main() -> int:
    """Write, check or draw the samples; 1 if a check fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=[], help=f"which samples; default all of {', '.join(AUTHORS)}")
    parser.add_argument("--check", action="store_true", help="write nothing; compare with the files that are there")
    parser.add_argument("--tolerance", type=float, default=2e-4, help="largest difference a check allows [cm, deg]")
    parser.add_argument("--strips", type=Path, metavar="DIR", help="draw strips of frames into DIR; write nothing else")
    options = parser.parse_args()
    wrong = False
    for name in options.names or AUTHORS:
        path = FOLDER / f"{name}.bvh"
        if options.strips:
            figure, translations, local, _ = AUTHORS[name]()
            frames = list(range(0, len(translations), max(1, len(translations) // 40)))
            for view in ("side", "front"):
                target = options.strips / f"{name}_{view}.png"
                sheet.strip(target, figure.skeleton, translations, local, frames, side=view == "side")
        elif options.check:
            off = difference(text(name), path.read_text(encoding="utf-8"))
            wrong |= off > options.tolerance
            sys.stdout.write(f"{path.name}: {'same to' if off <= options.tolerance else 'DIFFERS by'} {off:.1e}\n")
        else:
            bvh.write(path, text(name))
            sys.stdout.write(f"{path.name}: {path.stat().st_size // 1000} kB\n")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
