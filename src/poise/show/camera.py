"""Where the camera stands: beside the figure, along its way, with its feet on the same line of the picture."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import gaussian_filter1d

from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.typing import Array
from poise.show.look import push_overlays
from poise.show.scene import Scene, Skinned

VIEWS = {
    "side": (90.0, -8.0),
    "front": (180.0, -8.0),
    "back": (0.0, -8.0),
    "quarter": (130.0, -14.0),
    "top": (90.0, -89.0),
}
"""Azimuth from the direction of travel and elevation [deg] of each named view."""

FIELD_OF_VIEW = 24.0
"""Vertical field of view [deg]: a long lens, so that what is near does not grow."""

_FOLLOW = 0.45  # standard deviation of the camera's smoothing [s]
_BELOW = 0.4  # ground deeper below the lowest place than this, in heights of the figure, is not shown
_BEHIND = 0.6  # the camera stays at most so far behind a figure that is thrown, in its heights
_WAYS = np.array([w for w in np.ndindex(3, 3, 3) if w != (1, 1, 1)], dtype=np.float64) - 1.0  # to all sides
_FEET = 0.14  # the ground under the figure stands at least this far up the picture


@dataclass(frozen=True)
class Camera:
    """How a scene is looked at.

    Attributes:
        view: A name of `VIEWS`; "side" has the travel from left to right.
        heading: Direction of travel about the vertical [deg], 0 along x; None finds it in the scene.
        elevation: Look up (+) or down (-) [deg]; None takes the view's own.
        zoom: 1 fits the whole clip; 2 shows everything twice as large.
    """

    view: str = "side"
    heading: float | None = None
    elevation: float | None = None
    zoom: float = 1.0

    def __post_init__(self) -> None:
        if self.view not in VIEWS:
            raise InvalidValue(f"No camera view {self.view!r}. Views: {', '.join(VIEWS)}.")
        if not 0.0 < self.zoom < 100.0:
            raise InvalidValue(f"Camera zoom {self.zoom} must be above 0 and below 100; 1 fits the clip.")


@dataclass(frozen=True)
class Shot:
    """The camera at one time.

    Attributes:
        target: Point in the middle of the picture, in the world frame [m], shape (3,).
        azimuth: Direction the camera looks, about the vertical [deg]: 0 along x, 90 along y.
        elevation: Up (+) or down (-) [deg].
        height: Height of the picture at the target [m].
    """

    target: Array
    azimuth: float
    elevation: float
    height: float

    @property
    def distance(self) -> float:
        """From the camera to its target [m]."""
        return 0.5 * self.height / float(np.tan(np.radians(0.5 * FIELD_OF_VIEW)))

    @property
    def right(self) -> Array:
        """Unit vector to the right of the picture, in the world frame."""
        az = np.radians(self.azimuth)
        return np.array([np.sin(az), -np.cos(az), 0.0])

    @property
    def forward(self) -> Array:
        """Unit vector into the picture, in the world frame."""
        az, el = np.radians(self.azimuth), np.radians(self.elevation)
        return np.array([np.cos(el) * np.cos(az), np.cos(el) * np.sin(az), np.sin(el)])

    @property
    def up(self) -> Array:
        """Unit vector to the top of the picture, in the world frame."""
        return np.cross(self.right, self.forward)


class Follow:
    """A camera that goes along with the figures of a scene.

    Attributes:
        width: Width the picture needs at the target so that nothing is cut [m].
        height: Height it needs [m].
    """

    def __init__(self, scene: Scene, camera: Camera) -> None:
        azimuth, elevation = VIEWS[camera.view]
        heading = travel_heading(scene) if camera.heading is None else camera.heading
        self._azimuth = heading + azimuth
        self._elevation = elevation if camera.elevation is None else camera.elevation
        self._zoom = camera.zoom
        self._times = scene.times
        low, high, centers = _extent(scene)
        # ground far below all that happens is not part of the picture
        ground = np.maximum(_ground(scene, centers), low[:, 2].min() - _BELOW * stature(scene))
        shot = Shot(np.zeros(3), self._azimuth, self._elevation, 1.0)
        step = scene.duration / max(len(scene.times) - 1, 1)
        path = np.column_stack([centers[:, :2], ground])
        smooth = _smooth(path, _FOLLOW / step) if step > 0.0 else path
        smooth = path + _shortened(smooth - path, _BEHIND * stature(scene))
        self.width, self.height, self._feet = _framing(_corners(low, high, smooth), shot, 0.5 * stature(scene))
        self._path = smooth

    def shot(self, time: float, aspect: float) -> Shot:
        """The camera at a time [s] for a picture of a given width over height."""
        target = np.array([np.interp(time, self._times, self._path[:, k]) for k in range(3)])
        height = max(self.height, self.width / aspect) / self._zoom
        shot = Shot(target, self._azimuth, self._elevation, height)
        return replace(shot, target=target + (0.5 - self._feet) * height * shot.up)


def _shortened(vectors: Array, most: float) -> Array:
    """The vectors (…, 3), none longer than `most` [m]."""
    size = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors * np.minimum(1.0, most / np.maximum(size, 1e-12))


def _smooth(path: Array, frames: float) -> Array:
    """A path (T, 3) without its quick parts; carried on beyond its ends, so that the camera does not lag there."""
    margin = min(int(np.ceil(3.0 * frames)), len(path) - 1)
    longer = np.pad(path, ((margin, margin), (0, 0)), mode="reflect", reflect_type="odd")
    return np.asarray(gaussian_filter1d(longer, frames, axis=0, mode="nearest"))[margin : margin + len(path)]


def _framing(corners: Array, shot: Shot, least: float) -> tuple[float, float, float]:
    """What a picture must hold.

    Args:
        corners: Boxes around the figures, seen from the ground under them [m], shape (T, 8, 3).
        shot: A camera that looks the right way.
        least: Height above the ground that is shown in any case [m].

    Returns:
        Width and height of the picture at the figure [m], and where in it the ground under the figure stands (0 … 1).
    """
    sides, ups, depths = corners @ shot.right, corners @ shot.up, corners @ shot.forward
    width = height = max(float(np.ptp(ups)), 1e-3)
    feet = _FEET
    # what is near is drawn larger: by how much depends on the distance, and that on the picture's height
    for _ in range(4):
        distance = replace(shot, height=height).distance
        near = distance / np.maximum(distance + depths, 0.2 * distance)
        above = max(float(np.percentile((ups * near).max(axis=1), 99.5)), least * abs(float(shot.up[2])))
        below = 1.12 * max(float(np.percentile((-ups * near).max(axis=1), 99.5)), 0.0)
        below = max(below, _FEET / (1.0 - _FEET) * 1.12 * above)
        width, height = 2.2 * float(np.abs(sides * near).max()), 1.12 * above + below
        feet = below / height
    return width, height, feet


def grid_cell(height: float) -> float:
    """Side of the ground's squares [m] for a picture of some height [m]: 1 m for people, 0.1 m for mice."""
    return float(10.0 ** np.round(np.log10(max(height, 1e-6) / 2.0)))


