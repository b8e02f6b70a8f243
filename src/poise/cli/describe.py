"""What a file holds and how it was read, as data: the content of `poise info`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from poise import phases
from poise.analysis.forces import touching
from poise.analysis.gait import goes_on_the_spot
from poise.body.anthropometry import PERSON_HEIGHT, PERSON_HEIGHTS, PERSON_MASS
from poise.body.character import Character
from poise.body.posing import left_out
from poise.core.errors import FileFormatError, MotionWarning, PoiseError
from poise.core.motion import Evidence, Motion
from poise.core.skeleton import Skeleton
from poise.core.units import HUMAN_LEG, kilograms
from poise.intake.anatomy import anatomy_of, height_of
from poise.intake.reading import WEIGHED, size_doubt
from poise.io import load, load_skeleton
from poise.io.format import ReadOptions, format_of, optional
from poise.phases.points import leg_length, pelvis
from poise.terrain import Terrain

SCHEMA = "poise.info/1"


OFF_GROUND = 0.12
"""A floor this far from height 0 is reported, for a leg of 0.82 m [m]: ankles and toes lie a little above a sole."""


PLAUSIBLE_LEG = (0.15, 2.0)
"""Legs outside this range [m] throw doubt on the unit: those of most creatures lie within."""

PEOPLE = (20.0, 200.0)
"""Usual masses of people [kg]; others are mentioned."""


TALLER = 1.3
"""If a figure of this mass would be so many times as tall, the mass came from its stretched legs or its skin [1]."""


def mass_doubt(character: Character, tall: float | None) -> str:
    """The sentence for a mass that neither user nor file gave, and that may surprise; `tall` is the height [m]."""
    mass = character.mass
    if tall and tall < PERSON_HEIGHTS[0] and abs(mass - PERSON_MASS) < 0.01 and not character.skeleton.mass:
        by_height = mass * (tall / PERSON_HEIGHT) ** 3
        return (
            f"The figure is {tall:.3g} m tall, but weighs {kilograms(mass)} like a grown person: with trunk and legs "
            f"stretched out it is as long as one. Its height alone would give {by_height:.0f} kg. "
            "Pushes meet that mass; --mass KG gives another, --height another size."
        )
    if character.skeleton.mass or PEOPLE[0] <= mass <= PEOPLE[1]:
        return ""
    follows = tall and PERSON_HEIGHT * (mass / PERSON_MASS) ** (1.0 / 3.0) < TALLER * tall
    size = f"size ({tall:.3g} m tall) and shape" if follows else "size and shape"
    most = ", and no more than its skin holds" if character.skeleton.skin_volume else ""
    usual = f"{kilograms(PERSON_MASS)} at {PERSON_HEIGHT:g} m"
    return (
        f"The figure weighs {kilograms(mass)}, by its {size}: {usual}, with the cube of the size{most}. "
        "Pushes meet that mass; --mass KG gives another, --height another size."
    )


def is_size_doubted(warnings: Sequence[str]) -> bool:
    """Whether the size was doubted before; the mass follows from it and needs no sentence of its own."""
    return any("--unit" in w or "--height" in w for w in warnings)


def describe_file(path: Path, options: ReadOptions, floor: float | None = None) -> dict[str, Any]:
    """Everything `poise info` says of a file, in the fields of poise.info/1; evidence as `Evidence`.

    Args:
        path: The file.
        options: How to read it.
        floor: Height of the floor in the clip, where it is given [m].

    Raises:
        PoiseError: if the file cannot be read at all.
    """
    try:
        motion = load(path, **vars(options))
    except FileFormatError as error:
        if options.clip is not None:  # whoever names a clip asks for that clip, not for the skeleton beside it
            raise
        return _without_motion(path, options, error)
    return describe_motion(motion, path, floor)


def describe_motion(motion: Motion, path: Path, floor: float | None = None) -> dict[str, Any]:
    """The same of a motion that was read from `path`."""
    source, skeleton = motion.source, motion.skeleton
    found = _empty(path) | _of_skeleton(skeleton)
    evidence: dict[str, Evidence] = {}
    warnings: list[str] = []
    if source is not None:
        found |= {"format": source.format, "dialect": source.dialect, "unit_m": source.unit, "up": source.up}
        found |= {"clips": list(source.clips), "channels": _channel_count(source.document)}
        evidence |= source.evidence
        warnings += source.warnings
    found |= {"frames": motion.frame_count, "fps": motion.fps, "duration_s": motion.duration}
    evidence |= _faults(motion, warnings, floor) | _zero_bones(skeleton)
    character = _character(motion, warnings)
    if character is not None:
        found |= _of_character(character, motion)
        _doubt_size(character, motion, warnings)
        _doubt_legs(character, motion, warnings, character.floor if floor is None else floor)
        beside = left_out(character, motion)
        if beside.carried or beside.stretched:
            names = [*beside.carried, *beside.stretched]
            evidence["left_out"] = Evidence(names, 1.0, " ".join(beside.sentences) + " They come back unchanged.")
        if not beside.is_figure:
            warnings.append(beside.sentences[0])
    places = motion.world[0][[0, -1], pelvis(motion.skeleton), :2]
    found |= {"from_m": places[0].tolist(), "to_m": places[1].tolist()}
    slides = phases.in_place_velocity(motion)
    on_the_spot = bool(slides.any()) if character is None else goes_on_the_spot(motion, character)
    found |= {"in_place": on_the_spot, "floor_velocity_m_s": slides.tolist(), "glitches": _glitches(motion)}
    if on_the_spot and not slides.any():
        warnings.append(
            "The clip goes on the spot: its hips stay, and no foot stands. So its feet do not show how fast it would "
            "travel."
        )
    elif on_the_spot:
        warnings.append(
            f"The clip walks on the spot: feet that stand move at {float(np.linalg.norm(slides)):.2f} m/s, and poise "
            "simulate moves the floor with them. Before you put it on terrain, put its travel back in the tool it came "
            "from."
        )
    return found | {"evidence": evidence, "warnings": list(dict.fromkeys(warnings))}


def _empty(path: Path) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "file": str(path),
        "format": None,
        "dialect": None,
        "joints": [],
        "end_sites": [],
        "channels": 0,
        "frames": 0,
        "fps": None,
        "duration_s": None,
        "unit_m": None,
        "up": None,
        "height_m": None,
        "limbs": {},
        "roles": {},
        "mass_kg": None,
        "dof": None,
        "fitted_clip": None,
        "clips": [],
        "in_place": None,
        "floor_velocity_m_s": None,
        "from_m": None,
        "to_m": None,
        "glitches": [],
        "evidence": {},
        "warnings": [],
    }


def _without_motion(path: Path, options: ReadOptions, refusal: FileFormatError) -> dict[str, Any]:
    """A file that holds only a skeleton, several clips, or a clip without a skeleton."""
    candidate = format_of(path)
    facts: dict[str, Any] | None = None
    fault = refusal
    describe = optional(candidate, "describe")
    if describe is not None:
        try:
            facts = describe(path, options)
        except FileFormatError as error:  # what is wrong with one of its clips
            fault = error
    try:
        skeleton = load_skeleton(
            path, skeleton=options.skeleton, unit=options.unit, up=options.up, height=options.height
        )
    except FileFormatError:
        if facts is None:
            raise refusal from None
        skeleton = None
    kind = optional(candidate, "kind")
    found = _empty(path) | {"format": kind(path) if kind else candidate.NAME}
    warnings: list[str] = []
    if skeleton is not None:
        found |= _of_skeleton(skeleton) | {"evidence": _zero_bones(skeleton)}
        if candidate.NAME not in WEIGHED and options.unit is None and options.height is None:
            warnings += filter(None, [size_doubt(anatomy_of(skeleton), height_of(skeleton))])
        first, name = _first_clip(path, options)
        character = _character(first or skeleton, warnings)
        if character is not None:
            found |= _of_character(character, first) | {"fitted_clip": name}
            if not warnings and (doubt := mass_doubt(character, height_of(skeleton))):
                warnings.append(doubt)
    if describe is not None and facts is None and skeleton is not None:
        warnings.append(f"Its motion cannot be used: {fault.problem} {fault.cure or ''}".strip())
    for key, value in (facts or {}).items():
        if key == "evidence":
            found["evidence"] = found["evidence"] | value
        elif key == "warnings":
            warnings += value
        elif key == "reason":
            warnings.append(value)
        else:
            found[key] = value
    return found | {"warnings": list(dict.fromkeys(warnings))}


def _first_clip(path: Path, options: ReadOptions) -> tuple[Motion | None, str | None]:
    """The first clip of a file with several, and its name: a character is fitted to it if no other is named."""
    try:
        motion = load(path, **vars(replace(options, clip="0")))
    except PoiseError:
        return None, None
    return motion, motion.source.clips[0] if motion.source is not None and motion.source.clips else None


def _of_skeleton(skeleton: Skeleton) -> dict[str, Any]:
    return {
        "joints": list(skeleton.names),
        "end_sites": [f"{skeleton.names[s.joint]}: {s.name}" for s in skeleton.end_sites],
        "height_m": height_of(skeleton),
    }


def _of_character(character: Character, motion: Motion | None) -> dict[str, Any]:
    names = character.skeleton.names
    limbs = {
        limb.name: {"kind": limb.kind, "joints": [names[character.bodies[i].joint] for i in limb.bodies]}
        for limb in character.limbs
    }
    return {
        "limbs": limbs,
        "roles": {role: character.bodies[i].name for role, i in sorted(character.roles.items())},
        "mass_kg": character.mass,
        "dof": character.nv,
        "height_m": height_of(motion or character.skeleton),
    }


def _channel_count(document: Any) -> int:
    """Numbers per frame in the file, where its document says so."""
    values = getattr(document, "values", None)
    if values is not None:
        return int(values.shape[1])
    clip = getattr(document, "clip", None)
    return len(getattr(clip, "channels", ()))


def _character(source: Motion | Skeleton, warnings: list[str]) -> Character | None:
    try:
        with catch_warnings():
            simplefilter("ignore", MotionWarning)
            character = Character.fit(source)
    except PoiseError as error:
        warnings.append(f"No character fits this skeleton: {error}")
        return None
    if character.doubt:
        warnings.append(character.doubt)
    return character


def _doubt_size(character: Character, motion: Motion, warnings: list[str]) -> None:
    leg = character.leg_length
    if is_size_doubted(warnings):
        return
    if doubt := mass_doubt(character, height_of(motion)):
        warnings.append(doubt)
    if not any(c.kind == "leg" for c in character.limbs):
        return
    if not PLAUSIBLE_LEG[0] <= leg <= PLAUSIBLE_LEG[1] and motion.source is not None:
        warnings.append(
            f"The legs are {leg:.3g} m long, which few creatures have: the unit ({motion.source.unit:g} m) "
            "may be wrong. Give another with --unit (m, cm, inch), or the figure's height with --height 1.8m."
        )


def _zero_bones(skeleton: Skeleton) -> dict[str, Evidence]:
    lengths = np.linalg.norm(skeleton.offsets, axis=1)
    zero = [skeleton.names[j] for j in np.flatnonzero(lengths < 1e-9) if j]
    if not zero:
        return {}
    return {"zero_length_joints": Evidence(zero, 1.0, "they stand on their parents; kept as they are")}


def _glitches(motion: Motion) -> list[dict[str, Any]]:
    return [
        {"frame": int(g.frame), "joint": motion.skeleton.names[g.joint], "kind": g.kind}
        for g in phases.find_glitches(motion)
    ]


def _faults(motion: Motion, warnings: list[str], given_floor: float | None) -> dict[str, Evidence]:
    """Floor, rest pose in front, glitches, a rate that the flights contradict, loop; warnings are added."""
    found = {"floor_m": phases.find_floor(motion) if given_floor is None else Evidence(given_floor, 1.0, "given")}
    floor, size = found["floor_m"], leg_length(motion.skeleton) / HUMAN_LEG
    is_off = abs(floor.value) > OFF_GROUND * size and floor.confidence > 0.6
    if given_floor is None and is_off and motion.frame_count > 1:
        way, then = ("above", "hovers") if floor.value > 0.0 else ("below", "sinks in")
        warnings.append(
            f"Its lowest joints or tips stand {abs(floor.value):.2f} m {way} height 0, the origin of the file: in a "
            f"scene whose ground is there it {then}. Poise finds the floor by itself; --floor sets another."
        )
    lead = phases.leading_rest_frames(motion)
    if lead:
        which = "Frame 0 is" if lead == 1 else f"Frames 0 to {lead - 1} are"
        start = f"{float(motion.times[lead]):.4f}".rstrip("0")
        found["rest_frames"] = Evidence(
            lead, 0.9, "the body leaves them by a step that stands out from the rest of the clip"
        )
        warnings.append(f"{which} a rest pose put in front of the motion; --start {start} leaves it out.")
    glitches = [g for g in phases.find_glitches(motion) if g.kind != "t-pose"]
    if glitches:
        names = list(dict.fromkeys(motion.skeleton.names[g.joint] for g in glitches))
        first, last = min(g.frame for g in glitches), max(g.last for g in glitches)
        where = f"in frame {first}" if first == last else f"in frames {first} to {last}"
        kinds = ", ".join(
            f"{sum(g.kind == k for g in glitches)} × {k}" for k in dict.fromkeys(g.kind for g in glitches)
        )
        found["glitches"] = Evidence(len(glitches), 0.8, f"{kinds}; {where}; {', '.join(names[:6])}")
        warnings.append(
            f"{len(glitches)} glitch{'es' * (len(glitches) != 1)} ({kinds}) {where}. Nothing was mended; "
            "simulate does not solve in these frames."
        )
    loop = phases.find_loop(motion)
    if math.isfinite(loop.mismatch):
        found["loop"] = Evidence(loop.is_loop, 0.9 if loop.is_loop else 0.7, loop.reason)
    return found


def _doubt_legs(character: Character, motion: Motion, warnings: list[str], floor: float) -> None:
    """Legs of a creature that stay above the floor all the time, while others stand."""
    legs = [limb for limb in character.limbs if limb.kind == "leg"]
    if len(legs) <= 2 or motion.frame_count < 2 or phases.carried_ground(motion) is not None:
        return
    gaps = touching(motion, character, terrain=Terrain.flat(floor)).gaps
    bodies = np.array([point.body for point in character.contact_points])
    lowest: dict[str, float] = {}
    for leg in legs:
        its = np.isin(bodies, leg.bodies)
        if its.any():
            lowest[leg.name.replace("_", " ")] = float(gaps[:, its].min())
    near = OFF_GROUND * leg_length(motion.skeleton) / HUMAN_LEG
    above = {name: gap for name, gap in lowest.items() if gap > near}
    if above and len(above) < len(lowest):
        stay, bear = ("stays", "bears") if len(above) == 1 else ("stay", "bear")
        least = 100.0 * min(above.values())
        warnings.append(
            f"The {' and the '.join(above)} {stay} {least:.0f} cm or more above the floor in every frame and {bear} "
            "no weight. If they should stand, the skeleton may end above their feet: "
            "`poise character FILE -o figure.toml` writes the contact points, to be moved and given with --character."
        )
