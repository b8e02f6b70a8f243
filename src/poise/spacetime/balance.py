"""A clip in balance: the least offsets of all joints over time that make its contacts able to carry it.

    min over y    w Σ ‖left(y)‖² + Σ ‖x / σ‖² + Σ ‖s² x'' / σ‖² + Σ ‖slip / d‖² + Σ ‖gaze / γ‖² + Σ ‖strays / ρ‖²

`gaze` is the turn of the head in the world, `strays` the ways of hands and feet (`style`); σ is smaller for what hardly
moves in the clip. y are B-spline coefficients of the offsets x(t), which go on beyond the ends of the clip and fade out
there, also at a price. `left` is what of force and moment the best contact forces inside their friction cones do not
give, six rows a frame; joint torques never enter. The forces are projected out (variable projection), the rest is a
banded Gauss-Newton step.

Source: the force-plate-free relative of residual reduction; Witkin and Kass 1988 for constraints over time. Deviates:
no torques and no collocation of states; a clip is changed within a price, not made anew.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import ndimage

from poise.analysis.analyze import Analysis
from poise.analysis.forces import gaps_to
from poise.analysis.momentum import body_motion
from poise.analysis.smoothing import derivatives
from poise.body.character import Character
from poise.body.posing import root_mover
from poise.core import rotations
from poise.core.motion import Motion
from poise.core.typing import Array, Flags, Index
from poise.core.units import HUMAN_LEG
from poise.phases.glitches import glitch_frames
from poise.phases.points import runs
from poise.phases.travel import Loop, in_place_velocity
from poise.spacetime.figure import Carried, Demand, Figure, Pose, carry, demand
from poise.spacetime.spline import Spline, fades
from poise.spacetime.style import GAZE, REACHED, ease_of, ends_of, gaze_turns, head_of, strays_of

RATE = 60.0
"""Frames a second at which a clip is looked at; one of more is thinned [1/s]."""
KNOTS = 0.06
"""Time between the knots of the offsets, a frame at least [s]."""
ANGLE, LENGTH = math.radians(5.0), 0.03
"""σ, the offsets that cost one unit a frame: of a joint [rad]; of the root, for a leg of 0.82 m [m]."""
SMOOTH = 0.05
"""s, the time over which offsets are kept smooth [s]."""
SLIP = 0.005
"""d, the way of a standing point that costs one unit a frame, for a leg of 0.82 m [m]."""
PATH = 0.001
"""Way of the center of mass off a path that it must keep, that costs one unit a frame, for a leg of 0.82 m [m]."""
SLIDES = 0.02
"""A point that strays from its mean place by more than this while it stands slides by intent [m]."""
REACH = 0.4
"""Lever of a moment against a force: moments count as moment / (weight · REACH), for a leg of 0.82 m [m]."""
NEAR, MOVING, STANDING = 0.05, 1.5, 0.3
"""A point may carry where it is lower than NEAR [m] and slower than MOVING [m/s]; one slower than STANDING stands.
For a leg of 0.82 m."""
SPREAD = 4.0
"""A low-pass at f spreads the force of a landing over 1 / (SPREAD f) to both sides, so a point may carry there too."""
LIGHT = 0.004
"""Joints that carry less than this share of the mass stay as they are [1]."""
BESIDE = 3
"""Knots of the rounds before and after a loop that are looked at, too."""
EXACT = 1e8
"""Price of an offset in frames that must stay as they are."""


@dataclass(frozen=True)
class Problem:
    """A clip to be repaired, thinned to at most RATE frames a second.

    Attributes:
        figure: Kinematics around the clip as filtered.
        character: Whose.
        normals: Of the ground at the contact points, shape (K, P, 3).
        radii: Of the contact points [m], shape (P,).
        may_carry, grips, stands: Points that may carry, that may also pull, and that stand, shape (K, P).
        anchors: Where standing points stand [m], shape (K, P, 3).
        origins: Where the points are in the clip that the figure starts from [m], shape (K, P, 3).
        room: How far each point may go down its normal until it is deeper than the clip has it [m], shape (K, P).
        lift: How far it may go up where it carries: to the ground, if it is in it; infinite elsewhere [m], (K, P).
        friction, gravity: Coulomb coefficient; downward [m/s²].
        price: Cost of a squared offset, shape (K, N).
        spline: Of the offsets.
        is_free: Coefficients that may change, shape (M,).
        is_used: Offsets that may change, shape (N,).
        made: Coefficients whose offsets the figure has already, shape (M, N).
        ease: Share of σ that fits what each offset's joint does in the clip, shape (N,).
        looked: Rotation of the head in the clip, shape (K, 3, 3).
        path: Where the center of mass must pass [m], shape (K, 3); NaN where it is free.
        round: Of a loop, whose offsets go round, too; None for others.
    """

    figure: Figure
    character: Character
    normals: Array
    radii: Array
    may_carry: Flags
    grips: Flags
    stands: Flags
    anchors: Array
    origins: Array
    room: Array
    lift: Array
    friction: float
    gravity: float
    price: Array
    spline: Spline
    is_free: Flags
    is_used: Flags
    made: Array
    ease: Array
    looked: Array
    path: Array
    round: Round | None = None

    @cached_property
    def size(self) -> float:
        """Leg over that of a person [1]."""
        return self.character.leg_length / HUMAN_LEG

    @cached_property
    def scale(self) -> Array:
        """Makes force and moment shares of the weight, shape (6,)."""
        weight = self.figure.mass * max(self.gravity, 1e-9)
        return np.repeat([1.0 / weight, 1.0 / (weight * REACH * self.size)], 3)

    @cached_property
    def head(self) -> int:
        """The body whose direction in the world is kept, −1 for none."""
        return head_of(self.character)

    @cached_property
    def plain(self) -> Array:
        """σ² of each offset, in frames that nothing holds, shape (N,)."""
        square = np.full(self.figure.size, ANGLE**2)
        square[:3] = (LENGTH * self.size) ** 2
        return square

    @cached_property
    def basis(self) -> tuple[Array, Array]:
        """Weights of the spline's coefficients in each frame, for value and second derivative, (K, 4) both."""
        return self.spline.values(self.figure.times), self.spline.values(self.figure.times, 2)

    @cached_property
    def beyond(self) -> tuple[Index, Array]:
        """Where offsets go on beyond the clip, and what that costs: `fades` of its ends; a loop has none."""
        ends = self.figure.times[[0, -1] if self.round is None else []]
        first, squares = fades(self.spline, ends, SMOOTH)
        price = 1.0 / (self.plain * self.ease**2 * float(np.median(np.diff(self.figure.times))))
        return first, squares[..., None] * price

    @cached_property
    def first(self) -> Index:
        """First of the coefficients that matter in each frame, shape (K,)."""
        return self.spline.first(self.figure.times)

    @cached_property
    def windows(self) -> tuple[Index, Array]:
        """Frames by the first coefficient that their balance sees, and the weights of what they see.

        Returns:
            Frames (M + 2 (S − 1), F), filled up with K: those of coefficient c are in row c + S − 1, where S is
            how many coefficients three neighboring frames see at most. Weights of the frame before, itself and after on
            S coefficients from c on, shape (3, M + 2 (S − 1), F, S).
        """
        frames, lead = len(self.first), 3 + int((self.first[2:] - self.first[:-2]).max())
        group = self.first[np.maximum(np.arange(frames) - 1, 0)]
        place = np.arange(frames) - np.searchsorted(group, group)
        members = np.full((self.spline.count + 2 * lead, int(place.max()) + 1), frames)
        members[group + lead, place] = np.arange(frames)
        weights = np.zeros((3, *members.shape, lead + 1))
        for lag in (-1, 0, 1):
            k = np.arange(max(0, -lag), frames - max(0, lag))
            for n in range(4):
                weights[lag + 1, group[k] + lead, place[k], self.first[k + lag] + n - group[k]] = self.basis[0][
                    k + lag, n
                ]
        return members, weights

    @cached_property
    def is_open(self) -> Flags:
        """Frames in which anything may change, shape (K,)."""
        first = self.first
        matters = self.basis[0] > 0.0
        return np.asarray((self.is_free[first[:, None] + np.arange(4)] & matters).any(axis=1))

    def offsets(self, coefficients: Array) -> Array:
        """Of each frame, shape (K, N)."""
        return self.spline.evaluate(coefficients, self.figure.times)


