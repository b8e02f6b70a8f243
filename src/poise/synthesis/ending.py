"""Runs that cannot go on: found before their numbers mean nothing, and told in an animator's words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from poise.core.errors import PoiseError, SimulationDiverged
from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.filter.forces import Push

if TYPE_CHECKING:
    from poise.synthesis.world import World

MOST_TURN = 10.0
"""A joint that turns further than this within one step cannot be followed [rad]; a wrist in a hard fall gets to 5."""
NEAR, BLOW = 1.5, 5.0
"""A ball is named that is nearer than this to a figure's middle [m] and could throw it off by so much [m/s]."""
RECENT, HARD = 0.5, 3.0
"""A push is named where it ended no longer ago than this [s] and was as large as this, in parts of body weight."""


def require_followed(world: World, v: Array) -> None:
    """Refuse velocities after a step (nv,) at which a figure is thrown about faster than steps can follow.

    Raises:
        SimulationDiverged: naming the figure, the body and its speed.
    """
    dt = world.settings.dt
    for figure in world.figures:
        speeds = np.abs(v[figure.dofs][6:])
        if speeds.max(initial=0.0) * dt < MOST_TURN:  # also true of no number at all, which the next lines name
            continue
        dof = int(speeds.argmax()) + 6
        body = max(k for k, first in enumerate(figure.character.v_addresses) if first <= dof)
        raise SimulationDiverged(
            f"{figure.character.bodies[body].name} of {figure.name!r} would turn by {np.degrees(speeds[dof - 6]):.3g}° "
            f"per second, faster than steps of {dt:g} s can follow",
            frame=round(world.time / dt), reason="too fast",
        )  # fmt: skip


def why_it_ended(world: World, error: PoiseError) -> str:
    """Why a run ended in the step after the world's time: what was seen, and what to change; without a full stop."""
    seen = str(error) if isinstance(error, SimulationDiverged) else "no forces were found that carry the figures on"
    hard = []
    for who, push in zip(world.push_owners, world.pushes, strict=True):
        figure = world.figures[who]
        since = world.time - push.start
        if not (isinstance(push, Push) and 0.0 <= since <= push.duration + RECENT):
            continue
        size = float(np.linalg.norm(push.force))
        if size > HARD * figure.character.mass * GRAVITY:
            hard.append(f"the push of {size:.3g} N on {push.body} at {push.start:g} s")
    blows = _blows(world)
    less = " and ".join(["push less hard"] * bool(hard) + ["throw something lighter or slower"] * bool(blows))
    cause = " and ".join([*hard, *blows])
    cure = f"{cause} came just before: {less}" if cause else "change what the figure is asked to do"
    return f"at {world.time:.2f} s {seen}; {cure}"


def _blows(world: World) -> list[str]:
    """Balls that struck a figure just now, or are about to, and would throw it about."""
    lightest = min(f.character.mass for f in world.figures)
    recent = {h.ball for h in world.hits if world.time - h.until <= RECENT}
    middles = [world.state.com(f.body.root) for f in world.figures]
    told = []
    for thing in world.balls():
        ball, speed = thing.ball, float(np.linalg.norm(thing.velocity))
        thrown = float(np.linalg.norm(ball.velocity))
        near = min(float(np.linalg.norm(thing.place - m)) for m in middles) < NEAR + speed * world.settings.dt
        if (ball.name in recent or near) and ball.mass * max(speed, thrown) > BLOW * lightest:
            told.append(f"{ball.name!r}, {ball.mass:g} kg thrown at {thrown:.3g} m/s,")
    return told
