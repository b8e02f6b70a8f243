"""A character's file keeps what its limbs do, its weights and its rest poses; tracking reads them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.body.character import figure
from poise.body.toml_file import from_toml, to_toml
from poise.cli.app import run
from poise.core.errors import FileFormatError, InvalidValue
from poise.tracking import propose_roles, with_roles
from poise.tracking.calibration import standing_pose
from poise.tracking.lists import settings_of


def test_roles_weights_and_rest_poses_come_back() -> None:
    turn = np.array([0.8, 0.6, 0.0, 0.0])
    child = with_roles(figure("child"), "left_arm=free, right_arm<-left_arm")
    child = replace(child, weights={"tail_frequency": 9.0}, rest_poses={"standing": {"LeftArm": turn}})
    again = from_toml(to_toml(child))
    assert to_toml(again) == to_toml(child)
    roles = {role.limb: (role.kind, role.actor) for role in propose_roles(again, figure("adult"))}
    assert roles["left_arm"] == ("free", "")
    assert roles["right_arm"] == ("targeted", "left_arm")
    assert roles["left_leg"] == ("support", "left_leg")
    assert settings_of(again).tail_frequency == 9.0
    body = again.body_index("LeftArm")
    at = again.q_addresses[body]
    assert np.allclose(standing_pose(again)[at : at + 4], turn)
    assert not np.allclose(standing_pose(figure("child"))[at : at + 4], turn)


def test_a_limb_that_this_actor_lacks_is_proposed_anew() -> None:
    child = with_roles(figure("child"), "right_arm<-left_arm")
    limbs = tuple(replace(limb, actor="third_arm") if limb.name == "right_arm" else limb for limb in child.limbs)
    roles = {role.limb: role.actor for role in propose_roles(replace(child, limbs=limbs), figure("adult"))}
    assert roles["right_arm"] == "right_arm"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('role = "support"', 'role = "carried"'),
        ("[roles]", "[rest_poses.standing]\nNoBody = [1.0, 0.0, 0.0, 0.0]\n\n[roles]"),
        ("[roles]", '[weights]\ntail = "much"\n\n[roles]'),
    ],
)
def test_what_cannot_be_read_is_refused(before: str, after: str) -> None:
    text = to_toml(with_roles(figure("child")))
    assert before in text
    with pytest.raises(FileFormatError):
        from_toml(text.replace(before, after, 1))


def test_a_weight_that_there_is_not_is_named() -> None:
    with pytest.raises(InvalidValue, match="tail_frequency"):
        settings_of(replace(figure("child"), weights={"tial": 1.0}))


def test_the_command_writes_roles(tmp_path: Path) -> None:
    out = tmp_path / "walker.toml"
    words = ["character", str(poise.sample_path("walk")), "-o", str(out), "--roles", "left_arm=free, neck=free"]
    assert run(words) == 0
    limbs = {limb.name: (limb.role, limb.actor) for limb in poise.load_character(out).limbs}
    assert limbs["left_arm"] == ("free", "")
    assert limbs["right_arm"] == ("targeted", "right_arm")
    assert run([*words[:-1], "nose=free", "--overwrite"]) == 2
