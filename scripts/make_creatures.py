"""Make the project's own creatures: a raptor, a rex, an alien, a cat and a round-headed child.

    python scripts/make_creatures.py [FOLDER]

Each is a skinned, colored glTF, and a character (TOML) with bodies, masses, limbs and roles by the same rods. All of
it is drawn by this script; nobody else's model is used. Frames here: x ahead, y to the left, z up, meters.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from creature_clips import hops
from creature_mesh import Array, Clip, Creature, Rod, write

import poise
from poise.body.anthropometry import capsule_inertia
from poise.body.character import Capsule, Character, Limits
from poise.body.toml_file import save_character
from poise.core import rotations
from poise.tracking.setup import begin, edited, find_checks
from poise.tracking.setup.model import Part, Setup


def raptor() -> Creature:
    """A long neck, and a heavy tail behind two legs."""
    c = Creature("raptor", belly=(0.93, 0.84, 0.62), stripes=(0.13, 0.30, 0.24))
    skin, claw = (0.24, 0.55, 0.40), (0.16, 0.14, 0.13)
    c.joint("Hips", "", 0.0, 0.0, 0.84)
    c.joint("Spine", "Hips", 0.13, 0.0, 0.87)
    c.joint("Chest", "Spine", 0.31, 0.0, 0.91)
    c.joint("Neck", "Chest", 0.46, 0.0, 1.0)
    c.joint("Neck1", "Neck", 0.54, 0.0, 1.12)
    c.joint("Neck2", "Neck1", 0.58, 0.0, 1.25)
    c.joint("Head", "Neck2", 0.62, 0.0, 1.37)
    c.tail([(-0.16, 0.85), (-0.36, 0.85), (-0.56, 0.85), (-0.75, 0.86), (-0.93, 0.88), (-1.10, 0.91)])
    c.pair("UpLeg", "Hips", -0.05, 0.13, 0.80)
    c.pair("Leg", "UpLeg", 0.09, 0.14, 0.50)
    c.pair("Foot", "Leg", -0.09, 0.14, 0.17)
    c.pair("ToeBase", "Foot", 0.02, 0.14, 0.035)
    c.pair("Arm", "Chest", 0.40, 0.12, 0.86)
    c.pair("ForeArm", "Arm", 0.40, 0.15, 0.69)
    c.pair("Hand", "ForeArm", 0.52, 0.13, 0.61)
    c.rod("Hips", "Spine", 0.145, 0.155, skin)
    c.rod("Spine", "Chest", 0.155, 0.15, skin)
    c.rod("Chest", "Neck", 0.145, 0.085, skin)
    c.rod("Neck", "Neck1", 0.085, 0.068, skin)
    c.rod("Neck1", "Neck2", 0.068, 0.062, skin)
    c.rod("Neck2", "Head", 0.062, 0.07, skin)
    c.rod("Head", (0.68, 0.0, 1.40), 0.082, 0.085, skin)
    c.rod("Head", (0.90, 0.0, 1.365), 0.072, 0.045, skin, start=(0.70, 0.0, 1.385))
    c.rod("Head", (0.86, 0.0, 1.315), 0.045, 0.028, c.belly, start=(0.68, 0.0, 1.335))
    for k in range(3):
        x, z = 0.60 - 0.05 * k, 1.475 - 0.075 * k
        c.rod(
            "Head" if k == 0 else "Neck2",
            (x - 0.07, 0.0, z + 0.045),
            0.022,
            0.006,
            (0.93, 0.47, 0.18),
            start=(x, 0.0, z - 0.02),
        )
    c.eyes("Head", 0.715, 0.062, 1.425, 0.03)
    radii = [0.14, 0.11, 0.088, 0.068, 0.05, 0.034, 0.012]
    for k in range(6):
        end = f"Tail{k + 2}" if k < 5 else (-1.30, 0.0, 0.96)
        c.rod(f"Tail{k + 1}", end, radii[k], radii[k + 1], skin)
    c.rod("Hips", "Tail1", 0.145, 0.14, skin)
    c.rods_of_pair("UpLeg", "Leg", 0.105, 0.066, skin)
    c.rods_of_pair("Leg", "Foot", 0.062, 0.036, skin)
    c.rods_of_pair("Foot", "ToeBase", 0.034, 0.034, skin)
    for out in (-0.05, 0.0, 0.05):
        c.rods_of_pair("ToeBase", (0.15, 0.14 + out, 0.026), 0.034, 0.024, skin)
        c.rods_of_pair(
            "ToeBase",
            (0.20, 0.14 + 1.3 * out, 0.013),
            0.018,
            0.005,
            claw,
            start=(0.16, 0.14 + 1.1 * out, 0.026),
            sharp=True,
        )
    c.rods_of_pair("Arm", "ForeArm", 0.048, 0.032, skin)
    c.rods_of_pair("ForeArm", "Hand", 0.032, 0.024, skin)
    for out in (-0.02, 0.02):
        c.rods_of_pair("Hand", (0.60, 0.13 + out, 0.555), 0.02, 0.007, claw)
    return c


def rex() -> Creature:
    """A heavy head before two legs, and a heavy tail behind them."""
    c = Creature("rex", belly=(0.95, 0.86, 0.66), stripes=(0.30, 0.17, 0.38))
    skin, claw, tooth = (0.55, 0.36, 0.62), (0.20, 0.16, 0.14), (0.98, 0.97, 0.92)
    c.joint("Hips", "", 0.0, 0.0, 1.0)
    c.joint("Spine", "Hips", 0.16, 0.0, 1.05)
    c.joint("Chest", "Spine", 0.34, 0.0, 1.11)
    c.joint("Neck", "Chest", 0.48, 0.0, 1.24)
    c.joint("Head", "Neck", 0.58, 0.0, 1.41)
    c.tail([(-0.20, 0.99), (-0.44, 0.97), (-0.68, 0.96), (-0.91, 0.97), (-1.12, 1.0), (-1.31, 1.05)])
    c.pair("UpLeg", "Hips", -0.03, 0.17, 0.95)
    c.pair("Leg", "UpLeg", 0.14, 0.17, 0.60)
    c.pair("Foot", "Leg", -0.09, 0.17, 0.22)
    c.pair("ToeBase", "Foot", 0.04, 0.17, 0.045)
    c.pair("Arm", "Chest", 0.43, 0.15, 1.0)
    c.pair("ForeArm", "Arm", 0.45, 0.18, 0.89)
    c.pair("Hand", "ForeArm", 0.54, 0.17, 0.85)
    c.rod("Hips", "Spine", 0.19, 0.21, skin)
    c.rod("Spine", "Chest", 0.21, 0.19, skin)
    c.rod("Chest", "Neck", 0.18, 0.14, skin)
    c.rod("Neck", "Head", 0.135, 0.13, skin)
    c.rod("Head", (0.72, 0.0, 1.46), 0.15, 0.155, skin)
    c.rod("Head", (1.06, 0.0, 1.42), 0.13, 0.085, skin, start=(0.76, 0.0, 1.44))
    c.rod("Head", (1.0, 0.0, 1.31), 0.085, 0.055, c.belly, start=(0.68, 0.0, 1.32))
    c.eyes("Head", 0.80, 0.115, 1.56, 0.04)
    for k in range(4):
        x, out = 0.86 + 0.07 * k, 0.088 - 0.011 * k
        c.rods_of_pair("Head", (x + 0.008, out, 1.325), 0.014, 0.004, tooth, start=(x, out, 1.375), sharp=True)
    radii = [0.19, 0.165, 0.135, 0.105, 0.08, 0.055, 0.02]
    for k in range(6):
        end = f"Tail{k + 2}" if k < 5 else (-1.50, 0.0, 1.12)
        c.rod(f"Tail{k + 1}", end, radii[k], radii[k + 1], skin)
    c.rod("Hips", "Tail1", 0.19, 0.19, skin)
    c.rods_of_pair("UpLeg", "Leg", 0.135, 0.085, skin)
    c.rods_of_pair("Leg", "Foot", 0.08, 0.048, skin)
    c.rods_of_pair("Foot", "ToeBase", 0.046, 0.044, skin)
    for out in (-0.065, 0.0, 0.065):
        tip = 0.17 + 1.3 * out
        c.rods_of_pair("ToeBase", (0.19, 0.17 + out, 0.034), 0.044, 0.032, skin)
        c.rods_of_pair("ToeBase", (0.25, tip, 0.017), 0.024, 0.006, claw, start=(0.20, tip, 0.034), sharp=True)
    c.rods_of_pair("Arm", "ForeArm", 0.042, 0.03, skin)
    c.rods_of_pair("ForeArm", "Hand", 0.03, 0.024, skin)
    for out in (-0.018, 0.018):
        c.rods_of_pair("Hand", (0.60, 0.17 + out, 0.80), 0.02, 0.007, claw)
    return c


def alien() -> Creature:
    """Walks on its hands; two tails rise from its back."""
    c = Creature("alien", belly=(0.72, 0.93, 0.95))
    skin, glow = (0.42, 0.32, 0.66), (0.35, 0.95, 0.85)
    c.joint("Hips", "", 0.0, 0.0, 0.86)
    c.joint("Spine", "Hips", 0.05, 0.0, 1.0)
    c.joint("Neck", "Spine", 0.12, 0.0, 1.13)
    c.joint("Head", "Neck", 0.17, 0.0, 1.24)
    c.pair("UpLeg", "Hips", 0.0, 0.19, 0.86)
    c.pair("Leg", "UpLeg", 0.05, 0.25, 0.46)
    c.pair("Foot", "Leg", 0.0, 0.21, 0.08)
    c.pair("ToeBase", "Foot", 0.10, 0.21, 0.03)
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        before = "Hips"
        places = [
            (-0.14, 0.10, 0.92),
            (-0.34, 0.15, 1.0),
            (-0.52, 0.20, 1.12),
            (-0.62, 0.25, 1.28),
            (-0.60, 0.28, 1.45),
        ]
        for k, (x, y, z) in enumerate(places, start=1):
            c.joint(f"{side}Tail{k}", before, x, sign * y, z)
            before = f"{side}Tail{k}"
    c.rod("Hips", "Spine", 0.16, 0.14, skin)
    c.rod("Spine", "Neck", 0.14, 0.07, skin)
    c.rod("Neck", "Head", 0.06, 0.06, skin)
    c.rod("Head", (0.25, 0.0, 1.33), 0.10, 0.12, skin)
    c.rod("Head", (0.05, 0.0, 1.44), 0.10, 0.06, skin, start=(0.2, 0.0, 1.36))
    c.eyes("Head", 0.325, 0.07, 1.35, 0.042)
    c.rods_of_pair("Hips", (0.0, 0.19, 0.86), 0.10, 0.10, skin, start=(0.0, 0.08, 0.88))
    c.rods_of_pair("UpLeg", "Leg", 0.095, 0.062, skin)
    c.rods_of_pair("Leg", "Foot", 0.07, 0.042, skin)
    c.rods_of_pair("Foot", "ToeBase", 0.042, 0.035, skin)
    for out in (-0.055, -0.018, 0.018, 0.055):
        c.rods_of_pair(
            "ToeBase", (0.22, 0.21 + 1.4 * out, 0.02), 0.03, 0.018, glow, start=(0.08, 0.21 + 0.8 * out, 0.028)
        )
    c.rods_of_pair("Foot", (-0.07, 0.21, 0.025), 0.04, 0.024, skin)
    radii = [0.075, 0.062, 0.05, 0.04, 0.03, 0.028]
    for k in range(5):
        end = f"Tail{k + 2}" if k < 4 else (-0.50, 0.30, 1.60)
        c.rods_of_pair(f"Tail{k + 1}", end, radii[k], radii[k + 1], skin)
    c.rods_of_pair("Tail5", (-0.44, 0.305, 1.68), 0.045, 0.006, glow, start=(-0.50, 0.30, 1.58))
    c.rods_of_pair("Hips", "Tail1", 0.09, 0.08, skin, start=(-0.04, 0.05, 0.89))
    return c


def cat() -> Creature:
    """A quadruped with a long tail."""
    c = Creature("cat", belly=(0.97, 0.93, 0.86), stripes=(0.62, 0.30, 0.12))
    fur, nose = (0.91, 0.55, 0.25), (0.35, 0.18, 0.18)
    c.joint("Hips", "", -0.28, 0.0, 0.50)
    c.joint("Spine", "Hips", -0.08, 0.0, 0.53)
    c.joint("Chest", "Spine", 0.16, 0.0, 0.52)
    c.joint("Neck", "Chest", 0.33, 0.0, 0.58)
    c.joint("Head", "Neck", 0.44, 0.0, 0.68)
    c.tail([(-0.40, 0.53), (-0.55, 0.55), (-0.69, 0.60), (-0.80, 0.69), (-0.86, 0.81)])
    c.pair("UpLeg", "Hips", -0.28, 0.085, 0.45)
    c.pair("Leg", "UpLeg", -0.20, 0.095, 0.26)
    c.pair("Foot", "Leg", -0.31, 0.095, 0.10)
    c.pair("ToeBase", "Foot", -0.26, 0.095, 0.025)
    c.pair("Arm", "Chest", 0.22, 0.085, 0.43)
    c.pair("ForeArm", "Arm", 0.17, 0.095, 0.24)
    c.pair("Hand", "ForeArm", 0.20, 0.095, 0.065)
    c.pair("Finger", "Hand", 0.235, 0.095, 0.025)
    c.rod("Hips", "Spine", 0.11, 0.12, fur)
    c.rod("Spine", "Chest", 0.12, 0.125, fur)
    c.rod("Chest", "Neck", 0.12, 0.08, fur)
    c.rod("Neck", "Head", 0.075, 0.075, fur)
    c.rod("Head", (0.50, 0.0, 0.71), 0.10, 0.10, fur)
    c.rod("Head", (0.60, 0.0, 0.67), 0.06, 0.045, c.belly, start=(0.54, 0.0, 0.675))
    c.rod("Head", (0.645, 0.0, 0.685), 0.014, 0.014, nose, start=(0.64, 0.0, 0.685), sharp=True)
    c.eyes("Head", 0.572, 0.05, 0.745, 0.027)
    c.rods_of_pair("Head", (0.43, 0.085, 0.875), 0.045, 0.008, fur, start=(0.455, 0.055, 0.78))
    radii = [0.055, 0.044, 0.040, 0.038, 0.036, 0.022]
    for k in range(5):
        end = f"Tail{k + 2}" if k < 4 else (-0.86, 0.0, 0.95)
        c.rod(f"Tail{k + 1}", end, radii[k], radii[k + 1], fur if k < 4 else c.belly)
    c.rod("Hips", "Tail1", 0.09, 0.055, fur)
    c.rods_of_pair("UpLeg", "Leg", 0.085, 0.052, fur)
    c.rods_of_pair("Leg", "Foot", 0.048, 0.032, fur)
    c.rods_of_pair("Foot", "ToeBase", 0.032, 0.032, fur)
    c.rods_of_pair("ToeBase", (-0.19, 0.095, 0.024), 0.036, 0.030, c.belly)
    c.rods_of_pair("Arm", "ForeArm", 0.065, 0.042, fur)
    c.rods_of_pair("ForeArm", "Hand", 0.040, 0.032, fur)
    c.rods_of_pair("Hand", (0.29, 0.095, 0.024), 0.036, 0.030, c.belly)
    return c


def cartoon() -> Creature:
    """A big head on short legs."""
    c = Creature("cartoon", belly=(0.98, 0.80, 0.66))
    shirt, trousers, shoe = (0.93, 0.36, 0.32), (0.22, 0.36, 0.62), (0.95, 0.93, 0.88)
    skin, hair = (0.98, 0.78, 0.62), (0.33, 0.20, 0.12)
    c.belly = skin
    c.joint("Hips", "", 0.0, 0.0, 0.36)
    c.joint("Spine", "Hips", 0.0, 0.0, 0.46)
    c.joint("Chest", "Spine", 0.0, 0.0, 0.57)
    c.joint("Neck", "Chest", 0.0, 0.0, 0.69)
    c.joint("Head", "Neck", 0.01, 0.0, 0.75)
    c.pair("UpLeg", "Hips", 0.0, 0.075, 0.34)
    c.pair("Leg", "UpLeg", 0.015, 0.08, 0.20)
    c.pair("Foot", "Leg", 0.0, 0.08, 0.06)
    c.pair("ToeBase", "Foot", 0.085, 0.08, 0.03)
    c.pair("Shoulder", "Chest", 0.0, 0.05, 0.655)
    c.pair("Arm", "Shoulder", 0.0, 0.125, 0.65)
    c.pair("ForeArm", "Arm", 0.0, 0.19, 0.51)
    c.pair("Hand", "ForeArm", 0.03, 0.23, 0.385)
    c.rod("Hips", "Spine", 0.115, 0.12, trousers)
    c.rod("Spine", "Chest", 0.12, 0.11, shirt)
    c.rod("Chest", "Neck", 0.105, 0.05, shirt)
    c.rod("Neck", "Head", 0.045, 0.05, skin)
    c.rod("Head", (0.02, 0.0, 0.95), 0.16, 0.185, skin, start=(0.02, 0.0, 0.89))
    c.rod("Head", (-0.05, 0.0, 1.02), 0.17, 0.16, hair, start=(-0.05, 0.0, 0.97))
    c.rod("Head", (0.13, -0.02, 1.11), 0.07, 0.03, hair, start=(0.0, 0.02, 1.12))
    c.rod("Head", (0.215, 0.0, 0.885), 0.028, 0.028, (0.97, 0.66, 0.53), start=(0.205, 0.0, 0.885), sharp=True)
    c.eyes("Head", 0.172, 0.07, 0.945, 0.045)
    c.rods_of_pair("Head", (0.0, 0.20, 0.90), 0.035, 0.035, skin, start=(0.0, 0.19, 0.90))
    c.rods_of_pair("UpLeg", "Leg", 0.075, 0.062, trousers)
    c.rods_of_pair("Leg", "Foot", 0.06, 0.055, trousers)
    c.rods_of_pair("Foot", "ToeBase", 0.052, 0.048, shoe, start=(-0.02, 0.08, 0.05))
    c.rods_of_pair("ToeBase", (0.12, 0.085, 0.042), 0.048, 0.045, shoe)
    c.rods_of_pair("Shoulder", "Arm", 0.06, 0.055, shirt)
    c.rods_of_pair("Arm", "ForeArm", 0.052, 0.042, shirt)
    c.rods_of_pair("ForeArm", "Hand", 0.036, 0.032, skin)
    c.rods_of_pair("Hand", (0.045, 0.245, 0.33), 0.04, 0.038, skin)
    return c


CREATURES: dict[str, Callable[[], Creature]] = {
    "raptor": raptor,
    "rex": rex,
    "alien": alien,
    "cat": cat,
    "cartoon": cartoon,
}
CLIPS: dict[str, dict[str, Callable[[Creature], Clip]]] = {"rex": {"Hops": hops}}
"""What creatures do in their files, beside standing."""


# --- the character


HINGES = ("Leg", "Foot", "ToeBase", "ForeArm", "Hand", "Finger")
"""Joints that turn about the axis to the left only."""
RANGES = {
    "Leg": (-5.0, 140.0),
    "Foot": (-70.0, 60.0),
    "ToeBase": (-70.0, 60.0),
    "ForeArm": (-140.0, 5.0),
    "Hand": (-60.0, 60.0),
    "Finger": (-60.0, 60.0),
}
"""How far they turn [deg]; a knee bends by plus, an elbow by minus, both from the straight limb, others as drawn."""
SOLES = {"raptor": "ToeBase", "rex": "ToeBase", "alien": "Foot"}
"""Joints above the soles: they also roll and turn. Without that, a foot that is not straight under its hip stands on
its edge, and the creature falls over it."""
ROLL = 25.0
"""How far they do, both ways [deg]."""
HEADS = {"alien": 0.35}
"""Density of heads that are drawn big, over that of the rest [1]."""
MASSES = {"raptor": 62.0, "rex": 140.0, "alien": 70.0}
"""Of creatures whose bodies follow the rods [kg], shared by volume; others keep what Poise proposes."""


STYLES = {
    "raptor": {
        "sad": {"Chest": 6.0, "Neck": 30.0, "Neck1": 12.0, "Head": 8.0, "Tail1": -14.0, "Tail2": -10.0},
        "proud": {"Chest": -7.0, "Neck": -18.0, "Head": 16.0, "Tail1": 9.0},
    }
}
"""Rest poses by name: turns of joints about the axis to the left, forward and down by plus [deg]."""


def set_up(creature: Creature, path: Path) -> Character:
    """The creature's character: what Poise proposes for its skeleton, with the rods' shapes, masses and hinges."""
    setup = begin(poise.Character.fit(poise.load(path, clip="Stand")))
    if creature.name not in MASSES:
        return setup.character
    names = setup.skeleton.names
    tails = [name for name in names if name.endswith("Tail1") and name != "Tail1"]
    if tails:  # of a pair of tails each swings by itself
        chains = [c for c in setup.limbs if not any("Tail" in names[j] for j in c.joints)]
        setup = replace(setup, limbs=tuple(chains))
        for name in tails:
            setup = edited(setup, {"do": "assign", "joint": names.index(name), "actor": "free"})
    parts = {joint: _shaped(creature, names[joint], part) for joint, part in setup.parts.items()}
    total = sum(part.body.mass for part in parts.values())
    share = MASSES[creature.name] / total
    setup = replace(setup, parts={j: _weighed(part, share * part.body.mass) for j, part in parts.items()})
    character = _balanced(setup).character
    styles = {
        style: {joint: _leftwards(angle) for joint, angle in turns.items()}
        for style, turns in STYLES.get(creature.name, {}).items()
    }
    return replace(character, rest_poses={**character.rest_poses, **styles})


def _leftwards(angle: float) -> Array:
    """A turn about the axis to the left by an angle [deg]; the creatures' joints are drawn without turns."""
    return rotations.from_rotation_vector(np.array([math.radians(angle), 0.0, 0.0]))


