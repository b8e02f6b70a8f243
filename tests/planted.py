"""Faults of known size put into clean clips, and what a check must say of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt

import poise
from poise.analysis import Analysis, analyze
from poise.check.clip import judge
from poise.check.finding import Finding
from poise.check.profile import load_profile
from poise.core import rotations
from poise.core.motion import Motion
from tests.clips import MOTIONS

Array = npt.NDArray[np.float64]

REALISTIC = load_profile("realistic")

WALKS = {
    "sample": (None, None),
    "cmu": ("asf_amc/02_01.amc", None),
    "accad": ("bvh/accad/Female1_B15_WalkTurnAround180.bvh", (0.5, 9.5)),
    "meredith": ("bvh/other/AV_8Walk_Meredith_HVHA_Rep1.bvh", None),
}
"""Clean walks: file, and the seconds of it that are taken."""
JUMPS = {
    "high jump": ("asf_amc/02_04.amc", (0.5, 2.2)),
    "spin kick": ("deepmimic/humanoid3d_spinkick.txt", None),
    "leaps": ("bvh/cmu_3dsmax/143_05.bvh", None),
    "dance": ("bvh/cmu_daz/05_20-daz.bvh", (5.0, 8.5)),
}
"""Clean clips with a flight that lasts 0.3 s at least."""
RATES = {"leaps": 60.0}
"""Where the label is wrong [1/s]."""


@dataclass(frozen=True)
class Fault:
    """One planted fault.

    Attributes:
        motion: With the fault in it.
        name: What the finding must be called.
        frames: First and last frame within which one of its stretches must begin or end, or lie.
    """

    motion: Motion
    name: str
    frames: tuple[int, int]


@cache
def clean(name: str) -> Motion:
    """One of WALKS and JUMPS, or the clip of a file."""
    path, span = (WALKS | JUMPS).get(name, (name, None))
    motion = poise.load(poise.sample_path("walk") if path is None else MOTIONS / path, fps=RATES.get(name))
    motion = motion if span is None else motion.cut(*span)
    return replace(motion, source=None)


@cache
def analyzed(name: str) -> Analysis:
    """Its analysis."""
    return analyze(clean(name))


def findings(motion: Motion) -> list[Finding]:
    """What a check says."""
    clip = analyze(motion)
    return list(judge(clip, REALISTIC))


def is_caught(fault: Fault) -> bool:
    """True if the check fails the clip on a finding of this name that has a frame where the fault is."""
    low, high = fault.frames
    return any(
        f.name == fault.name and f.fails and (not f.frames or any(a <= high and b >= low for a, b in f.frames))
        for f in findings(fault.motion)
    )


def moved(motion: Motion, shift: Array) -> Motion:
    """The root moved by (F, 3) [m]."""
    translations = motion.translations.copy()
    translations[:, 0] += shift
    return replace(motion, translations=translations)


def turned(motion: Motion, joint: int, turn: Array) -> Motion:
    """A joint turned in its parent's frame by rotation vectors (F, 3) [rad]."""
    out = motion.rotations.copy()
    out[:, joint] = rotations.multiply(rotations.from_rotation_vector(turn), out[:, joint])
    return replace(motion, rotations=rotations.normalize(out))


def direction(random: np.random.Generator) -> Array:
    """A random unit vector."""
    vector = random.standard_normal(3)
    return vector / np.linalg.norm(vector)


def pop(name: str, random: np.random.Generator) -> Fault:
    """From some frame on, the root is 5 cm away from where it was."""
    motion = clean(name)
    frame = int(random.integers(8, motion.frame_count - 8))
    step = (np.arange(motion.frame_count) >= frame)[:, None] * 0.05 * direction(random)
    return Fault(moved(motion, step), "glitch", (frame - 1, frame))


def root_spike(name: str, random: np.random.Generator) -> Fault:
    """In one frame the root is 5 cm off."""
    motion = clean(name)
    frame = int(random.integers(8, motion.frame_count - 8))
    out = (np.arange(motion.frame_count) == frame)[:, None] * 0.05 * direction(random)
    return Fault(moved(motion, out), "glitch", (frame, frame))


