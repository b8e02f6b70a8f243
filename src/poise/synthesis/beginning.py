"""Where figures begin: on what is under their feet, and never inside a thing, which would throw them out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from poise.body.character import Character
from poise.core.errors import InvalidValue
from poise.core.typing import Array
from poise.goals.surroundings import EDGE, Faces, Scene
from poise.physics import State
from poise.physics.from_character import model_of
from poise.synthesis.contacts import FLESH

if TYPE_CHECKING:
    from poise.synthesis.world import World

DEEP = 0.005
"""A figure may begin this deep in a thing [m]: it rises out of it unseen."""

STANDS = 0.7
"""Surfaces whose normal points up by more than this can be stood on."""


def on_top(name: str, character: Character, q: Array, scene: Scene) -> Array:
    """Coordinates at the start, raised onto the crate or deck that a figure on the ground would stand in.

    Args:
        name: Of the figure.
        character: Its body.
        q: Coordinates of a figure that stands at height zero, or anywhere else, where it is left as it is (nq,).
        scene: What stands around.

    Raises:
        InvalidValue: if only a part of its feet is over the thing.
    """
    decks = [s for s in scene.surfaces if s.normal[2] > STANDS and s.origin[2] > DEEP]
    if not decks:
        return q
    model = model_of(character)
    soles = State(model).at(q, np.zeros(model.nv)).points[[p.part == "foot" for p in character.contact_points]]
    if not len(soles) or abs(float(soles[:, 2].min())) > DEEP:
        return q
    faces = Faces.at(decks, 0.0)
    local = np.einsum("sij,spj->spi", faces.frames, soles[None] - faces.origins[:, None])
    over = (np.abs(local[..., :2]) <= faces.half[:, None] + EDGE).all(axis=-1) & faces.exists[:, None]
    rises = -local[..., 2] / faces.frames[:, 2, 2, None]
    rises = np.where(over & (rises > 0.0) & (rises < character.leg_length), rises, 0.0)
    rise = float(rises.max())
    if rise <= DEEP:
        return q
    if float(rises.max(axis=0).min()) < rise - DEEP:
        deck = decks[int(rises.max(axis=1).argmax())].name
        raise InvalidValue(
            f"{_who(name)} begins with only a part of its feet over {deck!r}. Move the thing all the way under the "
            "feet, or away from them."
        )
    q = q.copy()
    q[2] += rise
    return q


def require_outside(world: World, faces: Faces, radii: Array) -> None:
    """Refuse a world whose figures begin inside walls, boxes, the floor or balls.

    Args:
        world: With a complete state.
        faces: Its surfaces then.
        radii: Of all contact points of figures and balls [m], shape (P,).

    Raises:
        InvalidValue: naming the figure, its body, the thing and how deep.
    """
    ground = faces.below(world.state.centers[: len(radii)], radii)
    for figure in world.figures:
        gaps = ground.gaps[figure.points]
        if gaps.min(initial=0.0) < -DEEP:
            k = int(gaps.argmin())
            body = figure.character.bodies[figure.character.contact_points[k].body].name
            thing = world.scene.surfaces[int(ground.surface[figure.points][k])].name
            raise _inside(figure.name, body, thing, -float(gaps[k]))
        depths = _enclosed(faces, world.state.centers[figure.points])
        if depths.max(initial=0.0) > 0.0:
            nearest = np.where(depths > 0.0, depths, np.inf).min(axis=0)
            k = int(np.where(np.isfinite(nearest), nearest, 0.0).argmax())
            s = int(np.where(depths[:, k] > 0.0, depths[:, k], np.inf).argmin())
            body = figure.character.bodies[figure.character.contact_points[k].body].name
            raise _inside(figure.name, body, world.scene.surfaces[s].name, float(depths[s, k]))
    for k in np.flatnonzero(world.overlaps > DEEP + FLESH).tolist():
        roots = [int(world.model.tree_root[int(b[k])]) for b in (world.capsules.first_body, world.capsules.second_body)]
        balls = [root in world.ball_roots for root in roots]
        if sum(balls) == 1:
            body = int((world.capsules.second_body if balls[0] else world.capsules.first_body)[k])
            figure = next(f for f in world.figures if f.body.root == roots[1 if balls[0] else 0])
            ball = world.scene.balls[world.ball_roots.index(roots[0 if balls[0] else 1])].name
            name = figure.character.bodies[body - figure.body.root].name
            raise _inside(figure.name, name, ball, float(world.overlaps[k]) - FLESH)


def _enclosed(faces: Faces, places: Array) -> Array:
    """How far behind each face places (P, 3) are that six faces of a box enclose, zero for others [m], shape (S, P).

    In its middle a box does not push: a point there is behind all its faces.
    """
    local = np.einsum("sij,spj->spi", faces.frames, places[None] - faces.origins[:, None])
    behind = (
        (np.abs(local[..., :2]) <= faces.half[:, None]).all(axis=-1) & faces.exists[:, None] & (local[..., 2] < -DEEP)
    )
    normals = faces.frames[:, 2]
    opposite = np.triu(normals @ normals.T < -0.999)
    first, second = np.nonzero(opposite)
    is_in = (behind[first] & behind[second]).sum(axis=0) >= 3
    return np.where(behind & is_in, -local[..., 2], 0.0)


def _inside(figure: str, body: str, thing: str, deep: float) -> InvalidValue:
    return InvalidValue(
        f"{_who(figure)} begins inside {thing!r}: its {body} is {1000.0 * deep:.0f} mm deep. Move the thing away from "
        "where the figure starts, or start elsewhere."
    )


def _who(figure: str) -> str:
    return "The figure" if figure == "figure" else f"Figure {figure!r}"