@dataclass(frozen=True)
class Round:
    """How the offsets of a loop go round: coefficients that are `pieces` apart are the same.

    Attributes:
        spline: Of the offsets over one round and a little of those beside it.
        pieces: Knots of a round.
        yaw: How much a round turns the body about the vertical [rad].
        frames: Of the rounds before and after that are looked at, too.
    """

    spline: Spline
    pieces: int
    yaw: float
    frames: int

    @classmethod
    def of(cls, motion: Motion, loop: Loop) -> Round:
        """Of a loop; a very short one is looked at without the rounds beside it."""
        step = max(1, round(motion.fps / RATE))
        beyond = 0.0 if loop.repeats_first else motion.dt
        own = _spline(motion.times[::step] if motion.frame_count > 2 * step else motion.times, beyond)
        period, pieces = float(motion.times[-1] - motion.times[0]) + beyond, own.count - 3
        spacing, beside = period / pieces, BESIDE if pieces > 2 * BESIDE else 0
        spline = Spline(own.start - beside * spacing, spacing, pieces + 2 * beside + 3)
        return cls(spline, pieces, loop.turn, int(beside * spacing / motion.dt + 1e-9))

    def turn_of(self, size: int) -> Array:
        """What turns offsets (N,) by a round: the root's shift turns with the heading, shape (N, N)."""
        turn = np.eye(size)
        turn[:3, :3] = rotations.to_matrix(rotations.from_rotation_vector(np.array([0.0, 0.0, self.yaw])))
        return turn


