"""What is changed in an FBX before Blender opens it. It runs in Blender; Poise never imports it.

Blender goes straight from key to key, so a curve gets a key in each frame where it bends. A text FBX becomes a binary
one then. Blender's own Python code parses and writes the binary files.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

KTIME = 46186158000
"""Units of time of an FBX in a second."""
NEAR = KTIME // 10000
"""Keys no farther apart than this, 0.1 ms, are at one time [units of an FBX]."""
CONSTANT, LINEAR, CUBIC, AUTO, TCB, USER = 2, 4, 8, 0x100, 0x200, 0x400
CLAMPED, EVEN, PROGRESSIVE, RIGHT_WEIGHT, LEFT_WEIGHT = 0x1000, 0x2000, 0x4000, 0x1000000, 0x2000000
"""Bits that say how a key of an FBX goes to the next."""
TYPES = {
    b"B": "bool",
    b"C": "char",
    b"Z": "int8",
    b"Y": "int16",
    b"I": "int32",
    b"L": "int64",
    b"F": "float32",
    b"D": "float64",
    b"R": "bytes",
    b"S": "string",
    b"i": "int32_array",
    b"l": "int64_array",
    b"f": "float32_array",
    b"d": "float64_array",
    b"b": "bool_array",
    b"c": "byte_array",
}
"""Blender's names for the types in a binary FBX."""


class Element(NamedTuple):
    """A part of an FBX, as Blender's parser has it."""

    id: bytes
    props: list
    props_type: bytearray
    elems: list


def prepared(path: str, beside: str, *, is_binary_wanted: bool = False) -> str:
    """Write an FBX that Blender reads as its maker meant it; the file itself if nothing is to be changed.

    Args:
        path: Of the FBX.
        beside: A file of Poise's own; the new one is put beside it.
        is_binary_wanted: Turn a text FBX into a binary one in any case: Blender's importer in Python reads no other.
    """
    root, version, is_text = read(path)
    changed = bent_curves(root) if version >= 7000 else {}
    is_keyed = version >= 7000 and key_first_axes(root, changed)
    if not changed and not is_keyed and not (is_text and is_binary_wanted):
        return path

    made = Path(beside).with_suffix(".prepared.fbx")
    write(str(made), root, version, changed)
    return str(made)


def write(path: str, root: Any, version: int, changed: dict[int, dict]) -> None:
    """Write a binary FBX; `changed` has the new arrays of curves by the identity of their elements."""
    from io_scene_fbx import encode_bin  # pyright: ignore[reportMissingImports]

    def written(element: Any, arrays: dict) -> Any:
        made = encode_bin.FBXElem(element.id)
        for kind, value in zip(element.props_type, element.props):
            getattr(made, "add_" + TYPES[bytes((kind,))])(arrays.get(element.id, value))
        below = changed.get(id(element), arrays)
        made.elems.extend(written(e, below) for e in element.elems)
        return made

    encode_bin.write(path, written(root, {}), version)


def join_clips(path: str, clips: dict[str, tuple[str, int]]) -> None:
    """Join the clips that Blender wrote for each moving object into one clip under its own name.

    Args:
        path: Of a binary FBX, which is changed.
        clips: By the name that Blender gave a clip for one thing: its own name, and which of that name it is.
    """
    root, version, _ = read(path)
    parts = {e.id: e.elems for e in root.elems}
    objects, links, takes = (parts.get(name, []) for name in (b"Objects", b"Connections", b"Takes"))
    own = {e.props[0]: e for e in objects}
    first: dict[tuple[str, int], tuple[int, int]] = {}
    gone: dict[int, int] = {}  # identity of a stack or layer: of the one that takes its place
    kept: dict[bytes, bytes | None] = {}
    for stack in [e for e in objects if e.id == b"AnimationStack" and name_of(e) in clips]:
        key, said = stack.props[0], name_of(stack)
        layer = next(e.props[1] for e in links if e.props[2] == key and own[e.props[1]].id == b"AnimationLayer")
        name = clips[said][0].encode()
        if clips[said] in first:
            gone[key], gone[layer] = first[clips[said]]
        else:
            first[clips[said]] = key, layer
            stack.props[1], own[layer].props[1] = name + b"\0\1AnimStack", b"BaseLayer\0\1AnimLayer"
        kept[said.encode()] = None if key in gone else name
    objects[:] = [e for e in objects if e.props[0] not in gone]
    links[:] = [e for e in links if e.props[1] not in gone]
    for link in links:
        link.props[2] = gone.get(link.props[2], link.props[2])
    takes[:] = [e for e in takes if not e.props or kept.get(e.props[0], b"") is not None]
    for take in takes:
        take.props[:] = [kept.get(p, p) for p in take.props]
    for kind in parts.get(b"Definitions", []):
        if kind.props and kind.props[0] in (b"AnimationStack", b"AnimationLayer"):
            for count in (e for e in kind.elems if e.id == b"Count"):
                count.props[0] -= len(gone) // 2
    write(path, root, version, {})


