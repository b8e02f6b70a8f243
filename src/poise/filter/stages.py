"""The stages of one step in one call of the compiled core: sensing, targets, list, answer, next pose.

`usual_step` does what `SimulatedCharacter.end` does stage by stage, by the same functions in the same order, and
stops where Python has a say: where a limb is to step back, where you add objectives of your own, or where the solver
did not get through. It returns how far it came, and `end` goes on from there. A call releases the interpreter lock,
so `usual_steps` takes many figures at once on each thread.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence

import numpy as np

from poise.filter.apart import keep_apart
from poise.filter.frame import sense, set_targets
from poise.filter.giving import give_way
from poise.filter.goal import advance_goal, move_goal
from poise.filter.reference import reference_frame
from poise.filter.setup import Setup
from poise.native import Block, compiled
from poise.step.system import SOLVED, answer
from poise.step.table import write_terms

NOT_TRIED, NOT_FINITE, SENSED, TARGETED, DONE = range(-1, 4)
"""How far `usual_step` came: not called, not a finite state, sensed, targets set, at the next pose."""


def stages_of(setup: Setup, frame: Block, goal: Block, legs: Block, system: Block, *, fastest: float) -> Block:
    """The block "Stages" of a figure.

    Args:
        setup: What never changes.
        frame, goal, legs, system: Blocks of the figure and of its state.
        fastest: A joint faster than this means that the run diverged [rad/s, m/s].
    """
    pose, ground, leg_length = frame.pose, setup.preset.ground, setup.character.leg_length
    sizes = {"nq": pose.nq, "nv": pose.nv, "bodies": pose.bodies, "points": pose.points}
    s = Block("Stages", sizes, {"frame": frame, "goal": goal, "legs": legs, "system": system})
    s.is_guided, s.friction, s.fastest = setup.options.goal != "none", setup.options.friction, fastest
    s.stops_here, s.own_share[:] = bool(setup.options.objectives), frame.sway_share
    heights = [setup.floor + part * leg_length for part in (ground.lies_below, ground.stands_above)]
    s.lean[:] = (-1.0, -math.inf, -math.inf) if setup.is_quadruped else (ground.lean, *heights)
    if ground.lean == 0.0:
        s.lean[:] = 0.0, -math.inf, -math.inf
    return s


@compiled("Stages *s")
def react(s):
    """What forces that meet the figure do: limbs give way, the goal moves, the trunk sways; the frame is sensed."""
    f, g = s.frame, s.goal
    if f.giving.hits:
        give_way.twin(f)
    if f.is_moving and f.pose.points:
        g.ground_velocity[:] = f.ground_velocities.mean(axis=0)[:2]
    move_goal.twin(g, f)
    whole = g.whole if g.whole > 1e-3 else 0.0
    if whole or s.was_whole:
        f.sway_share[:] = s.own_share + whole * (1.0 - s.own_share)
    s.was_whole = whole > 0.0


@compiled("Stages *s")
def aim(s):
    """Set the targets of a step; it is known which limb steps back.

    Where the ground's slope tips the figure, an upright one leans uphill a little; one that lies, lies along it.
    """
    f, g = s.frame, s.goal
    tips = bool(f.follower[6:12].any()) and not f.is_falling
    f.leaning = f.lying = 0.0
    if tips:
        lean, lies, stands = s.lean.tolist()
        part = 1.0 if stands == -math.inf else (float(f.reference.com[2]) - lies) / (stands - lies)
        part = min(max(part, 0.0), 1.0)
        f.leaning, f.lying = part * lean, 1.0 - part
    f.is_turned, f.has_goal = g.sways or tips, s.is_guided and not f.is_falling
    set_targets.twin(f)
    s.legs.acts = not f.is_falling and (not g.rests or g.sways)
    keep_apart.twin(s.legs, f)


@compiled("Stages *s, const real a[n]", returns="word")
def integrate(s, a):
    """Write the next pose, v += Δt a, q ⊕= Δt v; 0 where a joint gets too fast. Source: [Levine2012]_ (4), (5)."""
    p, dt = s.frame.pose, s.frame.dt
    s.q[:], s.v[:] = p.q, p.v + dt * a
    if not (np.abs(s.v) < s.fastest).all():
        return 0
    engine = p.engine.addresses
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double)
    function(engine["mj_integratePos"])(engine["model"], s.q.ctypes.data, s.v.ctypes.data, dt)
    return 1


@compiled("Stages *s", returns="word")
def move_on(s):
    """Solve the list in the table of the block "System" and go to the next pose; TARGETED where that fails."""
    f, y = s.frame, s.system
    p, r, touching = f.pose, f.reference, f.touching_count
    points = f.touching[:touching]
    y.is_spread, y.touching, y.n, y.dt, y.friction[:touching] = 0, touching, 4 * touching, f.dt, s.friction
    y.contact_points[:touching], y.normals[:touching], y.external[:] = points, f.normals[:touching], f.giving.external
    if write_terms.twin(y):
        return TARGETED
    y.warm[: y.n], y.taken[:], y.has_guess, y.guess[:] = s.acted[points].ravel(), False, 1, r.a + s.off
    if answer.twin(y) != SOLVED or not integrate.twin(s, y.a):
        return TARGETED
    s.acted[:], s.off[:], s.com[:] = False, y.a - r.a, p.subtree_com[f.giving.root]
    s.acted[points] = y.x[: y.n].reshape(-1, 4) > 0.0
    advance_goal.twin(s.goal)
    return DONE


@compiled("Stages *s", returns="word")
def may_step(s):
    """Whether a limb may step back while none is on its way: one is far from home, and nothing keeps it.

    `SteppingBack.advance` decides then. Else it would only keep up which limbs have stood how long, and which stepped.
    """
    f, g = s.frame, s.goal
    touching, standing, lift, way = f.limbs_seen.T
    is_far = (way > s.far) & (lift >= s.lasting)
    if not (s.has_moved or is_far.any() or f.has_stepped.any()):
        return 0
    stood, has_rested = np.where(touching > 0.0, f.limbs_stood + f.dt, 0.0), s.rested + f.dt >= s.pause
    away = math.hypot(*(f.shift - f.home))
    if g.steps and not g.has_support:
        free = (touching > 0.0) & (standing > 0.0) & (way >= s.urgent_far) & (lift >= s.urgent_duration)
        free &= has_rested or not g.is_returning
    else:  # more than its factor of 0.5, so that rounding rules nothing out
        free = is_far & (touching > 0.0) & (standing >= touching) & (stood >= s.pause) & has_rested
        free &= (away < 0.501 * way) & (~f.has_stepped | (away > 3.999 * s.far))
    is_free = free.any() and np.count_nonzero(standing > 0.0) > s.needed
    if is_free or (g.steps and g.has_support):  # in a walk, a foot that is dragged along may lift
        return 1
    f.limbs_stood[:] = stood
    f.has_stepped[:] = f.has_stepped & (touching > 0.0) & (away <= 4.0 * s.far)
    return 0


def _drags(s: Block) -> bool:
    """Whether a foot of a walk that steps was off its place in the last step: `SteppingBack.advance` may lift it."""
    f, g = s.frame, s.goal
    if not (g.steps and g.has_support) or f.giving.hits:
        return False
    ways = (f.pose.places - f.base - f.offset)[f.stands, :2]
    return bool(np.hypot(ways[:, 0], ways[:, 1]).max(initial=0.0) > s.dragged)


@compiled("Stages *s", returns="word")
def usual_step(s):
    """All stages of a step, as far as nothing unusual comes up; returns how far that is.

    The inputs are in the blocks: the state's coordinates, the reference, bodies and forces of pushes on centers of
    mass.
    """
    f, g, limbs = s.frame, s.goal, s.frame.giving
    if _drags(s):
        return NOT_TRIED
    if not sense.twin(f):
        return NOT_FINITE
    limbs.hit_place[: limbs.hits] = f.pose.xipos[limbs.hit_body[: limbs.hits]]
    react.twin(s)
    # the capture point is far from the landing place, and a foot about to land: `SteppingBack._lands_later` decides
    lands_late = g.steps and not g.is_returning and math.hypot(*(g.velocity / g.pendulum - g.landing)) > 1.999 * g.far
    lands_late = lands_late and bool(((f.groups_seen[:, 0] == 0.0) & (f.groups_seen[:, 1] < s.latest)).any())
    if f.has_home and (s.is_moving or lands_late or may_step.twin(s)):
        return SENSED
    f.is_stepping, f.is_falling, f.authority = 0, 0, 1.0
    f.lands = bool(f.shift.any() or g.landing.any())
    if f.lands:
        f.landing_ahead[:] = g.landing
    aim.twin(s)
    return TARGETED if s.stops_here else move_on.twin(s)


def crowd_of(figures: Sequence[tuple[Block, Block]]) -> Block:
    """The block "Crowd" of figures, each a block "Actor" that makes its reference, and its "Stages"."""
    crowd = Block("Crowd", {"count": len(figures)}, {})
    crowd.actors[:], crowd.stages[:] = [a.address for a, _ in figures], [s.address for _, s in figures]
    crowd.__dict__["figures"] = figures
    return crowd


@compiled("Crowd *crowd")
def usual_steps(crowd):
    """`reference_frame` and `usual_step` of many figures, one after the other."""
    for i, (actor, stages) in enumerate(crowd.figures):
        is_finite = reference_frame.twin(actor, stages.frame.reference)
        crowd.reached[i] = usual_step.twin(stages) if is_finite else NOT_FINITE
