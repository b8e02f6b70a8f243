"""A figure over many frames, moved by small offsets from a clip, and the six rows that its motion asks of the world.

The offsets x of a frame are a shift of the root [m], then a rotation vector of each body against its parent [rad], in
the body's own frame: the body's rotation becomes R exp(x). Everything here works on all frames at once.

A rigid body enters by its mass, its center and its second moments S = ∫ u uᵀ dm about that center. With R its
rotation as a matrix, the moment of momentum of its turning changes at the rate

    Σ a × b = (T₂₁ − T₁₂, T₀₂ − T₂₀, T₁₀ − T₀₁),   T = R̈ S Rᵀ,   a = R u, b = R̈ u,

so that the whole rate of momentum needs second differences of centers and of matrices alone: no angular velocities, no
differentials of a logarithm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from poise.analysis.momentum import BodyMotion, cross
from poise.body.character import V_SIZES, Character
from poise.core.typing import Array, Flags, Index


@dataclass(frozen=True)
class Figure:
    """The clip that offsets start from: K frames, B bodies, N offsets a frame.

    Attributes:
        times: [s], shape (K,).
        root: Place of the root body [m], shape (K, 3).
        local: Rotation of each body in its parent's frame, shape (K, B, 3, 3); of the root in the world.
        offset: Place of each body in its parent's frame [m], shape (K, B, 3); zero for the root.
        parents: Parent body, −1 for the root, shape (B,).
        masses: [kg], shape (B,).
        com: Center of mass in the body's frame [m], shape (B, 3).
        second: ∫ u uᵀ dm about it in the body's frame [kg m²], shape (B, 3, 3).
        first: First offset of each body; the root's shift comes first, so `first[0]` is 3, shape (B,).
        axes: Of hinges, in the body's frame; rows of zeros for balls, shape (B, 3).
        is_hinge: Shape (B,).
        size: N.
        point_bodies, point_offsets: Contact points, shapes (P,), (P, 3); the offset is that of the sphere's center.
    """

    times: Array
    root: Array
    local: Array
    offset: Array
    parents: Index
    masses: Array
    com: Array
    second: Array
    first: Index
    axes: Array
    is_hinge: Array
    size: int
    point_bodies: Index
    point_offsets: Array

    @classmethod
    def of(cls, character: Character, bodies: BodyMotion) -> Figure:
        """The figure of a character that moves so."""
        parents = np.array([b.parent for b in character.bodies], dtype=np.int64)
        turns, places = bodies.turns, bodies.joints
        local, offset = turns.copy(), np.zeros_like(places)
        back = np.swapaxes(turns[:, parents[1:]], -1, -2)
        local[:, 1:] = back @ turns[:, 1:]
        offset[:, 1:] = (back @ (places[:, 1:] - places[:, parents[1:]])[..., None])[..., 0]
        sizes = [V_SIZES[b.kind] for b in character.bodies]
        first = np.concatenate([[3], np.cumsum(sizes)[:-1]]).astype(np.int64)
        inertia = np.stack([b.inertia for b in character.bodies])
        second = 0.5 * np.trace(inertia, axis1=1, axis2=2)[:, None, None] * np.eye(3) - inertia
        none = np.zeros(3)
        return cls(
            bodies.times,
            places[:, 0].copy(),
            local,
            offset,
            parents,
            np.array([b.mass for b in character.bodies]),
            np.stack([b.com for b in character.bodies]),
            second,
            first,
            np.stack([none if b.axis is None or b.kind != "hinge" else b.axis for b in character.bodies]),
            np.array([b.kind == "hinge" for b in character.bodies]),
            int(sum(sizes)),
            np.array([p.body for p in character.contact_points], dtype=np.int64),
            np.array([p.offset for p in character.contact_points]).reshape(-1, 3),
        )

    @property
    def mass(self) -> float:
        """[kg]."""
        return float(self.masses.sum())

    def columns(self, body: int) -> slice:
        """Offsets of a body's turn."""
        return slice(self.first[body], self.first[body] + (1 if self.is_hinge[body] else 3))

    def pose(self, x: Array) -> Pose:
        """Where the bodies are with offsets x (K, N)."""
        frames, count = self.local.shape[:2]
        turns, places = np.empty((frames, count, 3, 3)), np.empty((frames, count, 3))
        vectors = np.empty((frames, count, 3))
        for b in range(count):
            vector = x[:, self.columns(b)]
            vectors[:, b] = vector * self.axes[b] if self.is_hinge[b] else vector
        own = self.local @ exp_matrix(vectors)
        for b, p in enumerate(self.parents):
            if p < 0:
                turns[:, b], places[:, b] = own[:, b], self.root + x[:, :3]
            else:
                turns[:, b] = turns[:, p] @ own[:, b]
                places[:, b] = places[:, p] + (turns[:, p] @ self.offset[:, b, :, None])[..., 0]
        moves = turns @ right_jacobian(vectors)
        centers = places + (turns @ self.com[:, :, None])[..., 0]
        points = places[:, self.point_bodies] + (turns[:, self.point_bodies] @ self.point_offsets[..., None])[..., 0]
        return Pose(turns, places, centers, np.einsum("b,kbi->ki", self.masses / self.mass, centers), points, moves)

    def pull_back(self, pose: Pose, frames: slice, turning: Array, moving: Array) -> Array:
        """Rows on the offsets from rows on bodies: Σ_b (turning_b · θ_b + moving_b · δc_b), shape (k, m, N).

        Args:
            pose: With K frames, of which `frames` are taken (k of them).
            frames: Which.
            turning: Rows on the small world turns θ_b of the bodies, shape (k, B, m, 3).
            moving: Rows on the moves of their centers, shape (k, B, m, 3).
        """
        whole = turning + np.cross(pose.centers[frames, :, None], moving)
        moving = moving.copy()
        for b in range(len(self.parents) - 1, 0, -1):
            whole[:, self.parents[b]] += whole[:, b]
            moving[:, self.parents[b]] += moving[:, b]
        turned = whole - np.cross(pose.places[frames, :, None], moving)
        rows = np.empty((turned.shape[0], turned.shape[2], self.size))
        rows[:, :, :3] = moving[:, 0]
        for b in range(len(self.parents)):
            on_vector = turned[:, b] @ pose.moves[frames, b]
            rows[:, :, self.columns(b)] = on_vector @ self.axes[b][:, None] if self.is_hinge[b] else on_vector
        return rows

    def point_rows(self, pose: Pose, frames: slice, point: int) -> Array:
        """How a contact point moves with the offsets, shape (k, 3, N)."""
        body = int(self.point_bodies[point])
        at = pose.points[frames, point]
        rows = np.zeros((len(at), 3, self.size))
        rows[:, :, :3] = np.eye(3)
        while body >= 0:
            arm = -skew(at - pose.places[frames, body]) @ pose.moves[frames, body]
            rows[:, :, self.columns(body)] = arm @ self.axes[body][:, None] if self.is_hinge[body] else arm
            body = int(self.parents[body])
        return rows


