"""The simulated character: holds what changes from pose to pose, and moves it one step at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poise.body.character import Character
from poise.core.errors import SimulationDiverged
from poise.core.typing import Array, Flags, Index
from poise.filter import rising
from poise.filter.apart import keep_apart, legs_of
from poise.filter.falling import Fall, begun
from poise.filter.footing import Footing, GroundFollower
from poise.filter.forces import Force, Surroundings
from poise.filter.frame import FALLEN_DROP, FALLEN_TILT, LARGEST_TURN, LARGEST_WAY
from poise.filter.giving import give_way
from poise.filter.goal import advance_goal, lifted, move_goal, moving_goal, pressed, put_goal
from poise.filter.plan import GroundPlan, PlannedFrame, Track, starts_level
from poise.filter.preset import Preset
from poise.filter.quasi_physical import (
    FALLBACK_WEIGHT,
    HOVERING,
    JointLimits,
    Physicality,
    StepRecord,
    Targets,
    attempt,
    proportional_derivative,
    quasi_physical,
)
from poise.filter.reference import ReferenceFrame
from poise.filter.sensing import (
    Asked,
    Routine,
    Sensed,
    contacts_of,
    feet_of,
    limbs_of,
    write_hits,
)
from poise.filter.setup import Counts, Options, Setup
from poise.filter.targets import (
    AHEAD,
    LET_GO,
    RISE,
    falling_targets,
    place_goal,
    shares_of,
    strict_authority,
    strict_landing,
    strict_targets,
    usual_targets,
)
from poise.physics import State
from poise.step import Constraint, Contacts, Objective, Step, StepResult
from poise.terrain import Terrain

FASTEST = 1e4
"""A joint faster than this [rad/s, m/s] means that the run diverged; glitches of real captures reach 1e3."""


class SimulatedCharacter:
    """The simulated character between two poses; `advance` makes one step.

    Both the stream and the clip run drive this. It holds everything that changes: the state, the offsets of standing
    points, the goal's particle, the ground's filter, warm starts, and what the report counts. A step goes through
    `sense`, `targets`, `lists` and `solve`. Each returns a value that the next one takes; everything else is in
    functions of values in the files beside this one.

    Attributes:
        q, v, time: The simulated pose (nq,), its velocity (nv,) and the time [s].
        last: The last solved step, for reports.
        is_level: The ground is level and stands still.
        shifts: Place of the goal at every step so far [m].
        problem: The block "Frame" of the step.
        acted: Points that touched in the last step, and which of their coefficients were positive: the solver's start.
        off: a − a* of the last step, shape (nv,); the solver's guess for a starts there.
    """

    def __init__(
        self, character: Character, preset: Preset, terrain: Terrain, options: Options, *, dt: float, floor: float
    ) -> None:
        self.setup = s = Setup.of(character, preset, terrain, options, dt=dt, floor=floor)
        self.character, self.preset, self.terrain, self.options = character, preset, terrain, options
        self.dt, self.floor, self.is_level, self.model = dt, floor, terrain.is_flat, s.model
        self.scale, self.mass, self.goal_without = s.scale, s.mass, s.goal_without
        self.goal_points = tuple(goal.timed(dt) for goal in options.goal_points)
        self.state, self.mirror = State(self.model), State(self.model)
        self.limits = JointLimits(character, preset.bounds)
        self.legs = legs_of(character, self.mirror, preset.apart, dt=dt, scale=s.scale)
        self.get_up: Array | None = None
        self.world: Surroundings | None = None
        self._begin()

    def _begin(self) -> None:
        """Make everything that changes from step to step."""
        preset, character, options = self.preset, self.character, self.options
        self.time, self.frame, self.counts = 0.0, -1, Counts()
        self.last: StepRecord | None = None
        self.q, self.v = np.zeros(self.model.nq), np.zeros(self.model.nv)
        feet = feet_of(character)
        self.goal = moving_goal(
            preset.goal, preset.protective, mass=self.mass, leg_length=character.leg_length, feet=len(feet), dt=self.dt,
            is_guided=options.goal != "none", returns=options.after != "stay",
        )  # fmt: skip
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
            feet,
            limbs_of(character),
            self.model.point_count,
            self.scale,
        )
        sway_share, lean_share = shares_of(character, preset, self.setup.is_quadruped)
        self.sway_share, self.own_share, self.is_whole = sway_share, sway_share.copy(), False
        self.acted = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_)
        self.contacts, self.off = Contacts.none(), np.zeros(self.model.nv)
        self.routine = Routine(
            self.state, self.footing, self.limits, self.terrain, self.follower, preset, sway_share, lean_share,
            dt=self.dt, floor=self.floor, scale=self.scale,
            is_strict=options.physicality.is_strict, left_out=self.goal_without, limbs=self.setup.giving,
        )  # fmt: skip
        self.problem, self.limbs = self.routine.frame, self.routine.limbs
        self.limbs.mass, self.limbs.pivot = self.mass, preset.goal.sway_pivot * character.leg_length
        f, w = self.problem, preset.weights
        f.torque_share, f.root_share = w.joint_torque, options.physicality.factor * w.root_wrench
        f.pose_share, f.end_share, f.authority, f.rise = w.pose, w.end_effector, 1.0, RISE
        f.hovering, f.area, f.joint_strength[:] = HOVERING, self.scale**2, self.setup.strengths
        self.usual = usual_targets(self.setup, f, self.legs)
        objectives, constraints = quasi_physical(
            self.usual, coefficient_share=w.coefficients, physicality=options.physicality,
            goal_without=self.goal_without,
        )  # fmt: skip
        self.usual_lists = tuple(objectives), tuple(constraints)  # the same objects in every step
        self.shifts: list[tuple[float, float]] = []

    @property
    def constants(self) -> dict[str, float]:
        """Numbers that no preset changes, for the report's settings."""
        return {
            "ground.rise": RISE,
            "fallback.weight": FALLBACK_WEIGHT,
            "hover.root_share": HOVERING,
            "free_root.landing_lead": AHEAD,
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
        stands = np.array([self.setup.upright(height) for height in track.com[:, 2]])
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
        self.counts, self.last, self.frame, self.shifts = Counts(), None, -1, []
        self.problem.values.has_previous = 0

    def carry_to(self, q: Array, v: Array, other_q: Array, other_v: Array) -> None:
        """Take the deviation from one reference pose (q, v) to another."""
        deviation = self.model.difference(q, self.q, 1.0)
        if deviation.any():
            other_q = self.model.integrate(other_q, deviation, 1.0)
        self.q, self.v = other_q.copy(), other_v + (self.v - v)

    # --- one step

    def advance(
        self, reference: ReferenceFrame, following: Array, following_v: Array, pushes: Sequence[Force] = (), *,
        is_glitch: bool = False, planned: PlannedFrame | None = None,
    ) -> Array:  # fmt: skip
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
        asked = self.ask(reference, following, following_v, pushes, is_glitch=is_glitch, planned=planned)
        if asked is None:
            return self.q
        if self.world is None:
            return self.move(asked)
        objectives, constraints, force = self.world.meet(asked.step, asked.objectives, asked.constraints)
        return self.move(asked._replace(objectives=objectives, constraints=constraints), force)

    def ask(
        self, reference: ReferenceFrame, following: Array, following_v: Array, pushes: Sequence[Force] = (), *,
        is_glitch: bool = False, planned: PlannedFrame | None = None,
    ) -> Asked | None:  # fmt: skip
        """The first half of `advance`: the step that is to be solved; None where the figure was moved without one."""
        self.frame += 1
        self.shifts.append(tuple(self.goal.shift.tolist()))
        if self.fall is not None and (self.rising is not None or self._may_rise(self.fall)):
            self._rise(reference, following, following_v)
            return None
        if is_glitch and self.fall is None:
            self.counts.fallbacks["glitch_carried"] += 1
            self._carry(reference, following, following_v, planned)
            return None
        if self.world is not None:
            pushes = [*pushes, *self.world.felt]
        sensed = self.sense(reference, pushes, planned)
        objectives, constraints = self.lists(reference, sensed)
        return Asked(sensed.step, objectives, constraints, sensed, reference, following, following_v, planned)

    def move(self, asked: Asked, force: Array | None = None) -> Array:
        """The second half: solve the step with a further generalized force (nv,), and move to the next pose (nq,)."""
        sensed, reference, step = asked.sensed, asked.reference, asked.step
        if force is not None:
            step = Step(step.state, step.contacts, dt=step.dt, external=step.external + force)
            sensed = sensed._replace(step=step)
        result = self.solve(reference, sensed, asked.objectives, asked.constraints)
        if result is None:
            self.counts.fallbacks["carried"] += 1
            self.counts.in_a_row += 1
            if self.counts.in_a_row >= 2:
                raise SimulationDiverged(
                    f"No solution for two steps in a row, at {self.time:.3f} s. Raise friction, soften hard goals, or "
                    "use --goal none.",
                    frame=round(self.time / self.dt), reason="no solution",
                )  # fmt: skip
            return self._carry(reference, asked.following, asked.following_v, asked.planned)
        self.counts.in_a_row = 0
        if self.goal.values.falls and self.fall is None:
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

    # --- its stages

    def sense(self, reference: ReferenceFrame, pushes: Sequence[Force], planned: PlannedFrame | None) -> Sensed:
        """Bring the state, the goal's particle, the trunk's sway and the footholds to this step."""
        s, f, limbs, goal = self.state, self.problem, self.limbs, self.goal
        g, is_static, is_strict = goal.values, self.terrain.is_static, self.options.physicality.is_strict
        shift, home = tuple(goal.shift.tolist()), None
        if any(shift) and g.is_guided and not self.physicality.is_strict:
            home = tuple((goal.ground + goal.rest).tolist())
        self.follower.plan(planned)
        limbs.values.hits = len(pushes)
        limbs.values.pressed, limbs.values.lifted = (pressed(goal), lifted(goal)) if g.height else (0.0, 0.0)
        s.begin(self.q, self.v)
        if not self.routine.see(reference, shift, home, planned, self.time):
            s.move_to(self.q, self.v)  # says which joint
        if not is_static:
            goal.ground_velocity[:] = f.ground_velocities.mean(axis=0)[:2]
        if pushes:
            write_hits(limbs, pushes, self.character, s, self.time)
            give_way(f)
        g.is_moving = self.options.goal == "moving"
        if self.options.goal in ("auto", "none"):
            g.is_moving = bool(pushes) or not g.rests or not is_static
        g.has_fallen = self.fall is not None
        move_goal(goal, f)
        if is_strict and self.fall is None:
            goal.landing[:] = strict_landing(s, reference)
        whole = g.whole if g.whole > 1e-3 else 0.0
        if whole or self.is_whole:
            self.sway_share[:] = self.own_share + whole * (1.0 - self.own_share)
        self.is_whole = whole > 0.0
        footholds = self.footing.place(
            reference, s.points, shift, home, self.time, self.dt, planned, landing=tuple(goal.landing.tolist()),
            is_urgent=bool(g.steps),
        )  # fmt: skip
        self.contacts = contacts = contacts_of(
            f, s, self.options.friction, self.contacts, is_falling=self.fall is not None
        )
        external = limbs.external
        for k, push in enumerate(pushes):
            if push.is_solved_for:
                external = external - s.external_torque(int(limbs.hit_body[k]), limbs.hit_place[k], limbs.hit_force[k])
        return Sensed(Step(s, contacts, dt=self.dt, external=external), f.gaps, footholds, planned)

    def targets(self, reference: ReferenceFrame, sensed: Sensed) -> Targets:
        """What the controllers ask of this step."""
        setup, f, fall, is_strict = self.setup, self.problem, self.fall, self.options.physicality.is_strict
        lean, part = None, 1.0
        if fall is not None:
            part = LET_GO
        else:
            lean = None if self.follower.is_level else setup.lean(float(reference.com[2]))
            part = strict_authority(setup, self.state, reference, self.follower.height) if is_strict else 1.0
        f.values.authority, f.values.is_falling = part, fall is not None
        for goal in self.goal_points:
            if goal.is_on(self.time) and (limb := self.limbs.limb_of[self.character.body_index(goal.body) + 1]) >= 0:
                self.limbs.amounts[self.limbs.limb_of == limb] = 0.0  # a limb that holds on does not give
        self.routine.set_targets(
            sensed.footholds, lean, sensed.planned, sways=bool(self.goal.values.sways),
            has_goal=fall is None and self.options.goal != "none",
        )  # fmt: skip
        self.legs.values.acts = fall is None and (not self.goal.values.rests or self.goal.values.sways)
        keep_apart(self.legs, f)
        if fall is not None:
            made, self.fall = falling_targets(
                self.usual, setup, f, self.state, fall, self.standing_height, self.time
            )  # fmt: skip
            return made
        out = strict_targets(self.usual, setup, f, self.state, reference, part) if is_strict else self.usual
        places = [place_goal(g, setup, self.state, self.time) for g in self.goal_points if g.is_on(self.time)]
        for place in places:
            if place.is_out_of_reach:
                self.counts.conflict(f"{place.label}: out of reach")
        return out._replace(places=places) if places else out

    def lists(self, reference: ReferenceFrame, sensed: Sensed) -> tuple[Sequence[Objective], Sequence[Constraint]]:
        """The list of this step: the same objects as in the last step where the targets are the same arrays."""
        objectives: Sequence[Objective]
        constraints: Sequence[Constraint]
        if self.options.engine == "pd":
            objectives, constraints = proportional_derivative(sensed.step, reference, self.preset.pd)
        elif (asked := self.targets(reference, sensed)) is self.usual:
            objectives, constraints = self.usual_lists
        else:
            objectives, constraints = quasi_physical(
                asked, coefficient_share=self.preset.weights.coefficients, physicality=self.physicality,
                goal_without=self.goal_without,
            )  # fmt: skip
        if not self.options.objectives:
            return objectives, constraints
        terms = [term for make in self.options.objectives for term in make(sensed.step, reference)]
        own = [term for term in terms if isinstance(term, Objective)]
        return [*objectives, *own], [*constraints, *(term for term in terms if not isinstance(term, Objective))]

    def solve(
        self, reference: ReferenceFrame, sensed: Sensed, objectives: Sequence[Objective],
        constraints: Sequence[Constraint],
    ) -> StepResult | None:  # fmt: skip
        """Solve this step and keep what the next one starts from; None where nothing helps."""
        step, state, points = sensed.step, self.state, sensed.step.contacts.points
        result, conflict, fallback = attempt(
            step, objectives, constraints, self._warm(points), reference.a + self.off, self.mass,
            readable=self.options.readable,
        )  # fmt: skip
        if conflict:
            self.counts.failures += 1
            self.counts.conflict(conflict)
        if fallback:
            self.counts.fallbacks[fallback] += 1
        if result is None:
            return None
        self.acted = points, result.coefficients > 0.0
        self.off = result.a - reference.a
        self.counts.count(result.certificate)
        root = self.model.roots[0]
        com = state.com_without(root, self.goal_without) if self.goal_without else state.com(root)
        velocities = state.point_velocities.copy()
        self.last = StepRecord(self.frame, reference, result, step, sensed.gaps.copy(), velocities, com)
        return result

    def _warm(self, points: Index) -> Flags:
        """Coefficients of touching points that are expected to act."""
        known, flags = self.acted
        if known.tobytes() == points.tobytes():
            return flags
        acted = np.zeros((self.model.point_count, 4), dtype=np.bool_)
        acted[known] = flags.reshape(-1, 4)
        return acted[points].ravel()

    # --- what a step may be instead

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
            g = self.goal
            put_goal(g, (x, y))
            self.footing.begin_at((x, y))
            g.height, g.height_velocity, g.since, g.steps, g.falls = 0.0, 0.0, 0.0, True, False
            g.rest[:], g.landing[:] = g.shift - g.ground, 0.0
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
        advance_goal(self.goal)
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
        self.goal.is_moving, self.goal.ground_velocity[:] = False, 0.0
        move_goal(self.goal, self.problem)
        self._finish()
        if not is_first and np.abs(deviation).max() > 1e-9:
            # the goal goes on from where the carried figure is, not from where a spring would have brought it
            here, speed_here = self._com_of(self.q, self.v)
            there, speed_there = self._com_of(following, following_v)
            (x, y), (vx, vy) = (here - there).tolist(), (speed_here - speed_there).tolist()
            put_goal(self.goal, (x, y), (vx, vy))
            self.footing.begin_at((x, y))
            self.problem.stood[:] = False  # feet stand where they have come to
        return self.q

    def _com_of(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Horizontal place [m] and velocity [m/s] of the center of mass at (q, v), shapes (2,)."""
        root = self.model.roots[0]
        self.state.move_to(q, v)
        return self.state.com(root)[:2].copy(), (self.state.com_jacobian(root) @ v)[:2]
