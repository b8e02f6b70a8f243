"""The simulated character: holds what changes from pose to pose, and moves it one step at a time."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from poise.body.character import Character
from poise.core.errors import SimulationDiverged
from poise.core.typing import Array
from poise.filter import giving, rising, targets
from poise.filter.apart import legs_of
from poise.filter.falling import Fall, begun, kept, work_of_forces
from poise.filter.footing import Footholds, Footing, GroundFollower
from poise.filter.forces import Push, Surroundings
from poise.filter.frame import sense
from poise.filter.goal import advance_goal, lifted, move_goal, moving_goal, pressed, put_goal
from poise.filter.plan import GroundPlan, PlannedFrame, Track, starts_level
from poise.filter.preset import Preset
from poise.filter.quasi_physical import (
    JointLimits,
    Physicality,
    StepRecord,
    Targets,
    attempt,
    proportional_derivative,
    quasi_physical,
)
from poise.filter.reference import ReferenceFrame
from poise.filter.sensing import MOST_PUSHES, Asked, Given, Routine, Sensed, contacts_of, feet_of, limbs_of, write_hits
from poise.filter.setup import Counts, Options, Setup, own_terms
from poise.filter.stages import DONE, NOT_TRIED, SENSED, TARGETED, aim, integrate, move_on, react, stages_of, usual_step
from poise.physics import State
from poise.step import Constraint, Contacts, Objective, Step, StepResult
from poise.step.solve import certificate_of, result_of
from poise.step.system import system_of
from poise.step.writers import prepare, table_of
from poise.terrain import Terrain

FASTEST = 1e4
"""A joint faster than this [rad/s, m/s] means that the run diverged; glitches of real captures reach 1e3."""


class SimulatedCharacter:
    """The simulated character between two poses; `advance` makes one step.

    Both the stream and the clip run drive this. It holds everything that changes: the state, the offsets of standing
    points, the goal's particle, the ground's filter, warm starts, and what the report counts. A step goes through
    `sense`, `targets`, `lists` and `solve`. Each returns a value that the next one takes; everything else is in
    functions of values in the files beside this one. In most steps the core does all four in one call, `usual_step`
    in `stages.py`.

    Attributes:
        q, v, time: The simulated pose (nq,), its velocity (nv,) and the time [s].
        caught: How far both feet step from their places in the clip to catch a strict figure [m]; None before.
        is_level: The ground is level and stands still.
        shifts: Place of the goal at every step so far [m].
        problem, stages: The blocks "Frame" and "Stages" of the step.
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
        self._last: StepRecord | None = None
        self._unread: tuple[int, ReferenceFrame] | None = None  # the step that `last` is to be made of
        self.q, self.v = np.zeros(self.model.nq), np.zeros(self.model.nv)
        feet = feet_of(character)
        self.goal = moving_goal(
            preset.goal, preset.protective, mass=self.mass, leg_length=character.leg_length, feet=len(feet), dt=self.dt,
            is_guided=options.goal != "none", returns=options.after != "stay",
        )  # fmt: skip
        self.fall: Fall | None = None
        self.caught: tuple[float, float] | None = None
        self.rising: rising.Rising | None = None
        self.standing_height = character.leg_length
        self.follower = GroundFollower(preset.ground, self.floor, 0.25 * self.scale)
        self.footing = Footing(
            preset.end_effector, preset.stepping, preset.protective, self.terrain, self.floor, feet,
            limbs_of(character), self.model.point_count, self.scale,
        )  # fmt: skip
        self.footing.stepping.settles = not options.physicality.is_strict
        sway_share, lean_share = targets.shares_of(character, preset, self.setup.is_quadruped)
        self.contacts = Contacts.none()
        self.routine = Routine(
            self.state, self.footing, self.limits, self.terrain, self.follower, preset, sway_share, lean_share,
            dt=self.dt, floor=self.floor, scale=self.scale,
            is_strict=options.physicality.is_strict, left_out=self.goal_without, limbs=self.setup.giving,
        )  # fmt: skip
        self.problem, self.limbs = self.routine.frame, self.routine.limbs
        self.limbs.mass, self.limbs.pivot = self.mass, preset.goal.sway_pivot * character.leg_length
        targets.weigh(self.problem, self.setup)
        usual = targets.usual_targets(self.setup, self.problem, self.legs)
        both = usual._replace(goal_weight=None), usual  # the second while the goal moves
        self.usual = [(asked, tuple(map(tuple, self._list_of(asked)))) for asked in both]  # the same in every step
        self.stages = stages_of(self.setup, self.problem, self.goal, self.legs, system_of(self.state), fastest=FASTEST)
        for name in ("needed", "far", "lasting", "latest", "pause", "urgent_far", "urgent_duration", "dragged"):
            setattr(self.stages, name, getattr(self.footing.stepping, name))
        self.shifts: list[tuple[float, float]] = []

    def _list_of(self, targets: Targets) -> tuple[list[Objective], list[Constraint]]:
        share, without = self.preset.weights.coefficients, self.goal_without
        return quasi_physical(targets, coefficient_share=share, physicality=self.physicality, goal_without=without)

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
        standing = planned.at_rest() if planned else None
        v[2] += planned.height_velocity if planned else 0.0
        for _ in range(round(seconds / self.dt)):
            self.advance(Given(reference, reference.q, reference.v, planned=standing))
            self.time = start
        self.v = self.v + v
        self.counts, self._last, self._unread, self.frame, self.shifts = Counts(), None, None, -1, []
        self.problem.values.has_previous = 0

    def carry_to(self, q: Array, v: Array, other_q: Array, other_v: Array) -> None:
        """Take the deviation from one reference pose (q, v) to another."""
        deviation = self.model.difference(q, self.q, 1.0)
        if deviation.any():
            other_q = self.model.integrate(other_q, deviation, 1.0)
        self.q, self.v = other_q.copy(), other_v + (self.v - v)

    # --- one step

    def advance(self, now: Given) -> Array:
        """Move to the next pose and return it, shape (nq,).

        Raises:
            SimulationDiverged: if two steps in a row had to be carried, or the state is not finite.
        """
        return self.end(now, usual_step(self.stages) if self.begin(now) else NOT_TRIED)

    def begin(self, now: Given) -> bool:
        """Begin a step; True if `usual_step` may take it, whose inputs are written then."""
        self._count_step()
        is_own = self.fall is not None or self.world is not None or now.is_glitch or bool(self.goal_points)
        if is_own or not self.options.is_usual or (now.planned is None and self.footing.has_treads):
            return False
        pushes = [push for push in now.pushes if type(push) is Push]
        if len(pushes) < len(now.pushes) or len(pushes) > MOST_PUSHES:
            return False
        targets.say_what_moves(self.setup, self.goal, self.problem, bool(now.pushes), self.world is None)
        _, lists = self.usual[self.problem.values.is_soft]
        if not (self.options.objectives or table_of(system_of(self.state)).knows(*lists)):
            return False
        self.stages.system = system_of(self.state)
        self._write_inputs(now)
        for k, push in enumerate(pushes):
            self.limbs.hit_body[k] = push.body_of(self.character) + 1
            self.limbs.hit_force[k] = push.force
        return True

    def end(self, now: Given, reached: int) -> Array:
        """Finish a step from where `usual_step` came to, stage by stage; the next pose, shape (nq,)."""
        if reached >= TARGETED and self.problem.values.has_home:
            self.footing.stepping.wait(self.dt)
        if reached == DONE:
            return self._take_over(now.reference)
        asked = self._ask(now, reached)
        if asked is None:
            return self.q
        if self.world is not None:
            objectives, constraints, force = self.world.meet(asked.step, asked.objectives, asked.constraints)
            return self.move(asked._replace(objectives=objectives, constraints=constraints), force)
        is_ready = reached == TARGETED and bool(self.options.objectives)
        if is_ready and prepare(*asked[:3]) and move_on(self.stages) == DONE:
            return self._take_over(now.reference)
        return self.move(asked)

    def ask(self, now: Given) -> Asked | None:
        """The first half of a step, stage by stage: what is to be solved; None where the figure was moved without."""
        self._count_step()
        return self._ask(now, NOT_TRIED)

    def _count_step(self) -> None:
        self.frame += 1
        self.shifts.append(tuple(self.goal.shift.tolist()))

    def _ask(self, now: Given, reached: int) -> Asked | None:
        if reached == NOT_TRIED:
            may_rise = self.get_up is not None or self.options.after == "blend"
            if self.fall and (self.rising is not None or (may_rise and self.fall.rested >= rising.REST)):
                self._rise(now.reference, now.following, now.following_v)
                return None
            if now.is_glitch and self.fall is None:
                self.counts.fallbacks["glitch_carried"] += 1
                self._carry(now.reference, now.following, now.following_v, now.planned)
                return None
            if self.world is not None:
                now = now._replace(pushes=[*now.pushes, *self.world.felt])
        sensed = self.sense(now, reached)
        return Asked(sensed.step, *self.lists(now.reference, sensed, reached), sensed, now)

    def move(self, asked: Asked, force: Array | None = None) -> Array:
        """The second half: solve the step with a further generalized force (nv,), and move to the next pose (nq,)."""
        reference, following, following_v, _, _, planned = asked.given
        sensed, step = asked.sensed, asked.step
        if force is not None:
            sensed = sensed._replace(step=Step(step.state, step.contacts, dt=step.dt, external=step.external + force))
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
            return self._carry(reference, following, following_v, planned)
        self._note_fall()
        if not integrate(self.stages, result.a):
            fastest, mass = np.abs(self.v + self.dt * result.a).max(), self.character.mass
            light = f"It weighs {mass:.2g} kg; if it is larger, give --height or --unit. " if mass < 1.0 else ""
            raise SimulationDiverged(
                f"The run diverged at {self.time:.3f} s: a joint or the root moves at {fastest:.3g} rad/s or m/s. "
                f"{light}Push it less hard; or try a gentler ground, a higher --fps or the preset 'recommended'.",
                frame=round(self.time / self.dt), reason="too fast",
            )  # fmt: skip
        q, v = self.stages.q.copy(), self.stages.v.copy()
        if self.fall is not None:
            work = work_of_forces(sensed.step, result, self.problem.ground_velocities)
            v = kept(self.state, result.a, q, v, self.dt, work)
        self.q, self.v = q, v
        self._finish()
        return self.q

    def _write_inputs(self, now: Given) -> None:
        """Write what sensing reads: the state's coordinates, the reference, where the goal is, what pushes."""
        limbs, goal, home = self.limbs.values, self.goal, None
        g, shift = goal.values, tuple(goal.shift.tolist())
        if self.options.physicality.is_strict and self.fall is None:
            shift, home = (0.0, 0.0), self.caught
        elif any(shift) and g.is_guided and not self.physicality.is_strict:
            home = tuple((goal.ground + goal.stance).tolist())
        self.follower.plan(now.planned)
        limbs.hits = len(now.pushes)
        limbs.pressed, limbs.lifted = (pressed(goal), lifted(goal)) if g.height else (0.0, 0.0)
        g.has_fallen = self.fall is not None
        stepping, values = self.footing.stepping, self.stages.values
        values.is_moving, values.has_moved, values.rested = stepping.is_moving, stepping.has_moved, stepping.rested
        self.routine.write(now.reference, shift, home, now.planned, self.time)
        self.state.begin(self.q, self.v)

    def _take_over(self, reference: ReferenceFrame) -> Array:
        """Take over what the core has done: the whole step."""
        stages = self.stages
        self.counts.count(certificate_of(stages.system))
        self.counts.in_a_row = 0
        self.state.is_complete, self._unread = True, (self.frame, reference)
        self._note_fall()
        self.q, self.v = stages.q.copy(), stages.v.copy()
        self.time += self.dt
        return self.q

    @property
    def last(self) -> StepRecord | None:
        """The last solved step, for reports; None before the first."""
        if self._unread is not None:
            (frame, reference), self._unread = self._unread, None
            f, state, friction = self.problem, self.state, self.options.friction
            self.contacts = contacts_of(f, state, friction, self.contacts, is_falling=False)
            step = Step(state, self.contacts, dt=self.dt, external=f.giving.external.copy())
            self._last = self._record(frame, reference, result_of(self.stages.system), step)
        return self._last

    def _record(self, frame: int, reference: ReferenceFrame, result: StepResult, step: Step) -> StepRecord:
        root, state, out = self.model.roots[0], self.state, self.goal_without
        com = state.com_without(root, out) if out else state.com(root)
        return StepRecord(frame, reference, result, step, self.problem.gaps.copy(), state.point_velocities.copy(), com)

    # --- its stages

    def sense(self, now: Given, reached: int = NOT_TRIED) -> Sensed:
        """Bring the state, the goal's particle, the trunk's sway and the footholds to this step."""
        s, f, limbs, goal, g = self.state, self.problem, self.limbs, self.goal, self.goal.values
        reference, pushes, planned = now.reference, now.pushes, now.planned
        is_strict = self.options.physicality.is_strict
        if reached < SENSED:
            targets.say_what_moves(self.setup, self.goal, self.problem, bool(now.pushes), self.world is None)
            self._write_inputs(now)
            if not sense(f):
                s.move_to(self.q, self.v)  # says which joint
            if pushes:
                write_hits(limbs, pushes, self.character, s, self.time)
            away = None
            if is_strict and self.fall is None:
                away = targets.strict_away(self.setup, s, reference, self.mirror)
                if g.is_moving:
                    put_goal(goal, *away)
            react(self.stages)
            if away is not None:
                self.caught = targets.strict_steps(self.setup, f, goal, self.footing.stepping, away, self.caught)
        s.is_complete = True
        footholds = Footholds(self.footing.stands, None)
        if reached < TARGETED:
            home = tuple(f.home.tolist()) if f.values.has_home else None
            catches = g.steps and not g.is_returning and not is_strict
            steps = g.steps and not g.has_support if self.caught is None else not g.rests
            footholds = self.footing.place(
                reference, s.points, tuple(f.shift.tolist()), home, self.time, self.dt, planned,
                landing=tuple(goal.landing.tolist()), steps=steps, returns=g.is_returning,
                catching=(goal.shift + goal.velocity / g.pendulum, s.point_velocities) if catches else None,
                walking=s.point_velocities if g.steps and g.has_support and not (is_strict or pushes) else None,
            )  # fmt: skip
        self.contacts = contacts_of(f, s, self.options.friction, self.contacts, is_falling=self.fall is not None)
        external = limbs.external.copy()
        for k, push in enumerate(pushes):
            if push.is_solved_for:
                external -= s.external_torque(int(limbs.hit_body[k]), limbs.hit_place[k], limbs.hit_force[k])
        return Sensed(Step(s, self.contacts, dt=self.dt, external=external), f.gaps, footholds, planned)

    def targets(self, reference: ReferenceFrame, sensed: Sensed) -> Targets:
        """What the controllers ask of this step."""
        setup, f, fall, is_strict = self.setup, self.problem, self.fall, self.options.physicality.is_strict
        usual, _ = self.usual[f.values.is_soft]
        part = 1.0 if fall is None else targets.LET_GO
        if is_strict and fall is None:
            part, sinks = targets.strict_authority(setup, self.state, reference, self.follower.height)
            self.goal.values.falls = self.goal.values.falls or sinks
        f.values.authority, f.values.is_falling = part, fall is not None
        for goal in self.goal_points:
            if goal.is_on(self.time) and (limb := self.limbs.limb_of[self.character.body_index(goal.body) + 1]) >= 0:
                giving.hold(self.limbs, limb)
        self.routine.write_steps(sensed.footholds)
        aim(self.stages)
        if fall is not None:
            self.limits.stop(f)
            high = self.standing_height
            made, self.fall = targets.falling_targets(usual, setup, f, self.state, fall, high, self.time)
            return made
        out = targets.strict_targets(usual, setup, f, self.state, reference, part) if is_strict else usual
        places = [targets.place_goal(g, setup, self.state, self.time) for g in self.goal_points if g.is_on(self.time)]
        for place in places:
            if place.is_out_of_reach:
                self.counts.conflict(f"{place.label}: out of reach")
        return out._replace(places=places) if places else out

    def lists(
        self, reference: ReferenceFrame, sensed: Sensed, reached: int = NOT_TRIED
    ) -> tuple[Sequence[Objective], Sequence[Constraint]]:
        """The list of this step: the same objects as in the last step where the targets are the same arrays."""
        objectives: Sequence[Objective]
        constraints: Sequence[Constraint]
        usual, lists = self.usual[self.problem.values.is_soft]
        if self.options.engine == "pd":
            objectives, constraints = proportional_derivative(sensed.step, reference, self.preset.pd)
        elif reached == TARGETED or (asked := self.targets(reference, sensed)) is usual:
            objectives, constraints = lists
        else:
            objectives, constraints = self._list_of(asked)
        if not self.options.objectives:
            return objectives, constraints
        own, held = own_terms(self.options.objectives, sensed.step, reference)
        return [*objectives, *own], [*constraints, *held]

    def solve(
        self, reference: ReferenceFrame, sensed: Sensed, objectives: Sequence[Objective],
        constraints: Sequence[Constraint],
    ) -> StepResult | None:  # fmt: skip
        """Solve this step and keep what the next one starts from; None where nothing helps."""
        step, stages, points = sensed.step, self.stages, sensed.step.contacts.points
        warm = stages.acted[points].ravel() if step.contacts.is_plain else np.zeros(len(step.owner), dtype=np.bool_)
        result, conflict, fallback = attempt(
            step, objectives, constraints, warm, reference.a + stages.off, self.mass, readable=self.options.readable
        )
        if conflict:
            self.counts.failures += 1
            self.counts.conflict(conflict)
        if fallback:
            self.counts.fallbacks[fallback] += 1
        if result is None:
            return None
        stages.acted.fill(False)
        if step.contacts.is_plain:
            stages.acted[points] = result.coefficients.reshape(-1, 4) > 0.0
        stages.off[:] = result.a - reference.a
        self.counts.count(result.certificate)
        self.counts.in_a_row = 0
        self._last, self._unread = self._record(self.frame, reference, result, step), None
        return result

    def _note_fall(self) -> None:
        """Begin a fall where the goal says so; the state is still that of this step."""
        if self.goal.values.falls and self.fall is None:
            velocity = self.state.com_jacobian(self.model.roots[0]) @ self.v
            self.fall = begun(self.character, self.q, velocity, self.state.data.xpos[1:])
            self.standing_height = float(self.state.com(self.model.roots[0])[2]) - self.floor

    # --- what a step may be instead

    def _rise(self, reference: ReferenceFrame, following: Array, following_v: Array) -> Array:
        """Move to the next pose of getting up; at its end the figure stands beside the clip's way and goes back."""
        now = self.rising or rising.begin(self.q, self.get_up, reference.q, self.character)
        self.rising = now = rising.later(now, following[:2] - reference.q[:2], self.dt)
        depth = functools.partial(rising.depth, self.mirror, self.terrain, self.time)
        q = rising.pose(now, following, self.character, self.dt, depth)
        self.v = self.model.difference(self.q, q, self.dt)
        self.q = q
        self._finish()
        if now.since >= now.duration(self.dt):
            x, y = (self._com_of(self.q, self.v)[0] - self._com_of(following, following_v)[0]).tolist()
            self.v, self.rising, self.fall = following_v.copy(), None, None
            g = self.goal
            put_goal(g, (x, y))
            self.footing.begin_at((x, y))
            g.height, g.height_velocity, g.since, g.steps, g.falls = 0.0, 0.0, 0.0, True, False
            g.rest[:], g.landing[:], g.rest_rates[:], g.is_returning = g.shift - g.ground, 0.0, 0.0, False
            self.routine.rest()
            g.stance[:], g.turn[:], self.problem.away[:] = g.rest, 0.0, 0.0
            self.problem.stood[:] = self.problem.swung[:] = False  # feet stand where they have come to
        return self.q

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
        is_first = not self.counts.solves
        fade = 1.0 if is_first else 0.5 ** (self.dt / self.preset.glitch.halflife)
        deviation = self.model.difference(reference.q, self.q, 1.0)
        speed = (self.v - reference.v) * fade
        moved, height = fade * deviation, self.follower.height
        self.follower.carry(planned, self.dt)
        if not is_first:  # the ground's height is not a deviation that fades
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
