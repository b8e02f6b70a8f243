"""A trot: paws in diagonal pairs that stay where they land, a springing trunk, and a tail that follows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.skeleton import world_pose
from poise.core.units import GRAVITY
from samples import curves, dog, turns
from samples.figure import Figure, pose

Array = npt.NDArray[np.float64]

FPS = 60
STRIDE_FRAMES, STRIDES = 42, 7
STRIDE = STRIDE_FRAMES / FPS
DURATION = STRIDE * STRIDES
SPEED = 1.45
TRAVEL = SPEED * DURATION
STANCE = 0.53
"""Share of a stride a paw is on the ground: the pairs overlap a little, there is no flight."""
START = 0.02
LAGS = {"LeftFore": 0.0, "RightHind": 0.015, "RightFore": 0.5, "LeftHind": 0.515}
"""Phase at which each paw lands: diagonal pairs, the forepaw a moment before its partner."""
UNDER = {"Fore": 0.69, "Hind": -0.04}
"""Place of a print at mid stance, ahead of the hips [m]."""
WIDTH = {"Fore": 0.075, "Hind": 0.078}
LIFT = {"Fore": 0.11, "Hind": 0.09}

# Slope of the bone over the paw (metacarpus, metatarsus) over a stride, forward positive, from landing at 0 [deg].
LOWER = {
    "Fore": curves.cyclic("0:24  0.12:20  0.28:12  0.42:-8  0.53:-34  0.66:-74  0.79:-48  0.92:14"),
    "Hind": curves.cyclic("0:32  0.12:24  0.28:8  0.42:-16  0.53:-42  0.65:-58  0.78:-30  0.92:28"),
}
# Slope of the toes, up positive; flat while they stand [deg].
TOES = {
    "Fore": curves.held("0.53:0  0.65:-30  0.75:-40  0.86:-8  0.94:6  1:0"),
    "Hind": curves.held("0.53:0  0.65:-26  0.75:-32  0.86:-6  0.94:6  1:0"),
}
# Swing of the shoulder blade about its slope at rest [deg].
BLADE = curves.cyclic("0:15  0.25:2  0.5:-17  0.65:-15  0.8:3  0.92:15")


def _phase(name: str, time: Array) -> tuple[npt.NDArray[np.int64], Array]:
    """Number of the stride of a leg and phase in it."""
    x = time / STRIDE + START - LAGS[name]
    k = np.floor(x).astype(np.int64)
    return k, x - k


def _print(name: str, k: npt.NDArray[np.int64]) -> Array:
    """Place of a paw's joint in stride k [m], shape (..., 3)."""
    side, kind = (1.0 if name.startswith("Left") else -1.0), name.removeprefix("Left").removeprefix("Right")
    seed = 3 + 5 * sorted(LAGS).index(name)
    around = (np.arange(STRIDES) + LAGS[name]) * STRIDE
    ahead = 0.010 * curves.wobble(around, DURATION, seed, 1, 3)[k % STRIDES]
    aside = 0.006 * curves.wobble(around, DURATION, seed + 1, 1, 3)[k % STRIDES]
    middle = (k + LAGS[name] - START + 0.5 * STANCE) * STRIDE * SPEED
    return np.stack([side * WIDTH[kind] + aside, dog.PAW + 0.0 * ahead, UNDER[kind] + middle + ahead], axis=-1)


def paw(name: str, time: Array) -> Array:
    """Path of a paw's joint [m], (F, 3): still on its print, then over to the next one."""
    kind = name.removeprefix("Left").removeprefix("Right")
    k, phase = _phase(name, time)
    s = np.clip((phase - STANCE) / (1.0 - STANCE), 0.0, 1.0)
    # the paw is picked up before it is carried forward, and set down from above and ahead
    over = curves.smooth_step(s**0.85)[:, None]
    lift = LIFT[kind] * 64.0 * s**3 * (1.0 - s) ** 3 * (1.0 + 0.9 * (0.5 - s))
    return _print(name, k) * (1.0 - over) + _print(name, k + 1) * over + lift[:, None] * np.array([0.0, 1.0, 0.0])


def trunk(time: Array) -> dict[str, Array]:
    """World orientations of pelvis and chest, and turns of neck, head and tail."""
    x = 2.0 * np.pi * (time / STRIDE + START)  # 0: left forepaw and right hind paw land
    near = lambda seed, size: size * curves.wobble(time, DURATION, seed, 1, 4)  # noqa: E731
    pelvis = turns.chain(
        turns.about("Y", 4.0 * np.cos(x - 0.3) + near(1, 0.5)),
        turns.about("Z", -2.2 * np.cos(x - 1.3) + near(2, 0.4)),
        turns.about("X", 1.0 + 1.4 * np.cos(2.0 * x - 0.4) + near(3, 0.3)),
    )
    chest = turns.chain(
        turns.about("Y", -3.0 * np.cos(x - 0.3) + near(4, 0.5)),
        turns.about("Z", 1.6 * np.cos(x - 1.3) + near(5, 0.4)),
        turns.about("X", -1.0 - 1.0 * np.cos(2.0 * x - 1.2) + near(6, 0.3)),
    )
    head = turns.chain(
        turns.about("Y", -0.8 * np.cos(x - 0.9) + near(7, 4.0)),
        turns.about("Z", 0.7 * np.cos(x - 1.5) + near(8, 1.2)),
        turns.about("X", 4.0 + 1.8 * np.cos(2.0 * x - 2.2) + near(9, 1.5)),
    )
    bend = rotations.to_rotation_vector(turns.within(pelvis, chest))
    neck = rotations.to_rotation_vector(turns.within(chest, head))
    found = {
        "Hips": pelvis,
        "Spine": rotations.from_rotation_vector(0.5 * bend),
        "Spine1": rotations.from_rotation_vector(0.5 * bend),
        "Neck": rotations.from_rotation_vector(
            0.55 * neck + np.radians([3.0, 0.0, 0.0]) * np.cos(2.0 * x - 1.6)[:, None]
        ),
        "Head": rotations.from_rotation_vector(
            0.45 * neck - np.radians([3.0, 0.0, 0.0]) * np.cos(2.0 * x - 1.6)[:, None]
        ),
    }
    for place, name in enumerate(("Tail", "Tail1", "Tail2")):
        late = 0.7 * place
        wag = (7.0 + 3.0 * place) * np.cos(x - 1.0 - late) + near(20, 5.0)
        bob = 4.0 * np.cos(2.0 * x - 0.8 - late) + near(24, 3.0)
        found[name] = turns.chain(turns.about("Y", wag), turns.about("X", bob))
    return found


