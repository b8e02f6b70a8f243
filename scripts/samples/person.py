"""The human-like figure of the walk and of the hop: 1.7 m tall, T-pose at rest."""

from __future__ import annotations

from samples.figure import Figure, build

THIGH, SHANK = 0.42, 0.41
ANKLE = 0.075
"""Height of the ankle over the sole [m]."""
HEEL = -0.05
"""The heel touches this far ahead of the ankle (behind it) [m]."""
BALL = (0.135, 0.012)
"""The toe joint: ahead of the ankle, and over the sole [m]."""
TOE, TOE_DROP = 0.065, 0.012
"""The toes' tip: ahead of the toe joint, and below it [m]."""
HIP_WIDTH = 0.085


def _side(name: str, x: float) -> tuple[list, list]:
    leg = [
        (f"{name}UpLeg", "Hips", (x * HIP_WIDTH, -0.035, 0.0)),
        (f"{name}Leg", f"{name}UpLeg", (0.0, -THIGH, 0.0)),
        (f"{name}Foot", f"{name}Leg", (0.0, -SHANK, 0.0)),
        (f"{name}ToeBase", f"{name}Foot", (0.0, BALL[1] - ANKLE, BALL[0])),
        (f"End{name}Toe", f"{name}ToeBase", (0.0, -TOE_DROP, TOE)),
    ]
    arm = [
        (f"{name}Shoulder", "Spine1", (x * 0.03, 0.20, 0.01)),
        (f"{name}Arm", f"{name}Shoulder", (x * 0.145, 0.0, -0.015)),
        (f"{name}ForeArm", f"{name}Arm", (x * 0.28, 0.0, 0.0)),
        (f"{name}Hand", f"{name}ForeArm", (x * 0.25, 0.0, 0.0)),
        (f"End{name}Hand", f"{name}Hand", (x * 0.16, 0.0, 0.0)),
    ]
    return leg, arm


def person() -> Figure:
    """Figure with shares of the body mass close to the usual tables (De Leva 1996)."""
    (left_leg, left_arm), (right_leg, right_arm) = _side("Left", 1.0), _side("Right", -1.0)
    trunk = [
        ("Spine", "Hips", (0.0, 0.10, -0.035)),
        ("Spine1", "Spine", (0.0, 0.17, -0.005)),
        ("Neck", "Spine1", (0.0, 0.25, 0.0)),
        ("Head", "Neck", (0.0, 0.09, 0.015)),
        ("EndHead", "Head", (0.0, 0.15, 0.005)),
    ]
    rows = [("Hips", "", (0.0, 0.94, 0.0)), *left_leg, *right_leg, *trunk, *left_arm, *right_arm]
    shares = {"Hips": ("Spine", 0.11), "Spine": ("Spine1", 0.16), "Spine1": ("Neck", 0.16), "Head": ("EndHead", 0.07)}
    for name in ("Left", "Right"):
        shares |= {
            f"{name}UpLeg": (f"{name}Leg", 0.145),
            f"{name}Leg": (f"{name}Foot", 0.045),
            f"{name}Foot": (f"{name}ToeBase", 0.014),
            f"{name}Arm": (f"{name}ForeArm", 0.028),
            f"{name}ForeArm": (f"{name}Hand", 0.016),
            f"{name}Hand": (f"End{name}Hand", 0.006),
        }
    return build(rows, shares)
