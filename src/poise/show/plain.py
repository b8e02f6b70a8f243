"""Pictures with nothing but Pillow, where there is no browser: orthographic, capsules as thick round lines."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from poise.core.typing import Array
from poise.show.camera import Shot, grid_cell
from poise.show.look import ARROW_COLOR, BACKGROUND, GHOST_ALPHA, GROUND, GROUND_LINE, Still
from poise.show.scene import Color, Scene

Picture = npt.NDArray[np.uint8]

_FINER = 2  # drawn this much larger and scaled down: Pillow's lines have no smooth edges
_LIGHT = np.array([-0.25, 0.35, 0.9]) / np.linalg.norm([-0.25, 0.35, 0.9])


class PlainPainter:
    """Draws stills of one scene in one size with Pillow; used as `PagePainter`.

    Args:
        scene: What is seen.
        width: Of a picture [px].
        height: Of a picture [px].
    """

    def __init__(self, scene: Scene, width: int, height: int) -> None:
        self._scene, self._width, self._height = scene, width, height

    def __enter__(self) -> PlainPainter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is held."""

    def paint(self, still: Still, shot: Shot) -> Picture:
        """One picture, shape (height, width, 3), rows from the top."""
        from PIL import Image, ImageDraw

        size = (self._width * _FINER, self._height * _FINER)
        picture = Image.new("RGB", size, _byte(BACKGROUND))
        sheet = _Sheet(shot, *size)
        self._draw_ground(ImageDraw.Draw(picture), sheet, still.time)
        self._draw_shadows(ImageDraw.Draw(picture), sheet, still)
        ghost = still.colors[:, 3] < 0.999
        for chosen in (ghost, ~ghost):
            if not chosen.any():
                continue
            layer = picture.copy()
            draw = ImageDraw.Draw(layer)
            indices = np.flatnonzero(chosen)
            depth = (still.starts[indices] + still.ends[indices]) @ shot.forward
            for i in indices[np.argsort(-depth)]:
                _capsule(draw, sheet, still.starts[i], still.ends[i], float(still.radii[i]), still.colors[i, :3])
            # one figure is one layer: a ghost does not show where its own capsules overlap
            picture = Image.blend(picture, layer, 1.8 * GHOST_ALPHA) if chosen is ghost else layer
        draw = ImageDraw.Draw(picture)
        for arrow in still.arrows:
            _arrow(draw, sheet, arrow.tail, arrow.tip, arrow.radius, arrow.alpha)
        small = picture.resize((self._width, self._height), Image.Resampling.BOX)
        return np.asarray(small, dtype=np.uint8)

    def _draw_ground(self, draw: Any, sheet: _Sheet, time: float) -> None:
        """Profiles of the ground at several depths, back to front, each with the ground below it."""
        shot, cell = sheet.shot, grid_cell(sheet.shot.height)
        reach = 0.6 * sheet.meters_wide
        right, into = shot.right[:2], np.array([-shot.right[1], shot.right[0]])
        across = np.linspace(-reach, reach, 241)
        for k, depth in enumerate(np.arange(6.0, -2.01, -0.5)):
            points = shot.target[:2] + across[:, None] * right + depth * cell * into
            height = np.asarray(self._scene.terrain.sample(points, time).height, dtype=np.float64)
            line = sheet.project(np.column_stack([points, height]))
            shade = 1.0 + 0.012 * (depth / 0.5) if depth > 0.0 else 1.0 - 0.012 * (k - 12)
            outline = [tuple(p) for p in line.tolist()]
            below = [*outline, (sheet.width, sheet.height * 2), (0, sheet.height * 2)]
            draw.polygon(below, fill=_byte(np.clip(np.asarray(GROUND) * min(shade, 1.12), 0.0, 1.0)))
            strong = abs(depth) < 1e-9
            draw.line(
                outline,
                fill=_byte(GROUND_LINE) if strong else _byte(np.asarray(GROUND) * 0.93),
                width=4 if strong else 2,
            )
        # marks every half cell on the profile under the figure, fixed to the world
        start = float(shot.target[:2] @ right)
        for s in 0.5 * cell * np.arange(np.ceil((start - reach) * 2.0 / cell), (start + reach) * 2.0 / cell):
            point = shot.target[:2] + (s - start) * right
            z = float(self._scene.terrain.sample(point[None], time).height[0])
            x, y = sheet.project(np.array([[*point, z]]))[0]
            draw.line([(x, y), (x, y + 0.02 * sheet.height)], fill=_byte(GROUND_LINE), width=2)

    def _draw_shadows(self, draw: Any, sheet: _Sheet, still: Still) -> None:
        """Dark spots straight under what is low, flattened as the camera sees the ground."""
        solid = still.colors[:, 3] >= 0.999
        points = np.concatenate([still.starts[solid], still.ends[solid]])
        radii = np.concatenate([still.radii[solid]] * 2)
        if not len(points):
            return
        height = np.asarray(self._scene.terrain.sample(points[:, :2], still.time).height, dtype=np.float64)
        flat = abs(np.sin(np.radians(sheet.shot.elevation)))
        reach = 0.35 * grid_cell(sheet.shot.height)
        places = sheet.project(np.column_stack([points[:, :2], height]))
        gaps = points[:, 2] - radii - height
        for (x, y), radius, gap in sorted(
            zip(places.tolist(), radii.tolist(), gaps.tolist()), key=lambda item: -item[2]
        ):
            near = gap / reach
            if near > 1.0:
                continue
            dark = 0.55 + 0.35 * max(near, 0.0)
            wide, tall = 1.2 * radius * sheet.scale, max(1.2 * radius * sheet.scale * flat, 3.0)
            draw.ellipse((x - wide, y - tall, x + wide, y + tall), fill=_byte(np.asarray(GROUND) * dark))


