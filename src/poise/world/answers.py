"""How figures respond to contact forces: what changes in their accelerations, and what is softened in their lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from poise.body.character import Character
from poise.core import rotations
from poise.core.typing import Array, Flags, Index
from poise.core.units import GRAVITY
from poise.filter.forces import Force
from poise.physics.mujoco_bodies import Bodies
from poise.physics.touching import Touches
from poise.step import Equal, Objective, Step
from poise.step.quantities import BodyAngularAcceleration, ComAcceleration, JointTorque, PointAcceleration
from poise.step.solve import response, solve_step
from poise.step.step import checked_points
from poise.world.contacts import Impulses, label_islands, solve_contacts
from poise.world.drivers import Figure, Lists

SOFT_GOAL, LARGEST = 30.0, 40.0
"""While bodies touch a figure, its center of mass follows its path with this weight, times the mass, and asks for no
more than this acceleration, times the scale [m/s²]: a wall stops it."""
SOFT_ENDS = 0.0003
"""Factor on the weight of end effectors of limbs that bodies touch: the place of a foot is then the pose's."""
SOFT = 0.2
"""How firmly limbs that bodies touch keep to the clip: a factor on what they track; it divides what torques weigh."""
RECOVERED, SLOP, FASTEST = 0.2, 0.001, 0.5
"""What overlaps by more than the slop [m] comes apart by this share of it a step, at most so fast [m/s]."""
HARDEST, ON_HEAD, ON_LIMB = 2.0, 6.0, 30.0
"""Largest force of one contact on a figure, in body weights: flesh gives. What hits harder goes in and comes out over
the next steps. On a head or neck: in weights of head and neck, since a neck passes on less than a trunk or a straight
limb. On a limb: no more than so many of its own weights; a person's limbs take all, the tiny arms of a rex do not."""
PoseAt = Callable[[float], tuple[Array, Array]]
"""Place [m] (3,) and orientation (4,) of a body at a time [s]."""
LEAST = 1e-3
"""A figure counts as no heavier at a contact than what its bodies weigh, over this."""

ROUNDS = 20
"""A figure's answer changes where one of its points begins or ends to push on the ground: contacts are solved so often
at most, until its velocity at them is the expected one. In the first round no contact moves against the force that
pushes it (`Touched.steady`). Then figures answer as they do, which converges faster, until a round is no better."""


@dataclass(frozen=True)
class Bump(Force):
    """The force of a body on a figure in the last step: its goal and limbs feel it; the step itself solves for it.

    Attributes:
        index: Body of the character.
        place: Where it acts, in the body's frame [m], shape (3,).
        vector: The force [N], shape (3,).
    """

    kind: ClassVar[str] = "bump"
    is_solved_for: ClassVar[bool] = True
    body: str
    start: float
    duration: float
    index: int
    place: Array
    vector: Array

    @property
    def offset(self) -> Array | None:
        return self.place

    def is_on(self, time: float) -> bool:
        del time
        return True

    def is_over(self, time: float) -> bool:
        del time
        return False

    def body_of(self, character: Character) -> int:
        del character
        return self.index

    def force_at(self, place: Array, velocity: Array, time: float, mass: float) -> Array:
        del place, velocity, time, mass
        return self.vector


def felt_by(bodies: Bodies, number: int, touches: Touches, p: Array, *, ground: bool, dt: float) -> list[Force]:
    """What bodies and other figures do to a figure: one force for each of its bodies that something pushes.

    Args:
        bodies: Where they are now.
        number: Of the figure.
        touches: Contacts, K of them.
        p: Their impulses [N s], shape (K, 3).
        ground: Whether contacts with what never moves are left out.
        dt: Length of the step [s].
    """
    k, side = np.nonzero(bodies.figure_of[touches.trees] == number)
    if not len(k):
        return []
    mine = touches.trees[k, 1 - side] >= (0 if ground else -1)
    k, side = k[mine], side[mine]
    sign = np.where(side == 0, -1.0, 1.0)[:, None]
    forces, parts = sign * touches.forces(p)[k] / dt, touches.bodies[k, side]
    out: list[Force] = []
    for body in np.unique(parts).tolist():
        own = parts == body
        sizes = np.linalg.norm(forces[own], axis=1)
        if sizes.any():
            offset = bodies.offset(body, sizes @ touches.places[k][own] / sizes.sum())
            out.append(Bump("", 0.0, dt, body - bodies.figure_body[number], offset, forces[own].sum(axis=0)))
    return out