def travel_heading(scene: Scene) -> float:
    """Direction of travel about the vertical [deg]; of a figure that comes back its way out, else where it faces."""
    track = _followed(scene)[0]
    away = track.positions[:, 0, :2] - track.positions[0, 0, :2]
    for x, y in (away[-1], away[np.argmax(np.linalg.norm(away, axis=1))]):
        if np.hypot(x, y) > 0.8 * track.character.leg_length:
            return float(np.degrees(np.arctan2(y, x)))
    facing = _facing(scene)
    return float(np.degrees(np.arctan2(facing[1], facing[0])))


def _facing(scene: Scene) -> Array:
    """Mean direction the first figure faces in the ground plane, shape (2,), from its left and right limbs."""
    track = _followed(scene)[0]
    limbs = {limb.name.lower(): limb for limb in track.character.limbs if limb.bodies}
    total = np.zeros(2)
    for name, limb in limbs.items():
        other = limbs.get(name.replace("left", "right", 1))
        if name.startswith("left") and other is not None:
            across = (track.positions[:, limb.bodies[0]] - track.positions[:, other.bodies[0]])[:, :2]
            total += np.stack([across[:, 1], -across[:, 0]], axis=-1).mean(axis=0)  # facing = left turned by -90 deg
    if np.linalg.norm(total) > 1e-6:
        return total
    return rotations.rotate(track.orientations[0, 0], np.array([1.0, 0.0, 0.0]))[:2] + 1e-9


