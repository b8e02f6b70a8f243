"""Clips of the project's own creatures, drawn with keys as a cartoon is: feet stand exactly, nothing else asks physics.

Frames here are those of the files: x to the left, y up, z ahead; meters, degrees, seconds.
"""

from __future__ import annotations

import numpy as np
from creature_mesh import Array, Clip, Creature
from samples import curves, turns

from poise.core import rotations

FPS = 60
FLIGHTS = ((1.1, 2.4, 0.0, 1.3), (3.0, 4.9, 1.3, 3.1), (5.65, 6.95, 3.1, 3.1))
"""Each hop: it leaves the ground and lands [s], from and to [m ahead]. The second one hops again in the middle of the
air, the third turns all the way around."""
DURATION = 7.8

# The hips over their height at rest [m], and how the trunk pitches; nose down by plus [deg].
HEIGHT = curves.through(
    "0:0  0.4:-0.01  0.82:-0.28  0.92:-0.25  1.1:0.08  1.3:0.62  1.5:0.86  1.75:0.93  2.0:0.88  2.2:0.56  2.4:0.06  "
    "2.6:-0.27  2.82:-0.24  3:0.08  3.2:0.5  3.4:0.62  3.6:0.5  3.7:0.47  3.85:0.8  4.05:1.2  4.3:1.34  4.5:1.22  "
    "4.72:0.66  4.9:0.06  5.12:-0.33  5.3:-0.27  5.47:-0.25  5.65:0.08  5.9:0.68  6.2:0.9  6.5:0.84  6.75:0.5  "
    "6.95:0.06  7.15:-0.26  7.5:-0.02  7.8:0"
)
PITCH = curves.through(
    "0:0  0.4:-2  0.85:14  1.1:-16  1.4:-10  1.8:4  2.2:-8  2.4:-4  2.62:16  2.85:12  3:-18  3.3:-8  3.6:14  3.7:14  "
    "3.9:-20  4.3:2  4.7:-9  4.9:-4  5.14:18  5.4:12  5.65:-12  6:0  6.6:-6  6.95:-4  7.17:14  7.5:-2  7.8:0"
)
SPIN = curves.through("0:0  5.4:0  5.55:-14  5.7:10  6.3:200  6.85:356  7.0:364  7.25:358  7.5:360  7.8:360")
# Head and tail: the head looks down and up, the tail's base rises and swings aside; what follows it does so late.
NOD = curves.through(
    "0:0  0.3:6  0.85:-16  1.1:12  1.35:22  1.75:2  2.2:14  2.45:-14  2.65:22  3:10  3.3:16  3.65:-22  3.9:20  4.3:0  "
    "4.75:16  4.95:-16  5.18:24  5.5:-8  5.65:10  6.9:8  7.2:18  7.55:-6  7.8:0"
)
LIFT = curves.through(
    "0:0  0.4:2  0.85:11  1.1:-9  1.35:-11  1.8:2  2.2:9  2.45:7  2.65:-8  2.85:5  3.05:-10  3.4:-4  3.65:10  3.9:-12  "
    "4.3:0  4.7:10  4.95:7  5.2:-9  5.5:6  5.7:-8  6.2:-2  6.9:7  7.2:-7  7.5:2  7.8:0"
)
LASH = curves.through(
    "0:0  0.5:5  1.3:-9  1.75:9  2.2:-6  2.7:4  3.2:-6  3.6:6  4:-10  4.4:9  4.8:-4  5.3:0  5.55:9  5.75:-13  6.4:-11  "
    "6.9:4  7.2:9  7.5:-3  7.8:0"
)
# The legs: how far the feet are drawn up, and ahead of their place below the hips, in the air [m]; slope of the foot.
TUCK = curves.through(
    "1:0  1.1:-0.09  1.25:-0.11  1.6:0.22  1.95:0.2  2.25:0.02  2.4:-0.05  2.5:0  2.9:0  3:-0.09  3.12:-0.11  "
    "3.36:0.18  3.6:0.28  3.72:0.22  3.86:-0.1  4.0:-0.09  4.3:0.24  4.6:0.12  4.8:-0.02  4.9:-0.05  5:0  5.55:0  "
    "5.65:-0.09  5.8:-0.11  6.2:0.24  6.6:0.16  6.82:-0.02  6.95:-0.05  7.05:0"
)
REACH = curves.through(
    "1.1:0  1.3:-0.2  1.7:0.02  2.2:0.14  2.4:0  3:0  3.2:-0.14  3.6:0.08  3.86:-0.16  4.3:0  4.7:0.15  4.9:0  5.65:0  "
    "5.9:-0.05  6.5:0.04  6.95:0"
)
FOOT = curves.held(
    "0.4:0  0.85:-12  0.98:0  1.1:34  1.3:46  1.7:10  2.2:-6  2.4:2  2.6:-14  2.88:-6  3:34  3.2:44  3.6:4  3.72:0  "
    "3.86:42  4.2:12  4.7:-6  4.9:2  5.14:-16  5.5:-10  5.65:34  5.85:44  6.3:8  6.8:-6  6.95:2  7.17:-12  7.6:0"
)
TOES = curves.held(
    "1.1:0  1.24:42  1.6:26  2.15:-8  2.38:0  3:0  3.14:40  3.5:20  3.72:6  3.9:40  4.3:20  4.75:-8  4.88:0  5.65:0  "
    "5.8:42  6.2:22  6.75:-8  6.93:0"
)
LATE = {"Left": 0.0, "Right": 0.03}
"""The right foot moves a moment later while both are in the air [s]."""


