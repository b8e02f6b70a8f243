"""Limbs, feet and pelvis of every clip of the motion sets, against what a person said who looked at pictures of it."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

import pytest

import poise
from poise.body import Character, fit
from poise.core.errors import PoiseError
from poise.core.units import HUMAN_LEG, UNITS
from poise.io.gltf_clip import clip_names
from poise.io.gltf_document import open_gltf
from poise.phases import find_floor, leg_length
from tests.clips import MOTIONS

TABLE = tomllib.loads((Path(__file__).parent / "data" / "readings.toml").read_text(encoding="utf-8"))
SETS = (MOTIONS, MOTIONS.with_name("motions2"))
ENOUGH = 0.97
"""Share of the clips that must be read as the person does."""


def clips_of(path: Path, most: int) -> list[int | None]:
    """Clips of a file: all, or a few from first to last."""
    if path.suffix not in (".glb", ".gltf"):
        return [None]
    count = len(clip_names(open_gltf(path)))
    step = max(1, -(-count // most))
    return [*range(0, count, step)]


def differences(character: Character, truth: dict[str, Any]) -> list[str]:
    """What a character says otherwise than the person; empty if nothing."""
    names = [body.name for body in character.bodies]
    found = []
    if "pelvis" in truth and names[character.roles["pelvis"]] not in truth["pelvis"].split("|"):
        found.append(f"pelvis {names[character.roles['pelvis']]} instead of {truth['pelvis']}")
    for kind in ("leg", "arm"):
        limbs = [[names[b] for b in limb.bodies] for limb in character.limbs if limb.kind == kind]
        wanted = truth.get(f"{kind}s")
        if wanted is None:
            continue
        if len(limbs) != len(wanted):
            found.append(f"{len(limbs)} {kind}s instead of {len(wanted)}")
        for limb in wanted:
            first, last = (set(part.split("|")) for part in limb.split(" > "))
            if not any(first & set(bodies) and last & set(bodies[-2:]) for bodies in limbs):
                found.append(f"no {kind} {limb}")
    return found


def read_all(most: int) -> tuple[int, list[str]]:
    """How many clips were read, and a line for each that is read otherwise."""
    paths = {path.name: path for root in reversed(SETS) if root.is_dir() for path in root.rglob("*") if path.is_file()}
    count, wrong = 0, []
    for truth in TABLE["reading"]:
        for name in truth["files"]:
            if name not in paths:
                continue
            for clip in clips_of(paths[name], most):
                count += 1
                try:
                    skeleton = paths.get(truth.get("skeleton", ""))
                    said = differences(fit(poise.load(paths[name], clip=clip, skeleton=skeleton)), truth)
                except PoiseError as error:
                    said = [str(error)]
                if said:
                    wrong.append(f"{name} [{clip}]: {'; '.join(said)}")
    return count, wrong


def read_sources() -> tuple[int, list[str]]:
    """How many clips were read, and a line for each whose axis, unit, rate or floor is another than the person's."""
    paths = {path.name: path for root in reversed(SETS) if root.is_dir() for path in root.rglob("*") if path.is_file()}
    count, wrong = 0, []
    for truth in TABLE["source"]:
        for name, height in truth["floor"].items():
            if name not in paths:
                continue
            count += 1
            clip = 0 if paths[name].suffix in (".glb", ".gltf") else None
            try:
                motion = poise.load(paths[name], clip=clip)
            except PoiseError as error:
                wrong.append(f"{name}: {error}")
                continue
            assert motion.source is not None
            evidence = motion.source.evidence
            fps = evidence["implied_fps"].value if "implied_fps" in evidence else motion.fps
            floor, near = find_floor(motion).value, 0.04 * leg_length(motion.skeleton) / HUMAN_LEG
            said = {
                "up": (motion.source.up == truth["up"], motion.source.up),
                "unit": (abs(motion.source.unit / UNITS[truth["unit"]] - 1.0) < 1e-3, motion.source.unit),
                "fps": (abs(fps / truth["fps"] - 1.0) < 0.05, fps),
                "floor": (math.isnan(height) or abs(floor - height) < near, round(floor, 3)),
            }
            wrong += [f"{name}: {key} {value}" for key, (is_right, value) in said.items() if not is_right]
    return count, wrong


@pytest.mark.long
@pytest.mark.skipif(not any(root.is_dir() for root in SETS), reason="needs real clips; set POISE_MOTIONS")
@pytest.mark.filterwarnings("ignore")
def test_axis_unit_rate_and_floor_are_read_as_a_person_does() -> None:
    count, wrong = read_sources()
    clips = {line.partition(":")[0] for line in wrong}
    print(f"{count - len(clips)} of {count} clips are read as a person does", *wrong, sep="\n")
    assert len(wrong) <= (1.0 - ENOUGH) * 4 * count, wrong  # of all answers
    assert not [line for line in wrong if ": up" in line or ": unit" in line], wrong


@pytest.mark.long
@pytest.mark.skipif(not any(root.is_dir() for root in SETS), reason="needs real clips; set POISE_MOTIONS")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("most", [1, pytest.param(3, marks=pytest.mark.long)])
def test_limbs_feet_and_pelvis_are_read_as_a_person_does(most: int) -> None:
    """Most clips of one file hold the same skeleton, so one of each is read here, and three with the long tests."""
    count, wrong = read_all(most=most)
    print(f"{count - len(wrong)} of {count} clips are read as a person does", *wrong, sep="\n")
    assert len(wrong) <= (1.0 - ENOUGH) * count, wrong