@dataclass(frozen=True)
class Look:
    """A state of the search: coefficients, and what they give.

    Attributes:
        coefficients: Of the spline, shape (M, N).
        offsets: Of each frame, shape (K, N).
        pose: Where the bodies then are.
        wanted: What that asks of the world.
        carried: What contacts give, and what is left.
    """

    coefficients: Array
    offsets: Array
    pose: Pose
    wanted: Demand
    carried: Carried


def look(problem: Problem, coefficients: Array) -> Look:
    """What coefficients give."""
    offsets = problem.offsets(coefficients)
    pose = problem.figure.pose(problem.offsets(coefficients - problem.made))
    wanted = demand(problem.figure, pose, problem.gravity)
    touched = pose.points - problem.radii[:, None] * problem.normals
    arms = (touched - pose.com[:, None])[1:-1]
    # a grip is two contacts, one of them from the other side
    count, pulls = len(problem.radii), np.flatnonzero(problem.grips.any(axis=0))
    both = np.concatenate([np.arange(count), pulls])
    normals, may = (
        problem.normals[1:-1, both],
        np.concatenate([problem.may_carry, problem.grips[:, pulls]], axis=1)[1:-1],
    )
    normals[:, count:] *= -1.0
    carried = carry(
        np.concatenate([wanted.force, wanted.moment], axis=1),
        arms[:, both],
        normals,
        may,
        problem.friction,
        problem.scale,
    )
    forces = carried.forces[:, :count].copy()
    forces[:, pulls] += carried.forces[:, count:]
    carried = replace(carried, forces=forces)
    return Look(coefficients, offsets, pose, wanted, carried)


