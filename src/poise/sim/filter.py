"""The quasi-physical filter as a machine: holds the simulated state and moves it one step at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from poise.character.character import Character
from poise.control import kernels
from poise.control.footing import Footholds, Footing
from poise.control.goal import GoalParticle, TrunkSway
from poise.control.ground import GroundFollower
from poise.control.limits import JointLimits
from poise.control.plan import GroundPlan, PlannedFrame, Track, starts_level
from poise.control.preset import Preset
from poise.control.reference import ReferenceFrame
from poise.control.unheld import (
    FALLEN_DROP,
    FALLEN_TILT,
    LARGEST_TURN,
    LARGEST_WAY,
    authority,
    joint_servo,
    within,
)
from poise.dynamics import State
from poise.dynamics.from_character import model_of
from poise.errors import InvalidValue, SimulationDiverged, StepInfeasible
from poise.methods.pd import proportional_derivative
from poise.methods.quasi_physical import HOVERING, LoadShare, Physicality, Wishes, quasi_physical
from poise.sim.forces import Pull, Push
from poise.sim.goals import PointGoal
from poise.step import AtLeast, Constraint, Contacts, Equal, Objective, Step, StepResult, solve_step
from poise.step.cones import frames
from poise.step.quantities import PointAcceleration
from poise.terrain import Terrain
from poise.units import GRAVITY

Array = npt.NDArray[np.float64]


FASTEST = 1e4
"""A joint faster than this [rad/s, m/s] means that the run diverged; glitches of real captures reach 1e3."""


FALLBACK_WEIGHT = 1e3
"""Weight of hard constraints that had to give way in a step, times the total mass [kg]; such steps are counted."""

RISE = 10.0
"""Factor on the weight of the root's height where a plan says it and something stands [1]."""

GOALS = ("auto", "com-xy", "moving", "none")
ENGINES = ("qp", "pd")


@dataclass(frozen=True)
class Options:
    """How a run is to be made; the defaults are those of `poise simulate`.

    Attributes:
        goal: "auto" (moving when anything pushes or the ground moves, else com-xy), "com-xy", "moving" or "none".
        goal_points: Places on bodies with targets of their own.
        goal_without: Joints or roles whose bodies are left out of the goal's center of mass.
        physicality: The knob.
        friction: Coulomb coefficient.
        hard_contact: No point goes below the ground, as hard rows (slower: the full program).
        readable: Solve every step with the readable path.
        engine: "qp", or "pd" for the baseline of the paper's comparison.
    """

    goal: str = "auto"
    goal_points: tuple[PointGoal, ...] = ()
    goal_without: tuple[str, ...] = ()
    physicality: Physicality = field(default_factory=Physicality)
    friction: float = 0.8
    hard_contact: bool = False
    readable: bool = False
    engine: str = "qp"

    def __post_init__(self) -> None:
        for name, value, allowed in (("goal", self.goal, GOALS), ("engine", self.engine, ENGINES)):
            if value not in allowed:
                raise InvalidValue(f"{name} is {value!r}; give one of {', '.join(allowed)}.")
        if not (math.isfinite(self.friction) and self.friction >= 0.0):
            raise InvalidValue(f"friction is {self.friction}; give a finite number of zero or more.")


@dataclass
class Tally:
    """What the solver did, for the report."""

    solves: int = 0
    failures: int = 0
    fallbacks: dict[str, int] = field(
        default_factory=lambda: {"daqp": 0, "goal_soft": 0, "carried": 0, "glitch_carried": 0}
    )
    conflicts: dict[str, int] = field(default_factory=dict)
    primal: float = 0.0
    dual: float = 0.0
    dynamics: float = 0.0
    in_a_row: int = 0


