"""Writing BVH: what nobody changed is written as it stood, the rest on the source's Euler branch.

A motion that came from another format gets a hierarchy of its own.
"""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.errors import InvalidValue, MotionWarning
from poise.core.motion import Motion
from poise.core.rotations import branch_angles
from poise.core.skeleton import EndSite, Skeleton, rest_pose
from poise.core.typing import Array
from poise.io.bvh_document import BvhDocument, BvhJoint, Channel, marked, parse_hierarchy, pose, read_ground
from poise.io.files import write_atomically
from poise.io.format import door_turn

ORDER = "ZXY"


def clean_document(motion: Motion, unit: float, up: str) -> tuple[BvhDocument, Motion]:
    """A BVH document without frames, and the motion as that document describes it.

    Every joint's axes are turned to the file's axes at rest, so "all rotations zero" is the skeleton's rest pose,
    upright; a joint's orientation O becomes U⁻¹ O A⁻¹ U with A its orientation at rest and U the turn from the file's
    axes to the world's. All joints get three rotation channels in ZXY order; the root and every joint that moves by
    translation get three position channels before them. Joints are put in depth-first order, as BVH needs.

    Args:
        motion: Any motion.
        unit: Meters per unit of the file.
        up: The file's up axis.
    """
    skeleton = motion.skeleton
    order = depth_first(skeleton)
    turn = door_turn(up)
    _, rest = rest_pose(skeleton)
    _, world = motion.world
    parents = skeleton.parents
    into = rotations.multiply(rotations.conjugate(turn), rest)  # from a joint's axes at rest to the file's
    turned = rotations.multiply(world, rotations.conjugate(into))  # U O'
    local = turned.copy()
    moved = motion.translations.copy()
    offsets = skeleton.offsets.copy()
    for j, p in enumerate(parents.tolist()):
        if p >= 0:
            local[:, j] = rotations.multiply(rotations.conjugate(turned[:, p]), turned[:, j])
            moved[:, j] = rotations.rotate(into[p], moved[:, j])
            offsets[j] = rotations.rotate(into[p], offsets[j])
    place = {j: i for i, j in enumerate(order)}
    names = tuple(_writable(skeleton.names[j], j) for j in order)
    changed = [skeleton.names[j] for j, n in zip(order, names) if skeleton.names[j] != n]
    if changed:
        warnings.warn(
            f"Names that BVH cannot hold were changed: {', '.join(map(repr, changed[:5]))}.",
            MotionWarning,
            stacklevel=4,
        )
    sites = [EndSite(place[s.joint], rotations.rotate(into[s.joint], s.offset), s.name) for s in skeleton.end_sites]
    rest_rotations = np.tile(rotations.IDENTITY, (len(order), 1))
    rest_rotations[0] = turn
    described = Skeleton(
        names=names,
        parents=np.array([place.get(int(parents[j]), -1) for j in order], dtype=np.int64),
        offsets=offsets[order],
        rest_rotations=rest_rotations,
        translating=frozenset(place[j] for j in _translating(motion)),
    )
    with_tips = {s.joint for s in sites} | {int(p) for p in described.parents}
    sites += [EndSite(i, np.zeros(3)) for i in range(len(order)) if i not in with_tips]
    text, written = _hierarchy_text(described, sites, unit, turn)
    joints, end_sites = parse_hierarchy(Path("new.bvh"), text)
    head = "MOTION\nFrames: 0\nFrame Time: 0\n"
    document = BvhDocument(
        encoding="utf-8",
        hierarchy=text,
        head=head,
        count_span=(head.index("0"), head.index("0") + 1),
        time_span=(head.rindex("0"), head.rindex("0") + 1),
        joints=joints,
        end_sites=end_sites,
        values=np.empty((0, sum(len(j.channels) for j in joints))),
        rows=b"",
        row_starts=np.zeros(1, dtype=np.int64),
        unit=unit,
        up=up,
    )
    skeleton = replace(described, end_sites=tuple(written))
    return document, Motion(skeleton, motion.times, moved[:, order], local[:, order], motion.source)


