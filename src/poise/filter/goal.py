"""The moving goal: a particle that the push carries along, and a trunk that the push turns.

With the goal fixed to the reference's own center of mass a push is cancelled by the root. Moving, it is seen. Both
parts are exactly zero until something pushes. What moves them is the push times leg length / 0.82 m: by mechanics alone
an impulse gives figures of any size the same speed, so that a small one is thrown and a large one does not stir; so
each goes the same part of its leg, and comes back in the same time.

    particle   ẍ = −ω² (x − d) − 2 ω (ẋ − ḋ) + f / m          d the way of the ground and of protective steps
    height     z̈ = −ω_z² (z + s |ẋ|) − 2 ω_z ż + f_z / m        s while it steps: knees bend
    trunk      θ̈ = g (r × F) / I − ω² ((1 + s) θ − l z × d̈) − 2 ζ ω (1 + s)ᵖ θ̇        s = (θ / θ_limit)⁴

with p = ½ for a trunk that turns further and p = 3/2 for one that comes back: what stopped it does not throw it back.

`g` is a block "MovingGoal" of `native.fields`: settings, and what is kept from step to step. In every step `move_goal`
sets the rates, which are semi-implicit like the character's own, and `advance_goal` goes on by them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from poise.core.typing import Array
from poise.core.units import GRAVITY, HUMAN_LEG
from poise.filter.preset import Goal, Protective
from poise.native import Block, compiled

FRESH = 1e-3
"""A trunk turned by less than this [rad] when flight begins turns with the whole figure at once."""
WHOLE_HALFLIFE = 0.06
"""Else the rest of the figure joins it, and after landing leaves it, with this half-life [s]."""

PENDULUM = 3.3
"""Frequency of a standing person as an inverted pendulum [1/s]; figures of any size fall and step in the same time."""
WALKING = 1.9
"""A walk, whose next foot catches it, holds a capture point so much farther off."""

AHEAD = 8
"""Steps in which the goal is looked ahead until the next foot lands."""

SWING = 0.4
"""A foot that stands will swing for so long [s]."""
SHORTEST, SOON = 0.3, 1.2
"""No step is shorter; a figure whose next foot lands later stands [s]."""
PEAK = 1.875
"""Largest speed of the least-jerk way, times its duration over its length."""
STANDS_ON = 0.4
"""A figure stands for a while before it goes home; when its last foot lands, at most this part of it is over [1]."""
LEAD, FOOT_AHEAD = 0.3, 1.5
"""On the way home, in times of a step [1]: its feet begin so much later than the figure, and step to where it will be
so much later."""
FARTHEST = 0.2
"""A foot lands no farther off its place in the clip against the other than this [m], as in people."""
MOVING = 0.03
"""The support moves from foot to foot with this half-life [s]."""
CARRIED = 0.3
"""A figure whose root carries this part of its weight in the reference hovers; one that is carried less flies."""
LIFTED = 0.02
"""A figure that stands in the reference is thrown when it is farther than this above it [m] and nothing touches."""


def moving_goal(
    goal: Goal,
    protective: Protective,
    *,
    mass: float,
    leg_length: float,
    feet: int,
    dt: float,
    is_guided: bool,
    returns: bool,
) -> Block:
    """The block "MovingGoal" of a figure, at rest.

    Args:
        goal, protective: Settings of the preset.
        mass: [kg].
        leg_length: [m].
        feet: How many it stands on.
        dt: [s].
        is_guided: Something keeps the figure up; else it takes no step and falls where it would take one.
        returns: It goes home again after stepping.
    """
    scale, p = leg_length / HUMAN_LEG, protective
    g = Block("MovingGoal", {}, {})
    g.dt, g.mass, g.scale, g.feet, g.is_guided, g.returns = dt, mass, scale, feet, is_guided, returns
    g.frequency, g.vertical_frequency = goal.frequency, goal.vertical_frequency
    g.lowest, g.highest, g.tipping = goal.lowest * leg_length, goal.highest * leg_length, goal.tipping / leg_length
    g.sinking = goal.sinking
    g.hold, g.longest, g.far = p.hold * leg_length, p.longest * leg_length, p.far * leg_length
    g.settling, g.bending, g.left = p.settling, p.bending, p.left
    g.stride, g.striding, g.drift = p.stride * leg_length, p.striding, p.drift * math.sqrt(scale)
    g.stands_on = STANDS_ON * p.settling
    g.lead, g.foot_ahead = LEAD * p.striding, FOOT_AHEAD * p.striding
    g.ankle, g.reach, g.farthest = p.ankle * scale, p.reach * scale, FARTHEST * scale
    inertia = goal.sway_inertia * (mass / 70.0) * scale**2
    g.push, g.twist, g.limit = goal.sway_gain / inertia, goal.twist_gain / inertia, max(goal.sway_limit, 1e-9)
    g.lean = p.lean / (GRAVITY * scale)
    g.spring, g.damper = goal.sway_frequency**2, 2.0 * goal.sway_damping * goal.sway_frequency
    g.pendulum, g.walking, g.ahead = PENDULUM, WALKING, AHEAD
    g.swing, g.shortest, g.soon, g.lifted = SWING, SHORTEST, SOON, LIFTED * scale
    g.moving_part, g.whole_part = 0.5 ** (dt / MOVING), 0.5 ** (dt / WHOLE_HALFLIFE)
    g.hovering, g.fresh, g.since, g.rests = CARRIED * GRAVITY * mass, FRESH, math.inf, True
    return g


def put_goal(g: Block, place: tuple[float, float], velocity: tuple[float, float] = (0.0, 0.0)) -> None:
    """Put the particle at a place [m] with a velocity [m/s]."""
    g.shift[:], g.velocity[:], g.rests = place, velocity, False


def pressed(g: Block) -> float:
    """How far the legs must bend or stretch for the height, 0 … 1."""
    way = max(-g.values.height, 0.0) / g.values.lowest
    return max(way / (way + 0.1), lifted(g))


def lifted(g: Block) -> float:
    """How far a force from below has taken the load off the feet, 0 … 1.

    A figure that is lifted farther than its heels can rise leaves the ground, and its legs with it: from there to
    half as far again they come to hold as they did.
    """
    way = max(g.values.height, 0.0) / g.values.highest
    return way / (way + 0.1) * min(1.0, max(0.0, 2.0 * (1.5 - way)))


class Support(NamedTuple):
    """The foot that stands while the other is about to land: over it the goal deviates as an inverted pendulum.

    ẍ = ω² (x − p), with the pressure p under the foot; all against the reference.

    Attributes:
        place: Of the foot [m], shape (2,).
        time: Until the other lands [s].
        after: From then until this one lands again [s].
    """

    place: Array
    time: float
    after: float


@compiled("MovingGoal *g, Frame *f")
def move_goal(g, f):
    """Set the rates of goal and trunk for this step, and what the figure does about a push; the frame is sensed.

    What is pushed high also tips over its feet; what is pushed low is held by them in part. Where the figure flies
    nothing brings the goal back: it keeps its momentum, and the landing moves.
    """
    force, moment, support = np.zeros(3), np.zeros(3), None
    g.flies, is_thrown = False, False
    if g.is_moving:
        limbs, r, touching = f.giving, f.reference, f.touching_count
        if limbs.is_pushed:
            force[:], moment[:] = limbs.trunk_force, limbs.trunk_moment
            if touching:
                force[:2] += g.tipping * np.array([moment[1], -moment[0]])
        stands = bool(r.flags.any())
        g.flies = not touching and not stands and bool(abs(r.torque[2]) < g.hovering)
        if g.flies:
            force /= g.scale  # by mechanics alone
        elif not g.rests:
            if g.is_guided and not g.has_fallen:
                support = _support(g, f)
            _recover(g, f, support)
        is_thrown = not touching and stands and not g.flies and g.height > g.lifted
    g.has_support = support is not None
    if support is not None:
        g.support[:] = support.place
    _accelerate(g, force, support, GRAVITY * g.scale if is_thrown else 0.0)
    _sway(g, moment, _spin(f.giving) if g.flies else None)
    f.moved[:] = *g.shift, g.height, *g.velocity, g.height_velocity, *g.acceleration, g.height_acceleration
    f.away[0], f.away[1] = g.shift - g.ground - g.rest, g.velocity - g.rest_rates[0]
    f.sway[:], f.is_at_goal = g.turn.ravel(), g.rests


@compiled("MovingGoal *g")
def advance_goal(g):
    """Go on by the rates."""
    dt = g.dt
    g.velocity += dt * g.acceleration
    g.shift += dt * g.velocity
    g.height_velocity += dt * g.height_acceleration
    g.height += dt * g.height_velocity
    g.ground += dt * g.ground_velocity
    if g.sways:
        g.turn[1] += dt * g.turn[2]
        g.turn[0] += dt * g.turn[1]
    g.rests = not bool(g.shift.any() or g.velocity.any() or g.height or g.height_velocity)


def _support(g: Block, f: Block) -> Support | None:
    """The foot that stands while another is about to land; None for figures that stand, fly or have other legs."""
    if g.feet != 2 or g.reach == 0.0 or not f.standing_count:
        return None
    touches, times, gone, lifts = f.groups_seen[:2].T
    swing = g.swing
    for foot in range(2):
        if not touches[foot] and 1.0 - gone[foot] > 0.05:
            swing = min(times[foot] / (1.0 - gone[foot]), g.soon)
    time, then = sorted(np.minimum(np.where(touches > 0.0, math.inf, times), lifts + swing).tolist())
    if time > g.soon:
        return None
    place = f.standing + (g.moving_part * (g.support - f.standing) if g.has_support else 0.0)
    return Support(place, time, min(max(then - time, g.shortest), g.soon))


def _carried(g: Block, s: Support, x: Array, v: Array, asked: Array, time: float) -> Array:
    """Acceleration of the goal [m/s²]: that asked for, as far as the ankle can.

    A capture point ξ that would be out of reach when the next foot lands is brought back by what no foot can do.

    Args:
        g, s: The goal, and the foot it stands on.
        x, v: Place and velocity of the goal [m], [m/s].
        asked: [m/s²].
        time: Until the next foot lands [s].
    """
    w = g.pendulum
    free, left = w * w * (x - s.place), math.exp(-w * time)
    off = math.hypot(*(x + v / w - s.place))
    most = w * w * (g.ankle + max(0.0, off - g.reach * left) / max(1.0 - left, 1e-3))
    by_foot = asked - free
    return free + most / math.hypot(most, *by_foot) * by_foot


def _landing(g: Block, s: Support) -> Array:
    """How far beyond the goal the next foot lands [m], shape (2,); the goal is looked ahead by its own law.

    It lands where ξ will be then and farther out by the part (1 − left) / (exp(ω t) − 1), so that ξ moves back towards
    home in the next t seconds; no farther than `farthest` beyond where it will rest. Source: Hof, Vermerris and
    Gjaltema 2010.
    """
    w, h, x, v, home = g.pendulum, s.time / g.ahead, g.shift.copy(), g.velocity.copy(), g.ground + g.rest
    for k in range(g.ahead):
        asked = g.frequency**2 * (home - x) - 2.0 * g.frequency * v
        v += h * _carried(g, s, x, v, asked, s.time - k * h)
        x += h * v
    out = home + (1.0 + (1.0 - g.left) / (math.exp(w * s.after) - 1.0)) * (x + v / w - home) - s.place
    farthest = g.farthest + math.hypot(*g.rest)
    return s.place + min(1.0, farthest / max(math.hypot(*out), 1e-9)) * out - g.shift


def _recover(g: Block, f: Block, support: Support | None) -> None:
    """Decide between standing, a step and a fall; where the figure will rest; and where its feet land.

    The capture point ξ takes the resting place along on a leash as long as what ankles and hips can hold. So a step is
    as long as what they cannot, down to none at all. Then the figure stands there for a while, and walks home: the goal
    on one least-jerk way, the feet in turn to where it will be when the other one steps; a walk by its own steps.
    """
    here = g.shift - g.ground
    out = here + g.velocity / g.pendulum  # where it would come to rest
    g.since += g.dt
    before, off = math.hypot(*g.rest), math.hypot(*(out - g.rest))
    g.rest_rates[:] = 0.0
    stands = support is None and f.standing_count > 0
    if stands and f.is_stepping and not g.is_returning:
        g.since = min(g.since, g.stands_on)
    leash = g.hold * (1.0 if support is None else g.walking) / (1.0 + 0.5 * before / g.hold)
    if g.is_returning:
        leash = g.hold * g.walking
    if off > leash:
        g.rest += (1.0 - leash / off) * (out - g.rest)
        g.since, g.is_returning = 0.0, False
    elif g.returns and g.since > g.settling and g.rest.any():
        if not g.is_returning:
            g.start[:], g.is_returning, g.since = g.rest, True, g.settling
            g.lasts = g.foot_ahead + g.striding * before / g.stride
            if not stands:
                g.lasts = max(g.lasts, PEAK * before / g.drift)
        gone, speed, turn = smooth(min((g.since - g.settling) / g.lasts, 1.0))
        g.rest[:], g.rest_rates[0] = (1.0 - gone) * g.start, -speed / g.lasts * g.start
        g.rest_rates[1] = -turn / g.lasts**2 * g.start
        if gone == 1.0:
            g.is_returning, g.since = False, g.settling
    size = math.hypot(*g.rest)
    g.steps = bool(size and (g.steps or size > g.far))
    g.stance[:] = g.rest if g.steps else 0.0
    if g.steps and g.is_returning and stands:
        time = g.since - g.settling
        gone = smooth(min((time + g.foot_ahead) / g.lasts, 1.0))[0] if time >= g.lead else 0.0
        g.stance[:] = (1.0 - gone) * g.start
    lead = math.hypot(*(out + g.ground - f.standing if f.standing_count else out))
    g.falls = g.falls or (size > before and (lead > g.longest if g.is_guided else size > g.far))
    if support is not None:
        wanted = _landing(g, support)
    else:
        wanted = out - here if g.steps else np.zeros(2)
    g.landing += g.dt / (g.bending + g.dt) * (wanted - g.landing)
    if max(np.abs(g.landing).max(), np.abs(wanted).max()) < 1e-6:
        g.landing[:] = 0.0


def smooth(s: float) -> tuple[float, float, float]:
    """Least-jerk way from 0 to 1 at part s of its time: 10 s³ − 15 s⁴ + 6 s⁵, and its two derivatives."""
    return (
        s**3 * (10.0 - 15.0 * s + 6.0 * s * s),
        30.0 * s * s * (1.0 - s) ** 2,
        60.0 * s * (1.0 - s) * (1.0 - 2.0 * s),
    )


def _accelerate(g: Block, force: Array, support: Support | None, weight: float) -> None:
    """Accelerations of the particle; `weight` is gravity that the reference does not feel, since it stands [m/s²]."""
    a = np.zeros(2)
    if not g.flies:
        speed = g.ground_velocity + g.rest_rates[0] - g.velocity
        a = g.frequency**2 * (g.ground + g.rest - g.shift) + 2.0 * g.frequency * speed + g.rest_rates[1]
        if support is not None:
            a = _carried(g, support, g.shift, g.velocity, a, support.time)
    g.acceleration[:] = a + force[:2] / g.mass
    low = -g.sinking * math.hypot(*(g.velocity - g.ground_velocity)) if g.steps else 0.0
    if force[2] or g.height or g.height_velocity or low:
        z, w, dt = g.height, 0.0 if g.flies else g.vertical_frequency, g.dt
        part = z / (g.lowest if z < 0.0 else g.highest)
        free = force[2] / g.mass - weight - w * w * ((1.0 + part * part) * z - low) - 2.0 * w * g.height_velocity
        g.height_acceleration = free / (1.0 + 2.0 * w * dt + w * w * (1.0 + 3.0 * part * part) * dt * dt)


def _sway(g: Block, moment: Array, spin: Array | None) -> None:
    """Angular acceleration of the trunk, by a moment about its pivot [N m] or with the whole figure, which flies
    [rad/s²].
    """
    if not g.sways and not moment.any() and not g.rest_rates.any() and (spin is None or not spin.any()):
        return
    g.sways = True
    turn, velocity, acceleration = g.turn
    if spin is not None:
        g.whole = 1.0 if np.abs(turn).max() < g.fresh else 1.0 - (1.0 - g.whole) * g.whole_part
        acceleration[:] = spin
        return
    g.whole *= g.whole_part
    far = (turn @ turn / g.limit**2) ** 2
    returns = bool(turn @ velocity < 0.0)
    damper = g.damper * (1.0 + far) ** (1.5 if returns else 0.5)
    implicit = 1.0 + (5.0 * g.spring * far * g.dt**2 if far > 1.0 else 0.0) + (g.dt * damper if returns else 0.0)
    gains = np.array([g.push, g.push, g.twist])
    lean = g.lean * np.array([-g.rest_rates[1, 1], g.rest_rates[1, 0], 0.0])
    acceleration[:] = (gains * moment - g.spring * ((1.0 + far) * turn - lean) - damper * velocity) / implicit


def _spin(limbs: Block) -> Array:
    """Angular acceleration of the whole figure as one rigid body by the forces that meet it [rad/s²]."""
    p, count, root = limbs.pose, limbs.hits, limbs.root
    if not count:
        return np.zeros(3)
    com = p.subtree_com[root]
    moment = np.cross(limbs.hit_place[:count] - com, limbs.hit_force[:count]).sum(axis=0)
    frame, arm = p.xmat[root].reshape(3, 3), com - p.xpos[root]
    inertia = frame @ p.M[3:6, 3:6] @ frame.T - limbs.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return np.linalg.solve(inertia, moment)
