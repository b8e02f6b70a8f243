"""What comes in and goes out as JSON (docs/serve.md): motions, pushes, grounds, bodies.

What is malformed is refused here. An array is a list of lists, or {"shape": [F, J, 3], "f8": "…"} with its
little-endian float64 numbers as base64.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.skeleton import EndSite, Skeleton
from poise.core.typing import Array
from poise.filter.forces import Force, Pull, Push
from poise.phases.floor import start_of
from poise.terrain import Terrain
from poise.terrain.files import rasterize
from poise.terrain.shapes import Heightfield

Fields = Mapping[str, Any]

MAX_NUMBERS = 8_000_000
"""Largest array that is read."""
MAX_JOINTS = 2000
MAX_SIDE = 2048
"""Most heights along one side of a ground."""
MAX_BODIES = 500
MAX_PUSHES = 1000


def array(data: Any, name: str, shape: Sequence[int | None]) -> Array:
    """An array of finite numbers; None in `shape` is any length.

    Raises:
        InvalidValue: naming the field.
    """
    wanted = f"({', '.join('N' if n is None else str(n) for n in shape)})"
    if isinstance(data, Mapping):
        try:
            size = [int(n) for n in data["shape"]]
            values = np.frombuffer(base64.b64decode(data["f8"], validate=True), dtype="<f8")
            if min(size, default=0) < 0 or len(values) > MAX_NUMBERS:
                raise ValueError
            out = values.reshape(size).astype(np.float64)
        except (KeyError, TypeError, ValueError, OverflowError, binascii.Error):
            raise InvalidValue(
                f'{name} is not an array. Give lists of numbers, or {{"shape": [...], "f8": base64 of float64}}.'
            ) from None
    else:
        try:
            out = np.array(data, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise InvalidValue(f"{name} is not a list of numbers of shape {wanted}.") from None
    if out.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, out.shape)):
        raise InvalidValue(f"{name} has shape {out.shape}; {wanted} is needed.")
    if not np.isfinite(out).all():
        raise InvalidValue(f"{name} holds numbers that are not finite.")
    return out


def packed(values: Any) -> dict[str, Any]:
    """An array as it goes out; NaN is kept."""
    numbers = np.ascontiguousarray(values, dtype="<f8")
    return {"shape": list(numbers.shape), "f8": base64.b64encode(numbers.tobytes()).decode("ascii")}


def number(data: Fields, name: str, default: float | None = None) -> float:
    """A finite number of a message."""
    value = data.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e12:
        raise InvalidValue(f"{name} is {_short(value)}; give a number.")
    return float(value)


def optional(data: Fields, name: str) -> float | None:
    """A number of a message, or None if it is not there."""
    return None if data.get(name) is None else number(data, name)


def text(data: Fields, name: str, default: str | None = None) -> str:
    """A text of a message."""
    value = data.get(name, default)
    if not isinstance(value, str) or len(value) > 1000:
        raise InvalidValue(f"{name} is {_short(value)}; give a text.")
    return value


def items(data: Fields, name: str, most: int) -> list[Any]:
    """A list of a message; empty if it is not there."""
    value = data.get(name, [])
    if not isinstance(value, list) or len(value) > most:
        raise InvalidValue(f"{name} is {_short(value)}; give a list of at most {most}.")
    return value


def fields(data: Any, name: str) -> Fields:
    """An object of a message."""
    if not isinstance(data, Mapping):
        raise InvalidValue(f"{name} is {_short(data)}; give an object with fields.")
    return data


def known(data: Fields, allowed: Sequence[str], what: str) -> None:
    """Refuse fields that nobody reads: a mistyped one would change nothing, silently."""
    for name in data:
        if name not in allowed:
            raise InvalidValue(f"{what} has no field {_short(name)}. Fields: {', '.join(allowed)}.")


def _short(value: Any) -> str:
    shown = "missing" if value is None else repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


# --- motions

MOTION = (
    "names", "parents", "offsets", "rest_rotations", "end_sites", "fps", "times", "translations", "rotations", "mass",
)  # fmt: skip


def read_motion(data: Any, name: str = "motion") -> Motion:
    """A motion: Z up, meters, wxyz; rotations and translations are those of each joint in its parent's frame.

    The same message gives the same object, so what was found of a motion is found once.
    """
    return _motion(json.dumps(fields(data, name), sort_keys=True), name)


@lru_cache(maxsize=4)
def _motion(message: str, name: str) -> Motion:
    data = json.loads(message)
    known(data, MOTION, name)
    names = items(data, "names", MAX_JOINTS)
    if not names or not all(isinstance(n, str) and n for n in names) or len(set(names)) < len(names):
        raise InvalidValue(f"{name}.names needs 1 to {MAX_JOINTS} different names.")
    count = len(names)
    parents = array(data.get("parents"), f"{name}.parents", (count,))
    if (parents != np.round(parents)).any():
        raise InvalidValue(f"{name}.parents holds numbers that are not indices.")
    rest = data.get("rest_rotations")
    skeleton = Skeleton(
        tuple(names),
        parents.astype(np.int64),
        array(data.get("offsets"), f"{name}.offsets", (count, 3)),
        np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)) if rest is None else _turns(rest, f"{name}.rest_rotations", (count,)),
        tuple(_end_site(site, count, f"{name}.end_sites") for site in items(data, "end_sites", 4 * MAX_JOINTS)),
        mass=optional(data, "mass"),
    )
    turned = _turns(data.get("rotations"), f"{name}.rotations", (None, count))
    moved = array(data.get("translations"), f"{name}.translations", (len(turned), count, 3))
    if data.get("times") is not None:
        times = array(data["times"], f"{name}.times", (len(turned),))
    else:
        fps = number(data, "fps")
        if not 0.1 <= fps <= 10_000.0:
            raise InvalidValue(f"{name}.fps is {fps:g}; 0.1 to 10000 is allowed.")
        times = np.arange(len(turned)) / fps
    far = np.abs(moved - skeleton.offsets).max(axis=(0, 2)) > 1e-6 * max(1.0, float(np.abs(skeleton.offsets).max()))
    moving = frozenset({0, *np.flatnonzero(far).tolist()})
    return Motion(replace(skeleton, translating=moving), times - times[:1], moved, turned)


def _turns(data: Any, name: str, shape: Sequence[int | None]) -> Array:
    """Unit quaternions, wxyz."""
    out = array(data, name, (*shape, 4))
    size = np.linalg.norm(out, axis=-1, keepdims=True)
    if len(out) and not (np.abs(size - 1.0) < 1e-3).all():
        raise InvalidValue(f"{name} holds quaternions (wxyz) whose length is not 1.")
    return out / size


def _end_site(data: Any, count: int, name: str) -> EndSite:
    data = fields(data, name)
    known(data, ("joint", "offset", "name"), name)
    joint = number(data, "joint")
    if joint != int(joint) or not 0 <= joint < count:
        raise InvalidValue(f"{name}: joint is {joint:g}; give the index of one of {count} joints.")
    return EndSite(int(joint), array(data.get("offset"), f"{name}.offset", (3,)), text(data, "name", "End Site"))


def motion_data(motion: Motion) -> dict[str, Any]:
    """The frames of a motion; its skeleton is the one that came in."""
    return {
        "names": list(motion.skeleton.names),
        "times": packed(motion.times),
        "translations": packed(motion.translations),
        "rotations": packed(motion.rotations),
    }


# --- what acts on a figure


def read_forces(data: Fields, shift: float = 0.0) -> list[Force]:
    """Pushes and pulls; `shift` [s] is taken from their starts, and what is over by then is left out."""
    found: list[Force] = []
    for push in items(data, "pushes", MAX_PUSHES):
        push = fields(push, "a push")
        known(push, ("body", "force", "start", "duration"), "a push")
        x, y, z = array(push.get("force"), "force of a push", (3,)).tolist()
        found.append(Push(text(push, "body"), (x, y, z), number(push, "start", 0.0), number(push, "duration", 0.2)))
    for pull in items(data, "pulls", MAX_PUSHES):
        pull = fields(pull, "a pull")
        known(pull, ("body", "point", "stiffness", "start", "duration"), "a pull")
        x, y, z = array(pull.get("point"), "point of a pull", (3,)).tolist()
        lasts = optional(pull, "duration")
        lasts = math.inf if lasts is None else lasts
        found.append(Pull(text(pull, "body"), (x, y, z), number(pull, "stiffness"), number(pull, "start", 0.0), lasts))
    return [_shifted(force, shift) for force in found if force.start + force.duration > shift]


def _shifted(force: Force, shift: float) -> Force:
    start = force.start - shift
    assert isinstance(force, Push | Pull)
    return replace(force, start=max(0.0, start), duration=force.duration + min(0.0, start))


def read_terrain(data: Any, motion: Motion, floor: float) -> Terrain | None:
    """A ground: {"spec": "slope:10"} as on the command line; or in the world {"heights", "corner", "spacing"},
    {"triangles"} or {"boxes"}. Beside triangles and boxes the ground is as high as the clip's floor [m].
    """
    if data is None:
        return None
    data = fields(data, "terrain")
    known(data, ("spec", "heights", "corner", "spacing", "triangles", "boxes"), "terrain")
    if "spec" in data:
        return Terrain.parse(text(data, "spec"))
    start = np.array([*start_of(motion)[:2], floor])
    if "heights" in data:
        heights = array(data["heights"], "terrain.heights", (None, None))
        if not 2 <= min(heights.shape) <= max(heights.shape) <= MAX_SIDE:
            raise InvalidValue(f"terrain.heights has shape {heights.shape}; 2 to {MAX_SIDE} a side are allowed.")
        spacing = number(data, "spacing")
        if not 1e-3 <= spacing <= 1e3:
            raise InvalidValue(f"terrain.spacing is {spacing:g} m; 0.001 to 1000 is allowed.")
        corner = array(data.get("corner"), "terrain.corner", (2,)) - start[:2]
        shape = Heightfield(heights - floor, spacing, corner, periodic=False)
    else:
        faces = [array(data.get("triangles", np.zeros((0, 3, 3))), "terrain.triangles", (None, 3, 3))]
        faces += [_box_faces(fields(box, "a box")) for box in items(data, "boxes", MAX_BODIES)]
        triangles = np.concatenate(faces)
        if not len(triangles):
            raise InvalidValue("terrain has neither spec, heights, triangles nor boxes.")
        shape = rasterize(triangles - start, "terrain")
    return Terrain(shape, "mesh").toward(0.0)


def _box(data: Fields, name: str) -> tuple[Array, Array, Array]:
    """Half sizes, place and orientation of a box."""
    half = array(data.get("half"), f"half of {name}", (3,))
    if not (half > 0.0).all():
        raise InvalidValue(f"half of {name} is {half.tolist()}; give three lengths above 0 (half of each side).")
    turn = _turns(data.get("rotation", [1.0, 0.0, 0.0, 0.0]), f"rotation of {name}", ())
    return half, array(data.get("position"), f"position of {name}", (3,)), turn


def _box_faces(data: Fields) -> Array:
    """The twelve triangles of a box, (12, 3, 3)."""
    known(data, ("half", "position", "rotation"), "a box")
    half, place, turn = _box(data, "a box")
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
    corners = rotations.rotate(np.tile(turn, (8, 1)), corners * half) + place
    quads = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    return corners[np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])]


def read_bodies(data: Fields, floor: float) -> str | None:
    """Boxes around the figure on ground at `floor` [m], as MJCF text for a `World`; None if there are none."""
    found = items(data, "bodies", MAX_BODIES)
    if not found:
        return None
    lines, names = [], set[str]()
    for body in found:
        body = fields(body, "a body")
        known(body, ("name", "half", "position", "rotation", "mass"), "a body")
        name, mass = text(body, "name"), number(body, "mass", 0.0)
        if name in names:
            raise InvalidValue(f"Two bodies are called {name!r}; give each its own name.")
        names.add(name)
        half, place, turn = _box(body, repr(name))
        if mass < 0.0:
            raise InvalidValue(f"mass of {name!r} is {mass:g} kg; give 0 (it never moves) or more.")
        weight, joint = (f'mass="{mass:.9g}"', "<freejoint/>") if mass else ("", "")
        lines.append(
            f'<body name={quoteattr(name)} pos="{_numbers(place)}" quat="{_numbers(turn)}">{joint}'
            f'<geom type="box" size="{_numbers(half)}" {weight}/></body>'
        )
    ground = f'<geom name="ground" type="plane" size="100 100 1" pos="0 0 {floor:.9g}"/>'
    return f"<mujoco><worldbody>{ground}{''.join(lines)}</worldbody></mujoco>"


def _numbers(values: Array) -> str:
    return " ".join(f"{x:.9g}" for x in values.tolist())
