"""A walk: footprints first, then a pendulum over them, then legs that reach the feet, then the rest of the body.

Feet roll over heel, sole and toe joint without sliding. The center of mass follows the path whose zero moment point
travels under the feet, found for the whole body and not for a point mass. Stance knees follow the usual curve of a
human walk, which sets the height of the pelvis; the swinging foot stays near the usual path between its two contacts.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.units import GRAVITY
from samples import curves, person, turns
from samples.figure import Figure, particles, pose, zero_moment_point

Array = npt.NDArray[np.float64]

FPS = 60
STRIDE_FRAMES, STRIDES = 66, 6
STRIDE = STRIDE_FRAMES / FPS
DURATION = STRIDES * STRIDE
SPEED = 1.07
TRAVEL = SPEED * DURATION
STANCE = 0.60
"""Share of a stride a foot is on the ground."""
START = 0.05
"""Left phase at time 0, with both feet down; 0 is the left heel strike."""
FIRST = 13
"""Frame at which the clip begins: the middle of a left stance."""
WIDTH = 0.055
"""Half the distance between the lines the feet walk on [m]."""
TOE_OUT = 6.0

# Joint angles of a human walk over one stride from heel strike [deg] (shapes after Winter 1991).
HIP = curves.cyclic(
    "0:27  0.1:24  0.2:15  0.3:5  0.4:-4  0.5:-10  0.55:-10  0.6:-5  0.65:4  0.7:14  0.8:27  0.87:31  0.95:29"
)
KNEE = curves.cyclic(
    "0:9  0.06:15  0.15:18  0.22:13.5  0.3:9.5  0.4:9  0.46:12  0.52:21  0.6:42  0.66:57  0.72:64  0.78:60  "
    "0.85:40  0.92:18  0.96:10"
)
# Slope of sole and toes against the ground, toe up positive [deg]; keys run from heel strike to the next one's flat.
FOOT_RISES = curves.held(
    "0.33:0  0.42:-4  0.5:-19  0.55:-38  0.6:-60  0.64:-69  0.68:-66  0.73:-52  0.79:-27  0.86:0  0.93:19  "
    "0.965:25  1:20  1.04:8  1.095:0"
)
TOES = curves.held("0.53:0  0.57:-7  0.6:-19  0.65:-34  0.7:-27  0.78:-4  0.86:16  0.93:29  1:27  1.06:10  1.12:0")


def foot_slope(phase: Array) -> Array:
    """Slope of the sole [deg] at phases from 0 (heel strike) to 1.1 (flat again)."""
    return np.asarray(FOOT_RISES(phase) + np.where(phase < 0.3, FOOT_RISES(phase + 1.0), 0.0))


def toe_slope(phase: Array) -> Array:
    """Slope of the toes [deg], same phases."""
    return np.asarray(TOES(phase) + np.where(phase < 0.3, TOES(phase + 1.0), 0.0))


def _turned(slope: Array, ahead: float, up: float) -> Array:
    """An arm (ahead, up) [m] on a slope [deg], shape (..., 2)."""
    sine, cosine = np.sin(np.radians(slope)), np.cos(np.radians(slope))
    return np.stack([cosine * ahead - sine * up, sine * ahead + cosine * up], axis=-1)


def rolling_ankle(phase: Array) -> Array:
    """Place of the ankle over a footprint (ahead, up) [m] while the foot rolls, shape (..., 2); (0, ANKLE) if flat."""
    foot, toes = foot_slope(phase), toe_slope(phase)
    on_heel = np.array((person.HEEL, 0.0)) + _turned(foot, -person.HEEL, person.ANKLE)
    tip = np.array((person.BALL[0] + person.TOE, person.BALL[1] - person.TOE_DROP))
    toe_joint = tip + _turned(toes, -person.TOE, person.TOE_DROP)
    on_toes = toe_joint + _turned(foot, -person.BALL[0], person.ANKLE - person.BALL[1])
    return np.where((phase < 0.2)[..., None], on_heel, on_toes)


class Prints:
    """Footprints of one foot: where it stands in each stride, on the endless road of a looping clip."""

    def __init__(self, side: float) -> None:
        self.side = side
        self.lag = 0.0 if side > 0 else 0.5  # phase of heel strike
        k = np.arange(STRIDES)
        seed = 1 if side > 0 else 4
        around = (k + self.lag) * STRIDE
        self.ahead = 0.012 * curves.wobble(around, DURATION, seed, 1, 3)
        self.aside = 0.006 * curves.wobble(around, DURATION, seed + 1, 1, 3)
        self.turned = -side * TOE_OUT * (1.12 if side > 0 else 0.9) + 1.0 * curves.wobble(
            around, DURATION, seed + 2, 1, 3
        )

    def stride(self, time: Array) -> tuple[npt.NDArray[np.int64], Array]:
        """Number of the stride and phase in it, at times [s]."""
        x = np.asarray(time) / STRIDE + START - self.lag
        k = np.floor(x).astype(np.int64)
        return k, x - k

    def place(self, k: npt.NDArray[np.int64]) -> Array:
        """Ankle's footprint on the floor [m] of stride k, shape (..., 3)."""
        ahead = (k + self.lag - START + 0.5 * STANCE) * STRIDE * SPEED + self.ahead[k % STRIDES] - 0.035
        return np.stack([self.side * WIDTH + self.aside[k % STRIDES], 0.0 * ahead, ahead], axis=-1)

    def heading(self, k: npt.NDArray[np.int64]) -> Array:
        """Heading of stride k's footprint [deg], left positive."""
        return self.turned[k % STRIDES]

    def standing(self, k: npt.NDArray[np.int64], phase: Array) -> Array:
        """Ankle [m] in stride k while it rolls over its print, shape (..., 3)."""
        roll = rolling_ankle(phase)
        heading = np.radians(self.heading(k))
        toward = np.stack([np.sin(heading), 0.0 * heading, np.cos(heading)], axis=-1)
        return self.place(k) + roll[..., :1] * toward + roll[..., 1:] * np.array([0.0, 1.0, 0.0])

    def pressure(self, phase: Array, k: npt.NDArray[np.int64]) -> Array:
        """Where a standing foot is pressed [m]: from the heel over the sole to the toe joint."""
        along = 0.015 + 0.18 * curves.smooth_step(0.12 + 0.80 * phase / STANCE)
        heading = np.radians(self.heading(k))
        return self.place(k) + along[:, None] * np.stack([np.sin(heading), 0.0 * heading, np.cos(heading)], axis=-1)


