"""Kinematics and dynamics of a state: MuJoCo behind `mujoco_backend`, compiled terms of points and masses beside it."""

from __future__ import annotations

from poise.dynamics.from_character import model_of, model_of_scene
from poise.dynamics.mujoco_backend import Model
from poise.dynamics.state import State

__all__ = ["Model", "State", "model_of", "model_of_scene"]
