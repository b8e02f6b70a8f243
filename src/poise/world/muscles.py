"""Drivers of figures that only their muscles move, or nothing: `Ragdoll` and `Goals`.

They meet the ground as they meet bodies:

    M a + bias = τ − D (v + Δt a) + Jᵀ f,    so B = (M + Δt D)⁻¹

This is a list too: the torques are a constraint, `poise.step` solves it as any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from poise.body.character import Character
from poise.core import rotations
from poise.core.errors import InvalidValue, StepInfeasible
from poise.core.typing import Array
from poise.filter.forces import Force
from poise.filter.preset import Bounds
from poise.filter.quasi_physical import JointLimits
from poise.goals.state_machine import Visit
from poise.goals.surroundings import Scene, Surface
from poise.physics import State
from poise.physics.mujoco_backend import model_of
from poise.step import Equal, Objective, Step
from poise.step.quantities import JointAcceleration, JointTorque
from poise.step.solve import solve_step
from poise.synthesis.controller_file import Wanted, find_behavior
from poise.synthesis.figure import Settings
from poise.synthesis.figure import Start as StartOf
from poise.synthesis.prepared import prepared, prepared_figure, steadied
from poise.synthesis.records import Applied, Moved
from poise.synthesis.run import has_fallen
from poise.synthesis.world import Solved
from poise.synthesis.world import World as Controlled
from poise.terrain import Terrain
from poise.world.drivers import Driver, Lists

BRAKE = 3.0
"""How fast a joint of a ragdoll slows down by itself [1/s]."""
LIMITS = Bounds(near_angle=20.0, near_ground=0.05, return_share=0.3)
"""When the limit of a joint acts."""
RETURN = 0.3
"""A joint past its limit comes back no faster than this [rad/s]: ligaments stop it, they do not throw it back."""
UNIQUE = 1e-9
"""Weight of accelerations besides the torques, which decide them, times the mass [kg]."""


class Ragdoll(Driver):
    """Nothing drives it: weight, joint limits, and tissue that slows its joints down.

    Example:
        >>> world = poise.World(figures={"doll": poise.world.Ragdoll(character, q)})
        >>> world.step()

    Args:
        character: The figure; not needed where another driver hands over to it.
        q, v: Where it begins, shapes (nq,) and (nv,).
    """

    meets_ground: ClassVar[bool] = True

    def __init__(self, character: Character | None = None, q: Array | None = None, v: Array | None = None) -> None:
        self.character = character
        self._start = None if q is None else (q, v)

    def begin(self, character: Character, dt: float, terrain: Terrain, start: tuple[Array, Array] | None) -> None:
        del terrain
        if start is None and self._start is not None:
            q, v = self._start
            start = q, np.zeros(character.nv) if v is None else v
        if start is None:
            raise InvalidValue("A ragdoll begins where another driver leaves it, or at a pose: Ragdoll(character, q).")
        self._dt, self._figure, self._model = dt, character, model_of(steadied(character))
        self._state, self._limits = State(self._model), JointLimits(character, LIMITS)
        self.q, self.v = start[0].copy(), start[1].copy()
        self._rest = _Still(self.q, np.zeros_like(self.v), np.zeros_like(self.v))

    def ask(self, forces: Sequence[Force]) -> Lists:
        state = self._state.at(self.q, self.v)
        damping = BRAKE * np.diag(state.M)
        damping[:6] = 0.0
        lists = muscles_alone(state, self._figure, self._dt, np.zeros(state.model.nv), damping, forces)
        limits = self._limits.constraint(self.q, self.v, self._rest, self._dt, 1.0)
        if limits is None:
            return lists
        along = cast("JointAcceleration", limits.quantity).along
        assert along is not None
        least = along @ self.v + self._dt * np.asarray(limits.lower, dtype=np.float64)
        return lists._replace(limits=(along, np.minimum(least, RETURN)))

    def move(self, lists: Lists, force: Array) -> None:
        self.q, self.v = moved_on(lists, force, self.q, self.v)


class Goals(Driver):
    """A controller of `poise.synthesize` moves it by the torques of its muscles.

    The controller solves its step for the plane of the ground where it begins, with the least friction of the world,
    and for the walls and boxes of a scene file. It knows nothing of bodies; what touches it only startles it.
    Where its step has no solution, the muscles let go for that step.

    Example:
        >>> world = poise.World("rubble:3,1", figures={"eve": poise.world.Goals("balance")})
        >>> world.step()

    Args:
        behavior: A built-in one's name, a controller file or a machine, of one figure.
        character: The built-in grown-up if not given.
        options: Changed options of the behavior.
        place: Where it stands, horizontally [m]; the behavior's own if not given.
        heading: Where it faces, counterclockwise from +x [rad].
        settings: Of the synthesizer, but for the length of its steps.

    Attributes:
        name: Of the behavior's figure.
        controlled: The world that its controller knows, once it has begun.
        failed_count: Steps without an answer, in which the muscles let go.
        fell: When the figure fell, since the driver began [s], or None.
    """

    meets_ground: ClassVar[bool] = True

    def __init__(
        self,
        behavior: Wanted = "balance",
        character: Character | None = None,
        *,
        options: Mapping[str, Any] | None = None,
        place: Sequence[float] | None = None,
        heading: float = 0.0,
        settings: Settings | None = None,
    ) -> None:
        self._settings, self._place, self._heading = settings or Settings(), place, heading
        setup = find_behavior(behavior).setup(options, is_literal=self._settings.is_literal)
        if len(setup.roles) != 1:
            names = ", ".join(role.name for role in setup.roles)
            raise InvalidValue(f"{behavior!r} is played by {names}; a figure of a world is driven by itself alone.")
        self._role = setup.roles[0]
        self.name = self._role.name
        self.character = prepared(character) if character else prepared_figure(self._role.character or "adult")
        self.failed_count = 0
        self.fell: float | None = None
        self._solved: Solved | None = None

    def begin(self, character: Character, dt: float, terrain: Terrain, start: tuple[Array, Array] | None) -> None:
        who = prepared(character)
        q = self._role.pose(who)
        turn = rotations.from_rotation_vector(np.array([0.0, 0.0, self._role.turn + self._heading]))
        place = self._role.place if self._place is None else self._place
        if start is not None:
            place, turn = start[0][:2], _upright(start[0][3:7], q[3:7])
        below = terrain.sample(np.array([place[:2]]))
        foot = np.array([*place[:2], float(below.height[0])])
        q[:3] = rotations.rotate(turn, q[:3]) + foot
        q[3:7] = rotations.multiply(turn, q[3:7])
        self._state = state = State(model_of(who))
        if not terrain.is_flat:  # no point begins below a slope
            points = state.at(q, np.zeros(who.nv)).points
            lowest = points[:, 2] - state.model.point_radii - terrain.heights(points[:, :2])
            q[2] -= float(lowest.min(initial=0.0))
        (x, y, z), (across, along, up) = foot.tolist(), below.normal[0].tolist()
        ground = Scene((Surface("floor", (x, y, z), (across, along, up), friction=self.friction), *self.walls))
        settings = replace(self._settings, dt=dt)
        self.controlled = world = Controlled([StartOf(self._role.name, who, self._role.machine, q)], ground, settings)
        world.mover = _Elsewhere()
        self._dt, self._figure, self._felt, self.fell = dt, character, False, None
        self.q, self.v = (q, np.zeros(who.nv)) if start is None else (start[0].copy(), start[1].copy())
        world.q, world.v = self.q, self.v

    def ask(self, forces: Sequence[Force]) -> Lists:
        world, figure = self.controlled, self.controlled.figures[0]
        forces = [*forces, *(push for push in world.pushes if push.is_on(world.time))]
        is_new, self._felt = bool(forces) and not self._felt, bool(forces)
        if is_new:
            figure.start_delay(world.time, world.settings.delay)
        try:
            self._solved = world.solve()
            torque = world.torque
        except StepInfeasible:
            self._solved, self.failed_count = None, self.failed_count + 1
            torque = np.zeros(len(self.v))
        damping = np.concatenate([np.zeros(6), figure.damping])
        return muscles_alone(self._state.at(self.q, self.v), self._figure, self._dt, torque, damping, forces)

    def move(self, lists: Lists, force: Array) -> None:
        self.q, self.v = moved_on(lists, force, self.q, self.v)
        if self._solved is None:
            self.controlled.q, self.controlled.v = self.q, self.v
            self.controlled.time += self._dt
        else:
            self.controlled.move(self._solved, Moved(self.q, self.v, self.controlled.forces))
        if self.fell is None and has_fallen(self.controlled.state, self.controlled.figures[0].body):
            self.fell = self.controlled.time

    @property
    def visits(self) -> tuple[Visit, ...]:
        """States that the controller was in so far."""
        return self.controlled.figures[0].controller.end(self.controlled.time)


class _Elsewhere:
    """A stand-in for a mover of `synthesis.world`, whose figures this world moves."""

    rest = 0.02

    def __call__(self, torque: Array, expected: Array, applied: Sequence[Applied], dt: float) -> Moved:
        raise NotImplementedError("The figure is moved by `Goals.move`.")

    def report(self) -> dict[str, float | str]:
        """Nothing: `World.report` tells it."""
        return {}


class _Still(NamedTuple):
    """A pose that joint limits never push away from."""

    q: Array
    v: Array
    a: Array


def muscles_alone(
    state: State, character: Character, dt: float, torque: Array, damping: Array, forces: Sequence[Force]
) -> Lists:
    """The lists of a figure that only its muscles move: torques less damping, and nothing at the root.

    Args:
        state: Of the figure.
        character: The figure.
        dt: Length of the step [s].
        torque, damping: Of each dof [N m], [N m s], shapes (nv,); zero at the root.
        forces: What pushes it from outside.
    """
    model, external = state.model, np.zeros(state.model.nv)
    for force in forces:
        if force.is_solved_for:
            continue
        body = 1 + force.body_of(character)
        place = state.data.xipos[body].copy() if force.offset is None else state.body_place(body, force.offset)
        velocity, _ = state.body_point_motion(body, place)
        now = force.force_at(place, velocity, 0.0, float(model.body_masses[body]))
        external += state.external_torque(body, place, now)
    step = Step(state, dt=dt, external=external)
    mass = state.mass(model.roots[0])
    free = [Objective(JointAcceleration(), 0.0, UNIQUE * mass, "nothing else")]
    return Lists(step, free, [Equal(JointTorque(damping=damping), torque - damping * state.v, "muscles")])


def moved_on(lists: Lists, force: Array, q: Array, v: Array) -> tuple[Array, Array]:
    """Pose (nq,) and velocity (nv,) after a step that is solved with a further generalized force (nv,)."""
    step = Step(lists.step.state, dt=lists.step.dt, external=lists.step.external + force)
    v = v + step.dt * solve_step(step, lists.objectives, lists.constraints, costs=False).a
    return step.state.model.integrate(q, v, step.dt), v


def _upright(q: Array, other: Array) -> Array:
    """The turn about the vertical of one orientation against another."""
    return rotations.from_rotation_vector(np.array([0.0, 0.0, rotations.yaw_to(other, q)]))
