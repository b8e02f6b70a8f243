"""What a BVH file does not say: who made it, what its position channels and its rest pose mean.

Unit, up axis and rate are weighed by `poise.intake`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from poise.core.motion import Evidence, Motion
from poise.intake.anatomy import Limb, anatomy_of, plain
from poise.intake.reading import Custom, read_as
from poise.io.bvh_document import BvhDocument, file_pose, skeleton_of
from poise.io.format import ReadOptions

UP_CUSTOM = {"y": 0.8, "z": 0.18, "x": 0.01, "-y": 0.02}
"""How often a BVH file has which axis up; what is found in pictures often has theirs, which goes down."""
UNIT_CUSTOM = {"cm": 0.55, "m": 0.12, "inch": 0.12, "mm": 0.06, "cmu": 0.03, "dm": 0.03, "ft": 0.01}
"""How often a BVH file is in which unit."""
CMU_UNIT_CUSTOM = UNIT_CUSTOM | {"cmu": 0.5}
CMU_RATES = {0.5: 0.12, 0.25: 0.02, 2.0: 0.02}
"""CMU captured some subjects at 60 Hz; the releases made from it say 120 Hz of all."""


@dataclass(frozen=True)
class Guess:
    """What was taken, and why.

    Attributes:
        unit: Meters per file unit.
        up: Up axis.
        adds_offset: True if the position channels of a child are added to its OFFSET.
        dialect: Which custom, in words.
        evidence: Each answer with its reason.
        warnings: What to ask the user.
        stands: The motion in file units and file axes; its arrays are the caller's to keep.
    """

    unit: float
    up: str
    adds_offset: bool
    dialect: str
    evidence: dict[str, Evidence]
    warnings: tuple[str, ...]
    stands: Motion


def guess(document: BvhDocument, options: ReadOptions) -> Guess:
    """Everything the file leaves open, with the user's word before any guess."""
    evidence: dict[str, Evidence] = {}
    adds, evidence["positions"] = _meaning_of_positions(document)
    evidence["dialect"] = who = _who_made_it(document)
    as_it_stands = _as_it_stands(replace(document, adds_offset=adds), options.fps)
    is_cmu = who.value.startswith("CMU")
    literal = document.head[slice(*document.time_span)] if document.frame_count else ""
    custom = Custom(
        "BVH files",
        UP_CUSTOM,
        CMU_UNIT_CUSTOM if is_cmu else UNIT_CUSTOM,
        **({"rates": CMU_RATES} if is_cmu and document.frame_count and document.frame_time < 0.0125 else {}),
        stated=_stated(document, literal) if document.frame_count else "",
        given_up=options.up,
        given_unit=options.unit,
        given_fps=options.fps,
    )
    reading = read_as(as_it_stands, custom)
    evidence |= reading.evidence
    evidence["rest_pose"] = _rest_pose(document, "xyz".index(reading.up[-1]), -1.0 if reading.up[0] == "-" else 1.0)
    return Guess(
        unit=reading.unit,
        up=reading.up,
        adds_offset=adds,
        dialect=_dialect(document, who.value, adds),
        evidence=evidence,
        warnings=(*reading.warnings, *_warnings(document)),
        stands=as_it_stands,
    )


def _as_it_stands(document: BvhDocument, fps: float | None) -> Motion:
    """The motion in file units and file axes; the rest pose for a file without one."""
    document = replace(document, unit=1.0, up="z")
    skeleton = skeleton_of(document)
    if not document.frame_count:
        return Motion(skeleton, np.zeros(1), skeleton.offsets[None], skeleton.rest_rotations[None])
    dt = 1.0 / fps if fps else document.frame_time
    times = dt * np.arange(document.frame_count, dtype=np.float64)
    return Motion(skeleton, times, *file_pose(document, document.values))


def _stated(document: BvhDocument, literal: str) -> str:
    fps = 1.0 / document.frame_time
    stated = f"the file says frame time {literal}"
    if abs(fps - round(fps)) > 1e-6 and abs(fps - round(fps)) < 2e-3 * fps:
        return f"{stated}, as it stands; {round(fps)} Hz is meant, as it seems"
    return f"{stated}, as it stands"


# --- who made it -----------------------------------------------------------------------------------------------


