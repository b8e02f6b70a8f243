"""A scene as a page or a file of pictures: `record` picks the writer by the file's extension."""

from __future__ import annotations

import logging
import os
import time as clock
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from poise.core.errors import InvalidValue, PoiseError
from poise.core.typing import Array
from poise.io.files import whole_file, write_atomically
from poise.show import browser, film, page
from poise.show.camera import Camera, Follow
from poise.show.film import compose, film_times, labeled, picture_size, still_times, stills_per_row
from poise.show.join import side_by_side
from poise.show.look import Look
from poise.show.pack import pack
from poise.show.plain import PlainPainter
from poise.show.scene import Scene

Picture = npt.NDArray[np.uint8]
Progress = Callable[[int, int], None]

log = logging.getLogger(__name__)

PAINTERS = ("auto", "page", "plain")

EXTENSIONS = (".html", ".png", ".gif", ".mp4")

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
        film.require_video()
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
    step = film.gif_step(fps) if kind == ".gif" else 1.0 / fps
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
            film.write_mp4(pictures(), beside, fps)
        elif kind == ".gif":
            some = moments[np.linspace(0, len(moments) - 1, min(5, len(moments))).astype(int)].tolist()
            samples = [
                painters[0].paint(panels[0].look.still(t), panels[0].follow.shot(t, size[0] / size[1])) for t in some
            ]
            film.write_gif(pictures(), beside, step, samples=samples)
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
