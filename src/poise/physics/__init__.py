"""Kinematics and dynamics of a state: MuJoCo behind `mujoco_backend`, compiled terms of points and masses beside it."""

from __future__ import annotations

from poise.physics.mujoco_backend import Model, model_of, model_of_scene
from poise.physics.state import State, Trajectory, trajectory

__all__ = ["Model", "State", "Trajectory", "model_of", "model_of_scene", "trajectory"]
