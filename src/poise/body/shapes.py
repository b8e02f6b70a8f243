"""Shape of each body: capsules as thick as such a part of a figure is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.body import anthropometry
from poise.body.feet import Foot, Ground
from poise.body.fit_bodies import Frames
from poise.body.parts import Capsule
from poise.core.typing import Array


@dataclass(frozen=True)
class Shapes:
    """Shape of the B bodies.

    Attributes:
        radii: Thickness [m], shape (B,).
        capsules: Capsules of each body.
        lengths: Length of all bones of each body [m]; a body without any counts as its own thickness.
        middle: Where the root body is, if it is a root on the ground that only carries; else None.
    """

    radii: tuple[float, ...]
    capsules: tuple[tuple[Capsule, ...], ...]
    lengths: tuple[float, ...]
    middle: Array | None


def make_shapes(frames: Frames, ground: Ground) -> Shapes:
    """Capsules of all bodies, feet laid on their soles."""
    middle = far_middle(frames, 0)
    radii, capsules = _shapes(frames, ground, middle)
    lengths = [max(sum(float(np.linalg.norm(t)) for t in tips), 2.0 * r) for tips, r in zip(frames.tips, radii)]
    if middle is not None:
        lengths[0] = 2.0 * radii[0]
    return Shapes(radii, capsules, tuple(lengths), middle)


def _shapes(
    frames: Frames, ground: Ground, middle: Array | None
) -> tuple[tuple[float, ...], tuple[tuple[Capsule, ...], ...]]:
    """Thickness [m] and capsules of each body."""
    feet = ground.feet
    radii: list[float] = []
    shapes: list[tuple[Capsule, ...]] = []
    foot_bodies = {b for foot in feet for b in (foot.ankle, foot.last) if frames.parts[b] in ("foot", "toe")}
    tips_of_feet = {foot.last: foot.tip for foot in feet}
    drops = {frames.parents[foot.ankle]: _drop(foot, ground) for foot in feet if frames.parts[foot.ankle] == "foot"}
    for i, part in enumerate(frames.parts):
        tips = frames.tips[i] or ((tips_of_feet[i],) if i in tips_of_feet else ())
        far = max((float(np.linalg.norm(t)) for t in tips), default=0.0)
        radius = anthropometry.radius_of(part, far, frames.scale)
        radii.append(radius)
        ends = [t for t in tips if np.linalg.norm(t) > 0.3 * radius]
        if i in foot_bodies:
            shapes.append(_foot_shape(i, tips, ground, radius))
        elif part == "head" and ends:
            top = ends[0]
            inset = min(radius / far, 0.45)
            shapes.append((Capsule(0.35 * top, (1.0 - inset) * top if inset < 0.6 else top, radius),))
        elif i == 0 and middle is not None:
            shapes.append((Capsule(middle, middle, radius),))
        elif part in ("pelvis", "chest") and len(ends) > 1:
            shapes.append(tuple(_trunk_capsule(t, radius) for t in ends))
        elif i in drops and len(ends) == 1:
            # the round end at the ankle must not reach through the sole
            short = min(max(radius - drops[i], 0.0), 0.3 * far)
            shapes.append((Capsule(np.zeros(3), ends[0] * (1.0 - short / far), radius),))
        elif ends:
            shapes.append(tuple(Capsule(np.zeros(3), t, radius) for t in ends))
        else:
            shapes.append((Capsule(np.zeros(3), np.zeros(3), radius),))
    return tuple(radii), tuple(shapes)


def _trunk_capsule(tip: Array, radius: float) -> Capsule:
    """A capsule towards a limb's root that ends inside the trunk's outline."""
    length = float(np.linalg.norm(tip))
    return Capsule(np.zeros(3), tip * max(length - 0.5 * radius, 0.3 * length) / length, radius)


def _foot_shape(body: int, tips: tuple[Array, ...], ground: Ground, radius: float) -> tuple[Capsule, ...]:
    """A foot lies on its sole: from heel to ball, or from the toe joint to the tip, raised by its own thickness."""
    plane = ground.plane(body)
    if plane is not None:
        heel, ball, up = plane
        lift = min(radius, 0.8 * float(-heel @ up))
        along = (ball - heel) / float(np.linalg.norm(ball - heel))
        return (Capsule(heel + (up + along) * lift, ball + up * lift, lift),)
    tip = tips[0] if tips else np.zeros(3)
    if np.linalg.norm(tip) > 0.3 * radius:
        return (Capsule(np.zeros(3), tip, radius),)
    return (Capsule(np.zeros(3), np.zeros(3), radius),)


def _drop(foot: Foot, ground: Ground) -> float:
    """Height of an ankle over the foot's sole [m]; infinite for paws."""
    plane = ground.plane(foot.ankle)
    return float("inf") if plane is None else float(-plane[0] @ plane[2])


def far_middle(frames: Frames, body: int) -> Array | None:
    """Where all bones of a body end together, far from its joint: a root on the ground that only carries; else None."""
    tips = np.array(frames.tips[body])
    if len(tips) < 2 or float(np.linalg.norm(np.ptp(tips, axis=0))) > 0.05 * frames.scale:
        return None
    middle = tips.mean(axis=0)
    return middle if float(np.linalg.norm(middle)) > 0.15 * frames.scale else None
