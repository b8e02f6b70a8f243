"""A robot follows a person: its hinges as the joints of a figure, tracking of that figure, and back to hinge angles.

Motors that stand close together are one joint of the body: hip, shoulder, ankle. `figure_of_robot` finds them (the
fewest joints, then the shortest), the figure is tracked like any other character, and `hinge_angles` finds the angles
that turn the robot's bodies like the figure's and put its feet where the figure's are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from poise.body.character import Character, fit
from poise.body.stride import STANDING
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.skeleton import EndSite, Hinge, Skeleton
from poise.core.typing import Array
from poise.io.mjcf import Robot
from poise.tracking.run import track

PARALLEL = np.cos(np.radians(30.0))
"""Two hinges whose axes are nearer to each other than this turn the same joint of a body in the same way."""
MOST_HINGES = 3
"""A joint of a body has no more hinges."""
FAR = 4.0
"""A ball's middle is no farther from its hinges than so many times their extent [1]."""
ROUNDS = 30
"""Steps of the search for angles."""
LONGEST = 0.5
"""Of one such step [rad]."""
DAMPING = 1e-3
"""Of that search, against rows of about one [rad²]."""
FOOT = 10.0
"""Weight of a foot's place [1/m] against a body's turn [1/rad]: 10 cm are as bad as 1 rad."""
HAND = 1.0
"""The same of a hand."""
BENT = np.radians(25.0)
"""Knees of a robot that stands."""
AT_LIMIT = 1e-6
"""A hinge this near to its limit is at it [rad]."""


@dataclass(frozen=True)
class RobotFigure:
    """A robot seen as a figure, all frames turned like its root where every angle is zero.

    Attributes:
        skeleton: Its joints: the root, then one for each group of hinges.
        groups: Hinges of each joint, by number; none of the root and of what does not turn.
        carriers: The robot's joint that moves with each joint.
        turns: Of that joint against the root at zero angles, wxyz, shape (J, 4).
        middles: Each joint in the frame of its carrier [m], shape (J, 3).
    """

    skeleton: Skeleton
    groups: tuple[tuple[int, ...], ...]
    carriers: tuple[int, ...]
    turns: Array
    middles: Array


def figure_of_robot(robot: Robot) -> RobotFigure:
    """The figure whose joints are groups of the robot's hinges.

    A chain of hinges without a fork is cut into groups of at most three, whose axes differ: into as few as can be, and
    of those cuts the one whose groups are shortest. The joint stands where the axes of its group come nearest to each
    other.
    """
    skeleton = robot.skeleton
    still = robot.motion(np.zeros(1), np.zeros((1, 3)), rotations.IDENTITY[None], np.zeros((1, len(robot.hinges))))
    places, turns = (a[0] for a in still.world)
    number = {joint: k for k, joint in enumerate(robot.hinges)}
    axes = {j: rotations.rotate(turns[j], skeleton.hinges[j].axis) for j in robot.hinges}
    names, parents, offsets, middles = [skeleton.names[0]], [-1], [np.zeros(3)], [np.zeros(3)]
    groups: list[tuple[int, ...]] = [()]
    carriers, hinges = [0], {}
    own = {0: 0}  # figure's joint of each of the robot's
    for chain in _chains(skeleton):
        above = own[int(skeleton.parents[chain[0]])]
        for group in _cut([j for j in chain if j in number], places, axes):
            last = group[-1]
            center = _center([places[j] for j in group], [axes[j] for j in group])
            names.append(skeleton.names[last])
            parents.append(above)
            groups.append(tuple(number[j] for j in group))
            offsets.append(center - middles[above])
            middles.append(center)
            carriers.append(last)
            if len(group) == 1:
                limits = skeleton.hinges[last]
                hinges[len(names) - 1] = Hinge(axes[last], limits.lower, limits.upper)
            above = len(names) - 1
            first = chain.index(group[0])
            own.update(dict.fromkeys(chain[first:], above))
        own.update({j: own.get(j, above) for j in chain})
    middle = np.array(middles)
    tips = tuple(
        EndSite(
            own[e.joint], places[e.joint] + rotations.rotate(turns[e.joint], e.offset) - middle[own[e.joint]], e.name
        )
        for e in skeleton.end_sites
    )
    figure = Skeleton(
        tuple(names),
        np.array(parents),
        np.array(offsets),
        np.tile(rotations.IDENTITY, (len(names), 1)),
        tips,
        hinges,
        mass=skeleton.mass,
    )
    inside = rotations.rotate(rotations.conjugate(turns[carriers]), middle - places[carriers])
    return RobotFigure(figure, tuple(groups), tuple(carriers), turns[carriers], inside)


