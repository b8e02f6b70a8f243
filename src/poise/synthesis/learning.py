"""Weights of goals found from a captured clip: the controller that keeps its goals most like the clip moves.

The clip says where hands, feet and center of mass go and which feet stand; the rest of the body does what the weights
make of it. They are searched by CMA-ES on a logarithmic scale:

    cost = joints / 5° + center of mass / 3 cm + 10 (1 − share of the time without a fall)

Both distances are rms over the frames, of low-passed motions, with joints that carry little left out.

Source: [Jain2009]_ section 8, future work: weights from motion capture data.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType

import numpy as np

from poise.analysis.smoothing import choose_filter, smooth
from poise.body.character import Q_SIZES, Character
from poise.body.posing import interpolate_q, joint_deviations
from poise.core import rotations
from poise.core.errors import InvalidValue, require
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.io.files import quoted, write_atomically
from poise.physics import State
from poise.physics.mujoco_backend import model_of
from poise.synthesis.behaviors.behavior import Behavior
from poise.synthesis.clip import MotionClip
from poise.synthesis.controller_file import controller_of
from poise.synthesis.prepared import prepared
from poise.synthesis.run import SynthesisResult, synthesize
from poise.synthesis.tuning import FALL, tune

JOINTS, COM = 5.0, 0.03
"""Distances that cost as much as each other: of joints [deg], and of a person's center of mass [m]."""
LIGHT = 0.004
"""A joint that carries less than this share of the mass does not count [1]."""
WIDEST = 30.0
"""A weight is searched from the one at the start divided by this to that times this [1]."""
SHORTEST, LONGEST_FLIGHT = 0.5, 0.1
"""Shortest clip, and longest time without a foot on the ground [s]."""

STANDING = {
    "com": 10.0,
    "hands": 3.0,
    "chest": 2.0,
    "pelvis": 2.0,
    "heading": 2.0,
    "pose": 0.02,
    "still": 0.002,
    "land": 1.0,
}
STEPPING = {**STANDING, "foot": 10.0, "level": 2.0}
"""Weights at the start, of a clip whose feet stay and of one that steps."""

GROUP = """
[groups]
keep = [
  { is = "FollowCom", weight = "$com" },
  { is = "FollowPart", weight = "$hands", part = "left_hand" },
  { is = "FollowPart", weight = "$hands", part = "right_hand" },
  { is = "FollowHeading", weight = "$heading" },
  { is = "Upright", weight = "$chest", bodies = ["chest"] },
  { is = "Upright", weight = "$pelvis", bodies = ["pelvis"] },
  { is = "Pose", weight = "$pose", horizon = 0.25 },
  { is = "Still", weight = "$still" },
]
"""
BOTH = """
[[states]]
name = "both feet"
condition = { is = "Standing", also = %s }
goals = [{ group = "keep" }, { is = "Land", weight = "$land" }]
then = [%s]
"""
ONE = """
[[states]]
name = "%(foot)s foot"
on_enter = "stand_on_%(foot)s"
condition = { is = "Standing", also = { is = "ClipStands", foot = "%(foot)s" } }
goals = [
  { group = "keep" },
  { is = "FollowPart", weight = "$foot", part = "swing", catches = 1.1 },
  { is = "Upright", weight = "$level", bodies = ["swing"] },
]
then = ["fallen", "both feet", "%(other)s foot"]
releases = ["swing"]
"""
FALLEN = """
[[states]]
name = "fallen"
condition = "Lying"
goals = [{ is = "BreakFall", weight = 0.3 }, { is = "GiveWay", weight = 1.0 }]
releases = ["body"]
"""


@dataclass(frozen=True)
class Distance:
    """How far a run is from its clip.

    Attributes:
        clip: Name of the clip.
        joints: Of joint angles, and of the root's turn, rms [deg].
        com: Of the center of mass, rms [m].
        fell: When the figure fell [s], or None.
        cost: As at the top of this file [1].
    """

    clip: str
    joints: float
    com: float
    fell: float | None
    cost: float

    def __str__(self) -> str:
        fell = "" if self.fell is None else f", falls after {self.fell:.2f} s"
        return f"cost {self.cost:.2f} (joints {self.joints:.1f}°, center of mass {100.0 * self.com:.1f} cm{fell})"


