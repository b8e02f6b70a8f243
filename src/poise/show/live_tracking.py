"""A tracked character as a live page shows it: the actor as a ghost, roles, style and tail changed while it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from poise.body.character import Character
from poise.body.posing import body_poses, q_to_motion
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.filter.forces import Hand
from poise.physics import State
from poise.physics.mujoco_backend import model_of
from poise.show.live import body_at, body_of, push_of
from poise.show.live_clip import FARTHEST, contact_rows, figure_marks, figure_numbers, who_touches
from poise.show.motion_scene import LIVE_VERTICES, skins_on
from poise.show.physics import COM_COLOR, LAYERS
from poise.show.protocol import Moment
from poise.show.result_scene import SIMULATED_COLOR
from poise.show.scene import GHOST, Control, Plot, Row, Scene, Series, Skinned, Track
from poise.terrain import Terrain
from poise.tracking.followers import Tracking
from poise.tracking.live import LiveResult
from poise.tracking.retarget import Role, yaw_turn

HELD_ROW = Row("root held", (0.80, 0.30, 0.25))
FREE, FOLLOWS, STANDS_WITH = "free", "follows {}", "stands with {}"
"""How the page names the roles of a limb."""


class LiveTracking:
    """A character that follows an actor, recorded or live; a `Source`.

    Args:
        follower: What follows.
        run: One round: follows its actor until it is over, or `is_over`, a function that it is given, says so.
        drawn: A motion of the character's own file, for its skin.
        title: Of the page.

    Attributes:
        is_over: Whether the last round came to its end by itself.
    """

    def __init__(
        self,
        follower: Tracking,
        run: Callable[..., LiveResult],
        *,
        drawn: Motion | None = None,
        title: str = "live",
    ) -> None:
        self._follower, self._run, self._title, self.is_over = follower, run, title, False
        self._drawn = drawn
        character = follower.character
        self._skins = skins_on(character, drawn, most=LIVE_VERTICES)
        self._settings = follower.settings
        self._beside = 1.5 * character.leg_length
        self._style = {name: 0.0 for name in character.rest_poses if name != "standing"} | follower.style
        self._last_ghost: tuple[Array, Array] | None = None
        self._resting = State(model_of(character))
        self._shown: tuple[Character | None, Array] = (None, np.zeros(2))

    @property
    def controls(self) -> tuple[Control, ...]:
        s, now = self._settings, self._follower.settings
        found = [
            Control("responsiveness", "Responsiveness", value=_power(now.responsiveness, s.responsiveness), **_TENFOLD),
            Control("beside", "Actor beside it", value=round(self._beside, 1), unit="m", low=-5.0, high=5.0, step=0.1),
        ]
        if any(role.kind == "free" for role in self._follower.roles):
            found.append(
                Control(
                    "tail", "Frequency of free limbs", value=_power(now.tail_frequency, s.tail_frequency), **_TENFOLD
                )
            )
        found += [
            Control(f"style {name}", f"Style: {name}", value=share, low=min(0.0, share), high=max(1.5, share))
            for name, share in self._style.items()
        ]
        actor = self._follower.actor
        if actor is not None:
            choices = (
                FREE,
                *(STANDS_WITH.format(limb.name) for limb in actor.limbs if limb.kind == "leg"),
                *(FOLLOWS.format(limb.name) for limb in actor.limbs),
            )
            found += [
                Control(f"role {role.limb}", _label(role.limb), "choice", _said(role), choices=choices)
                for role in self._follower.roles
                if _said(role) in choices
            ]
        return tuple(found)

    @property
    def time(self) -> float:
        return self._follower.time

    def begin(self) -> None:
        self._follower.begin()

    def play(self, watch: Callable[[], bool]) -> LiveResult:
        asked = False

        def ends() -> bool:
            nonlocal asked
            asked = not watch()
            return asked

        result = self._run(is_over=ends)
        self.is_over = not asked
        result.drawn = self._drawn
        return result

    def scene(self) -> Scene:
        follower = self._follower
        actor = self._followed
        self._shown = (actor, follower.q[:2].copy())
        positions, orientations = body_poses(follower.character, follower.q[None])
        tracks = [Track("character", follower.character, positions, orientations)]
        if self._skins:
            places, turns = self._joints()
            tracks[0] = replace(tracks[0], skinned=Skinned(self._skins, places[None], turns[None]))
        if actor is not None:
            places, turns = self._ghost(actor)
            tracks.append(Track("actor", actor, places[None], turns[None], GHOST))
        one = np.zeros(1)
        return Scene(
            np.array([follower.time]),
            tuple(tracks),
            follower.terrain or Terrain.flat(),
            title=self._title,
            overlays=figure_marks(follower.character),
            plots=tuple(Plot(name, unit, (Series("character", color, one),)) for name, unit, color in _PLOTS),
            layers=LAYERS,
            timeline=(*contact_rows(follower.character), HELD_ROW),
        )

    def is_changed(self) -> bool:
        actor, where = self._shown
        follower = self._follower
        far = FARTHEST * follower.character.leg_scale
        return actor is not self._followed or bool(np.linalg.norm(follower.q[:2] - where) > far)

    def moment(self, hands: Sequence[Hand], *, is_paused: bool) -> Moment:
        follower, tracker = self._follower, self._follower.tracker
        character, actor = follower.character, self._shown[0]
        poses = [self._joints() if self._skins else _first(body_poses(character, follower.q[None]))]
        if actor is not None:
            poses.append(self._ghost(actor))
        state, touching, forces, below = self._resting, np.zeros(0, dtype=np.int64), np.zeros((0, 3)), 0.0
        off, held, is_held = 0.0, 0.0, False
        if tracker is None or not tracker.time:  # it stands, or has just taken other roles
            state.move_to(follower.q, np.zeros(character.nv))
        else:
            state, touching, forces = tracker.state, tracker.touching, tracker.contact_forces
            below, is_held = tracker.floor, tracker.softness > 0.0
            off = float(np.linalg.norm(tracker.targets.place[0] - state.data.xpos[1]))
            held = tracker.counts.root_force[-1] if is_held and tracker.counts.root_force else 0.0
        com = state.com(state.model.roots[0])
        if follower.terrain is not None:
            below = float(follower.terrain.heights(com[None, :2])[0])
        return Moment(
            follower.time,
            tuple(poses),
            figure_numbers(character, state, touching, forces, hands, below=below),
            (off, held, float(com[2]) - below),
            is_paused,
            (*who_touches(character, touching), is_held),
        )

    def grab(self, track: int, body: int, point: Array, target: Array) -> Hand:
        name, index = self._body(track, body)
        tracker = self._begun().tracker
        assert tracker is not None
        held = Hand(name, index, point, target, self._follower.character.mass, self.time)
        self._follower.push(held)
        return held

    def push(self, track: int, body: int, force: Array, seconds: float) -> str:
        name, _ = self._body(track, body)
        tracker = self._begun().tracker
        assert tracker is not None
        self._follower.push(push_of(name, force, tracker.time, seconds))
        return name

    def set(self, name: str, value: float | bool | str) -> None:
        follower, s = self._follower, self._settings
        kind, _, which = name.partition(" ")
        if kind == "role":
            follower.set_roles([_role(r.limb, str(value)) if r.limb == which else r for r in follower.roles])
        elif kind == "style":
            self._style[which] = float(value)
            follower.set_style(self._style)
        elif kind == "beside":
            self._beside = float(value)
        elif kind == "responsiveness":
            follower.set_weights(replace(follower.settings, responsiveness=s.responsiveness * 10.0 ** float(value)))
        else:
            follower.set_weights(replace(follower.settings, tail_frequency=s.tail_frequency * 10.0 ** float(value)))

    def _begun(self) -> Tracking:
        if self._follower.tracker is None:
            raise InvalidValue("There is no actor yet; nothing can be held or pushed.")
        return self._follower

    def _body(self, track: int, part: int) -> tuple[str, int]:
        """Name and index of the body of what a page names: with a skin it counts joints."""
        index = body_at(self._follower.character, part, is_skinned=bool(self._skins))
        return body_of(self._follower.character, track, index), index

    def _joints(self) -> tuple[Array, Array]:
        """Places [m] (J, 3) and orientations (J, 4) of the joints of the character's skeleton."""
        return _first(q_to_motion(self._follower.character, self._follower.q[None], np.zeros(1)).world)

    def _ghost(self, actor: Character) -> tuple[Array, Array]:
        """Places and orientations of the actor's bodies beside where the character should be, turned as it is."""
        follower, tracker = self._follower, self._follower.tracker
        assert tracker is not None
        assert follower.pose is not None
        if not tracker.time and self._last_ghost is not None:  # other roles were just given, nothing is aimed at yet
            return self._last_ghost
        places, turns = _first(body_poses(actor, follower.pose[None]))
        theirs, ours = tracker.facing
        about = yaw_turn(ours - theirs)
        where = tracker.targets.place[0] + rotations.rotate(yaw_turn(ours), np.array([0.0, self._beside, 0.0]))
        where[2] = places[0, 2] - (tracker.actor_floor or 0.0) + tracker.floor
        self._last_ghost = (where + rotations.rotate(about, places - places[0]), rotations.multiply(about, turns))
        return self._last_ghost

    @property
    def _followed(self) -> Character | None:
        """The actor, once the character follows it."""
        return None if self._follower.pose is None else self._follower.actor


_PLOTS = (
    ("Pelvis from its target", "m", SIMULATED_COLOR),
    ("Force that holds the root", "N", SIMULATED_COLOR),
    ("Height of the center of mass", "m", COM_COLOR),
)
_TENFOLD: Any = {"low": -0.7, "high": 0.7, "step": 0.05, "is_power": True}


def _power(value: float, of: float) -> float:
    return float(np.log10(value / of))


def _first(poses: tuple[Array, Array]) -> tuple[Array, Array]:
    return poses[0][0], poses[1][0]


def _label(limb: str) -> str:
    return limb.replace("_", " ").capitalize()


def _said(role: Role) -> str:
    """How the page calls a role."""
    if not role.actor:
        return FREE
    return (STANDS_WITH if role.kind == "support" else FOLLOWS).format(role.actor)


def _role(limb: str, said: str) -> Role:
    if said == FREE:
        return Role(limb, "free")
    kind, _, actor = said.rpartition(" ")
    return Role(limb, "support" if kind == STANDS_WITH.rpartition(" ")[0] else "targeted", actor)
