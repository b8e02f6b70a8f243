"""A dive from a board: one and a half somersaults, tucked, then a glide under water.

Standing, everything is drawn with keys and hangs on the balls of the feet. In the air the center of mass flies on its
parabola and the angular momentum is constant: keys say how the body folds, physics how fast that makes it turn.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.integrate import cumulative_trapezoid
from scipy.interpolate import BPoly
from scipy.optimize import root_scalar

from poise.core import rotations
from poise.core.units import GRAVITY
from samples import curves, person, turns
from samples.figure import Figure, particles, pose

Array = npt.NDArray[np.float64]

FPS, FINE = 60, 4
"""Frames a second, and steps a frame in which it is computed."""
BOARD, SURFACE, DEPTH = 4.0, 1.6, 1.2
"""Heights over the bottom of the pool: of the board, of the water, and of the center of mass at the end [m]."""
CROUCHES, LEAVES, FOLDS, TUCKED = 1.3, 1.58, 1.92, 2.1
"""The crouch is deepest, the feet leave the board, the body is folded, and opens at the earliest [s]."""
REST = 0.4
"""At the end of the glide [s]."""
STOPS = np.array([3.0, 3.0, 3.0, 9.0])
"""The glide slows down by this power of the time that is left: left, up and ahead, and the turning."""
REACH = 1.12
"""From the center of mass to the hands of a stretched body [m]."""

# On the board, until the crouch: height of the hips and how far they are ahead of the ankles [m], pitch [deg]; then
# what they are, and how fast they change, when the feet leave. Slope of the feet [deg].
HEIGHT = curves.through("0:0.926  0.4:0.93  0.8:0.924  1.05:0.86  1.3:0.62")
AHEAD = curves.through("0:0.0  0.4:0.0  0.8:0.02  1.05:-0.03  1.3:-0.12")
PITCH = curves.through("0:3  0.4:1  0.8:5  1.05:22  1.3:48")
AWAY = {"height": (0.97, 3.3), "ahead": (0.28, 2.6), "pitch": (14.0, 60.0)}
FOOT = curves.held("1.28:0  1.4:6  1.5:26  1.58:52  1.64:64")
# In the air, once folded: ankle, knee, hip [deg]; all the way: the back's curl, the head, the arms. The times after
# TUCKED are those of a body that opens at once; it opens later, so that it enters the water upright.
ANKLE = curves.through("1.92:38  2.3:40  2.8:52  9:52")
KNEE = curves.through("1.92:120  2.1:124  2.35:20  2.5:1  9:1")
HIP = curves.through("1.92:110  2.1:115  2.38:26  2.56:2  9:2")
CURL = curves.through("0:1  0.8:-2  1.26:14  1.5:2  1.64:8  1.92:58  2.1:62  2.36:14  2.55:-1  9:-1")
NOD = curves.through("0:2  0.8:6  1.26:-14  1.5:-10  1.66:8  1.92:26  2.1:28  2.36:6  2.55:4  9:4")
# The arms [deg]: flexion, out to the side, elbow.
SWING = curves.through("0:-2  0.3:0  0.8:96  1.0:60  1.24:-46  1.32:-44  1.5:90  1.64:158  1.72:150  1.94:58  2.1:56  "
                       "2.3:100  2.52:176  9:178")  # fmt: skip
OUT = curves.through("0:8  0.8:14  1.24:16  1.5:20  1.66:12  1.94:10  2.1:10  2.3:24  2.52:2  9:1")
ELBOW = curves.through("0:12  0.8:6  1.24:14  1.5:18  1.66:8  1.94:58  2.1:60  2.3:50  2.52:4  9:2")


def opened(time: Array, longer: float) -> Array:
    """Time of the keys [s] for a body that stays folded longer."""
    return np.where(time < TUCKED, time, np.maximum(TUCKED, time - longer))


def on_board(time: Array) -> tuple[Array, Array, dict[str, Array]]:
    """Hips over the board (F, 3) [m], their pitch [deg], and the angles of a leg whose ball stays where it is [deg]."""
    until = np.minimum(time, CROUCHES)
    s = np.clip((time - CROUCHES) / (LEAVES - CROUCHES), 0.0, None)
    moved = []
    for curve, (value, rate) in zip((HEIGHT, AHEAD, PITCH), AWAY.values()):
        first = float(curve(np.array(CROUCHES)))
        push = BPoly.from_derivatives([0.0, 1.0], [[first, 0.0, 0.0], [value, rate * (LEAVES - CROUCHES), 0.0]])
        moved.append(np.where(time < CROUCHES, curve(until), push(s)))
    height, ahead, pitch = moved
    slope, arm = np.radians(FOOT(time)), person.ANKLE - person.BALL[1]
    ankle = np.stack([
        0.0 * time, person.BALL[1] + np.sin(slope) * person.BALL[0] + np.cos(slope) * arm,
        person.BALL[0] - np.cos(slope) * person.BALL[0] + np.sin(slope) * arm,
    ], axis=-1)  # fmt: skip
    root = np.stack([0.0 * time, height, ahead], axis=-1)
    hip = root + rotations.rotate(turns.about("X", pitch), np.array([0.0, -0.035, 0.0]))
    thigh, shank = turns.leg(hip, ankle, np.array([0.0, 0.0, 1.0]), person.THIGH, person.SHANK)
    thigh, shank = (np.degrees(rotations.to_rotation_vector(q)[:, 0]) for q in (thigh, shank))
    return root, pitch, {"hip": pitch - thigh, "knee": shank - thigh, "ankle": FOOT(time) - shank}


def legs(time: Array, keyed: Array) -> dict[str, Array]:
    """Angles of ankle, knee and hip [deg]: on the board, on the way into the tuck, and by keys in the air."""
    _, _, angles = on_board(np.minimum(time, LEAVES))
    _, _, last = on_board(LEAVES + np.array([-2e-3, -1e-3, 0.0]))
    for name, curve in (("ankle", ANKLE), ("knee", KNEE), ("hip", HIP)):
        x = last[name]
        rate = (3.0 * x[2] - 4.0 * x[1] + x[0]) / 2e-3
        way = BPoly.from_derivatives([LEAVES, FOLDS], [[x[2], rate, 0.0], [float(curve(np.array(FOLDS))), 0.0, 0.0]])
        flying = np.where(time < FOLDS, way(np.clip(time, LEAVES, FOLDS)), curve(keyed))
        angles[name] = np.where(time < LEAVES, angles[name], flying)
    return angles


def folded(time: Array, longer: float) -> dict[str, Array]:
    """Turns of all joints but the hips."""
    keyed = opened(time, longer)
    about = legs(time, keyed)
    gone, time = curves.smooth_step((time - LEAVES) / 0.15), keyed
    half = turns.about("X", 0.5 * CURL(time))
    local = {"Spine": half, "Spine1": half, "Neck": turns.about("X", 0.5 * NOD(time))}
    local["Head"] = local["Neck"]
    swing, out, elbow = SWING(time), OUT(time), ELBOW(time)
    arm = {
        "Shoulder": turns.about("Z", 0.18 * np.clip(swing - 60.0, 0.0, None)),
        "Arm": turns.chain(
            turns.about("X", -swing), turns.about("Z", out - 87.0 - 0.1 * np.clip(swing - 60.0, 0.0, None)),
            turns.about("X", -12.0 + 0.0 * time),
        ),
        "ForeArm": turns.about("Y", -elbow),
        "Hand": turns.about("Y", -4.0 + 0.0 * time),
    }  # fmt: skip
    for side in ("Left", "Right"):
        local |= {f"{side}{name}": q if side == "Left" else turns.mirror(q) for name, q in arm.items()}
        local[f"{side}UpLeg"] = turns.about("X", -about["hip"])
        local[f"{side}Leg"] = turns.about("X", about["knee"])
        local[f"{side}Foot"] = turns.about("X", about["ankle"])
        local[f"{side}ToeBase"] = turns.about("X", -FOOT(time) * (1.0 - gone))
    return local


def dive() -> tuple[Figure, Array, Array, int]:
    """Figure, translations (F, J, 3) [m], rotations (F, J, 4) and rate [1/s]."""
    figure, dt = person.person(), 1.0 / (FPS * FINE)

    def flown(longer: float) -> tuple[Array, Array, Array, int]:
        """Times, pitch of the hips [rad], center of mass [m], and the step at which the hands reach the water."""
        time = np.arange(round((LEAVES + 2.2) / dt), dtype=np.float64) * dt
        local = folded(time, longer)
        upright = local | {"Hips": turns.about("X", 0.0 * time)}
        masses, paths = particles(figure, *pose(figure, np.zeros((len(time), 3)), upright))
        own = np.einsum("p,fpi->fi", masses, paths)  # of the hips' place
        about = paths - own[:, None]
        speeds = np.gradient(about, dt, axis=0)
        inertia = np.einsum("p,fpi->f", masses, about[:, :, 1:] ** 2)
        bends = np.einsum("p,fp->f", masses, about[:, :, 1] * speeds[:, :, 2] - about[:, :, 2] * speeds[:, :, 1])
        left = round(LEAVES / dt)
        root, standing, _ = on_board(time[: left + 1])
        standing = np.radians(standing)
        rate = np.radians(AWAY["pitch"][1])
        momentum = inertia[left] * rate + bends[left]
        turning = cumulative_trapezoid((momentum - bends[left:]) / inertia[left:], dx=dt, initial=0.0)
        pitch = np.concatenate([standing[:left], standing[left] + turning])
        com = rotations.rotate(turns.about("X", np.degrees(pitch)), own)
        com[: left + 1] += root + np.array([0.0, BOARD, 0.0])
        velocity = (3.0 * com[left] - 4.0 * com[left - 1] + com[left - 2]) / (2.0 * dt)
        since = (time[left:] - time[left])[:, None]
        com[left:] = com[left] + since * velocity - 0.5 * GRAVITY * since**2 * np.array([0.0, 1.0, 0.0])
        enters = int(np.flatnonzero(com[:, 1] > SURFACE + REACH)[-1])
        return time, pitch, com, enters

    def over(longer: float) -> float:
        """How far the body turns beyond one and a half times until it rests under water [rad]."""
        _, pitch, com, enters = flown(longer)
        duration = 3.0 * (DEPTH - com[enters, 1]) / (com[enters, 1] - com[enters - 1, 1])  # in steps
        return float(pitch[enters] + duration * (pitch[enters] - pitch[enters - 1]) / STOPS[3]) - 3.0 * np.pi

    longer = float(root_scalar(over, bracket=(0.0, 0.4), xtol=1e-4).root)
    time, pitch, com, enters = flown(longer)
    path = np.concatenate([com, pitch[:, None]], axis=1)
    rate = (path[enters] - path[enters - 2]) / (2.0 * dt)
    duration = 3.0 * (DEPTH - com[enters, 1]) / rate[1]
    time = np.arange(enters + 1 + round((duration + REST) / dt), dtype=np.float64) * dt
    left = 1.0 - np.clip((time[enters:] - time[enters]) / duration, 0.0, 1.0)[:, None]
    under = path[enters] + duration * rate * (1.0 - left**STOPS) / STOPS
    path = np.concatenate([path[:enters], under])
    local = folded(time, longer) | {"Hips": turns.about("X", np.degrees(path[:, 3]))}
    masses, paths = particles(figure, *pose(figure, np.zeros((len(time), 3)), local))
    root = path[:, :3] - np.einsum("p,fpi->fi", masses, paths)
    translations, turned = pose(figure, root, local)
    return figure, translations[::FINE], rotations.continuous(turned[::FINE]), FPS
