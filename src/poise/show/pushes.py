"""What pushed, pulled or held on: an arrow on the body that follows it, and a few words."""

from __future__ import annotations

import numpy as np

from poise.core import rotations
from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.filter.forces import Force, Pull, Push
from poise.filter.hand import Hand
from poise.show.look import ARROW_AFTERGLOW, ARROW_COLOR
from poise.show.scene import Arrow, Scene, Track, Vectors

LEGS_PER_WEIGHT = 1.5
"""Length of the arrow of a force as large as the figure's weight, in leg lengths."""


def arrow_of(push: Force, who: int, track: Track, times: Array) -> Arrow:
    """The arrow of a force on a track.

    Args:
        push: What acted.
        who: Index of the track.
        track: Whose body it acted on, over the T times.
        times: Of the scene [s], shape (T,).
    """
    body = push.body_of(track.character)
    point = track.character.bodies[body].com if push.offset is None else push.offset
    if isinstance(push, Push):
        force = np.array(push.force, dtype=np.float64)
    elif isinstance(push, Pull):
        force = push.stiffness * (np.array(push.point) - track.positions[:, body])
    elif isinstance(push, Hand):
        force = push.forces(times)
    else:
        raise TypeError(f"No arrow is known for a {type(push).__name__}.")
    end = min(push.start + push.duration, float(times[-1]))
    return Arrow(who, body, push.start, end, force, np.asarray(point), pulls=not isinstance(push, Push))


def words_of(push: Force) -> str:
    """Such as "chest, 300 N" or "hand on left_hand"."""
    if isinstance(push, Push):
        return f"{push.body}, {np.linalg.norm(push.force):.0f} N"
    return f"{'hand on' if isinstance(push, Hand) else 'pull of'} {push.body}"


def force_scale(leg_length: float, mass: float) -> float:
    """Drawn length of a newton on a figure [m/N]."""
    return LEGS_PER_WEIGHT * leg_length / (mass * GRAVITY)


def push_overlays(scene: Scene) -> list[Vectors]:
    """Pushes and pulls of a scene as arrows that follow their bodies; they stay a moment after they have ended."""
    found = []
    for pulls in (False, True):
        arrows = [a for a in scene.arrows if a.pulls is pulls]
        if not arrows:
            continue
        figure = scene.tracks[arrows[0].track].character
        vectors = np.stack([_force(scene, a) for a in arrows], axis=1)
        points = np.stack([_place(scene, a, vectors[:, k]) for k, a in enumerate(arrows)], axis=1)
        scale, width = force_scale(figure.leg_length, figure.mass), 0.04 * figure.leg_length
        name = "pull" if pulls else "push"
        color = (0.80, 0.25, 0.55) if pulls else ARROW_COLOR
        found.append(Vectors(name, "pushes", color, points, vectors, "N", scale, width, is_push=not pulls))
    return found


def _force(scene: Scene, arrow: Arrow) -> Array:
    force = np.array(np.broadcast_to(np.asarray(arrow.force, dtype=np.float64), (len(scene.times), 3)))
    is_on = (scene.times >= arrow.start_s - 1e-9) & (scene.times <= arrow.end_s + ARROW_AFTERGLOW)
    # what has ended shrinks away: at full length it would look as if it still pushed
    force *= np.clip(1.0 - (scene.times - arrow.end_s) / ARROW_AFTERGLOW, 0.0, 1.0)[:, None]
    return np.where(is_on[:, None], force, np.nan)


def _place(scene: Scene, arrow: Arrow, force: Array) -> Array:
    """Where the arrow touches the body's surface [m], shape (T, 3); NaN while nothing acts."""
    track = scene.tracks[arrow.track]
    turned = rotations.rotate(track.orientations[:, arrow.body], np.asarray(arrow.offset, dtype=np.float64))
    thick = max((c.radius for c in track.character.bodies[arrow.body].capsules), default=0.0)
    along = force / np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-12)
    return track.positions[:, arrow.body] + turned + (thick if arrow.pulls else -thick) * along
