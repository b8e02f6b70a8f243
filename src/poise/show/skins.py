"""Skins of a motion's file as a player needs them: in meters, on the skeleton's joints, no larger than a page holds."""

from __future__ import annotations

import io
import warnings

import numpy as np

from poise.core.errors import MotionWarning
from poise.core.motion import Motion
from poise.show.scene import Skin

MAX_VERTICES = 300_000
"""Vertices of all skins of a figure; a file with more is shown as capsules."""

MAX_TEXTURE = 16_000_000
"""Largest texture [bytes]."""

MAX_PIXELS = 4096 * 4096
"""Largest texture [pixels]: a small file can unpack to a huge picture."""

_FORMATS = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp"}


def skins_of(motion: Motion) -> tuple[Skin, ...]:
    """The skins of the file a motion was read from; none where its format has none.

    What is too large is left out with a warning: the vertices, or only the texture.
    """
    document = motion.source.document if motion.source else None
    meshes = getattr(document, "meshes", ())
    if not meshes:
        return ()
    count = sum(len(m.positions) for m in meshes)
    if count > MAX_VERTICES:
        message = f"The skin has {count} vertices, more than the {MAX_VERTICES} a page holds; capsules are shown."
        warnings.warn(message, MotionWarning, stacklevel=2)
        return ()
    scales = document.joint_scales  # pyright: ignore[reportOptionalMemberAccess]  # what has meshes has scales
    found = []
    for mesh in meshes:
        binds = mesh.inverse_binds.copy()
        binds[:, :3] *= scales[:, None, None]
        texture, kind = _checked(mesh.texture)
        order = np.argsort(-mesh.weights, axis=1)[:, :4]
        joints, weights = (np.take_along_axis(a, order, axis=1) for a in (mesh.joints, mesh.weights))
        total = np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)
        skin = Skin(
            mesh.name, mesh.positions, mesh.indices, joints, (weights / total).astype(np.float32), binds, mesh.uvs,
            texture, kind,
        )  # fmt: skip
        found.append(skin)
    return tuple(found)


def _checked(texture: bytes | None) -> tuple[bytes | None, str]:
    """A texture and its type by its own first bytes, or none if it is too large or no picture a browser shows."""
    if texture is None:
        return None, ""
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(texture)) as picture:  # reads the header only
                width, height, kind = *picture.size, _FORMATS.get(picture.format or "", "")
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError):
        width, height, kind = 0, 0, ""
    if kind and width * height <= MAX_PIXELS and len(texture) <= MAX_TEXTURE:
        return texture, kind
    seen = f"{width} x {height} pixels in {len(texture)} bytes" if kind else "no PNG, JPEG or WebP"
    warnings.warn(f"A texture is left out: it is {seen}.", MotionWarning, stacklevel=3)
    return None, ""