@dataclass(frozen=True)
class Pose:
    """Where B bodies are in K frames, world frame.

    Attributes:
        turns: Rotations as matrices, shape (K, B, 3, 3).
        places: Of the joints [m], shape (K, B, 3).
        centers: Centers of mass of the bodies [m], shape (K, B, 3).
        com: Center of mass [m], shape (K, 3).
        points: Centers of the contact points [m], shape (K, P, 3).
        moves: Small world turn of each body by its own rotation vector, shape (K, B, 3, 3).
    """

    turns: Array
    places: Array
    centers: Array
    com: Array
    points: Array
    moves: Array


@dataclass(frozen=True)
class Demand:
    """What the motion of K frames asks of the world in its K − 2 inner ones.

    Attributes:
        force: m (c̈ − g) [N], shape (K − 2, 3).
        moment: Rate of the moment of momentum about the center of mass [N m], shape (K − 2, 3).
        steps: Weights of the second difference on the frame before, itself and after [1/s²], shape (K − 2, 3).
        accelerations: Of the bodies' centers [m/s²], shape (K − 2, B, 3).
        before, after: Their parts of R̈ S Rᵀ [kg m²/s²], shape (K − 2, B, 3, 3).
    """

    force: Array
    moment: Array
    steps: Array
    accelerations: Array
    before: Array
    after: Array