@dataclass(frozen=True)
class Learned:
    """A controller with the weights that were found, and how.

    Attributes:
        weights: By name.
        before, after: Of the clip that was learned from, with the weights at the start and with these.
        held_before, held_after: The same of a clip that the search has not seen, or None.
        text: The controller as TOML; its comment says how it was found.
    """

    weights: Mapping[str, float]
    before: Distance
    after: Distance
    held_before: Distance | None
    held_after: Distance | None
    text: str

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the controller file, which `poise synthesize` and `find_behavior` read."""
        write_atomically(Path(path), self.text)

    @property
    def behavior(self) -> Behavior:
        """The controller, for `poise.synthesize(…, clip=motion)`."""
        return controller_of(self.text)


def learn(
    motion: Motion,
    *,
    held_out: Motion | None = None,
    name: str | None = None,
    tries: int = 64,
    population: int = 8,
    seed: int = 0,
    log: str | os.PathLike[str] | None = None,
    on_try: Callable[[int, float, float], None] | None = None,
) -> Learned:
    """Find the weights of goals with which a figure moves most like a clip that stands, reaches or walks.

    Args:
        motion: The clip. The figure is fitted to its skeleton.
        held_out: Another clip, on which the weights at the start and those found are tried at the end alone.
        name: What the file calls the clip; by default the name of its file.
        tries: How many sets of weights are tried.
        population: Tries of a generation.
        seed: Of the search; the same one gives the same tries.
        log: File in which every try is kept. If it exists, its tries are not run again.
        on_try: Called with the number of a try, its cost and the least one so far.

    Raises:
        InvalidValue: if a clip is too short, flies, or its figure cannot stand on two legs.
        MissingExtra: if `cma` is not installed.

    Example:
        >>> found = poise.synthesis.learn(poise.load("reach.bvh"), tries=64)
        >>> found.save("mine.toml")
    """
    require(Motion, motion=motion)
    require(Motion, NoneType, held_out=held_out)
    figure, clip = _followed(motion)
    name = name or _name(motion)
    held = None if held_out is None else _followed(held_out)
    steps = not all(clip.standing[side].all() for side in ("left", "right"))
    start = STEPPING if steps else STANDING
    seconds = round(float(clip.times[-1]), 2)
    behavior = controller_of(_text(start, name, seconds, steps=steps))
    found = tune(
        behavior,
        {weight: (value / WIDEST, value * WIDEST) for weight, value in start.items()},
        character=figure,
        clip=motion,
        seconds=seconds,
        tries=tries,
        population=population,
        seed=seed,
        log=log,
        is_logarithmic=True,
        cost=lambda result, _: distance(result, clip, seconds, name).cost,
        on_try=on_try,
    )

    weights = {weight: float(f"{value:.4g}") for weight, value in found.options.items()}

    def distances(motion: Motion, figure: Character, clip: MotionClip, name: str) -> tuple[Distance, Distance]:
        """With the weights at the start, and with those found."""
        length = round(float(clip.times[-1]), 2)
        both = (
            synthesize(behavior, figure, options=dict(own), clip=motion, seconds=length) for own in (start, weights)
        )
        before, after = (distance(result, clip, length, name) for result in both)
        return before, after

    before, after = distances(motion, figure, clip, name)
    held_before, held_after = (None, None)
    if held_out is not None and held is not None:
        held_before, held_after = distances(held_out, *held, _name(held_out))
    how = f"{found.found['method']}, seed {seed}, {tries} tries, {population} a generation"
    ranges = f"each weight from a {WIDEST:g}th of its start to {WIDEST:g} times it, logarithmic"
    lines = [
        f"Weights of goals learned from {name} by `poise synthesize learn`: {how};",
        f"{ranges}.",
        f"Learned from {name}: {before} at the start, {after} with these.",
    ]
    if held_before is not None:
        lines.append(f"Held out, {held_before.clip}: {held_before} at the start, {held_after} with these.")
    text = "".join(f"# {line}\n" for line in lines) + _text(weights, name, seconds, steps=steps)
    return Learned(weights, before, after, held_before, held_after, text)


def distance(result: SynthesisResult, clip: MotionClip, seconds: float, name: str) -> Distance:
    """How far the first figure of a run is from the clip that it followed."""
    q, figure = result.q, clip.character
    times = np.minimum(result.motion.times - result.motion.times[0], clip.times[-1])
    there = interpolate_q(figure, clip.times, clip.q, times)
    dt = float(result.motion.times[1] - result.motion.times[0])
    lowpass = choose_filter("auto", fps=1.0 / dt, leg_length=figure.leg_length)
    frames = np.arange(len(q), dtype=np.float64) * dt

    def smoothed(poses: Array) -> Array:
        poses, turns = poses.copy(), _turns(figure)
        for turn in turns:
            poses[:, turn] = rotations.continuous(poses[:, turn])
        poses = smooth(lowpass, frames, poses)
        for turn in turns:
            poses[:, turn] = rotations.normalize(poses[:, turn])
        return poses

    masses = np.array([b.mass for b in figure.bodies])
    counts = [i for i in range(len(masses)) if masses[list(figure.carried(i))].sum() >= LIGHT * masses.sum()]
    mine, its = smoothed(q), smoothed(there)
    joints = float(np.sqrt(np.mean(joint_deviations(figure, its, mine)[:, counts] ** 2)))
    model = model_of(figure)
    state, still = State(model), np.zeros(model.nv)
    off = np.array([state.at(a, still).com() - state.at(b, still).com() for a, b in zip(mine, its, strict=True)])
    com = float(np.sqrt(np.mean(np.sum(off**2, axis=1))))
    fell = result.figures[0].fell
    up = min(1.0, (frames[-1] if fell is None else fell) / seconds)
    cost = joints / JOINTS + com / (COM * figure.leg_scale) + FALL * (1.0 - up)
    return Distance(name, joints, com, fell, cost)


def _turns(figure: Character) -> list[slice]:
    """Where the quaternions of a pose are among its coordinates."""
    ends = (at + Q_SIZES[b.kind] for b, at in zip(figure.bodies, figure.q_addresses, strict=True) if b.kind != "hinge")
    return [slice(end - 4, end) for end in ends]


def _followed(motion: Motion) -> tuple[Character, MotionClip]:
    """The figure of a clip, and the clip as it is followed."""
    name = _name(motion)
    if motion.duration < SHORTEST:
        raise InvalidValue(f"{name} lasts {motion.duration:.2f} s; learning takes clips of at least {SHORTEST:g} s.")
    figure = Character.fit(motion)
    clip = MotionClip(motion, prepared(figure))
    in_air = ~(clip.standing["left"] | clip.standing["right"])
    if (flown := float(in_air.sum()) * float(motion.dt)) > LONGEST_FLIGHT:
        raise InvalidValue(
            f"No foot of {name} is on the ground for {flown:.2f} s; learning takes clips that stand, reach or walk. "
            "Cut out such a part."
        )
    return figure, clip


def _name(motion: Motion) -> str:
    return "the clip" if motion.source is None else Path(motion.source.path).name


def _text(weights: Mapping[str, float], name: str, seconds: float, *, steps: bool) -> str:
    """The controller file, without its comment."""
    head = [
        'schema = "poise.controller/1"',
        f"name = {quoted(f'learned from {name}')}",
        'summary = "Moves as its clip does, by goals: give --clip FILE."',
        f"seconds = {seconds!r}",
        "begins_as_clip = true",
        "",
        "[options]",
        *(f"{weight} = {value!r}" for weight, value in weights.items()),
    ]
    also = '{ is = "ClipStands", foot = "both" }' if steps else '"Always"'
    text = "\n".join(head) + "\n" + GROUP
    text += BOTH % (also, '"fallen", "left foot", "right foot"' if steps else '"fallen"')
    if steps:
        text += "".join(ONE % {"foot": a, "other": b} for a, b in (("left", "right"), ("right", "left")))
    return text + FALLEN
