"""Characters as TOML and as MJCF."""

# pyright: reportAttributeAccessIssue=false
# mujoco's own functions are compiled and carry no types
from __future__ import annotations

import dataclasses
from pathlib import Path

import mujoco
import numpy as np
import pytest

from poise.body import Character, fit, load_character, save_character, to_mjcf
from poise.body.mjcf import body_names, unique_names
from poise.body.toml_file import from_toml, to_toml
from poise.core import rotations
from poise.core.errors import FileFormatError, InvalidValue, UnreadableFile
from poise.core.skeleton import rest_pose
from tests.character_figures import dog, motion, person

ODD = {"LeftHand": 'hand "<&>"', "RightHand": "ręka 手", "Spine": "mixamorig:Spine", "Chest": "mixamorig:Spine"}


def figures() -> list[Character]:
    swing = np.sin(np.linspace(0.0, 6.0, 60))[:, None] * np.array([0.1, 0.4, 0.2])
    hinged = person(hinges={"LeftLeg": (0.0, 1.0, 0.0), "RightForeArm": (0.0, 0.0, 1.0)})
    return [fit(person()), fit(dog()), fit(motion(hinged, {"LeftUpLeg": swing})), fit(person(names=ODD))]


def same(a: object, b: object, where: str = "") -> None:
    """Two dataclass trees are equal to the last bit."""
    if dataclasses.is_dataclass(a):
        for field in dataclasses.fields(a):
            same(getattr(a, field.name), getattr(b, field.name), f"{where}.{field.name}")
    elif isinstance(a, np.ndarray):
        np.testing.assert_array_equal(a, b, err_msg=where)
    elif isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        assert len(a) == len(b), where
        for n, (x, y) in enumerate(zip(a, b)):
            same(x, y, f"{where}[{n}]")
    elif isinstance(a, dict) and isinstance(b, dict):
        assert a.keys() == b.keys(), where
        for key in a:
            same(a[key], b[key], f"{where}[{key}]")
    else:
        assert a == b, where


@pytest.mark.parametrize("n", range(4))
def test_load_after_save_changes_nothing(tmp_path: Path, n: int) -> None:
    character = figures()[n]
    save_character(character, tmp_path / "figure.toml")
    same(character, load_character(tmp_path / "figure.toml"))
    assert [p.name for p in tmp_path.iterdir()] == ["figure.toml"]


def test_own_center_of_mass_and_inertia_are_kept() -> None:
    character = fit(person())
    first = dataclasses.replace(
        character.bodies[0], com=np.array([0.01, 0.0, 0.02]), inertia=np.diag([0.1, 0.11, 0.12])
    )
    changed = dataclasses.replace(character, bodies=(first, *character.bodies[1:]))
    same(changed, from_toml(to_toml(changed)))


def test_a_person_may_edit_mass_and_limits() -> None:
    character = fit(person())
    text = to_toml(character)
    knee = character.bodies[character.roles["left_knee"]]
    block = text[text.index('name = "LeftLeg"') :]
    block = block[: block.index("[[", 5)]
    edited = block.replace(f"mass = {knee.mass!r}", "mass = 10.0").replace("bend = [-2.5, 150.0]", "bend = [5.0, 90.0]")
    assert edited.count("10.0") == 1
    assert "bend = [5.0, 90.0]" in edited
    loaded = from_toml(text.replace(block, edited))
    body = loaded.bodies[loaded.roles["left_knee"]]
    np.testing.assert_allclose(body.inertia, knee.inertia * 10.0 / knee.mass, rtol=1e-12)
    assert body.limits is not None
    assert np.degrees([body.limits.bend_lower, body.limits.bend_upper]) == pytest.approx([5.0, 90.0])


def test_limits_are_written_in_whole_tenths_of_degrees() -> None:
    lines = [s for s in to_toml(fit(person())).splitlines() if s.startswith(("twist =", "bend =", "side ="))]
    assert lines
    assert all(len(value.split(".")[1]) == 1 for line in lines for value in line.split("[")[1].strip("]").split(", "))


BAD = [
    ("schema = ", "schema = 3 #", "schema"),
    ("leg_length = ", "leg_lenght = 1.0\nleg_length = ", "leg_lenght: no such key"),
    ('kind = "ball"', 'kind = "boll"', "'free', 'ball' or 'hinge'"),
    ("floor = ", "floor = nan #", "floor: Input should be a finite number"),
    ('parent = "Hips"', 'parent = "Hops"', "there is no 'Hops'"),
    ('pelvis = "Hips"', 'pelvis = "Belly"', "roles.pelvis: there is no 'Belly'"),
    ("mass = ", "mass = -1.0 #", "mass: Input should be greater than 0"),
    ("side = [", "side = [500.0, 0.0] # [", "is not a range"),
    ('part = "foot"', 'part = "fin"', "part"),
    ("swing_axis = [", "swing_axis = [0.0, 0.0, 0.0] # [", "has no direction"),
]


