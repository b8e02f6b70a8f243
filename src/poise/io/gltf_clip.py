"""glTF animations: channels with their own key times and interpolation, sampled on one grid of frames."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from poise.core import rotations
from poise.core.errors import MOST_LISTED, NoMotion, known_names
from poise.core.typing import Array, Flags
from poise.io.format import CHOOSE_CLIP
from poise.io.gltf_document import GltfDocument

PATHS = {"translation": 3, "rotation": 4, "scale": 3}
MODES = ("LINEAR", "STEP", "CUBICSPLINE")
SAME_TIME = 0.02
"""Times closer than this fraction of a frame are one time: files keep them in single precision."""
DEFAULT_FPS = 30.0
WRITTEN = "Poise wrote the file and noted its frames there"
SPARSE = 9.0
"""Keys at a lower rate are sampled at a multiple of it [1/s]."""
MAX_VALUES = 4_000_000
"""Most frames times joints that are made up between keys that are on no common grid."""
USUAL_RATES, FEW_KEYS = (24.0, 25.0, 30.0, 50.0, 60.0), 0.3
"""Usual frame rates [1/s]; one is taken if fewer than this share of the keys miss its frames [1]."""


@dataclass(frozen=True)
class Channel:
    """One animated property of one node.

    Attributes:
        node: Node index.
        path: "translation", "rotation" (xyzw turned to wxyz) or "scale".
        mode: "LINEAR", "STEP" or "CUBICSPLINE".
        times: Key times [s], shape (K,).
        values: Key values, shape (K, n); for CUBICSPLINE (K, 3, n): in-tangent, value, out-tangent.
        index: Its place in the animation's list of channels.
    """

    node: int
    path: str
    mode: str
    times: Array
    values: Array
    index: int


@dataclass(frozen=True)
class Clip:
    """One animation: its channels, and the frames chosen for it.

    Attributes:
        name: As the file has it, else "animation 0".
        channels: Of nodes, in file order.
        start: File time of the first frame [s].
        times: Time of each frame [s] from 0, shape (F,).
        reason: How the frames were chosen.
        hits_keys: True if every key of the skeleton falls on a frame.
        ignored: Number of channels that move no node (morph weights).
        fps: Rate of a single frame, where the file notes one [1/s].
    """

    name: str
    channels: tuple[Channel, ...]
    start: float
    times: Array
    reason: str
    hits_keys: bool = True
    ignored: int = 0
    fps: float = DEFAULT_FPS


def clip_names(document: GltfDocument) -> tuple[str, ...]:
    """Names of all animations; "animation 0" where the file has none."""
    names = (a.get("name") for a in document.items("animations"))
    return tuple(n if isinstance(n, str) and n else f"animation {i}" for i, n in enumerate(names))


def moving_clips(document: GltfDocument, nodes: frozenset[int]) -> tuple[int, ...]:
    """The animations that move any of these nodes; all of them where none does."""
    found: list[int] = []
    for index, animation in enumerate(document.items("animations")):
        targets = [channel.get("target", {}) for channel in animation.get("channels", [])]
        if any(t.get("node") in nodes and t.get("path") != "weights" for t in targets):
            found.append(index)
    return tuple(found if found else range(len(document.items("animations"))))


def choose_clip(document: GltfDocument, wanted: str | int | None, nodes: frozenset[int]) -> int:
    """Index of the animation a caller names; the only one that moves the skeleton (its nodes) without a name.

    A name is known by its short end, by any part between its separators, and by the beginning of those: "Walk" is
    "CharacterArmature|Walk", "Rig|Walk|base", or "Rig|Walking", where no other clip is called so.

    Raises:
        FileFormatError: if there is none, or several and none was named, or none of that name; all are listed.
    """
    names = clip_names(document)
    if not names:
        raise NoMotion("It holds no animation.", path=document.path, motion="a motion needs a file with a clip")
    if wanted is None:
        own = moving_clips(document, nodes)
        if len(own) == 1:
            return own[0]
        offered = ": " + ", ".join(f"{i} {names[i]!r}" for i in own)
        listed = offered if len(own) <= MOST_LISTED else "; `poise info FILE` lists them"
        raise document.fault(f"It holds {len(own)} clips{listed}.", CHOOSE_CLIP)
    same = clips_called(names, wanted)
    if len(same) == 1:
        return same[0]
    if same:
        listed = ", ".join(f"{i} {names[i]!r}" for i in same)
        raise document.fault(
            f"Several of its clips have {wanted!r} in their names: {listed}.", "Choose one with --clip INDEX."
        )
    ends = [re.split(r"[|/:.]", n)[-1] for n in names]
    listed = known_names(str(wanted), ends, "clips", "`poise info FILE`")
    raise document.fault(
        f"Clip {wanted!r} is not one of its clips.{listed}",
        CHOOSE_CLIP,
    )


def clips_called(names: Sequence[str], wanted: str | int) -> list[int]:
    """The clips that a name, a shortened name or an index may mean; none where no clip is called so."""
    same = [i for i, n in enumerate(names) if n == wanted]
    same = same or [i for i, n in enumerate(names) if n.lower() == str(wanted).lower()]
    if same or not str(wanted).isdigit():
        return same or _called(names, str(wanted))
    return [int(wanted)] if int(wanted) < len(names) else []


def _called(names: Sequence[str], wanted: str) -> list[int]:
    """The clips that a shortened name may mean, by the best way in which any is called so."""
    short = _letters(wanted)
    parts = [[_letters(part) for part in re.split(r"[|/:.]", name)] for name in names]
    ways: tuple[Callable[[list[str]], bool], ...] = (
        lambda own: own[-1] == short,
        lambda own: short in own,
        lambda own: "".join(own).endswith(short),
        lambda own: own[-1].startswith(short),
        lambda own: any(part.startswith(short) for part in own),
    )
    found = ([i for i, own in enumerate(parts) if is_so(own)] for is_so in ways) if short else ()
    return next(filter(None, found), [])


def _letters(text: str) -> str:
    """Letters and digits alone, in lower case."""
    return "".join(c for c in text.lower() if c.isalnum())


def read_clip(
    document: GltfDocument, index: int, joint_count: int, nodes: frozenset[int], *, between: bool = True
) -> Clip:
    """One animation, with a grid of frames that hits every key of the given nodes where their keys allow it.

    Args:
        document: The file.
        index: Of the animation.
        joint_count: Joints of the skeleton.
        nodes: The nodes whose keys count.
        between: Put frames between sparse keys; False where the user says that the keys are the frames.
    """
    animation, name = document.items("animations")[index], clip_names(document)[index]
    rows, samplers = animation.get("channels"), animation.get("samplers")
    if not rows or samplers is None:
        raise document.fault(f"Clip {name!r} has no channels.")
    channels: list[Channel] = []
    ignored = 0
    times_of: dict[int, Array] = {}
    for place, row in enumerate(rows):
        target = row.get("target", {})
        if target.get("path") not in PATHS or "node" not in target:
            ignored += 1
            continue
        sampler = row.get("sampler")
        if sampler is None or not 0 <= sampler < len(samplers):
            raise document.fault(
                f"Channel {place} of clip {name!r} has sampler {sampler!r}; there are {len(samplers)}."
            )
        document.item("nodes", target["node"])
        channels.append(_channel(document, name, place, target["node"], target["path"], samplers[sampler], times_of))
    seen: set[tuple[int, str]] = set()
    for channel in channels:
        if (channel.node, channel.path) in seen:
            raise document.fault(f"Clip {name!r} states the {channel.path} of node {channel.node} twice.")
        seen.add((channel.node, channel.path))
    on_skeleton = [c for c in channels if c.node in nodes]
    if not on_skeleton:
        raise document.fault(f"Clip {name!r} does not move the skeleton.", "Choose another with --clip.")
    written = _written_times(animation, on_skeleton)
    if written is not None:
        start, times, hits_keys = written
        reason = WRITTEN
    else:
        start, times, reason, hits_keys = _grid(document, name, on_skeleton, joint_count, between=between)
    fps = animation["extras"]["poise"].get("fps", DEFAULT_FPS) if written is not None else DEFAULT_FPS
    return Clip(name, tuple(channels), start, times, reason, hits_keys, ignored, fps)


def _written_times(animation: dict[str, Any], channels: list[Channel]) -> tuple[float, Array, bool] | None:
    """Time of the first key [s], the times of the frames from 0 that Poise noted, and whether all keys are on frames.

    None if it noted none, or the keys are others by now. A channel of one key is constant and has no say. Where Poise
    left keys between the frames, it notes how many frames there are: each still has a key.
    """
    extras = animation.get("extras")
    note = extras.get("poise") if isinstance(extras, dict) else None
    if not isinstance(note, dict):
        return None
    keys = max((c.times for c in channels), key=len)
    fps, times, count = note.get("fps"), note.get("times"), note.get("frames")
    has_between = isinstance(count, int) and 1 < count <= sum(len(c.times) for c in channels)
    if has_between:
        keys = np.unique(np.concatenate([c.times for c in channels if len(c.times) > 1] or [keys]))
    count = count if isinstance(count, int) and has_between else len(keys)
    if isinstance(times, list) and len(times) == count and all(type(t) in (int, float) for t in times):
        found = np.array(times, dtype=np.float64)
    elif isinstance(fps, int | float) and 1e-3 <= fps <= 1e6:
        found = np.arange(count) / fps
    else:
        return None
    if len(found) > 1 and not (np.diff(found) > 0.0).all():
        return None
    slack = 1e-6 + 2.0 * float(np.spacing(np.float32(keys[-1])))
    if has_between:
        at = np.clip(np.searchsorted(keys, keys[0] + found - slack), 0, len(keys) - 1)
        is_same = np.abs(keys[at] - keys[0] - found).max() <= slack and keys[-1] - keys[0] <= found[-1] + slack
        return (float(keys[0]), found, False) if is_same else None
    several = [c.times for c in channels if len(c.times) > 1]
    is_same = all(len(own) == len(keys) and np.abs(own - own[0] - found).max() <= slack for own in several)
    return (float(keys[0]), found, True) if is_same else None


def _channel(
    document: GltfDocument,
    clip: str,
    place: int,
    node: int,
    path: str,
    sampler: dict[str, object],
    known: dict[int, Array],
) -> Channel:
    what = f"Channel {place} of clip {clip!r}"
    mode = sampler.get("interpolation", "LINEAR")
    if mode not in MODES:
        raise document.fault(f"{what} is interpolated by {mode!r}; readable are {', '.join(MODES)}.")
    key = sampler.get("input")
    if type(key) is not int or key not in known:
        times = document.accessor(key).astype(np.float64)
        if times.shape[1] != 1 or (np.diff(times[:, 0]) <= 0.0).any() or times[0, 0] < 0.0:
            raise document.fault(f"The key times of {what} do not rise strictly from 0 or later.")
        assert type(key) is int
        known[key] = times[:, 0]
    times = known[key]
    values = document.accessor(sampler.get("output")).astype(np.float64)
    width, count = PATHS[path], len(times) * (3 if mode == "CUBICSPLINE" else 1)
    if values.shape != (count, width):
        raise document.fault(
            f"{what} has {values.shape[0]} values of {values.shape[1]}; {count} of {width} belong to its keys."
        )
    if path == "rotation":
        values = values[:, [3, 0, 1, 2]]
    if mode == "CUBICSPLINE":
        values = values.reshape(len(times), 3, width)
    if path == "rotation":
        keys = values[:, 1] if mode == "CUBICSPLINE" else values
        length = np.linalg.norm(keys, axis=1)
        if np.abs(length - 1.0).max() > 0.1:
            bad = int(np.argmax(np.abs(length - 1.0)))
            raise document.fault(f"{what}: the quaternion of key {bad} has length {length[bad]:.3g}, not 1.")
    return Channel(node, path, str(mode), times, values, place)


def _grid(
    document: GltfDocument, clip: str, channels: list[Channel], joint_count: int, *, between: bool
) -> tuple[float, Array, str, bool]:
    """First time, frame times from 0, why these, and whether they hit all keys.

    The keys themselves, else their common grid, else an even rate.
    """
    keys = np.unique(np.concatenate(list({id(c.times): c.times for c in channels}.values())))
    start, length = float(keys[0]), float(keys[-1] - keys[0])
    if len(keys) == 1:
        return start, np.zeros(1), "a single key", True
    gaps = np.diff(keys)
    step = float(np.median(gaps[gaps > 0.1 * np.median(gaps)]))
    fps, count = _common_grid(keys, gaps, step)
    hits_keys = not _off_grid(keys, fps).any()
    if hits_keys:
        is_every = len(np.unique(np.round((keys - start) * fps))) == count + 1
        reason = "the frames are the keys" if is_every else "the keys lie on this grid; frames between them are sampled"
        close = sum(int((np.diff(np.round((c.times - start) * fps)) < 1).sum()) for c in channels)
        if close:
            hits_keys, reason = False, f"{reason}; {close} keys stand so close to another that no frame shows them"
    elif fps in USUAL_RATES and _off_grid(keys, fps).mean() < FEW_KEYS:
        reason = (
            f"{100.0 * (1.0 - _off_grid(keys, fps).mean()):.0f} % of the keys lie on this grid; the others are between"
        )
    else:
        count = max(1, int(np.ceil(length * (DEFAULT_FPS if step > 1.5 / 60.0 else 60.0) - SAME_TIME)))
        fps = count / length
        reason = f"the keys are not evenly spaced (median {step:.4g} s); sampled at an even rate from first to last"
    finer = math.ceil(DEFAULT_FPS / fps)
    if between and hits_keys and fps < SPARSE and (count * finer + 1) * joint_count <= MAX_VALUES:
        # a walk of four keys is played smoothly, and has speeds only so
        reason = f"keys at {fps:.4g} Hz are sparse; the frames between them are sampled"
        fps, count = fps * finer, count * finer
    if (count + 1) * joint_count > max(MAX_VALUES, 4 * len(keys) * joint_count):
        raise document.fault(
            f"Clip {clip!r} lasts {length:.6g} s, keys {step:.3g} s apart: {count + 1} frames of {joint_count} joints.",
            "Its key times are wrong, or it must be cut into shorter clips.",
        )
    return start, np.arange(count + 1) / fps, reason, hits_keys


def _common_grid(keys: Array, gaps: Array, step: float) -> tuple[float, int]:
    """Rate [1/s] and number of steps of the grid that all or most keys lie on; of one with their usual gap else.

    Args:
        keys: Times of the keys [s], shape (K,).
        gaps: Between them.
        step: Their usual gap [s].
    """
    length = float(keys[-1] - keys[0])
    # gap by gap: keys are kept in single precision, so their median gap drifts away over a long clip
    count = max(int(np.round(gaps / step).sum()), 1) if length / step < MAX_VALUES else round(length / step)
    fps = _whole(count / length)
    if not _off_grid(keys, fps).any():
        return fps, count
    # keys further apart than their grid, or of several rates
    fitting = [rate for rate in USUAL_RATES if abs(length * rate - round(length * rate)) < SAME_TIME]
    usual = next((rate for rate in fitting if _off_grid(keys, rate).mean() < FEW_KEYS), None)
    if usual is not None:
        return usual, round(length * usual)
    finer = max(round(length / float(gaps[gaps > 0.1 * step].min())), 1) / length
    if finer <= max(USUAL_RATES) + SAME_TIME and not _off_grid(keys, finer).any():
        return _whole(finer), round(length * finer)
    return fps, count


def _whole(fps: float) -> float:
    """A rate, rounded where it is as good as whole."""
    return float(round(fps)) if round(fps) > 0 and abs(fps - round(fps)) < 1e-5 * fps else fps


def _off_grid(keys: Array, fps: float) -> Flags:
    """Which keys (K,) [s] lie on no frame, if frames begin at the first key and follow at a rate [1/s]."""
    frames = (keys - keys[0]) * fps
    rounding = min(2.0 * float(np.spacing(np.float32(keys[-1]))) * fps, 0.2)  # keys are kept in single precision
    return np.abs(frames - np.round(frames)) >= max(SAME_TIME, rounding)


def sample(channel: Channel, times: Array) -> Array:
    """Values of a channel at file times (T,) [s], shape (T, n); constant before the first key and after the last."""
    keys, values = channel.times, channel.values
    cubic = channel.mode == "CUBICSPLINE"
    at_keys = values[:, 1] if cubic else values
    if channel.path == "rotation":
        at_keys = rotations.normalize(at_keys)
    if len(keys) == 1:
        return np.repeat(at_keys, len(times), axis=0)
    left = np.clip(np.searchsorted(keys, times, side="right") - 1, 0, len(keys) - 2)
    span = keys[left + 1] - keys[left]
    u = np.clip((times - keys[left]) / span, 0.0, 1.0)
    frame = np.median(np.diff(times)) if len(times) > 1 else span[0]
    slack = SAME_TIME * np.minimum(frame / span, 1.0)
    u = np.where(u < slack, 0.0, np.where(u > 1.0 - slack, 1.0, u))
    a, b, u = at_keys[left], at_keys[left + 1], u[:, None]
    if channel.mode == "STEP":
        found = np.where(u >= 1.0, b, a)
    elif cubic:
        out, into = values[left, 2] * span[:, None], values[left + 1, 0] * span[:, None]
        start, end = values[left, 1], values[left + 1, 1]
        found = (
            (2 * u**3 - 3 * u**2 + 1) * start
            + (u**3 - 2 * u**2 + u) * out
            + (3 * u**2 - 2 * u**3) * end
            + (u**3 - u**2) * into
        )
        found = np.where(u <= 0.0, a, np.where(u >= 1.0, b, found))
    elif channel.path == "rotation":
        found = _slerp(a, b, u)
        found = np.where(u <= 0.0, a, np.where(u >= 1.0, b, found))
    else:
        found = np.where(u >= 1.0, b, a + u * (b - a))
    return rotations.normalize(found) if channel.path == "rotation" else found


def _slerp(a: Array, b: Array, u: Array) -> Array:
    """Shortest-way spherical interpolation of unit quaternions (T, 4) by u (T, 1)."""
    dot = np.sum(a * b, axis=1, keepdims=True)
    b = np.where(dot < 0.0, -b, b)
    angle = rotations.angle_between(a, b)[:, None] / 2.0
    small = angle < 1e-9
    sine = np.where(small, 1.0, np.sin(angle))
    return np.where(small, a + u * (b - a), (np.sin((1.0 - u) * angle) * a + np.sin(u * angle) * b) / sine)
