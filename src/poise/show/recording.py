"""A scene as a page or a file of pictures: `record` picks the writer by the file's extension.

Pictures are strips of stills, or films: MP4 by PyAV (extra "video"), GIF by Pillow.
"""

from __future__ import annotations

import logging
import os
import time as clock
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from poise.core.errors import InvalidValue, MissingExtra, PoiseError, install_line
from poise.core.typing import Array
from poise.io.files import whole_file, write_atomically
from poise.io.format import RECORDED
from poise.show import browser, page
from poise.show.camera import Camera, Follow
from poise.show.join import side_by_side
from poise.show.look import ARROW_AFTERGLOW, ARROW_COLOR, Look
from poise.show.pack import pack
from poise.show.plain import PlainPainter
from poise.show.scene import Scene

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
BEFORE_PUSH, AFTER_PUSH = 0.3, 2.0
"""What a strip shows before the first push, as the player does, and after the last: a step or two [s]."""


def still_times(scene: Scene, times: Sequence[float] | Array | None) -> Array:
    """Times of a strip's stills [s]: those asked for, or evenly spaced with every push in one of them.

    They go from shortly before the first push until shortly after the last, where the scene is longer than that.

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
    if scene.arrows:
        first = max(first, min(a.start_s for a in scene.arrows) - BEFORE_PUSH)
        last = min(last, max(a.end_s for a in scene.arrows) + AFTER_PUSH)
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


Picture = npt.NDArray[np.uint8]

_INK = (40, 46, 54)
_PAPER = (255, 255, 255)
_GAP = 3  # between stills [px]


def compose(rows: Sequence[Sequence[tuple[Picture, str]]], *, title: str = "", note: str = "") -> Any:
    """Stills with captions in rows, as a Pillow image.

    Args:
        rows: Each row's pictures, all of one size (H, W, 3), with a caption each.
        title: One line above all, or empty.
        note: One small line at the right of the title, or empty.

    Returns:
        The image (`PIL.Image.Image`).
    """
    from PIL import Image, ImageDraw, ImageFont

    height, width = rows[0][0][0].shape[:2]
    columns = max(len(row) for row in rows)
    text = max(13, round(height / 20))
    head = round(1.9 * text) if title or note else 0
    sheet = Image.new("RGB", (columns * (width + _GAP) - _GAP, head + len(rows) * (height + _GAP) - _GAP), _PAPER)
    draw = ImageDraw.Draw(sheet)
    large, font, small = (ImageFont.load_default(size=s) for s in (round(1.15 * text), text, round(0.85 * text)))
    if title:
        draw.text((0.6 * text, 0.5 * head), title, fill=_INK, font=large, anchor="lm")
    if note:
        draw.text((sheet.width - 0.6 * text, 0.5 * head), note, fill=(120, 126, 134), font=small, anchor="rm")
    for r, row in enumerate(rows):
        for c, (picture, caption) in enumerate(row):
            x, y = c * (width + _GAP), head + r * (height + _GAP)
            sheet.paste(Image.fromarray(picture), (x, y))
            draw.text((x + 0.5 * text, y + 0.35 * text), caption, fill=_INK, font=font)
    return sheet


def labeled(picture: Picture, text: str) -> Picture:
    """A picture (H, W, 3) with a line of text in its upper left corner; the picture itself where there is none."""
    if not text:
        return picture
    from PIL import Image, ImageDraw, ImageFont

    size = max(13, round(picture.shape[0] / 24))
    image = Image.fromarray(picture)
    ImageDraw.Draw(image).text((0.6 * size, 0.4 * size), text, fill=_INK, font=ImageFont.load_default(size=size))
    return np.asarray(image)


_ARROW_SHADES = 16  # colors of a GIF's palette kept for arrows


def require_video() -> None:
    """Raises MissingExtra with the line that cures it if PyAV is not installed."""
    try:
        import av  # noqa: F401
    except ImportError as error:
        raise MissingExtra(
            f"MP4 needs PyAV, which is not installed. Run: {install_line('video')} (or record a .gif)."
        ) from error


def gif_step(fps: float) -> float:
    """Time between the pictures of a GIF nearest to a wish [s]: the format counts in hundredths, players want two."""
    return max(2, round(100.0 / fps)) / 100.0


def write_mp4(pictures: Iterator[Picture], path: Path, fps: float) -> None:
    """Write pictures of one size (even width and height) as H.264 (MPEG-4 part 2 where that codec is missing)."""
    import av

    codec = "libx264" if "libx264" in av.codecs_available else "mpeg4"
    rate = Fraction(fps).limit_denominator(1000)
    with av.open(str(path), "w", format="mp4", options={"movflags": "+faststart"}) as container:
        stream = container.add_stream(codec, rate=rate)
        stream.pix_fmt = "yuv420p"
        if codec == "libx264":
            stream.options = {"crf": "20", "preset": "veryfast"}
        else:
            stream.bit_rate = 6_000_000
        for k, picture in enumerate(pictures):
            if k == 0:
                stream.height, stream.width = picture.shape[:2]
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")))
        container.mux(stream.encode())


def write_gif(pictures: Iterator[Picture], path: Path, step: float, *, samples: Sequence[Picture]) -> None:
    """Write pictures of one size as an endless GIF, `step` seconds each.

    All share one palette: the colors of `samples`, and shades of the arrows' color, which are too few to be counted.
    """
    from PIL import Image

    palette = Image.fromarray(np.vstack(samples)).quantize(
        256 - _ARROW_SHADES, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE
    )
    shades = np.linspace(0.35, 1.15, _ARROW_SHADES)[:, None] * np.array(ARROW_COLOR)
    counted = (palette.getpalette() or [])[: 3 * (256 - _ARROW_SHADES)]
    palette.putpalette(counted + np.round(255.0 * np.clip(shades, 0.0, 1.0)).astype(int).ravel().tolist())
    images = (Image.fromarray(p).quantize(palette=palette, dither=Image.Dither.NONE) for p in pictures)
    duration = round(1000 * step)
    next(images).save(
        path, format="GIF", save_all=True, append_images=images, duration=duration, loop=0, optimize=False
    )


Progress = Callable[[int, int], None]

log = logging.getLogger(__name__)

PAINTERS = ("auto", "page", "plain")

EXTENSIONS = RECORDED

LEAD = 0.3
"""A page of a clip that is pushed opens so long before the push [s]."""

_FPS = {".png": 30.0, ".gif": 25.0, ".mp4": 30.0}


@dataclass(frozen=True)
class Recording:
    """What was written.

    Attributes:
        path: The file.
        painter: "page" or "plain".
        note: A sentence for the user where the pictures are not what was hoped for, else empty.
        frames: Pictures drawn.
        seconds: How long it took [s].
    """

    path: Path
    painter: str
    note: str
    frames: int
    seconds: float


@dataclass(frozen=True)
class _Panel:
    """One scene through one camera: a row of a strip, a part of a film's picture."""

    scene: Scene
    look: Look
    follow: Follow
    label: str


