"""A world whose figures MuJoCo moves: the synthesizer as a live controller of another simulation.

Every step is solved as always, for the state that the engine has come to. The engine gets the muscles' torques, holds
them for the length of the step, and has its own contacts and its own integrator at a finer time step; what it does in
that time is the next state. Pushes act in the engine; the step knows nothing of them but that the figure is startled.
The tissue's damping is in both, implicit in both.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poise.core.errors import InvalidValue
from poise.core.typing import Array
from poise.goals.surroundings import Scene, Surface
from poise.physics.mujoco_engine import Engine, Slab
from poise.synthesis.contacts import BODY_FRICTION
from poise.synthesis.records import Applied, Cast, Moved

TIMESTEP = 0.00025
"""Of the engine [s]. At 0.001 s a hand that comes to a wall goes 4 mm into it."""
REST = 0.02
"""Time in which a step asks standing contacts to come to rest [s]. Feet on the engine's soft ground always move by a
hair; who stops that within one step of 0.01 s throws the whole weight from foot to foot in each."""


class EngineMover:
    """Moves the figures of a run by MuJoCo; see `records.Mover`.

    Attributes:
        engine: The simulation.
        rest: As `Mover.rest`.
        surprise: Largest difference of a joint's speed from what the step expected [rad/s].
    """

    def __init__(self, cast: Cast, q: Array, v: Array, dt: float, timestep: float = TIMESTEP) -> None:
        """Start the engine in a state.

        Args:
            cast: Who takes part.
            q, v: Coordinates (nq,) and velocities (nv,).
            dt: Length of the run's steps [s].
            timestep: Of the engine [s].

        Raises:
            InvalidValue: if there are things that the engine does not simulate, or the times do not fit.
        """
        _require_simple(cast.scene)
        if abs(dt / timestep - round(dt / timestep)) > 1e-6:
            raise InvalidValue(
                f"A step of {dt} s is not a whole number of the engine's {timestep} s; change one of them."
            )
        damping = np.zeros(cast.model.nv)
        self._joints = np.zeros(cast.model.nv, dtype=np.bool_)
        for figure in cast.figures:
            damping[slice(*figure.body.joints)] = figure.damping
            self._joints[slice(*figure.body.joints)] = True
        apart = np.flatnonzero(cast.overlaps == 0.0)
        self.engine = Engine(
            cast.model,
            [_slab(s) for s in cast.scene.surfaces],
            damping=damping,
            pairs=cast.capsules.pairs[apart],
            friction=BODY_FRICTION,
            timestep=timestep,
        )
        self.engine.place(q, v)
        self.rest, self.surprise = REST, 0.0

    def __call__(self, torque: Array, expected: Array, applied: Sequence[Applied], dt: float) -> Moved:
        """Hold the torques for the length of a step; the state and the contact forces after it."""
        self.engine.advance(torque, dt, list(applied))
        off = np.abs(self.engine.v - expected)[self._joints]
        self.surprise = max(self.surprise, float(off.max(initial=0.0)))
        return Moved(self.engine.q, self.engine.v, self.engine.forces)

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


def _require_simple(scene: Scene) -> None:
    lacking = [f"{b.name} (a ball)" for b in scene.balls] + [f"{h.name} (a hold)" for h in scene.holds]
    for s in scene.surfaces:
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
