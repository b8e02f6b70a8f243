"""What pushed, pulled or held on in a run: an arrow on the body, and a few words."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poise.filter.forces import Force, Pull, Push
from poise.filter.hand import Hand
from poise.show.scene import Arrow, Track

Array = npt.NDArray[np.float64]


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
