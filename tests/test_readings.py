"""Limbs, feet and pelvis of every clip of the motion sets, against what a person said who looked at pictures of it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

import poise
from poise.body import Character, fit
from poise.core.errors import PoiseError
from poise.io.gltf_clip import clip_names
from poise.io.gltf_document import open_gltf
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


@pytest.mark.skipif(not any(root.is_dir() for root in SETS), reason="needs real clips; set POISE_MOTIONS")
@pytest.mark.filterwarnings("ignore")
def test_limbs_feet_and_pelvis_are_read_as_a_person_does() -> None:
    count, wrong = read_all(most=3)
    print(f"{count - len(wrong)} of {count} clips are read as a person does", *wrong, sep="\n")
    assert len(wrong) <= (1.0 - ENOUGH) * count, wrong
