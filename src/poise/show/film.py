"""Moving pictures: MP4 through PyAV (extra "video"), GIF through Pillow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt

from poise.core.errors import MissingExtra
from poise.show.look import ARROW_COLOR

Picture = npt.NDArray[np.uint8]

_ARROW_SHADES = 16  # colors of a GIF's palette kept for arrows


def require_video() -> None:
    """Raises MissingExtra with the line that cures it if PyAV is not installed."""
    try:
        import av  # noqa: F401
    except ImportError as error:
        raise MissingExtra(
            'MP4 needs PyAV, which is not installed. Run: pip install "poise[video]" (or record a .gif).'
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