def _followed(scene: Scene) -> list:
    solid = [t for t in scene.tracks if t.style.kind == "solid"]
    return solid or list(scene.tracks)


def stature(scene: Scene) -> float:
    """Height of the followed figure, standing [m]."""
    return max(2.0 * t.character.leg_length for t in _followed(scene))


def _extent(scene: Scene) -> tuple[Array, Array, Array]:
    """Lowest and highest corner of all solid figures and what pushes them, and their middle [m], each (T, 3)."""
    lows, highs, centers = [], [], []
    for t in _followed(scene):
        pairs = [(i, c) for i, b in enumerate(t.character.bodies) for c in b.capsules]
        bodies = [i for i, _ in pairs]
        ends = [np.array([c.start for _, c in pairs]), np.array([c.end for _, c in pairs])]
        radii = np.array([c.radius for _, c in pairs])[:, None]
        points = [t.positions[:, bodies] + rotations.rotate(t.orientations[:, bodies], e) for e in ends]
        low, high = np.minimum(*points).__sub__(radii).min(axis=1), np.maximum(*points).__add__(radii).max(axis=1)
        if t.skinned is not None:  # antlers, wings, hats: skin that no capsule holds
            skin = skin_reach(t.skinned)
            low, high = np.minimum(low, skin.min(axis=1)), np.maximum(high, skin.max(axis=1))
        lows.append(low)
        highs.append(high)
        mass = np.array([b.mass for b in t.character.bodies])
        centers.append(np.einsum("tbk,b->tk", t.positions, mass / mass.sum()))
    low, high = np.min(lows, axis=0), np.max(highs, axis=0)
    for pushes in push_overlays(scene):
        back = np.nan_to_num(pushes.vectors * pushes.scale * (-1.0 if pushes.is_push else 1.0))
        back = _shortened(back, stature(scene))  # a longer arrow leaves the picture
        ends = np.where(np.isfinite(pushes.points), pushes.points + back, low[:, None])
        low, high = np.minimum(low, ends.min(axis=1)), np.maximum(high, ends.max(axis=1))
    return low, high, np.mean(centers, axis=0)


def skin_reach(skinned: Skinned) -> Array:
    """Outermost points of a figure's skin over time [m], shape (T, N, 3).

    Of the vertices that hang most on a joint those that reach farthest in each of `_WAYS` in its frame go with it.
    """
    reach = [np.zeros((len(skinned.positions), 0, 3))]
    for skin in skinned.skins:
        main = np.take_along_axis(skin.joints, skin.weights.argmax(axis=1)[:, None], axis=1)[:, 0]
        drawn = np.unique(skin.indices)
        for joint in np.unique(main[drawn]):
            own = skin.vertices[drawn[main[drawn] == joint]].astype(np.float64)
            bind = skin.inverse_binds[joint]
            own = own @ bind[:3, :3].T + bind[:3, 3]
            outer = own[np.unique((own @ _WAYS.T).argmax(axis=0))]
            turned = rotations.rotate(skinned.orientations[:, None, joint], outer[None])
            reach.append(skinned.positions[:, None, joint] + turned)
    return np.concatenate(reach, axis=1)


def _corners(low: Array, high: Array, center: Array) -> Array:
    """Eight corners of each frame's box as seen from its center [m], shape (T, 8, 3)."""
    pick = np.array([[(k >> a) & 1 for a in range(3)] for k in range(8)], dtype=bool)
    return np.where(pick[None], high[:, None], low[:, None]) - center[:, None]


def _ground(scene: Scene, centers: Array) -> Array:
    """Height of the ground under each center [m], shape (T,)."""
    if scene.terrain.is_static:
        return np.asarray(scene.terrain.sample(centers[:, :2], float(scene.times[0])).height, dtype=np.float64)
    return np.array(
        [float(scene.terrain.sample(c[None, :2], float(t)).height[0]) for t, c in zip(scene.times, centers)]
    )