def cost(problem: Problem, seen: Look, weight: float, price: Array) -> float:
    """What the search minimizes: weight · what is left + offsets, their bends, slip, sinking and turns of the head."""
    bends = bends_of(problem, seen.coefficients)
    slip = slip_of(problem, seen.pose)
    first, squares = problem.beyond
    ends = seen.coefficients[first[:, None] + np.arange(4)]
    return float(
        weight * np.square(seen.carried.left).sum()
        + (price * np.square(seen.offsets)).sum()
        + SMOOTH**4 * (problem.price * np.square(bends)).sum()
        + np.einsum("eabn,ean,ebn", squares, ends, ends)
        + np.square(slip / (SLIP * problem.size)).sum()
        + np.square(off_ground(problem, seen.pose) / (SLIP * problem.size)).sum()
        + np.square(off_path(problem, seen.pose) / (PATH * problem.size)).sum()
        + np.square(gaze_turns(seen.pose, problem.head, problem.looked) / GAZE).sum()
        + np.square(strays_of(seen.pose, ends_of(problem.character), problem.origins) / (REACHED * problem.size)).sum()
    )


def bends_of(problem: Problem, coefficients: Array) -> Array:
    """Second derivative of the offsets [1/s²], shape (K, N)."""
    return sum(problem.basis[1][:, k, None] * coefficients[problem.first + k] for k in range(4))  # pyright: ignore


def slip_of(problem: Problem, pose: Pose) -> Array:
    """Way of standing points from where they stand [m], shape (K, P, 3); zero for others."""
    return np.where(problem.stands[..., None], pose.points - problem.anchors, 0.0)


def off_ground(problem: Problem, pose: Pose) -> Array:
    """How far points that do not stand are too deep (below 0) or, where they carry, too high [m], shape (K, P)."""
    moved = np.sum((pose.points - problem.origins) * problem.normals, axis=2)
    off = np.minimum(moved + problem.room, 0.0) + np.maximum(moved - problem.lift, 0.0)
    return np.where(problem.stands, 0.0, off)


def off_path(problem: Problem, pose: Pose) -> Array:
    """Way of the center of mass from where it must pass [m], shape (K, 3); zero where it is free."""
    return np.where(np.isnan(problem.path), 0.0, pose.com - problem.path)


