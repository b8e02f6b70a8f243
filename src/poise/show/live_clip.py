"""A clip through the filter as a live page shows it: dragged, pushed, on ground that sliders lay anew; its marks."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from poise.analysis.support import hulls
from poise.body.character import Character
from poise.body.posing import apply_deviation, body_poses, joint_deviations, motion_to_q
from poise.core.motion import Motion
from poise.core.typing import Array, Index
from poise.core.units import GRAVITY
from poise.filter.filter import SimulatedCharacter
from poise.filter.forces import Hand
from poise.filter.quasi_physical import Physicality, StepRecord
from poise.filter.report import SimulationResult
from poise.filter.setup import Options
from poise.filter.simulate import Live, simulate
from poise.phases.floor import carrying_last, start_of
from poise.phases.travel import direction_of_travel, loops, off_the_spot, repeat
from poise.physics.state import State
from poise.show.live import body_at, body_of, push_of
from poise.show.look import ARROW_COLOR, force_scale, limbs_of
from poise.show.motion_scene import LIVE_VERTICES, skins_of
from poise.show.physics import COM_COLOR, FORCE_COLOR, LAYERS, LEAST_FORCE, ROW_COLOR, SUPPORT_COLOR, side_color
from poise.show.protocol import Moment
from poise.show.result_scene import SIMULATED_COLOR
from poise.show.scene import (
    GHOST,
    SOLID,
    Control,
    Overlay,
    Plot,
    Points,
    Polygon,
    Row,
    Scene,
    Series,
    Skinned,
    Track,
    Vectors,
    file_name,
)
from poise.terrain import Terrain
from poise.terrain.shapes import Form, Place, Shape


@dataclass(frozen=True)
class Hill:
    """What the sliders say, of which one at a time is not zero: the ground from where the figure was.

    Attributes:
        slope: Up in the direction of travel [deg].
        stairs: Height of a step up [m]; below zero they go down.
        tread: Depth of a step [m].
        roughness: Height of bumps [m].
        seed: Of the bumps.
    """

    slope: float = 0.0
    stairs: float = 0.0
    tread: float = 0.6
    roughness: float = 0.0
    seed: int = 7


class ChangingGround(Shape):
    """A ground that hands every question to the terrain of the moment.

    Attributes:
        current: The ground as it lies now.
    """

    def __init__(self, terrain: Terrain) -> None:
        self.current = terrain

    @property
    def is_static(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Never: a way over ground that rests is planned ahead, and this may be other ground by then."""
        return False

    @property
    def treads(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.current.treads

    def edges(self, points: Array, place: Place) -> tuple[Array, Array]:
        """Distance to the edges behind and ahead, see `Steps.edges`; those of the terrain of the moment."""
        del place
        return self.current.edges(points)

    def at(self, points: Array, place: Place, time: float) -> tuple[Array, Array | None, Array | None]:
        del place
        surface = self.current.sample(points, time)
        return np.array(surface.height), np.array(surface.normal), np.array(surface.velocity)

    def form(self, place: Place, time: float) -> Form:
        del place
        return self.current.shape.form(self.current.place, time)

    def scaled(self, size: float) -> Shape:
        return self.current.shape.scaled(size)

    def change(self, hill: Hill, position: Array, heading: float) -> None:
        """New ground that meets the old one where the figure is.

        Args:
            hill: What it is like.
            position: Of the figure [m]; its height does not matter, shape (3,).
            heading: In which the slope rises [rad].
        """
        here = float(self.current.heights(position[None, :2])[0])
        if hill.roughness > 0.0:
            shape = Terrain.rough(hill.roughness, hill.seed)
        elif hill.stairs:
            shape = Terrain.stairs(hill.stairs, hill.tread, distance=1.5 * hill.tread)
        else:
            shape = Terrain.slope(hill.slope)
        self.current = shape.placed(origin=position[:2], heading=heading, ground=here)


LONGEST = 60.0
"""A clip that loops is played for this long before it starts again [s]."""

FARTHEST = 7.0
"""Ground is laid anew when the figure is so far from where it was laid [m, for a leg of 0.82 m]."""

SETTLE = 0.15
"""New ground is laid at most so often while a slider moves [s]."""

GROUNDS = ("slope", "stairs", "roughness")
"""Controls of which one at a time makes the ground."""


def _controls(scale: float) -> tuple[Control, ...]:
    """What the page can set, for a figure whose legs are `scale` times as long as a person's."""
    step = float(f"{0.01 * scale:.1g}")  # zero is one of the slider's places
    return (
        Control("slope", "Slope", value=0.0, unit="°", low=-25.0, high=25.0, step=0.5),
        Control("stairs", "Stairs, height of a step", unit="m", low=-25.0 * step, high=25.0 * step, step=step),
        Control("roughness", "Bumps, height", value=0.0, unit="m", low=0.0, high=50.0 * step, step=step),
        Control("physicality", "Less outside help at the hips", low=-2.0, high=2.0, step=0.1, is_power=True),
    )


class LiveClip:
    """A clip that runs through the filter; a `Source`.

    Args:
        motion: The clip; one that loops is played on and on, and one that walks on the spot goes ahead.
        character: The figure.
        terrain: The ground at first.
        options: Of the run; physicality is set by the pages.
        run: Further arguments of `poise.simulate`.
    """

    def __init__(
        self,
        motion: Motion,
        character: Character,
        *,
        terrain: Terrain | None = None,
        options: Options | None = None,
        **run: Any,
    ) -> None:
        rounds = int(LONGEST / max(motion.duration, motion.dt)) if loops(motion) else 1
        played = repeat(motion, rounds) if rounds > 1 else motion
        # the ground of a page rests, so that a slope can be laid on it: a clip that walks on the spot goes ahead
        self._motion = replace(off_the_spot(played), source=motion.source)
        self._poses = motion_to_q(character, self._motion)
        self._character, self._run = character, run
        skins = skins_of(motion)
        self._skins = skins if sum(len(skin.vertices) for skin in skins) <= LIVE_VERTICES else ()
        self.controls = _controls(character.leg_scale)
        options = options or Options()
        # whoever is dragged to the ground here gets up again, so that one can go on
        self._options = replace(options, after="blend") if options.after == "path" else options
        self._heading = direction_of_travel(motion)
        start, floor = start_of(motion), run.get("floor")
        floor = character.floor if floor is None else float(floor)
        self._first = (terrain or Terrain.flat()).placed(
            origin=(float(start[0]), float(start[1])), heading=self._heading, ground=floor
        )
        self._ground = ChangingGround(self._first)
        self._values = {c.name: float(c.value) for c in self.controls}
        self._live: Live | None = None
        self._ground_changed_at: float | None = None
        self._laid: list[tuple[float, Terrain]] = []
        self._shown_at = np.zeros(2)

    @property
    def time(self) -> float:
        return 0.0 if self._live is None else self._live.time

    def begin(self) -> None:
        self._live, self._ground_changed_at, self._laid = None, None, []
        self._ground.current = self._first
        self._lay(start_of(self._motion))
        self._laid = [(0.0, self._ground.current)]

    def play(self, watch: Callable[[], bool]) -> SimulationResult:
        def after(live: Live) -> bool:
            self._live = live
            return watch()

        options = replace(self._options, physicality=self._physicality())
        done = simulate(
            self._motion, self._character, terrain=Terrain(self._ground), options=options, watch=after, **self._run
        )
        return replace(done, motion=carrying_last(done.motion, self._laid))

    def scene(self) -> Scene:
        self._shown_at = self._q[:2].copy()
        title = file_name(self._motion, "live")
        scene = clip_scene(self._character, self._q, self._ground.current, title=title)
        if not self._skins:
            return scene
        frame = self._frame
        return replace(
            scene,
            tracks=tuple(
                replace(track, skinned=Skinned(self._skins, places[None], turns[None]))
                for track, (places, turns) in zip(scene.tracks, self._joints(frame, self._q))
            ),
        )

    def is_changed(self) -> bool:
        is_due = self._ground_changed_at is not None and clock.monotonic() - self._ground_changed_at > SETTLE
        if is_due:
            self._ground_changed_at = None
            self._lay(self._q[:3])
        far = FARTHEST * self._character.leg_scale
        return is_due or bool(np.linalg.norm(self._q[:2] - self._shown_at) > far)

    def moment(self, hands: Sequence[Hand], *, is_paused: bool) -> Moment:
        live = self._begun()
        frame = self._frame
        moment = clip_moment(live.figure, self._poses[frame], hands, time=live.time, is_paused=is_paused)
        return replace(moment, poses=self._joints(frame, live.figure.q)) if self._skins else moment

    def grab(self, track: int, body: int, point: Array, target: Array) -> Hand:
        live = self._begun()
        body = self._body(body)
        held = Hand(body_of(self._character, track, body), body, point, target, self._character.mass, live.time)
        live.push(held)
        return held

    def push(self, track: int, body: int, force: Array, seconds: float) -> str:
        name, live = body_of(self._character, track, self._body(body)), self._begun()
        live.push(push_of(name, force, live.time, seconds))
        return name

    def set(self, name: str, value: float | bool | str) -> dict[str, float]:
        self._values[name] = float(value)
        if name == "physicality":
            figure = self._begun().figure
            figure.options = replace(figure.options, physicality=self._physicality())
            return {}
        if self._ground_changed_at is None:
            self._ground_changed_at = clock.monotonic()
        others = {other: 0.0 for other in GROUNDS if other != name and self._values[other]}
        self._values.update(others)
        return others

    @property
    def _frame(self) -> int:
        """The clip's frame of this moment."""
        return min(round(self.time / self._motion.dt), len(self._poses) - 1)

    def _joints(self, frame: int, q: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Places [m] (J, 3) and orientations (J, 4) of the skeleton's joints: of the figure at q, and of the clip."""
        clip = self._motion.frames(np.array([frame]))
        moved = apply_deviation(self._character, clip, self._poses[frame][None], q[None])
        (places, turns), (own_places, own_turns) = moved.world, clip.world
        return (places[0], turns[0]), (own_places[0], own_turns[0])

    def _body(self, part: int) -> int:
        """The body of what a page names: with a skin it counts joints."""
        return body_at(self._character, part, is_skinned=bool(self._skins))

    @property
    def _q(self) -> Array:
        return self._poses[0] if self._live is None else self._live.figure.q

    def _begun(self) -> Live:
        assert self._live is not None  # commands and states come between steps
        return self._live

    def _physicality(self) -> Physicality:
        """The run's own, times ten to the power of the slider."""
        knob = self._options.physicality
        if knob.is_off or knob.is_strict:
            return knob
        return replace(knob, factor=knob.factor * math.pow(10.0, self._values["physicality"]))

    def _lay(self, position: Array) -> None:
        v = self._values
        hill = Hill(v["slope"], v["stairs"], 0.6 * self._character.leg_scale, v["roughness"])
        if hill.slope or hill.stairs or hill.roughness or self._ground.current is not self._first:
            self._ground.change(hill, np.asarray(position), self._heading)
            self._laid.append((self.time, self._ground.current))


MOST_ARROWS = 6
"""Hands and pushes that are drawn at once."""

MOST_CORNERS = 12
"""Corners of the support polygon."""

LEAST_PRESS = 1.0
"""A contact point that pushes with less than this is not a corner of the support [N]."""


def figure_marks(character: Character) -> tuple[Overlay, ...]:
    """What is drawn over any live figure, still hidden: center of mass, support, forces, hands.

    `figure_numbers` fills it.

    Args:
        character: The figure.
    """
    none = np.full((1, max(len(_supports(character)), 1), 3), np.nan)
    size, scale = character.leg_scale, force_scale(character.leg_length, character.mass)
    return (
        Points("center of mass", "com", COM_COLOR, none[:, :1], 0.07 * size),
        Points("its projection", "com", COM_COLOR, none[:, :1], 0.10 * size, "ring"),
        Polygon("support polygon", "support", SUPPORT_COLOR, np.full((1, MOST_CORNERS, 3), np.nan)),
        Vectors("contact force", "forces", FORCE_COLOR, none, none, "N", 0.5 * scale, 0.03 * size),
        hands_mark(character),
    )


def hands_mark(character: Character) -> Vectors:
    """What hands pull with, still hidden, at the size of a figure; `hand_arrows` fills it."""
    none, scale = np.full((1, MOST_ARROWS, 3), np.nan), force_scale(character.leg_length, character.mass)
    return Vectors("hand", "pushes", ARROW_COLOR, none, none, "N", scale, 0.04 * character.leg_scale)


def figure_numbers(
    character: Character, state: State, touching: Index, forces: Array, hands: Sequence[Hand], *, below: float
) -> tuple[Array, ...]:
    """The arrays of a state for the overlays of `figure_marks`, in their order.

    Args:
        character: The figure.
        state: It, as it is now or was in the last step.
        touching: Indices of its points that touch, shape (N,).
        forces: What pushes them [N], shape (N, 3).
        hands: Those that hold something.
        below: Height of the ground under the center of mass [m].
    """
    com = state.com(state.model.roots[0]).copy()
    projection = np.array([*com[:2], below])
    return (
        com[None],
        projection[None],
        _polygon(state, touching, forces),
        _forces(character, state, touching, forces),
        hand_arrows(hands),
    )


OTHERS = "rest of the body"
"""Row of what touches the ground and is not a leg."""


def contact_rows(character: Character) -> tuple[Row, ...]:
    """A row of the timeline for each leg, and one for all else that touches the ground; `who_touches` fills them."""
    rows = [Row(leg.replace("_", " "), side_color(leg)) for leg in _legs(character)]
    return (*rows, Row(OTHERS, ROW_COLOR))


def who_touches(character: Character, touching: Index) -> tuple[bool, ...]:
    """For each row of `contact_rows` whether any of its points touches the ground now."""
    legs, limbs = _legs(character), limbs_of(character)
    found = {limbs[int(p)] for p in touching}
    return (*(leg in found for leg in legs), bool(found - set(legs)))


def _legs(character: Character) -> tuple[str, ...]:
    return tuple(limb.name for limb in character.limbs if limb.kind == "leg")


def clip_scene(character: Character, q: Array, terrain: Terrain, *, title: str) -> Scene:
    """A clip's live scene before its first state; `clip_moment` fills it.

    Args:
        character: The figure.
        q: A pose, shape (nq,).
        terrain: The ground as it lies.
        title: One line.
    """
    positions, orientations = body_poses(character, q[None])
    return Scene(
        np.zeros(1),
        (
            Track("simulated", character, positions, orientations, SOLID),
            Track("original", character, positions, orientations, GHOST),
        ),
        terrain,
        title=title,
        overlays=figure_marks(character),
        plots=(
            Plot("Change of the pose", "deg", (Series("simulated", SIMULATED_COLOR, np.zeros(1)),)),
            Plot("Outside help at the hips: force", "N", (Series("simulated", SIMULATED_COLOR, np.zeros(1)),)),
            Plot("Force of your hand", "N", (Series("hand", SIMULATED_COLOR, np.zeros(1)),)),
            Plot("Height of the center of mass", "m", (Series("height", COM_COLOR, np.zeros(1)),)),
        ),
        layers=LAYERS,
        timeline=contact_rows(character),
    )


def clip_moment(
    figure: SimulatedCharacter, reference_q: Array, hands: Sequence[Hand], *, time: float, is_paused: bool
) -> Moment:
    """The state of a running filter, in the layout of `clip_scene`.

    What touches is that of its last step; nothing does while it gets up, which no step computes.
    """
    character, last, state = figure.character, figure.last, figure.state
    if figure.rising is not None:  # poses, not physics: what the last step saw is long ago
        last, state = None, State(figure.model)
        state.move_to(figure.q, figure.v)
    positions, orientations = (a[0] for a in body_poses(character, figure.q[None]))
    ghost = tuple(a[0] for a in body_poses(character, reference_q[None]))
    com = state.com(figure.model.roots[0])
    below = float(figure.terrain.heights(com[None, :2], figure.time)[0])
    deviation = joint_deviations(character, reference_q[None], figure.q[None])[0]
    touching, forces, root = np.zeros(0, dtype=np.int64), np.zeros((0, 3)), float("nan")
    if last is not None:
        touching, forces, root = last.step.contacts.points, last.result.forces, _root_force(last)
    return Moment(
        time,
        ((positions, orientations), (ghost[0], ghost[1])),
        figure_numbers(character, state, touching, forces, hands, below=below),
        (float(np.sqrt(np.mean(deviation**2))), root, _pull(hands), float(com[2] - figure.floor)),
        is_paused,
        who_touches(character, touching),
    )


def _pull(hands: Sequence[Hand]) -> float:
    """Size of all that hands pull with [N]."""
    return float(sum(np.linalg.norm(hand.force) for hand in hands))


def _root_force(last: StepRecord) -> float:
    return float(np.linalg.norm((last.result.torque[:6] - last.reference.torque[:6])[:3]))


def _supports(character: Character) -> tuple[str, ...]:
    """The limb of each contact point, once each."""
    return tuple(dict.fromkeys(limbs_of(character)))


def _forces(character: Character, state: State, touching: Index, forces: Array) -> Array:
    """One arrow a limb: middle of its pressure and the whole force, shape (N, 6)."""
    names, limbs = _supports(character), limbs_of(character)
    arrows = np.full((max(len(names), 1), 6), np.nan)
    size = np.linalg.norm(forces, axis=1)
    least = LEAST_FORCE * character.mass * GRAVITY
    for k, name in enumerate(names):
        own = [i for i, p in enumerate(touching) if limbs[int(p)] == name]
        total = float(size[own].sum())
        if own and total > least:
            arrows[k, :3] = (size[own] / total) @ state.points[touching[own]]
            arrows[k, 3:] = forces[own].sum(axis=0)
    return arrows


def _polygon(state: State, touching: Index, forces: Array) -> Array:
    """Hull of the points that press, shape (MOST_CORNERS, 3)."""
    corners = np.full((MOST_CORNERS, 3), np.nan)
    flags = np.zeros((1, state.model.point_count), dtype=np.bool_)
    flags[0, touching[np.linalg.norm(forces, axis=1) > LEAST_PRESS]] = True
    points = np.ascontiguousarray(state.points[None])
    hull, counts = hulls(points, flags)
    count = int(counts[0])
    if count < 3:
        return corners
    places = np.minimum(np.arange(MOST_CORNERS) * (1 if count <= MOST_CORNERS else count / MOST_CORNERS), count - 1)
    return points[0, hull[0, places.astype(np.int64)]]


def hand_arrows(hands: Sequence[Hand]) -> Array:
    """The array of a state for `hands_mark`: place [m] and force [N] of each hand, shape (MOST_ARROWS, 6)."""
    arrows = np.full((MOST_ARROWS, 6), np.nan)
    for k, hand in enumerate(hands[:MOST_ARROWS]):
        arrows[k, :3], arrows[k, 3:] = hand.place, hand.force
    return arrows