def read(path: str) -> tuple[Any, int, bool]:
    """What an FBX holds, its version, and whether it is text.

    Raises:
        ValueError: for a text FBX older than version 7, and one that holds files.
    """
    from io_scene_fbx import parse_fbx  # pyright: ignore[reportMissingImports]

    if parse_fbx.parse_version(path):
        return *parse_fbx.parse(path), False
    root = parse_text(Path(path).read_bytes())
    header = next(e for e in root.elems if e.id == b"FBXHeaderExtension")
    version = next(e.props[0] for e in header.elems if e.id == b"FBXVersion")
    if version < 7000:
        raise ValueError(f"a text FBX of version {version}")
    return root, version, True


TOKEN = re.compile(rb'\s*(?:;[^\n]*|"([^"]*)"|([A-Za-z_][\w|.-]*):|\*\d+\s*\{\s*a:([^}]*)\}|([{}])|([^\s{},:;"*]+)|,)')
"""Comment, string, name, array, brace, word; a comma says nothing."""
WHOLE = {b"Indexes", b"Edges", b"Materials", b"Smoothing", b"KeyAttrFlags", b"KeyAttrRefCount"}
"""Arrays of whole numbers, beside those whose names end in Index."""


def parse_text(text: bytes) -> Element:
    """A text FBX of version 7 as the parser gives a binary one."""
    root = current = Element(b"", [], bytearray(), [])
    above = [root]
    for found in TOKEN.finditer(text):
        string, name, array, brace, word = found.groups()
        if name is not None:
            current = Element(name, [], bytearray(), [])
            above[-1].elems.append(current)
        elif string is not None:
            if current.id == b"Content" and string:
                raise ValueError("a text FBX that holds files")
            is_name = above[-1].id == b"Objects" and len(current.props) == 1
            parts = string.split(b"::", 1) if is_name else [string]
            add(current, "S", b"\0\1".join(parts[::-1]))
        elif array is not None:
            add_array(current, array)
        elif brace == b"{":
            above.append(current)
        elif brace == b"}":
            above.pop()
        elif word is not None:
            add_word(current, word, is_id=above[-1].id in (b"Objects", b"Connections") or current.id == b"Node")
    return root


def add(element: Element, kind: str, value: Any) -> None:
    """Give an element a value of a type."""
    element.props.append(value)
    element.props_type.append(ord(kind))


def add_array(element: Element, text: bytes) -> None:
    """Numbers with the type that they have in a binary FBX."""
    words = [w for w in text.replace(b"\n", b"").split(b",") if w.strip()]
    if element.id == b"KeyTime":
        add(element, "l", np.array(words, dtype=np.int64))
    elif element.id == b"KeyValueFloat":
        add(element, "f", np.array(words, dtype=np.float32))
    elif element.id == b"KeyAttrDataFloat":  # the bits of its numbers are written as whole numbers
        is_bits = not any(b"." in w or b"e" in w for w in words)
        bits = np.array(words, dtype=np.int64 if is_bits else np.float32)
        add(element, "f", bits.astype(np.uint32).view(np.float32) if is_bits else bits)
    elif element.id in WHOLE or element.id.endswith(b"Index"):
        add(element, "i", np.array(words, dtype=np.int64).astype(np.int32))
    else:
        add(element, "d", np.array(words, dtype=np.float64))


