"""What no physics allows: a lean far beyond the feet, a hop that hangs in the air and pedals, a lean to the side.

Feet stand exactly where they stand; everything else is drawn with keys, as a cartoon would be.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from samples import curves, person, turns
from samples.figure import Figure, pose

Array = npt.NDArray[np.float64]

FPS = 60
DURATION = 6.0
TRAVEL = 1.05
LEAVE, LAND = 2.36, 3.98
"""When the left foot leaves the ground and comes back [s]; the right foot a moment earlier and later."""
LATE = {"Left": 0.0, "Right": 0.02}
PRINTS = {"Left": (0.10, 0.02, 9.0), "Right": (-0.10, -0.02, -7.0)}
"""Footprints: aside, ahead [m], heading [deg]; after the hop the same, `TRAVEL` further on."""

# The body [deg, m]. Leans turn the whole figure about its ankles.
FORWARD = curves.through(
    "0:0  0.25:-1.5  0.45:2  0.85:37  1.05:41  1.3:40  1.5:41.5  1.6:40  1.9:4  2.05:0  2.3:0  6:0"
)
ASIDE = curves.through("0:0  4.4:0  4.52:1.5  4.68:-3  4.98:-34  5.14:-38  5.35:-36.5  5.5:-37  5.8:-3  5.92:0.6  6:0")
HEIGHT = curves.through(
    "0:0.926  0.3:0.915  0.9:0.897  1.5:0.895  1.75:0.85  1.98:0.64  2.1:0.605  2.2:0.7  2.36:0.955  "
    "2.5:1.32  2.62:1.495  2.85:1.54  3.12:1.49  3.5:1.565  3.7:1.52  3.85:1.22  3.98:0.92  4.1:0.7  "
    "4.24:0.6  4.38:0.65  4.56:0.86  4.7:0.9  4.95:0.865  5.45:0.862  5.75:0.91  6:0.926"
)
AHEAD = curves.through(
    "0:0  0.3:-0.005  1:0  1.6:-0.01  1.95:-0.1  2.1:-0.07  2.22:0.04  2.36:0.15  2.6:0.32  2.9:0.46  3.3:0.6  "
    "3.6:0.75  3.8:0.91  3.98:0.985  4.12:0.98  4.26:0.96  4.5:1.03  4.8:1.05  6:1.05"
)
PITCH = curves.through(
    "0:3  0.4:4  0.9:-2  1.5:-3  1.8:18  2.05:34  2.2:24  2.36:2  2.55:-8  2.85:6  3.3:12  3.6:4  3.84:-8  "
    "3.98:2  4.14:28  4.26:32  4.5:12  4.75:3  6:3"
)
CURL = curves.through(
    "0:1  0.9:-8  1.5:-7  1.8:12  2.05:26  2.2:12  2.36:-12  2.55:-18  2.9:10  3.3:14  3.62:0  3.84:-14  "
    "3.98:-4  4.14:18  4.28:24  4.55:0  4.8:-3  5.5:-3  6:1"
)
SIDE_BEND = curves.through("0:0  4.6:0  4.75:5  5.05:-9  5.5:-7  5.75:3  6:0")
TWIST = curves.through("0:0  1:-3  1.5:-3  2:5  2.4:0  2.8:7  3.05:-8  3.3:8  3.55:-3  4:0  4.9:6  5.5:5  6:0")
# The head in the world: down positive, left positive.
NOD = curves.through(
    "0:3  0.5:6  0.95:-4  1.5:-8  1.8:10  2.08:-8  2.36:-22  2.6:-12  2.9:24  3.2:30  3.45:22  3.62:-6  "
    "3.85:14  4:10  4.25:24  4.55:-6  4.9:-4  5.5:-2  6:3"
)
LOOK = curves.through(
    "0:0  0.9:0  1.08:28  1.38:30  1.56:0  2.7:0  2.92:16  3.12:-18  3.32:14  3.5:0  4.6:0  5:14  5.5:12  6:0"
)
TILT = curves.through("0:0  4.7:0  5:10  5.5:9  5.85:0  6:0")
# The arms [deg]: flexion, abduction, elbow; the right arm a little later.
SWING = curves.through(
    "0:-4  0.45:4  0.9:-22  1.5:-20  1.75:-20  2.05:-58  2.18:-40  2.36:70  2.5:120  2.72:60  2.9:14  3.5:10  "
    "3.68:24  3.86:60  4:48  4.2:-18  4.4:-12  4.65:16  4.95:6  5.5:6  5.8:-6  5.95:-4"
)
OUT = curves.through(
    "0:8  0.45:7  0.9:13  1.5:13  2.05:20  2.36:14  2.5:18  2.72:66  2.84:98  2.98:62  3.12:97  3.26:62  "
    "3.4:96  3.56:92  3.72:118  3.9:104  4.05:48  4.25:34  4.5:20  4.72:24  5:76  5.15:80  5.5:74  5.8:10  "
    "5.95:8"
)
ELBOW = curves.through(
    "0:22  0.45:26  0.9:10  1.5:12  2.05:34  2.2:60  2.36:34  2.5:18  2.76:30  2.9:12  3.04:34  3.18:12  "
    "3.32:34  3.5:14  3.85:22  4.2:46  4.5:40  4.8:30  5.05:12  5.5:14  5.8:28  5.95:22"
)
# The feet: slope of the sole and of the toes, up positive.
SOLE = curves.held(
    "2.14:0  2.24:-13  2.32:-42  2.4:-66  2.55:-62  2.8:-34  3.2:-22  3.55:-34  3.8:-34  3.92:-29  3.99:-22  4.08:0"
)
TOES = curves.held("2.39:0  2.54:-24  2.8:-22  3.3:-10  3.66:-12  3.82:3  3.97:0")
# Pedaling in the air: thigh against the vertical, forward positive, and knee.
THIGH = curves.through("2.2:-6  2.36:-8  2.55:-10  2.8:40  3.4:42  3.6:26  3.8:15  4:22  4.2:30")
KNEE = curves.through("2.2:20  2.36:12  2.55:22  2.8:82  3.4:84  3.6:46  3.8:24  4:42  4.2:60")
PEDAL = 0.42
"""Time of one turn of the pedals [s]."""


def clock(name: str, time: Array) -> Array:
    """Each foot's own time [s]: the right one leaves a little earlier and lands a little later."""
    return time + LATE[name] * (1.0 - 2.0 * curves.smooth_step((time - 2.9) / 0.6))


