"""Moving pictures: MP4 through PyAV (extra "video"), GIF through Pillow."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt

from poise.errors import MissingExtra

Picture = npt.NDArray[np.uint8]


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


def write_gif(pictures: Iterator[Picture], path: Path, step: float) -> None:
    """Write pictures of one size as an endless GIF, `step` seconds each, all in the colors of the first and fifth."""
    from PIL import Image

    palette = None
    frames: list[Image.Image] = []
    for picture in pictures:
        image = Image.fromarray(picture)
        if palette is None:
            palette = image.quantize(192, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        frames.append(image.quantize(palette=palette, dither=Image.Dither.NONE))
    frames[0].save(
        path, format="GIF", save_all=True, append_images=frames[1:], duration=round(1000 * step), loop=0, optimize=False
    )
