"""What may touch in a step: contact points near surfaces, bodies near other bodies, closed hands, feet on holds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from poise.core.typing import Array, Flags, Index
from poise.goals.lists import relative
from poise.goals.surroundings import FAR, Faces, Scene
from poise.physics import State
from poise.physics.capsules import CapsulePairs, Near

REACH = 0.08
"""Bodies nearer to one another than this may touch in a step [m]."""
FARTHEST = 1.0
"""No two bodies farther apart than this meet in one step [m]."""
NEAR = 24
"""Most pairs of bodies that may touch in one step."""
OVERLAPPING = 0.002
"""Pairs nearer than this at the start count as overlapping [m]."""
BODY_FRICTION = 0.5
"""Coulomb coefficient between bodies."""


@dataclass(frozen=True)
class Footing:
    """Points that stand on holds, each on a little face of its own.

    Attributes:
        points: The model's points, shape (F,).
        places: A place on each face, and where it will be after the step [m], shape (F, 3).
        normals: Of the faces, shape (F, 3).
        friction: Shape (F,).
    """

    points: Index
    places: Array
    after: Array
    normals: Array
    friction: Array

    def gaps(self, centers: Array, radii: Array, *, is_after: bool = False) -> Array:
        """Height of the points over their faces [m], shape (F,)."""
        away = centers[self.points] - (self.after if is_after else self.places)
        return np.einsum("fi,fi->f", away, self.normals) - radii[self.points]


@dataclass(frozen=True)
class Candidates:
    """Contact candidates: every place where something may touch in this step.

    First all contact points with the surface nearest to each, then near pairs of bodies, then contact points again with
    further surfaces they are near to, as in the corner of a room.

    A point that is a sphere pushes on a further surface from where it touches the first; soles are points.

    Attributes:
        points, others: The model's point, and the point it touches or -1 for the world, shape (S,).
        normals: Away from what is touched, shape (S, 3).
        gaps: [m], shape (S,).
        friction: Shape (S,).
        surface: Index of the surface of each contact point, shape (P,).
        pairs: Which pair of capsules each candidate after the points is, shape (K,).
        corners: Index of the surface of each candidate after those, shape (S − P − K,).
        footing: Contact points on holds.
    """

    points: Index
    others: Index
    normals: Array
    gaps: Array
    friction: Array
    surface: Index
    pairs: Index
    corners: Index
    footing: Footing

    @property
    def point_count(self) -> int:
        """Contact points of the figures and balls, the first of the candidates."""
        return len(self.surface)

    @property
    def between(self) -> slice:
        """The candidates that are pairs of bodies."""
        return slice(len(self.surface), len(self.surface) + len(self.pairs))

    @property
    def at_corners(self) -> slice:
        """The candidates that are points near a further surface."""
        return slice(len(self.surface) + len(self.pairs), len(self.points))

    @cached_property
    def keys(self) -> list[tuple[int, int]]:
        """Key of each candidate, the same in the next step: a point and its surface, or −1 and a pair."""
        first = list(enumerate(self.surface.tolist()))
        last = zip(self.points[self.at_corners].tolist(), self.corners.tolist(), strict=True)
        return [*first, *((-1, pair) for pair in self.pairs.tolist()), *last]

    def relative(self, values: Array) -> Array:
        """Values at the model's points (P, 3), less those of what they touch, shape (S, 3)."""
        return relative(values, self.points, self.others)

    def along(self, values: Array) -> Array:
        """Part along the normals of the candidates' own values (S, 3), shape (S,)."""
        return np.einsum("si,si->s", self.normals, values)


def overlaps(capsules: CapsulePairs, state: State) -> Array:
    """How far pairs of capsules overlap in a state [m], shape (N,): that much is allowed later."""
    every = np.arange(len(capsules.pairs))
    return np.maximum(OVERLAPPING - capsules.gaps_at(every, state.data.xpos, state.data.xmat), 0.0)