def parting(gaps: Array, apart: Array, *, dt: float, scale: float) -> Array:
    """Relative velocities that count as zero where bodies touch or are joined [m/s], shape (K, 3).

    Args:
        gaps: Of the contacts [m], shape (K,).
        apart: How far joined points, the last of the contacts, are from each other [m], shape (J, 3).
        dt: Length of the step [s].
        scale: Of lengths and speeds.
    """
    out = np.zeros((len(gaps), 3))
    deep = np.maximum(-gaps - SLOP * scale, 0.0)
    out[:, 0] = np.where(gaps > 0.0, -gaps / dt, np.minimum(RECOVERED * deep / dt, FASTEST * scale))
    if len(apart):
        out[-len(apart) :] = -np.clip(RECOVERED * apart / dt, -FASTEST, FASTEST)
    return out


def largest_forces(bodies: Bodies, figures: Sequence[Figure]) -> Array:
    """Largest normal force of one contact that each body takes [N], shape (B + 1,); the last is what never moves.

    Bodies of the scene, and figures that meet the ground as they meet bodies, take any force.
    """
    most = np.full(len(bodies.names) + 1, np.inf)
    for figure, first in zip(figures, bodies.figure_body):
        if not figure.meets_ground:
            character = figure.character
            unit = GRAVITY * character.leg_scale
            most[first : first + len(character.bodies)] = HARDEST * unit * character.mass
            for limb in character.limbs:
                if limb.kind != "spine" and limb.bodies:
                    parts = character.carried(limb.bodies[0])
                    mass = sum(character.bodies[part].mass for part in parts)
                    own = (ON_HEAD if limb.kind == "neck" else ON_LIMB) * mass
                    most[first + np.array(parts)] = unit * min(own, HARDEST * character.mass)
    return most


def velocities_of(pose: PoseAt, time: float, dt: float, points: Array) -> tuple[Array, Array]:
    """Velocities of points (n, 3) on a body with a given motion [m/s], shape (n, 3), and its spin [rad/s], shape (3,).

    They are means over the step that begins at a time [s].
    """
    (place, turn), (after, later) = pose(time), pose(time + dt)
    spin = rotations.to_rotation_vector(rotations.multiply(later, rotations.conjugate(turn))) / dt
    return (after - place) / dt + np.cross(spin, points - place), spin


def surface_velocities(touches: Touches, carried: Sequence[tuple[int, PoseAt]], time: float, dt: float) -> Array:
    """What bodies with a given motion add to the relative velocities that count as zero [m/s], shape (K, 3).

    Args:
        touches: Contacts, K of them.
        carried: Such bodies, and their place and orientation at a time [s].
        time, dt: Of the step [s].
    """
    out = np.zeros((len(touches.gaps), 3))
    for body, pose in carried:
        k, side = np.nonzero(touches.bodies == body)
        if len(k):
            moves, _ = velocities_of(pose, time, dt, touches.places[k])
            sign = np.where(side == 0, 1.0, -1.0)[:, None]
            out[k] += sign * np.einsum("kij,kj->ki", touches.frames[k], moves)
    return out


