"""A small walking robot as MJCF: two legs of hip, knee and ankle hinges, two arms, and a mesh that is not there."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from poise.core.typing import Array


def _leg(side: str, y: float) -> str:
    return f"""
      <body name="{side}_thigh" pos="0 {y} -0.05">
        <joint name="{side}_hip_x_joint" axis="1 0 0" range="-1 1"/>
        <joint name="{side}_hip_y_joint" axis="0 1 0" range="-2 2"/>
        <joint name="{side}_hip_z_joint" axis="0 0 1" range="-1 1"/>
        <inertial pos="0 0 -0.15" mass="3" diaginertia="0.03 0.03 0.005"/>
        <body name="{side}_shin" pos="0.01 0 -0.35" quat="0.9950042 0 0.0998334 0">
          <joint name="{side}_knee_joint" axis="0 1 0" range="0 2.2"/>
          <inertial pos="0 0 -0.15" mass="2" diaginertia="0.02 0.02 0.003"/>
          <body name="{side}_foot" pos="0 0 -0.35">
            <joint name="{side}_ankle_joint" axis="0 1 0" pos="0 0 0.02"/>
            <geom type="box" size="0.09 0.04 0.02" pos="0.04 0 -0.03"/>
            <body name="{side}_toe" pos="0.12 0 -0.03">
              <geom type="sphere" size="0.02" pos="0.04 0 0" mass="0.1"/>
            </body>
          </body>
        </body>
      </body>"""


def _arm(side: str, y: float) -> str:
    return f"""
        <body name="{side}_arm" pos="0 {y} 0.25">
          <joint name="{side}_shoulder_joint" axis="0 1 0"/>
          <geom type="mesh" mesh="arm"/>
          <inertial pos="0 0 -0.1" mass="1" diaginertia="0.01 0.01 0.001"/>
          <body name="{side}_forearm" pos="0 0 -0.25">
            <joint name="{side}_elbow_joint" axis="0 1 0"/>
            <inertial pos="0 0 -0.1" mass="0.8" diaginertia="0.005 0.005 0.001"/>
            <body name="{side}_hand" pos="0 0 -0.22"><geom type="sphere" size="0.04" pos="0 0 -0.05" mass="0.2"/></body>
          </body>
        </body>"""


ROBOT = f"""<mujoco model="small">
  <compiler angle="radian" meshdir="nowhere"/>
  <asset><mesh name="arm" file="arm.stl"/></asset>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <body name="pelvis" pos="0 0 0.8">
      <freejoint name="root"/>
      <inertial pos="0 0 0" mass="6" diaginertia="0.05 0.05 0.05"/>{_leg("left", 0.1)}{_leg("right", -0.1)}
      <body name="torso" pos="0 0 0.1">
        <joint name="waist_joint" axis="0 0 1"/>
        <inertial pos="0 0 0.15" mass="9" diaginertia="0.1 0.1 0.1"/>{_arm("left", 0.18)}{_arm("right", -0.18)}
        <body name="head" pos="0 0 0.35"><geom type="sphere" size="0.09" pos="0 0 0.05" mass="1.5"/></body>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="waist_joint"/></actuator>
</mujoco>"""


def robot_file(folder: Path) -> Path:
    """The robot as a file."""
    path = folder / "small.xml"
    path.write_text(ROBOT)
    return path


def steps_in_place(names: tuple[str, ...], frames: int = 60, fps: float = 30.0) -> tuple[Array, Array, Array]:
    """Root places, quaternions wxyz and hinge angles of a robot that lifts one foot after the other."""
    phase = np.asarray(2.0 * np.pi * np.arange(frames, dtype=np.float64) / fps)
    angles = np.zeros((frames, len(names)))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        lift = np.clip(sign * np.sin(phase), 0.0, None)
        for name, factor in (("hip_y", -0.4), ("knee", 0.8), ("ankle", -0.4), ("shoulder", -0.3)):
            angles[:, names.index(f"{side}_{name}_joint")] = factor * lift
    places = np.stack([0.0 * phase, 0.0 * phase, 0.8 + 0.0 * phase], axis=1)
    return places, np.tile([1.0, 0.0, 0.0, 0.0], (frames, 1)), angles
