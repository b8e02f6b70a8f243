"""The project's own creatures, as their script draws them: files that can be read, and characters that stand."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from poise.body.limits import clamp_rotation
from poise.body.posing import body_poses, hinge_angle
from poise.body.toml_file import load_character, save_character
from poise.core import rotations
from poise.show.arrays import unpack
from poise.show.motion_scene import scene_of_motion, skins_of
from poise.show.pack import pack
from poise.tracking.calibration import standing_pose
from poise.tracking.retarget import end_body
from poise.tracking.setup import begin, find_checks

SCRIPTS = Path(__file__).parents[1] / "scripts"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    sys.path.insert(0, str(SCRIPTS))
    try:
        return runpy.run_path(str(SCRIPTS / "make_creatures.py"))
    finally:
        sys.path.remove(str(SCRIPTS))


def test_the_colors_of_vertices_reach_the_page(script: dict[str, Any], tmp_path: Path) -> None:
    creature, path = script["Creature"]("ball"), tmp_path / "ball.glb"
    creature.belly = (1.0, 0.0, 0.0)
    creature.joint("Hips", "", 0.0, 0.0, 1.0)
    creature.joint("Spine", "Hips", 0.0, 0.0, 1.1)
    creature.joint("Neck", "Spine", 0.0, 0.0, 1.2)
    creature.joint("Tip", "Neck", 0.0, 0.0, 1.3)
    creature.rod("Hips", "Tip", 0.1, 0.1, (0.0, 0.0, 1.0))
    script["write"](creature, path)
    (skin,) = skins_of(poise.load(path))
    assert skin.color == (1.0, 1.0, 1.0)  # it multiplies them
    assert skin.colors is not None
    assert skin.colors.shape == skin.vertices.shape
    top, bottom = skin.vertices[:, 1].argmax(), skin.vertices[:, 1].argmin()  # Y is up in the file
    np.testing.assert_allclose(skin.colors[top], [0.0, 0.0, 1.0], atol=0.02)
    assert skin.colors[bottom, 0] > 0.6 > skin.colors[bottom, 2]
    header = unpack(pack(scene_of_motion(poise.load(path), physics=False))).header
    assert all("colors" in entry for entry in header["tracks"][0]["skins"])


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "free", "least", "most"), [("raptor", 1, 50, 70), ("rex", 1, 50, 70), ("alien", 2, 40, 70)]
)
def test_a_creature_has_a_skin_colors_and_a_character_that_stands(
    name: str, free: int, least: int, most: int, script: dict[str, Any], tmp_path: Path
) -> None:
    creature, path = script["CREATURES"][name](), tmp_path / f"{name}.glb"
    script["write"](creature, path)
    character = script["set_up"](creature, path)
    save_character(character, path.with_suffix(".toml"))
    read = load_character(path.with_suffix(".toml"))
    assert least <= read.nv <= most
    assert find_checks(begin(read)) == ()  # it stands, and every limb has a role
    assert sum(limb.role == "free" for limb in read.limbs) == free
    assert sum(limb.role == "support" for limb in read.limbs) == 2
    # as heavy as drawn: twice as thick at the root of the tail is four times the mass
    tail = next(limb for limb in read.limbs if limb.role == "free")
    masses = [read.bodies[b].mass for b in tail.bodies]
    assert masses[0] > 3.0 * masses[-1]
    assert read.mass == pytest.approx(script["MASSES"][name], rel=0.2)
    assert np.isfinite(poise.load(path).rotations).all()
    for leg in (limb for limb in read.limbs if limb.role == "support"):
        assert tilt_aside(read, leg.bodies[0], end_body(read, leg.name), 0.25) < 0.01


def tilt_aside(character: poise.Character, hip: int, sole: int, angle: float) -> float:
    """How far from level a sole stays [rad] under a leg that is lifted aside by an angle [rad] at the hip."""
    q = standing_pose(character)
    body, at, over = character.bodies[sole], character.q_addresses[sole], character.q_addresses[hip]
    level = body_poses(character, q[None])[1][0, sole]
    aside = rotations.from_rotation_vector(np.array([0.0, 0.0, angle]))
    q[over : over + 4] = rotations.multiply(aside, q[over : over + 4])
    turns = body_poses(character, q[None])[1][0]
    wanted = rotations.multiply(rotations.conjugate(turns[body.parent]), level)
    if body.kind == "hinge":
        assert body.axis is not None
        q[at] = float(hinge_angle(body.axis, wanted, body.rest_rotation))
    else:
        assert body.limits is not None
        q[at : at + 4] = clamp_rotation(body.limits, wanted)
    turned = rotations.multiply(body_poses(character, q[None])[1][0, sole], rotations.conjugate(level))
    return float(np.linalg.norm(rotations.to_rotation_vector(turned)))


def test_the_hops_of_the_rex_stand_where_they_stand(script: dict[str, Any]) -> None:
    creature = script["CREATURES"]["rex"]()
    clip = script["CLIPS"]["rex"]["Hops"](creature)
    places, turns = {"Hips": clip.root}, {"Hips": clip.turns["Hips"]}
    for name, (parent, place) in creature.joints.items():
        if parent:
            offset = (np.array(place) - creature.joints[parent][1])[[1, 2, 0]]
            places[name] = places[parent] + rotations.rotate(turns[parent], offset)
            turns[name] = rotations.multiply(turns[parent], clip.turns.get(name, rotations.IDENTITY))
    for side in ("Left", "Right"):
        toes = places[f"{side}ToeBase"]
        assert toes[:, 1].min() > 0.0449  # its height at rest
        for first, last in ((0.0, 1.1), (2.4, 3.0), (4.9, 5.65), (6.95, 7.8)):
            stand = toes[round(first * clip.fps) + 1 : round(last * clip.fps)]
            np.testing.assert_allclose(stand, np.tile(stand[0], (len(stand), 1)), atol=1e-6)


@pytest.mark.long
def test_hops_that_no_physics_allows_come_back_bit_for_bit_among_bodies(script: dict[str, Any], tmp_path: Path) -> None:
    creature, path = script["CREATURES"]["rex"](), tmp_path / "rex.glb"
    script["write"](creature, path, {"Hops": script["CLIPS"]["rex"]["Hops"](creature)})
    character = script["set_up"](creature, path)
    hops = poise.load(path, clip="Hops")
    scene = Path(__file__).parents[1] / "examples" / "scenes" / "hops.toml"
    empty = '<mujoco><worldbody><geom type="plane" size="9 9 1"/></worldbody></mujoco>'
    alone, among = (poise.simulate(hops, character, world=poise.World(world)) for world in (empty, scene))
    assert among.report["scene"]["contacts_mean"] > 10.0  # crates lie below the hops
    np.testing.assert_array_equal(among.motion.rotations, alone.motion.rotations)
    np.testing.assert_array_equal(among.motion.translations, alone.motion.translations)
    np.testing.assert_allclose(among.motion.rotations, hops.rotations, atol=1e-9)