def depth_first(skeleton: Skeleton) -> list[int]:
    """Joints in depth-first order, children in file order."""
    order, stack = [], [0]
    while stack:
        order.append(joint := stack.pop())
        stack += reversed(skeleton.children[joint])
    return order


def _translating(motion: Motion) -> set[int]:
    """The root, and joints that leave their offset by more than 0.1 µm."""
    away = np.abs(motion.translations - motion.skeleton.offsets).max(axis=(0, 2))
    return {0} | set(np.flatnonzero(away > 1e-7).tolist())


def _writable(name: str, joint: int) -> str:
    return re.sub(r"[{}\r\n\t]", "_", name).strip() or f"joint_{joint}"


def _hierarchy_text(
    skeleton: Skeleton, sites: list[EndSite], unit: float, turn: np.ndarray
) -> tuple[str, list[EndSite]]:
    """Text of the hierarchy, and its end sites in the order in which they stand there."""
    rotation = " ".join(f"{a}rotation" for a in ORDER)
    lines, written, open_joints = ["HIERARCHY"], [], []

    def numbers(vector: np.ndarray) -> str:
        return " ".join(f"{x:.8f}" for x in np.round(vector / unit, 8) + 0.0)

    def close() -> None:
        joint = open_joints.pop()
        indent = "\t" * len(open_joints)
        for site in (s for s in sites if s.joint == joint):
            written.append(site)
            lines.extend([f"{indent}\tEnd Site", f"{indent}\t{{"])
            lines.extend([f"{indent}\t\tOFFSET {numbers(site.offset)}", f"{indent}\t}}"])
        lines.append(f"{indent}}}")

    for joint, parent in enumerate(skeleton.parents.tolist()):
        while open_joints and open_joints[-1] != parent:
            close()
        indent = "\t" * len(open_joints)
        offset = skeleton.offsets[joint]
        if joint == 0:
            offset = rotations.rotate(rotations.conjugate(turn), offset)
        position = "6 Xposition Yposition Zposition" if joint in skeleton.translating else "3"
        lines.extend([f"{indent}{'JOINT' if joint else 'ROOT'} {skeleton.names[joint]}", f"{indent}{{"])
        lines.extend([f"{indent}\tOFFSET {numbers(offset)}", f"{indent}\tCHANNELS {position} {rotation}"])
        open_joints.append(joint)
    while open_joints:
        close()
    return "\n".join(lines) + "\n", written


ANGLE_DIGITS = 6
"""Digits after the point of an angle that is written anew."""

CLEAN_UNIT = 0.01
"""Meters per unit of a BVH without a BVH source: centimeters, the custom."""

CLEAN_UP = "y"


def write(motion: Motion, path: Path) -> None:
    """Write a motion as BVH.

    One that was read from BVH keeps its hierarchy's text, names, channels, unit, up axis and line ends, and each
    number that did not change: a value is the source's own to half of the last digit that would be written (1e-6
    degrees, a ten-thousandth of a millimeter) or to 1e-9 of itself. Any other motion is written in centimeters and
    Y up, with three rotation channels in ZXY order on every joint.

    Raises:
        InvalidValue: if the frames are not evenly spaced.
    """
    write_as(motion, path)


def write_as(motion: Motion, path: Path, *, unit: float | None = None, up: str | None = None) -> None:
    """Write a motion as BVH in another unit [m] or with another up axis; see `write`.

    Raises:
        InvalidValue: if the frames are not evenly spaced.
    """
    write_atomically(path, to_bytes(motion, unit=unit, up=up))