def problem_of(
    analysis: Analysis,
    *,
    frozen: Collection[int] = (),
    holds_root: bool = False,
    held: Collection[int] = (),
    exact: Collection[int] = (),
    interval: tuple[float, float] | None = None,
    holds_ends: bool = False,
    around: Round | None = None,
    only_touches: bool = False,
    grips: Flags | None = None,
    made: Array | None = None,
    aloft: Flags | None = None,
) -> Problem:
    """The clip of an analysis as a problem.

    Args:
        analysis: The clip: its contacts, ground, low-pass and gravity are taken over.
        frozen: Bodies whose joints do not turn.
        holds_root: The root does not move (it may turn).
        held: Bodies whose places in the world stay as they are.
        exact: Frames that stay as they are.
        interval: First and last time at which anything may change [s].
        holds_ends: The first and the last frame stay as they are, with their slopes (a loop).
        around: The clip is a loop, with frames of the rounds beside it: its offsets go round, too.
        only_touches: Only points that touch may carry, not those that are near the ground and slow too.
        grips: Contact points that hold on, so that their force may pull too, besides those of the analysis, (F, P).
        made: Coefficients (M, N) of offsets that the clip has already and that are priced with the others.
        aloft: Frames in which the center of mass keeps its path, shape (F,).
    """
    motion, character = analysis.motion, analysis.character
    size = character.leg_length / HUMAN_LEG
    spikes = [g for g in analysis.glitches if g.kind in ("spike", "frozen")]
    trusted = (~glitch_frames(motion, glitches=spikes)).astype(np.float64) if spikes else None
    figure = Figure.of(character, body_motion(motion, character, analysis.filter, trusted))
    kept = _thinned(motion, exact)
    pose = figure.pose(np.zeros((motion.frame_count, figure.size)))
    touch = analysis.touch
    ease, head = ease_of(figure, 2.0 * ANGLE, 3.0 * LENGTH * size), head_of(character)
    radii = np.array([p.radius for p in character.contact_points])
    touched = pose.points if analysis.scene is not None else pose.points - radii[:, None] * touch.normals
    gaps, normals, _, _ = gaps_to(analysis.terrain, pose.points, radii, analysis.times, analysis.scene)
    drift = in_place_velocity(motion) if analysis.scene is None else np.zeros(3)
    speeds = np.linalg.norm(derivatives(touched, motion.times)[0] - drift, axis=-1)
    near = (gaps < NEAR * size) & (speeds < MOVING * math.sqrt(size))
    may = touch.carries if only_touches else near | touch.carries
    may = _spread(may, motion.times, 1.0 / (SPREAD * analysis.filter.hz))
    pulls = touch.grips if grips is None else touch.grips | grips
    pulls = _spread(pulls, motion.times, 1.0 / (SPREAD * analysis.filter.hz))
    stands = touch.flags & (speeds < STANDING * math.sqrt(size))
    lift = np.where(touch.carries, np.maximum(-gaps, 0.0), np.inf)
    anchors = _anchors(pose.points, normals, stands, size)
    if np.any(drift):
        stands = np.zeros_like(stands)
    points, offsets = [int(b) for b in figure.point_bodies], list(figure.point_offsets)
    for b in held:
        points.append(int(b))
        offsets.append(figure.com[b])
    extra = len(held)
    figure = replace(
        figure,
        times=motion.times[kept],
        root=figure.root[kept],
        local=figure.local[kept],
        offset=figure.offset[kept],
        point_bodies=np.array(points, dtype=np.int64),
        point_offsets=np.array(offsets).reshape(-1, 3),
    )
    up = np.broadcast_to(np.array([0.0, 0.0, 1.0]), (len(kept), extra, 3))
    places = pose.centers[kept][:, list(held)] if extra else np.zeros((len(kept), 0, 3))
    spline = around.spline if around is not None else _spline(figure.times)
    return Problem(
        figure,
        character,
        np.concatenate([normals[kept], up], axis=1),
        np.concatenate([radii, np.zeros(extra)]),
        np.concatenate([may[kept], np.zeros((len(kept), extra), dtype=np.bool_)], axis=1),
        np.concatenate([pulls[kept], np.zeros((len(kept), extra), dtype=np.bool_)], axis=1),
        np.concatenate([stands[kept], np.ones((len(kept), extra), dtype=np.bool_)], axis=1),
        np.concatenate([anchors[kept], places], axis=1),
        np.concatenate([pose.points[kept], places], axis=1),
        np.concatenate([np.maximum(gaps[kept], 0.0), np.zeros((len(kept), extra))], axis=1),
        np.concatenate([lift[kept], np.full((len(kept), extra), np.inf)], axis=1),
        analysis.friction,
        analysis.gravity,
        _prices(figure, size, kept, exact) / ease**2,
        spline,
        _free(spline, figure.times, interval, holds_ends),
        _used(figure, frozen, holds_root),
        np.zeros((spline.count, figure.size)) if made is None else made,
        ease,
        pose.turns[kept, head],
        np.where(np.zeros(len(kept), dtype=np.bool_) if aloft is None else aloft[kept], pose.com[kept].T, np.nan).T,
        around,
    )


def _spline(times: Array, beyond: float = 0.0) -> Spline:
    """Knots for offsets over these times and a little beyond [s]."""
    return Spline.over(float(times[0]), float(times[-1]) + beyond, KNOTS, float(np.median(np.diff(times))))


