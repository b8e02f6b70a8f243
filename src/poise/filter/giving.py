"""How limbs give way to a force, and what of the force reaches the trunk.

A joint that gives is a spring and damper that carries the inertia hanging on it, instead of a servo that holds it. A
limb is hit, gives at once where it is hit, and joint by joint inward; while it swings it is a mass on a spring at the
trunk, and only what that spring carries pushes the trunk, its goal and its sway. A trunk that is pushed leaves its free
limbs behind: arms, neck and tail are held, but the same mass on its spring turns where they are held, so that they
trail, swing past and come to rest. Arms also go where they keep the balance. A leg that stands passes to the ground
what meets it low. Everything here is a function of values, and zero until something pushes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poise.body.character import Character
from poise.body.posing import body_poses
from poise.core import rotations
from poise.core.typing import Array, Flags
from poise.core.units import GRAVITY
from poise.filter.preset import Giving, Servo, Weights
from poise.filter.trailing import TRAILS, is_calm, swung
from poise.native import Block, compiled
from poise.physics import bodies

PENDULUM = 12.0
"""Gravity over the leg of a person [1/s²]: figures of any size swing as fast as a person of their build."""

LEAST = 1e-3
"""A joint that gives less than this part holds."""

SWING = 0.7, 1.4
"""Part of its limb's turn that its first body takes, and its last: a limb swings farther outward."""


class Hit(NamedTuple):
    """A force on the figure in one step.

    Attributes:
        body: Index of the character's body.
        place: Where it acts [m], shape (3,).
        force: [N], shape (3,).
    """

    body: int
    place: Array
    force: Array


@dataclass(frozen=True)
class LimbOnSpring:
    """A limb as one mass that hangs on the trunk.

    Attributes:
        bodies: That give, from the trunk outward.
        attached: The body it hangs on.
        mass: [kg].
        reach: From its first joint to its end [m].
        is_leg: It may stand.
        is_arm: It keeps the balance.
        lever: What it passes on enters so far out on it.
        stiffness, damping: Of the spring at small ways [N/m], [N s/m].
        limit: Way at which the spring is twice as stiff [m].
    """

    bodies: tuple[int, ...]
    attached: int
    mass: float
    reach: float
    is_leg: bool
    is_arm: bool
    lever: float
    stiffness: float
    damping: float
    limit: float


@dataclass(frozen=True)
class GivingBody:
    """What never changes: the limbs of a character and how soft their joints can be.

    Attributes:
        limbs: That can give.
        limb_of: Index of each body's limb, −1 for none, shape (B,).
        softest: Strength of each joint that gives entirely, 1 for those that never do, shape (B,).
        inward: The next body inward in the same limb, −1 at its root, shape (B,).
        swing_share: Part of its limb's turn that each body takes, shape (B,).
        trails: How quickly a body of a tail follows the one before it [rad/s], 0 for all others, shape (B,).
        mass: Of the figure [kg].
    """

    limbs: tuple[LimbOnSpring, ...]
    limb_of: npt.NDArray[np.int64]
    softest: Array
    inward: npt.NDArray[np.int64]
    swing_share: Array
    trails: Array
    mass: float


@dataclass(frozen=True)
class Give:
    """How far a figure gives at one instant.

    Attributes:
        amounts: Of every body's joint, 0 holds … 1 gives entirely, shape (B,).
        loose: How far each limb that was hit goes its own way, 0 … 1, shape (L,).
        ways, speeds: Of the limbs' masses against the trunk [m], [m/s], shape (L, 3).
    """

    amounts: Array
    loose: Array
    ways: Array
    speeds: Array

    @classmethod
    def none(cls, body: GivingBody) -> Give:
        """Everything holds."""
        limbs = len(body.limbs)
        return cls(np.zeros(len(body.limb_of)), np.zeros(limbs), np.zeros((limbs, 3)), np.zeros((limbs, 3)))

    @property
    def is_at_rest(self) -> bool:
        """Nothing gives."""
        return not (self.amounts.any() or self.ways.any())