def add_word(element: Element, word: bytes, *, is_id: bool) -> None:
    """A number or a letter, with the type that it has in a binary FBX."""
    if not re.fullmatch(rb"[-+\d.][-+\d.eE#INFQA]*", word):
        return add(element, "C", word[:1])
    said = element.props[1] if element.id == b"P" and len(element.props) > 3 else b""
    is_real = element.id in (b"Default", b"P") and said not in (b"int", b"enum", b"bool", b"KTime", b"ULongLong")
    if is_real or not re.fullmatch(rb"[-+]?\d+", word):
        return add(element, "D", float(word) if re.fullmatch(rb"[-+\d.eE]+", word) else 0.0)
    value = int(word)
    is_long = is_id or said in (b"KTime", b"ULongLong") or not -(2**31) <= value < 2**31
    return add(element, "L" if is_long else "I", value)


def bound_bones(root: Any) -> set[str]:
    """Names of the bones that a skin is bound to, with or without weight."""
    parts = {e.id: e.elems for e in root.elems}
    objects = {e.props[0]: e for e in parts[b"Objects"] if e.props}
    links = [(objects.get(e.props[1]), objects.get(e.props[2])) for e in parts[b"Connections"]]
    return {name_of(a) for a, b in links if a and b and a.id == b"Model" and b.props[-1] == b"Cluster"}


def name_of(element: Any) -> str:
    """Name of an object: before version 7 it is also its key."""
    return next(p for p in element.props if isinstance(p, bytes)).split(b"\0")[0].decode("utf-8", "replace")


def places(root: Any, version: int) -> dict[str, tuple[str, np.ndarray]]:
    """For each thing of an FBX its parent's name and T_parent_thing, as it stands in the scene."""
    parts = {e.id: e.elems for e in root.elems}
    models = {e.props[0]: e for e in parts[b"Objects"] if e.id == b"Model"}
    links = {e.props[1]: e.props[2] for e in parts[b"Connections"] if e.props[1] in models and e.props[2] in models}
    found = {}
    for key, model in models.items():
        above, said = models.get(links.get(key)), {}
        for one in (p for group in model.elems if group.id.startswith(b"Properties") for p in group.elems):
            said[one.props[0]] = one.props[4 if version >= 7000 else 3 :]
        found[name_of(model)] = name_of(above) if above else "", place(said)
    return found


def place(said: dict[bytes, Any]) -> np.ndarray:
    """T_parent_thing of the properties of a thing.

    T Roff Rp Rpre R Rpost⁻¹ Rp⁻¹ Soff Sp S Sp⁻¹, as the makers of the format define it.
    """
    from mathutils import Euler  # pyright: ignore[reportMissingImports]

    def moved(name: bytes, sign: float = 1.0) -> np.ndarray:
        made = np.eye(4)
        made[:3, 3] = np.multiply(sign, said.get(name, (0.0, 0.0, 0.0)))
        return made

    def turned(name: bytes, order: str = "XYZ") -> np.ndarray:
        made = np.eye(4)
        made[:3, :3] = Euler(np.radians(said.get(name, (0.0, 0.0, 0.0))), order).to_matrix()
        return made

    is_full = bool(said.get(b"RotationActive", (0,))[0])
    order = ("XYZ", "XZY", "YZX", "YXZ", "ZXY", "ZYX", "XYZ")[
        int(said.get(b"RotationOrder", (0,))[0]) if is_full else 0
    ]
    before, after = (turned(b"PreRotation"), turned(b"PostRotation").T) if is_full else (np.eye(4), np.eye(4))
    pivot, scaled = b"RotationPivot", np.diag([*said.get(b"Lcl Scaling", (1.0, 1.0, 1.0)), 1.0])
    turn = moved(pivot) @ before @ turned(b"Lcl Rotation", order) @ after @ moved(pivot, -1.0)
    size = moved(b"ScalingPivot") @ scaled @ moved(b"ScalingPivot", -1.0)
    return moved(b"Lcl Translation") @ moved(b"RotationOffset") @ turn @ moved(b"ScalingOffset") @ size