def _shaped(creature: Creature, name: str, part: Part) -> Part:
    """A body with the capsules of its joint's rods, as heavy as they are long and thick [1]; a hinge if it is one."""
    body, at = part.body, np.array(creature.joints[name][1])
    own = [rod for rod in creature.rods if rod.joint == name and not rod.is_sharp]
    capsules = tuple(
        Capsule(_turned(np.array(rod.start) - at), _turned(np.array(rod.end) - at), _thickness(rod)) for rod in own
    )
    capsules = capsules or body.capsules
    mass = sum(c.radius**2 * (float(np.linalg.norm(c.end - c.start)) + c.radius) for c in capsules)
    bare = name.removeprefix("Left").removeprefix("Right")
    body = replace(body, capsules=capsules, mass=mass * (HEADS.get(creature.name, 1.0) if bare == "Head" else 1.0))
    if bare == SOLES[creature.name]:
        low, high = (math.radians(angle) for angle in RANGES[bare])
        roll, across, along = math.radians(ROLL), np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
        limits = Limits(rotations.IDENTITY.copy(), along, across, -roll, roll, low, high, -roll, roll)
        body = replace(body, limits=limits)
    elif bare in HINGES:
        drawn = _bend(creature, name) if bare in ("Leg", "ForeArm") else 0.0
        low, high = (math.radians(angle) - drawn for angle in RANGES[bare])
        across, along = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
        limits = Limits(rotations.IDENTITY.copy(), across, along, low, high, 0.0, 0.0, 0.0, 0.0)
        body = replace(body, kind="hinge", axis=across, limits=limits, rest_rotation=rotations.IDENTITY.copy())
    return replace(part, body=body)