class Reached(NamedTuple):
    """What of the forces reaches the trunk in one step.

    Attributes:
        hits: Forces on the trunk, each where it enters.
        acceleration: What the limbs' own accelerations add to that of the center of mass [m/s²], shape (3,).
        accelerations: The limbs' own [m/s²], shape (L, 3).
    """

    hits: tuple[Hit, ...]
    acceleration: Array
    accelerations: Array


class Trunk(NamedTuple):
    """How the trunk moves where each limb hangs on it, against the reference and of the last step.

    Attributes:
        falls: How fast the capture point is, ẋ + ω x, zero for limbs that are not left behind [m/s], shape (L, 3).
        accelerations: Zero for these, too [m/s²], shape (L, 3).
        places: Where the limbs hang [m], shape (L, 3).
    """

    falls: Array
    accelerations: Array
    places: Array

    @classmethod
    def at_rest(cls, body: GivingBody) -> Trunk:
        """It does not move."""
        return cls(*np.zeros((3, len(body.limbs), 3)))


def giving_body(character: Character, rest: Array, settings: Giving, pose: Servo, weights: Weights) -> GivingBody:
    """The limbs of a character and their softest strengths.

    A joint of strength s is driven by the step problem between a servo of frequency ω_p that holds it (weight W_p m s)
    and the torque of the reference (weight W_τ / (m s)), with the mass m and the inertia I that hang on it: it goes the
    part k = 1 / (1 + W_τ I² / (W_p m² s²)) of the servo's way. That is a spring and damper of frequency ω_p √k and
    damping ratio √k. The frequency wanted is a number (firmness) times that of a pendulum of what hangs on the joint,
    √(m g r / I): long limbs swing slowly, hands fast; the firmness of a lighter part of a limb is larger by
    (limb's mass / its own) ^ taper. So s = I / m · √(W_τ k / (W_p (1 − k))).

    Args:
        character: The bodies.
        rest: Coordinates with all joints at rest, shape (nq,).
        settings: How limbs give.
        pose: The servo that holds joints.
        weights: Of the step problem.
    """
    count = len(character.bodies)
    softest, (limb_of, inward), (share, trails) = np.ones(count), np.full((2, count), -1), np.zeros((2, count))
    places, turns = (x[0] for x in body_poses(character, rest[None]))
    coms = places + rotations.rotate(turns, np.array([b.com for b in character.bodies]))
    limbs: list[LimbOnSpring] = []
    collars = {character.roles.get("left_collar"), character.roles.get("right_collar")}
    for limb in character.limbs:
        if limb.kind == "spine":
            continue
        bodies = tuple(b for b in limb.bodies if b not in collars)
        if not bodies:
            continue
        firmness = settings.neck_firmness if limb.kind == "neck" else settings.firmness
        if not firmness:
            continue
        whole = sum(character.bodies[c].mass for c in character.carried(bodies[0]))
        squares: list[float] = []
        for b in bodies:
            hanging = [c for c in character.carried(b)]
            mass = sum(character.bodies[c].mass for c in hanging)
            inertia = sum(
                character.bodies[c].mass * float(np.sum((coms[c] - places[b]) ** 2))
                + 0.5 * float(np.trace(character.bodies[c].inertia))
                for c in hanging
            )
            arm = sum(character.bodies[c].mass * float(np.linalg.norm(coms[c] - places[b])) for c in hanging)
            firm = firmness * (whole / mass) ** settings.taper
            square = firm**2 * PENDULUM * character.leg_length * arm / inertia
            squares.append(square)
            part = min(square / max(pose.stiffness, 1e-9), 0.99)
            ratio = weights.joint_torque * part / (max(weights.pose, 1e-9) * (1.0 - part))
            area = character.leg_scale**2
            softest[b] = min(1.0, inertia / (mass * area) * math.sqrt(ratio))
            limb_of[b] = len(limbs)
        for first, second in pairwise(bodies):
            inward[second] = first
        if limb.kind != "leg":
            joints = len(bodies)
            share[list(bodies)] = np.linspace(*SWING, joints) if joints > 1 else 1.0
        if limb.kind == "tail":
            trails[list(bodies[1:])] = TRAILS / math.sqrt(character.leg_scale)
        steps = [float(np.linalg.norm(places[b] - places[a])) for a, b in pairwise(bodies)]
        tip = 2.0 * float(np.linalg.norm(character.bodies[bodies[-1]].com))
        reach = sum(steps) + (0.0 if limb.kind == "leg" else tip)
        limbs.append(
            LimbOnSpring(
                bodies, character.bodies[bodies[0]].parent, whole, reach, limb.kind == "leg", limb.kind == "arm",
                settings.neck_lever if limb.kind == "neck" else settings.lever, whole * squares[0],
                2.0 * settings.damping * whole * math.sqrt(squares[0]), settings.stretch * reach,
            )
        )  # fmt: skip
    return GivingBody(tuple(limbs), limb_of, softest, inward, share, trails, character.mass)