def bent_curves(root: Any) -> dict[int, dict]:
    """Arrays for the curves that bend between their keys, by the identity of their elements."""
    from io_scene_fbx import fbx_utils  # pyright: ignore[reportMissingImports]

    said = {}
    for settings in (e for e in root.elems if e.id == b"GlobalSettings"):
        for one in (p for group in settings.elems if group.id == b"Properties70" for p in group.elems):
            said[one.props[0]] = one.props[-1]
    rates = {mode: rate for rate, mode in fbx_utils.FBX_FRAMERATES if rate > 0.0}
    own = said.get(b"CustomFrameRate", 0.0)
    rate = rates.get(said.get(b"TimeMode"), own if own > 0.0 else 30.0)
    parts = {e.id: e.elems for e in root.elems}
    links = [e.props for e in parts.get(b"Connections", []) if e.props[0] == b"OP"]
    turns = {link[1] for link in links if link[-1] == b"Lcl Rotation"}
    angles = {link[1] for link in links if link[2] in turns}
    bent = {}
    for curve in (e for e in parts.get(b"Objects", []) if e.id == b"AnimationCurve"):
        arrays = {e.id: e.props[0] for e in curve.elems if len(e.props)}
        keys = bent_keys(arrays, rate, is_angle=curve.props[0] in angles)
        if keys is not None:
            bent[id(curve)] = keys
    return bent


def key_first_axes(root: Any, changed: dict[int, dict]) -> bool:
    """Give the first axis of a place, turn or size a key wherever the other two have one; whether any lacked one.

    Blender looks at the curve of that axis alone to find the times of all three.

    Args:
        root: What the file holds; gets a curve for a first axis that has none.
        changed: New arrays of curves by the identity of their elements; gets those of the first axes.
    """
    parts = {e.id: e.elems for e in root.elems}
    objects = {e.props[0]: e for e in parts[b"Objects"] if e.props}
    links = [e for e in parts.get(b"Connections", []) if e.props[0] == b"OP"]
    moved = {link.props[1] for link in links if link.props[-1] in (b"Lcl Translation", b"Lcl Rotation", b"Lcl Scaling")}
    axes: dict[int, dict[bytes, Any]] = {}
    for link in links:
        curve = objects.get(link.props[1])
        if link.props[2] in moved and curve is not None and curve.id == b"AnimationCurve":
            axes.setdefault(link.props[2], {})[link.props[-1]] = curve
    before, most = len(changed), max((key for key in objects if isinstance(key, int)), default=0)
    for node, curves in axes.items():
        arrays = {
            axis: {e.id: e.props[0] for e in c.elems if len(e.props)} | changed.get(id(c), {})
            for axis, c in curves.items()
        }
        first = curves.get(b"d|X")
        own = arrays[b"d|X"][b"KeyTime"] if first is not None else ()
        times, is_new = joined([own, *(a[b"KeyTime"] for a in arrays.values())])
        if first is not None and not is_new.any():
            continue
        if first is None:
            most += 1
            said = {p.props[0]: p.props[-1] for e in objects[node].elems for p in e.elems}
            values = np.full(len(times), said.get(b"d|X", 0.0))
            first = new_curve(most)
            parts[b"Objects"].append(first)
            link = Element(b"C", [], bytearray(), [])
            for kind, value in zip("SLLS", (b"OP", most, node, b"d|X")):
                add(link, kind, value)
            parts[b"Connections"].append(link)
        else:
            values = at_times(arrays[b"d|X"], times)
        changed[id(first)] = straight_keys(times, values)
    return len(changed) > before


def joined(times: list) -> tuple[np.ndarray, np.ndarray]:
    """All times of some lists in order, and which of them the first list lacks; times within NEAR count as one."""
    own, new = np.array(times[0], np.int64), np.unique(np.concatenate([np.array(one, np.int64) for one in times]))
    if len(own):
        k = np.searchsorted(own, new)
        new = new[np.minimum(abs(new - own[np.maximum(k - 1, 0)]), abs(new - own[k % len(own)])) > NEAR]
    new = new[np.diff(new, prepend=new[:1] - KTIME) > NEAR]
    order = np.argsort(every := np.concatenate([own, new]), kind="stable")
    return every[order], order >= len(own)


def new_curve(key: int) -> Element:
    """A curve without keys."""
    curve = Element(b"AnimationCurve", [], bytearray(), [])
    for kind, value in zip("LSS", (key, b"\0\1AnimCurve", b"")):
        add(curve, kind, value)
    for name, kind, value in (
        (b"Default", "D", 0.0),
        (b"KeyVer", "I", 4008),
        (b"KeyTime", "l", []),
        (b"KeyValueFloat", "f", []),
        (b"KeyAttrFlags", "i", []),
        (b"KeyAttrDataFloat", "f", []),
        (b"KeyAttrRefCount", "i", []),
    ):
        part = Element(name, [], bytearray(), [])
        add(part, kind, value)
        curve.elems.append(part)
    return curve


