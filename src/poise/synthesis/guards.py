"""Checks of a run: figures that would begin inside things, steps too fast to follow, and why a run ended."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poise.body.character import Character
from poise.core.errors import InvalidValue, PoiseError, SimulationDiverged
from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.filter.forces import Force, Push
from poise.goals.observation import BallState
from poise.goals.surroundings import EDGE, Faces, Scene
from poise.physics import State
from poise.physics.from_character import model_of
from poise.synthesis.contacts import OVERLAPPING
from poise.synthesis.figure import Figure
from poise.synthesis.records import Cast, Hit

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


def require_outside(cast: Cast, state: State, faces: Faces) -> None:
    """Refuse a start at which figures are inside walls, boxes, the floor or balls.

    Args:
        cast: Who takes part.
        state: Complete, at the start.
        faces: The surfaces then.

    Raises:
        InvalidValue: naming the figure, its body, the thing and how deep.
    """
    ground, surfaces = faces.below(state.centers[: len(cast.radii)], cast.radii), cast.scene.surfaces
    for figure in cast.figures:
        first, gaps = figure.points.start, ground.gaps[figure.points]
        if gaps.min(initial=0.0) < -DEEP:
            k = int(gaps.argmin())
            thing = surfaces[int(ground.surface[first + k])].name
            raise _inside(*cast.point_name(first + k), thing, -float(gaps[k]))
        depths = _enclosed(faces, state.centers[figure.points])
        if depths.max(initial=0.0) > 0.0:
            nearest = np.where(depths > 0.0, depths, np.inf).min(axis=0)
            k = int(np.where(np.isfinite(nearest), nearest, 0.0).argmax())
            s = int(np.where(depths[:, k] > 0.0, depths[:, k], np.inf).argmin())
            raise _inside(*cast.point_name(first + k), surfaces[s].name, float(depths[s, k]))
    for k in np.flatnonzero(cast.overlaps > DEEP + OVERLAPPING).tolist():
        ends = [int(b[k]) for b in (cast.capsules.first_body, cast.capsules.second_body)]
        balls = [int(cast.model.tree_root[end]) in cast.ball_roots for end in ends]
        if sum(balls) == 1:
            body, ball = ends if balls[1] else ends[::-1]
            raise _inside(*cast.body_name(body), cast.body_name(ball)[0], float(cast.overlaps[k]) - OVERLAPPING)


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


MOST_TURN = 10.0
"""A joint that turns further than this within one step cannot be followed [rad]; a wrist in a hard fall gets to 5."""
NEAR, BLOW = 1.5, 5.0
"""A ball is named that is nearer than this to a figure's middle [m] and could throw it off by so much [m/s]."""
RECENT, HARD = 0.5, 3.0
"""A push is named where it ended no longer ago than this [s] and was as large as this, in parts of body weight."""


def require_followed(figures: Sequence[Figure], v: Array, time: float, dt: float) -> None:
    """Refuse velocities after a step (nv,) at which a figure is thrown about faster than steps can follow.

    Raises:
        SimulationDiverged: naming the figure, the body and its speed.
    """
    for figure in figures:
        speeds = np.abs(v[figure.dofs][6:])
        if speeds.max(initial=0.0) * dt < MOST_TURN:  # also true of no number at all, which the next lines name
            continue
        dof = int(speeds.argmax()) + 6
        body = max(k for k, first in enumerate(figure.character.v_addresses) if first <= dof)
        raise SimulationDiverged(
            f"{figure.character.bodies[body].name} of {figure.name!r} would turn by {np.degrees(speeds[dof - 6]):.3g}° "
            f"per second, faster than steps of {dt:g} s can follow",
            frame=round(time / dt), reason="too fast",
        )  # fmt: skip


def why_it_ended(error: PoiseError, time: float, pushes: Sequence[tuple[Figure, Force]], blows: Sequence[str]) -> str:
    """Why a run ended in the step after a time [s]: what was seen, and what to change; without a full stop.

    Args:
        error: What ended it.
        time: Of the last step [s].
        pushes: All so far, each with whom it acts on.
        blows: As `blows_of`.
    """
    seen = str(error) if isinstance(error, SimulationDiverged) else "no forces were found that carry the figures on"
    hard = []
    for figure, push in pushes:
        if not (isinstance(push, Push) and 0.0 <= time - push.start <= push.duration + RECENT):
            continue
        size = float(np.linalg.norm(push.force))
        if size > HARD * figure.character.mass * GRAVITY:
            hard.append(f"the push of {size:.3g} N on {push.body} at {push.start:g} s")
    less = " and ".join(["push less hard"] * bool(hard) + ["throw something lighter or slower"] * bool(blows))
    cause = " and ".join([*hard, *blows])
    cure = f"{cause} came just before: {less}" if cause else "change what the figure is asked to do"
    return f"at {time:.2f} s {seen}; {cure}"


def blows_of(
    figures: Sequence[Figure], state: State, balls: Sequence[BallState], hits: Sequence[Hit], time: float, dt: float
) -> list[str]:
    """Balls that struck a figure just now, or are about to, and would throw it about."""
    lightest = min(f.character.mass for f in figures)
    recent = {h.ball for h in hits if time - h.until <= RECENT}
    middles = [state.com(f.body.root) for f in figures]
    out = []
    for now in balls:
        ball, speed = now.ball, float(np.linalg.norm(now.velocity))
        thrown = float(np.linalg.norm(ball.velocity))
        near = min(float(np.linalg.norm(now.place - m)) for m in middles) < NEAR + speed * dt
        if (ball.name in recent or near) and ball.mass * max(speed, thrown) > BLOW * lightest:
            out.append(f"{ball.name!r}, {ball.mass:g} kg thrown at {thrown:.3g} m/s,")
    return out