def standing(name: str, time: Array, hopped: bool) -> Array:
    """Ankle on the footprint before or after the hop, rolling over the toe joint [m]; foot's own time, shape (F, 3)."""
    aside, ahead, heading = PRINTS[name]
    slope = np.radians(SOLE(time))
    arm = person.ANKLE - person.BALL[1]
    along = person.BALL[0] - np.cos(slope) * person.BALL[0] - np.sin(slope) * arm
    up = person.BALL[1] - np.sin(slope) * person.BALL[0] + np.cos(slope) * arm
    toward = np.array([np.sin(np.radians(heading)), 0.0, np.cos(np.radians(heading))])
    return (
        np.array([aside, 0.0, ahead + hopped * TRAVEL])
        + along[:, None] * toward
        + up[:, None] * np.array([0.0, 1.0, 0.0])
    )


def ankle(name: str, time: Array, hip: Array) -> Array:
    """Path of an ankle [m], (F, 3): exact on the ground, pedaling below the hip in the air."""
    own = clock(name, time)
    turn = np.radians(360.0 * (own - 2.75) / PEDAL) + (0.0 if name == "Left" else np.pi)
    strength = curves.smooth_step((own - 2.6) / 0.25) * (1.0 - curves.smooth_step((own - 3.4) / 0.25))
    thigh = np.radians(THIGH(own) + 30.0 * strength * np.sin(turn))
    shank = thigh - np.radians(KNEE(own) + 28.0 * strength * np.cos(turn))
    aside = np.full(len(time), 0.015 if name == "Left" else -0.015)
    in_air = hip + np.stack(
        [
            aside,
            -person.THIGH * np.cos(thigh) - person.SHANK * np.cos(shank),
            person.THIGH * np.sin(thigh) + person.SHANK * np.sin(shank),
        ],
        axis=-1,
    )
    # no foot dips under the height it has when it stands
    low = standing(name, own, False)[:, 1]
    in_air[:, 1] = low + 0.5 * (in_air[:, 1] - low + np.hypot(in_air[:, 1] - low, 0.04))
    # the ground lets go of the foot while the pedaling takes over, and takes it back before the landing
    gone = curves.smooth_step((own - LEAVE) / 0.12)[:, None]
    come = curves.smooth_step(1.0 + (own - LAND) / 0.12)[:, None]
    path = (1.0 - gone) * standing(name, own, False) + gone * in_air
    path = (1.0 - come) * path + come * standing(name, own, True)
    # in the air no leg is stretched all the way: that would snap its knee
    length = person.THIGH + person.SHANK
    reach = np.linalg.norm(path - hip, axis=1)[:, None] / length
    soft = np.where(reach > 0.94, 0.94 + 0.05 * np.tanh((reach - 0.94) / 0.05), reach)
    in_flight = ((own > LEAVE) & (own < LAND))[:, None]
    return np.where(in_flight, hip + (path - hip) * soft / reach, path)