def record(
    scene: Scene | Sequence[Scene],
    path: str | os.PathLike[str],
    *,
    width: int | None = None,
    height: int | None = None,
    fps: float | None = None,
    times: Sequence[float] | Array | None = None,
    camera: str | Camera | Sequence[str | Camera] | None = None,
    painter: str = "auto",
    progress: Progress | None = None,
) -> Recording:
    """Draw a scene into a file: `.html` a page to play it, `.png` a strip of stills, `.gif` or `.mp4` a film.

    A page holds everything and is looked at from anywhere: only `scene` and `path` matter to it. Several scenes, or
    several cameras, are shown together: below each other in a strip, beside each other in a film or a page, with the
    scenes' titles. The first scene sets the times.

    Args:
        scene: What is seen.
        path: The file; its extension picks the kind. An existing file is replaced when the new one is whole.
        width: Of one picture or still [px]; default 640 (gif), 848 (mp4), or what fits the figure (png).
        height: Of one picture or still [px].
        fps: Pictures per second of a film, default 30 (mp4) or 25 (gif); a GIF takes the nearest hundredth of a second.
        times: For a strip, the times of its stills; for a film, its first and last time [s]. Default: all.
        camera: "side" (travel from left to right), "front", "back", "quarter", "top", or a `Camera`, or several;
            by default the scene's own.
        painter: "page" (the player in a headless browser: exactly its look), "plain" (a drawing that needs nothing but
            Pillow: figures as capsules, pushes, ground), or "auto": the page where a browser works, else plain.
        progress: Called with pictures done and pictures in all.

    Returns:
        What was written, and a note where the plain drawing had to do.

    Raises:
        InvalidValue: unknown extension, size, rate, times, view or painter, or a folder that does not exist.
        MissingExtra: for `.mp4` without the extra "video".
        PoiseError: for `.html` where the player was not built, and for painter "page" without a browser.
    """
    began = clock.perf_counter()
    path = Path(path)
    kind = require_kind(path)
    if kind == ".mp4":
        require_video()
    scenes = (scene,) if isinstance(scene, Scene) else tuple(scene)
    if kind == ".html" and scenes:
        return _page(scenes, path, began)
    if camera is None:
        camera = _first_camera(scenes[0], kind) if scenes else "side"
    wished = (camera,) if isinstance(camera, (str, Camera)) else tuple(camera)
    if not scenes or not wished:
        raise InvalidValue("A recording needs at least one scene and one camera.")
    fps = _FPS[kind] if fps is None else fps
    if not (np.isfinite(fps) and 0.0 < fps <= 240.0):
        raise InvalidValue(f"Recording at {fps} pictures per second: give a rate above 0 and up to 240.")
    step = gif_step(fps) if kind == ".gif" else 1.0 / fps
    moments = still_times(scenes[0], times) if kind == ".png" else film_times(scenes[0], times, step, kind)
    panels = _panels(scenes, tuple(c if isinstance(c, Camera) else Camera(c) for c in wished))
    size = picture_size(kind, width, height, [p.follow for p in panels], len(moments))
    count = len(moments) * len(panels)
    with ExitStack() as held:
        beside = held.enter_context(whole_file(path))
        name, note, painters = _painters(painter, panels, size, held)
        done = 0

        def paint(k: int, moment: float) -> Picture:
            nonlocal done
            picture = painters[k].paint(panels[k].look.still(moment), panels[k].follow.shot(moment, size[0] / size[1]))
            done += 1
            if progress is not None:
                progress(done, count)
            return picture

        def pictures() -> Iterator[Picture]:
            for moment in moments.tolist():
                parts = [labeled(paint(k, moment), panels[k].label) for k in range(len(panels))]
                yield np.hstack(parts) if len(parts) > 1 else parts[0]

        if kind == ".mp4":
            write_mp4(pictures(), beside, fps)
        elif kind == ".gif":
            some = moments[np.linspace(0, len(moments) - 1, min(5, len(moments))).astype(int)].tolist()
            samples = [
                painters[0].paint(panels[0].look.still(t), panels[0].follow.shot(t, size[0] / size[1])) for t in some
            ]
            write_gif(pictures(), beside, step, samples=samples)
        else:
            per_row, rows = stills_per_row(size[0], len(moments)), []
            for k, panel in enumerate(panels):
                stills = [
                    (paint(k, t), f"{t:.2f} s  {panel.label}" if not n else f"{t:.2f} s")
                    for n, t in enumerate(moments.tolist())
                ]
                rows += [stills[n : n + per_row] for n in range(0, len(stills), per_row)]
            title = scenes[0].title if len(scenes) == 1 else ""
            compose(rows, title=title, note=_strip_note(scenes[0], title, moments)).save(beside, format="PNG")
    return Recording(path, name, note, count, clock.perf_counter() - began)