class _Sheet:
    """From the world frame to the pixels of the large drawing."""

    def __init__(self, shot: Shot, width: int, height: int) -> None:
        self.shot, self.width, self.height = shot, width, height
        self.scale = height / shot.height
        self.meters_wide = width / self.scale

    def project(self, points: Array) -> Array:
        """Pixels (N, 2) of points in the world frame (N, 3) [m]."""
        away = points - self.shot.target
        x = 0.5 * self.width + self.scale * (away @ self.shot.right)
        y = 0.5 * self.height - self.scale * (away @ self.shot.up)
        return np.column_stack([x, y])


def _capsule(draw: Any, sheet: _Sheet, start: Array, end: Array, radius: float, color: Array) -> None:
    (x0, y0), (x1, y1) = sheet.project(np.stack([start, end])).tolist()
    wide = radius * sheet.scale
    # lit from above: a rod that lies is brighter than one that stands
    along = (end - start) / max(float(np.linalg.norm(end - start)), 1e-9)
    light = 0.86 + 0.14 * float(np.sqrt(max(0.0, 1.0 - (along @ _LIGHT) ** 2)))
    for grow, shade in ((0.0, 0.55 * light), (-max(2.0, 0.10 * wide), light)):
        r = wide + grow
        if r < 0.5:
            continue
        fill = _byte(np.clip(np.asarray(color) * shade, 0.0, 1.0))
        draw.line([(x0, y0), (x1, y1)], fill=fill, width=max(1, round(2.0 * r)))
        for x, y in ((x0, y0), (x1, y1)):
            draw.ellipse((x - r, y - r, x + r, y + r), fill=fill)


def _arrow(draw: Any, sheet: _Sheet, tail: Array, tip: Array, radius: float, alpha: float) -> None:
    a, b = sheet.project(np.stack([tail, tip]))
    length = float(np.linalg.norm(b - a))
    fill = _byte(np.asarray(ARROW_COLOR) * alpha + np.asarray(BACKGROUND) * (1.0 - alpha))
    thick = max(3.0, radius * sheet.scale)
    if length < 4.0 * thick:  # seen along itself
        draw.ellipse((b[0] - thick, b[1] - thick, b[0] + thick, b[1] + thick), fill=fill)
        return
    along = (b - a) / length
    side = np.array([-along[1], along[0]])
    neck = b - along * min(3.5 * thick, length)
    draw.line([tuple(a.tolist()), tuple(neck.tolist())], fill=fill, width=max(2, round(thick)))
    draw.polygon([tuple(p.tolist()) for p in (b, neck + 1.6 * thick * side, neck - 1.6 * thick * side)], fill=fill)


def _byte(color: Color | Array) -> tuple[int, int, int]:
    r, g, b = (round(255.0 * float(np.clip(x, 0.0, 1.0))) for x in color)
    return r, g, b
