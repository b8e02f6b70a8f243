"""Variants of a clip: shoves, grounds, crates, pace and size that are drawn by chance, tried, and judged.

What a variant is follows from the seed and its number alone, so that a run can be split, stopped and taken up again.
All sizes are in proportion to the figure: speeds with √(leg length), lengths with leg length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from poise.body.character import Character
from poise.check.clip import findings_of
from poise.check.finding import Finding
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.edit.ballistic import ballistic
from poise.edit.mend import MENDERS
from poise.edit.report import new_findings, turns_as_far
from poise.edit.retime import retime
from poise.edit.scale import scale
from poise.edit.spin import spin
from poise.filter.forces import Push
from poise.filter.preset import Preset, load_preset
from poise.filter.simulate import ClipWorld, simulate
from poise.phases.points import pelvis
from poise.phases.travel import is_in_place
from poise.terrain import Terrain

HEAVY = 0.1
"""A body of this share of the mass takes a whole shove; a lighter one takes less in proportion."""
PHASE = 1.0 / 15.0
"""Two variants are compared at moments this far apart [s]."""
AS_FAR = 1.25
"""A joint of a variant may turn so many times as far in a frame as it ever does in the source [1]."""
NOISE = math.radians(1.0)
"""White noise of a joint that no one would call another motion [rad]."""
APART = 5.0
"""A variant nearer to another than this many times the noise is the same motion again."""
MOST_RESPONSIVE = 1.6
"""Responsiveness is drawn between the inverse of this and this, evenly in its logarithm [1]."""
FLIGHT_FINDINGS = frozenset(f for m in MENDERS if m.name in ("ballistic", "spin") for f in m.findings)
"""Findings of flights whose path, gravity or angular momentum is not that of free flight: those that `make` mends."""
OFFSETS = {"arm": 35.0, "tail": 35.0, "neck": 18.0, "spine": 10.0}
"""How far a style turns the first two joints of a limb, rms [deg]."""


@dataclass(frozen=True)
class Style:
    """Another way to carry trunk, arms, neck and tail.

    Attributes:
        swing: Each limb's turns about its mean pose over the old ones, by joint.
        offsets: A turn that is added to a joint, in its parent's frame [rad], by joint.
    """

    swing: Mapping[int, float]
    offsets: Mapping[int, tuple[float, float, float]]


@dataclass(frozen=True)
class Crate:
    """A loose box.

    Attributes:
        place: Of its middle on the ground [m].
        heading: Turn about the vertical [rad].
        side: [m].
        mass: [kg].
    """

    place: tuple[float, float]
    heading: float
    side: float
    mass: float


@dataclass(frozen=True)
class Variant:
    """What is done to a clip.

    Attributes:
        style: How the upper body is carried, or None.
        pushes: Shoves.
        terrain: The ground, as `Terrain.parse` reads it; "flat" for none.
        crates: What stands in its way.
        responsiveness: How firmly it holds on and how fast it comes back, over the usual.
        pace: New duration over the old one.
        size: New height over the old one.
    """

    style: Style | None = None
    pushes: tuple[Push, ...] = ()
    terrain: str = "flat"
    crates: tuple[Crate, ...] = ()
    responsiveness: float = 1.0
    pace: float = 1.0
    size: float = 1.0

    @property
    def words(self) -> str:
        """In the words of `poise simulate` and `poise edit`."""
        parts = [] if self.style is None else ["style"]
        for push in self.pushes:
            force = " ".join(f"{f:.0f}" for f in push.force)
            parts.append(f"push '{push.body} {force} @{push.start:.2f}+{push.duration:.2f}'")
        if self.terrain != "flat":
            parts.append(f"terrain {self.terrain}")
        parts += [f"crate {c.mass:.1f} kg @{c.place[0]:.2f},{c.place[1]:.2f}" for c in self.crates]
        if self.responsiveness != 1.0:
            parts.append(f"responsiveness {self.responsiveness:.3f}")
        if self.pace != 1.0:
            parts.append(f"retime {self.pace:.3f}")
        if self.size != 1.0:
            parts.append(f"scale {self.size:.3f}")
        return ", ".join(parts)

    @property
    def scene(self) -> str | None:
        """Its crates as `poise.World` reads them, or None."""
        if not self.crates:
            return None
        boxes = [
            f'<body name="crate {k + 1}" pos="{c.place[0]!r} {c.place[1]!r} {0.5 * c.side!r}" '
            f'quat="{math.cos(0.5 * c.heading)!r} 0 0 {math.sin(0.5 * c.heading)!r}"><freejoint/>'
            f'<geom type="box" size="{" ".join([repr(0.5 * c.side)] * 3)}" mass="{c.mass!r}"/></body>'
            for k, c in enumerate(self.crates)
        ]
        ground = '<geom type="plane" size="0 0 1"/>'
        return f"<mujoco><worldbody>{ground}{''.join(boxes)}</worldbody></mujoco>"


@dataclass(frozen=True)
class Tried:
    """A variant that was made, and what is against it.

    Attributes:
        motion: The new motion.
        faults: Failing findings that the source does not have.
    """

    motion: Motion
    faults: tuple[Finding, ...]


def draw(motion: Motion, character: Character, seed: int, index: int) -> Variant:
    """Variant number `index` of a seed.

    Args:
        motion: The clip.
        character: Whose it is.
        seed: Of all variants.
        index: From 0.
    """
    chance = np.random.default_rng([seed, index])
    leg = character.leg_scale
    way = motion.world[0][-1, 0] - motion.world[0][0, 0]
    travels = float(np.linalg.norm(way[:2])) > 1.5 * character.leg_scale and not is_in_place(motion)
    pace = math.exp(float(chance.uniform(0.08, 0.28) * chance.choice([-1.0, 1.0]))) if chance.random() < 0.6 else 1.0
    size = float(chance.uniform(0.8, 1.25)) if chance.random() < 0.3 else 1.0
    terrain = "flat"
    if travels and chance.random() < 0.4:
        slope, rise = chance.uniform(3.0, 10.0) * chance.choice([-1.0, 1.0]), 0.12 * leg * chance.uniform(0.4, 1.0)
        terrain = str(chance.choice([f"slope:{slope:.1f}", f"step:{rise:.3f}", f"rough:{rise / 2:.3f},{seed + index}"]))
    bodies = [b for b in character.bodies if b.mass > 0.02 * character.mass]
    share = np.array([b.mass for b in bodies]) / sum(b.mass for b in bodies)
    pushes = []
    for _ in range(int(chance.integers(1 if terrain == "flat" else 0, 3))):
        body = bodies[int(chance.choice(len(bodies), p=share))]
        duration = float(chance.uniform(0.1, 0.25)) * math.sqrt(leg)
        speed = float(chance.uniform(0.8, 2.2)) * math.sqrt(leg) * min(1.0, body.mass / (HEAVY * character.mass))
        angle = float(chance.uniform(-math.pi, math.pi))
        start = float(chance.uniform(0.05, 0.7)) * motion.duration
        duration = min(duration, 0.3 * motion.duration)
        force = character.mass * speed / duration
        pushes.append(Push(body.name, (force * math.cos(angle), force * math.sin(angle), 0.0), start, duration))
    style = _draw_style(character, chance) if chance.random() < 0.9 else None
    responsiveness = 1.0
    if pushes and chance.random() < 0.6:
        most = math.log(MOST_RESPONSIVE)
        responsiveness = math.exp(float(chance.uniform(-most, most)))
    crates = ()
    if travels and terrain == "flat" and chance.random() < 0.4:
        crates = _draw_crates(motion, character, chance)
    return Variant(style, tuple(pushes), terrain, crates, responsiveness, pace, size)


def _draw_crates(motion: Motion, character: Character, chance: np.random.Generator) -> tuple[Crate, ...]:
    """One to three crates on the way of the root or beside it, no nearer to its beginning than a leg is long.

    For a person they are 12 to 30 cm large and up to 30 cm beside the way along each axis; they have 1 to 6 % of the
    figure's mass.
    """
    leg, found = character.leg_scale, []
    way = motion.world[0][:, pelvis(motion.skeleton), :2]
    ahead = way[np.linalg.norm(way - way[0], axis=1) > character.leg_length]
    for _ in range(int(chance.integers(1, 4)) if len(ahead) else 0):
        side = float(chance.uniform(0.12, 0.3)) * leg
        x, y = (ahead[int(chance.integers(len(ahead)))] + chance.uniform(-0.3, 0.3, size=2) * leg).tolist()
        mass = float(chance.uniform(0.01, 0.06)) * character.mass
        found.append(Crate((x, y), float(chance.uniform(0.0, 0.5 * math.pi)), side, mass))
    return tuple(found)


def _draw_style(character: Character, chance: np.random.Generator) -> Style:
    swing: dict[int, float] = {}
    offsets: dict[int, tuple[float, float, float]] = {}
    for limb in character.limbs:
        if limb.kind not in OFFSETS:
            continue
        factor = float(chance.uniform(0.4, 1.9))
        joints = [character.bodies[b].joint for b in limb.bodies]
        swing |= dict.fromkeys(joints, factor)
        for joint in joints[:2]:
            x, y, z = chance.normal(scale=math.radians(OFFSETS[limb.kind]) / math.sqrt(3.0), size=3).tolist()
            offsets[joint] = (x, y, z)
    return Style(swing, offsets)


def styled(motion: Motion, style: Style) -> Motion:
    """A motion carried in another style: q = exp(offset) m exp(swing log(m⁻¹ q)), with m the mean turn of a joint."""
    turned = motion.rotations.copy()
    for joint, factor in style.swing.items():
        own = turned[:, joint]
        mean = rotations.normalize(rotations.continuous(own).mean(axis=0))
        away = rotations.to_rotation_vector(rotations.multiply(rotations.conjugate(mean), own))
        moved = rotations.multiply(mean, rotations.from_rotation_vector(factor * away))
        offset = rotations.from_rotation_vector(np.array(style.offsets.get(joint, (0.0, 0.0, 0.0))))
        turned[:, joint] = rotations.multiply(offset, moved)
    return replace(motion, rotations=turned)


def make(
    motion: Motion,
    character: Character,
    variant: Variant,
    before: Sequence[Finding],
    world: Callable[[str], ClipWorld],
) -> Tried:
    """The clip with this variant, and what is against it.

    Args:
        motion: The clip.
        character: Whose it is.
        variant: What is done.
        before: What a check has against the clip itself (`findings_of`).
        world: Makes bodies around a figure from MJCF text: `poise.World`.

    Raises:
        PoiseError: if it cannot be simulated.
    """
    terrain = None if variant.terrain == "flat" else Terrain.parse(variant.terrain)
    source, motion = motion, motion if variant.style is None else styled(motion, variant.style)
    around = None if variant.scene is None else world(variant.scene)
    preset = responsive(variant.responsiveness)
    result = simulate(motion, character, pushes=variant.pushes, terrain=terrain, preset=preset, world=around).motion
    if variant.pace != 1.0:
        result = retime(result, factor=variant.pace, keep_flights=True, verify=False).motion
    if variant.size != 1.0:
        result = scale(result, variant.size, verify=False).motion
    faults = own_faults(before, source, result)
    # a push or a style in the air changes the path and the angular momentum of a flight
    if faults and all(f.name in FLIGHT_FINDINGS for f in faults):
        with suppress(InvalidValue):  # a flight that nothing can mend stays at fault
            result = spin(ballistic(result, verify=False).motion, verify=False).motion
            faults = own_faults(before, source, result)
    return Tried(result, faults)


def own_faults(before: Sequence[Finding], source: Motion, result: Motion) -> tuple[Finding, ...]:
    """What a check finds in a variant and not in its source; a toe that flips in both is left out.

    `before` may lack such a toe: where the whole source is at fault, such as by its rate, a check names only that.
    """
    new = new_findings(before, findings_of(result))
    return tuple(f for f in new if not turns_as_far(f, source, result, slack=AS_FAR))


def responsive(factor: float) -> Preset:
    """The preset "recommended" with a figure that holds on so many times as firmly and comes back that much faster."""
    usual = load_preset("recommended")
    goal, giving = usual.goal, usual.giving
    return replace(
        usual,
        goal=replace(goal, frequency=factor * goal.frequency, sway_frequency=factor * goal.sway_frequency),
        giving=replace(
            giving,
            firmness=factor * giving.firmness,
            neck_firmness=factor * giving.neck_firmness,
            halflife=giving.halflife / factor,
        ),
    )


def reasons(tried: Tried) -> str:
    """Why a variant is not plausible; empty if it is."""
    return ", ".join(dict.fromkeys(f.name for f in tried.faults))


def shape_of(motion: Motion) -> Array:
    """A motion as it is compared: joints about the root at even times, turned to its heading, shape (P, J, 3).

    In units of the figure's size, so that a larger figure alone is no other motion.
    """
    at = np.arange(0.0, motion.times[-1] + 1e-9, PHASE)
    frames = np.clip(np.searchsorted(motion.times, at), 0, motion.frame_count - 1)
    places, turns = motion.world[0][frames], motion.world[1][frames]
    root = pelvis(motion.skeleton)
    heading = rotations.rotate(turns[:, root], np.array([1.0, 0.0, 0.0]))
    first = rotations.rotate(turns[:1, root], np.array([1.0, 0.0, 0.0]))
    angle = np.arctan2(heading[:, 1], heading[:, 0]) - np.arctan2(first[:, 1], first[:, 0])
    back = rotations.from_rotation_vector(np.stack([0 * angle, 0 * angle, -angle], axis=1))
    size = max(float(np.ptp(motion.world[0][0], axis=0).max()), 1e-9)
    return rotations.rotate(back[:, None], places - places[:, root, None]) / size


def noise_of(motion: Motion, seed: int = 0) -> float:
    """How far apart two copies of a motion are, each with 1° of white noise a joint: rms over joints and moments."""
    chance = np.random.default_rng(seed)
    shapes = []
    for _ in range(2):
        shake = rotations.from_rotation_vector(chance.normal(scale=NOISE, size=(*motion.rotations.shape[:2], 3)))
        turned = rotations.multiply(motion.rotations, shake)
        shapes.append(shape_of(Motion(motion.skeleton, motion.times, motion.translations, turned)))
    return distance(*shapes)


def distance(a: Array, b: Array) -> float:
    """Root-mean-square distance of two shapes, over joints and moments."""
    count = min(len(a), len(b))
    return float(np.sqrt(np.mean(np.sum((a[:count] - b[:count]) ** 2, axis=-1))))