def _who_made_it(document: BvhDocument) -> Evidence:
    names = {j.name for j in document.joints}
    plains = {plain(n) for n in names}
    every = all(len(j.channels) == 6 for j in document.joints)
    if "LHipJoint" in names and "LeftUpLeg" in names:
        return Evidence("CMU, MotionBuilder release", 0.95, "joints LHipJoint and LeftUpLeg")
    if "LHipJoint" in names and "LeftHip" in names:
        return Evidence("CMU, 3ds Max release", 0.95, "joints LHipJoint and LeftHip")
    if {"lThigh", "lShin", "abdomen"} <= names:
        return Evidence("Daz / Poser", 0.9, "joints abdomen, lThigh and lShin")
    if any(n.startswith("mixamorig") for n in names):
        return Evidence("Mixamo", 0.95, "names begin with 'mixamorig'")
    if "ToSpine" in names:
        return Evidence("ACCAD", 0.8, "joint ToSpine")
    if "joint_Root" in names:
        return Evidence("Bandai Namco", 0.8, "joint joint_Root above the hips")
    if every and {"rightupleg", "hips"} <= plains and any("InHand" in n for n in names):
        return Evidence("Noitom / Perception Neuron", 0.8, "six channels on every joint and InHand joints")
    if {"lefttoe", "spine2", "leftupleg"} <= plains:
        return Evidence("LAFAN1", 0.6, "joints Spine2 and LeftToe")
    if {"leftupleg", "leftleg"} <= plains:
        return Evidence("HumanIK names", 0.7, "joints LeftUpLeg and LeftLeg")
    if {"lhip", "lknee"} <= plains:
        return Evidence("SMPL names", 0.7, "joints L_Hip and L_Knee")
    return Evidence("own names", 0.5, "the joints' names follow no scheme known here")


def _dialect(document: BvhDocument, who: str, adds_offset: bool) -> str:
    orders = list(dict.fromkeys(j.order for j in document.joints if j.order))
    moving = sum(bool(j.position_columns) for j in document.joints[1:])
    words = [who, f"rotations {', '.join(orders) if orders else 'none'}"]
    if moving:
        how = "added to OFFSET" if adds_offset else "in place of OFFSET"
        words.append(f"positions on {moving} joints besides the root, {how}")
    return "; ".join(words)


# --- positions -------------------------------------------------------------------------------------------------


def _meaning_of_positions(document: BvhDocument) -> tuple[bool, Evidence]:
    """Whether the position channels of children replace OFFSET or are added to it; the root's always replace it."""
    replaced = added = 0.0
    for joint in document.joints[1:]:
        for column, axis in joint.position_columns:
            if document.frame_count and abs(joint.offset[axis]) > 1e-9:
                middle = float(np.median(document.values[:, column]))
                replaced += abs(middle - joint.offset[axis])
                added += abs(middle)
    if replaced == added == 0.0:
        return False, Evidence("replace OFFSET", 0.9, "the root's position channels always do; no other joint has any")
    values = f"mean distance from OFFSET {replaced:.3g}, from zero {added:.3g} (file units, summed)"
    confidence = float(max(replaced, added) / (replaced + added))
    if added < replaced:
        return True, Evidence("add to OFFSET", confidence, f"the children's position channels stay near zero: {values}")
    return False, Evidence("replace OFFSET", confidence, f"the children's position channels stay near it: {values}")


# --- rest pose, warnings ---------------------------------------------------------------------------------------


def _rest_pose(document: BvhDocument, axis: int, sign: float) -> Evidence:
    """What "all rotations zero" looks like."""
    anatomy = anatomy_of(skeleton_of(replace(document, unit=1.0, up="z")))
    legs, arms, offsets = anatomy.legs, anatomy.arms, anatomy.skeleton.offsets
    if not legs:
        return Evidence("unknown", 0.2, "no legs were found")

    def slope(chain: Limb) -> float:
        bone = offsets[chain.middle] + offsets[chain.end]
        return float(np.degrees(np.arcsin(sign * bone[axis] / max(float(np.linalg.norm(bone)), 1e-9))))

    leg = min(abs(slope(c)) for c in legs)
    if max(slope(c) for c in legs) > -55.0:
        return Evidence(
            "no pose",
            0.8,
            f"with all rotations zero the legs do not hang down ({leg:.0f}° off the level): "
            "the bones lie along their own axes",
        )
    if not arms:
        return Evidence("standing", 0.6, "with all rotations zero the legs hang down; no arms were found")
    arm = float(np.mean([slope(c) for c in arms]))
    if abs(arm) < 25.0:
        return Evidence("T-pose", 0.9, f"with all rotations zero the arms are level ({arm:+.0f}°)")
    if arm < -65.0:
        return Evidence("arms down", 0.9, f"with all rotations zero the arms hang down ({arm:+.0f}°)")
    if arm < 0.0:
        return Evidence("A-pose", 0.8, f"with all rotations zero the arms slope down ({arm:+.0f}°)")
    return Evidence("arms up", 0.7, f"with all rotations zero the arms are raised ({arm:+.0f}°)")


def _warnings(document: BvhDocument) -> tuple[str, ...]:
    told = []
    names = [j.name for j in document.joints]
    twice = sorted({n for n in names if names.count(n) > 1}) if len(set(names)) < len(names) else []
    if twice:
        told.append(f"Several joints bear the same name ({', '.join(twice[:5])}); a name means the first of them.")
    pairs = [j.name for j in document.joints if len(j.order) == 2]
    if pairs:
        told.append(f"Joints with two rotation channels are read as ball joints: {', '.join(pairs[:5])}.")
    return tuple(told)