def wanted_velocities(
    touches: Touches,
    count: int,
    limits: Array,
    apart: Array,
    carried: Sequence[tuple[int, PoseAt]] | None,
    time: float,
    dt: float,
    scale: float,
) -> Array:
    """Relative velocities that count as zero [m/s], shape (K, 3).

    Args:
        touches, count: Contacts; the first so many are of bodies, the others are joint limits.
        limits: Least velocities of the joint limits [rad/s], shape (K − count,).
        apart, dt, scale: See `parting`.
        carried, time: See `surface_velocities`; None while bodies come to rest, when nothing is carried.
    """
    wanted = np.zeros((len(touches.gaps), 3))
    wanted[:count] = parting(touches.gaps[:count], apart, dt=dt, scale=scale)
    wanted[count:, 0] = limits
    return wanted if carried is None else wanted + surface_velocities(touches, carried, time, dt)


class Touched(NamedTuple):
    """A figure that something touches in a step.

    Attributes:
        figure: Its number.
        lists: What it wants.
        dofs: Its own in the world.
        contacts, side: Where it takes part, and on which side.
        jacobian: Their rows on its dofs, shape (m, nv).
        is_plain: Its answer changes with a force by the same matrix whatever the force is.
    """

    figure: int
    lists: Lists
    dofs: slice
    contacts: Index
    side: Index
    jacobian: Array
    is_plain: bool

    def answer(self, along: Array, known: Answer | None = None) -> Answer:
        """How it answers forces along the rows; as it did before where the same contacts and bounds act."""
        step, objectives, constraints, _ = self.lists
        now = Step(step.state, step.contacts, dt=step.dt, external=step.external + self.jacobian.T @ along)
        result = solve_step(now, objectives, constraints, costs=False)
        pushing = result.coefficients > 0.0
        if (
            known is not None
            and np.array_equal(pushing, known.pushing)
            and np.array_equal(result.bounds_active, known.bounds)
        ):
            return known._replace(a=result.a)
        return Answer(result.a, response(now, result, self.jacobian), pushing, result.bounds_active)

    def steady(self, answer: Answer) -> Array:
        """The change of an answer, with what keeps contacts from moving against the force that pushes them, (nv, m)."""
        return answer.change if self.is_plain else monotone(answer.change, self.jacobian, self.lists.step.state.M)


class Answer(NamedTuple):
    """How a figure answers a force along the rows of its contacts.

    Attributes:
        a: Its accelerations with that force, shape (nv,).
        change: Per unit of further force, shape (nv, m).
        pushing, bounds: The contact coefficients and the bounds for which this holds.
    """

    a: Array
    change: Array
    pushing: Flags
    bounds: Flags


def with_limits(touches: Touches, rows: Array, tree: int) -> Touches:
    """Contacts, and joint limits of a tree beside them: each keeps the speed along its row (L, nv) above a least one.

    A limit is a contact without friction whose other side never moves.
    """
    count, width = len(rows), max(touches.rows.shape[-1], rows.shape[1])
    own = np.zeros((len(touches.gaps), 2, 3, width))
    own[..., : touches.rows.shape[-1]] = touches.rows
    more = np.zeros((count, 2, 3, width))
    more[:, 0, 0, : rows.shape[1]] = rows
    apart = np.tile(1e6 + np.arange(count, dtype=np.float64)[:, None], (1, 3))  # so that none is near another
    return Touches(
        np.concatenate([touches.places, apart]),
        np.concatenate([touches.frames, np.zeros((count, 3, 3))]),
        np.concatenate([touches.gaps, np.zeros(count)]),
        np.concatenate([touches.friction, np.zeros(count)]),
        np.concatenate([touches.bodies, np.tile(np.array([-1, -2 - tree]), (count, 1))]),
        np.concatenate([touches.trees, np.tile(np.array([tree, -1]), (count, 1))]),
        np.concatenate([own, more]),
    )


