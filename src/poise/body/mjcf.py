"""Characters as MJCF text: bodies, joints, inertias, shapes and contact sites for MuJoCo."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

import numpy as np

from poise.body.character import Body, Character
from poise.body.parts import unique_names
from poise.core.errors import InvalidValue
from poise.core.typing import Array
from poise.core.units import GRAVITY

_GEOM_GROUP = 'contype="1" conaffinity="0"'


def body_names(character: Character) -> tuple[str, ...]:
    """Name of each body in the exported model: its own name, made unique."""
    return unique_names(b.name for b in character.bodies)


def to_mjcf(character: Character, *, floor: bool = False, timestep: float = 0.005) -> str:
    """MJCF text of a character; body, joint and coordinate order equal `Character.bodies`.

    The root body has a free joint, a ball body a ball joint, a hinge body a hinge about `Body.axis`. Body frames are
    the joints' own frames, so q holds the source's rotations as they are. Masses and inertias are explicit; capsules
    have no mass. Each contact point is a site. Hinge ranges are written; the swing-twist limits of a ball joint have no
    MJCF form (its one cone is measured from q = identity, not from the rest pose) and are left to the caller.

    Example:
        >>> text = poise.body.to_mjcf(character, floor=True)  # MuJoCo reads it

    Args:
        character: What to write.
        floor: Add a floor plane at the character's own floor height.
        timestep: MuJoCo's time step [s].
    """
    return scene_mjcf((character,), floor=floor, timestep=timestep)


def prefixes(characters: Sequence[Character], names: Sequence[str] | None = None) -> tuple[str, ...]:
    """What stands before the names of each character's bodies and points in a scene: "name/", nothing for one alone.

    Args:
        names: Of the characters, made unique; by default "1", "2", …

    Raises:
        InvalidValue: if there is not one name for each.
    """
    if names is None:
        names = [str(k + 1) for k in range(len(characters))]
    if len(names) != len(characters):
        raise InvalidValue(f"{len(characters)} characters have {len(names)} names; give one each.")
    return ("",) if len(characters) == 1 else tuple(f"{name}/" for name in unique_names(names))


def scene_mjcf(
    characters: Sequence[Character], *, names: Sequence[str] | None = None, floor: bool = False, timestep: float = 0.005
) -> str:
    """MJCF text of several characters in one world, one tree after the other, each as `to_mjcf` writes it.

    Args:
        characters: What to write, one at least.
        names: Of the characters, which stand before those of their bodies; see `prefixes`.
        floor: Add a floor plane at the first character's own floor height.
        timestep: MuJoCo's time step [s].

    Raises:
        InvalidValue: if there is no character, or not one name for each.
    """
    if not characters:
        raise InvalidValue("A scene has no character; give at least one.")
    out = [
        '<mujoco model="poise character">',
        '  <compiler angle="radian" inertiafromgeom="false" autolimits="true"/>',
        f'  <option timestep="{_number(timestep)}" gravity="0 0 {_number(-GRAVITY)}"/>',
        "  <worldbody>",
    ]
    if floor:
        place = f'type="plane" size="20 20 1" pos="0 0 {_number(characters[0].floor)}"'
        out.append(f'    <geom name="floor" {place} contype="0" conaffinity="1"/>')
    for character, prefix in zip(characters, prefixes(characters, names), strict=True):
        children: list[list[int]] = [[] for _ in character.bodies]
        for i, body in enumerate(character.bodies):
            if body.parent >= 0:
                children[body.parent].append(i)
        bodies = tuple(prefix + name for name in body_names(character))
        _write_body(character, 0, bodies, children, out, "    ", prefix)
    out += ["  </worldbody>", "</mujoco>", ""]
    return "\n".join(out)


def _write_body(
    character: Character,
    index: int,
    names: tuple[str, ...],
    children: list[list[int]],
    out: list[str],
    indent: str,
    prefix: str,
) -> None:
    body, name = character.bodies[index], names[index]
    turn = "" if body.rest_rotation is None else f' quat="{_numbers(body.rest_rotation)}"'
    out.append(f'{indent}<body name={quoteattr(name)} pos="{_numbers(body.offset)}"{turn}>')
    inner = indent + "  "
    out.append(inner + _joint(body, name))
    inertia = body.inertia
    six = [inertia[0, 0], inertia[1, 1], inertia[2, 2], inertia[0, 1], inertia[0, 2], inertia[1, 2]]
    mass = f'mass="{_number(body.mass)}" fullinertia="{_numbers(np.array(six))}"'
    out.append(f'{inner}<inertial pos="{_numbers(body.com)}" {mass}/>')
    for k, capsule in enumerate(body.capsules):
        label = quoteattr(name if k == 0 else f"{name} {k + 1}")
        if np.linalg.norm(capsule.end - capsule.start) < 1e-6:
            shape = f'type="sphere" pos="{_numbers(capsule.start)}"'
        else:
            shape = f'type="capsule" fromto="{_numbers(np.concatenate([capsule.start, capsule.end]))}"'
        out.append(f'{inner}<geom name={label} {shape} size="{_number(capsule.radius)}" mass="0" {_GEOM_GROUP}/>')
    for point in character.contact_points:
        if point.body == index:
            out.append(
                f'{inner}<site name={quoteattr(prefix + point.name)} pos="{_numbers(point.offset)}" '
                f'size="{_number(max(point.radius, 0.005))}"/>'
            )
    for child in children[index]:
        _write_body(character, child, names, children, out, inner, prefix)
    out.append(f"{indent}</body>")


def _joint(body: Body, name: str) -> str:
    label = quoteattr(name)
    if body.kind == "free":
        return f"<freejoint name={label}/>"
    limits = body.limits
    if body.kind == "hinge":
        assert body.axis is not None
        limit = ""
        if limits is not None and np.isfinite([limits.twist_lower, limits.twist_upper]).all():
            limit = f' range="{_number(limits.twist_lower)} {_number(limits.twist_upper)}"'
        return f'<joint name={label} type="hinge" axis="{_numbers(body.axis)}"{limit}/>'
    return f'<joint name={label} type="ball"/>'


def _number(x: float) -> str:
    return repr(float(x))


def _numbers(x: Array) -> str:
    return " ".join(repr(float(v)) for v in np.asarray(x).ravel())
