"""Which way is up: every axis before the same witnesses."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from poise.intake.figure import AXES, Array, Figure, Reals, along
from poise.intake.table import Table, Testimony, weigh

ALONG_AXIS = 0.7
"""Cosine beyond which a direction counts as along an axis [1]."""
STATED = 0.95
"""How often the axis that a file or its format states is right, where the rest pose lies [1]."""


def weigh_up(figure: Figure, custom: Mapping[str, float], convention: str) -> Table[str]:
    """All axes with what every witness says of them.

    Args:
        figure: The motion as it stands in its file.
        custom: How often files of this format have which axis up; those not named are taken for rarities.
        convention: Whose custom it is, such as "BVH files are".
    """
    prior = np.array([custom.get(axis, 1e-3) for axis in AXES])
    usual = max(custom, key=lambda axis: custom[axis])
    prior_axis = _of_axes(
        "custom", prior, lambda axis: f"{convention} {usual.upper()} up by custom" if axis == usual else ""
    )
    return weigh(AXES, np.ones(len(AXES)), [prior_axis, *(witness(figure) for witness in WITNESSES)])


def weigh_stated(figure: Figure) -> Table[str] | None:
    """The same for a motion that stands in the world, z up, by the axis that its file or format states.

    None where nothing can speak against that: the rest pose stands, or no leg is known by name. Legs known by shape
    alone may be fins or wings.
    """
    rest = rest_stands(figure) if figure.anatomy.by_name else None
    if rest is None or AXES[int(np.argmax(rest.likelihood))] == "z":
        return None
    wrong = (1.0 - STATED) / (len(AXES) - 1)
    prior = np.array([STATED if axis == "z" else wrong for axis in AXES])
    return weigh(AXES, prior, [witness(figure) for witness in WITNESSES])


def rest_stands(figure: Figure) -> Testimony[str] | None:
    """The legs of the rest pose hang down, and its head is on top."""
    anatomy, rest = figure.anatomy, figure.rest
    if not anatomy.legs:
        return None
    hips = rest[[leg.first for leg in anatomy.legs]].mean(axis=0)
    soles = rest[[leg.end for leg in anatomy.legs]].mean(axis=0)
    legs = _direction(hips - soles)
    straight = float(np.linalg.norm(hips - soles))
    trunk = _direction(rest[anatomy.head] - hips) if anatomy.head is not None else np.zeros(3)
    if straight < 0.6:  # bones along their own axes: that pose says nothing
        return None
    agree = max(0.0, float(legs @ trunk))
    likely = np.array([0.05 + _steep(along(legs, a)) * (0.5 + 0.5 * agree * _steep(along(trunk, a))) for a in AXES])
    best = AXES[int(np.argmax(likely))]
    return _of_axes(
        "rest pose", likely, lambda axis: f"the rest pose stands along {figure.named(axis)}" if axis == best else ""
    )


def rest_is_mirrored(figure: Figure) -> Testimony[str] | None:
    """What mirrors the body's sides in the rest pose, and in the clip, lies level."""
    anatomy = figure.anatomy
    if len(anatomy.legs) != 2:
        return None
    left, right = anatomy.legs
    rest = _direction(figure.rest[left.first] - figure.rest[right.first])
    across = figure.places([left.first]) - figure.places([right.first])
    across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-9)
    if not np.any(rest) and not np.any(across):
        return None
    likely = []
    for axis in AXES:
        level_at_rest = 1.0 - along(rest, axis) ** 2
        level = float(np.mean(1.0 - along(across, axis) ** 2))
        likely.append(0.05 + level_at_rest * level)
    lateral = AXES[int(np.argmin(likely))]
    return _of_axes(
        "sides", np.array(likely), lambda axis: "" if axis[-1] == lateral[-1] else "its left and right lie level"
    )


def stands_over_the_clip(figure: Figure) -> Testimony[str] | None:
    """Bodies are upright for most of most clips: feet below the hips, hips below the head."""
    anatomy = figure.anatomy
    if not anatomy.legs:
        return None
    hips = figure.places([leg.first for leg in anatomy.legs])
    soles = figure.places([leg.end for leg in anatomy.legs])
    parts = [hips - soles] + ([figure.places([anatomy.head]) - hips] if anatomy.head is not None else [])
    shares = np.zeros(len(AXES))
    for part in parts:
        part = part / np.maximum(np.linalg.norm(part, axis=1, keepdims=True), 1e-9)
        shares += np.array([float((along(part, axis) > ALONG_AXIS).mean()) for axis in AXES]) / len(parts)
    best = AXES[int(np.argmax(shares))]
    share = round(100 * float(shares.max()))
    return _of_axes(
        "posture",
        0.12 + shares,
        lambda axis: (
            f"over the clip the body stands along {figure.named(axis)} ({share} %)"
            if axis == best and share > 30
            else ""
        ),
    )


def stands_on_a_floor(figure: Figure) -> Testimony[str] | None:
    """At the lowest level of the right axis something stands still, most of the time."""
    if not figure.moves:
        return None
    seen = {axis: figure.stances(axis) for axis in AXES}
    return _of_axes(
        "floor",
        np.array([0.08 + (seen[a].standing * seen[a].near) ** 1.5 for a in AXES]),
        lambda axis: (
            f"something stands still on the lowest level of {figure.named(axis)} in "
            f"{100 * seen[axis].standing:.0f} % of the frames"
        ),
    )


def falls_when_nothing_carries(figure: Figure) -> Testimony[str] | None:
    """A body in the air falls along the right axis; along a wrong one it hangs."""
    if not figure.moves:
        return None
    seen = {axis: figure.stances(axis) for axis in AXES}

    def why(axis: str) -> str:
        count = len(seen[axis].flights)
        if count:
            return f"it falls along {figure.named(axis)} in {count} flight{'s' if count > 1 else ''}"
        return (
            f"nothing carries it in {100 * seen[axis].hanging:.0f} % of the frames" if seen[axis].hanging > 0.2 else ""
        )

    likely = [(1.0 - 0.8 * seen[a].hanging) * (1.0 + min(len(seen[a].flights), 2)) for a in AXES]
    return _of_axes("fall", np.array(likely), why)


def travels_level(figure: Figure) -> Testimony[str] | None:
    """What goes far goes level: the way up is never the longest way."""
    if not figure.moves:
        return None
    extent = np.ptp(figure.com, axis=0)
    likely = np.array([1.0 / (1.0 + (float(extent["xyz".index(a[-1])]) / 1.5) ** 4) for a in AXES])
    far = "xyz"[int(np.argmax(extent))]
    return _of_axes(
        "travel",
        likely,
        lambda axis: (
            f"it travels {extent.max():.1f} leg lengths along {figure.named(far)[-1]}"
            if axis[-1] != far and extent.max() > 1.5
            else ""
        ),
    )


WITNESSES: tuple[Callable[[Figure], Testimony[str] | None], ...] = (
    rest_stands,
    rest_is_mirrored,
    stands_over_the_clip,
    stands_on_a_floor,
    falls_when_nothing_carries,
    travels_level,
)
"""Everyone who is asked which way is up."""


def _of_axes(witness: str, likelihood: Array, reason: Callable[[str], str]) -> Testimony[str]:
    return Testimony(witness, np.maximum(likelihood, 1e-12), reason)


def _direction(vector: Array) -> Array:
    length = float(np.linalg.norm(vector))
    return vector / length if length > 1e-9 else np.zeros(3)


def _steep(cosine: float | Reals) -> float:
    """1 along an axis, little beside it."""
    return max(0.0, float(cosine)) ** 6
