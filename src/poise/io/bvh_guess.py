"""What a BVH file does not say: its unit, its up axis, what its position channels mean, what its rest pose is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.motion import Evidence
from poise.core.units import HUMAN_LEG, UNITS
from poise.io.bvh_document import BvhDocument, file_pose
from poise.io.bvh_limbs import THIGHS, UPPER_ARMS, leg_length, limb, plain, upright
from poise.io.format import ReadOptions

Array = npt.NDArray[np.float64]

UNIT_PRIORS = {"cm": 0.0, "m": 0.0, "cmu": 1.0, "mm": 1.0, "inch": 2.0}
"""How much rarer than cm each unit is, as a cost beside the squared error of the leg's length."""

SIZE_SPREAD = 0.35
"""Standard deviation of the logarithm of a figure's size."""

UNIT_WORDS = {"m": "meters", "cm": "centimeters", "mm": "millimeters", "inch": "inches", "cmu": "the CMU unit"}


@dataclass(frozen=True)
class Guess:
    """What was taken, and why."""

    unit: float
    up: str
    adds_offset: bool
    dialect: str
    evidence: dict[str, Evidence]
    warnings: tuple[str, ...]


def guess(document: BvhDocument, options: ReadOptions) -> Guess:
    """Everything the file leaves open, with the user's word before any guess."""
    evidence: dict[str, Evidence] = {}
    adds, evidence["positions"] = _meaning_of_positions(document)
    who = _who_made_it(document)
    evidence["dialect"] = who
    offsets = np.array([j.offset for j in document.joints])
    up, evidence["up"] = _up_axis(document, offsets, options, adds)
    unit, evidence["unit"] = _unit(document, offsets, options, who.value)
    if document.frame_count:
        evidence["fps"] = _rate(document, options)
    evidence["rest_pose"] = _rest_pose(document, offsets, "xyz".index(up))
    return Guess(unit, up, adds, _dialect(document, who.value), evidence, _warnings(document, evidence))


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


def _dialect(document: BvhDocument, who: str) -> str:
    orders = list(dict.fromkeys(j.order for j in document.joints if j.order))
    moving = sum(bool(j.position_columns) for j in document.joints[1:])
    words = [who, f"rotations {', '.join(orders) if orders else 'none'}"]
    if moving:
        how = "added to OFFSET" if document.adds_offset else "in place of OFFSET"
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


# --- unit ------------------------------------------------------------------------------------------------------


def _unit(document: BvhDocument, offsets: Array, options: ReadOptions, who: str) -> tuple[float, Evidence]:
    leg, sure, chain = leg_length(document, offsets)
    if options.unit is not None:
        name = next((UNIT_WORDS.get(n, n) for n, m in UNITS.items() if abs(m - options.unit) < 1e-6 * m), "")
        size = f"; thigh and shank are {leg * options.unit:.2f} m" if leg else ""
        return options.unit, Evidence(options.unit, 1.0, f"given by the user{f' ({name})' if name else ''}{size}")
    if leg == 0.0:
        return UNITS["cm"], Evidence(UNITS["cm"], 0.1, "no bone has a length; centimeters are the custom")
    costs = {
        name: 0.5 * (np.log(leg * UNITS[name] / HUMAN_LEG) / SIZE_SPREAD) ** 2 + prior
        for name, prior in UNIT_PRIORS.items()
    }
    if who.startswith("CMU"):
        costs["cmu"] -= 2.0
    best = min(costs, key=lambda n: costs[n])
    weights = {n: np.exp(costs[best] - c) for n, c in costs.items()}
    plausible = np.exp(-0.5 * max(0.0, abs(np.log(leg * UNITS[best] / HUMAN_LEG)) / SIZE_SPREAD - 1.0) ** 2)
    confidence = float(sure * plausible / sum(weights.values()))
    unit = UNITS[best]
    return unit, Evidence(
        unit,
        round(confidence, 2),
        f"{UNIT_WORDS[best]}: thigh and shank ({chain}) are {leg:.4g} units, so {leg * unit:.2f} m; "
        f"a grown person has {HUMAN_LEG} m",
    )


# --- up axis ---------------------------------------------------------------------------------------------------