def _chains(skeleton: Skeleton) -> list[list[int]]:
    """Runs of joints below the root without a fork, parents first."""
    chains: list[list[int]] = []
    ends: dict[int, list[int]] = {}
    for j in range(1, skeleton.joint_count):
        parent = int(skeleton.parents[j])
        if parent in ends and len(skeleton.children[parent]) == 1:
            chain = ends.pop(parent)
        else:
            chains.append(chain := [])
        chain.append(j)
        ends[j] = chain
    return chains


def _cut(chain: list[int], places: Array, axes: dict[int, Array]) -> list[list[int]]:
    """A chain of hinges in groups that turn like one joint each."""

    def differ(group: list[int]) -> bool:
        return all(abs(float(axes[a] @ axes[b])) < PARALLEL for a, b in combinations(group, 2))

    best: list[tuple[int, float, list[list[int]]]] = [(0, 0.0, [])]
    for end in range(1, len(chain) + 1):
        found = []
        for start in range(max(0, end - MOST_HINGES), end):
            group = chain[start:end]
            if differ(group):
                count, length, groups = best[start]
                apart = float(np.linalg.norm(np.diff(places[group], axis=0), axis=1).sum())
                found.append((count + 1, length + apart, [*groups, group]))
        best.append(min(found, key=lambda cut: cut[:2]))
    return best[-1][2]


def _center(points: list[Array], axes: list[Array]) -> Array:
    """The point nearest to the axes of a group, Σ (1 − a aᵀ) (c − p) = 0, pulled to the hinges where it is free."""
    across = [np.eye(3) - np.outer(a, a) for a in axes]
    pull = 1e-3 * np.eye(3)
    left = sum(across) + pull * len(points)
    right = sum((w + pull) @ p for w, p in zip(across, points))
    found = np.asarray(np.linalg.solve(left, right), dtype=np.float64)
    middle = np.asarray(np.mean(points, axis=0), dtype=np.float64)
    extent = max(float(np.linalg.norm(p - middle)) for p in points)
    return found if np.linalg.norm(found - middle) <= FAR * extent else middle


def follow(
    actor: Motion, robot: Robot, *, root: str = "hard", progress: Callable[[int, int], None] | None = None
) -> tuple[Motion, dict[str, Any]]:
    """A robot that does what an actor does, standing on its own feet, and a report.

    Args:
        actor: Whom it follows.
        robot: From `poise.io.mjcf.read_robot`.
        root: As for `poise.track`.
        progress: Called with steps done and all steps.

    Returns:
        Its motion at the actor's times, and the tracking's report with `robot`: errors of feet and bodies, share of
        the frames with a hinge at its limit.

    Raises:
        InvalidValue: if the robot has no legs to stand on.
    """
    figure = figure_of_robot(robot)
    character = _standing(fit(figure.skeleton))
    if not any(limb.kind == "leg" for limb in character.limbs):
        raise InvalidValue("Poise found no legs in this robot; only robots with legs can follow an actor.")
    tracked = track(actor, character, root=root, progress=progress)
    weights = {"leg": FOOT, "arm": HAND}
    limbs = [limb for limb in character.limbs if limb.kind in weights]
    ends = {character.bodies[limb.bodies[-1]].joint: weights[limb.kind] for limb in limbs}
    motion, errors = hinge_angles(tracked.motion, robot, figure, ends)
    return motion, tracked.report | {"robot": errors}


def _standing(character: Character) -> Character:
    """The character, standing as people do: forearms in line with upper arms, where robots at zero angles often hold
    them forward, and knees a little bent the way their hinges can, since straight ones may bend either way.
    """
    bent: dict[str, Array] = {}
    for limb in (limb for limb in character.limbs if limb.kind == "arm" and len(limb.bodies) > 2):
        elbow, hand = (character.bodies[k] for k in limb.bodies[-2:])
        bent[elbow.name] = rotations.between(hand.offset, elbow.offset)
    for limb in (limb for limb in character.limbs if limb.kind == "leg"):
        for before, knee, after in zip(limb.bodies, limb.bodies[1:], limb.bodies[2:]):
            body = character.bodies[knee]
            hinge = character.skeleton.hinges.get(body.joint)
            if hinge is None or not hinge.lower < hinge.upper < np.inf:
                continue
            turn = BENT * np.sign(hinge.lower + hinge.upper) * hinge.axis
            for k, share in ((before, -0.5), (knee, 1.0), (after, -0.5)):
                bent[character.bodies[k].name] = rotations.from_rotation_vector(share * turn)
    return replace(character, rest_poses={STANDING: bent}) if bent else character


