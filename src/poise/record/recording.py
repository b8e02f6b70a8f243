"""A scene as a file of pictures: `record` picks the writer by the file's extension."""

from __future__ import annotations

import logging
import os
import time as clock
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from poise.errors import InvalidValue, PoiseError
from poise.record import film, gl
from poise.record.camera import Camera, Follow, travel_heading
from poise.record.look import ARROW_AFTERGLOW, Look
from poise.record.plain import PlainPainter
from poise.record.strip import compose
from poise.scene import Scene

Array = npt.NDArray[np.float64]
Picture = npt.NDArray[np.uint8]
Progress = Callable[[int, int], None]

log = logging.getLogger(__name__)

EXTENSIONS = (".png", ".gif", ".mp4")
LARGEST_SIDE = 4096
MOST_FRAMES = {".png": 64, ".gif": 3000, ".mp4": 40_000}

_STILLS = 10
_STRIP_WIDTH = 2000  # of a strip whose stills were given no size [px]
_FILM_SIZE = {".gif": (640, 360), ".mp4": (960, 540)}


@dataclass(frozen=True)
class Recording:
    """What was written.

    Attributes:
        path: The file.
        painter: "mujoco/egl", "mujoco/osmesa", … or "plain".
        note: A sentence for the user where the pictures are not what was hoped for, else empty.
        frames: Pictures drawn.
        seconds: How long it took [s].
    """

    path: Path
    painter: str
    note: str
    frames: int
    seconds: float


def record(
    scene: Scene,
    path: str | os.PathLike[str],
    *,
    width: int | None = None,
    height: int | None = None,
    fps: float = 30.0,
    times: Sequence[float] | Array | None = None,
    camera: str | Camera | Sequence[str | Camera] = "side",
    painter: str = "auto",
    progress: Progress | None = None,
) -> Recording:
    """Draw a scene into a file: `.png` a strip of stills, `.gif` or `.mp4` a film.

    Args:
        scene: What is seen.
        path: The file; its extension picks the kind. An existing file is replaced when the new one is whole.
        width: Of one picture or still [px]; default 640 (gif), 960 (mp4), or what fits the figure (png).
        height: Of one picture or still [px].
        fps: Pictures per second of a film; a GIF takes the nearest whole hundredth of a second.
        times: For a strip, the times of its stills; for a film, its first and last time [s]. Default: all.
        camera: "side" (travel from left to right), "front", "back", "quarter", "top", or a `Camera`;
            for a strip, several give a row each.
        painter: "auto" (MuJoCo's renderer, or the plain drawing where no GL is to be had), "mujoco" or "plain".
        progress: Called with pictures done and pictures in all.

    Returns:
        What was written, and a note where the plain drawing had to do.

    Raises:
        InvalidValue: unknown extension, size, rate, times, view or painter, or a folder that does not exist.
        MissingExtra: for `.mp4` without the extra "video".
        PoiseError: for `.html`, which cannot be written yet, and for painter "mujoco" without GL.
    """
    began = clock.perf_counter()
    path = Path(path)
    kind = _kind(path)
    if kind == ".mp4":
        film.require_video()
    cameras = [
        c if isinstance(c, Camera) else Camera(c) for c in ([camera] if isinstance(camera, (str, Camera)) else camera)
    ]
    if not cameras or (kind != ".png" and len(cameras) > 1):
        raise InvalidValue(f"{len(cameras)} cameras for {path.name!r}: a film takes one, a strip one per row.")
    if not (np.isfinite(fps) and 0.0 < fps <= 240.0):
        raise InvalidValue(f"Recording at {fps} pictures per second: give a rate above 0 and up to 240.")
    step = film.gif_step(fps) if kind == ".gif" else 1.0 / fps
    moments = _still_times(scene, times) if kind == ".png" else _film_times(scene, times, step)
    if len(moments) > MOST_FRAMES[kind]:
        raise InvalidValue(
            f"{len(moments)} pictures are too many for {path.name!r} (at most {MOST_FRAMES[kind]}). "
            "Lower fps, or give times=(first, last)."
        )
    follows = [Follow(scene, c) for c in cameras]
    size = _size(kind, width, height, follows, len(moments))
    platform, note = _pick(painter)
    if note:
        log.warning(note)
    name = f"mujoco/{platform}" if platform else "plain"
    count = len(moments) * len(cameras)
    look = Look(scene)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if platform is None:
            drawing = PlainPainter(scene, *size)
        else:
            drawing = gl.GLPainter(scene, platform, *size, heading=travel_heading(scene))
        with drawing:

            def pictures() -> Iterator[Picture]:
                done = 0
                for follow in follows:
                    for moment in moments:
                        yield drawing.paint(look.still(float(moment)), follow.shot(float(moment), size[0] / size[1]))
                        done += 1
                        if progress is not None:
                            progress(done, count)

            if kind == ".mp4":
                film.write_mp4(pictures(), beside, fps)
            elif kind == ".gif":
                film.write_gif(pictures(), beside, step)
            else:
                _write_strip(scene, list(pictures()), moments, cameras, beside)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    return Recording(path, name, note, count, clock.perf_counter() - began)


