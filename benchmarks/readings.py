"""How the clips of both motion sets are read, against a table that a person made from pictures of them.

`python -m benchmarks.readings` prints the share of clips for limbs with feet, pelvis and mass, of files for axis, unit,
rate and floor, and every answer that differs; `--rates` adds which rate files are told at half and twice their own.

A mass is right within the person's range, or if Poise asks for the size.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import replace

from tests.test_readings import SETS, TABLE, clips_of, differences, read_sources

import poise
from poise.body import fit
from poise.core.errors import PoiseError
from poise.core.motion import Motion
from poise.intake import Custom, read_as

RATES = {0.5: 0.05, 2.0: 0.05}


def every_clip(most: int) -> Iterator[tuple[str, dict[str, object], Motion | PoiseError]]:
    """Name, the person's answers and the motion of each clip of the table, or why it cannot be read."""
    paths = {path.name: path for root in reversed(SETS) if root.is_dir() for path in root.rglob("*") if path.is_file()}
    for truth in TABLE["reading"]:
        for name in truth["files"]:
            for clip in clips_of(paths[name], most) if name in paths else ():
                try:
                    motion = poise.load(paths[name], clip=clip, skeleton=paths.get(truth.get("skeleton", "")))
                except PoiseError as error:
                    yield f"{name} [{clip}]", truth, error
                    continue
                yield f"{name} [{clip}]", truth, motion


def mass_fault(name: str, motion: Motion, mass: float) -> str:
    """What is wrong with a mass; "" if nothing."""
    assert motion.source is not None
    low, high = TABLE["mass"].get(name, TABLE["mass"]["usual"])
    asks = any("--height" in warning or "--unit" in warning for warning in motion.source.warnings)
    return "" if asks or low <= mass <= high else f"mass {mass:.3g} kg instead of {low} to {high}"


def rate_told(motion: Motion, factor: float) -> float:
    """The rate told for the same frames under a label of another rate [1/s]."""
    assert motion.source is not None
    quick = Motion(motion.skeleton, motion.times / factor, motion.translations, motion.rotations)
    custom = Custom("files", {"z": 1.0}, {"m": 1.0}, RATES, given_up="z", given_unit=1.0)
    found = read_as(replace(quick, source=None), custom).evidence
    return float(found["implied_fps"].value if "implied_fps" in found else quick.fps)  # pyright: ignore[reportArgumentType]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rates", action="store_true")
    parser.add_argument("--most", type=int, default=3, help="clips of one glTF file")
    wanted = parser.parse_args()
    warnings.simplefilter("ignore", poise.MotionWarning)
    count, lines, told = 0, [], {0.5: [0, 0], 1.0: [0, 0], 2.0: [0, 0]}
    true_rate = {name: float(truth["fps"]) for truth in TABLE["source"] for name in truth["floor"]}
    for name, truth, motion in every_clip(wanted.most):
        count += 1
        if isinstance(motion, PoiseError):
            lines.append(f"{name}: {motion}")
            continue
        character = fit(motion)
        said = differences(character, truth)
        if fault := mass_fault(name.partition(" [")[0], motion, character.mass):
            said.append(fault)
        lines += [f"{name}: {what}" for what in said]
        if wanted.rates and truth["legs"] and motion.frame_count > 30 and "[None]" in name:
            for factor, row in told.items():
                true = true_rate.get(name.partition(" [")[0], motion.fps)
                row[0] += abs(rate_told(motion, factor * true / motion.fps) / true - 1.0) < 0.05
                row[1] += 1
    wrong = {line.partition(": ")[0] for line in lines}
    limbs = {line.partition(": ")[0] for line in lines if ": mass" not in line}
    masses = {line.partition(": ")[0] for line in lines if ": mass" in line}
    print(f"limbs, feet, pelvis: {count - len(limbs)} of {count} clips; mass: {count - len(masses)} of {count}; "
          f"all of these: {100 * (count - len(wrong)) / count:.1f} %   bar 97")  # fmt: skip
    files, others = read_sources()
    for key in ("up", "unit", "fps", "floor"):
        print(f"{key}: {files - sum(f': {key}' in line for line in others)} of {files} files")
    print(*lines, *others, sep="\n  ")
    if wanted.rates:
        for factor, (right, of) in told.items():
            print(f"at {factor:g} × the rate: {right} of {of} are told their own rate")


if __name__ == "__main__":
    main()