def find_candidates(
    state: State, faces: Faces, capsules: CapsulePairs, allowed: Array, radii: Array, gripped: Flags, footing: Footing,
    dt: float, met: Index,
) -> Candidates:  # fmt: skip
    """What may touch in a state that has been moved; places its roving points and completes it.

    Args:
        state: After `move_to`.
        faces: The surfaces now.
        capsules: Of all bodies.
        allowed: How far each pair of them may overlap without touching [m], shape (N,).
        radii: Of the figures' own contact points [m], shape (P,).
        gripped: Points that hold something and touch nothing else, shape (P,).
        footing: Points that stand on holds and touch nothing else.
        dt: Length of the step [s].
        met: Pairs that are farther apart than `REACH`, or had no room, and would meet in this step all the same.
    """
    count = len(radii)
    ground = faces.below(state.centers[:count], radii)
    normals = ground.normals.copy()
    normals[gripped] = 0.0
    normals[footing.points] = footing.normals
    every = np.zeros((state.model.point_count, 3))
    every[:count] = normals
    pairs, others, points = np.zeros(0, dtype=np.int64), np.full(count, -1), np.arange(count)
    gaps, friction = np.where(gripped, np.inf, ground.gaps), ground.friction.copy()
    gaps[footing.points] = footing.gaps(state.centers, radii)
    friction[footing.points] = footing.friction
    if len(capsules.pairs):
        near = capsules.near_pairs(state.data.xpos, state.data.xmat, FARTHEST if len(met) else REACH)
        free = near.gaps + allowed[near.pairs]
        chosen = _nearest_soon(state, capsules, near, free, dt, met)
        if len(chosen):
            pairs = near.pairs[chosen]
            bodies = np.stack([capsules.first_body[pairs], capsules.second_body[pairs]], axis=1).ravel()
            places = np.stack([near.firsts[chosen], near.seconds[chosen]], axis=1).reshape(-1, 3)
            rovers = state.place_rovers(0, bodies, places).reshape(-1, 2)
            points, others = np.concatenate([points, rovers[:, 0]]), np.concatenate([others, rovers[:, 1]])
            normals = np.concatenate([normals, near.normals[chosen]])
            gaps = np.concatenate([gaps, free[chosen]])
            friction = np.concatenate([friction, np.full(len(pairs), BODY_FRICTION)])
    near_too = (np.abs(ground.heights) < REACH) & ~gripped
    if len(faces.origins) > 1:
        is_on_ground = np.ones(count, dtype=np.bool_)
        is_on_ground[footing.points] = False
        first = np.flatnonzero(is_on_ground)
        near_too[ground.surface[first], first] = False
        near_too &= faces.solids[:, None] != faces.solids[ground.surface]  # a box pushes out by its nearest face
    else:
        near_too[:] = False
    corners, again = np.nonzero(near_too)
    if len(corners):
        points, others = np.concatenate([points, again]), np.concatenate([others, np.full(len(again), -1)])
        normals = np.concatenate([normals, faces.frames[corners, 2]])
        gaps = np.concatenate([gaps, ground.heights[corners, again]])
        friction = np.concatenate([friction, faces.friction[corners]])
    state.touch(every)
    state.complete()
    return Candidates(points, others, normals, gaps, friction, ground.surface, pairs, corners, footing)


def _nearest_soon(state: State, capsules: CapsulePairs, near: Near, free: Array, dt: float, met: Index) -> Index:
    """Which of the pairs to watch, nearest first: if there is no room for all, those that will be nearest.

    Args:
        state: After `move_to`.
        capsules: Of all bodies.
        near: Pairs, K of them.
        free: Their gaps plus the allowed overlap [m], shape (K,).
        dt, met: As in `look`.
    """
    integrator = np.isin(near.pairs, met) if len(met) else np.zeros(len(free), dtype=np.bool_)
    order = np.argsort(free, kind="stable")
    order = order[(near.gaps < REACH)[order] | integrator[order]]
    if len(order) <= NEAR:
        return order
    firsts = state.body_velocities(capsules.first_body[near.pairs], near.firsts)
    seconds = state.body_velocities(capsules.second_body[near.pairs], near.seconds)
    closing = np.einsum("ki,ki->k", near.normals, firsts - seconds)
    soon = np.where(integrator, -np.inf, free + dt * np.minimum(closing, 0.0))
    kept = np.zeros(len(free), dtype=np.bool_)
    kept[order[np.argsort(soon[order], kind="stable")[:NEAR]]] = True
    return order[kept[order]]


def pairs_that_met(candidates: Candidates, state: State, capsules: CapsulePairs, allowed: Array, depth: float) -> Index:
    """Pairs that no candidate watches and that overlap by more than `depth` [m] in a state."""
    near = capsules.near_pairs(state.data.xpos, state.data.xmat, -depth)
    deep = near.pairs[near.gaps + allowed[near.pairs] < -depth]
    return deep[~np.isin(deep, candidates.pairs)] if len(deep) else deep


