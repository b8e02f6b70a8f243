"""The quasi-physical filter as a machine: holds the simulated state and moves it one step at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from poise.body.character import Character
from poise.core.errors import SimulationDiverged
from poise.filter import rising
from poise.filter.falling import Fall, begun
from poise.filter.footing import Footing
from poise.filter.forces import Force
from poise.filter.free_root import FALLEN_DROP, FALLEN_TILT, LARGEST_TURN, LARGEST_WAY
from poise.filter.giving import giving_body
from poise.filter.goal import GoalParticle, TrunkSway
from poise.filter.ground import GroundFollower
from poise.filter.limits import JointLimits
from poise.filter.options import Options, Tally
from poise.filter.plan import GroundPlan, PlannedFrame, Track, starts_level
from poise.filter.preset import Preset
from poise.filter.protective import Recovery
from poise.filter.quasi_physical import HOVERING, Physicality, quasi_physical
from poise.filter.reference import ReferenceFrame
from poise.filter.routine import Routine
from poise.filter.sensing import feet_of, limbs_of, sense
from poise.filter.solving import FALLBACK_WEIGHT, StepRecord, solve
from poise.filter.targets import RISE, shares_of, upright, usual_targets
from poise.filter.things import Surroundings
from poise.physics import State
from poise.physics.from_character import model_of
from poise.terrain import Terrain

Array = npt.NDArray[np.float64]


FASTEST = 1e4
"""A joint faster than this [rad/s, m/s] means that the run diverged; glitches of real captures reach 1e3."""


class Machine:
    """The simulated character between two poses; `advance` makes one step.

    Both the stream and the clip run drive this. It holds everything that changes: state, offsets of standing points,
    goal particle, ground filter, warm starts, tally. The parts of a step are `sense`, `targets` and `solve`, which read
    and change it.

    Attributes:
        q, v, time: The simulated pose (nq,), its velocity (nv,) and the time [s].
        last: The last solved step, for reports.
        is_level: The ground is level and stands still.
        shifts: Place of the goal at every step so far [m].
        problem: The block "Frame" of the step.
        warm, off: Coefficients that acted in the last step (P, 4), and its a − a* (nv,): where the solver starts.
    """

    def __init__(
        self, character: Character, preset: Preset, terrain: Terrain, options: Options, *, dt: float, floor: float
    ) -> None:
        self.character, self.preset, self.terrain, self.options = character, preset, terrain, options
        self.dt, self.floor, self.is_level = dt, floor, terrain.is_flat
        self.model = model_of(character)
        self.state = State(self.model)
        self.scale = character.leg_scale
        self.mass = float(self.model.subtree_masses[self.model.roots[0]])
        strengths = np.ones(self.model.body_count)
        strengths[1:] = [b.strength for b in character.bodies]
        self.goal_without = tuple(sorted({character.body_index(name) + 1 for name in options.goal_without}))
        self.goal_points = tuple(goal.timed(dt) for goal in options.goal_points)
        self.strengths, area = strengths, self.scale**2
        held = (self.model.subtree_masses * np.minimum(strengths, 1.0))[self.model.dof_body]
        self.hanging = held * np.where(np.arange(self.model.nv) < 3, 1.0, area)
        self.limits = JointLimits(character, preset.bounds)
        self.giving = giving_body(character, self.model.q_rest(), preset.giving, preset.pose, preset.weights)
        self.get_up: Array | None = None
        self.world: Surroundings | None = None
        self.mirror = State(self.model)
        self.is_quadruped = sum(limb.kind == "leg" for limb in character.limbs) >= 4
        self.ground_weight = preset.weights.bounds * self.mass
        self.limit_weight = area * self.ground_weight
        self._begin()

    def _begin(self) -> None:
        """Make everything that changes from step to step."""
        preset, character, options = self.preset, self.character, self.options
        self.time, self.frame, self.tally = 0.0, -1, Tally()
        self.last: StepRecord | None = None
        self.q, self.v = np.zeros(self.model.nq), np.zeros(self.model.nv)
        self.particle = GoalParticle(preset.goal, character.leg_length)
        self.sway = TrunkSway(preset.goal, self.mass, self.scale)
        self.recovery = Recovery()
        self.fall: Fall | None = None
        self.rising: rising.Rising | None = None
        self.standing_height = character.leg_length
        self.follower = GroundFollower(preset.ground, self.floor, 0.25 * self.scale)
        self.footing = Footing(
            preset.end_effector,
            preset.stepping,
            preset.protective,
            self.terrain,
            self.floor,
            feet_of(character),
            limbs_of(character),
            self.model.point_count,
            self.scale,
        )
        sway_share, lean_share = shares_of(character, preset, self.is_quadruped)
        self.sway_share, self.own_share = sway_share, sway_share.copy()
        self.warm = np.zeros((self.model.point_count, 4), dtype=np.bool_)
        self.off = np.zeros(self.model.nv)
        self.routine = Routine(
            self.state, self.footing, self.limits, self.terrain, self.follower, preset, sway_share, lean_share,
            dt=self.dt, floor=self.floor, scale=self.scale,
            is_strict=options.physicality.is_strict, left_out=self.goal_without, giving=self.giving,
        )  # fmt: skip
        self.problem, self.limbs = self.routine.frame, self.routine.limbs
        self.limbs.mass, self.limbs.pivot = self.mass, self.sway.pivot
        f, w = self.problem, preset.weights
        f.torque_share, f.root_share = w.joint_torque, options.physicality.factor * w.root_wrench
        f.pose_share, f.end_share, f.authority, f.rise = w.pose, w.end_effector, 1.0, RISE
        f.hovering, f.area, f.joint_strength[:] = HOVERING, self.scale**2, self.strengths
        self.usual = usual_targets(self)
        self.usual_lists = quasi_physical(
            self.usual, coefficient_share=w.coefficients, physicality=options.physicality,
            goal_without=self.goal_without,
        )  # fmt: skip
        self.shifts: list[tuple[float, float]] = []

    @property
    def constants(self) -> dict[str, float]:
        """Numbers that no preset changes, for the report's settings."""
        return {
            "ground.rise": RISE,
            "fallback.weight": FALLBACK_WEIGHT,
            "hover.root_share": HOVERING,
            "free_root.largest_turn_rad": LARGEST_TURN,
            "free_root.largest_way_m": LARGEST_WAY,
            "free_root.fallen_tilt_rad": FALLEN_TILT,
            "free_root.fallen_drop_legs": FALLEN_DROP,
        }

    @property
    def physicality(self) -> Physicality:
        """The knob; nobody holds the root of a figure that falls."""
        return Physicality(is_strict=True) if self.fall is not None else self.options.physicality

    def start(self, q: Array, v: Array, time: float = 0.0) -> None:
        """Begin at a pose (nq,) and velocity (nv,), with nothing left of an earlier run."""
        self._begin()
        self.q, self.v, self.time = q.copy(), v.copy(), time

    def plan(self, track: Track) -> GroundPlan | None:
        """The way of a whole clip over the ground; None on level ground, on ground that moves, and where not wanted."""
        if self.is_level or not self.terrain.is_static or not self.options.plans_ahead:
            return None
        stands = np.array([upright(self, height) for height in track.com[:, 2]])
        feet = feet_of(self.character)
        return GroundPlan(track, self.character, self.terrain, self.preset.end_effector, feet, stands)

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
        self.tally, self.last, self.frame, self.shifts = Tally(), None, -1, []
        self.problem.values.has_previous = 0

    def carry_to(self, q: Array, v: Array, other_q: Array, other_v: Array) -> None:
        """Take the deviation from one reference pose (q, v) to another."""
        deviation = self.model.difference(q, self.q, 1.0)
        if deviation.any():
            other_q = self.model.integrate(other_q, deviation, 1.0)
        self.q, self.v = other_q.copy(), other_v + (self.v - v)

    # --- one step

    def advance(
        self,
        reference: ReferenceFrame,
        following: Array,
        following_v: Array,
        pushes: Sequence[Force] = (),
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
        self.frame += 1
        self.shifts.append(self.particle.shift)
        if self.fall is not None and (self.rising is not None or self._may_rise(self.fall)):
            return self._rise(reference, following, following_v)
        if is_glitch and self.fall is None:
            self.tally.fallbacks["glitch_carried"] += 1
            return self._carry(reference, following, following_v, planned)
        if self.world is not None:
            pushes = [*pushes, *self.world.felt]
        sensed = sense(self, reference, pushes, planned)
        result = solve(self, reference, sensed)
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
        if self.recovery.falls and self.fall is None:
            velocity = self.state.com_jacobian(self.model.roots[0]) @ self.v
            self.fall = begun(self.character, self.q, velocity, self.state.data.xpos[1:])
            self.standing_height = float(self.state.com(self.model.roots[0])[2]) - self.floor
        self.v = self.v + self.dt * result.a
        self.q = self.model.integrate(self.q, self.v, self.dt)
        if not (self.v.dot(self.v) < FASTEST**2 or np.abs(self.v).max() < FASTEST):
            fastest = np.abs(self.v).max()
            raise SimulationDiverged(
                f"The run diverged at {self.time:.3f} s: a joint or the root moves at {fastest:.3g} rad/s or m/s. "
                "Try a higher --fps, a gentler push or ground, or the preset 'recommended'.",
                frame=round(self.time / self.dt), reason="too fast",
            )  # fmt: skip
        self._finish()
        return self.q

    def _may_rise(self, fall: Fall) -> bool:
        return fall.rested >= rising.REST and (self.get_up is not None or self.options.after == "blend")

    def _rise(self, reference: ReferenceFrame, following: Array, following_v: Array) -> Array:
        """Move to the next pose of getting up; at its end the figure stands beside the clip's way and goes back."""
        now = rising.begin(self.q, self.get_up, reference.q) if self.rising is None else self.rising
        self.rising = now = rising.later(now, following[:2] - reference.q[:2], self.dt)
        q = rising.pose(now, following, self.character, self.dt, self._depth)
        self.v = self.model.difference(self.q, q, self.dt)
        self.q = q
        self._finish()
        if now.since >= now.duration(self.dt):
            (here, _), (there, _) = self._com_of(self.q, self.v), self._com_of(following, following_v)
            x, y = (here - there).tolist()
            self.v, self.rising, self.fall = following_v.copy(), None, None
            self.particle.shift, self.particle.velocity = (x, y), (0.0, 0.0)
            self.particle.height = self.particle.height_velocity = 0.0
            self.particle.rest = x - self.particle.ground[0], y - self.particle.ground[1]
            self.recovery = Recovery(self.particle.rest, 0.0, steps=True)
            self.routine.rest()
            self.problem.stood[:] = self.problem.swung[:] = False  # feet stand where they have come to
        return self.q

    def _depth(self, q: Array) -> float:
        """How deep the deepest contact point of a pose is in the ground [m]; negative above it."""
        self.mirror.move_to(q, np.zeros(self.model.nv))
        self.mirror.touch()
        ground = self.terrain.heights(self.mirror.points[:, :2], self.time)
        return float((ground - self.mirror.points[:, 2]).max())

    def _finish(self) -> None:
        if self.world is not None:
            self.world.advance(self.q, self.v)
        self.particle.advance(self.dt)
        self.sway.advance(self.dt)
        self.time += self.dt

    def _carry(
        self, reference: ReferenceFrame, following: Array, following_v: Array, planned: PlannedFrame | None
    ) -> Array:
        """Keep the deviation from the reference, fading with the preset's half-life.

        Before the first solved step it stays whole: it is how the figure stands in the first pose that can be trusted.
        """
        is_first = self.last is None
        fade = 1.0 if is_first else 0.5 ** (self.dt / self.preset.glitch.halflife)
        deviation = self.model.difference(reference.q, self.q, 1.0)
        speed = (self.v - reference.v) * fade
        moved, height = fade * deviation, self.follower.height
        self.follower.carry(planned, self.dt)
        if not is_first:  # the ground's height is no deviation that fades
            moved[2] = self.follower.height + fade * (deviation[2] - height)
        self.q = self.model.integrate(following, moved, 1.0)
        self.v = following_v + speed
        self.routine.rest()
        self.particle.accelerate((0.0, 0.0, 0.0), self.mass, (0.0, 0.0), self.dt)
        self.sway.accelerate((0.0, 0.0, 0.0))
        self._finish()
        if not is_first and np.abs(deviation).max() > 1e-9:
            # the goal goes on from where the carried figure is, not from where a spring would have brought it
            (here, speed_here), (there, speed_there) = (
                self._com_of(self.q, self.v),
                self._com_of(following, following_v),
            )
            (x, y), (vx, vy) = (here - there).tolist(), (speed_here - speed_there).tolist()
            self.particle.shift, self.particle.velocity = (x, y), (vx, vy)
        return self.q

    def _com_of(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Horizontal place [m] and velocity [m/s] of the center of mass at (q, v), shapes (2,)."""
        root = self.model.roots[0]
        self.state.move_to(q, v)
        return self.state.com(root)[:2].copy(), (self.state.com_jacobian(root) @ v)[:2]