def hinge_angles(
    followed: Motion, robot: Robot, figure: RobotFigure, ends: dict[int, float]
) -> tuple[Motion, dict[str, float]]:
    """Angles that turn the robot's bodies like the figure's, and put the ends of limbs where the figure's are.

    Damped Gauss-Newton over all frames at once within the hinges' limits, from zero and from the usual angles.

    Args:
        followed: Of the figure's skeleton, F frames.
        robot: Whose angles.
        figure: Of `figure_of_robot`.
        ends: Joints of the figure whose places count, with their weight [1/m].

    Returns:
        The robot's motion, and how far it is from the figure.
    """
    places, turns = followed.world
    frames, count = followed.frame_count, len(robot.hinges)
    wanted = rotations.multiply(turns, figure.turns)  # of the carriers
    low, high = np.array([(h.lower, h.upper) for h in (robot.skeleton.hinges[j] for j in robot.hinges)]).T
    above = {
        j: {k for k, h in enumerate(robot.hinges) if h in (j, *robot.skeleton.ancestors(j))} for j in figure.carriers
    }
    targets = [k for k, group in enumerate(figure.groups) if group]
    moves = {k: np.array([h in above[figure.carriers[k]] for h in range(count)])[None, :, None] for k in targets}
    root = places[:, 0], wanted[:, 0]

    def rows(angles: Array) -> tuple[Array, Array]:
        """Errors (F, R) and their derivatives by the angles (F, H, R)."""
        at, turned = robot.motion(followed.times, *root, angles).world
        axes = np.stack([rotations.rotate(turned[:, j], robot.skeleton.hinges[j].axis) for j in robot.hinges], axis=1)
        errors, slopes = [], []
        for k in targets:
            joint = figure.carriers[k]
            back = rotations.conjugate(turned[:, joint])
            errors.append(rotations.to_rotation_vector(rotations.multiply(wanted[:, k], back)))
            slopes.append(np.where(moves[k], axes, 0.0))
            if k in ends:
                place = at[:, joint] + rotations.rotate(turned[:, joint], figure.middles[k])
                arms = np.cross(axes, place[:, None] - at[:, robot.hinges])
                errors.append(ends[k] * (places[:, k] - place))
                slopes.append(ends[k] * np.where(moves[k], arms, 0.0))
        return np.concatenate(errors, axis=1), np.concatenate(slopes, axis=2)

    def searched(angles: Array) -> tuple[Array, Array]:
        """Angles found from these, and the square of what is left (F,)."""
        for _ in range(ROUNDS):
            error, slope = rows(angles)
            normal = slope @ slope.transpose(0, 2, 1) + DAMPING * np.eye(count)
            step = np.linalg.solve(normal, slope @ error[:, :, None])[:, :, 0]
            angles = np.clip(angles + np.clip(step, -LONGEST, LONGEST), low, high)
        return angles, (rows(angles)[0] ** 2).sum(axis=1)

    angles, left = searched(np.clip(np.zeros((frames, count)), low, high))
    again, less = searched(np.repeat(np.median(angles, axis=0)[None], frames, axis=0))  # out of turns the wrong way
    angles = np.where((less < left)[:, None], again, angles)
    motion = robot.motion(followed.times, *root, angles)
    at, turned = motion.world
    feet = [k for k, weight in ends.items() if weight == FOOT]
    carried = [figure.carriers[k] for k in feet]
    apart = at[:, carried] + rotations.rotate(turned[:, carried], figure.middles[feet]) - places[:, feet]
    off = rotations.angle_between(turned[:, list(figure.carriers)], wanted)
    return motion, {
        "foot_error_p95_m": float(np.percentile(np.linalg.norm(apart, axis=2), 95)),
        "turn_error_median_deg": float(np.degrees(np.median(off))),
        "turn_error_p95_deg": float(np.degrees(np.percentile(off, 95))),
        "at_a_limit_share": float(((angles < low + AT_LIMIT) | (angles > high - AT_LIMIT)).any(axis=1).mean()),
    }
