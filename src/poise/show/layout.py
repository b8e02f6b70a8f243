"""Which moments a recording shows, and how large."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from poise.core.errors import InvalidValue
from poise.show.camera import Follow
from poise.show.look import ARROW_AFTERGLOW
from poise.show.scene import Scene

Array = npt.NDArray[np.float64]

LARGEST_SIDE = 2048
"""Longest side of one picture [px]."""

LARGEST_STRIP = 80_000_000
"""Most pixels of all stills of a strip together."""

MOST_FRAMES = {".png": 64, ".gif": 1500, ".mp4": 40_000}
"""Most moments of a strip or a film."""

STRIP_WIDTH = 2000
"""About how wide a strip becomes whose stills were given no size [px]."""

FILM_SIZE = {".gif": (640, 360), ".mp4": (848, 480)}
"""Width and height of a film [px] if none is given: with software GL, ten seconds are drawn in about half a minute."""

_STILLS = 10


def still_times(scene: Scene, times: Sequence[float] | Array | None) -> Array:
    """Times of a strip's stills [s]: those asked for, or evenly spaced with every push in one of them.

    Raises:
        InvalidValue: if a time is not finite or not within the scene.
    """
    first, last = float(scene.times[0]), float(scene.times[-1])
    if times is not None:
        moments = np.asarray(times, dtype=np.float64).reshape(-1)
        if len(moments) == 0 or not np.isfinite(moments).all():
            raise InvalidValue("The times of a strip must be finite numbers, at least one.")
        if moments.min() < first - 1e-6 or moments.max() > last + 1e-6:
            raise InvalidValue(
                f"Strip times {moments.min():g} … {moments.max():g} s lie outside {first:g} … {last:g} s."
            )
        return _limited(moments, ".png")
    moments = np.linspace(first, last, _STILLS if len(scene.times) > 1 else 1)
    # a push is shorter than the step between stills: move the nearest one onto its end, where the arrow still stands
    for arrow in scene.arrows:
        if not ((moments >= arrow.start_s) & (moments <= arrow.end_s + 0.5 * ARROW_AFTERGLOW)).any():
            moments[int(np.argmin(np.abs(moments - arrow.end_s)))] = np.clip(arrow.end_s, first, last)
    return np.sort(moments)


def film_times(scene: Scene, times: Sequence[float] | Array | None, step: float, kind: str) -> Array:
    """Times of a film's pictures [s], `step` apart, over the whole scene or from a first to a last time.

    Raises:
        InvalidValue: if the two times are not within the scene, or there would be too many pictures.
    """
    first, last = float(scene.times[0]), float(scene.times[-1])
    if times is not None:
        span = np.asarray(times, dtype=np.float64).reshape(-1)
        if span.shape != (2,) or not np.isfinite(span).all() or not first - 1e-6 <= span[0] < span[1] <= last + 1e-6:
            raise InvalidValue(f"A film takes times=(first, last) within {first:g} … {last:g} s; got {times}.")
        first, last = float(span[0]), float(span[1])
    return _limited(first + step * np.arange(int(np.floor((last - first) / step + 1e-6)) + 1, dtype=np.float64), kind)


def picture_size(
    kind: str, width: int | None, height: int | None, follows: Sequence[Follow], count: int
) -> tuple[int, int]:
    """Width and height of one picture [px], even numbers; a strip's stills are as wide as what they show needs.

    Args:
        kind: ".png", ".gif" or ".mp4".
        width: As asked for [px], or None.
        height: As asked for [px], or None.
        follows: The cameras; one size serves all.
        count: Stills of one camera in a strip.

    Raises:
        InvalidValue: if a side or a whole strip is out of range.
    """
    aspect = 16.0 / 9.0
    if kind == ".png":
        aspect = float(np.clip(max(f.width for f in follows) / max(f.height for f in follows), 0.6, 1.7))
    if width is None and height is None:
        if kind == ".png":
            per_row = count if aspect < 0.9 and count <= 10 else (count + 1) // 2
            width = int(np.clip(STRIP_WIDTH // max(per_row, 1), 180, 420))
        else:
            width, height = FILM_SIZE[kind]
    wide = width if width is not None else round((height or 0) * aspect)
    tall = height if height is not None else round(wide / aspect)
    if not (16 <= wide <= LARGEST_SIDE and 16 <= tall <= LARGEST_SIDE):
        raise InvalidValue(f"A picture of {wide} x {tall} pixels: each side must be 16 … {LARGEST_SIDE}.")
    if kind == ".png" and wide * tall * count * len(follows) > LARGEST_STRIP:
        raise InvalidValue(
            f"A strip of {count * len(follows)} stills of {wide} x {tall} pixels is too large "
            f"(at most {LARGEST_STRIP // 1_000_000} million pixels). Ask for smaller or fewer stills."
        )
    return wide + wide % 2, tall + tall % 2


def stills_per_row(width: int, count: int) -> int:
    """How many stills of one camera stand side by side: all if they about fit, else rows of equal length."""
    if count * width <= 1.3 * STRIP_WIDTH:
        return count
    rows = -(-count * width // STRIP_WIDTH)
    return -(-count // rows)


def _limited(moments: Array, kind: str) -> Array:
    if len(moments) > MOST_FRAMES[kind]:
        cure = "Lower fps, give times=(first, last), or record an .mp4." if kind == ".gif" else "Ask for fewer."
        raise InvalidValue(f"{len(moments)} pictures are too many for a {kind} (at most {MOST_FRAMES[kind]}). {cure}")
    return moments
