"""Starts that are refused: a figure inside a thing, which would be thrown out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from poise.errors import InvalidValue
from poise.methods.goals.faces import Faces
from poise.synthesis.contact import FLESH

if TYPE_CHECKING:
    from poise.synthesis.world import World

Array = npt.NDArray[np.float64]

DEEP = 0.005
"""A figure may begin this deep in a thing [m]: it rises out of it unseen."""


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
    for k in np.flatnonzero(world.overlaps > DEEP + FLESH).tolist():
        roots = [int(world.model.tree_root[int(b[k])]) for b in (world.capsules.first_body, world.capsules.second_body)]
        balls = [root in world.ball_roots for root in roots]
        if sum(balls) == 1:
            body = int((world.capsules.second_body if balls[0] else world.capsules.first_body)[k])
            figure = next(f for f in world.figures if f.body.root == roots[1 if balls[0] else 0])
            ball = world.scene.balls[world.ball_roots.index(roots[0 if balls[0] else 1])].name
            name = figure.character.bodies[body - figure.body.root].name
            raise _inside(figure.name, name, ball, float(world.overlaps[k]) - FLESH)


def _inside(figure: str, body: str, thing: str, deep: float) -> InvalidValue:
    who = "The figure" if figure == "figure" else f"Figure {figure!r}"
    return InvalidValue(
        f"{who} begins inside {thing!r}: its {body} is {1000.0 * deep:.0f} mm deep. Move the thing away from where "
        "the figure starts, or start elsewhere."
    )