def wished_zmp(time: Array, feet: tuple[Prints, Prints]) -> Array:
    """Zero moment point to walk over [m], shape (F, 3): it changes feet while both are down."""
    total, weight = np.zeros((len(time), 3)), np.zeros(len(time))
    both = STANCE - 0.5
    for foot in feet:
        k, phase = foot.stride(time)
        load = curves.smooth_step(phase / both) * (1.0 - curves.smooth_step((phase - 0.5) / both))
        total += load[:, None] * foot.pressure(phase, k)
        weight += load
    return total / weight[:, None]


def travel(time: Array) -> Array:
    """Steady part of the walk [m], shape (F, 3)."""
    return np.stack([0.0 * time, 0.0 * time, SPEED * time], axis=-1)


def swinging_ankle(foot: Prints, time: Array, hips: Array) -> Array:
    """Ankle path [m] (F, 3): exact on the prints, between them near what a swinging leg does below its hip."""
    k, phase = foot.stride(time)
    path = foot.standing(k, phase)
    seconds = (1.0 - STANCE) * STRIDE
    for stride in np.unique(k[phase > STANCE]):
        index = np.flatnonzero((k == stride) & (phase > STANCE))
        s = (phase[index] - STANCE) / (1.0 - STANCE)
        one = np.full(5, stride)
        leave = curves.derivatives(lambda x, one=one: foot.standing(one, STANCE + x / STRIDE), 0.0)
        reach = curves.derivatives(lambda x, one=one: foot.standing(one + 1, x / STRIDE), 0.0)
        thigh = np.radians(HIP(phase[index]))
        shank = thigh - np.radians(KNEE(phase[index]))
        wish = hips[index] + np.stack(
            [
                0.0 * s,
                -person.THIGH * np.cos(thigh) - person.SHANK * np.cos(shank),
                person.THIGH * np.sin(thigh) + person.SHANK * np.sin(shank),
            ],
            axis=-1,
        )
        # sideways the foot passes the standing leg on a nearly straight line
        wish[:, 0] = (
            foot.place(one[:1])[0, 0] * (1 - s)
            + foot.place(one[:1] + 1)[0, 0] * s
            + 0.008 * foot.side * np.sin(np.pi * s)
        )
        path[index] = curves.bridge(leave, reach, seconds, s, wish, (s * (1.0 - s)) ** 1.5)
    return path


def pelvis(time: Array) -> Array:
    """Orientation of the pelvis, (F, 4)."""
    x = 2.0 * np.pi * (time / STRIDE + START)
    yaw = -5.0 * np.cos(x - 0.15) + 0.6 * curves.wobble(time, DURATION, 11)
    tilt = 3.5 + 1.2 * np.cos(2.0 * (x - 0.3)) + 0.4 * curves.wobble(time, DURATION, 12)
    up_left = 3.6 * np.cos(x - 2.0 * np.pi * 0.13) + 0.9 * np.cos(3.0 * (x - 0.2)) + 0.3
    return turns.chain(turns.about("Y", yaw), turns.about("Z", up_left), turns.about("X", tilt))