def advance(
    give: Give, body: GivingBody, settings: Giving, hits: Sequence[Hit], places: Array, stands: Flags, pressed: float,
    dt: float, trunk: Trunk, *, is_calm: bool = True,
) -> tuple[Give, Reached]:  # fmt: skip
    """One step: how far the joints give after it, and what of the forces reaches the trunk during it.

    Args:
        give: Before the step.
        body: The character's limbs.
        settings: How limbs give.
        hits: Forces of this step.
        places: Of the bodies' joints in the world [m], shape (B, 3).
        stands: Limbs that stand, shape (L,).
        pressed: How much what stands gives to a load from above, 0 … 1.
        dt: [s].
        trunk: How the trunk moves.
        is_calm: No tail swings any more.
    """
    wanted, on_limbs = np.zeros(len(give.amounts)), np.zeros((len(body.limbs), 3))
    passed: list[Hit] = []
    for hit in hits:
        k = int(body.limb_of[hit.body])
        if k < 0:
            passed.append(hit)
            continue
        limb = body.limbs[k]
        root = places[limb.bodies[0]]
        outward = min(float(np.linalg.norm(hit.place - root)) / max(limb.reach, 1e-9), 1.0)
        through = Hit(limb.attached, root, (1.0 - outward) * hit.force)
        passed.append(through)
        if stands[k]:
            continue  # the rest goes to the ground
        on_limbs[k] += outward * hit.force
        drive = float(np.linalg.norm(hit.force)) / (limb.mass * GRAVITY)
        most = math.sqrt(settings.leg_share) if limb.is_leg else 1.0
        wanted[hit.body] = max(wanted[hit.body], most * drive / (drive + settings.yield_share))
    ways, speeds, carried, accelerations = _swing(give, body, on_limbs, stands, dt, trunk, settings)
    for k, limb in enumerate(body.limbs):
        if carried[k].any():
            root, end = places[limb.bodies[0]], places[limb.bodies[-1]]
            passed.append(Hit(limb.attached, root + limb.lever * (end - root), carried[k]))
    # a leg off the ground gives way while the trunk is pushed
    thrown = np.sum([h.force for h in passed], axis=0) if passed else np.zeros(3)
    drive = float(np.linalg.norm(thrown)) / (body.mass * GRAVITY)
    for k, limb in enumerate(body.limbs):
        if limb.is_leg and not stands[k] and drive:
            part = settings.leg_share * drive / (drive + settings.yield_share)
            wanted[limb.bodies[0]] = max(wanted[limb.bodies[0]], part)
    amounts = _spread(give.amounts, wanted, body, settings, stands, pressed, dt)
    if is_calm and not hits and amounts.max(initial=0.0) < LEAST and float(np.abs(ways).max(initial=0.0)) < 1e-5:
        return Give.none(body), Reached(tuple(passed), np.zeros(3), np.zeros_like(ways))
    rise, fade = dt / (settings.onset + dt), _fades(body, settings, dt)
    loose = np.where(on_limbs.any(axis=1), give.loose + rise * (1.0 - give.loose), give.loose * fade)
    give = replace(give, amounts=amounts, loose=loose, ways=ways, speeds=speeds)
    own = _shares(body) * np.where([limb.is_leg for limb in body.limbs], give.loose, 1.0)
    return give, Reached(tuple(passed), own @ accelerations, accelerations)


