"""Small characters as inline MJCF: a biped with a tail, a floating chain, two bipeds holding hands, a pendulum."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poise.physics import Model, State
from poise.physics.mujoco_backend import Point
from poise.step import Contacts

Array = npt.NDArray[np.float64]

_HEAD = '<mujoco><compiler angle="radian" inertiafromgeom="true"/><option gravity="0 0 -9.81"/><worldbody>'
_TAIL = "</worldbody></mujoco>"
_BALL = '<joint type="ball"/>'
_KNEE = '<joint type="hinge" axis="0 1 0"/>'
_ELBOW = '<joint type="hinge" axis="0 0 1"/>'
_TIP = '<joint type="hinge" axis="0 1 0.3"/>'


def _rod(start: str, end: str, radius: float, mass: float) -> str:
    return f'<geom type="capsule" fromto="{start} {end}" size="{radius}" mass="{mass}"/>'


def _leg(name: str, y: float) -> str:
    return f"""
    <body name="{name}_thigh" pos="0.01 {y} -0.05"><joint type="ball"/>{_rod("0 0 0", "0.02 0 -0.4", 0.06, 7.5)}
      <body name="{name}_shin" pos="0.02 0 -0.42">{_KNEE}{_rod("0 0 0", "-0.02 0 -0.38", 0.045, 3.4)}
        <body name="{name}_foot" pos="-0.02 0 -0.4">{_BALL}{_rod("-0.06 0 -0.03", "0.14 0 -0.03", 0.03, 1.1)}
        </body></body></body>"""


def _arm(name: str, side: float) -> str:
    hand = f"0 {0.26 * side} 0.01"
    return f"""
    <body name="{name}_arm" pos="0 {0.19 * side} 0.36">{_BALL}{_rod("0 0 0", f"0 {0.27 * side} 0", 0.04, 2.1)}
      <body name="{name}_hand" pos="0 {0.28 * side} 0">{_ELBOW}{_rod("0 0 0", hand, 0.03, 1.6)}
      </body></body>"""


def _biped(name: str = "", y: float = 0.0, trunk: float = 24.0) -> str:
    n = f"{name}_" if name else ""
    return f"""
    <body name="{n}pelvis" pos="0 {y} 0.93"><freejoint/>{_rod("0 -0.09 0", "0.01 0.09 0.02", 0.09, 9.0)}
      <body name="{n}trunk" pos="-0.01 0 0.08"><joint type="ball"/>{_rod("0 0 0", "0.01 0.005 0.42", 0.11, trunk)}
        <body name="{n}head" pos="0.01 0 0.47"><joint type="ball"/>{_rod("0 0 0.02", "0.02 0 0.14", 0.08, 5.0)}</body>
        {_arm(n + "left", 1.0)}{_arm(n + "right", -1.0)}
      </body>
      {_leg(n + "left", 0.1)}{_leg(n + "right", -0.1)}
      <body name="{n}tail" pos="-0.1 0 0"><joint type="ball"/>{_rod("0 0 0", "-0.2 0.01 -0.02", 0.03, 1.0)}
        <body name="{n}tail_tip" pos="-0.22 0 0">{_TIP}{_rod("0 0 0", "-0.2 0 0.02", 0.02, 0.5)}
        </body></body>
    </body>"""


_POINTS = (
    ("left_foot", (-0.08, 0.04, -0.055), 0.0),
    ("left_foot", (-0.08, -0.04, -0.055), 0.0),
    ("left_foot", (0.16, 0.04, -0.055), 0.0),
    ("left_foot", (0.16, -0.04, -0.055), 0.0),
    ("right_foot", (-0.08, 0.04, -0.055), 0.0),
    ("right_foot", (-0.08, -0.04, -0.055), 0.0),
    ("right_foot", (0.16, 0.04, -0.055), 0.0),
    ("right_foot", (0.16, -0.04, -0.055), 0.0),
    ("left_hand", (0.0, 0.29, 0.01), 0.0),
    ("right_hand", (0.0, -0.29, 0.01), 0.0),
    ("tail_tip", (-0.2, 0.0, 0.02), 0.02),
    ("head", (0.02, 0.0, 0.14), 0.08),
)
FOOT_POINTS, LEFT_HAND, RIGHT_HAND, TAIL, POINTS_EACH = range(8), 8, 9, 10, len(_POINTS)


def _model(xml: str, points: list[tuple[str, tuple[float, float, float], float]]) -> Model:
    bare = Model(xml)
    return Model(xml, [Point(f"{b}.{k}", bare.body(b), offset, r) for k, (b, offset, r) in enumerate(points)])


def biped() -> Model:
    """65 kg on ball hips and hinge knees, with a tail of two bodies; standing straight, feet just above z = 0."""
    return _model(_HEAD + _biped() + _TAIL, list(_POINTS))


def chain() -> Model:
    """Five rods in a row, floating: a free joint, balls and hinges; one contact point at each end."""
    inner = ""
    for k in range(4, 0, -1):
        joint = '<joint type="ball"/>' if k % 2 else '<joint type="hinge" axis="0.6 0 0.8"/>'
        rod = _rod("0 0 0", "0.3 0.01 0.02", 0.03, 1.0 + 0.3 * k)
        inner = f'<body name="rod{k}" pos="0.3 0 0">{joint}{rod}{inner}</body>'
    root = f'<body name="rod0" pos="0 0 1"><freejoint/>{_rod("0 0 0", "0.3 0 0", 0.05, 2.0)}{inner}</body>'
    return _model(_HEAD + root + _TAIL, [("rod0", (0.0, 0.0, 0.0), 0.05), ("rod4", (0.3, 0.01, 0.02), 0.03)])


def holding_hands() -> Model:
    """Two bipeds side by side, the second heavier; the left hand of the first at the right hand of the second."""
    reach = 2.0 * (0.19 + 0.28 + 0.29)
    points = [(f"{n}_{b}", o, r) for n in ("a", "b") for b, o, r in _POINTS]
    return _model(_HEAD + _biped("a") + _biped("b", reach, trunk=37.0) + _TAIL, points)


def pendulum(length: float = 0.8) -> Model:
    """A point mass of 2 kg on a massless rod, on a hinge about y."""
    body = (
        f'<body name="bob" pos="0 0 2"><joint type="hinge" axis="0 1 0"/>'
        f'<inertial pos="0 0 {-length}" mass="2" diaginertia="1e-9 1e-9 1e-9"/></body>'
    )
    return Model(_HEAD + body + _TAIL)


FIGURES = {"biped": biped, "chain": chain, "holding_hands": holding_hands}


def random_state(model: Model, seed: int, *, speed: float = 2.0) -> State:
    """A state far from rest: every joint turned at random, every dof moving."""
    rng = np.random.default_rng(seed)
    q = model.integrate(model.q_rest(), rng.normal(size=model.nv), 0.5)
    return State(model).at(q, speed * rng.normal(size=model.nv))


def random_contacts(model: Model, seed: int, count: int, *, friction: float = 0.8) -> Contacts:
    """Contacts at random points with random upward normals; a point may occur twice, some are grips."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, model.point_count, count)
    normals = rng.normal(size=(count, 3)) * 0.4 + np.array([0.0, 0.0, 1.0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    others = np.where(rng.random(count) < 0.3, (points + 1) % model.point_count, -1)
    return Contacts(points, normals, friction, others=others, grips=rng.random(count) < 0.3)


def floor_contacts(points: Array | range | list[int], friction: float = 0.8) -> Contacts:
    """These points on level ground."""
    index = np.array(list(points), dtype=np.int64)
    return Contacts(index, np.tile([0.0, 0.0, 1.0], (len(index), 1)), friction)