def _page(scenes: tuple[Scene, ...], path: Path, began: float) -> Recording:
    whole = scenes[0] if len(scenes) == 1 else side_by_side(scenes)
    pushes = [a.start_s for a in whole.arrows]
    opened = {"t": round(max(min(pushes) - LEAD, float(whole.times[0])), 3)} if pushes else None
    text = page.recording_page(pack(whole), whole.title, opened)
    write_atomically(path, text)
    return Recording(path, "page", "", len(whole.times), clock.perf_counter() - began)


def _first_camera(scene: Scene, kind: str) -> Camera:
    """The scene's own camera; on level ground a strip with a push is seen with the push going from left to right.

    Stairs and hills are seen from aside of the way: from ahead they would hide the figure.
    """
    forces = [np.atleast_2d(a.force)[0, :2] for a in scene.arrows]
    force = next((f for f in forces if np.isfinite(f).all() and np.hypot(*f) > 0.0), None)
    if kind != ".png" or force is None or scene.camera != "side" or not scene.terrain.is_flat:
        return Camera(scene.camera)
    return Camera(scene.camera, heading=float(np.degrees(np.arctan2(force[1], force[0]))))


def require_kind(path: Path) -> str:
    """The kind of recording a path asks for; raises if there is none such, or no folder for it."""
    kind = path.suffix.lower()
    known = ", ".join(EXTENSIONS)
    if kind not in EXTENSIONS:
        raise InvalidValue(f"Cannot record to {path.name!r}: extension {kind or '(none)'!r} is not one of {known}.")
    if not path.parent.is_dir():
        raise InvalidValue(f"Cannot record to {str(path)!r}: there is no folder {str(path.parent)!r}. Create it first.")
    if kind == ".html":
        page.require_page()
    return kind


