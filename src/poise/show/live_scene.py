"""What a live page shows of a figure: hands, forces, support; and of a running filter: ghost, ground, a few numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from poise.analysis.support import hulls
from poise.body.character import Character
from poise.body.posing import body_poses, joint_deviations
from poise.core.units import GRAVITY
from poise.filter.filter import Machine
from poise.filter.hand import Hand
from poise.filter.solving import StepRecord
from poise.physics.state import State
from poise.show.look import ARROW_COLOR
from poise.show.pack_overlays import force_scale
from poise.show.physics import COM_COLOR, FORCE_COLOR, LAYERS, LEAST_FORCE, ROW_COLOR, SIDE_COLORS, SUPPORT_COLOR
from poise.show.protocol import Moment
from poise.show.result_scene import SIMULATED_COLOR
from poise.show.scene import GHOST, SOLID, Overlay, Plot, Points, Polygon, Row, Scene, Series, Track, Vectors
from poise.terrain import Terrain

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

MOST_ARROWS = 6
"""Hands and pushes that are drawn at once."""

MOST_CORNERS = 12
"""Corners of the support polygon."""

LEAST_PRESS = 1.0
"""A contact point that pushes with less than this is no corner of the support [N]."""


def figure_marks(character: Character) -> tuple[Overlay, ...]:
    """What is drawn over any live figure, still hidden: center of mass, support, forces, hands.

    `figure_numbers` fills it.

    Args:
        character: The figure.
    """
    none = np.full((1, max(len(_supports(character)), 1), 3), np.nan)
    hands, size = np.full((1, MOST_ARROWS, 3), np.nan), character.leg_scale
    scale = force_scale(character.leg_length, character.mass)
    return (
        Points("center of mass", "com", COM_COLOR, none[:, :1], 0.07 * size),
        Points("its projection", "com", COM_COLOR, none[:, :1], 0.10 * size, "ring"),
        Polygon("support polygon", "support", SUPPORT_COLOR, np.full((1, MOST_CORNERS, 3), np.nan)),
        Vectors("contact force", "forces", FORCE_COLOR, none, none, "N", 0.5 * scale, 0.03 * size),
        Vectors("hand", "pushes", ARROW_COLOR, hands, hands, "N", scale, 0.04 * size),
    )


def figure_numbers(
    character: Character, state: State, touching: Index, forces: Array, hands: Sequence[Hand], *, below: float
) -> tuple[Array, ...]:
    """The arrays of a state for the overlays of `figure_marks`, in their order.

    Args:
        character: The figure.
        state: It, as it is now or was in the last step.
        touching: Indices of its points that touch, shape (N,).
        forces: What pushes them [N], shape (N, 3).
        hands: Those that hold something.
        below: Height of the ground under the center of mass [m].
    """
    com = state.com(state.model.roots[0]).copy()
    projection = np.array([*com[:2], below])
    return (
        com[None], projection[None], _polygon(state, touching, forces),
        _forces(character, state, touching, forces), _arrows(hands),
    )  # fmt: skip


OTHERS = "rest of the body"
"""Row of what touches the ground and is no leg."""


def contact_rows(character: Character) -> tuple[Row, ...]:
    """A row of the timeline for each leg, and one for all else that touches the ground; `who_touches` fills them."""
    colors = [next((c for s, c in SIDE_COLORS.items() if leg.startswith(s)), ROW_COLOR) for leg in _legs(character)]
    rows = [Row(leg.replace("_", " "), color) for leg, color in zip(_legs(character), colors)]
    return (*rows, Row(OTHERS, ROW_COLOR))


def who_touches(character: Character, touching: Index) -> tuple[bool, ...]:
    """For each row of `contact_rows` whether any of its points touches the ground now."""
    legs, limbs = _legs(character), _limbs(character)
    found = {limbs[int(p)] for p in touching}
    return (*(leg in found for leg in legs), bool(found - set(legs)))


def _legs(character: Character) -> tuple[str, ...]:
    return tuple(limb.name for limb in character.limbs if limb.kind == "leg")


def clip_scene(character: Character, q: Array, terrain: Terrain, *, title: str) -> Scene:
    """A clip's live scene before its first state; `clip_moment` fills it.

    Args:
        character: The figure.
        q: A pose, shape (nq,).
        terrain: The ground as it lies.
        title: One line.
    """
    positions, orientations = body_poses(character, q[None])
    return Scene(
        np.zeros(1),
        (
            Track("simulated", character, positions, orientations, SOLID),
            Track("original", character, positions, orientations, GHOST),
        ),
        terrain,
        title=title,
        overlays=figure_marks(character),
        plots=(
            Plot("Change of the pose", "deg", (Series("simulated", SIMULATED_COLOR, np.zeros(1)),)),
            Plot("Outside help at the hips: force", "N", (Series("simulated", SIMULATED_COLOR, np.zeros(1)),)),
            Plot("Force of your hand", "N", (Series("hand", SIMULATED_COLOR, np.zeros(1)),)),
            Plot("Height of the center of mass", "m", (Series("height", COM_COLOR, np.zeros(1)),)),
        ),
        layers=LAYERS,
        timeline=contact_rows(character),
    )


def clip_moment(machine: Machine, reference_q: Array, hands: Sequence[Hand], *, time: float, is_paused: bool) -> Moment:
    """The state of a running filter, in the layout of `clip_scene`; what touches is that of its last step."""
    character, last = machine.character, machine.last
    positions, orientations = (a[0] for a in body_poses(character, machine.q[None]))
    ghost = tuple(a[0] for a in body_poses(character, reference_q[None]))
    com = machine.state.com(machine.model.roots[0])
    below = float(machine.terrain.heights(com[None, :2], machine.time)[0])
    deviation = joint_deviations(character, reference_q[None], machine.q[None])[0]
    touching, forces, root = np.zeros(0, dtype=np.int64), np.zeros((0, 3)), float("nan")
    if last is not None:
        touching, forces, root = last.step.contacts.points, last.result.forces, _root_force(last)
    return Moment(
        time,
        ((positions, orientations), (ghost[0], ghost[1])),
        figure_numbers(character, machine.state, touching, forces, hands, below=below),
        (float(np.sqrt(np.mean(deviation**2))), root, _pull(hands), float(com[2] - machine.floor)),
        is_paused,
        who_touches(character, touching),
    )


def _pull(hands: Sequence[Hand]) -> float:
    """Size of all that hands pull with [N]."""
    return float(sum(np.linalg.norm(hand.force) for hand in hands))


def _root_force(last: StepRecord) -> float:
    return float(np.linalg.norm((last.result.torque[:6] - last.reference.torque[:6])[:3]))


def _supports(character: Character) -> tuple[str, ...]:
    """The limb of each contact point, once each."""
    return tuple(dict.fromkeys(_limbs(character)))


def _limbs(character: Character) -> list[str]:
    by_body = {b: limb.name for limb in character.limbs for b in limb.bodies}
    return [by_body.get(p.body, character.bodies[p.body].name) for p in character.contact_points]


def _forces(character: Character, state: State, touching: Index, forces: Array) -> Array:
    """One arrow a limb: middle of its pressure and the whole force, shape (N, 6)."""
    names, limbs = _supports(character), _limbs(character)
    arrows = np.full((max(len(names), 1), 6), np.nan)
    size = np.linalg.norm(forces, axis=1)
    least = LEAST_FORCE * character.mass * GRAVITY
    for k, name in enumerate(names):
        own = [i for i, p in enumerate(touching) if limbs[int(p)] == name]
        total = float(size[own].sum())
        if own and total > least:
            arrows[k, :3] = (size[own] / total) @ state.points[touching[own]]
            arrows[k, 3:] = forces[own].sum(axis=0)
    return arrows


def _polygon(state: State, touching: Index, forces: Array) -> Array:
    """Hull of the points that press, shape (MOST_CORNERS, 3)."""
    corners = np.full((MOST_CORNERS, 3), np.nan)
    flags = np.zeros((1, state.model.point_count), dtype=np.bool_)
    flags[0, touching[np.linalg.norm(forces, axis=1) > LEAST_PRESS]] = True
    points = np.ascontiguousarray(state.points[None])
    hull, counts = hulls(points, flags)
    count = int(counts[0])
    if count < 3:
        return corners
    places = np.minimum(np.arange(MOST_CORNERS) * (1 if count <= MOST_CORNERS else count / MOST_CORNERS), count - 1)
    return points[0, hull[0, places.astype(np.int64)]]


def _arrows(hands: Sequence[Hand]) -> Array:
    arrows = np.full((MOST_ARROWS, 6), np.nan)
    for k, hand in enumerate(hands[:MOST_ARROWS]):
        arrows[k, :3], arrows[k, 3:] = hand.place, hand.force
    return arrows
