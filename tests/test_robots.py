"""Robots of MJCF files and their clips: read, written for learning systems, and held against independent readers."""

from __future__ import annotations

import importlib
import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import poise
from poise.analysis.export import clip_of, export
from poise.cli.app import app
from poise.core import rotations
from poise.io.mjcf import Robot, read_robot
from poise.tracking.robots import figure_of_robot
from tests.clips import sample_clip
from tests.robots import ROBOT, robot_file, steps_in_place

SMALL = ROBOT.replace('<geom type="mesh" mesh="arm"/>', "").replace(
    '<asset><mesh name="arm" file="arm.stl"/></asset>', ""
)


@pytest.fixture
def robot(tmp_path: Path) -> Robot:
    return read_robot(robot_file(tmp_path))


def csv_of(robot: Robot, path: Path) -> Path:
    places, turns, angles = steps_in_place(robot.hinge_names)
    table = np.concatenate([places, turns[:, [1, 2, 3, 0]], angles], axis=1)
    np.savetxt(path, table, delimiter=",", fmt="%.6f")
    return path


def test_a_robot_moves_as_in_mujoco(robot: Robot) -> None:
    mujoco: Any = importlib.import_module("mujoco")  # its stubs lack much

    model = mujoco.MjModel.from_xml_string(SMALL)
    data = mujoco.MjData(model)
    chance = np.random.default_rng(1)
    frames, count = 12, len(robot.hinges)
    angles = chance.uniform(-1.5, 1.5, size=(frames, count))
    places, turns = chance.normal(size=(frames, 3)), rotations.normalize(chance.normal(size=(frames, 4)))
    motion = robot.motion(np.arange(frames) / 30.0, places, turns, angles)
    assert np.abs(robot.angles(motion) - angles).max() < 1e-12
    seen, turned = robot.body_poses(motion)
    assert robot.skeleton.mass == pytest.approx(model.body_mass.sum())
    assert robot.hinge_names == tuple(model.joint(j).name for j in range(1, model.njnt))
    for k in range(frames):
        data.qpos[:] = np.concatenate([places[k], turns[k], angles[k]])
        mujoco.mj_kinematics(model, data)
        assert np.abs(seen[k] - data.xpos[1:]).max() < 1e-12
        assert np.abs(np.sum(turned[k] * data.xquat[1:], axis=1)).min() > 1.0 - 1e-12


def test_parts_that_name_each_other_are_no_hindrance(tmp_path: Path) -> None:
    """A texture of a material, and a mesh in a pair of shapes, as the models of makers have them."""
    path = tmp_path / "odd.xml"
    text = ROBOT.replace('<geom type="mesh" mesh="arm"/>', '<geom type="mesh" name="shell" mesh="arm"/>', 1)
    looks = '<texture name="t" type="2d" builtin="checker" width="8" height="8"/><material name="m" texture="t"/>'
    text = text.replace("<asset>", f"<asset>{looks}")
    text = text.replace('size="0.09 0.04', 'name="sole" material="m" size="0.09 0.04', 1)
    pair = '<contact><pair geom1="shell" geom2="sole"/></contact>'
    path.write_text(text.replace("<actuator>", f"{pair}<actuator>"))
    assert read_robot(path).hinge_names == read_robot(robot_file(tmp_path)).hinge_names


def test_a_robot_is_a_figure(robot: Robot) -> None:
    character = poise.Character.fit(robot.skeleton)
    assert {limb.kind for limb in character.limbs} >= {"leg", "arm"}
    assert sum(limb.kind == "leg" for limb in character.limbs) == 2