def limb_spike(name: str, random: np.random.Generator) -> Fault:
    """In one frame a shoulder or hip is turned so that the limb's end is 5 cm off or more."""
    motion, character = clean(name), analyzed(name).character
    limbs = [limb for limb in character.limbs if limb.kind in ("leg", "arm") and len(limb.bodies) > 2]
    limb = limbs[int(random.integers(len(limbs)))]
    chain = list(limb.bodies[1:] if len(limb.bodies) > 3 and limb.kind == "arm" else limb.bodies)
    first, last = character.bodies[chain[0]].joint, character.bodies[chain[-1]].joint
    frame = int(random.integers(8, motion.frame_count - 8))
    lever = motion.world[0][frame, last] - motion.world[0][frame, first]
    above = int(motion.skeleton.parents[first])
    across = np.cross(lever, direction(random))
    local = rotations.rotate(rotations.conjugate(motion.world[1][frame, above]), across / np.linalg.norm(across))
    turn = (np.arange(motion.frame_count) == frame)[:, None] * local * (0.05 / float(np.linalg.norm(lever)))
    return Fault(turned(motion, first, turn), "glitch", (frame, frame))


def flight(name: str) -> tuple[int, int, Array]:
    """First and last frame of the longest flight, and where each frame is in it, 0 … 1."""
    clip = analyzed(name)
    longest = max(clip.flights, key=lambda f: f.duration)
    frames = np.arange(clip.motion.frame_count)
    return (longest.first, longest.last, np.clip((frames - longest.first) / (longest.last - longest.first), 0.0, 1.0))


def bulge(name: str, random: np.random.Generator) -> Fault:
    """In the longest flight the root goes 5 cm aside and back."""
    first, last, t = flight(name)
    clip = analyzed(name)
    line = clip.com[last, :2] - clip.com[first, :2]
    long = np.linalg.norm(line) > 0.25 * clip.character.leg_length
    angle = math.atan2(line[1], line[0]) + math.pi / 2 * random.choice([-1, 1]) if long else random.uniform(0.0, 6.28)
    aside = np.array([math.cos(angle), math.sin(angle), 0.0])
    # the clip's own path may bow the other way: 5 cm from where it should be
    return Fault(moved(clip.motion, 0.05 * np.sin(math.pi * t)[:, None] * aside), "track", (first, last))


def air_turn(name: str, random: np.random.Generator) -> Fault:
    """In the longest flight the whole body turns by 10° and back."""
    first, last, t = flight(name)
    motion = clean(name)
    axis = direction(random)
    angle = math.radians(10.0) * np.sin(math.pi * t) ** 2
    # about the center of mass, which keeps its path
    com, place = analyzed(name).com, motion.world[0][:, 0]
    turn = rotations.from_rotation_vector(angle[:, None] * axis)
    shift = com + rotations.rotate(turn, place - com) - place
    return Fault(turned(moved(motion, shift), 0, angle[:, None] * axis), "spin", (first, last))


def played(factor: float) -> Callable[[str, np.random.Generator], Fault]:
    """The clip takes this many times as long."""

    def plant(name: str, _: np.random.Generator) -> Fault:
        motion = clean(name)
        return Fault(replace(motion, times=motion.times * factor), "frame-rate", (0, motion.frame_count))

    return plant


def hang(name: str, random: np.random.Generator) -> Fault:
    """The longest flight takes 1.6 to 1.9 times as long, so it falls with a third of its gravity."""
    first, last, t = flight(name)
    motion = clean(name)
    more = random.uniform(0.6, 0.9) * float(motion.times[last] - motion.times[first])
    slower = replace(motion, times=motion.times + more * t)
    even = np.arange(0.0, slower.times[-1], motion.dt)
    return Fault(replace(slower.resampled(even), times=even), "gravity", (first, last))


def slide(name: str, random: np.random.Generator) -> Fault:
    """While one foot stands, the whole figure goes 15 cm aside. A LookupError where none stands for long."""
    from poise.check.ground import stances

    clip = analyzed(name)
    long = [s for s in stances(clip) if clip.times[s.last] - clip.times[s.first] > 0.4 and s.first > 0]
    if not long:
        raise LookupError(f"no foot of {name} stands for 0.4 s")
    stance = long[int(random.integers(len(long)))]
    t = np.clip((np.arange(clip.motion.frame_count) - stance.first) / (stance.last - stance.first), 0.0, 1.0)
    angle = random.uniform(0.0, 2.0 * math.pi)
    way = 0.15 * t[:, None] * np.array([math.cos(angle), math.sin(angle), 0.0])
    return Fault(moved(clip.motion, way), "skate", (stance.first, stance.last))