def _panels(scenes: tuple[Scene, ...], cameras: tuple[Camera, ...]) -> list[_Panel]:
    panels = []
    for scene in scenes:
        look = Look(scene)
        for camera in cameras:
            titles = [scene.title] if len(scenes) > 1 else []
            titles += [camera.view] if len(cameras) > 1 else []
            panels.append(_Panel(scene, look, Follow(scene, camera), ", ".join(w for w in titles if w)))
    return panels


def _painters(
    painter: str, panels: list[_Panel], size: tuple[int, int], held: ExitStack
) -> tuple[str, str, Sequence[browser.PagePainter | PlainPainter]]:
    """What draws (its name), what the user should know, and a painter for each panel; `held` closes them."""
    if painter not in PAINTERS:
        raise InvalidValue(f"No painter {painter!r}. Painters: {', '.join(PAINTERS)}.")
    found = ""
    if painter != "plain":
        found = browser.why_not()
        if not found:
            try:
                return "page", "", _page_painters(panels, size, held)
            except PoiseError as error:
                found = str(error)
        if painter == "page":
            raise PoiseError(f"{found} Install Chromium and poise[studio], or use painter 'plain'.")
        found += " The pictures are a plain drawing instead."
        log.info(found)
    return "plain", found, [PlainPainter(p.scene, *size) for p in panels]


def _page_painters(panels: list[_Panel], size: tuple[int, int], held: ExitStack) -> list[browser.PagePainter]:
    by_scene: dict[int, browser.PagePainter] = {}
    for p in panels:
        if id(p.scene) not in by_scene:
            by_scene[id(p.scene)] = held.enter_context(browser.PagePainter(p.scene, *size))
    return [by_scene[id(p.scene)] for p in panels]


def _strip_note(scene: Scene, title: str, moments: Array) -> str:
    """What a strip says beside its title: whom it shows, and which part where there is more."""
    first, last = float(scene.times[0]), float(scene.times[-1])
    parts = [_legend(scene)] if _legend(scene) != title else []
    if moments[0] > first + 0.05 or moments[-1] < last - 0.05:
        parts.append(f"{moments[0]:.2f} to {moments[-1]:.2f} s of {last:.2f} s")
    return ", ".join(parts)


def _legend(scene: Scene) -> str:
    return ", ".join(f"{t.name} (translucent)" if t.style.kind == "ghost" else t.name for t in scene.tracks)