def _bend(creature: Creature, name: str) -> float:
    """Turn about the axis to the left from the bone above a joint to that below it, as drawn [rad]."""
    above, here = creature.joints[name]
    below = next(place for parent, place in creature.joints.values() if parent == name)
    first, then = np.array(here) - creature.joints[above][1], np.array(below) - here
    return math.remainder(math.atan2(then[0], then[2]) - math.atan2(first[0], first[2]), 2.0 * math.pi)


def _thickness(rod: Rod) -> float:
    """Radius of the rod of even thickness that has its volume [m]."""
    return math.sqrt((rod.first**2 + rod.first * rod.last + rod.last**2) / 3.0)


def _turned(place: Array) -> Array:
    """In the axes of the file."""
    return place[[1, 2, 0]]


def _weighed(part: Part, mass: float) -> Part:
    com, inertia = capsule_inertia(part.body.capsules, mass)
    return replace(part, body=replace(part.body, mass=mass, com=com, inertia=inertia))


def _balanced(setup: Setup) -> Setup:
    """The creature as it stands without tipping over, by the first cure of each check."""
    for _ in range(4):
        for check in find_checks(setup):
            for edit in check.edits:
                setup = edited(setup, edit)
    return setup


def main() -> None:
    """Write all of them."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "creatures")
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in CREATURES.items():
        creature, path = make(), folder / f"{name}.glb"
        write(creature, path, {title: draw(creature) for title, draw in CLIPS.get(name, {}).items()})
        character = set_up(creature, path)
        save_character(character, path.with_suffix(".toml"))
        print(f"{path} and .toml: {character.mass:.0f} kg, {character.nv} degrees of freedom")


if __name__ == "__main__":
    main()