def to_bytes(motion: Motion, *, unit: float | None = None, up: str | None = None) -> bytes:
    """The text of a BVH file of this motion; see `write`."""
    if not motion.is_uniform:
        raise InvalidValue(
            "BVH has one frame time for the whole clip and these frames are not evenly spaced. "
            "Resample: poise convert --fps N, or save(motion, path, fps=N)."
        )
    document = motion.source.document if motion.source else None
    if isinstance(document, BvhDocument) and _describes(document, motion.skeleton) and up in (None, document.up):
        document = replace(document, unit=unit or document.unit)
    else:
        keep = document if isinstance(document, BvhDocument) else None
        document, motion = clean_document(
            motion, unit or (keep.unit if keep else CLEAN_UNIT), up or (keep.up if keep else CLEAN_UP)
        )
    document, wider = _widened(document, motion)
    values, changed = _values(document, motion)
    head = _head(document, motion)
    hierarchy = _hierarchy(document, motion.skeleton)
    is_whole = document.frame_count == motion.frame_count and not wider and not changed.any()
    ground = motion.source.ground if motion.source is not None else None
    is_moved = ground != read_ground(document.head)
    if not is_whole or hierarchy != document.hierarchy or head != document.head or document.is_told or is_moved:
        head = marked(head, document.unit, document.up, ground)
    return (
        hierarchy.encode(document.encoding)
        + head.encode("latin-1")
        + _rows(document, values, changed, verbatim=not wider)
    )


def _describes(document: BvhDocument, skeleton: Skeleton) -> bool:
    return (
        tuple(j.name for j in document.joints) == skeleton.names
        and [j.parent for j in document.joints] == skeleton.parents.tolist()
        and len(document.end_sites) == len(skeleton.end_sites)
    )


def _length_digits(document: BvhDocument) -> int:
    """Digits after the point that give at least 0.01 µm."""
    return int(np.clip(math.ceil(math.log10(document.unit)) + 8, 4, 12))


# --- what the channels have to say -------------------------------------------------------------------------------


def _in_file(document: BvhDocument, motion: Motion) -> tuple[Array, Array]:
    """Translations [file units] and rotations of the motion in the file's axes."""
    back = rotations.conjugate(door_turn(document.up))
    translations, turned = motion.translations / document.unit, motion.rotations.copy()
    translations[:, 0] = rotations.rotate(back, translations[:, 0])
    turned[:, 0] = rotations.multiply(back, turned[:, 0])
    return translations, turned


def _file_offsets(document: BvhDocument, skeleton: Skeleton) -> Array:
    offsets = skeleton.offsets / document.unit
    offsets[0] = rotations.rotate(rotations.conjugate(door_turn(document.up)), offsets[0])
    return offsets


def _values(document: BvhDocument, motion: Motion) -> tuple[Array, npt.NDArray[np.bool_]]:
    """The table (F, C), and where it differs from the source's own (everywhere, without a source of as many frames)."""
    has_source = document.frame_count == motion.frame_count
    translations, turned = _in_file(document, motion)
    offsets = _file_offsets(document, motion.skeleton)
    values = document.values.copy() if has_source else np.zeros((motion.frame_count, document.channel_count))
    changed = np.full(values.shape, not has_source)
    half_digit = 0.5 * 10.0 ** -_length_digits(document)
    for i, joint in enumerate(document.joints):
        for column, axis in joint.position_columns:
            base = offsets[i, axis] if document.adds_offset and i else 0.0
            moved = translations[:, i, axis] - base
            if has_source:
                changed[:, column] = np.abs(moved - values[:, column]) > np.maximum(half_digit, 1e-9 * np.abs(moved))
            values[:, column] = np.where(changed[:, column], moved, values[:, column])
    away = _turned_away(document, motion) if has_source else None
    for order in {j.order for j in document.joints} - {""}:
        same = [i for i, j in enumerate(document.joints) if j.order == order]
        columns = np.array([document.joints[i].rotation_columns for i in same])
        different = None if away is None else away[:, same]
        if different is not None and not different.any():
            continue
        source = values[:, columns] if has_source else None
        angles = _angles(order, turned[:, same], source, different)
        if source is not None:
            assert different is not None
            new = different[..., None] & (np.abs(angles - source) > 0.5 * 10.0**-ANGLE_DIGITS)
            changed[:, columns] = new
            angles = np.where(new, angles, source)
        values[:, columns] = angles
    return values, changed