def limbs_way(give: Give, body: GivingBody, coms: Array, reference_coms: Array, shift: Array) -> Array:
    """Displacement of the center of mass that is the limbs' own [m], shape (3,): a limb that was hit is wherever it is,
    and one that was left behind where its spring holds it.

    Args:
        give: How far they give.
        body: The limbs.
        coms, reference_coms: Centers of mass of the limbs, and of those of the reference [m], shape (L, 3).
        shift: Of the trunk [m], shape (3,).
    """
    held = np.where([limb.is_leg for limb in body.limbs], 0.0, 1.0 - give.loose)
    return _shares(body) @ (give.loose[:, None] * (coms - reference_coms - shift) + held[:, None] * give.ways)


def limb_turns(give: Give, body: GivingBody, accelerations: Array, arms: Array) -> Array:
    """The turns that the limbs' ways are, r × y / |r|², and their rates, shape (L, 3, 3), less for one that was hit.

    Args:
        give: Ways and speeds of the limbs.
        body: The limbs.
        accelerations: Of the limbs [m/s²], shape (L, 3).
        arms: r, from each limb's first joint to its center of mass [m], shape (L, 3).
    """
    least = np.array([0.1 * limb.reach for limb in body.limbs])
    size = np.maximum(np.sum(arms**2, axis=1), least**2)
    ways = np.stack([give.ways, give.speeds, accelerations], axis=1)
    return np.cross(arms[:, None], ways) * ((1.0 - give.loose) / size)[:, None, None]


def _shares(body: GivingBody) -> Array:
    """Part of the figure's mass that each limb is, shape (L,)."""
    return np.array([limb.mass / body.mass for limb in body.limbs])


def balance_ways(body: GivingBody, settings: Giving, trunk: Trunk) -> Array:
    """Where arms go to keep the balance [m], shape (L, 3): outward, both, as fast as the figure falls (by the part
    `spread` of it where it does not fall to the side), and against the fall that is left.

    Source: people move both arms early, as counterweight in falls backward, and for counterweight and protection in
    falls to the side (Gait & Posture 2013, 37:300); the size is a choice.
    """
    are_arms, ways = np.array([limb.is_arm for limb in body.limbs]), np.zeros((len(body.limbs), 3))
    middle = trunk.places[are_arms, :2].sum(axis=0) / max(int(are_arms.sum()), 1)
    for k in np.flatnonzero(are_arms & trunk.falls.any(axis=1)):
        side, fall = trunk.places[k, :2] - middle, trunk.falls[k, :2]
        side = side / max(math.hypot(*side), 1e-9)
        aside = float(side @ fall)
        out = aside + abs(aside) + settings.spread * (math.hypot(*fall) - abs(aside))
        ways[k, :2] = settings.balance * (out * side - fall)
    return ways