def straight_keys(times: np.ndarray, values: np.ndarray) -> dict:
    """The arrays of a curve that goes straight from key to key."""
    return {
        b"KeyTime": np.array(times, np.int64),
        b"KeyValueFloat": np.array(values, np.float32),
        b"KeyAttrFlags": np.array([LINEAR], np.int32),
        b"KeyAttrDataFloat": np.zeros(4, np.float32),
        b"KeyAttrRefCount": np.array([len(times)], np.int32),
    }


def bent_keys(curve: dict, rate: float, *, is_angle: bool = False) -> dict | None:
    """The arrays of a curve with further keys in the frames where it bends.

    None where it is straight between keys or baked at another rate. An angle also gets them where it is straight:
    between keys Blender turns by the shortest way, and not by the angles of the file.
    """
    times, values = np.array(curve[b"KeyTime"], np.int64), np.array(curve[b"KeyValueFloat"], np.float64)
    frames = times * (rate / KTIME)
    gaps = np.diff(frames)
    is_baked = len(gaps) > 1 and np.ptp(gaps) < 0.02 and abs(gaps[0] - round(gaps[0])) > 0.02  # at a rate of its own
    if (
        len(times) < 2
        or np.sum(curve[b"KeyAttrRefCount"]) != len(times)
        or (gaps <= 0.0).any()
        or not (gaps > 1.02).any()
        or is_baked
    ):
        return None
    first, last = np.floor(frames[:-1] + 0.01) + 1.0, np.ceil(frames[1:] - 0.01)
    count = np.where(gaps > 1.02, np.maximum(last - first, 0.0), 0.0).astype(int)
    at = np.repeat(np.arange(len(gaps)), count)  # the key before each new one
    between = first[at] + np.arange(len(at)) - np.repeat(np.cumsum(count) - count, count)
    found = at_times(curve, between * (KTIME / rate))
    if not len(at) or not np.isfinite(found).all():
        return None
    line = values[at] + (between - frames[at]) / gaps[at] * (values[at + 1] - values[at])
    is_straight = np.abs(found - line).max() <= 1e-4 * max(np.ptp(values), 1e-6)
    if is_straight and not (is_angle and np.abs(values[at + 1] - values[at]).max() > 0.1):
        return None
    times = np.concatenate([times, np.round(between * (KTIME / rate)).astype(np.int64)])
    order = np.argsort(times, kind="stable")
    return straight_keys(times[order], np.concatenate([values, found])[order])


def at_times(curve: dict, when: np.ndarray) -> np.ndarray:
    """Values of a curve at times in units of an FBX; before its first key and after its last it stands still."""
    times, values = np.array(curve[b"KeyTime"], np.int64), np.array(curve[b"KeyValueFloat"], np.float64)
    if len(times) < 2:
        return np.full(len(when), values[0] if len(values) else 0.0)
    counts, flags = np.array(curve[b"KeyAttrRefCount"]), np.array(curve[b"KeyAttrFlags"], np.int64)
    data = np.array(curve[b"KeyAttrDataFloat"], np.float32).reshape(-1, 4)
    which = np.repeat(np.arange(len(counts)), counts)
    flags, data = flags[which], data[which]
    reaching, leaving = slopes(times / KTIME, values, flags, data.astype(float))
    at = np.clip(np.searchsorted(times, when, side="right") - 1, 0, len(times) - 2)  # the key before
    gaps = np.diff(times)[at]
    share = np.clip((when - times[at]) / gaps, 0.0, 1.0)
    begin, end, kind, third = values[at], values[at + 1], flags[at], 1.0 / 3.0
    weights = data[:, 2].copy().view(np.uint16).reshape(-1, 2)[at] * 1e-4
    is_tcb = (kind & TCB) != 0
    right = np.where((kind & RIGHT_WEIGHT != 0) & ~is_tcb, weights[:, 0], third)
    left = np.where((kind & LEFT_WEIGHT != 0) & ~is_tcb, weights[:, 1], third)
    seconds = gaps / KTIME
    curved = bezier(
        share, right, left, begin, begin + right * seconds * leaving[at], end - left * seconds * reaching[at + 1], end
    )
    held = np.where(kind & AUTO, end, begin)  # of a constant key this bit says that the next value holds
    held = np.where(share <= 0.0, begin, np.where(share >= 1.0, end, held))
    return np.where(kind & CONSTANT, held, np.where(kind & CUBIC, curved, begin + share * (end - begin)))