def demand(figure: Figure, pose: Pose, gravity: float) -> Demand:
    """Force and moment that the figure needs from outside, by second differences over three frames."""
    steps = second_differences(figure.times)
    low, mid, high = (s[:, None, None] for s in steps.T)
    accelerations = low * pose.centers[:-2] + mid * pose.centers[1:-1] + high * pose.centers[2:]
    spread = figure.second @ np.swapaxes(pose.turns[1:-1], -1, -2)
    before, after = low[..., None] * pose.turns[:-2] @ spread, high[..., None] * pose.turns[2:] @ spread
    masses = figure.masses
    force = np.einsum("b,kbi->ki", masses, accelerations) + figure.mass * np.array([0.0, 0.0, gravity])
    arms = pose.centers[1:-1] - pose.com[1:-1, None]
    moment = np.einsum("b,kbi->ki", masses, np.cross(arms, accelerations)) + axial((before + after).sum(axis=1))
    return Demand(force, moment, steps, accelerations, before, after)


def demand_rows(figure: Figure, pose: Pose, wanted: Demand, frames: slice, pushes: Array) -> tuple[Array, Array, Array]:
    """Derivatives of (force, moment) less those of the contacts by the offsets of three frames, each (k, 6, N).

    The contact forces stay as they are and move with their points: the moment's row has −Σ δ(p − c) × F.

    Args:
        figure, pose, wanted: As for `demand`.
        frames: Inner frames, counted as in `wanted` (frame i of it is frame i + 1 of the pose), k of them.
        pushes: Force on each contact point in each inner frame [N], shape (K − 2, P, 3).
    """
    here = slice(frames.start + 1, frames.stop + 1)
    masses, mass = figure.masses, figure.mass
    share = masses[:, None, None] / mass * np.eye(3)
    arms = pose.centers[here] - pose.com[here, None]
    acceleration = wanted.accelerations[frames]
    mean = np.einsum("b,kbi->ki", masses / mass, acceleration)
    low, mid, high = (s[:, None, None] for s in wanted.steps[frames].T)
    found: list[Array] = []
    lags = ((-1, low, wanted.before), (0, mid, None), (1, high, wanted.after))
    for lag, step, part in lags:
        moving = np.empty((*arms.shape[:2], 6, 3))
        turning = np.zeros_like(moving)
        moving[:, :, :3] = mass * step[..., None] * share
        moving[:, :, 3:] = masses[:, None, None] * step[..., None] * skew(arms)
        if part is not None:
            turning[:, :, 3:] = _trace(part[frames]) - part[frames]
        else:
            whole = wanted.before[frames] + wanted.after[frames]
            turning[:, :, 3:] = np.swapaxes(whole, -1, -2) - _trace(whole)
            moving[:, :, 3:] -= masses[:, None, None] * skew(acceleration - mean[:, None])
            push = pushes[frames]
            moving[:, :, 3:] -= (masses / mass)[:, None, None] * skew(push.sum(axis=1))[:, None]
            for i, b in enumerate(figure.point_bodies):
                arm = pose.points[here, i] - pose.centers[here, b]
                moving[:, b, 3:] += skew(push[:, i])
                along = np.einsum("ki,ki->k", push[:, i], arm)
                turning[:, b, 3:] += along[:, None, None] * np.eye(3) - arm[:, :, None] * push[:, i, None, :]
        at = slice(here.start + lag, here.stop + lag)
        found.append(figure.pull_back(pose, at, turning, moving))
    return found[0], found[1], found[2]


def second_differences(times: Array) -> Array:
    """Weights of three neighbors that give the second derivative of a parabola exactly, shape (K − 2, 3)."""
    before, after = np.diff(times)[:-1], np.diff(times)[1:]
    low, high = 2.0 / (before * (before + after)), 2.0 / (after * (before + after))
    return np.stack([low, -low - high, high], axis=1)


def skew(v: Array) -> Array:
    """Matrices that turn w into v × w, shape (..., 3, 3)."""
    out = np.zeros((*v.shape, 3))
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -v[..., 2], v[..., 1], -v[..., 0]
    return out - np.swapaxes(out, -1, -2)


def axial(T: Array) -> Array:
    """Σ a × b for T = Σ b aᵀ, shape (..., 3)."""
    return np.stack([T[..., 2, 1] - T[..., 1, 2], T[..., 0, 2] - T[..., 2, 0], T[..., 1, 0] - T[..., 0, 1]], axis=-1)


