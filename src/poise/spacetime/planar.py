"""Planar figures of links for space-time problems: their mechanics, their contacts, their muscles.

Coordinates are q = (x, z of the center of mass; angle of each link against the x axis, counterclockwise seen from −y).
A step obeys the discrete Euler–Lagrange equation of L_d(q_k, q_{k+1}) = h L((q_k + q_{k+1}) / 2, (q_{k+1} − q_k) / h):

    D₂ L_d(q_{k−1}, q_k) + D₁ L_d(q_k, q_{k+1}) + h (Sᵀ u_k + J(q_k)ᵀ λ_k) = 0

For a point mass this is the lecture's second difference. In these coordinates it keeps linear and angular momentum to
the last digit whatever h is, so no optimizer can gain height or spin from a coarse grid.

Source: Junge, Marsden and Ober-Blöbaum 2005, Discrete Mechanics and Optimal Control.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from poise.body.character import Body, Capsule, Character
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.skeleton import EndSite, Skeleton
from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.spacetime.problem import Basis, FunctionOfTime, Points, Problem, casadi

Complex = npt.NDArray[np.complex128]


@dataclass(frozen=True)
class Link:
    """One rigid link, in its own frame along x.

    Attributes:
        name: Of the link.
        parent: Name of the link it hangs on; empty for the first.
        mass: [kg].
        length: From its joint to its far end [m].
        angle: How it stands: against the x axis of the world [rad].
        at: Where it hangs on its parent, in the parent's frame [m].
        com: Center of mass in its own frame [m]; the middle by default.
        inertia: About that [kg m²]; that of a rod by default.
        bend: Least and largest angle against its parent [rad].
        radius: Half its thickness as drawn [m].
        drawn: Capsules it is drawn as, in its frame: from (x, z), to (x, z), radius [m]; one along it by default.
        aside: Where it is drawn across the plane [m]: two places for two limbs that move as one.
    """

    name: str
    parent: str
    mass: float
    length: float
    angle: float
    at: tuple[float, float] = (0.0, 0.0)
    com: tuple[float, float] | None = None
    inertia: float | None = None
    bend: tuple[float, float] = (-np.inf, np.inf)
    radius: float = 0.04
    drawn: tuple[tuple[float, float, float, float, float], ...] = ()
    aside: tuple[float, ...] = (0.0,)


@dataclass(frozen=True)
class Stance:
    """Points of one link that stay where they are from one knot to another and push within a friction cone.

    Attributes:
        link: Whose points.
        points: In its frame [m]; the first is held along x and z, others only in height.
        first, last: Knots.
        place: Where the first point stands, (x, z) [m]; x may be None for the solver to choose.
        releases: It ends with a foot that leaves the ground: without force in its last knot, or it could kick off by a
            blow.
        blow: Largest blow with which it begins, as a change of the whole figure's velocity [m/s].
    """

    link: str
    points: tuple[tuple[float, float], ...]
    first: int
    last: int
    place: tuple[float | None, float]
    releases: bool = False
    blow: float = 0.0


@dataclass(frozen=True)
class Planar:
    """A tree of links in a vertical plane, parents first."""

    name: str
    links: tuple[Link, ...]

    def __post_init__(self) -> None:
        known = [""]
        for link in self.links:
            if link.parent not in known or (not link.parent) != (link is self.links[0]):
                raise InvalidValue(f"Link {link.name!r} hangs on {link.parent!r}; links before it: {known[1:]}.")
            if not (link.mass > 0.0 and link.length > 0.0):
                raise InvalidValue(f"Link {link.name!r} needs a positive mass and length.")
            known.append(link.name)

    @property
    def size(self) -> int:
        """Coordinates."""
        return 2 + len(self.links)

    @cached_property
    def mass(self) -> float:
        """[kg]."""
        return sum(link.mass for link in self.links)

    @cached_property
    def parents(self) -> list[int]:
        names = [link.name for link in self.links]
        return [names.index(link.parent) if link.parent else -1 for link in self.links]

    @cached_property
    def rest(self) -> Array:
        """Angles of the standing pose (B,)."""
        return np.array([link.angle for link in self.links])

    def index(self, link: str) -> int:
        """Of a link by name."""
        return [one.name for one in self.links].index(link)

    @cached_property
    def _origins(self) -> Complex:
        """Joints from the first one: row · e^{iθ}, (B, B)."""
        rows = np.zeros((len(self.links), len(self.links)), dtype=np.complex128)
        for k, (link, parent) in enumerate(zip(self.links, self.parents)):
            if parent >= 0:
                rows[k] = rows[parent]
                rows[k, parent] += complex(*link.at)
        return rows

    @cached_property
    def _coms(self) -> Complex:
        """Centers of mass of the links from the first joint, (B, B)."""
        rows = self._origins.copy()
        for k, link in enumerate(self.links):
            rows[k, k] += complex(*(link.com or (0.5 * link.length, 0.0)))
        return rows

    @cached_property
    def _inertias(self) -> Array:
        rods = [link.mass * (link.length**2 / 12.0 + link.radius**2 / 4.0) for link in self.links]
        return np.array([rod if link.inertia is None else link.inertia for rod, link in zip(rods, self.links)])

    def row(self, link: str, at: tuple[float, float]) -> Complex:
        """A point of a link from the whole center of mass: row · e^{iθ}, (B,)."""
        masses = np.array([one.mass for one in self.links])
        k = self.index(link)
        row = self._origins[k] - masses @ self._coms / self.mass
        row[k] += complex(*at)
        return row

    def point(self, q: Any, link: str, at: tuple[float, float]) -> Any:
        """Place of a point of a link in the world [m], (2, K), for q (size, K) of CasADi or NumPy."""
        row, is_array = self.row(link, at), isinstance(q, np.ndarray)
        if is_array:
            z = q[0] + 1j * q[1] + row @ np.exp(1j * q[2:])
            return np.stack([z.real, z.imag])
        ca = casadi()
        real, imaginary = ca.DM(row.real).T, ca.DM(row.imag).T
        c, s = ca.cos(q[2:, :]), ca.sin(q[2:, :])
        return ca.vertcat(q[0, :] + real @ c - imaginary @ s, q[1, :] + imaginary @ c + real @ s)

    def angular_momentum(self, q: Array, step: float) -> Array:
        """About the center of mass between knots, as the mechanics keeps it [kg m²/s], (K − 1,), for q (size, K)."""
        ca = casadi()
        a, b = ca.SX.sym("a", self.size), ca.SX.sym("b", self.size)
        leaving = ca.Function("p", [a, b], [-ca.sum1(ca.gradient(self._lagrangian(a, b, step), a)[2:])])
        return np.array(leaving.map(q.shape[1] - 1)(q[:, :-1], q[:, 1:])).ravel()

    def joints(self, q: Array) -> tuple[Array, Array]:
        """Coordinates (N, size) as poses of `skeleton`: translations (N, B, 3) [m] and rotations (N, B, 4)."""
        first = q[:, 0] + 1j * q[:, 1] + np.exp(1j * q[:, 2:]) @ self.row(self.links[0].name, (0.0, 0.0))
        parents = np.array(self.parents)
        angles = q[:, 2:] - np.where(parents >= 0, q[:, 2 + np.maximum(parents, 0)], 0.0)
        moved = np.tile(self.skeleton.offsets, (len(q), 1, 1))
        moved[:, 0] = np.stack([first.real, np.zeros(len(q)), first.imag], axis=1)
        return moved, rotations.from_rotation_vector(angles[..., None] * np.array([0.0, -1.0, 0.0]))

    @cached_property
    def skeleton(self) -> Skeleton:
        """A joint for each link, in the plane y = 0."""
        bodies = len(self.links)
        ends = [k for k in range(bodies) if k not in self.parents]
        return Skeleton(
            tuple(link.name.replace(" ", "_") for link in self.links),
            np.array(self.parents),
            np.array([[link.at[0], 0.0, link.at[1]] for link in self.links]),
            np.tile(rotations.IDENTITY, (bodies, 1)),
            tuple(EndSite(k, np.array([self.links[k].length, 0.0, 0.0])) for k in ends),
        )

    @cached_property
    def character(self) -> Character:
        """Bodies on `skeleton`, to draw and to save."""
        bodies = []
        for k, link in enumerate(self.links):
            x, z = link.com or (0.5 * link.length, 0.0)
            drawn = link.drawn or ((0.0, 0.0, link.length, 0.0, link.radius),)
            capsules = tuple(
                Capsule(np.array([a, y, b]), np.array([c, y, d]), r) for a, b, c, d, r in drawn for y in link.aside
            )
            bodies.append(
                Body(
                    self.skeleton.names[k],
                    k,
                    self.parents[k],
                    self.skeleton.offsets[k] if k else np.zeros(3),
                    "hinge" if k else "free",
                    link.mass,
                    np.array([x, 0.0, z]),
                    self._inertias[k] * np.eye(3),
                    capsules,
                    np.array([0.0, -1.0, 0.0]) if k else None,
                )
            )
        return Character(self.skeleton, tuple(bodies), (), (), {}, sum(link.length for link in self.links) / 3.0)

    def _lagrangian(self, a: Any, b: Any, step: float) -> Any:
        """L_d of two neighbors."""
        ca = casadi()
        q, v = 0.5 * (a + b), (b - a) / step
        c, s, w = ca.cos(q[2:]), ca.sin(q[2:]), v[2:]
        rows = self._coms - np.array([one.mass for one in self.links]) @ self._coms / self.mass
        kinetic = 0.5 * self.mass * (v[0] ** 2 + v[1] ** 2)
        for k, link in enumerate(self.links):
            # d/dt of row · e^{iθ} is row · iω e^{iθ}
            x = -ca.dot(ca.DM(rows[k].real), w * s) - ca.dot(ca.DM(rows[k].imag), w * c)
            z = ca.dot(ca.DM(rows[k].real), w * c) - ca.dot(ca.DM(rows[k].imag), w * s)
            kinetic += 0.5 * link.mass * (x**2 + z**2) + 0.5 * self._inertias[k] * w[k] ** 2
        return step * (kinetic - self.mass * GRAVITY * q[1])

    def standing(self, place: tuple[float, float], link: str, at: tuple[float, float]) -> Array:
        """Coordinates of the standing pose with a point of a link at a place (x, z) [m]."""
        row = self.row(link, at)
        z = complex(*place) - row @ np.exp(1j * self.rest)
        return np.concatenate([[z.real, z.imag], self.rest])


@dataclass(frozen=True)
class Moving:
    """The functions of a planar figure in a problem, as CasADi expressions.

    Attributes:
        q: Coordinates (size, N).
        torque: Of each link on the next [N m], (B − 1, N).
        forces: Of the world on each stance's points, (2 · points, knots of the stance), in the stances' order [N].
    """

    q: FunctionOfTime
    torque: Any
    forces: tuple[Any, ...]


@dataclass(frozen=True)
class Muscles:
    """What bends the joints of a figure.

    Attributes:
        stiffness: k of muscles u = k (q_m − q) [N m/rad], whose set points q_m are unknown; 0 for free torques.
        basis: How set points are made of their unknowns; points if not given.
        torque_limit: Largest torque of a joint [N m].
    """

    stiffness: float = 0.0
    basis: Basis | None = None
    torque_limit: float = np.inf


@dataclass(frozen=True)
class Ground:
    """Level ground under a figure.

    Attributes:
        height: [m].
        friction: Coulomb coefficient.
        force_limit: Largest force of a stance against it, in weights, apart from blows.
        clear: Points (link, place in its frame) that stay above it.
    """

    height: float = 0.0
    friction: float = 0.8
    force_limit: float = 5.0
    clear: Sequence[tuple[str, tuple[float, float]]] = ()


FREE, LEVEL = Muscles(), Ground()


def move(
    problem: Problem,
    figure: Planar,
    stances: Sequence[Stance],
    guess: Array,
    *,
    muscles: Muscles = FREE,
    ground: Ground = LEVEL,
    is_resting: bool = True,
    cycle: Sequence[int] | None = None,
) -> Moving:
    """Put a planar figure into a problem: its motion obeys mechanics, joints, contacts, and stays above the ground.

    Args:
        problem: To add to.
        figure: Who moves.
        stances: What stands, when.
        guess: Coordinates to start from, (N, size).
        muscles: What bends the joints; free torques without a limit if not given.
        ground: What it stands on.
        is_resting: The figure rests at both ends.
        cycle: For a cycle: the link that each link becomes in the next one, as left becomes right; the last knot is
            then the first one, so renamed and moved on along x.
    """
    ca, n, h, bodies = casadi(), problem.knots, problem.step, len(figure.links)
    q = problem.function("q", figure.size, guess=guess)
    a, b = ca.SX.sym("a", figure.size), ca.SX.sym("b", figure.size)
    lagrangian = figure._lagrangian(a, b, h)
    pair = ca.Function("pair", [a, b], [-ca.gradient(lagrangian, a), ca.gradient(lagrangian, b)])
    leaving, arriving = pair.map(n - 1)(q.value[:, :-1], q.value[:, 1:])
    bends = np.zeros((bodies - 1, bodies))
    for k, parent in enumerate(figure.parents[1:], start=1):
        bends[k - 1, [k, parent]] = 1.0, -1.0
    bend = ca.DM(bends) @ q.value[2:, :]
    if muscles.stiffness > 0.0:
        rest = bends @ figure.rest
        set_points = problem.function("set_point", bodies - 1, muscles.basis, guess=rest)
        torque = muscles.stiffness * (set_points.value - bend)
    else:
        torque = problem.function("torque", bodies - 1, Points()).value
    impulses = ca.vertcat(ca.MX(2, n), ca.DM(bends).T @ torque)
    forces = []
    for stance in stances:
        forces.append(_stand(problem, figure, stance, q.value, ground))
        count = stance.last - stance.first + 1
        at = ca.SX.sym("q", figure.size)
        push = ca.SX.sym("push", 2 * len(stance.points))
        points = ca.vertcat(*(figure.point(at, stance.link, point) for point in stance.points))
        pushed = ca.Function("pushed", [at, push], [ca.jtimes(points, at, push, True)]).map(count)
        one = pushed(q.value[:, stance.first : stance.last + 1], forces[-1])
        impulses += ca.horzcat(ca.MX(figure.size, stance.first), one, ca.MX(figure.size, n - 1 - stance.last))
    problem.output("torque", torque)
    for k, (stance, force) in enumerate(zip(stances, forces)):
        before, after = ca.MX(force.shape[0], stance.first), ca.MX(force.shape[0], n - 1 - stance.last)
        problem.output(f"force {k}", ca.horzcat(before, force, after))
    scale = 1.0 / (figure.mass * GRAVITY * h)
    problem.require("mechanics", scale * (arriving[:, :-1] - leaving[:, 1:] + h * impulses[:, 1:-1]))
    half = ca.horzcat(-leaving[:, 0] + 0.5 * h * impulses[:, 0], arriving[:, -1] + 0.5 * h * impulses[:, -1])
    if cycle is not None:
        renamed = [0, 1, *(2 + np.asarray(cycle)).tolist()]
        problem.require("cycle", q.value[1:, -1] - q.value[renamed, 0][1:])
        problem.require("mechanics", scale * (half[:, 1] + half[renamed, 0]))
    elif is_resting:
        problem.require("rest", scale * half)
    low, high = (np.array([link.bend[k] for link in figure.links[1:]]) for k in (0, 1))
    limited = np.flatnonzero(np.isfinite(low) | np.isfinite(high)).tolist()
    if limited:
        spread = [np.tile(side[limited], n) for side in (low, high)]
        problem.require("joint range", ca.vec(bend[limited, :]), *spread)
    if np.isfinite(muscles.torque_limit):
        problem.require("torque limit", torque, -muscles.torque_limit, muscles.torque_limit)
    for link, point in ground.clear:
        problem.require("above ground", figure.point(q.value, link, point)[1, :], ground.height - 1e-6, np.inf)
    return Moving(q, torque, tuple(forces))


def _stand(problem: Problem, figure: Planar, stance: Stance, q: Any, ground: Ground) -> Any:
    """Hold a stance's points in their place; their forces (2 · points, knots)."""
    ca = casadi()
    knots = range(stance.first, stance.last + 1)
    part = q[:, stance.first : stance.last + 1]
    for k, point in enumerate(stance.points):
        place = figure.point(part, stance.link, point)
        if k == 0 and stance.place[0] is not None:
            problem.require("foothold", place[0, :], float(stance.place[0]))
        elif k == 0:
            problem.require("foothold", place[0, 1:] - place[0, 0])
        problem.require("foothold", place[1, :], stance.place[1])
    weight = figure.mass * GRAVITY
    up = problem.numbers(len(stance.points), len(knots), guess=1.0 / len(stance.points), scale=weight)
    along = problem.numbers(1, len(knots), guess=0.0, scale=weight)
    problem.require("pushes", up / weight, 0.0, np.inf)
    limit = np.full(len(knots), ground.force_limit)
    limit[0] += stance.blow / (GRAVITY * problem.step)
    if stance.releases:
        limit[-1] = 0.0
    problem.require("force limit", ca.sum1(up) / weight, -np.inf, limit)
    reach = ground.friction * ca.sum1(up)
    problem.require("friction cone", ca.vertcat(reach - along, reach + along) / weight, 0.0, np.inf)
    rows = [along, up[0, :]]
    for k in range(1, len(stance.points)):
        rows += [ca.MX(1, len(knots)), up[k, :]]
    return ca.vertcat(*rows)