def legs(figure: Figure, time: Array, root: Array, turned: dict[str, Array]) -> dict[str, Array]:
    """Turns of all legs that put the paws where they belong."""
    translations, local = pose(figure, root, turned)
    positions, orientations = world_pose(figure.skeleton, translations, local)
    found: dict[str, Array] = {}
    forward = np.array([0.0, 0.0, 1.0])
    # a bone that slopes at rest: turn it back to hanging before it is turned to where it belongs
    upright = {bone: turns.about("X", slope) for bone, slope in dog.REST.items()}
    for name in LAGS:
        side, kind = ("Left" if name.startswith("Left") else "Right"), name.removeprefix("Left").removeprefix("Right")
        _, phase = _phase(name, time)
        lower = turns.about("X", -LOWER[kind](phase))
        toes = turns.about("X", -TOES[kind](phase))
        over = dog.METACARPUS if kind == "Fore" else dog.METATARSUS
        ankle = paw(name, time) - rotations.rotate(lower, np.array([0.0, -over, 0.0]))
        if kind == "Fore":
            chest = orientations[:, figure.skeleton.index("Spine1")]
            blade = turns.about("X", -BLADE(phase))
            found[f"{side}Shoulder"] = blade
            start = positions[:, figure.skeleton.index(f"{side}Shoulder")]
            offset = figure.skeleton.offsets[figure.skeleton.index(f"{side}Arm")]
            above = turns.chain(chest, blade)
            upper, middle = turns.leg(
                start + rotations.rotate(above, offset), ankle, forward, dog.HUMERUS, dog.RADIUS, -1.0
            )
            joints, bones = ("Arm", "ForeArm", "Hand"), ("Arm", "ForeArm", "Hand")
        else:
            above = orientations[:, 0]
            start = positions[:, figure.skeleton.index(f"{side}UpLeg")]
            upper, middle = turns.leg(start, ankle, forward, dog.FEMUR, dog.TIBIA)
            joints, bones = ("UpLeg", "Leg", "Foot"), ("UpLeg", "Leg", "Foot")
        for joint, bone, hanging in zip(joints, bones, (upper, middle, lower)):
            world = turns.chain(hanging, upright[bone])
            found[f"{side}{joint}"] = turns.within(above, world)
            above = world
        found[f"{side}{'Paw' if kind == 'Fore' else 'ToeBase'}"] = turns.within(above, toes)
    return found


def balance(time: Array) -> Array:
    """Sideways path of the trunk [m], (F,), whose zero moment point runs along the diagonals that stand."""
    lean, weight = np.zeros_like(time), np.zeros_like(time)
    middle = SPEED * time + 0.5 * (UNDER["Fore"] + UNDER["Hind"]) + 0.03
    for fore, hind in (("LeftFore", "RightHind"), ("RightFore", "LeftHind")):
        k, phase = _phase(fore, time)
        front, back = _print(fore, k), _print(hind, k)
        load = curves.smooth_step(phase / 0.06) * (1.0 - curves.smooth_step((phase - STANCE + 0.03) / 0.06))
        along = (middle - back[:, 2]) / (front[:, 2] - back[:, 2])
        lean += load * (back[:, 0] + along * (front[:, 0] - back[:, 0]))
        weight += load
    return curves.pendulum(lean / np.maximum(weight, 1e-3), DURATION, 0.68, GRAVITY)


def quadruped() -> tuple[Figure, Array, Array, int]:
    """Figure, translations (F, J, 3) [m], rotations (F, J, 4) and rate [1/s]; the last frame closes the loop."""
    figure = dog.dog()
    count = STRIDE_FRAMES * STRIDES
    time = np.arange(count + 1) / FPS
    x = 2.0 * np.pi * (time / STRIDE + START)
    sway = balance(time[:-1])
    # as on springs: lowest in the middle of a stance, twice a stride
    spring = 2.0 * (x - np.pi * STANCE)
    height = figure.skeleton.offsets[0, 1] - 0.024 - 0.015 * np.cos(spring) + 0.003 * curves.wobble(time, DURATION, 40)
    ahead = SPEED * time + 0.006 * np.sin(spring) + 0.006 * curves.wobble(time, DURATION, 41, 1, 3)
    root = np.stack([np.append(sway, sway[0]), height, ahead], axis=-1)
    turned = trunk(time)
    translations, local = pose(figure, root, turned | legs(figure, time, root, turned))
    return figure, translations, rotations.continuous(local), FPS