def _swing(
    give: Give, body: GivingBody, forces: Array, stands: Flags, dt: float, trunk: Trunk, settings: Giving
) -> tuple[Array, Array, Array, Array]:
    """Ways, speeds, what the springs carry into the trunk [N], and accelerations of the limbs, each (L, 3).

    One implicit step of m ÿ = f − m (1 − l) a − (K (1 + |y|² / y_m²) y − K y_b + D ẏ) (1 + m / m_trunk), linearized at
    its start, with the trunk's acceleration a and the way y_b that keeps the balance; l is how far the limb was hit.
    """
    asked = balance_ways(body, settings, trunk)
    ways, speeds, carried = give.ways.copy(), give.speeds.copy(), np.zeros_like(give.ways)
    accelerations = np.zeros_like(give.ways)
    for k, limb in enumerate(body.limbs):
        y, v, f = give.ways[k], give.speeds[k], forces[k]
        base = (1.0 - give.loose[k]) * trunk.accelerations[k]
        if not (f.any() or y.any() or v.any() or trunk.accelerations[k].any() or asked[k].any()):
            continue
        stretched = float(y @ y) / limb.limit**2
        stiff, stiffest = limb.stiffness * (1.0 + stretched), limb.stiffness * (1.0 + 3.0 * stretched)
        damp = limb.damping * math.sqrt(1.0 + stretched)
        both = 1.0 / limb.mass + 1.0 / max(body.mass - limb.mass, 1e-9)
        fade = 4.0 * limb.damping if stands[k] else 0.0
        top = f / limb.mass - base - both * (stiff * y + (damp + fade) * v - limb.stiffness * asked[k])
        acceleration = top / (1.0 + dt * both * (damp + fade) + dt * dt * both * stiffest)
        speeds[k] = v + dt * acceleration
        ways[k] = y + dt * speeds[k]
        accelerations[k] = acceleration
        if give.loose[k] > 0.0 or f.any():  # what the trunk feels of a hit is what the limb does not keep
            carried[k] = (f / limb.mass - base - acceleration) / both
    return ways, speeds, carried, accelerations


def _spread(
    amounts: Array, wanted: Array, body: GivingBody, settings: Giving, stands: Flags, pressed: float, dt: float
) -> Array:
    """Give after a step: it rises towards what a body or its neighbors in the limb want, and fades by half-lives."""
    limb, inward = body.limb_of, body.inward
    rise, fade = dt / (settings.onset + dt), np.append(_fades(body, settings, dt), 1.0)[limb]
    further = np.flatnonzero(inward >= 0)
    nearby = wanted.copy()
    nearby[further] = np.maximum(nearby[further], amounts[inward[further]])
    nearby[inward[further]] = np.maximum(nearby[inward[further]], amounts[further])  # a limb is a chain: one each
    out = np.where(nearby > amounts, amounts + rise * (nearby - amounts), amounts)
    out = np.where(wanted < out, out * fade, out)
    planted = amounts + (1.0 - 0.5 ** (dt / settings.planting)) * (pressed - amounts)
    return np.where(limb < 0, amounts, np.where(stands[limb], planted, out))


def _fades(body: GivingBody, settings: Giving, dt: float) -> Array:
    """Part of each limb's giving that is left after a step without force, shape (L,)."""
    halflives = np.array([settings.leg_halflife if limb.is_leg else settings.halflife for limb in body.limbs])
    return 0.5 ** (dt / halflives)


def strengths(give: Give, body: GivingBody, settings: Giving, speeds: Array) -> Array:
    """Factor on the strength of every body's joint: from 1 that holds to its softest, shape (B,).

    Muscles resist what stretches them fast, so a joint gives less the faster it is driven off its way, and not at all
    at the fastest that the preset allows.

    Args:
        give: How far the joints give.
        body: The limbs.
        settings: How limbs give.
        speeds: Of the joints against the reference [rad/s], shape (B,).
    """
    return body.softest ** (give.amounts * np.maximum(0.0, 1.0 - (speeds / settings.fastest) ** 2))


@compiled("Limbs *k")
def hit_velocities(k):
    """How fast the places move where forces act."""
    p, n, unused = k.pose, k.hits, np.empty((k.hits, 3))
    bodies.point_motion.twin(p, k.hit_body[:n], k.hit_place[:n], p.body_biases, k.hit_velocity[:n], unused)