def _turned_away(document: BvhDocument, motion: Motion) -> npt.NDArray[np.bool_]:
    """Where a joint's rotation is not the source's, to half of the last digit of an angle, shape (F, J)."""
    _, source = pose(document)
    return rotations.angle_between(source, motion.rotations) > np.radians(0.5 * 10.0**-ANGLE_DIGITS)


def _angles(order: str, turned: Array, source: Array | None, changed: npt.NDArray[np.bool_] | None) -> Array:
    """Angles of one, two or three channels [deg]; what fewer than three cannot say was widened before."""
    full = _full_order(order)
    if source is not None and len(order) < 3:
        source = np.concatenate([source, np.zeros((*source.shape[:2], 3 - len(order)))], axis=-1)
    return branch_angles(full, turned, source, changed)[..., : len(order)]


def _full_order(order: str) -> str:
    """The order with the missing axes put innermost."""
    return order + "".join(a for a in "ZXY" if a not in order)[: 3 - len(order)]


# --- channels the file lacks -------------------------------------------------------------------------------------


def _widened(document: BvhDocument, motion: Motion) -> tuple[BvhDocument, bool]:
    """The document with the channels that this motion needs beyond the file's own; a warning names their joints."""
    away = np.abs(motion.translations - motion.skeleton.offsets).max(axis=(0, 2))
    _, turned = _in_file(document, motion)
    wanted: dict[int, tuple[Channel, ...]] = {}
    for i, joint in enumerate(document.joints):
        channels = joint.channels
        has = {axis for _, axis in joint.position_columns}
        needs = {
            a for a in range(3) if np.abs(motion.translations[:, i] - motion.skeleton.offsets[i]).max(axis=0)[a] > 1e-7
        }
        if i == 0:
            needs = set()
            if len(has) < 3 and away[0] > 1e-7:
                needs = {0, 1, 2}
        if needs - has:
            channels = tuple(Channel(True, a) for a in range(3) if a not in has) + channels
        if len(joint.order) < 3 and not _can_say(joint.order, turned[:, i]):
            full = _full_order(joint.order)
            channels += tuple(Channel(False, "XYZ".index(a)) for a in full[len(joint.order) :])
        if channels != joint.channels:
            wanted[i] = channels
    if not wanted:
        return document, False
    names = ", ".join(document.joints[i].name for i in list(wanted)[:5])
    warnings.warn(
        f"The file's channels cannot hold how these joints move, so they were given more: {names}. "
        "Keep the file's channels by freezing these joints.",
        MotionWarning,
        stacklevel=5,
    )
    return _with_channels(document, wanted), True


def _can_say(order: str, turned: Array) -> bool:
    """True if angles about these fewer than three axes give every one of these rotations (F, 4) to 1e-6 degrees."""
    if not order:
        return bool((rotations.angle_between(turned, rotations.IDENTITY) < 1e-8).all())
    angles = branch_angles(_full_order(order), turned[:, None], np.zeros((len(turned), 1, 3)), None)[:, 0]
    again = rotations.from_euler(order, angles[:, : len(order)])
    if len(order) == 1:  # the nearest turn about one axis
        axis = "XYZ".index(order)
        again = np.zeros_like(turned)
        again[:, 0], again[:, 1 + axis] = turned[:, 0], turned[:, 1 + axis]
        norm = np.linalg.norm(again, axis=1, keepdims=True)
        again = np.where(norm > 1e-9, again / np.maximum(norm, 1e-9), rotations.IDENTITY)
    return bool((rotations.angle_between(turned, again) < 2e-8).all())