def trunk(time: Array) -> tuple[Array, dict[str, Array]]:
    """The whole figure's lean, and the turns of pelvis, spine, neck and head."""
    lean = turns.chain(turns.about("Z", ASIDE(time)), turns.about("X", FORWARD(time)))
    pelvis = turns.chain(lean, turns.about("X", PITCH(time)))
    spine = turns.chain(turns.about("Y", TWIST(time)), turns.about("Z", SIDE_BEND(time)), turns.about("X", CURL(time)))
    half = rotations.from_rotation_vector(0.5 * rotations.to_rotation_vector(spine))
    chest = turns.chain(pelvis, half, half)
    # the head keeps its own mind: half of the lean at most
    calm = rotations.from_rotation_vector(0.45 * rotations.to_rotation_vector(lean))
    head = turns.chain(calm, turns.about("Y", LOOK(time)), turns.about("Z", TILT(time)), turns.about("X", NOD(time)))
    neck = rotations.from_rotation_vector(0.5 * rotations.to_rotation_vector(turns.within(chest, head)))
    return lean, {"Hips": pelvis, "Spine": half, "Spine1": half, "Neck": neck, "Head": neck}


def arm(time: Array, side: float) -> dict[str, Array]:
    """Turns of one arm; the hand follows the elbow late."""
    own = np.clip(time - (0.0 if side > 0 else 0.035), 0.0, DURATION)
    swing, out, elbow = SWING(own), OUT(own), ELBOW(own)
    late = np.clip(own - 0.07, 0.0, DURATION)
    wrist = 0.25 * (OUT(late) - out) + 4.0
    raised = np.clip(out - 40.0, 0.0, None) * 0.18
    left = {
        "Shoulder": turns.about("Z", raised - 3.0),
        "Arm": turns.chain(
            turns.about("X", -swing), turns.about("Z", out - raised - 87.0), turns.about("X", -12.0 + 0.0 * own)
        ),
        "ForeArm": turns.chain(turns.about("Y", -elbow), turns.about("X", 8.0 + 0.0 * own)),
        "Hand": turns.chain(turns.about("Z", wrist - 4.0), turns.about("Y", -4.0 + 0.0 * own)),
    }
    return (
        {f"Left{n}": q for n, q in left.items()}
        if side > 0
        else {f"Right{n}": turns.mirror(q) for n, q in left.items()}
    )


def hover_hop() -> tuple[Figure, Array, Array, int]:
    """Figure, translations (F, J, 3) [m], rotations (F, J, 4) and rate [1/s]; the last frame closes the loop."""
    figure = person.person()
    time = np.arange(round(DURATION * FPS) + 1) / FPS
    lean, turned = trunk(time)
    # leans turn about the ankles of the stand that is nearer
    stand = np.array([0.0, person.ANKLE, 0.0]) + np.where(time < 3.2, 0.0, TRAVEL)[:, None] * np.array([0.0, 0.0, 1.0])
    root = stand + rotations.rotate(lean, np.stack([0.0 * time, HEIGHT(time), AHEAD(time)], axis=-1) - stand)
    turned |= arm(time, 1.0) | arm(time, -1.0)
    for name in ("Left", "Right"):
        hip = root + rotations.rotate(turned["Hips"], figure.skeleton.offsets[figure.skeleton.index(f"{name}UpLeg")])
        own = clock(name, time)
        heading = PRINTS[name][2]
        forward = np.array([np.sin(np.radians(heading)), 0.0, np.cos(np.radians(heading))])
        # in a lean the knees lean along
        thigh, shank = turns.leg(hip, ankle(name, time, hip), forward, person.THIGH, person.SHANK)
        sole = turns.chain(turns.about("Y", heading), turns.about("X", -SOLE(own)))
        toes = turns.chain(turns.about("Y", heading), turns.about("X", -TOES(own)))
        turned |= {
            f"{name}UpLeg": turns.within(turned["Hips"], thigh),
            f"{name}Leg": turns.within(thigh, shank),
            f"{name}Foot": turns.within(shank, sole),
            f"{name}ToeBase": turns.within(sole, toes),
        }
    translations, local = pose(figure, root, turned)
    return figure, translations, rotations.continuous(local), FPS
