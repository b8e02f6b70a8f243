"""The dog-like figure: a great hound, three quarters of a meter at the hips, standing at rest."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from samples.figure import Figure, build

Array = npt.NDArray[np.float64]

FEMUR, TIBIA, METATARSUS = 0.285, 0.30, 0.195
SCAPULA, HUMERUS, RADIUS, METACARPUS = 0.125, 0.267, 0.297, 0.1275
PAW = 0.022
"""Height of the paw's joint over the floor [m]."""
TOES, TOES_DROP = 0.0675, 0.022
"""The toes' tip: ahead of the paw's joint, and below it [m]."""
REST = {"UpLeg": 25.0, "Leg": -40.0, "Foot": 8.0, "Shoulder": 32.0, "Arm": -40.0, "ForeArm": 6.0, "Hand": 8.0}
"""Slope of each leg bone at rest, forward positive; 0 hangs straight down [deg]."""


def hanging(length: float, slope: float) -> tuple[float, float, float]:
    """A bone that hangs down and points `slope` degrees forward."""
    return (0.0, -length * float(np.cos(np.radians(slope))), length * float(np.sin(np.radians(slope))))


def _legs(name: str, x: float) -> tuple[list, list]:
    hind = [
        (f"{name}UpLeg", "Hips", (x * 0.0825, -0.045, -0.03)),
        (f"{name}Leg", f"{name}UpLeg", hanging(FEMUR, REST["UpLeg"])),
        (f"{name}Foot", f"{name}Leg", hanging(TIBIA, REST["Leg"])),
        (f"{name}ToeBase", f"{name}Foot", hanging(METATARSUS, REST["Foot"])),
        (f"End{name}Toe", f"{name}ToeBase", (0.0, -TOES_DROP, TOES)),
    ]
    fore = [
        (f"{name}Shoulder", "Spine1", (x * 0.075, -0.07, 0.248)),
        (f"{name}Arm", f"{name}Shoulder", hanging(SCAPULA, REST["Shoulder"])),
        (f"{name}ForeArm", f"{name}Arm", hanging(HUMERUS, REST["Arm"])),
        (f"{name}Hand", f"{name}ForeArm", hanging(RADIUS, REST["ForeArm"])),
        (f"{name}Paw", f"{name}Hand", hanging(METACARPUS, REST["Hand"])),
        (f"End{name}Paw", f"{name}Paw", (0.0, -TOES_DROP, TOES)),
    ]
    return hind, fore


def dog() -> Figure:
    """Figure with shares of the mass: a heavy trunk, light legs."""
    (left_hind, left_fore), (right_hind, right_fore) = _legs("Left", 1.0), _legs("Right", -1.0)
    trunk = [
        ("Spine", "Hips", (0.0, 0.045, 0.15)),
        ("Spine1", "Spine", (0.0, 0.015, 0.3)),
        ("Neck", "Spine1", (0.0, 0.03, 0.255)),
        ("Head", "Neck", (0.0, 0.21, 0.165)),
        ("EndHead", "Head", (0.0, -0.0525, 0.255)),
    ]
    tail = [
        ("Tail", "Hips", (0.0, 0.03, -0.15)),
        ("Tail1", "Tail", (0.0, 0.045, -0.165)),
        ("Tail2", "Tail1", (0.0, 0.06, -0.15)),
        ("EndTail", "Tail2", (0.0, 0.075, -0.135)),
    ]
    height = (
        0.045 + PAW + sum(-hanging(b, REST[n])[1] for b, n in ((FEMUR, "UpLeg"), (TIBIA, "Leg"), (METATARSUS, "Foot")))
    )
    rows = [("Hips", "", (0.0, height, 0.0)), *left_hind, *right_hind, *trunk, *left_fore, *right_fore, *tail]
    shares = {
        "Hips": ("Spine", 0.16),
        "Spine": ("Spine1", 0.24),
        "Spine1": ("Neck", 0.26),
        "Neck": ("Head", 0.06),
        "Head": ("EndHead", 0.06),
        "Tail": ("Tail1", 0.004),
    }
    for name in ("Left", "Right"):
        shares |= {
            f"{name}UpLeg": (f"{name}Leg", 0.045),
            f"{name}Leg": (f"{name}Foot", 0.02),
            f"{name}Foot": (f"{name}ToeBase", 0.006),
            f"{name}Shoulder": (f"{name}Arm", 0.012),
            f"{name}Arm": (f"{name}ForeArm", 0.016),
            f"{name}ForeArm": (f"{name}Hand", 0.008),
            f"{name}Hand": (f"{name}Paw", 0.003),
        }
    return build(rows, shares)
