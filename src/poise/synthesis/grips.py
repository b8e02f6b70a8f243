"""Closed hands, and feet on holds: when they close, what they hold, and when they slip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from poise.body.character import hold_points
from poise.core.errors import UnknownName
from poise.core.typing import Array, Flags, Index
from poise.goals.lists import relative
from poise.goals.observation import Observation
from poise.goals.surroundings import Scene
from poise.physics import State
from poise.physics.collisions import CapsulePairs
from poise.synthesis.contacts import OVERLAPPING, Footing

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
        balls: The model's point of each ball, by name.
        all: Every grip.
        feet: Every point that stands on a hold.
        slipped: When a hand slipped last [s], by figure and part.
        parted: Points of hands that let one another go and still overlap.
    """

    scene: Scene
    radii: Array
    balls: Mapping[str, int] = field(default_factory=dict)
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

    def close(self, figure: int, part: str, observed: Observation) -> Grip | None:
        """Close a hand that has arrived at what its figure's memory says it reaches for, or put a foot on that.

        Args:
            figure: Index of the figure.
            part: "left_hand", "right_foot", …
            observed: What the figure observes.

        Raises:
            UnknownName: if it reaches for a figure that is not there.
        """
        what, time = observed.memory.get(f"{part} reaches"), observed.time
        if what is None or part in self.of(figure) or self.is_tired(figure, part, time):
            return None
        name, _, theirs = str(what).partition(":")
        points, state = observed.part(part), observed.state
        if part.endswith("_foot"):
            first = int(observed.body.points[0])
            ball = [first + p for p in hold_points(observed.body.character, part)]
            self.stand(figure, part, ball, name, state, time)
            return None
        if name in self.balls:
            return self.take_ball(figure, part, points, name, self.balls[name], state, time)
        if not theirs:
            return self.take_hold(figure, part, points, name, state, time)
        if name not in observed.others:
            raise UnknownName(
                f"No figure {name!r} to hold hands with. Figures: {', '.join(observed.others) or 'none'}."
            )
        hand = observed.others[name].hands[theirs.removesuffix("_hand")]
        return self.take_hand(figure, part, points, str(what), hand, state, time)

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
            np.array([f.point for f in self.feet], dtype=np.int64),
            places,
            after,
            np.array([h.normal for h in holds]).reshape(-1, 3),
            np.array([h.friction for h in holds]),
        )

    def take_hand(
        self, figure: int, part: str, points: Index, what: str, theirs: Index, state: State, time: float
    ) -> Grip | None:
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
    ) -> Grip | None:
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