def hops(creature: Creature) -> Clip:
    """Three hops that no muscle could make: one hangs, one hops again from the air, one turns all the way around."""
    time = np.arange(round(DURATION * FPS) + 1) / FPS
    at = {name: np.array(place)[[1, 2, 0]] for name, (_, place) in creature.joints.items()}
    heading = turns.about("Y", SPIN(time))
    ahead = np.sum([(b - a) * curves.smooth_step((time - t0) / (t1 - t0)) for t0, t1, a, b in FLIGHTS], axis=0)
    root = at["Hips"] + np.stack([0.0 * time, HEIGHT(time), ahead], axis=-1)
    hips = turns.chain(heading, turns.about("X", PITCH(time)))
    moved = {"Hips": hips}
    calm = turns.about("X", -0.3 * PITCH(time))  # the chest keeps a part of the pitch to itself, neck and head nod late
    moved |= {"Spine": calm, "Chest": calm, "Neck": turns.about("X", 0.7 * NOD(time))}
    moved["Head"] = turns.about("X", 0.9 * NOD(np.clip(time - 0.06, 0.0, None)))
    for k in range(6):
        late = np.clip(time - 0.06 * k, 0.0, None)
        moved[f"Tail{k + 1}"] = turns.chain(turns.about("Y", LASH(late)), turns.about("X", LIFT(late)))
    dangle = turns.about("X", 1.2 * PITCH(np.clip(time - 0.08, 0.0, None)))
    for side in ("Left", "Right"):
        moved |= {f"{side}Arm": dangle, f"{side}ForeArm": dangle} | _leg(at, side, time, root, heading, hips)
    return Clip(FPS, root, {name: rotations.continuous(turn) for name, turn in moved.items()})


def _leg(
    at: dict[str, Array], side: str, time: Array, root: Array, heading: Array, hips: Array
) -> dict[str, Array]:  # fmt: skip
    """Turns of a leg whose toes stand exactly, and follow the hips in the air."""
    thigh, shank, foot, toes = (at[side + name] for name in ("UpLeg", "Leg", "Foot", "ToeBase"))
    lengths = float(np.linalg.norm(shank - thigh)), float(np.linalg.norm(foot - shank))
    stands = toes + np.array([0.0, 0.0, 1.0]) * _ahead_of_stand(time)[:, None]
    own = time - LATE[side] * _in_air(time, 0.3)
    drawn = np.stack([0.0 * time, TUCK(own), REACH(own)], axis=-1)
    hangs = root + rotations.rotate(heading, toes - at["Hips"] + drawn)
    air = _in_air(time, 0.14)[:, None]
    place = stands + air * (hangs - stands)
    hip = root + rotations.rotate(hips, thigh - at["Hips"])
    sole = turns.chain(heading, turns.about("X", FOOT(own)))
    ankle = place + rotations.rotate(sole, foot - toes)
    reach = np.linalg.norm(ankle - hip, axis=1)[:, None] / sum(lengths)
    soft = np.where(reach > 0.93, 0.93 + 0.05 * np.tanh((reach - 0.93) / 0.05), reach)
    ankle = np.where(air > 0.0, hip + (ankle - hip) * soft / reach, ankle)
    forward = np.array([0.0, 0.0, 1.0])
    drawn_thigh, drawn_shank = turns.leg(thigh[None], foot[None], forward, *lengths)
    upper, lower = turns.leg(hip, ankle, rotations.rotate(heading, forward), *lengths)
    upper = rotations.multiply(upper, rotations.conjugate(drawn_thigh))
    lower = rotations.multiply(lower, rotations.conjugate(drawn_shank))
    return {
        f"{side}UpLeg": turns.within(hips, upper),
        f"{side}Leg": turns.within(upper, lower),
        f"{side}Foot": turns.within(lower, sole),
        f"{side}ToeBase": turns.within(sole, turns.chain(heading, turns.about("X", TOES(own)))),
    }


def _ahead_of_stand(time: Array) -> Array:
    """How far ahead the stand is that a foot leaves or reaches [m]; it changes in the middle of each flight."""
    return np.sum([(b - a) * (time > 0.5 * (t0 + t1)) for t0, t1, a, b in FLIGHTS], axis=0)


def _in_air(time: Array, within: float) -> Array:
    """0 while the feet stand, 1 in the air from `within` seconds after leaving to as long before landing."""
    parts = [
        curves.smooth_step((time - t0) / within) * curves.smooth_step((t1 - time) / within) for t0, t1, _, _ in FLIGHTS
    ]
    return np.sum(parts, axis=0)