def monotone(change: Array, jacobian: Array, M: Array) -> Array:
    """B Jᵀ + s M⁻¹ Jᵀ with the least s ≥ 0 that lets no contact move against the force that pushes it.

    The response of a figure is not symmetric, and now and then a push moves it toward the push; then no impulse could
    separate it from what it runs into.

    Args:
        change: B Jᵀ, shape (nv, m).
        jacobian: J, shape (m, nv).
        M: Mass matrix, shape (nv, nv).
    """
    own = jacobian @ change
    free = np.linalg.solve(M, jacobian.T)
    freely = jacobian @ free
    freely += 1e-9 * np.trace(freely) * np.eye(len(own))
    even = 0.5 * (own + own.T)
    try:
        np.linalg.cholesky(even - LEAST * freely + 1e-8 * np.trace(freely) * np.eye(len(own)))
        return change
    except np.linalg.LinAlgError:
        pass
    inverse = np.linalg.inv(np.linalg.cholesky(freely))
    least = float(np.linalg.eigvalsh(inverse @ even @ inverse.T)[0])
    return change + (LEAST - least) * free if least < LEAST else change


def yielding(lists: Lists, touched: Index, *, mass: float, largest: float) -> Lists:
    """The lists of a figure that bodies touch: terms that are exact without contact are softened.

    The path of the center of mass becomes an objective that asks for no more than the largest acceleration: as a
    constraint it would push through walls with whatever force that takes. End effectors that touch, or whose neighbors
    do, weigh less: a foot that weighs tons crushes what lies below it.

    Args:
        lists: The step and its lists.
        touched: Bodies of the model that touch something.
        mass: Of the figure [kg].
        largest: Of the acceleration of the center of mass [m/s²].
    """
    step, objectives, constraints = lists.step, lists.objectives, lists.constraints
    model = step.state.model
    chain = np.zeros(model.body_count, dtype=np.bool_)
    for body in touched.tolist():
        while model.parents[body] > 0:  # up to the root, which stays
            chain[body] = True
            body = int(model.parents[body])
    chain |= chain[model.parents]  # what hangs on it
    chain[list(model.roots)] = chain[0] = False
    share = np.where(chain, SOFT, 1.0)
    soft, kept = [], []
    for objective in objectives:
        quantity = objective.quantity
        if isinstance(quantity, PointAcceleration):
            points = model.point_indices(checked_points(quantity.points, objective.name), objective.name)
            own = np.repeat(share[model.point_body[points]], quantity.axes.shape[1])
            objective = replace(objective, weight=np.where(own < 1.0, SOFT_ENDS, 1.0) * np.asarray(objective.weight))
        elif isinstance(quantity, BodyAngularAcceleration) and quantity.body is None:
            objective = replace(objective, weight=np.repeat(share[1:], 3) * np.asarray(objective.weight))
        elif isinstance(quantity, JointTorque):
            dofs = slice(*quantity.dofs)
            objective = replace(objective, weight=np.asarray(objective.weight) / share[model.dof_body[dofs]])
        soft.append(objective)
    for constraint in constraints:
        if isinstance(constraint, Equal) and isinstance(constraint.quantity, ComAcceleration):
            target = np.asarray(constraint.target, dtype=np.float64)
            size = float(np.linalg.norm(target))
            part = min(1.0, largest / size) if size > 0.0 else 1.0
            soft.append(Objective(constraint.quantity, part * target, SOFT_GOAL * mass, constraint.label))
        else:
            kept.append(constraint)
    return lists._replace(objectives=soft, constraints=kept)


