"""Clips as learning systems read them, with the contacts, forces and feasibility that Poise measures.

Keys, orders and conventions were read from the receivers' own sources (their names are in `FORMATS`). A file beside it,
with `.json` behind its name (poise.export/1), names joints and bodies and holds what the receiver has no place for.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from poise.analysis.analyze import analyze
from poise.body.character import Character, fit
from poise.core import rotations
from poise.core.errors import InvalidValue, MissingExtra, UnknownName
from poise.core.motion import Motion
from poise.core.typing import Array, Flags
from poise.core.units import GRAVITY
from poise.io.files import all_or_none, whole_file, write_atomically, write_json
from poise.io.mjcf import Robot
from poise.phases.points import runs

SCHEMA = "poise.export/1"


@dataclass(frozen=True)
class Clip:
    """A robot's clip as arrays, F frames at equal times.

    Attributes:
        robot: Whose.
        fps: [1/s].
        angles: Of the hinges [rad], shape (F, H).
        rates: Their rates [rad/s], shape (F, H).
        places: Of the model's bodies in the world [m], shape (F, B, 3).
        turns: Of the bodies, wxyz, shape (F, B, 4).
        velocities: Of the bodies' frames [m/s], shape (F, B, 3).
        spins: Angular velocities in the world [rad/s], shape (F, B, 3).
        contacts: Bodies that touch the ground, shape (F, B).
        forces: Ground force on each body [N], shape (F, B, 3).
        feasibility: Root force and moment that no contact can give, rms and largest.
        is_loop: True for a clip that goes round.
    """

    robot: Robot
    fps: float
    angles: Array
    rates: Array
    places: Array
    turns: Array
    velocities: Array
    spins: Array
    contacts: Flags
    forces: Array
    feasibility: dict[str, float]
    is_loop: bool


def clip_of(motion: Motion, robot: Robot) -> Clip:
    """What is exported of a robot's clip.

    Args:
        motion: Of this robot, at a constant rate.
        robot: From `poise.io.mjcf.read_robot`.

    Raises:
        InvalidValue: if the motion is not the robot's, or has fewer than five frames or uneven times.
    """
    if motion.frame_count < 5 or not motion.is_uniform:
        raise InvalidValue("An export needs five frames or more at a constant rate. Give --fps to resample.")
    character = fit(motion)
    angles = robot.angles(motion)
    places, turns = robot.body_poses(motion)
    measured = analyze(motion, character)
    weight = character.mass * GRAVITY
    force = np.linalg.norm(measured.forces.residual_force, axis=1)
    moment = np.linalg.norm(measured.forces.residual_moment, axis=1)
    contacts, forces = _on_bodies(robot, character, measured.touch.flags, measured.forces.contact)
    return Clip(
        robot=robot,
        fps=motion.fps,
        angles=angles,
        rates=np.gradient(angles, motion.dt, axis=0),
        places=places,
        turns=turns,
        velocities=np.gradient(places, motion.dt, axis=0),
        spins=_spins(turns, motion.dt),
        contacts=contacts,
        forces=forces,
        feasibility={
            "root_force_rms_weights": float(np.sqrt(np.mean(force**2)) / weight),
            "root_force_max_weights": float(force.max() / weight),
            "root_moment_rms_Nm": float(np.sqrt(np.mean(moment**2))),
            "root_moment_max_Nm": float(moment.max()),
        },
        is_loop=bool(motion.source is not None and motion.source.loop),
    )


def _spins(turns: Array, dt: float) -> Array:
    """Angular velocities in the world by central differences, one-sided at the ends [rad/s]."""
    count = len(turns)
    after, before = np.minimum(np.arange(count) + 1, count - 1), np.maximum(np.arange(count) - 1, 0)
    between = rotations.multiply(turns[after], rotations.conjugate(turns[before]))
    return rotations.to_rotation_vector(between) / ((after - before) * dt)[:, None, None]


def _on_bodies(robot: Robot, character: Character, flags: Flags, forces: Array) -> tuple[Flags, Array]:
    """Contacts and forces of the character's points, on the model's bodies.

    A point's force goes to the last body that its joint carries rigidly or by joints that Poise does not simulate: the
    foot, where the figure was fitted to an ankle of several hinges. Where the next joint is a hinge of the same body,
    it goes to that body.
    """
    simulated = {b.joint for b in character.bodies}
    target: dict[int, int] = {}
    for k, joint in enumerate(robot.bodies):
        while joint not in simulated:
            joint = int(robot.skeleton.parents[joint])
        target[joint] = k
    touch = np.zeros((len(flags), len(robot.bodies)), dtype=np.bool_)
    pushed = np.zeros((len(flags), len(robot.bodies), 3))
    for k, point in enumerate(character.contact_points):
        joint = character.bodies[point.body].joint
        if joint not in target:
            target[joint] = next(b for b, j in enumerate(robot.bodies) if joint in robot.skeleton.ancestors(j))
        body = target[joint]
        touch[:, body] |= flags[:, k]
        pushed[:, body] += forces[:, k]
    return touch, pushed


def _mjlab(clip: Clip, path: Path) -> None:
    _npz(
        path,
        fps=np.array([clip.fps], dtype=np.float64),
        joint_pos=clip.angles,
        joint_vel=clip.rates,
        body_pos_w=clip.places,
        body_quat_w=clip.turns,
        body_lin_vel_w=clip.velocities,
        body_ang_vel_w=clip.spins,
        poise_contacts=clip.contacts,
        poise_contact_forces=clip.forces,
    )


def _isaac(clip: Clip, path: Path) -> None:
    _npz(
        path,
        fps=np.array(clip.fps),
        dof_names=np.array(clip.robot.hinge_names),
        body_names=np.array(clip.robot.body_names),
        dof_positions=clip.angles,
        dof_velocities=clip.rates,
        body_positions=clip.places,
        body_rotations=clip.turns,
        body_linear_velocities=clip.velocities,
        body_angular_velocities=clip.spins,
        poise_contacts=clip.contacts,
        poise_contact_forces=clip.forces,
    )


def _npz(path: Path, **arrays: Any) -> None:
    """Arrays as receivers load them: float32, flags and text as they are."""
    small = {k: v.astype(np.float32) if v.dtype == np.float64 and v.ndim else v for k, v in arrays.items()}
    with whole_file(path) as beside, beside.open("wb") as file:
        np.savez(file, **small)


def _unitree(clip: Clip, path: Path) -> None:
    rows = np.concatenate([clip.places[:, 0], clip.turns[:, 0][:, [1, 2, 3, 0]], clip.angles], axis=1)
    write_atomically(path, "".join(",".join(f"{v:.6f}" for v in row) + "\n" for row in rows))


def _mimickit(clip: Clip, path: Path) -> None:
    turn = rotations.to_rotation_vector(clip.turns[:, 0])
    frames = np.concatenate([clip.places[:, 0], turn, *_by_body(clip)], axis=1)
    data = {"loop_mode": int(clip.is_loop), "fps": clip.fps, "frames": frames.tolist()}
    with whole_file(path) as beside, beside.open("wb") as file:
        pickle.dump(data, file)


def _by_body(clip: Clip) -> list[Array]:
    """What MimicKit calls dofs: of a body with one hinge its angle, with three the rotation vector of all [rad]."""
    skeleton, out, column = clip.robot.skeleton, [], 0
    for joint, name in zip(clip.robot.bodies, clip.robot.body_names):
        own = [k for k in range(column, len(clip.robot.hinges)) if clip.robot.hinges[k] <= joint]
        column += len(own)
        if len(own) == 1:
            out.append(clip.angles[:, own])
        elif len(own) == 3:
            turn = rotations.IDENTITY
            for k in own:
                axis = skeleton.hinges[clip.robot.hinges[k]].axis
                turn = rotations.multiply(turn, rotations.from_rotation_vector(clip.angles[:, k, None] * axis))
            out.append(rotations.to_rotation_vector(turn))
        elif own:
            raise InvalidValue(f"Body {name!r} has {len(own)} hinges; MimicKit reads bodies with one or three.")
    return out


def _protomotions(clip: Clip, path: Path) -> None:
    try:
        import torch  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise MissingExtra("ProtoMotions reads files of PyTorch: pip install torch.") from error

    def tensor(values: Array) -> Any:
        return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))

    data = {
        "fps": clip.fps,
        "dof_pos": tensor(clip.angles),
        "dof_vel": tensor(clip.rates),
        "rigid_body_pos": tensor(clip.places),
        "rigid_body_rot": tensor(clip.turns[..., [1, 2, 3, 0]]),
        "rigid_body_vel": tensor(clip.velocities),
        "rigid_body_ang_vel": tensor(clip.spins),
        "rigid_body_contacts": torch.from_numpy(clip.contacts),
    }
    with whole_file(path) as beside, beside.open("wb") as file:
        torch.save(data, file)


@dataclass(frozen=True)
class Receiver:
    """A learning system.

    Attributes:
        ending: Of its files.
        write: Writes one.
        rate: Frames a second that it takes for granted [1/s], or None where the file says it.
        note: What a user must know.
    """

    ending: str
    write: Callable[[Clip, Path], None]
    rate: float | None = None
    note: str = ""


PICKLE = "This file is a pickle, since its reader wants one; open pickles of your own only. Poise never reads one."
FORMATS = {
    "mjlab": Receiver(".npz", _mjlab),
    "isaac": Receiver(".npz", _isaac),
    "unitree": Receiver(".csv", _unitree, 30.0),
    "mimickit": Receiver(".pkl", _mimickit, note=PICKLE),
    "protomotions": Receiver(".motion", _protomotions, note=PICKLE),
}
"""Receivers: mjlab's motion commands, Isaac Lab's AMP loader, Unitree's LAFAN1 CSV, MimicKit, ProtoMotions."""