def exp_matrix(vector: Array) -> Array:
    """Rotation matrices of rotation vectors (..., 3) [rad]: I + sin θ/θ [x] + (1 − cos θ)/θ² [x]²."""
    angle = np.linalg.norm(vector, axis=-1)[..., None, None]
    square, x = np.square(angle), skew(vector)
    return np.eye(3) + np.sinc(angle / np.pi) * x + _versine(square) * (x @ x)


def right_jacobian(vector: Array) -> Array:
    """J with exp(x + δ) = exp(x) exp(J δ): I − (1 − cos θ)/θ² [x] + (θ − sin θ)/θ³ [x]²."""
    angle = np.linalg.norm(vector, axis=-1)[..., None, None]
    square, x = np.square(angle), skew(vector)
    small = square < 1e-4
    safe = np.where(small, 1.0, square)
    cubic = np.where(small, 1.0 / 6.0 - square / 120.0, (1.0 - np.sinc(angle / np.pi)) / safe)
    return np.eye(3) - _versine(square) * x + cubic * (x @ x)


def _versine(square: Array) -> Array:
    """(1 − cos θ) / θ² of θ²."""
    half = 0.5 * np.sqrt(square)
    return 0.5 * np.square(np.sinc(half / np.pi))


def _trace(T: Array) -> Array:
    return np.trace(T, axis1=-2, axis2=-1)[..., None, None] * np.eye(3)


RIDGE = 1e-4
"""Weight of ‖λ‖² against the mean square of a column: spreads the load where points leave it open [1]."""


@dataclass(frozen=True)
class Carried:
    """Contact forces of K frames.

    Attributes:
        forces: On each point [N], shape (K, P, 3).
        left: Scaled force and moment that they do not give, shape (K, 6).
        root: L with L Lᵀ = 1 − W (Wᵀ W + ε)⁻¹ Wᵀ, W the acting columns: Lᵀ takes the six rows of a change to what
            the acting forces cannot take over, shape (K, 6, 6).
    """

    forces: Array
    left: Array
    root: Array


def carry(wanted: Array, arms: Array, normals: Array, may: Flags, friction: float, scale: Array) -> Carried:
    """Forces V λ, λ ≥ 0, at the points that may touch, with least ‖wanted − W λ‖² + ε ‖λ‖².

    Args:
        wanted: Force [N] and moment about the center of mass [N m], shape (K, 6).
        arms: From the center of mass to the points [m], shape (K, P, 3).
        normals: Of the ground there, shape (K, P, 3).
        may: Which may touch, shape (K, P).
        friction: Coulomb coefficient; the cone is a pyramid of four edges.
        scale: Multiplies the six rows, shape (6,).
    """
    frames, count = may.shape
    edges = _edges(normals, friction)
    columns = scale * np.concatenate([edges, np.cross(arms[:, :, None], edges)], axis=-1)
    forces, left = np.zeros((frames, count, 3)), scale * wanted
    root = np.broadcast_to(np.eye(6), (frames, 6, 6)).copy()
    borne = np.flatnonzero(may.any(axis=1))
    spread = np.zeros((len(borne), 6, 6))
    for n, k in enumerate(borne):
        touching = np.flatnonzero(may[k])
        W = columns[k, touching].reshape(-1, 6).T
        count = W.shape[1]
        ridge = RIDGE * float(np.square(W).sum()) / count
        tall = np.zeros((6 + count, count))
        tall[:6] = W
        tall[range(6, 6 + count), range(count)] = math.sqrt(ridge)
        aim = np.zeros(6 + count)
        aim[:6] = left[k]
        best, _ = nnls(tall, aim)
        forces[k, touching] = (best.reshape(-1, 1, 4) @ edges[k, touching])[:, 0]
        left[k] -= W @ best
        acting = W[:, best > 0.0]
        spread[n] = acting @ acting.T / ridge
    if len(borne):
        root[borne] = np.linalg.cholesky(np.linalg.inv(np.eye(6) + spread))
    return Carried(forces, left, root)


def _edges(normals: Array, friction: float) -> Array:
    """Edges n ± μ t of the friction pyramids, shape (K, P, 4, 3)."""
    helper = np.where(np.abs(normals[..., :1]) < 0.9, np.eye(3)[0], np.eye(3)[1])
    first = cross(normals, helper)
    first /= np.linalg.norm(first, axis=-1, keepdims=True)
    second = cross(normals, first)
    sides = np.stack([first, -first, second, -second], axis=-2)
    return normals[..., None, :] + friction * sides
