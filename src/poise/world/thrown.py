"""Balls that hang in the air until they are thrown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poise.core.typing import Array
from poise.goals.surroundings import Ball
from poise.physics.mujoco_bodies import Bodies


def hold(bodies: Bodies, balls: Sequence[Ball], q: Array, v: Array) -> None:
    """Keep balls where they hang, in the coordinates q and velocities v of all bodies."""
    for ball in balls:
        at, dof = bodies.coordinates(ball.name)
        q[at : at + 7] = (*ball.place, 1.0, 0.0, 0.0, 0.0)
        v[dof : dof + 6] = 0.0


def throw(bodies: Bodies, balls: Sequence[Ball], time: float, q: Array, v: Array) -> tuple[list[Ball], float]:
    """Let balls fly whose time [s] has come; those that still hang, and the energy that the others get [J]."""
    flying, energy = [ball for ball in balls if ball.is_thrown(time)], 0.0
    hold(bodies, flying, q, v)
    for ball in flying:
        _, dof = bodies.coordinates(ball.name)
        v[dof : dof + 3] = ball.velocity
        energy += 0.5 * ball.mass * float(np.square(ball.velocity).sum())
    return [ball for ball in balls if ball not in flying], energy
