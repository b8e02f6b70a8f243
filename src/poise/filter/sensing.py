"""What is sensed in a step: forces that meet the figure, flight, contacts; and the block that holds it.

The block is made once for a character and filled in every step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.body.character import Character
from poise.core.errors import InvalidValue
from poise.core.typing import Array
from poise.filter import giving, trailing
from poise.filter.falling import lands, presses, slip_directions
from poise.filter.footing import Footholds, Footing, GroundFollower
from poise.filter.forces import Force
from poise.filter.frame import LARGEST_LEAN, LARGEST_WAY
from poise.filter.giving import GivingBody, hit_velocities
from poise.filter.plan import PlannedFrame
from poise.filter.preset import Giving, Preset
from poise.filter.quasi_physical import JointLimits
from poise.filter.reference import ReferenceFrame
from poise.native import Block
from poise.physics import State
from poise.step import Constraint, Contacts, Objective, Step
from poise.terrain import Terrain
from poise.terrain.ground import PlacedGround

Pair = tuple[float, float]

MOST_PUSHES = 64
"""So many forces may act on one figure at once."""
LOOSE = 3.0
"""A limb that goes by this part of one its own way makes the goal a servo."""
SOFT_GOAL = 15.0
"""Frequency of that servo, critically damped [1/s]."""
FIRM_SPEED = 0.4
"""Speed of the goal that doubles the weight of its path [m/s]."""
LEAVES = 0.08
"""A foot that leaves the ground is let go within this time, while the goal is away [s]."""
BRAKES = 0.08
"""So long before a leg gets straight the offset of its foot slows down [s]."""
PASSES, CROSSES = 0.11, 0.12
"""Feet pass each other no nearer than the first, from middle to middle, and one lands no farther beyond the line of the
other than the second, for a leg of 0.82 m [m]."""
BENT, LEAST_REACH = 0.08, 0.3
"""A leg is shorter by this part in the first quarter of its swing, and reaches this part of its length aside."""
EASES = 0.05
"""A joint of a leg that was hit would take at least this time to its limit at its speed, for a leg of 0.82 m [s]."""
FORESIGHT, LOOSENING = 0.05, 0.05
"""A foot that would be out of reach so much later [s], by this part of the leg, is no longer held at its place."""
RISE = 0.3
"""A toe stays on the ground while the heel rises: by this part of the length of the foot is it pulled there. More would
pull at the hips where the ankle can turn no farther."""


class Routine:
    """Writes what one step reads: reference, plan, ground and limbs that step, into a block made once.

    Args:
        state: Of the simulated character.
        footing: Whose offsets are kept up.
        limits: The character's joint limits.
        terrain: Placed terrain.
        follower: How the body follows it.
        preset: Weights and gains.
        sway_share, lean_share: Part of the trunk's sway and lean that each body takes, shape (B,).
        dt, floor, scale: Step [s], height of the reference's own floor [m], leg length / 0.82 m.
        is_strict: Nobody holds the root.
        left_out: Bodies (of the model) that the goal leaves out.
        limbs: Those that give way to a push.

    Attributes:
        frame, limbs: The blocks "Frame" and "Limbs" of `native.fields`.
    """

    def __init__(
        self,
        state: State,
        footing: Footing,
        limits: JointLimits,
        terrain: Terrain,
        follower: GroundFollower,
        preset: Preset,
        sway_share: Array,
        lean_share: Array,
        *,
        dt: float,
        floor: float,
        scale: float,
        is_strict: bool,
        left_out: tuple[int, ...],
        limbs: GivingBody,
    ) -> None:
        m, e, b = state.model, preset.end_effector, preset.bounds
        self._is_static = terrain.is_static
        self._ground = PlacedGround(terrain.shape, terrain.place)
        sizes = {
            "nv": m.nv,
            "bodies": m.body_count,
            "points": m.point_count,
            "point_rows": 3 * m.point_count,
            "most_wanted": 4 * m.point_count,
            "limited": limits.most // 3,
            "most_limits": limits.most,
            "limbs": len(footing.arrays["ends"]),
            "most_members": len(footing.arrays["members"]),
            "groups": len(footing.arrays["group_ends"]),
        }
        self.limbs = _limbs(state, limbs, preset.giving, dt, scale)
        given = {
            "pose": state.pose,
            "giving": self.limbs,
            "ground": self._ground.block,
            "reference": NOWHERE,
            **footing.arrays,
        }
        given |= {"follower_settings": follower.settings, "follower": follower.state, "sway_share": sway_share}
        self.frame = f = Block("Frame", sizes, given | {"lean_share": lean_share, **limits.arrays})
        f.axes[:], f.surface_normals[:], f.heights[:] = np.eye(3), (0.0, 0.0, 1.0), floor
        f.is_level, f.is_moving, f.dt, f.floor = terrain.is_flat, not terrain.is_static, dt, floor
        f.band, f.look_ahead, f.clearance_time = preset.contact.height * scale, e.look_ahead, e.clearance_time
        f.pose_speed, f.pose_stiffness = preset.pose.speed, preset.pose.stiffness
        f.end_speed, f.end_stiffness, f.holding = e.speed, e.stiffness, e.holding
        f.contact_time, f.contact_height = e.contact_time, e.contact_height * scale
        f.late = preset.protective.late
        f.limit_time = EASES * math.sqrt(scale)
        f.limit_margin, f.return_share, f.ground_reach = limits.near, limits.share, b.near_ground * scale
        f.clearance, f.is_strict = e.clearance * scale, is_strict
        f.largest_way, f.goal_frequency = LARGEST_LEAN * scale, preset.goal.point_frequency
        f.reach = LARGEST_WAY * scale if is_strict else 0.0
        f.loose_part, f.soft_frequency = LOOSE, SOFT_GOAL
        f.leaving_time, f.feet = LEAVES * math.sqrt(scale), len(footing.feet)
        f.braking_time = BRAKES * math.sqrt(scale)
        # nothing but a foot that crosses can catch a strict figure
        f.pass_width, f.pass_cross = PASSES * scale, math.inf if is_strict else CROSSES * scale
        f.firm_speed = FIRM_SPEED * math.sqrt(scale)
        _legs(f, state, limbs, footing.feet)
        f.foresight, f.loosening = FORESIGHT * math.sqrt(scale), LOOSENING
        f.left_out[list(left_out)], f.has_left_out = True, bool(left_out)

    def rest(self) -> None:
        """Nothing gives any more, and the goal begins anew."""
        limbs = self.limbs
        for array in (limbs.amounts, limbs.loose, limbs.ways, limbs.speeds, limbs.turns, limbs.swings):
            array.fill(0.0)
        limbs.values.is_pushed = self.frame.values.has_previous = 0

    def write(
        self, reference: ReferenceFrame, shift: Pair, home: Pair | None, planned: PlannedFrame | None, time: float
    ) -> None:
        """Write the inputs of a step, which `sense` reads.

        Args:
            reference: The undisturbed character.
            shift: Horizontal displacement of the goal [m].
            home: The same when it will have come to rest, or None where nothing moves it.
            planned: The plan over the ground, if there is one.
            time: [s].
        """
        f = self.frame
        f.reference, f.shift[:], f.home[:] = reference, shift, home or shift
        f.is_planned, f.values.has_home = planned is not None, home is not None
        if planned is not None:
            f.plan_offsets[:], f.plan_gaps[:] = planned.offsets, planned.gaps
            f.plan_climbs[:], f.plan_landings[:] = planned.climbs, planned.landings
            f.plan_rates[0], f.plan_rates[1] = planned.velocities, planned.accelerations
        if not self._is_static:
            self._ground.move_to(time)
            f.ground = self._ground.block

    def write_steps(self, feet: Footholds) -> None:
        """Write what stands and what steps back, which `set_targets` reads."""
        f = self.frame
        if feet.back is not None:
            f.stepping[0, :, 2] = feet.back.lift
            f.stepping[1], f.stepping[2] = feet.back.velocities, feet.back.accelerations
            f.leaving[:] = feet.back.moves
        f.values.is_stepping, f.values.lands = feet.back is not None, feet.landing is not None
        if feet.landing is not None:
            f.landing_ahead[:] = feet.landing


def _limbs(state: State, body: GivingBody, settings: Giving, dt: float, scale: float) -> Block:
    """The block "Limbs" of a character; nothing gives yet."""
    m, limbs = state.model, body.limbs
    sizes = {"nv": m.nv, "bodies": m.body_count, "limbs": len(limbs), "most_hits": MOST_PUSHES}
    k = Block("Limbs", sizes | {"most_room": 2 * m.body_count + 12 * len(limbs)}, {"pose": state.pose})
    k.root, k.dt, k.scale, k.gravity, k.pendulum = m.roots[0], dt, scale, giving.GRAVITY, giving.PENDULUM
    k.balance, k.spread = settings.balance, settings.spread
    for name in ("onset", "halflife", "leg_halflife", "planting", "yield_share", "leg_share", "fastest"):
        setattr(k, name, getattr(settings, name))
    k.first_body[:], k.last_body[:] = [1 + limb.bodies[0] for limb in limbs], [1 + limb.bodies[-1] for limb in limbs]
    k.is_leg[:], k.limb_mass[:] = [limb.is_leg for limb in limbs], [limb.mass for limb in limbs]
    k.lever[:] = [limb.lever for limb in limbs]
    k.is_arm[:] = [limb.is_arm for limb in limbs]
    k.length[:], k.stiffness[:] = [limb.reach for limb in limbs], [limb.stiffness for limb in limbs]
    k.damping[:], k.limit[:] = [limb.damping for limb in limbs], [limb.limit for limb in limbs]
    k.limb_of[:], k.inward[:], k.softest[:] = -1, -1, 1.0
    k.limb_of[1:], k.softest[1:] = body.limb_of, body.softest
    k.swing_share[:] = 0.0
    k.swing_share[1:] = body.swing_share
    k.trails[1:], k.trail_damping = body.trails, trailing.DAMPED
    k.inward[1:] = np.where(body.inward >= 0, body.inward + 1, -1)
    return k


def _legs(f: Block, state: State, body: GivingBody, feet: tuple[tuple[int, ...], ...]) -> None:
    """Write between which bodies the leg of each point of a foot is, and how far apart straight knees let these be."""
    m = state.model
    rest = State(m).at(m.q_rest(), np.zeros(m.nv))
    rest.touch()
    places = rest.data.xpos
    f.hip[:], f.ankle[:], f.straight[:], f.bent, f.least_reach = 0, 0, np.inf, BENT * 256.0 / 27.0, LEAST_REACH
    for foot in feet:
        own = np.array(foot)
        k = int(body.limb_of[m.point_body[own[0]] - 1])
        if k < 0:
            continue
        chain = [b + 1 for b in body.limbs[k].bodies]
        ankle = next(b for b in chain if b in m.point_body[own])
        legs = places[chain[: chain.index(ankle) + 1]]
        length = float(np.linalg.norm(np.diff(legs, axis=0), axis=1).sum())
        if len(legs) > 1:
            f.hip[own], f.ankle[own] = chain[0], ankle
            far = np.linalg.norm(rest.points[own] - places[ankle], axis=1)
            f.straight[own] = length + RISE * (far - far.min())


class _Nowhere:
    """A reference that is not set yet."""

    kind, address = "Reference", 0


NOWHERE = _Nowhere()


class Given(NamedTuple):
    """What a step is given.

    Attributes:
        reference: The undisturbed character now.
        following: The undisturbed pose one step later, shape (nq,).
        following_v: Its velocity, shape (nv,).
        pushes: What pushes and pulls now.
        is_glitch: The reference cannot be trusted here: carry the deviation instead of solving.
        planned: The plan over the ground at this step, if there is one.
    """

    reference: ReferenceFrame
    following: Array
    following_v: Array
    pushes: Sequence[Force] = ()
    is_glitch: bool = False
    planned: PlannedFrame | None = None


class Sensed(NamedTuple):
    """What one look at the world shows: the targets and the step are made from it.

    Attributes:
        step: The step to be solved.
        gaps: Distances of the contact points to the ground [m], shape (P,).
        footholds: Which contact points stand, and which limb steps back.
        planned: The plan over the ground, if there is one.
    """

    step: Step
    gaps: Array
    footholds: Footholds
    planned: PlannedFrame | None


class Asked(NamedTuple):
    """A step that is to be solved.

    Attributes:
        step, objectives, constraints: The step and its lists.
        sensed, given: What they were made of.
    """

    step: Step
    objectives: Sequence[Objective]
    constraints: Sequence[Constraint]
    sensed: Sensed
    given: Given


def write_hits(limbs: Block, pushes: Sequence[Force], character: Character, state: State, time: float) -> None:
    """Write where each force meets the figure now.

    Raises:
        InvalidValue: if too many act at once.
    """
    if len(pushes) > MOST_PUSHES:
        raise InvalidValue(f"{len(pushes)} forces act on one figure at once; give at most {MOST_PUSHES}.")
    places, masses = state.data.xipos, state.model.body_masses
    for k, push in enumerate(pushes):
        limbs.hit_body[k] = body = push.body_of(character) + 1
        limbs.hit_place[k] = places[body] if push.offset is None else state.body_place(body, push.offset)
    hit_velocities(limbs)
    for k, push in enumerate(pushes):
        mass = float(masses[limbs.hit_body[k]])
        limbs.hit_force[k] = push.force_at(limbs.hit_place[k].copy(), limbs.hit_velocity[k].copy(), time, mass)


def contacts_of(f: Block, state: State, friction: float, last: Contacts, *, is_falling: bool) -> Contacts:
    """What touches, from a block "Frame" that was sensed; of a figure that falls, what presses, and how it slides.

    On level ground these are the last ones where the same points touch.
    """
    near = f.values.touching_count
    is_usual = f.values.is_level and not is_falling and friction == last.friction
    if is_usual and f.touching[:near].tobytes() == last.points.tobytes():
        return last
    points, normals = f.touching[:near].copy(), f.normals[:near].copy()
    if is_falling:
        moving = state.point_velocities[points] - f.ground_velocities[points]
        held = presses(moving, normals, f.gaps[points], f.return_share / f.dt)
        held &= lands(moving, normals, f.gaps[points], f.dt, f.band)
        points, normals, ways = points[held], normals[held], slip_directions(moving[held], normals[held])
        if ways.any():
            return Contacts(points, normals, friction, slips=ways)
    return Contacts.found(state.model, points, normals, friction)


def feet_of(character: Character) -> tuple[tuple[int, ...], ...]:
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


def limbs_of(character: Character) -> tuple[tuple[int, ...], ...]:
    """Contact points of each leg and arm: what can step back."""
    limbs = [limb for limb in character.limbs if limb.kind in ("leg", "arm")]
    points = [tuple(i for i, p in enumerate(character.contact_points) if p.body in limb.bodies) for limb in limbs]
    return tuple(p for p in points if p)