def gaps_after(
    candidates: Candidates, state: State, faces: Faces, capsules: CapsulePairs, allowed: Array, radii: Array
) -> Array:  # fmt: skip
    """Gaps of the same candidates in another state [m], shape (S,)."""
    count = candidates.point_count
    own = faces.gaps(state.centers[:count], radii, candidates.surface) if len(faces.origins) else np.full(count, np.inf)
    # what was beside or behind every face, or whose face is gone, has nothing to sink into
    parts = [np.where(candidates.gaps[:count] < 0.5 * FAR, own, np.inf)]
    parts[0][candidates.footing.points] = candidates.footing.gaps(state.centers, radii, is_after=True)
    if len(candidates.pairs):
        parts.append(capsules.gaps_at(candidates.pairs, state.data.xpos, state.data.xmat) + allowed[candidates.pairs])
    if len(candidates.corners):
        again = candidates.points[candidates.at_corners]
        own = faces.gaps(state.centers[again], radii[again], candidates.corners)
        parts.append(np.where(candidates.gaps[candidates.at_corners] < 0.5 * FAR, own, np.inf))
    return np.concatenate(parts)


CLOSE = 0.02
"""A hand this near to the surface of a hold closes [m]."""
ARRIVED = 2e-4
"""A foot this near over a hold stands on it [m]."""
CATCH = 0.04
"""A hand this near to the surface of a ball closes around it [m]."""
PALM = 0.09
"""Hands whose middles are this near take one another [m]."""
CLOSING = 0.2
"""Speed at which hands that took one another draw together [m/s]."""
SLIP = 1e-3
"""A hand that a step would bring this far from what it holds cannot hold it, and opens before that step [m]."""
SLIP_OUT = 0.03
"""A foot that has drifted so far on its hold has lost it [m]."""
TIRED = 0.5
"""A hand that slipped does not close again for so long [s]."""


@dataclass(frozen=True, eq=False)
class Grip:
    """A hand that has closed around something.

    Attributes:
        figure: Index of its figure.
        part: "left_hand", …
        what: Name of the hold, or "figure:part".
        point: The model's contact point that holds.
        other: The point it holds, or -1 for a hold.
        anchor: Where the hold is gripped, from its middle in its own frame [m], shape (3,).
        start: When it closed [s].
        force: On the point in the last step [N], shape (3,).
        way: Of the point against what it holds, in the last step [m], shape (3,).
        carried: Way of what it holds by itself in the last step, zero for another figure's hand [m], shape (3,).
        drift: Distance between the point and what it holds after the last step [m].
    """

    figure: int
    part: str
    what: str
    point: int
    other: int
    anchor: Array
    start: float
    force: Array = field(default_factory=lambda: np.zeros(3))
    way: Array = field(default_factory=lambda: np.zeros(3))
    carried: Array = field(default_factory=lambda: np.zeros(3))
    drift: float = 0.0


@dataclass(frozen=True, eq=False)
class Foothold:
    """A point of a foot that stands on a hold, a little face of its own: it pushes, slides and leaves like any contact.

    Attributes:
        figure: Index of its figure.
        part: "left_foot" or "right_foot".
        what: Name of the hold.
        point: The model's contact point.
        anchor: Where it came down, from the hold's middle [m], shape (3,).
        drift: Distance from there after the last step [m].
    """

    figure: int
    part: str
    what: str
    point: int
    anchor: Array
    drift: float = 0.0