def _kind(path: Path) -> str:
    kind = path.suffix.lower()
    known = ", ".join(EXTENSIONS)
    if kind in (".html", ".htm"):
        raise PoiseError(f"Recordings as HTML pages are not there yet. Record {path.stem!r} as one of: {known}.")
    if kind not in EXTENSIONS:
        raise InvalidValue(f"Cannot record to {path.name!r}: extension {kind or '(none)'!r} is not one of {known}.")
    if not path.parent.is_dir():
        raise InvalidValue(
            f"Cannot record to {str(path)!r}: the folder {str(path.parent)!r} does not exist. Create it first."
        )
    return kind


def _pick(painter: str) -> tuple[str | None, str]:
    """GL platform, or None for the plain drawing, and what the user should know."""
    if painter == "plain":
        return None, ""
    if painter not in ("auto", "mujoco"):
        raise InvalidValue(f"No painter {painter!r}. Painters: auto, mujoco, plain.")
    platform, found = gl.probe()
    if platform is not None:
        return platform, ""
    if painter == "mujoco":
        raise PoiseError(
            f"{found} On Debian or Ubuntu: apt install libegl1 libegl-mesa0 libgl1-mesa-dri. Or use painter 'auto'."
        )
    return None, f"{found} The pictures are a plain drawing instead."


def _still_times(scene: Scene, times: Sequence[float] | Array | None) -> Array:
    first, last = float(scene.times[0]), float(scene.times[-1])
    if times is not None:
        moments = np.asarray(times, dtype=np.float64).reshape(-1)
        if len(moments) == 0 or not np.isfinite(moments).all():
            raise InvalidValue("The times of a strip must be finite numbers, at least one.")
        if moments.min() < first - 1e-6 or moments.max() > last + 1e-6:
            raise InvalidValue(
                f"Strip times {moments.min():g} … {moments.max():g} s lie outside {first:g} … {last:g} s."
            )
        return moments
    moments = np.linspace(first, last, _STILLS if len(scene.times) > 1 else 1)
    # a push is shorter than the step between stills: move the nearest one onto its end, where the arrow still stands
    for arrow in scene.arrows:
        if not ((moments >= arrow.start_s) & (moments <= arrow.end_s + 0.5 * ARROW_AFTERGLOW)).any():
            moments[int(np.argmin(np.abs(moments - arrow.end_s)))] = np.clip(arrow.end_s, first, last)
    return np.sort(moments)


def _film_times(scene: Scene, times: Sequence[float] | Array | None, step: float) -> Array:
    first, last = float(scene.times[0]), float(scene.times[-1])
    if times is not None:
        span = np.asarray(times, dtype=np.float64).reshape(-1)
        if span.shape != (2,) or not np.isfinite(span).all() or not first - 1e-6 <= span[0] < span[1] <= last + 1e-6:
            raise InvalidValue(
                f"A film takes times=(first, last) within {first:g} … {last:g} s; got {np.asarray(times)}."
            )
        first, last = float(span[0]), float(span[1])
    return first + step * np.arange(int(np.floor((last - first) / step + 1e-6)) + 1, dtype=np.float64)


def _size(kind: str, width: int | None, height: int | None, follows: list[Follow], count: int) -> tuple[int, int]:
    wide, tall = max(f.width for f in follows), max(f.height for f in follows)
    aspect = float(np.clip(wide / tall, 0.6, 1.7)) if kind == ".png" else 16.0 / 9.0
    if width is None and height is None:
        if kind == ".png":
            per_row = count if aspect < 0.9 and count <= 10 else (count + 1) // 2
            width = int(np.clip(_STRIP_WIDTH // max(per_row, 1), 180, 420))
        else:
            width, height = _FILM_SIZE[kind]
    if width is None and height is not None:
        width = round(height * aspect)
    if height is None and width is not None:
        height = round(width / aspect)
    assert width is not None
    assert height is not None
    if not (16 <= width <= LARGEST_SIDE and 16 <= height <= LARGEST_SIDE):
        raise InvalidValue(f"A picture of {width} x {height} pixels: each side must be 16 … {LARGEST_SIDE}.")
    return width + width % 2, height + height % 2


def _write_strip(scene: Scene, pictures: list[Picture], moments: Array, cameras: list[Camera], path: Path) -> None:
    width, count = pictures[0].shape[1], len(moments)
    per_row = count if count * width <= 1.3 * _STRIP_WIDTH else -(-count // max(2, -(-count * width // _STRIP_WIDTH)))
    rows = []
    for c, camera in enumerate(cameras):
        label = f"  {camera.view}" if len(cameras) > 1 else ""
        shown = [(pictures[c * count + k], f"{moments[k]:.2f} s{label}") for k in range(count)]
        rows += [shown[k : k + per_row] for k in range(0, count, per_row)]
    note = ", ".join(f"{t.name} (translucent)" if t.style.kind == "ghost" else t.name for t in scene.tracks)
    compose(rows, title=scene.title, note=note).save(path, format="PNG", optimize=False)
