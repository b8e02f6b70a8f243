"""A world whose figures MuJoCo moves: the synthesizer as a live controller of another simulation.

Every step is solved as always, for the state that the engine has come to. The engine gets the muscles' torques, holds
them for the length of the step, and has its own contacts and its own integrator at a finer time step; what it does in
that time is the next state. Pushes act in the engine; the step knows nothing of them but that the figure is startled.
The tissue's damping is in both, implicit in both.
"""

from __future__ import annotations

import numpy as np

from poise.core.errors import InvalidValue
from poise.core.typing import Array
from poise.goals.surroundings import Surface
from poise.physics.mujoco_engine import Engine, Slab
from poise.step import StepResult
from poise.synthesis.contacts import BODY_FRICTION
from poise.synthesis.world import World

TIMESTEP = 0.00025
"""Of the engine [s]. At 0.001 s a hand that comes to a wall goes 4 mm into it."""
REST = 0.02
"""Time in which a step asks standing contacts to come to rest [s]. Feet on the engine's soft ground always move by a
hair; who stops that within one step of 0.01 s throws the whole weight from foot to foot in each."""


class EngineMover:
    """Moves the figures of a world by MuJoCo; see `World.mover`.

    Attributes:
        engine: The simulation.
        rest: As `Mover.rest`.
        surprise: Largest difference of a joint's speed from what the step expected [rad/s].
    """

    def __init__(self, world: World, timestep: float = TIMESTEP) -> None:
        """Start the engine where the world is.

        Raises:
            InvalidValue: if the world has things that the engine does not simulate, or the times do not fit.
        """
        _require_simple(world)
        steps = world.settings.dt / timestep
        if abs(steps - round(steps)) > 1e-6:
            raise InvalidValue(
                f"A step of {world.settings.dt} s is no whole number of the engine's {timestep} s; change one of them."
            )
        damping = np.zeros(world.model.nv)
        for figure in world.figures:
            first, end = figure.body.joints
            damping[first:end] = figure.damping
        apart = np.flatnonzero(world.overlaps == 0.0)
        self.engine = Engine(
            world.model, [_slab(s) for s in world.scene.surfaces], damping=damping, pairs=world.capsules.pairs[apart],
            friction=BODY_FRICTION, timestep=timestep,
        )  # fmt: skip
        self.engine.place(world.q, world.v)
        self.rest, self.surprise = REST, 0.0

    def __call__(self, world: World, result: StepResult) -> tuple[Array, Array]:
        """The state after the step (q, v), as the engine has it; the world's contact forces become the engine's."""
        torque = np.zeros(world.model.nv)
        for figure in world.figures:
            first, end = figure.body.joints
            assert figure.torque is not None
            torque[first:end] = figure.torque
        self.engine.advance(torque, world.settings.dt, world.pushed)
        world.forces[:] = self.engine.forces[: len(world.forces)]
        expected = world.v + world.settings.dt * result.a
        q, v = self.engine.q, self.engine.v
        for figure in world.figures:
            first, end = figure.body.joints
            self.surprise = max(self.surprise, float(np.abs(v - expected)[first:end].max()))
        return q, v

    def report(self) -> dict[str, float | str]:
        """What the engine saw: for the run's report."""
        return {
            "name": "mujoco",
            "timestep_s": self.engine.timestep,
            "penetration_max_m": self.engine.depth,
            "body_penetration_max_m": self.engine.overlap,
            "contact_work_J": self.engine.work,
            "joint_speed_surprise_max": self.surprise,
        }


def _require_simple(world: World) -> None:
    lacking = [f"{b.name} (a ball)" for b in world.scene.balls] + [f"{h.name} (a hold)" for h in world.scene.holds]
    for s in world.scene.surfaces:
        if s.movement is not None or np.isfinite(s.until):
            lacking.append(f"{s.name} ({'moves' if s.movement is not None else 'is taken away'})")
    if lacking:
        raise InvalidValue(
            f"On MuJoCo's own simulation figures meet floors and walls at rest; this scene has {', '.join(lacking)}. "
            "Leave them out, or run without the engine."
        )


def _slab(surface: Surface) -> Slab:
    half = (0.5 * surface.size[0], 0.5 * surface.size[1])
    return Slab(np.array(surface.origin), surface.frame, half, surface.depth, surface.friction)