@dataclass
class Grips:
    """The closed hands of a world, and its feet on holds.

    Attributes:
        scene: Where the holds are.
        radii: Of the figures' contact points [m], shape (P,).
        all: Every grip.
        feet: Every point that stands on a hold.
        slipped: When a hand slipped last [s], by figure and part.
        parted: Points of hands that let one another go and still overlap.
    """

    scene: Scene
    radii: Array
    all: list[Grip] = field(default_factory=list)
    feet: list[Foothold] = field(default_factory=list)
    slipped: dict[tuple[int, str], float] = field(default_factory=dict)
    parted: list[tuple[int, int]] = field(default_factory=list)

    def of(self, figure: int) -> dict[str, str]:
        """What each closed hand of a figure has, and each foot stands on."""
        return {g.part: g.what for g in (*self.all, *self.feet) if g.figure == figure}

    def open(self, figure: int, part: str) -> None:
        """Open a hand, if it is closed; let a foot leave its hold."""
        self._drop([g for g in self.all if g.figure == figure and g.part == part])
        self.feet = [f for f in self.feet if not (f.figure == figure and f.part == part)]

    def lose(self, time: float) -> list[Grip | Foothold]:
        """Open the grips on holds that are gone, and take feet off those and off what they slid from; all of them."""
        gone = {hold.name for hold in self.scene.holds if not hold.exists(time)}
        lost = [g for g in self.all if g.other < 0 and g.what in gone]
        slid = [f for f in self.feet if f.what in gone or f.drift > SLIP_OUT]
        self._drop(lost)
        self.feet = [f for f in self.feet if f not in slid]
        return [*lost, *slid]

    def slip(self, after: State, time: float, dt: float) -> list[Grip]:
        """Open the grips that a step from a time on would tear apart, given the state after it; all of them."""
        torn = [g for g in self.all if np.linalg.norm(after.centers[g.point] - self.anchor(g, after, time + dt)) > SLIP]
        self._drop(torn)
        self.slipped.update({(g.figure, g.part): time for g in torn})
        return torn

    def is_tired(self, figure: int, part: str, time: float) -> bool:
        """Whether a hand slipped only now and cannot close yet."""
        return time - self.slipped.get((figure, part), -np.inf) < TIRED

    def _drop(self, lost: list[Grip]) -> None:
        self.all = [g for g in self.all if g not in lost]
        self.parted += [(g.point, g.other) for g in lost if g.other >= 0]

    def take_hold(self, figure: int, part: str, points: Index, name: str, state: State, time: float) -> Grip | None:
        """Close a hand, with its contact points, that has arrived at a hold."""
        hold, centers = self.scene.hold(name), state.centers
        if not hold.exists(time) or not len(points):
            return None
        away = np.array([np.linalg.norm(centers[p] - hold.nearest(centers[p], time)) for p in points])
        i = int(away.argmin())
        if away[i] > hold.radius + self.radii[points[i]] + CLOSE:
            return None
        anchor = hold.turn(time).T @ (centers[points[i]] - hold.middle(time))
        return self._add(Grip(figure, part, name, int(points[i]), -1, anchor, time), state)

    def stand(self, figure: int, part: str, ball: list[int], name: str, state: State, time: float) -> bool:
        """Put the points of a foot's ball on a hold they have come down to; whether they have."""
        hold = self.scene.hold(name)
        middle, normal = hold.middle(time), np.array(hold.normal)
        away = state.centers[ball].mean(axis=0) - middle
        height = float(away @ normal) - hold.radius
        beside = float(np.linalg.norm(away - (away @ normal) * normal))
        if not hold.exists(time) or not -CLOSE < height < ARRIVED or beside >= hold.radius:
            return False
        for point in ball:
            place = state.centers[point] - middle
            up = float(place @ normal)
            anchor = place + (min(hold.radius, up) - up) * normal
            self.feet.append(Foothold(figure, part, name, point, anchor))
        return True

    def footing(self, time: float, dt: float) -> Footing:
        """The faces that feet stand on in a step."""
        holds = [self.scene.hold(f.what) for f in self.feet]
        anchors = np.array([f.anchor for f in self.feet]).reshape(-1, 3)
        places, after = (np.array([h.middle(t) for h in holds]).reshape(-1, 3) + anchors for t in (time, time + dt))
        return Footing(
            np.array([f.point for f in self.feet], dtype=np.int64), places, after,
            np.array([h.normal for h in holds]).reshape(-1, 3), np.array([h.friction for h in holds]),
        )  # fmt: skip

    def take_hand(
        self, figure: int, part: str, points: Index, what: str, theirs: Index, state: State, time: float
    ) -> Grip | None:  # fmt: skip
        """Close a hand that has arrived at another's, with that one's contact points."""
        centers = state.centers
        if not len(points) or not len(theirs):
            return None
        away = np.linalg.norm(centers[points][:, None] - centers[theirs][None], axis=2)
        i, j = np.unravel_index(int(away.argmin()), away.shape)
        if away[i, j] > PALM:
            return None
        anchor = centers[points[i]] - centers[theirs[j]]
        return self._add(Grip(figure, part, what, int(points[i]), int(theirs[j]), anchor, time), state)

    def take_ball(
        self, figure: int, part: str, points: Index, name: str, ball: int, state: State, time: float
    ) -> Grip | None:  # fmt: skip
        """Close a hand, with its contact points, that has arrived at a ball, with the ball's point."""
        away = np.linalg.norm(state.centers[points] - state.centers[ball], axis=1) - self.radii[points]
        if not len(points) or away.min() > self.radii[ball] + CATCH:
            return None
        point = int(points[int(away.argmin())])
        anchor = state.centers[point] - state.centers[ball]
        return self._add(Grip(figure, part, name, point, ball, anchor, time), state)

    def _add(self, grip: Grip, state: State) -> Grip:
        self.all.append(grip)
        state.points[grip.point] = state.centers[grip.point]
        return grip

    @property
    def holding(self) -> list[int]:
        """Points that hold or stand on something by name."""
        return [g.point for g in (*self.all, *self.feet)]

    @property
    def points(self) -> tuple[Index, Index]:
        """The model's point of each grip, and the point it holds or -1, shapes (G,)."""
        return (
            np.array([g.point for g in self.all], dtype=np.int64),
            np.array([g.other for g in self.all], dtype=np.int64),
        )

    def closed(self) -> Flags:
        """Points that hold something or are held, shape (P,)."""
        out = np.zeros(len(self.radii), dtype=np.bool_)
        for points in self.points:
            out[points[points >= 0]] = True
        return out

    def at(self, values: Array) -> Array:
        """Values at the points (P, 3) of grips, less those at what they hold, shape (G, 3)."""
        return relative(values, *self.points) if self.all else np.zeros((0, 3))

    def anchor(self, grip: Grip, state: State, time: float) -> Array:
        """Where a grip's point belongs [m], shape (3,)."""
        if grip.other >= 0:
            return state.centers[grip.other] + grip.anchor
        hold = self.scene.hold(grip.what)
        return hold.middle(time) + hold.turn(time) @ grip.anchor

    def ways(self, state: State, time: float) -> Array:
        """Way that each grip's point must go until a time, against what it holds [m], shape (G, 3)."""
        here = [self.anchor(g, state, time) - state.centers[g.point] for g in self.all]
        return np.array(here).reshape(-1, 3)

    def moves(self, state: State, after: State) -> Array:
        """Way that each grip's point went between two states, against what it holds [m], shape (G, 3)."""
        return self.at(after.centers) - self.at(state.centers)

    def note(self, forces: Array, state: State, after: State, time: float, dt: float) -> None:
        """Take in a step: forces (G, 3) [N], and the states before and after it."""
        feet, grips = [], []
        for foot in self.feet:
            place = self.scene.hold(foot.what).middle(time + dt) + foot.anchor
            feet.append(replace(foot, drift=float(np.linalg.norm(after.centers[foot.point] - place))))
        for grip, force in zip(self.all, forces, strict=True):
            before, then = self.anchor(grip, state, time), self.anchor(grip, after, time + dt)
            off = after.centers[grip.point] - then
            way = off - (state.centers[grip.point] - before)
            anchor, carried = grip.anchor, then - before if grip.other < 0 else np.zeros(3)
            if grip.other >= 0:  # hands that met close until they touch
                apart = float(np.linalg.norm(anchor))
                close = min(self.radii[grip.point] + self.radii[grip.other], apart)
                anchor = anchor * (max(apart - CLOSING * dt, close) / max(apart, 1e-9))
            drift = float(np.linalg.norm(off))
            grips.append(replace(grip, anchor=anchor, force=force, way=way, carried=carried, drift=drift))
        self.feet, self.all = feet, grips

    def allowed_overlaps(self, overlaps: Array, capsules: CapsulePairs, state: State) -> Array:
        """How far pairs of bodies overlap without touching [m], shape (N,): hands that hold one another do not push.

        Hands that let go push no more than keeps them from overlapping further, until they are apart.
        """
        hands = [(g.point, g.other) for g in self.all if g.other >= 0]
        if not hands and not self.parted:
            return overlaps
        out = overlaps.copy()
        for ends in list(self.parted):
            pairs = np.flatnonzero(_pairs_of(ends, capsules, state))
            deep = np.maximum(OVERLAPPING - capsules.gaps_at(pairs, state.data.xpos, state.data.xmat), 0.0)
            if (deep <= overlaps[pairs]).all():
                self.parted.remove(ends)
            out[pairs] = np.maximum(out[pairs], deep)
        for ends in hands:
            out[_pairs_of(ends, capsules, state)] = np.inf
        return out


def _pairs_of(ends: tuple[int, int], capsules: CapsulePairs, state: State) -> Flags:
    """Pairs of bodies at the hands of two points, forearms included, shape (N,)."""
    near = state.point_body[list(ends)]
    near = np.concatenate([near, state.model.parents[near]])
    return np.isin(capsules.first_body, near) & np.isin(capsules.second_body, near)
