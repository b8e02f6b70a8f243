"""How feet swing after a push: around each other, and no farther from their hips than legs reach.

A foot goes from the offset to the reference that it left with to that of its landing. So its straight way, from where
it left to where it will land, may pass the standing foot too near or on its other side: the legs would go through each
other. People step around it, and so does the figure. At the place where the foot passes the standing one, its way is
bent to the side on which it passes in the reference, until both are `pass_width` apart, or as far as in the reference;
before and after it eases from and to the straight way. So a foot that was crossed comes back behind the standing leg,
and one that will cross goes in front. It lands no farther across than `pass_cross`; the next step goes farther instead.
Quantities are those of the block "Frame".
"""

from __future__ import annotations

import numpy as np

from poise.core import rotations
from poise.core.typing import Array, Index
from poise.native import Block
from poise.physics import bodies


def pass_by(f: Block) -> None:
    """Lead swinging feet around the one that stands, and say how fast offsets change."""
    f.bent_share.fill(0.0)
    f.shift_rates[:] = _shift_rates(f)
    if f.feet != 2 or f.is_at_goal:
        return
    feet = np.split(f.grouped, f.group_ends[:-1])[:2]
    for foot, other in (feet, feet[::-1]):
        if f.stands[other].any():
            _bend_way(f, foot, other)


def _landings(f: Block) -> Array:
    """Where points land: the reference's places, or those of the plan; not finite where they are not known."""
    landings: Array = f.plan_landings if f.is_planned else f.reference.landings
    return landings


def _eased(s: float) -> float:
    """Part of an eased way, s² (3 − 2 s); 0 before it and 1 after it."""
    return rotations.eased(min(max(s, 0.0), 1.0))


def _eased_rate(s: float) -> float:
    """Its derivative, 6 s (1 − s); 0 before and after the way."""
    return 6.0 * s * (1.0 - s) if 0.0 < s < 1.0 else 0.0


def _shift_rates(f: Block) -> Array:
    """How fast swinging points come from the offset they left with to that of their landing [m/s], shape (P, 2).

    That is 6 s (1 − s)² / t for each meter between them: s is the progress of the swing, t the time to contact.
    """
    r, s = f.reference, f.reference.progress[:, None]
    landing = f.moved[:2] + (0.0 if f.is_planned else f.foot_shift)
    rate = 6.0 * s * (1.0 - s) ** 2 / np.maximum(r.times_to_contact, f.dt)[:, None]
    swings = ~f.held & np.isfinite(_landings(f)[:, 0]) & (not f.is_at_goal)
    return np.where(swings[:, None], rate * (landing - f.left_with[:, :2]), 0.0)