class Machine:
    """The simulated character between two poses; `advance` makes one step.

    Both the stream and the clip run drive this. It holds everything that changes: state, offsets of standing points,
    goal particle, ground filter, warm starts, tally.
    """

    def __init__(
        self, character: Character, preset: Preset, terrain: Terrain, options: Options, *, dt: float, floor: float
    ) -> None:
        self.character, self.preset, self.terrain, self.options = character, preset, terrain, options
        self.dt, self.floor = dt, floor
        self.model = model_of(character)
        self.state = State(self.model)
        self.scale = character.leg_length / 0.82
        self.mass = float(self.model.subtree_masses[self.model.roots[0]])
        strengths = np.ones(self.model.body_count)
        strengths[1:] = [b.strength for b in character.bodies]
        self.goal_without = tuple(sorted({character.body_index(name) + 1 for name in options.goal_without}))
        self.goal_points = tuple(goal.timed(dt) for goal in options.goal_points)
        self.load = LoadShare(self.model, strengths, self.scale)
        self.limits = JointLimits(character, preset.bounds)
        self.particle = GoalParticle(preset.goal.frequency)
        self.sway = TrunkSway(preset.goal, self.mass, self.scale)
        self.follower = GroundFollower(preset.ground, terrain, floor, 0.25 * self.scale)
        self.footing = Footing(
            preset.end_effector,
            preset.stepping,
            terrain,
            floor,
            _feet(character),
            _limbs(character),
            self.model.point_count,
            self.scale,
        )
        self.tally = Tally()
        self.time = 0.0
        self.q, self.v = np.zeros(self.model.nq), np.zeros(self.model.nv)
        self._is_quadruped = sum(limb.kind == "leg" for limb in character.limbs) >= 4
        self._sway_share, self._lean_share = _shares(character, preset, self._is_quadruped)
        self._turning = np.zeros(3 * (self.model.body_count - 1))
        self._previous_error: Array | None = None
        self._warm = np.zeros((self.model.point_count, 4), dtype=np.bool_)
        self._off = np.zeros(self.model.nv)
        self._flat_axes = np.tile(np.eye(3), (self.model.point_count, 1, 1))
        self._flat_normals = np.ascontiguousarray(self._flat_axes[:, 2])
        self._still = np.zeros((self.model.point_count, 3))
        self._flat_heights = np.full(self.model.point_count, floor)
        self.last: StepRecord | None = None
        self.shifts: list[Array] = []
        self._frame = -1

    @property
    def constants(self) -> dict[str, float]:
        """Numbers that no preset changes, for the report's settings."""
        return {
            "ground.rise": RISE,
            "fallback.weight": FALLBACK_WEIGHT,
            "hover.root_share": HOVERING,
            "unheld.largest_turn_rad": LARGEST_TURN,
            "unheld.largest_way_m": LARGEST_WAY,
            "unheld.fallen_tilt_rad": FALLEN_TILT,
            "unheld.fallen_drop_legs": FALLEN_DROP,
        }

    def start(self, q: Array, v: Array, time: float = 0.0) -> None:
        """Begin at a pose (nq,) and velocity (nv,)."""
        self.q, self.v, self.time = q.copy(), v.copy(), time

    def plan(self, track: Track) -> GroundPlan | None:
        """The way of a whole clip over the ground; None on level ground and on ground that moves."""
        if self.terrain.is_flat or not self.terrain.is_static:
            return None
        upright = np.array([self._upright(height) for height in track.com[:, 2]])
        return GroundPlan(track, self.character, self.terrain, self.preset.end_effector, _feet(self.character), upright)

    def settle(self, reference: ReferenceFrame, planned: PlannedFrame | None = None, *, seconds: float = 1.0) -> None:
        """Stand on the ground before time 0: hold the first reference pose still for a while, then take up its speed.

        A clip begins with feet on its own flat floor; on a slope they would start inside the ground. Where the ground
        under the first pose is the clip's own, nothing is done, so an undisturbed start stays exact.
        """
        self.state.move_to(self.q, self.v)
        is_level = starts_level(self.state.centers, self.terrain, self.floor, self.scale, self.time)
        if is_level and (planned is None or not np.abs(planned.offsets).max() > 1e-6):
            return
        v, start = self.v.copy(), self.time
        self.v = np.zeros_like(v)
        standing = None
        if planned is not None:
            standing = planned.at_rest()
            v[2] += planned.height_velocity
        for _ in range(round(seconds / self.dt)):
            self.advance(reference, reference.q, reference.v, planned=standing)
            self.time = start
        self.v = self.v + v
        self.tally, self.last, self._frame, self.shifts = Tally(), None, -1, []
        self._previous_error = None

    # --- one step

    def advance(
        self,
        reference: ReferenceFrame,
        following: Array,
        following_v: Array,
        pushes: Sequence[Push | Pull] = (),
        *,
        is_glitch: bool = False,
        planned: PlannedFrame | None = None,
    ) -> Array:
        """Move to the next pose and return it, shape (nq,).

        Args:
            reference: The undisturbed character now.
            following: The undisturbed pose one step later, shape (nq,).
            following_v: Its velocity, shape (nv,).
            pushes: What pushes and pulls now.
            is_glitch: The reference cannot be trusted here: carry the deviation instead of solving.
            planned: The plan over the ground at this step, if there is one.

        Raises:
            SimulationDiverged: if two steps in a row had to be carried, or the state is not finite.
        """
        self._frame += 1
        self.shifts.append(self.particle.shift)
        if is_glitch:
            self.tally.fallbacks["glitch_carried"] += 1
            return self._carry(reference, following, following_v, planned)
        scene = self._look(reference, pushes, planned)
        result = self._solve(reference, scene)
        if result is None:
            self.tally.fallbacks["carried"] += 1
            self.tally.in_a_row += 1
            if self.tally.in_a_row >= 2:
                raise SimulationDiverged(
                    f"No solution for two steps in a row, at {self.time:.3f} s. Raise friction, soften hard goals, or "
                    "use --goal none.",
                    frame=round(self.time / self.dt), reason="no solution",
                )  # fmt: skip
            return self._carry(reference, following, following_v, planned)
        self.tally.in_a_row = 0
        self.v = self.v + self.dt * result.a
        self.q = self.model.integrate(self.q, self.v, self.dt)
        fastest = float(np.abs(self.v).max())
        if not fastest < FASTEST:
            raise SimulationDiverged(
                f"The run diverged at {self.time:.3f} s: a joint or the root moves at {fastest:.3g} rad/s or m/s. "
                "Try a higher --fps, a gentler push or ground, or the preset 'recommended'.",
                frame=round(self.time / self.dt), reason="too fast",
            )  # fmt: skip
        self._finish()
        return self.q

    def _finish(self) -> None:
        self.particle.advance(self.dt)
        self.sway.advance(self.dt)
        self.follower.advance(self.dt)
        self.time += self.dt

    def _carry(
        self, reference: ReferenceFrame, following: Array, following_v: Array, planned: PlannedFrame | None
    ) -> Array:
        """Keep the deviation from the reference, fading with the preset's half-life."""
        fade = 0.5 ** (self.dt / self.preset.glitch.halflife)
        deviation = self.model.difference(reference.q, self.q, 1.0)
        speed = (self.v - reference.v) * fade
        self.q = self.model.integrate(following, fade * deviation, 1.0)
        self.v = following_v + speed
        self._previous_error = None
        self.particle.accelerate(np.zeros(3), self.mass, np.zeros(2))
        self.sway.accelerate(np.zeros(3))
        self.follower.carry(planned)
        self._finish()
        if np.abs(deviation).max() > 1e-9:
            # the goal goes on from where the carried figure is, not from where a spring would have brought it
            (here, speed_here), (there, speed_there) = (
                self._com_of(self.q, self.v),
                self._com_of(following, following_v),
            )
            self.particle.shift, self.particle.velocity = here - there, speed_here - speed_there
        return self.q

    def _com_of(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Horizontal place [m] and velocity [m/s] of the center of mass at (q, v), shapes (2,)."""
        root = self.model.roots[0]
        self.state.move_to(q, v)
        return self.state.com(root)[:2].copy(), (self.state.com_jacobian(root) @ v)[:2]

    def _look(self, reference: ReferenceFrame, pushes: Sequence[Push | Pull], planned: PlannedFrame | None) -> _Scene:
        """The state, the ground under it, what pushes, and where everything should go."""
        s, dt = self.state, self.dt
        s.move_to(self.q, self.v)
        flat = self.terrain.is_flat
        moving = None
        if flat:
            normals, axes, heights = self._flat_normals, self._flat_axes, self._flat_heights
            s.touch()
        else:
            surface = self.terrain.sample(s.centers[:, :2], self.time)
            normals, heights = np.array(surface.normal), np.array(surface.height)
            s.touch(normals)
            axes = frames(normals)
            if not self.terrain.is_static:
                moving = surface.velocity
        s.complete()
        external, force, moment = self._pushes(pushes)
        band = self.preset.contact.height * self.scale
        count = self.model.point_count
        gaps, touching, touching_normals = np.empty(count), np.empty(count, dtype=np.int64), np.empty((count, 3))
        near = kernels.near_ground(
            s.points, self.model.point_radii, heights, normals, band, gaps, touching, touching_normals
        )
        touching, touching_normals = touching[:near], touching_normals[:near]
        root_ground = moving.mean(axis=0)[:2] if moving is not None else np.zeros(2)
        if self._goal_mode(pushes) == "moving":
            # a push of so many body weights moves figures of any size by the same part of their legs
            self.particle.accelerate(self.scale * force, self.mass, root_ground)
            self.sway.accelerate(self.scale * moment)
        else:
            self.particle.accelerate(np.zeros(3), self.mass, root_ground)
            self.sway.accelerate(np.zeros(3))
        shift = self.particle.shift
        self.follower.accelerate(reference.q[:3], reference.v[:3], shift, self.time, planned)
        footholds = self.footing.place(
            reference,
            s.points,
            s.point_velocities,
            heights,
            gaps,
            band,
            moving,
            shift,
            self._home(),
            self.time,
            dt,
            planned,
        )
        contacts = Contacts(touching, touching_normals, self.options.friction)
        return _Scene(Step(s, contacts, dt=dt, external=external), heights, gaps, axes, footholds, moving, planned)

    def _home(self) -> Array | None:
        """Where the goal will rest [m], shape (2,); None while it never moved, or where nobody holds the figure."""
        if self.options.goal == "none" or self.options.physicality.is_strict or not self.particle.shift.any():
            return None
        return self.particle.ground

    def _pushes(self, pushes: Sequence[Push | Pull]) -> tuple[Array, Array, Array]:
        external, force, moment = np.zeros(self.model.nv), np.zeros(3), np.zeros(3)
        for push in pushes:
            body = push.body_of(self.character) + 1
            place = self.state.data.xipos[body].copy()
            velocity = self.state.body_point_motion(body, place)[0]
            f = push.force_at(place, velocity, self.time, self.model.body_masses[body])
            external += self.state.external_torque(body, place, f)
            force += f
            moment += np.cross(place - self.state.com(self.model.roots[0]), f)
        return external, force, moment

    def _goal_mode(self, pushes: Sequence[Push | Pull]) -> str:
        if self.options.goal != "auto":
            return self.options.goal
        if pushes or self.particle.shift.any() or self.particle.velocity.any() or not self.terrain.is_static:
            return "moving"
        return "com-xy"

    # --- wishes

    def _wishes(self, reference: ReferenceFrame, scene: _Scene) -> Wishes:
        s, p = self.state, self.preset
        e = p.end_effector
        target, speeds, accelerations = self._turned(reference)
        joints, standing = None, 1.0
        if self.options.physicality.is_strict:
            error = self.model.difference(s.q, reference.q, 1.0)
            joints = joint_servo(error, s.v, reference.v, reference.a, p.pose.speed, p.pose.stiffness)
            drop = float(error[2]) + self.follower.height
            standing = authority(float(np.linalg.norm(error[3:6])), drop, self.character.leg_length)
        shift, ground = self.particle, self.follower
        off, root = np.empty(3), np.empty(3)
        kernels.servos(
            s.data.xquat, s.data.cvel, target, speeds, accelerations, root, reference.q, reference.v, reference.a, s.q,
            s.v, shift.shift, shift.velocity, shift.acceleration,
            (float(ground.height), float(ground.velocity), float(ground.acceleration)), p.pose.speed, p.pose.stiffness,
            self._turning, off,
        )  # fmt: skip
        feet = scene.footholds
        places = feet.positions
        if self.options.physicality.is_strict:
            root += p.pose.stiffness * (within(off, self.scale) - off)
            places = s.points + within(feet.positions - s.points, self.scale)
        heights, gaps = reference.points[:, 2] - self.floor, scene.gaps
        if scene.planned is not None:
            heights, gaps = np.minimum(heights, scene.planned.gaps), np.minimum(gaps, scene.planned.gaps)
        points, shares = np.empty(3 * self.model.point_count), np.empty(3 * self.model.point_count)
        kernels.timed_ends(
            feet.accelerations, feet.velocities, places, s.point_velocities, s.points, scene.axes, e.speed, e.stiffness,
            reference.times_to_contact, e.contact_time, heights, e.contact_height * self.scale, gaps, points, shares,
        )  # fmt: skip
        if scene.planned is not None:
            shares[2::3] = np.maximum(shares[2::3], scene.planned.climbs)
        bounds: list[AtLeast] = []
        weight = p.weights.bounds * self.mass
        limits = self.limits.constraint(s.q, s.v, reference, self.dt, self.load.area * weight)
        if limits is not None:
            bounds.append(limits)
        ground = self._ground(reference, scene, None if self.options.hard_contact else weight)
        if ground is not None:
            bounds.append(ground)
        return Wishes(
            self._turning, root, points, scene.axes, shares, feet.stands, self._goal(reference),
            [g.at(self) for g in self.goal_points if g.is_on(self.time)], bounds, joints, standing,
            self._hung(reference, scene),
            RISE if scene.planned is not None and feet.stands.any() else 1.0,
        )  # fmt: skip

    def _hung(self, reference: ReferenceFrame, scene: _Scene) -> float:
        """How far the figure hovers, 0 … 1: nothing touches, and in the reference the root carries it."""
        carried = min(max(float(reference.torque[2]) / (GRAVITY * self.mass), 0.0), 1.0)
        return 0.0 if scene.step.contacts.count else carried

    def _turned(self, reference: ReferenceFrame) -> tuple[Array, Array, Array]:
        """Reference orientations and rates of the bodies, turned by sway and lean; untouched while both are zero."""
        sway, ground = self.sway, self.follower
        if not (
            sway.turn.any()
            or sway.velocity.any()
            or sway.acceleration.any()
            or ground.turn.any()
            or ground.turn_velocity.any()
        ):
            return reference.orientations, reference.angular_velocities, reference.angular_accelerations
        return kernels.turned_figure(
            self._sway_share, sway.turn, sway.velocity, sway.acceleration, self._lean(reference), ground.turn,
            ground.turn_velocity, reference.orientations, reference.angular_velocities, reference.angular_accelerations,
        )  # fmt: skip

    def _lean(self, reference: ReferenceFrame) -> Array:
        """Part of the slope's turn each body takes: the upright lean uphill a little, others lie along the slope."""
        lean = self.preset.ground.lean
        if lean == 0.0:
            return 0.0 * self._lean_share
        if self._is_quadruped:
            return -self._lean_share
        upright = self._upright(float(reference.com[2]))
        return upright * lean * self._lean_share - (1.0 - upright)

    def _upright(self, height: float) -> float:
        """1 for a figure that stands on two legs with its center of mass so high, 0 for one that lies or has four."""
        ground = self.preset.ground
        if ground.lean == 0.0:
            return 1.0
        height = (height - self.floor) / self.character.leg_length
        upright = (height - ground.lies_below) / (ground.stands_above - ground.lies_below)
        return 0.0 if self._is_quadruped else float(np.clip(upright, 0.0, 1.0))

    def _goal(self, reference: ReferenceFrame) -> Array | None:
        """Horizontal acceleration that puts the center of mass on the goal in the next step, in error form.

        Source: [Levine2012]_ 2.2. Deviates: written as a* + (2 e_k − e_{k−1}) / Δt², which is the paper's G without its
        mismatch of order Δt between differences of positions and J a + J̇ v. With a strict root, where it is a wish
        that cannot always be met, it is a critically damped servo instead.
        """
        if self.options.goal == "none":
            return None
        root = self.model.roots[0]
        com = self.state.com_without(root, self.goal_without)[:2] if self.goal_without else self.state.com(root)[:2]
        own, bias = reference.com[:2], reference.com_acceleration[:2]
        error = own + self.particle.shift - com
        previous = error if self._previous_error is None else self._previous_error
        self._previous_error = error
        if self.options.physicality.is_strict:
            w = self.preset.goal.point_frequency
            rate = (error - previous) / self.dt
            return bias + self.particle.acceleration + 2.0 * w * rate + w * w * within(error, self.scale)
        return bias + self.particle.acceleration + (2.0 * error - previous) / self.dt**2

    def _ground(self, reference: ReferenceFrame, scene: _Scene, weight: float | None) -> AtLeast | None:
        """Rows for points near the ground: not below it next step, nor deeper than the reference itself goes."""
        count = self.model.point_count
        index, normals, lower = np.empty(count, dtype=np.int64), np.empty((count, 1, 3)), np.empty(count)
        near = kernels.ground_rows(
            scene.axes, scene.gaps, self.state.point_velocities, self._still if scene.moving is None else scene.moving,
            reference.points, reference.point_velocities, reference.point_accelerations, self.floor, self.dt,
            self.preset.bounds.near_ground * self.scale, self.preset.bounds.return_share, index, normals, lower,
        )  # fmt: skip
        return (
            AtLeast(PointAcceleration(index[:near], normals[:near]), lower[:near], weight, "ground") if near else None
        )

    # --- solving, with named fallbacks

    def _solve(self, reference: ReferenceFrame, scene: _Scene) -> StepResult | None:
        if self.options.engine == "pd":
            objectives, constraints = proportional_derivative(scene.step, reference, self.preset.pd)
        else:
            objectives, constraints = quasi_physical(
                scene.step, reference, self._wishes(reference, scene), self.preset.weights, self.load,
                physicality=self.options.physicality, goal_without=self.goal_without,
            )  # fmt: skip
        points = scene.step.contacts.points
        result = self._attempt(scene.step, objectives, constraints, self._warm[points].ravel(), reference.a + self._off)
        if result is None:
            return None
        self._warm[:] = False
        self._warm[points] = (result.coefficients > 0.0).reshape(-1, 4)
        self._off = result.a - reference.a
        t = self.tally
        t.solves += 1
        t.primal = max(t.primal, result.certificate.primal)
        t.dual = max(t.dual, result.certificate.dual)
        t.dynamics = max(t.dynamics, result.certificate.dynamics)
        root = self.model.roots[0]
        com = self.state.com_without(root, self.goal_without) if self.goal_without else self.state.com(root)
        self.last = StepRecord(
            self._frame, reference, result, scene.step, scene.gaps, self.state.point_velocities.copy(), com
        )
        return result

    def _attempt(
        self, step: Step, objectives: list[Objective], constraints: list[Constraint], warm: npt.NDArray[np.bool_],
        guess: Array,
    ) -> StepResult | None:  # fmt: skip
        try:
            return solve_step(
                step, objectives, constraints, readable=self.options.readable, warm=warm, guess=guess, costs=False
            )
        except StepInfeasible as error:
            self.tally.failures += 1
            names = " + ".join(error.constraints) or "none"
            self.tally.conflicts[names] = self.tally.conflicts.get(names, 0) + 1
        try:
            result = solve_step(step, objectives, constraints, readable=True, costs=False)
            self.tally.fallbacks["daqp"] += 1
            return result
        except StepInfeasible:
            pass
        soft: list[Constraint] = []
        for c in constraints:
            if isinstance(c, Equal):
                objectives = [*objectives, Objective(c.quantity, c.target, FALLBACK_WEIGHT * self.mass, c.name)]
            else:
                soft.append(c if c.weight is not None else replace(c, weight=FALLBACK_WEIGHT * self.mass))
        try:
            result = solve_step(step, objectives, soft, costs=False)
            self.tally.fallbacks["goal_soft"] += 1
            return result
        except StepInfeasible:
            return None


@dataclass(frozen=True)
class _Scene:
    """One look at the world: what the wishes and the step are made from."""

    step: Step
    heights: Array
    gaps: Array
    axes: Array
    footholds: Footholds
    moving: Array | None
    planned: PlannedFrame | None


@dataclass(frozen=True)
class StepRecord:
    """The last solved step, for reports."""

    frame: int
    reference: ReferenceFrame
    result: StepResult
    step: Step
    gaps: Array
    velocities: Array
    com: Array


def _feet(character: Character) -> tuple[tuple[int, ...], ...]:
    """Contact points of each foot, by limb."""
    feet: list[tuple[int, ...]] = []
    for limb in character.limbs:
        if limb.kind == "leg":
            points = tuple(
                i for i, p in enumerate(character.contact_points) if p.body in limb.bodies and p.part == "foot"
            )
            if points:
                feet.append(points)
    return tuple(feet)


def _limbs(character: Character) -> tuple[tuple[int, ...], ...]:
    """Contact points of each leg and arm: what can step back."""
    limbs = [limb for limb in character.limbs if limb.kind in ("leg", "arm")]
    points = [tuple(i for i, p in enumerate(character.contact_points) if p.body in limb.bodies) for limb in limbs]
    return tuple(p for p in points if p)


def _shares(character: Character, preset: Preset, is_quadruped: bool) -> tuple[Array, Array]:
    """Part of the trunk's sway and of its lean that each body of the model takes, shapes (B,); the world's is 0."""
    goal, ground = preset.goal, preset.ground
    swaying = {"spine": 1.0, "neck": 1.0, "arm": goal.sway_arms}
    leaning = {"spine": 1.0, "neck": ground.lean_neck, "arm": ground.lean_arms, "tail": ground.lean_tail}
    sway, lean = np.zeros(len(character.bodies) + 1), np.zeros(len(character.bodies) + 1)
    for limb in character.limbs:
        for body in limb.bodies:
            sway[body + 1] = swaying.get(limb.kind, 0.0)
            lean[body + 1] = leaning.get(limb.kind, 0.0)
    sway[1], lean[1] = goal.sway_pelvis, 1.0 if is_quadruped else ground.lean_pelvis
    return sway, lean