def trunk(time: Array, hips: Array) -> dict[str, Array]:
    """Turns of spine, neck and head: the chest turns against the pelvis, the head stays calm."""
    x = 2.0 * np.pi * (time / STRIDE + START)
    chest = turns.chain(
        turns.about("Y", 4.5 * np.cos(x - 0.35) + 0.8 * curves.wobble(time, DURATION, 21)),
        turns.about("Z", -1.6 * np.cos(x - 0.9) + 0.5 * curves.wobble(time, DURATION, 22)),
        turns.about("X", 0.5 + 1.0 * np.cos(2.0 * (x - 0.75)) + 0.5 * curves.wobble(time, DURATION, 23)),
    )
    head = turns.chain(
        turns.about("Y", 0.8 * np.cos(x - 0.5) + 2.2 * curves.wobble(time, DURATION, 31, 1, 3)),
        turns.about("Z", -0.5 * np.cos(x - 1.1) + 0.8 * curves.wobble(time, DURATION, 32, 1, 3)),
        turns.about(
            "X", 4.0 - 1.3 * np.cos(2.0 * (x - 2.0 * np.pi * 0.30)) + 0.9 * curves.wobble(time, DURATION, 33, 1, 3)
        ),
    )
    bend = rotations.to_rotation_vector(turns.within(hips, chest))
    neck = rotations.to_rotation_vector(turns.within(chest, head))
    return {
        "Spine": rotations.from_rotation_vector(0.45 * bend),
        "Spine1": rotations.from_rotation_vector(0.55 * bend),
        # a neck carries the head a little forward; the head looks up again
        "Neck": turns.chain(rotations.from_rotation_vector(0.5 * neck), turns.about("X", 8.0)),
        "Head": turns.chain(turns.about("X", -8.0), rotations.from_rotation_vector(0.5 * neck)),
    }


def arm(time: Array, side: float) -> dict[str, Array]:
    """Turns of one arm, hanging and swinging against the leg of its side; elbow and hand lag behind."""
    x = 2.0 * np.pi * (time / STRIDE + START + (0.0 if side > 0 else 0.5))
    more = 1.08 if side > 0 else 0.92  # nobody swings both arms alike
    seed = 41 if side > 0 else 51
    swing = (
        -4.0
        + more * (17.0 * np.cos(x - 2.0 * np.pi * 0.52) + 1.5 * np.cos(2.0 * x - 0.6))
        + 1.2 * curves.wobble(time, DURATION, seed)
    )
    out = 9.0 + 1.5 * np.cos(x - 2.0 * np.pi * 0.05) + 0.8 * curves.wobble(time, DURATION, seed + 1)
    elbow = 24.0 + more * 11.0 * np.cos(x - 2.0 * np.pi * 0.60) + 1.5 * curves.wobble(time, DURATION, seed + 2)
    twist = -14.0 + 5.0 * np.cos(x - 2.0 * np.pi * 0.56)
    wrist = 4.0 + 6.0 * np.cos(x - 2.0 * np.pi * 0.70)
    shrug = turns.chain(turns.about("Y", -2.5 * np.cos(x - 2.0 * np.pi * 0.52)), turns.about("Z", -3.0 + 0.0 * x))
    left = {
        "Shoulder": shrug,
        "Arm": turns.chain(turns.about("X", -swing), turns.about("Z", out - 87.0), turns.about("X", twist)),
        "ForeArm": turns.chain(turns.about("Y", -elbow), turns.about("X", 12.0 + 0.0 * x)),
        "Hand": turns.chain(turns.about("Y", -wrist), turns.about("Z", -4.0 + 0.0 * x)),
    }
    return (
        {f"Left{n}": q for n, q in left.items()}
        if side > 0
        else {f"Right{n}": turns.mirror(q) for n, q in left.items()}
    )


def legs(figure: Figure, time: Array, root: Array, hips: Array, feet: tuple[Prints, Prints]) -> dict[str, Array]:
    """Turns of both legs that put the feet where they belong."""
    found: dict[str, Array] = {}
    for foot, name in zip(feet, ("Left", "Right")):
        hip = root + rotations.rotate(hips, figure.skeleton.offsets[figure.skeleton.index(f"{name}UpLeg")])
        ankle = swinging_ankle(foot, time, hip)
        k, phase = foot.stride(time)
        swing = curves.smooth_step((phase - STANCE) / (1.0 - STANCE))
        heading = foot.heading(k) * (1.0 - swing) + foot.heading(k + 1) * swing
        ahead = np.radians(0.6 * heading)
        forward = np.stack([np.sin(ahead), 0.0 * ahead, np.cos(ahead)], axis=-1)
        thigh, shank = turns.leg(hip, ankle, forward, person.THIGH, person.SHANK)
        sole = turns.chain(turns.about("Y", heading), turns.about("X", -foot_slope(phase)))
        toes = turns.chain(turns.about("Y", heading), turns.about("X", -toe_slope(phase)))
        found |= {
            f"{name}UpLeg": turns.within(hips, thigh),
            f"{name}Leg": turns.within(thigh, shank),
            f"{name}Foot": turns.within(shank, sole),
            f"{name}ToeBase": turns.within(sole, toes),
        }
    return found