def _up_axis(document: BvhDocument, offsets: Array, options: ReadOptions, adds: bool) -> tuple[str, Evidence]:
    """The axis along which the figure stands: in its rest pose, and on average over the clip."""
    if options.up is not None:
        return options.up, Evidence(options.up, 1.0, "given by the user")
    rest = upright(document, offsets[None], np.tile(rotations.IDENTITY, (1, len(offsets), 1)))
    knows_legs = bool(limb(document, THIGHS))
    score = np.array([0.0, 0.25, 0.0]) + (1.0 if knows_legs else 3.0) * np.abs(rest)  # Y is the custom
    reasons = [f"the rest pose stands along {'xyz'[int(np.argmax(np.abs(rest)))]}" if np.abs(rest).max() > 0.8 else ""]
    if document.frame_count and knows_legs:
        pick = np.unique(np.linspace(0, document.frame_count - 1, 60).astype(int))
        moved = replace(document, adds_offset=adds)
        mean = upright(document, *file_pose(moved, document.values[pick]))
        score += 2.0 * np.abs(mean)
        if np.abs(mean).max() > 0.5:
            reasons.append(f"over the clip the body stands along {'xyz'[int(np.argmax(np.abs(mean)))]}")
    best = int(np.argmax(score))
    rival = float(np.sort(score)[-2])
    confidence = float(np.clip((score[best] - rival) / max(score[best], 1e-9), 0.1, 0.98))
    if not knows_legs:
        reasons = [f"no legs were known by name; the rest pose's tips lie lowest along {'xyz'[best]}"]
    told = "; ".join(r for r in reasons if r) or "nothing stands clearly along one axis; Y is the custom"
    return "xyz"[best], Evidence("xyz"[best], round(confidence, 2), told)


# --- rate, rest pose, warnings ---------------------------------------------------------------------------------


def _rate(document: BvhDocument, options: ReadOptions) -> Evidence:
    literal = document.head[slice(*document.time_span)]
    if options.fps is not None:
        return Evidence(options.fps, 1.0, f"given by the user; the file says frame time {literal}")
    fps = 1.0 / document.frame_time
    if abs(fps - round(fps)) > 1e-6 and abs(fps - round(fps)) < 2e-3 * fps:
        return Evidence(fps, 0.95, f"frame time {literal} as it stands; {round(fps)} Hz is meant, as it seems")
    return Evidence(fps, 0.95, f"frame time {literal} as it stands")


def _rest_pose(document: BvhDocument, offsets: Array, up: int) -> Evidence:
    """What "all rotations zero" looks like."""
    legs, arms = limb(document, THIGHS), limb(document, UPPER_ARMS)
    if not legs:
        return Evidence("unknown", 0.2, "no legs were known by name")

    def slope(chain: tuple[int, int, int]) -> float:
        bone = offsets[chain[1]] + offsets[chain[2]]
        return float(np.degrees(np.arcsin(bone[up] / max(float(np.linalg.norm(bone)), 1e-9))))

    leg = min(abs(slope(c)) for c in legs)
    if max(slope(c) for c in legs) > -55.0:
        return Evidence(
            "no pose",
            0.8,
            f"with all rotations zero the legs do not hang down ({leg:.0f}° off the level): "
            "the bones lie along their own axes",
        )
    if not arms:
        return Evidence("standing", 0.6, "with all rotations zero the legs hang down; no arms were known by name")
    arm = float(np.mean([slope(c) for c in arms]))
    if abs(arm) < 25.0:
        return Evidence("T-pose", 0.9, f"with all rotations zero the arms are level ({arm:+.0f}°)")
    if arm < -65.0:
        return Evidence("arms down", 0.9, f"with all rotations zero the arms hang down ({arm:+.0f}°)")
    if arm < 0.0:
        return Evidence("A-pose", 0.8, f"with all rotations zero the arms slope down ({arm:+.0f}°)")
    return Evidence("arms up", 0.7, f"with all rotations zero the arms are raised ({arm:+.0f}°)")


def _warnings(document: BvhDocument, evidence: dict[str, Evidence]) -> tuple[str, ...]:
    told = []
    unit, up = evidence["unit"], evidence["up"]
    if unit.confidence < 0.6:
        told.append(f"The unit is a guess ({unit.reason}); say it with --unit m, cm, mm, inch, cmu or a number.")
    if up.confidence < 0.3:
        told.append(f"The up axis {up.value} is a guess ({up.reason}); say it with --up.")
    names = [j.name for j in document.joints]
    twice = sorted({n for n in names if names.count(n) > 1}) if len(set(names)) < len(names) else []
    if twice:
        told.append(f"Several joints bear the same name ({', '.join(twice[:5])}); a name means the first of them.")
    pairs = [j.name for j in document.joints if len(j.order) == 2]
    if pairs:
        told.append(f"Joints with two rotation channels are read as ball joints: {', '.join(pairs[:5])}.")
    return tuple(told)