def apply_offsets(character: Character, motion: Motion, offsets: Array, figure: Figure) -> Motion:
    """The motion with its joints turned and its root moved by offsets (F, N); zeros leave numbers as they are."""
    turned, moved = motion.rotations.copy(), motion.translations.copy()
    for b, body in enumerate(character.bodies):
        vector = offsets[:, figure.columns(b)]
        vector = vector * figure.axes[b] if figure.is_hinge[b] else vector
        changed = np.any(vector != 0.0, axis=1)
        turned[changed, body.joint] = rotations.normalize(
            rotations.multiply(turned[changed, body.joint], rotations.from_rotation_vector(vector[changed]))
        )
    mover = root_mover(character)
    shift, parent = offsets[:, :3], int(motion.skeleton.parents[mover])
    if parent >= 0:
        shift = rotations.rotate(rotations.conjugate(motion.world[1][:, parent]), shift)
    moved[:, mover] += shift
    return replace(motion, translations=moved, rotations=turned)


def _spread(flags: Flags, times: Array, seconds: float) -> Flags:
    """Flags (F, P) that also hold for so long before and after."""
    frames = round(seconds / float(np.median(np.diff(times)))) if math.isfinite(seconds) else 0
    if not frames:
        return flags
    return np.asarray(ndimage.binary_dilation(flags, structure=np.ones((2 * frames + 1, 1))), dtype=np.bool_)


def _thinned(motion: Motion, exact: Collection[int]) -> Index:
    """Frames that are looked at: every n-th, the last, and those that must be met."""
    step = max(1, round(motion.fps / RATE))
    kept = {*range(0, motion.frame_count, step), motion.frame_count - 1, *exact}
    return np.array(sorted(kept), dtype=np.int64)


def _anchors(points: Array, normals: Array, stands: Flags, size: float) -> Array:
    """Where each point stands, (F, P, 3): along the ground at its median place over a stance, at its own height.

    One that slides by intent keeps its own path.
    """
    anchors = points.copy()
    for i in range(points.shape[1]):
        for first, last in runs(stands[:, i]):
            stance, up = points[first : last + 1, i], normals[first : last + 1, i]
            astray = np.median(stance, axis=0) - stance
            astray -= np.sum(astray * up, axis=1, keepdims=True) * up
            if np.sqrt(np.mean(np.sum(astray**2, axis=1))) < SLIDES * size:
                anchors[first : last + 1, i] += astray
    return anchors


def _prices(figure: Figure, size: float, kept: Index, exact: Collection[int]) -> Array:
    price = np.full((len(kept), figure.size), 1.0 / ANGLE**2)
    price[:, :3] = 1.0 / (LENGTH * size) ** 2
    price[np.isin(kept, list(exact))] *= EXACT
    return price


def _used(figure: Figure, frozen: Collection[int], holds_root: bool) -> Flags:
    """Offsets that may change: those of joints that carry something and are not frozen."""
    carried = figure.masses.copy()
    for b in range(len(carried) - 1, 0, -1):
        carried[figure.parents[b]] += carried[b]
    used = np.ones(figure.size, dtype=np.bool_)
    for b in range(len(carried)):
        if b in frozen or carried[b] < LIGHT * figure.mass:
            used[figure.columns(b)] = False
    used[:3] = not holds_root
    return used


def _free(spline: Spline, times: Array, interval: tuple[float, float] | None, holds_ends: bool) -> Flags:
    """Coefficients that matter inside the interval alone."""
    first, last = spline.support()
    start, end = (-math.inf, math.inf) if interval is None else interval
    if holds_ends:
        start, end = max(start, float(times[0])), min(end, float(times[-1]))
    slack = 1e-6 * spline.spacing
    start, end = (-math.inf if start <= times[0] and not holds_ends else start), end
    end = math.inf if end >= times[-1] and not holds_ends else end
    return (first >= start - slack) & (last <= end + slack)