def pelvis_height(figure: Figure, time: Array, root: Array, hips: Array, feet: tuple[Prints, Prints]) -> Array:
    """Height of the root [m], (F,), with which the standing knees bend as a walker's, as near as a smooth curve can.

    Gauss–Newton on a Fourier series of four waves a stride.
    """
    k = np.arange(1, 4 * STRIDES + 1)[None]
    angle = 2.0 * np.pi * k * time[:, None] / DURATION
    basis = np.concatenate([np.ones((len(time), 1)), np.cos(angle), np.sin(angle)], axis=1)
    c = np.zeros(basis.shape[1])
    c[0] = 0.91
    for _ in range(6):
        y = basis @ c
        rows = [1e-3 * np.diag(np.concatenate([[0.0], np.tile(k[0] / STRIDES, 2) ** 2])) * 8.0]
        miss = [-rows[0] @ c]
        for foot, name in zip(feet, ("Left", "Right")):
            at = np.stack([root[:, 0], y, root[:, 2]], axis=-1)
            hip = at + rotations.rotate(hips, figure.skeleton.offsets[figure.skeleton.index(f"{name}UpLeg")])
            stride, phase = foot.stride(time)
            reach = hip - foot.standing(stride, phase)
            distance = np.linalg.norm(reach, axis=1)
            far = person.THIGH + person.SHANK - 1e-4
            bend = turns.knee_bend(np.minimum(distance, far), person.THIGH, person.SHANK)
            slope = -np.minimum(distance, far) / (person.THIGH * person.SHANK * np.sin(bend)) * reach[:, 1] / distance
            over = np.maximum(distance - far, 0.0)
            wish = np.radians(KNEE(phase))
            # a foot about to leave is no longer asked to hold the body up
            trust = np.where(phase < STANCE, 1.0 - 0.5 * curves.smooth_step((phase - 0.45) / 0.15), 0.0)
            rows.append((trust * slope)[:, None] * basis)
            miss.append(trust * (wish - bend - over * slope))
        step = np.linalg.lstsq(np.concatenate(rows), np.concatenate(miss), rcond=None)[0]
        c += np.clip(step, -0.05, 0.05)
    return basis @ c


def walk() -> tuple[Figure, Array, Array, int]:
    """Figure, translations (F, J, 3) [m], rotations (F, J, 4) and rate [1/s]; the last frame closes the loop."""
    figure = person.person()
    count = STRIDE_FRAMES * STRIDES
    time = np.arange(count) / FPS
    feet = (Prints(1.0), Prints(-1.0))
    hips = pelvis(time)
    turned = {"Hips": hips} | trunk(time, hips) | arm(time, 1.0) | arm(time, -1.0)
    steady = travel(time)
    goal = wished_zmp(time, feet) - steady
    goal[:, 2] = goal[:, 2].mean() + 0.8 * (goal[:, 2] - goal[:, 2].mean())
    com = curves.pendulum(goal, DURATION, 0.92, GRAVITY)
    root = com + steady
    root[:, 1] = 0.91
    for again in range(8):
        root[:, 1] = pelvis_height(figure, time, root, hips, feet)
        translations, local = pose(figure, root, turned | legs(figure, time, root, hips, feet))
        masses, paths = particles(figure, translations, local)
        miss = com - (np.einsum("p,fpx->fx", masses, paths) - steady)
        if again > 3:  # near enough to ask for the zero moment point of the whole body, swinging limbs included
            acceleration = curves.periodic_derivative(paths - steady[:, None], DURATION, 2)
            off = goal - zero_moment_point(masses, paths, acceleration) + steady
            miss = 0.5 * curves.pendulum(off, DURATION, 0.92, GRAVITY)
        # a pelvis travels calmly: what is faster than three and a half waves a stride is left to the zero moment point
        miss[:, 1] = 0.0
        root = root + curves.calm(miss, DURATION, 3.5 / STRIDE)
    root[:, 1] = pelvis_height(figure, time, root, hips, feet)
    translations, local = pose(figure, root, turned | legs(figure, time, root, hips, feet))
    # begin in the middle of a stride, end one frame after the loop with the first pose, carried on by the travel
    index = np.arange(FIRST, FIRST + count + 1)
    translations, local = translations[index % count], local[index % count]
    translations[:, 0, 2] += TRAVEL * (index // count) - SPEED * FIRST / FPS
    return figure, translations, rotations.continuous(local), FPS