@compiled("Frame *f")
def give_way(f):
    """How far the limbs give after this step, and what of its forces reaches the trunk: `advance`."""
    p, k = f.pose, f.giving
    k.trunk_force[:], k.trunk_moment[:], k.own_acceleration[:] = 0.0, 0.0, 0.0
    hits = [Hit(int(k.hit_body[i]) - 1, k.hit_place[i].copy(), k.hit_force[i].copy()) for i in range(k.hits)]
    bodies.point_torques.twin(p, k.hit_body[: k.hits], k.hit_place[: k.hits], k.hit_force[: k.hits], k.external)
    body, give = read(k)
    k.is_pushed = bool(hits) or k.pressed != 0.0 or not (f.is_at_goal and give.is_at_rest)
    if not k.is_pushed:
        return
    of_points = k.limb_of[p.point_body]
    k.limb_stands[:] = [(f.stands & (of_points == limb)).any() for limb in range(k.limbs)]
    trunk = _trunk(f, body)
    calm = is_calm(k, 1e-5)
    give, reached = advance(give, body, k, hits, p.xpos[1:], k.limb_stands, k.pressed, k.dt, trunk, is_calm=calm)
    k.amounts[1:], k.loose[:], k.ways[:], k.speeds[:] = give.amounts, give.loose, give.ways, give.speeds
    k.own_acceleration[:], k.accelerations[:] = reached.acceleration, reached.accelerations
    arms = p.subtree_com[k.first_body] - trunk.places
    k.turns[:] = limb_turns(give, body, reached.accelerations, arms).reshape(-1, 9)
    k.swings[:] = 0.0 if give.is_at_rest else swung(k)
    pivot = p.subtree_com[k.root] + [0.0, 0.0, k.pivot]
    for hit in reached.hits:
        # a push of so many body weights moves figures of any size by the same part of their legs
        k.trunk_force += k.scale * hit.force
        k.trunk_moment += np.cross(hit.place - pivot, k.scale * hit.force)


def _trunk(f: Block, body: GivingBody) -> Trunk:
    """How the trunk moves where the limbs hang: with the goal, and by its sway about the place that the goal takes
    along (above the root by what turns with the trunk, weighed by its mass). A leg is not left behind, since it has
    to land, nor is any limb of a figure that touches nothing, whose momentum stays.
    """
    p, k = f.pose, f.giving
    root, starts = p.xpos[k.root], p.xpos[k.first_body]
    middle = p.subtree_com[k.root].copy()
    falls, accelerations = np.zeros_like(starts), np.zeros_like(starts)
    for limb, first in zip(body.limbs, k.first_body, strict=True):
        if limb.is_leg:
            middle -= limb.mass / k.mass * (p.subtree_com[first] - root)
    if not f.is_at_goal and f.touching_count:
        free = np.array([not limb.is_leg for limb in body.limbs]) & ~k.limb_stands
        w, sway, moved = math.sqrt(k.pendulum), f.sway.reshape(3, 3), f.moved.reshape(3, 3)[:, :2]
        turns, ways = (sway[1] + w * sway[0], sway[2]), (f.away[1] + w * f.away[0], moved[2])
        for out, turn, way in zip((falls, accelerations), turns, ways, strict=True):
            out[free] = np.cross(turn, starts[free] - middle)
            out[free, :2] += way
    return Trunk(falls, accelerations, starts)


def hold(k: Block, limb: int) -> None:
    """A limb that holds on to something does not give, nor trail behind."""
    k.amounts[k.limb_of == limb] = 0.0
    k.swings[k.limb_of == limb] = 0.0
    for own in (k.ways, k.speeds, k.turns):
        own[limb] = 0.0


def read(k: Block) -> tuple[GivingBody, Give]:
    """What a block "Limbs" holds, as values."""
    limbs = tuple(
        LimbOnSpring((int(first) - 1, int(last) - 1), -1, *numbers)
        for first, last, *numbers in zip(
            k.first_body, k.last_body, k.limb_mass, k.length, k.is_leg, k.is_arm, k.lever, k.stiffness, k.damping,
            k.limit, strict=True,
        )
    )  # fmt: skip
    inward = np.where(k.inward[1:] > 0, k.inward[1:] - 1, -1)
    body = GivingBody(limbs, k.limb_of[1:], k.softest[1:], inward, k.swing_share[1:], k.trails[1:], k.mass)
    return body, Give(k.amounts[1:].copy(), k.loose.copy(), k.ways.copy(), k.speeds.copy())
