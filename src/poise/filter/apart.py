"""Legs go around each other instead of through: a soft bound of the one step problem.

Two capsules with the gap g, and the normal n from the second to the first where they are nearest, are after a step

    g + Δt n·(v₁ − v₂) + Δt² n·(J₁ a + b₁ − J₂ a − b₂)

apart, to first order. They may approach each other no faster than they can still stop, √(2 A g) with the braking A, or
than the reference does then, times g over its gap: a gap that is narrower closes in proportion. The nearer they are the
sooner they slow down: if all were stopped within one step, the shin would go first, turn the ankle, and pull the foot.
Legs that are in each other come apart slowly. A leg that stands does not give way to one that swings, and hip and knee
take a foot away, not the ankle. So the foot of a walk that is shoved across its standing leg passes in front of that
leg, as people's does.
"""

from __future__ import annotations

import itertools

import numpy as np

from poise.body.character import Character
from poise.filter.preset import Apart
from poise.native import Block, compiled
from poise.physics import State, bodies
from poise.physics.bodies import point_jacobians, point_motion
from poise.physics.collisions import CapsulePairs, near_capsules

EASE, CLEAR = 0.03, 0.05
"""Legs slow down within the first time [s] if they are the second distance [m] or farther apart, for a leg of 0.82 m;
nearer, in less time, and within a step where they touch."""
FAST = 30.0
"""Legs that could only meet with a larger acceleration need no row, for a leg of 0.82 m [m/s²]."""


def legs_of(character: Character, mirror: State, settings: Apart, *, dt: float, scale: float) -> Block:
    """The block "Legs" of a figure: the pairs of capsules on two different legs, below their thighs.

    Args:
        character: The figure.
        mirror: A state of its model, which is moved to the reference.
        settings: How near, how hard.
        dt: [s].
        scale: Leg length / 0.82 m.
    """
    legs = [tuple(b + 1 for b in limb.bodies[1:]) for limb in character.limbs if limb.kind == "leg" and limb.bodies[1:]]
    both = {(a, b) for one, other in itertools.permutations(legs, 2) for a in one for b in other}
    all_pairs = CapsulePairs([character])
    kept = [two in both for two in zip(all_pairs.first_body.tolist(), all_pairs.second_body.tolist(), strict=True)]
    pair = np.ascontiguousarray(all_pairs.pairs[np.flatnonzero(kept)])
    model = mirror.model
    sizes = {"nv": model.nv, "bodies": model.body_count, "pairs": len(pair), "capsules": len(all_pairs.radii)}
    given = {
        "pair": pair,
        "body": all_pairs.capsule_body,
        "starts": all_pairs.starts,
        "ends": all_pairs.ends,
        "radii": all_pairs.radii,
        "mirror": mirror.pose,
    }
    l = Block("Legs", sizes, given)
    l.carrier[:] = np.arange(model.body_count)
    for shin, *feet in legs:
        l.carrier[feet] = shin  # to turn the ankle away is the least effort, and looks twisted
    l.dt, l.near, l.braking = dt, scale * settings.near, scale * settings.braking
    l.ease, l.clear = max(dt, EASE * scale**0.5), CLEAR * scale
    l.parting, l.fast = scale * settings.parting, scale * FAST
    l.lower.fill(-np.inf)
    return l


@compiled("Legs *l, Frame *f")
def keep_apart(l, f):
    """Fill the bound of this step; the frame has been sensed."""
    l.lower.fill(-np.inf)
    if l.acts and closing_legs.twin(l, f):
        m, r = l.mirror, f.reference
        m.q[:], m.v[:] = r.q, r.v + l.dt * r.a
        bodies.place.twin(m)
        go_on.twin(l, m)


@compiled("Legs *l, Frame *f", returns="word")
def closing_legs(l, f):
    """Fill rows and lower bounds for legs that may not stop in time, or are in each other; returns how many."""
    p, limb_of = f.pose, f.giving.limb_of
    near = near_capsules.twin(
        l.pair,
        l.body,
        l.starts,
        l.ends,
        l.radii,
        p.xpos,
        p.xmat,
        l.near,
        l.lines,
        l.at,
        l.gaps,
        l.firsts,
        l.seconds,
        l.normals,
    )
    standing = limb_of[p.point_body[f.stands]]
    l.holds[:] = np.isin(limb_of, standing[standing >= 0])
    l.lower[:], count = -np.inf, 0
    for k in range(near):
        both, places = l.body[l.pair[l.at[k]]], np.stack([l.firsts[k], l.seconds[k]])
        v, a, jacobians = np.empty((2, 3)), np.empty((2, 3)), np.empty((6, p.nv))
        point_motion.twin(p, both, places, p.body_biases, v, a)
        point_jacobians.twin(p, l.carrier[both], places, jacobians)
        one, other = l.normals[k] @ jacobians[:3], l.normals[k] @ jacobians[3:]
        rate, bias = l.normals[k] @ (v[0] - v[1]), l.normals[k] @ (a[0] - a[1])
        gap = l.gaps[k]
        least = -np.sqrt(2.0 * l.braking * gap) if gap > 0.0 else min(-gap / l.dt, l.parting)
        if not rate - l.dt * l.fast < least:
            continue
        first, second = l.holds[both]
        l.rows[count] = one - other if first == second else -other if first else one  # what stands does not give way
        l.at[count], l.gaps[count] = l.at[k], gap
        l.rate[count], l.bias[count] = rate, bias
        l.lower[count] = _parted(l, count, least)
        count += 1
    l.count = count
    return count


def _parted(l: Block, k: int, speed: float) -> float:
    """Acceleration [m/s²] that brings a pair to a speed [m/s]: (speed − rate) / time − bias.

    To slow down takes `ease` at a gap of `clear` or more, less the narrower it is, and one step where they touch.
    """
    change = speed - float(l.rate[k])
    part = min(max(float(l.gaps[k]) / l.clear, 0.0), 1.0)
    return change / (l.dt + part * (l.ease - l.dt) if change > 0.0 else l.dt) - float(l.bias[k])


@compiled("Legs *l, Pose *reference")
def go_on(l, reference):
    """Let legs that may meet go on as those of the reference do."""
    p = reference
    for k in range(l.count):
        pair = l.pair[l.at[k : k + 1]]
        near = np.empty(1, np.int64), np.empty(1), np.empty((1, 3)), np.empty((1, 3)), np.empty((1, 3))
        near_capsules.twin(pair, l.body, l.starts, l.ends, l.radii, p.xpos, p.xmat, np.inf, l.lines, *near)
        _, _, first, second, normal = near
        v, a = np.empty((2, 3)), np.empty((2, 3))
        point_motion.twin(p, l.body[pair[0]], np.concatenate([first, second]), p.body_biases, v, a)
        gap = float(near[1][0])
        part = min(max(l.gaps[k] / gap, 0.0), 1.0) if gap > 0.0 else 1.0
        l.lower[k] = min(l.lower[k], _parted(l, k, part * float(normal[0] @ (v[0] - v[1])) - 1e-9))