def sink(name: str, random: np.random.Generator) -> Fault:
    """For a fifth of a second the figure is 10 cm too low."""
    motion = clean(name)
    middle = random.uniform(0.3, 0.7) * motion.duration
    dip = 0.12 * np.exp(-(((motion.times - middle) / 0.15) ** 2))
    frame = int(np.argmax(dip))
    spread = int(0.3 / motion.dt)
    return Fault(
        moved(motion, -dip[:, None] * np.array([0.0, 0.0, 1.0])), "penetration", (frame - spread, frame + spread)
    )


def hover(name: str, random: np.random.Generator) -> Fault:
    """For half a second the figure is 12 cm too high."""
    motion = clean(name)
    middle = random.uniform(0.4, 0.6) * motion.duration
    lift = 0.12 * np.clip((0.33 - np.abs(motion.times - middle)) / 0.08, 0.0, 1.0)
    up = np.flatnonzero(lift > 0.1)
    return Fault(moved(motion, lift[:, None] * np.array([0.0, 0.0, 1.0])), "float", (int(up[0]), int(up[-1])))


def flip(name: str, random: np.random.Generator) -> Fault:
    """From some frame on, a hip is turned by 120°."""
    motion, character = clean(name), analyzed(name).character
    legs = [limb for limb in character.limbs if limb.kind == "leg"]
    joint = character.bodies[legs[int(random.integers(len(legs)))].bodies[0]].joint
    frame = int(random.integers(8, motion.frame_count - 8))
    turn = (np.arange(motion.frame_count) >= frame)[:, None] * math.radians(120.0) * direction(random)
    return Fault(turned(motion, joint, turn), "glitch", (frame - 1, frame))


def climb(name: str, random: np.random.Generator) -> Fault:
    """All of it goes up or down through the air at 0.3 m/s."""
    motion = clean(name)
    rise = 0.3 * random.choice([-1.0, 1.0]) * motion.times
    last = motion.frame_count - 1
    return Fault(moved(motion, rise[:, None] * np.array([0.0, 0.0, 1.0])), "rise", (0, last))


def drift_up(name: str, random: np.random.Generator) -> Fault:
    """All of it goes up or down by 25 cm from first to last frame."""
    motion = clean(name)
    rise = 0.25 * random.choice([-1.0, 1.0]) * motion.times / motion.duration
    return Fault(moved(motion, rise[:, None] * np.array([0.0, 0.0, 1.0])), "rise", (0, motion.frame_count - 1))


Planted = dict[str, tuple[Callable[[str, np.random.Generator], Fault], tuple[str, ...]]]


def faults_in(walks: Sequence[str], jumps: Sequence[str], hangs: Sequence[str]) -> Planted:
    """Every fault, and the clips it is planted in: clean walks, clips with a flight, and those that may hang longer."""
    anywhere = (*walks, *hangs[:2])
    return {
        "root pop 5 cm": (pop, anywhere),
        "root spike 5 cm": (root_spike, anywhere),
        "limb spike 5 cm": (limb_spike, anywhere),
        "sideways bulge 5 cm": (bulge, tuple(jumps)),
        "air turn 10°": (air_turn, tuple(jumps)),
        "half speed": (played(2.0), tuple(walks)),
        "double speed": (played(0.5), tuple(walks)),
        "hang": (hang, tuple(hangs)),
        "slide 15 cm": (slide, tuple(walks)),
        "sink 10 cm": (sink, tuple(walks)),
        "hover 12 cm": (hover, tuple(walks)),
        "flip 120°": (flip, tuple(walks)),
        "climb 0.3 m/s": (climb, tuple(walks)),
        "climb 25 cm": (drift_up, tuple(walks)),
    }


FAULTS = faults_in(tuple(WALKS), tuple(JUMPS), ("high jump", "leaps", "spin kick"))