def _bend_way(f: Block, foot: Index, other: Index) -> None:
    """Bend the way of a foot that swings around the other one.

    The way begins at 0, passes the other foot at b, and ends at w. At x it is moved aside by
    lacks e(x / b) (1 − e(y)) + crosses e(y), where y = (x − b) / (w − b) and e eases from 0 to 1 (`_eased`). `lacks` is
    the room that is missing where it passes, none if the way begins or ends there; `crosses` is how much too far across
    it would land. The speed aside follows from the speed along the way.
    """
    r, landings = f.reference, _landings(f)
    if (r.flags[foot] | f.held[foot] | ~np.isfinite(landings[foot, 0])).any():
        return
    width, here = f.pass_width, f.pose.places[other, :2].mean(axis=0)
    start, end = f.left_at[foot].mean(axis=0), landings[foot, :2].mean(axis=0)
    u = (end - start) / max(float(np.linalg.norm(end - start)), 1e-9)
    n = np.array([-u[1], u[0]])
    clear = float(n @ (start - f.base[other, :2].mean(axis=0)))
    side = -1.0 if clear < 0.0 else 1.0
    start = start + f.left_with[foot, :2].mean(axis=0) - here
    end = end + f.moved[:2] + (0.0 if f.is_planned else f.foot_shift[foot].mean(axis=0)) - here
    behind, ahead = -float(u @ start), float(u @ end)
    whole, way = behind + ahead, behind + float(u @ (f.point_goal[foot, :2].mean(axis=0) - here))
    if whole <= width:
        return
    left, lands = side * float(n @ start), side * float(n @ end)
    crosses = max(0.0, min(-f.pass_cross, side * clear) - lands)
    passed = max(behind, 0.0)
    lacks = max(0.0, min(width, side * clear) - left - min(passed / whole, 1.0) * (lands - left))
    lacks *= _eased(behind / width) * _eased(ahead / width)
    passed *= _eased(ahead / width)
    rise, rises = (_eased(way / behind), _eased_rate(way / behind) / behind) if behind > 0.0 else (1.0, 0.0)
    after = (way - passed) / (whole - passed)
    gone, goes = _eased(after), _eased_rate(after) / (whole - passed)
    part = _eased(float(f.swings_for[foot].min()) / f.leaving_time) * _eased(whole / width - 1.0)
    speed = float(u @ (r.point_velocities[foot, :2] + f.shift_rates[foot]).mean(axis=0))
    bend = lacks * rise * (1.0 - gone) + crosses * gone
    rate = (lacks * (rises * (1.0 - gone) - rise * goes) + crosses * goes) * speed
    f.point_goal[foot, :2] += part * side * bend * n
    f.shift_rates[foot] += part * side * rate * n
    f.bent_share[foot] = min(1.0, 2.0 * part * bend / width)  # held firmly once it is led aside by half the width


def keep_in_reach(f: Block) -> Array:
    """Bring a foot's points so near to the hip that its leg reaches them; returns how firmly each is held, 1 … 0.

    A foot that stands comes towards the hip. A straight leg cannot slow that, so the foot is let go by how far out of
    reach it would be a moment later, and goes with the hip. One that swings comes along the ground, bent early in it.
    Its offset goes outward no faster than the leg has length left, since a knee that gets straight at speed snaps.
    """
    p, s = f.pose, f.reference.progress
    moved = p.xpos[f.ankle] + f.point_goal - p.places - p.xpos[f.hip]
    far = np.maximum(np.linalg.norm(moved, axis=1), 1e-12)
    stands = f.held & ~f.leaving if f.is_stepping else f.held
    bent = f.straight * (1.0 - f.bent * s * (1.0 - s) ** 3)
    along = np.maximum(np.linalg.norm(moved[:, :2], axis=1), 1e-12)
    reach = np.sqrt(np.maximum(bent**2 - moved[:, 2] ** 2, (f.least_reach * bent) ** 2))
    excess = np.maximum(0.0, 1.0 - np.where(stands, f.straight / far, reach / along))
    f.point_goal[:, :2] -= excess[:, None] * moved[:, :2]
    f.point_goal[:, 2] -= np.where(stands, excess * moved[:, 2], 0.0)
    straight, hips = np.where(stands, f.straight, np.inf), np.empty_like(moved)
    bodies.point_motion.twin(p, f.hip, p.xpos[f.hip], p.body_biases, hips, np.empty_like(moved))
    change = f.point_goal_v - hips
    rate = np.maximum(0.0, np.sum(change * moved, axis=1) / far)
    loose = np.clip(((far + f.foresight * rate) / straight - 1.0) / f.loosening, 0.0, 1.0)
    most = np.maximum(0.0, reach - along) / f.braking_time
    out, own = (np.sum(v[:, :2] * moved[:, :2], axis=1) / along for v in (change, f.shift_rates))
    over = np.where(stands, 0.0, np.maximum(0.0, np.minimum(out - most, own)))
    f.point_goal_v[:] = f.point_goal_v - (loose * rate / far)[:, None] * moved
    f.point_goal_v[:, :2] -= (over / along)[:, None] * moved[:, :2]
    return 1.0 - loose
