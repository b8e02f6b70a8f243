"""A strip: stills side by side in one picture, each with its time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

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