def receiver(name: str) -> Receiver:
    """A receiver by its name.

    Raises:
        UnknownName: if there is none.
    """
    if name not in FORMATS:
        raise UnknownName(f"There is no export format {name!r}. Give one of {', '.join(FORMATS)}.")
    return FORMATS[name]


def export(clip: Clip, to: str, path: Path, followed: dict[str, Any] | None = None) -> dict[str, Any]:
    """Write a clip and its sidecar `path` + ".json"; the sidecar's content.

    Args:
        clip: What is written.
        to: A name of `FORMATS`.
        path: The file.
        followed: The report of `poise.tracking.robots.follow`, where the robot followed an actor.

    Raises:
        UnknownName: if no receiver has this name.
        MissingExtra: if the format needs a package that is not there.
    """
    chosen = receiver(to)
    summary = {
        "schema": SCHEMA,
        "format": to,
        "frames": len(clip.angles),
        "fps": clip.fps,
        "joints": list(clip.robot.hinge_names),
        "bodies": list(clip.robot.body_names),
        "quaternions": "xyzw" if to in ("unitree", "protomotions") else "wxyz",
        "feasibility": clip.feasibility,
        "contacts": {
            name: [list(span) for span in runs(clip.contacts[:, k])]
            for k, name in enumerate(clip.robot.body_names)
            if clip.contacts[:, k].any()
        },
    }
    if followed is not None:
        summary["followed"] = {
            "complete": followed["complete"],
            "helped_share": followed["fallback_steps"] / followed["steps"],
            **followed["robot"],
        }
    with all_or_none():
        chosen.write(clip, path)
        write_json(path.with_name(path.name + ".json"), summary)
    return summary