def agree(
    bodies: Bodies,
    figures: Sequence[Figure],
    lists: Sequence[Lists | None],
    touches: Touches,
    answers: Array,
    start: Array,
    free: Array,
    wanted: Array,
    largest: Array,
    *,
    dt: float,
    mass: float,
    close: float,
) -> tuple[Impulses, float, list[Array], list[Lists | None]]:
    """Impulses that suit all bodies and figures.

    Args:
        bodies: Where they are now.
        figures: Those among them.
        lists: What each figure wants, None for one that is moved without a step.
        touches, answers, start, free, wanted, largest: As for `solve_contacts`; those of figures are filled in.
        dt: Length of the step [s].
        mass: To which contacts are soft [kg].
        close: So well the figures' own answers are to agree with what was expected of them [m/s].

    Returns:
        The impulses, how far the figures' own answers are from what was expected of them [m/s], the generalized force
        on each figure, shapes (nv,), and the lists as they are to be solved: those of a figure that plays a clip give
        way where bodies touch it.
    """
    forces = [np.zeros(figure.character.nv) for figure in figures]
    on = np.where(
        bodies.is_figure.take(touches.trees) & (touches.trees >= 0), touches.trees, -1
    )  # their trees come first
    touched: list[Touched] = []
    answered = list(lists)
    for k, own in enumerate(lists):
        contacts, side = np.nonzero(on == k)
        if own is None or not len(contacts):
            continue
        dofs, is_plain = bodies.figure_v[k], figures[k].meets_ground
        if not is_plain:
            parts = np.unique(touches.bodies[contacts, side]) - bodies.figure_body[k] + 1
            character = figures[k].character
            own = answered[k] = yielding(own, parts, mass=character.mass, largest=LARGEST * character.leg_scale)
        jacobian = touches.rows[contacts, side, :, : dofs.stop - dofs.start].reshape(-1, dofs.stop - dofs.start)
        touched.append(Touched(k, own, dofs, contacts, side, jacobian, is_plain))
    label = np.empty(len(start), dtype=np.int64)
    label_islands(touches.trees, bodies.is_exact, label, np.empty(bodies.tree_count, dtype=np.int64))

    def solve(own: Index, v: Array, p: Array, *, is_linked: bool) -> Impulses:
        own_touches, own_answers, own_wanted, own_largest = touches, answers, wanted, largest
        if len(own) < len(start):  # else nothing needs to be copied
            own_touches = touches.of(own, bodies.width)
            own_answers = answers[own, ..., : own_touches.rows.shape[-1]]
            own_wanted, own_largest = wanted[own], largest[own]
        return solve_contacts(
            own_touches, own_answers, bodies.first, bodies.width, bodies.is_exact, v, own_wanted, p, own_largest, mass,
            [np.arange(len(own))] if is_linked else [],
        )  # fmt: skip

    p, residual, wrong = start.copy(), np.zeros(len(start)), 0.0
    loose = np.flatnonzero(label < 0)
    p[loose], v, residual[loose] = solve(loose, free, start[loose], is_linked=False)
    for island in np.unique(label[label >= 0]).tolist() if len(loose) < len(label) else ():
        own, mine = np.flatnonzero(label == island), [one for one in touched if label[one.contacts[0]] == island]
        along = [p[one.contacts].ravel() / dt for one in mine]
        known = [one.answer(force) for one, force in zip(mine, along)]
        least, apart, found, as_is = np.inf, 0.0, Impulses.none(len(own), v), False
        for _ in range(ROUNDS):
            change = [now.change if as_is else one.steady(now) for one, now in zip(mine, known)]
            without = [now.a - per @ force for now, per, force in zip(known, change, along)]
            for one, per, a in zip(mine, change, without):
                answers[one.contacts, one.side, :, : len(a)] = per.T.reshape(-1, 3, len(a))
                v[one.dofs] = one.lists.step.state.v + dt * a
            guess = solve(own, v, p[own], is_linked=True)
            if as_is and not np.isfinite(guess.p).all():
                as_is = False
                continue
            p[own] = guess.p
            along = [p[one.contacts].ravel() / dt for one in mine]
            expected = [a + per @ force for a, per, force in zip(without, change, along)]
            known = [
                now._replace(a=a) if one.is_plain else one.answer(force, now)
                for one, a, now, force in zip(mine, expected, known, along)
            ]
            off = [one.jacobian @ (now.a - other) for one, now, other in zip(mine, known, expected)]
            worst = dt * max((float(np.abs(each).max()) for each in off), default=0.0)
            total = worst + float(guess.residual.max(initial=0.0))
            as_is = total < least
            if as_is:
                least, apart, found = total, worst, guess
            if worst < close:
                break
        p[own], v, residual[own] = found
        wrong = max(wrong, apart)
    for one in touched:
        forces[one.figure] = one.jacobian.T @ p[one.contacts].ravel() / dt
    return Impulses(p, v, residual), wrong, forces, answered
