"""A scene as a pack: the bytes that a recording holds and a live page is sent first (docs/scene_format.md)."""

from __future__ import annotations

import json
import zlib

import numpy as np
import numpy.typing as npt

from poise.show.arrays import TIME_STEP, Blobs, Header
from poise.show.camera import stature, travel_heading
from poise.show.limits import require_within
from poise.show.pack_overlays import pack_overlay, pack_plot, pack_row, push_overlays
from poise.show.pack_terrain import pack_terrain
from poise.show.pack_tracks import pack_prop, pack_track
from poise.show.scene import Control, Layer, Scene

Array = npt.NDArray[np.float64]

MAGIC = b"POISESC1"
VERSION = 1

LABELS = {"shapes": "capsules", "com": "center of mass", "cop": "center of pressure", "zmp": "zero-moment point"}
"""What layers are called that nobody gave a label."""


def pack(scene: Scene, *, is_live: bool = False) -> bytes:
    """A scene as bytes.

    Args:
        scene: What is seen. Live, its first frame says what there is; poses come later, as states.
        is_live: Leave out everything over time.

    Raises:
        InvalidValue: if it is larger than a page may be, or a number in it is not finite.
    """
    blobs = Blobs()
    every = None if is_live else scene.times
    tracks = [pack_track(t, blobs, is_live=is_live) for t in scene.tracks]
    tracks += [pack_prop(p, len(scene.times), blobs, is_live=is_live) for p in scene.props]
    overlays = [pack_overlay(o, blobs, is_live=is_live) for o in (*push_overlays(scene), *scene.overlays)]
    header: Header = {
        "format": "poise.scene",
        "version": VERSION,
        "title": scene.title,
        "made_by": _made_by(),
        "times": None if every is None else blobs.packed(every, TIME_STEP),
        "notes": list(scene.notes),
        "follow": next((k for k, t in enumerate(scene.tracks) if t.style.kind == "solid"), 0),
        "heading": travel_heading(scene),
        "size": stature(scene),
        "tracks": tracks,
        "terrain": pack_terrain(scene, blobs, is_live=is_live),
        "overlays": overlays,
        "timeline": [pack_row(r) for r in scene.timeline],
        "plots": [pack_plot(p, blobs, is_live=is_live) for p in scene.plots],
        "controls": [_control(c) for c in scene.controls],
    }
    if scene.views:
        header["views"] = list(scene.views)
    used = [layer for t in tracks for layer in (t["layer"], *([f"{t['layer']}.shapes"] if t["skins"] else []))]
    used += [o["layer"] for o in overlays]
    header["layers"] = [{"name": x.name, "label": x.label, "on": x.is_on} for x in _layers(scene, used)]
    require_within(header)
    header["blobs"], body = blobs.join()
    text = json.dumps(header, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(
        "utf-8", "backslashreplace"
    )
    head = zlib.compress(text, 9)
    return MAGIC + len(head).to_bytes(4, "little") + len(text).to_bytes(4, "little") + head + body


def _layers(scene: Scene, used: list[str]) -> list[Layer]:
    """The scene's layers that something names, then the others that are named."""
    known = {layer.name: layer for layer in scene.layers}
    names = dict.fromkeys(used)
    listed = [layer for layer in scene.layers if layer.name in names]
    return listed + [Layer(n, _label(n), not n.endswith(".shapes")) for n in names if n not in known]


def _label(name: str) -> str:
    words = name.split(".")
    return " ".join([*words[:-1], LABELS.get(words[-1], words[-1])])


def _control(control: Control) -> Header:
    c: Header = {"name": control.name, "label": control.label, "kind": control.kind, "value": control.value}
    if control.kind == "slider":
        c |= {"unit": control.unit, "low": control.low, "high": control.high, "step": control.step}
        c |= {"power": True} if control.is_power else {}
    if control.kind == "choice":
        c["choices"] = list(control.choices)
    return c


def _made_by() -> str:
    from poise import __version__

    return f"Poise {__version__}"