def _with_channels(document: BvhDocument, wanted: dict[int, tuple[Channel, ...]]) -> BvhDocument:
    """The same document with other channel lists; new columns hold what their absence meant."""
    joints: list[BvhJoint] = []
    columns: list[Array] = []
    text, shift, first = document.hierarchy, 0, 0
    frames = document.frame_count
    for i, joint in enumerate(document.joints):
        channels = wanted.get(i, joint.channels)
        for c in channels:
            if c in joint.channels:
                columns.append(document.values[:, joint.first + joint.channels.index(c)])
            else:
                at_rest = joint.offset[c.axis] if c.is_position and not (document.adds_offset and i) else 0.0
                columns.append(np.full(frames, at_rest))
        begin, end = (x + shift for x in joint.channels_span)
        offset_span = (joint.offset_span[0] + shift, joint.offset_span[1] + shift)
        if i in wanted:
            channel_names = " ".join("XYZ"[c.axis] + ("position" if c.is_position else "rotation") for c in channels)
            new = f"{len(channels)} {channel_names}" if begin != end else f" CHANNELS {len(channels)} {channel_names}"
            text = text[:begin] + new + text[end:]
            shift += len(new) - (end - begin)
            end = begin + len(new)
        joints.append(
            replace(joint, channels=channels, first=first, offset_span=offset_span, channels_span=(begin, end))
        )
        first += len(channels)
    return replace(document, hierarchy=text, joints=tuple(joints), values=np.stack(columns, axis=1))


# --- text --------------------------------------------------------------------------------------------------------


def _hierarchy(document: BvhDocument, skeleton: Skeleton) -> str:
    """The hierarchy's text, with another OFFSET where a bone has another length."""
    digits = _length_digits(document)
    sites = np.array([s.offset for s in skeleton.end_sites]).reshape(-1, 3) / document.unit
    blocks = [*document.joints, *document.end_sites]
    pieces = sorted(zip(blocks, [*_file_offsets(document, skeleton), *sites]), key=lambda b: -b[0].offset_span[0])
    text = document.hierarchy
    for block, offset in pieces:
        if (np.abs(offset - block.offset) > np.maximum(0.5 * 10.0**-digits, 1e-9 * np.abs(offset))).any():
            numbers = " ".join(f"{x:.{digits}f}" for x in np.round(offset, digits) + 0.0)
            text = text[: block.offset_span[0]] + numbers + text[block.offset_span[1] :]
    return text


def _head(document: BvhDocument, motion: Motion) -> str:
    """The lines from MOTION to the first row; the literal frame time unless the rate is another."""
    head = document.head
    literal = head[slice(*document.time_span)]
    if abs(float(literal) - motion.dt) > 1e-7 * motion.dt:
        head = head[: document.time_span[0]] + f"{motion.dt:.9g}" + head[document.time_span[1] :]
    if int(head[slice(*document.count_span)]) != motion.frame_count:
        head = head[: document.count_span[0]] + str(motion.frame_count) + head[document.count_span[1] :]
    return head


def _rows(document: BvhDocument, values: Array, changed: npt.NDArray[np.bool_], *, verbatim: bool) -> bytes:
    is_length = np.array([c.is_position for j in document.joints for c in j.channels])
    digits = np.where(is_length, _length_digits(document), ANGLE_DIGITS)
    rounded = np.where(is_length, np.round(values, _length_digits(document)), np.round(values, ANGLE_DIGITS)) + 0.0
    if verbatim and document.frame_count == len(values):
        if not changed.any():
            return document.rows
        return b"".join(_row(document.row(f), rounded[f], changed[f], digits) for f in range(len(values)))
    end = "\r\n" if "\r\n" in document.head else "\n"
    line = " ".join(f"%.{d}f" for d in digits) + end
    return "".join([line % tuple(row) for row in rounded.tolist()]).encode("ascii")


def _row(text: bytes, values: Array, changed: npt.NDArray[np.bool_], digits: npt.NDArray[np.int64]) -> bytes:
    """One row with the changed numbers exchanged, blanks at its ends as they stood."""
    if not changed.any():
        return text
    numbers = text.split()
    for column in np.flatnonzero(changed):
        numbers[column] = b"%.*f" % (int(digits[column]), float(values[column]))
    body = text.strip()
    begin = text.index(body)
    return text[:begin] + b" ".join(numbers) + text[begin + len(body) :]
