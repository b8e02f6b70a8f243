"""What a live page shows of a running filter: figure, ghost, ground, hands, forces, and a few numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poise.analysis.kernels import hulls
from poise.character.character import Character
from poise.record.look import ARROW_COLOR
from poise.record.pack_overlays import force_scale
from poise.record.physics import COM_COLOR, FORCE_COLOR, LAYERS, LEAST_FORCE, SUPPORT_COLOR
from poise.record.result_scene import SIMULATED_COLOR
from poise.scene import GHOST, SOLID, Control, Plot, Points, Polygon, Scene, Series, Track, Vectors
from poise.sim.filter import Machine, StepRecord
from poise.sim.hand import Hand
from poise.sim.report import body_poses, joint_deviations
from poise.spatial import rotations
from poise.studio.protocol import Moment
from poise.terrain import Terrain
from poise.units import GRAVITY, HUMAN_LEG

Array = npt.NDArray[np.float64]

MOST_ARROWS = 6
"""Hands and pushes that are drawn at once."""

MOST_CORNERS = 12
"""Corners of the support polygon."""

LEAST_PRESS = 1.0
"""A contact point that pushes with less than this is no corner of the support [N]."""

CONTROLS = (
    Control("slope", "Slope", value=0.0, unit="°", low=-25.0, high=25.0, step=0.5),
    Control("roughness", "Bumps", value=0.0, unit="m", low=0.0, high=0.5, step=0.01),
    Control("physicality", "Physicality, power of ten", value=0.0, unit="", low=-2.0, high=2.0, step=0.1),
)
"""What the page can set; physicality is the power of ten of the knob."""


def live_scene(
    character: Character, q: Array, terrain: Terrain, *, title: str, controls: tuple[Control, ...] = CONTROLS
) -> Scene:
    """The scene before its first state; `live_moment` fills it.

    Args:
        character: The figure.
        q: A pose, shape (nq,).
        terrain: The ground as it lies.
        title: One line.
        controls: What can be set.
    """
    positions, orientations = body_poses(character, q[None])
    supports = _supports(character)
    none, size = np.full((1, max(len(supports), 1), 3), np.nan), character.leg_length / HUMAN_LEG
    hands = np.full((1, MOST_ARROWS, 3), np.nan)
    scale = force_scale(character.leg_length, character.mass)
    return Scene(
        np.zeros(1),
        (
            Track("simulated", character, positions, orientations, SOLID),
            Track("reference", character, positions, orientations, GHOST),
        ),
        terrain,
        title=title,
        overlays=(
            Points("center of mass", "com", COM_COLOR, none[:, :1], 0.07 * size),
            Points("its projection", "com", COM_COLOR, none[:, :1], 0.10 * size, "ring"),
            Polygon("support polygon", "support", SUPPORT_COLOR, np.full((1, MOST_CORNERS, 3), np.nan)),
            Vectors("contact force", "forces", FORCE_COLOR, none, none, "N", 0.5 * scale, 0.03 * size),
            Vectors("hand", "pushes", ARROW_COLOR, hands, hands, "N", scale, 0.04 * size),
        ),
        plots=(
            Plot("Deviation, all joints (rms)", "deg", (Series("simulated", SIMULATED_COLOR, np.zeros(1)),)),
            Plot("Root force beyond the clip's own", "N", (Series("simulated", SIMULATED_COLOR, np.zeros(1)),)),
            Plot("Center of mass, height", "m", (Series("height", COM_COLOR, np.zeros(1)),)),
        ),
        layers=LAYERS,
        controls=controls,
    )


def live_moment(machine: Machine, reference_q: Array, hands: list[Hand], *, time: float, is_paused: bool) -> Moment:
    """The state of a running filter, in the layout of `live_scene`; what touches is that of its last step."""
    character, last = machine.character, machine.last
    positions, orientations = (a[0] for a in body_poses(character, machine.q[None]))
    ghost = tuple(a[0] for a in body_poses(character, reference_q[None]))
    state = machine.state
    com = state.com(machine.model.roots[0]).copy()
    below = np.array([*com[:2], float(machine.terrain.heights(com[None, :2], machine.time)[0])])
    deviation = joint_deviations(character, reference_q[None], machine.q[None])[0]
    root = float("nan") if last is None else _root_force(last)
    return Moment(
        time,
        ((positions, orientations), (ghost[0], ghost[1])),
        (com[None], below[None], _polygon(machine), _forces(machine), _arrows(hands, positions, orientations)),
        (float(np.sqrt(np.mean(deviation**2))), root, float(com[2] - machine.floor)),
        is_paused,
    )


def _root_force(last: StepRecord) -> float:
    return float(np.linalg.norm((last.result.torque[:6] - last.reference.torque[:6])[:3]))


def _supports(character: Character) -> tuple[str, ...]:
    """The limb of each contact point, once each."""
    return tuple(dict.fromkeys(_limbs(character)))


def _limbs(character: Character) -> list[str]:
    by_body = {b: limb.name for limb in character.limbs for b in limb.bodies}
    return [by_body.get(p.body, character.bodies[p.body].name) for p in character.contact_points]


def _forces(machine: Machine) -> Array:
    """One arrow a limb: middle of its pressure and the whole force, shape (N, 6)."""
    character, last = machine.character, machine.last
    names = _supports(character)
    arrows = np.full((max(len(names), 1), 6), np.nan)
    if last is None:
        return arrows
    limbs, points = _limbs(character), last.step.contacts.points
    size = np.linalg.norm(last.result.forces, axis=1)
    least = LEAST_FORCE * character.mass * GRAVITY
    for k, name in enumerate(names):
        own = [i for i, p in enumerate(points) if limbs[int(p)] == name]
        total = float(size[own].sum())
        if own and total > least:
            arrows[k, :3] = (size[own] / total) @ machine.state.points[points[own]]
            arrows[k, 3:] = last.result.forces[own].sum(axis=0)
    return arrows


def _polygon(machine: Machine) -> Array:
    """Hull of the points that press, shape (MOST_CORNERS, 3)."""
    corners = np.full((MOST_CORNERS, 3), np.nan)
    last = machine.last
    if last is None:
        return corners
    pressing = last.step.contacts.points[np.linalg.norm(last.result.forces, axis=1) > LEAST_PRESS]
    flags = np.zeros((1, machine.model.point_count), dtype=np.bool_)
    flags[0, pressing] = True
    points = np.ascontiguousarray(machine.state.points[None])
    hull, counts = hulls(points, flags)
    count = int(counts[0])
    if count < 3:
        return corners
    places = np.minimum(np.arange(MOST_CORNERS) * (1 if count <= MOST_CORNERS else count / MOST_CORNERS), count - 1)
    return points[0, hull[0, places.astype(np.int64)]]


def _arrows(hands: list[Hand], positions: Array, orientations: Array) -> Array:
    arrows = np.full((MOST_ARROWS, 6), np.nan)
    for k, hand in enumerate(hands[:MOST_ARROWS]):
        held = positions[hand.index] + rotations.rotate(orientations[hand.index], hand.point)
        arrows[k, :3], arrows[k, 3:] = held, hand.force
    return arrows