def slopes(times: np.ndarray, values: np.ndarray, flags: np.ndarray, data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slopes with which a curve reaches and leaves its keys [1/s].

    A key says its own slope, or tension, continuity and bias (TCB), or nothing: then its neighbors set it.
    """
    is_tcb, own = (flags & TCB) != 0, np.arange(len(times))
    leaving, reaching = data[:, 0].copy(), np.append(0.0, np.where(is_tcb[:-1], 0.0, data[:-1, 1]))
    sides = np.diff(values) / np.diff(times)
    before, after = np.append(sides[:1], sides), np.append(sides, sides[-1:])
    is_auto = (flags & (CUBIC | AUTO | USER | TCB)) == CUBIC | AUTO
    is_one = np.abs(leaving + reaching) <= 1e-4
    bias = np.stack([np.where(is_one, leaving, -reaching), leaving])
    found = [auto_slopes(times, values, flags, before, after, one) for one in bias]
    reaching, leaving = np.where(is_auto, found[0], reaching), np.where(is_auto, found[1], leaving)
    tension, continuity, lean = data[:, 0], data[:, 1], data[:, 2]
    is_end = (own == 0) | (own == len(own) - 1)
    part = np.where(is_end, 1.0, 0.5) * (1.0 - tension)
    old, new = np.where(own == 0, 0.0, before), np.where(own == len(own) - 1, 0.0, after)
    reached = part * ((1 + lean) * (1 - continuity) * old + (1 - lean) * (1 + continuity) * new)
    left = part * ((1 + lean) * (1 + continuity) * old + (1 - lean) * (1 - continuity) * new)
    return np.where(is_tcb, reached, reaching), np.where(is_tcb, left, leaving)


def auto_slopes(
    times: np.ndarray, values: np.ndarray, flags: np.ndarray, before: np.ndarray, after: np.ndarray, bias: np.ndarray
) -> np.ndarray:
    """Slopes at keys that are set by their neighbors [1/s].

    A clamped one is level where a neighbor has the same value; a progressive one passes the value of no neighbor. A
    bias of 100 gives the slope to the next key, one of −100 that from the last; it counts where a key is not even.
    """
    slope = np.append(np.append(before[0], (values[2:] - values[:-2]) / (times[2:] - times[:-2])), after[-1])
    share = np.zeros(len(times))
    share[1:-1] = (times[1:-1] - times[:-2]) / (times[2:] - times[:-2])
    pull = np.clip(np.abs(bias) / 100.0, 0.0, 5.0)
    blend = 0.5 * (slope + before * (1.0 - share) + after * share)
    blend += pull * (np.where(bias > 0.0, after, before) - blend)
    slope = np.where(flags & EVEN, slope, blend)
    most = 3.0 * np.where(before * after > 0.0, np.minimum(np.abs(before), np.abs(after)), 0.0)
    most[[0, -1]] = 0.0
    is_same = np.abs(np.diff(values)) < 1e-6 * (1.0 + np.abs(values[1:]))
    is_level = ((flags & CLAMPED) != 0) & (np.append(is_same, False) | np.append(False, is_same))
    slope = np.where(flags & PROGRESSIVE, np.clip(slope, -most, most), slope)
    return np.where(is_level, 0.0, slope)


def bezier(share: np.ndarray, right: np.ndarray, left: np.ndarray, *values: np.ndarray) -> np.ndarray:
    """Heights of Bézier curves of four values at parts of their width; handles reach `right` and `left` parts far."""
    low, high = np.zeros_like(share), np.ones_like(share)
    for _ in range(40):
        u = 0.5 * (low + high)
        is_before = 3 * right * u * (1 - u) ** 2 + 3 * (1 - left) * u * u * (1 - u) + u**3 < share
        low, high = np.where(is_before, u, low), np.where(is_before, high, u)
    u, (a, b, c, d) = 0.5 * (low + high), values
    return a * (1 - u) ** 3 + 3 * b * u * (1 - u) ** 2 + 3 * c * u * u * (1 - u) + d * u**3