@pytest.mark.parametrize(("old", "new", "message"), BAD)
def test_a_wrong_key_or_value_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = to_toml(fit(person()))
    assert old in text
    path = tmp_path / "bad.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(FileFormatError) as caught:
        load_character(path)
    assert message in str(caught.value)
    assert "bad.toml" in str(caught.value)


def test_broken_toml_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text('schema = "poise.character/1"\nleg_length = \n', encoding="utf-8")
    with pytest.raises(FileFormatError) as caught:
        load_character(path)
    assert caught.value.line == 2
    assert "bad.toml:2" in str(caught.value)


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe\x00", b"a = " + b"[" * 100_000, b"# " + b"x" * 5_000_000, b"\x00" * 10]
)
def test_files_that_are_no_character_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "no.toml"
    path.write_bytes(content)
    with pytest.raises(FileFormatError):
        load_character(path)


def test_a_missing_file_and_an_unknown_ending_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="no file"):
        load_character(tmp_path / "none.toml")
    with pytest.raises(InvalidValue, match=r"\*.toml or \*.xml"):
        save_character(fit(person()), tmp_path / "figure.json")
    with pytest.raises(UnreadableFile, match="folder"):
        save_character(fit(person()), tmp_path / "none" / "figure.toml")


@pytest.mark.parametrize("n", range(4))
def test_mujoco_opens_the_model_with_the_same_order_and_masses(tmp_path: Path, n: int) -> None:
    character = figures()[n]
    save_character(character, tmp_path / "figure.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "figure.xml"))
    assert (model.nq, model.nv, model.nbody) == (character.nq, character.nv, len(character.bodies) + 1)
    assert [model.body(i + 1).name for i in range(len(character.bodies))] == list(body_names(character))
    np.testing.assert_array_equal(model.jnt_qposadr, character.q_addresses)
    np.testing.assert_array_equal(model.jnt_dofadr, character.v_addresses)
    np.testing.assert_allclose(model.body_mass[1:], [b.mass for b in character.bodies], rtol=1e-12)
    assert model.nsite == len(character.contact_points)
    for i, body in enumerate(character.bodies):
        turn = rotations.to_matrix(model.body_iquat[i + 1])
        inertia = turn @ np.diag(model.body_inertia[i + 1]) @ turn.T
        np.testing.assert_allclose(inertia, body.inertia, rtol=1e-6, atol=1e-9)


def test_mujoco_agrees_on_the_inertia_of_a_capsule() -> None:
    character = fit(person())
    shin = character.bodies[character.roles["left_knee"]]
    (capsule,) = shin.capsules
    ends = " ".join(str(v) for v in (*capsule.start, *capsule.end))
    geom = f'<geom type="capsule" fromto="{ends}" size="{capsule.radius}" mass="{shin.mass}"/>'
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody><body>{geom}</body></worldbody></mujoco>")
    turn = rotations.to_matrix(model.body_iquat[1])
    np.testing.assert_allclose(turn @ np.diag(model.body_inertia[1]) @ turn.T, shin.inertia, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.body_ipos[1], shin.com, atol=1e-12)


def test_bodies_stand_where_the_joints_stand() -> None:
    character = fit(person())
    model = mujoco.MjModel.from_xml_string(to_mjcf(character, floor=True))
    data = mujoco.MjData(model)
    positions, _ = rest_pose(character.skeleton)
    q = np.zeros(model.nq)
    q[:3] = positions[0]
    for body, at in zip(character.bodies, character.q_addresses):
        q[at + (3 if body.kind == "free" else 0)] = 1.0
    data.qpos[:] = q
    mujoco.mj_kinematics(model, data)
    np.testing.assert_allclose(data.xpos[1:], positions[[b.joint for b in character.bodies]], atol=1e-12)
    assert model.geom("floor").pos[2] == pytest.approx(character.floor)
    lowest = min(data.site(p.name).xpos[2] - p.radius for p in character.contact_points)
    assert lowest == pytest.approx(character.floor, abs=1e-9)


def test_the_model_falls_and_lands_on_its_floor() -> None:
    model = mujoco.MjModel.from_xml_string(to_mjcf(fit(dog()), floor=True, timestep=0.002))
    data = mujoco.MjData(model)
    data.qpos[2] += 0.8
    for _ in range(1500):
        mujoco.mj_step(model, data)
    assert np.isfinite(data.qpos).all()
    assert data.xpos[1:, 2].min() > -0.05


def test_names_made_unique() -> None:
    assert unique_names(("a", "b", "a", "", "a")) == ("a", "b", "a.2", "unnamed", "a.3")