def test_a_robot_of_another_unit_and_axis_is_whole(robot: Robot, tmp_path: Path) -> None:
    lying = poise.load_skeleton(tmp_path / "small.xml", unit=2.0, up="y")
    own = robot.skeleton
    assert len(lying.end_sites) == len(own.end_sites) > 4
    assert (lying.fixed, lying.hinges.keys()) == (own.fixed, own.hinges.keys())
    assert lying.mass == pytest.approx(8.0 * (own.mass or 0.0))
    assert lying.offsets[1:] == pytest.approx(2.0 * own.offsets[1:])
    assert rotations.rotate(lying.rest_rotations[0], np.array([0.0, 1.0, 0.0])) == pytest.approx([0.0, 0.0, 1.0])


def test_a_robot_weighs_what_its_file_says(robot: Robot, tmp_path: Path) -> None:
    motion = robot.motion(np.arange(5) / 30.0, *(a[:5] for a in steps_in_place(robot.hinge_names)))
    poise.save(motion, tmp_path / "steps.npz")
    again = poise.load(tmp_path / "steps.npz")
    assert again.skeleton.mass == robot.skeleton.mass
    assert poise.Character.fit(again).mass == pytest.approx(robot.skeleton.mass)


def test_a_pose_that_the_robot_cannot_take_is_refused(robot: Robot) -> None:
    motion = robot.motion(np.arange(5) / 30.0, *(a[:5] for a in steps_in_place(robot.hinge_names)))
    turned = motion.rotations.copy()
    knee = robot.hinges[robot.hinge_names.index("left_knee_joint")]
    turned[3, knee] = rotations.multiply(turned[3, knee], rotations.from_rotation_vector(np.array([0.2, 0.0, 0.0])))
    with pytest.raises(poise.InvalidValue, match=r"left_knee_joint.*frame 3"):
        robot.angles(replace(motion, rotations=turned))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("<mujoco model", "<include file='/etc/passwd'/><mujoco model", "include"),
        ('axis="0 0 1"/>\n        <inertial pos="0 0 0.15"', 'type="ball"/>\n        <inertial pos="0 0 0.15"', "ball"),
        ("</worldbody>", "", "MuJoCo refuses"),
    ],
)
def test_other_models_are_one_sentence(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in ROBOT
    path = tmp_path / "odd.xml"
    path.write_text(ROBOT.replace(old, new))
    with pytest.raises(poise.FileFormatError, match=words):
        read_robot(path)


@pytest.mark.parametrize("system", ["mjlab", "isaac", "unitree"])
def test_what_is_exported_is_read_back(robot: Robot, tmp_path: Path, system: str) -> None:
    """By Poise; `test_receivers_find_what_they_read` is the independent side."""
    motion = poise.load(csv_of(robot, tmp_path / "steps.csv"))
    path = tmp_path / ("again.csv" if system == "unitree" else "again.npz")
    told = export(clip_of(motion, robot), system, path)
    again = poise.load(path)
    assert np.abs(robot.angles(again) - robot.angles(motion)).max() < 1e-6
    assert np.abs(again.world[0] - motion.world[0]).max() < 1e-6
    assert again.fps == pytest.approx(30.0)
    assert json.loads(path.with_name(path.name + ".json").read_text()) == told
    if system == "unitree":
        again, first = (np.loadtxt(p, delimiter=",") for p in (path, tmp_path / "steps.csv"))
        assert np.array_equal(again, first)


def test_receivers_find_what_they_read(robot: Robot, tmp_path: Path) -> None:
    """Read as the receivers' sources do, without Poise: keys, shapes, orders, velocities that belong to the places."""
    mujoco: Any = importlib.import_module("mujoco")  # its stubs lack much

    motion = poise.load(csv_of(robot, tmp_path / "steps.csv"))
    clip = clip_of(motion, robot)
    model = mujoco.MjModel.from_xml_string(SMALL)
    data = mujoco.MjData(model)
    export(clip, "mjlab", tmp_path / "a.npz")
    arrays = np.load(tmp_path / "a.npz")
    assert float(arrays["fps"][0]) == pytest.approx(30.0)
    for k in (0, 20, 59):
        root = np.concatenate([arrays["body_pos_w"][k, 0], arrays["body_quat_w"][k, 0]])
        data.qpos[:] = np.concatenate([root, arrays["joint_pos"][k]])
        mujoco.mj_kinematics(model, data)
        assert np.abs(arrays["body_pos_w"][k] - data.xpos[1:]).max() < 1e-5
    moved = arrays["body_pos_w"][0] + np.cumsum(arrays["body_lin_vel_w"][:-1], axis=0)[-1] / 30.0
    assert np.abs(moved - arrays["body_pos_w"][-1]).max() < 0.02
    export(clip, "isaac", tmp_path / "b.npz")
    arrays = np.load(tmp_path / "b.npz")
    assert arrays["dof_names"].tolist() == list(robot.hinge_names)
    assert arrays["body_rotations"].shape == (60, len(robot.body_names), 4)
    assert np.load(tmp_path / "b.npz")["body_rotations"][0, 0] == pytest.approx([1.0, 0.0, 0.0, 0.0])
    export(clip, "mimickit", tmp_path / "c.pkl")
    with (tmp_path / "c.pkl").open("rb") as file:
        found = pickle.load(file)  # our own file
    frames = np.array(found["frames"])
    assert (found["loop_mode"], found["fps"], frames.shape) == (0, pytest.approx(30.0), (60, 6 + len(robot.hinges)))
    left = [robot.hinge_names.index(f"left_hip_{axis}_joint") for axis in "xyz"]
    # MimicKit takes three hinges of one body as one rotation vector; here only one of them turns
    assert frames[:, 6 + left[1]] == pytest.approx(clip.angles[:, left[1]], abs=1e-9)
    torch = pytest.importorskip("torch", reason="ProtoMotions reads files of PyTorch: pip install torch")
    export(clip, "protomotions", tmp_path / "d.motion")
    state = torch.load(tmp_path / "d.motion", weights_only=True)
    assert state["rigid_body_rot"][0, 0].tolist() == pytest.approx([0.0, 0.0, 0.0, 1.0])


def test_no_pickle_is_opened(robot: Robot, tmp_path: Path) -> None:
    class Planted:
        def __reduce__(self) -> tuple[Any, tuple[Path]]:
            return Path.touch, (tmp_path / "opened",)

    robot_file(tmp_path)
    for name in ("a.pkl", "b.motion", "c.npz", "d.npy"):
        (tmp_path / name).write_bytes(pickle.dumps({"fps": 30, "frames": Planted()}))
    planted = np.array([Planted()], dtype=object)
    np.savez(tmp_path / "e.npz", fps=[30.0], joint_pos=planted, body_pos_w=[0.0], body_quat_w=[0.0])
    np.savez(tmp_path / "f.npz", poses=planted, trans=np.zeros((1, 3)), betas=[0.0], mocap_framerate=30.0)
    for path in sorted(tmp_path.glob("?.*")):
        with pytest.raises(poise.FileFormatError, match="pickle" if path.stem in "abef" else None):
            poise.load(path)
    assert not (tmp_path / "opened").exists()


def test_feet_that_stand_carry_the_weight(robot: Robot, tmp_path: Path) -> None:
    clip = clip_of(poise.load(csv_of(robot, tmp_path / "steps.csv")), robot)
    feet = [robot.body_names.index(f"{side}_{part}") for side in ("left", "right") for part in ("foot", "toe")]
    assert clip.contacts[:, feet].any(axis=1).mean() > 0.9
    assert not np.delete(clip.contacts, feet, axis=1).any()
    carried = clip.forces[:, :, 2].sum(axis=1)
    assert np.median(carried) == pytest.approx(9.81 * (robot.skeleton.mass or 0.0), rel=0.15)


def test_points_at_a_shoulder_of_three_hinges_belong_to_the_arm(tmp_path: Path) -> None:
    text = ROBOT
    for side in ("left", "right"):
        one = f'<joint name="{side}_shoulder_joint" axis="0 1 0"/>'
        x, z = (f'<joint name="{side}_{axis}_joint" axis="{turn}"/>' for axis, turn in (("x", "1 0 0"), ("z", "0 0 1")))
        text = text.replace(one, x + one + z)
    path = tmp_path / "three.xml"
    path.write_text(text)
    robot = read_robot(path)
    places, turns, angles = steps_in_place(robot.hinge_names)
    clip = clip_of(robot.motion(np.arange(60) / 30.0, places, turns, angles), robot)
    assert {robot.body_names[k] for k in np.flatnonzero(clip.contacts.any(axis=0))} <= {
        f"{side}_{part}" for side in ("left", "right") for part in ("foot", "toe")
    }


def test_the_command_writes_a_folder_and_says_what_is_wrong(robot: Robot, tmp_path: Path) -> None:
    clips = tmp_path / "clips"
    clips.mkdir()
    csv_of(robot, clips / "one.csv")
    csv_of(robot, clips / "two.csv")
    (clips / "table.csv").write_text("name,value\na,1\n")
    xml = str(robot_file(tmp_path))
    run = CliRunner().invoke(
        app, ["export", "mjlab", str(clips), "--robot", xml, "-o", str(tmp_path / "out"), "--to", ".npz", "--jobs", "1"]
    )
    assert run.exit_code == 0, run.output
    assert {p.name for p in (tmp_path / "out").glob("*.npz")} == {"one.npz", "two.npz"}
    wrong = CliRunner().invoke(app, ["export", "mjlab", str(clips / "one.csv"), "--robot", xml, "-o", "x.csv"])
    assert isinstance(wrong.exception, poise.InvalidValue)


def test_hinges_that_stand_together_are_one_joint(robot: Robot) -> None:
    figure = figure_of_robot(robot)
    groups = [[robot.hinge_names[h].removesuffix("_joint") for h in group] for group in figure.groups if group]
    assert ["left_hip_x", "left_hip_y", "left_hip_z"] in groups
    assert ["left_knee"] in groups
    assert sorted(name for group in groups for name in group) == sorted(
        n.removesuffix("_joint") for n in robot.hinge_names
    )
    legs = [limb for limb in poise.Character.fit(figure.skeleton).limbs if limb.kind == "leg"]
    assert [len(limb.bodies) for limb in legs] == [3, 3]


def test_a_robot_follows_a_person_on_its_own_feet(robot: Robot, tmp_path: Path) -> None:
    walk = tmp_path / "walk.bvh"
    poise.save(sample_clip("walk", 1.6), walk)
    run = CliRunner().invoke(
        app,
        ["export", "mjlab", str(walk), "--robot", str(robot_file(tmp_path)), "-o", str(tmp_path / "w.npz"), "--json"],
    )
    assert run.exit_code == 0, run.output
    told = json.loads(run.stdout)
    assert told["followed"]["complete"]
    assert told["followed"]["foot_error_p95_m"] < 0.02
    motion = poise.load(tmp_path / "w.npz", skeleton=tmp_path / "small.xml")
    angles = robot.angles(motion)
    knees = angles[:, [robot.hinge_names.index(f"{side}_knee_joint") for side in ("left", "right")]]
    assert knees.min() > -1e-6  # within the limits, and bent the right way
    assert np.ptp(knees, axis=0).min() > np.radians(25.0)
    assert np.abs(np.diff(angles, axis=0)).max() < np.radians(20.0)  # no turn the other way round
    way = motion.world[0][-1, 0] - motion.world[0][0, 0]
    assert np.linalg.norm(way[:2]) > 0.8


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "no format|empty"), ("0,0,1,0,0,0,1,2\n0,0,1,0,0,0,1\n", "expected"), ("0,0,1,0,0,0,1,2\n", "hinges")],
)
def test_a_damaged_table_is_one_sentence(robot: Robot, tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "odd.csv"
    path.write_text(text)
    with pytest.raises(poise.FileFormatError, match=f"(?i){words}"):
        poise.load(path)
