"""Angular momentum between frames of a figure that turns as a whole, and the turns that make it what it should be.

For two frames Δt apart, with r the places of the bodies from the center of mass, R their orientations and
I = R I_body Rᵀ,

    L = Σ m r × r' / Δt + Σ ½ (I + I') ω,        ω = log(R' Rᵀ) / Δt.

Turning a frame as a whole about its center of mass moves neither the center of mass nor any joint angle, so linear
momentum stays as it is and one rotation per frame is all that is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from poise.analysis.momentum import cross
from poise.body.character import Character
from poise.core import rotations
from poise.core.errors import PoiseError
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.native import compiled

MOST_ITERATIONS = 60
"""Newton steps for one target, at most."""
LONGEST_STEP = 0.8
"""How far a frame turns in one Newton step at most [rad]."""
TOLERANCE = 1e-10
"""What is left of the momentum asked for, as a share of the largest entry of the system times one radian."""


@dataclass(frozen=True)
class Tumble:
    """B bodies over the n frames of a flight, seen from the center of mass in world axes.

    Attributes:
        times: [s], shape (n,).
        masses: [kg], shape (B,).
        places: Center of each body from the center of mass of all [m], shape (n, B, 3).
        turns: Orientation of each body, unit wxyz, shape (n, B, 4).
        inertias: About its own center, world axes [kg m²], shape (n, B, 3, 3).
    """

    times: Array
    masses: Array
    places: Array
    turns: Array
    inertias: Array

    @classmethod
    def of(cls, motion: Motion, character: Character, first: int, last: int) -> Tumble:
        """The frames from first to last, both included."""
        joints = np.array([b.joint for b in character.bodies])
        masses = np.array([b.mass for b in character.bodies])
        positions, orientations = motion.world
        turns = np.ascontiguousarray(orientations[first : last + 1, joints])
        matrices = rotations.to_matrix(turns)
        centers = (
            positions[first : last + 1, joints]
            + np.matmul(matrices, np.stack([b.com for b in character.bodies])[..., None])[..., 0]
        )
        com = np.einsum("b,fbi->fi", masses / masses.sum(), centers)
        inertias = matrices @ np.stack([b.inertia for b in character.bodies]) @ np.swapaxes(matrices, -1, -2)
        return cls(motion.times[first : last + 1], masses, centers - com[:, None], turns, inertias)

    def turned(self, turn: Array) -> Tumble:
        """Every frame turned as a whole by unit quaternions (n, 4)."""
        matrix = rotations.to_matrix(turn)[:, None]
        return replace(
            self,
            places=np.matmul(matrix, self.places[..., None])[..., 0],
            turns=rotations.multiply(turn[:, None], self.turns),
            inertias=matrix @ self.inertias @ np.swapaxes(matrix, -1, -2),
        )

    @property
    def steps(self) -> Array:
        """Time from each frame to the next [s], shape (n − 1,)."""
        return np.diff(self.times)


def momentum_between(tumble: Tumble) -> Array:
    """Angular momentum about the center of mass between neighboring frames [kg m²/s], shape (n − 1, 3).

    Source: [ShapiroLee2011]_ eq. (2), with velocities from differences. Deviates: the momentum belongs to the middle
    of two frames, not to the later one, which makes it second order in Δt; a rigid body that tumbles freely, sampled
    at its frames, keeps it to that order.
    """
    return _momentum(tumble, _spins(tumble))


def _spins(tumble: Tumble) -> Array:
    """Rotation vector of each body from each frame to the next, world axes [rad], shape (n − 1, B, 3)."""
    return rotations.to_rotation_vector(rotations.multiply(tumble.turns[1:], rotations.conjugate(tumble.turns[:-1])))


def _momentum(tumble: Tumble, spins: Array) -> Array:
    moving = np.einsum("b,fbi->fi", tumble.masses, cross(tumble.places[:-1], tumble.places[1:]))
    middle = 0.5 * (tumble.inertias[:-1] + tumble.inertias[1:])
    own = np.matmul(middle, spins[..., None])[..., 0].sum(axis=1)
    return (moving + own) / tumble.steps[:, None]


def body_jacobians(tumble: Tumble) -> tuple[Array, Array]:
    """How the spin part Σ ½ (I + I') ω of the momentum answers to turns of single bodies.

    Turning a frame by φ changes its inertia by [φ] I − I [φ] and the rotation vector s between the frames by
    ∓(1 ± ½ [s] + κ [s]²) φ. With the mean inertia M that makes ∓(¼ (I' − I) [s] + M (1 + κ [s]²)) − ½ [I s] for the
    earlier frame, and for the later one the other sign and I' in the last term, over Δt.

    Returns:
        Per body, by a turn [rad, world axes] of the earlier and of the later frame, shapes (n − 1, B, 3, 3).
    """
    spins = _spins(tumble)
    before, after = tumble.inertias[:-1], tumble.inertias[1:]
    dt = tumble.steps[:, None, None, None]
    square = spins[..., :, None] * spins[..., None, :] - (spins**2).sum(axis=-1)[..., None, None] * np.eye(3)
    middle = (0.5 / dt) * (before + after)
    both = np.matmul((0.25 / dt) * (after - before), _skew(spins))
    both += np.matmul(middle, np.eye(3) + _inverse_left_rest(spins)[..., None, None] * square)
    own = (_skew(np.matmul(inertia, spins[..., None])[..., 0]) * (0.5 / dt) for inertia in (before, after))
    return -both - next(own), both - next(own)


def frame_jacobians(tumble: Tumble) -> tuple[Array, Array]:
    """How the momentum between two frames answers to turning either of them as a whole.

    Source: [ShapiroLee2011]_ eq. (5), δh = Ad* (… + Ĵ/h) x. Deviates: it is the exact derivative of the discrete
    momentum of `momentum_between`, by turns in world axes about the center of mass. Its symmetric part is −Ĵ/h and Ĵ/h
    with the composite inertia Ĵ of eq. (2) taken between the frames, its skew part half the momentum: the factor of the
    ad terms is ½ for velocities from differences, where the paper prints 1.

    Returns:
        ∂L/∂φ of the earlier and of the later frame [kg m²/s], shapes (n − 1, 3, 3).
    """
    earlier, later = body_jacobians(tumble)
    outer = np.einsum("b,fbi,fbj->fij", tumble.masses, tumble.places[1:], tumble.places[:-1])
    frozen = np.trace(outer, axis1=1, axis2=2)[:, None, None] * np.eye(3)
    dt = tumble.steps[:, None, None]
    return (
        (np.swapaxes(outer, -1, -2) - frozen) / dt + earlier.sum(axis=1),
        (frozen - outer) / dt + later.sum(axis=1),
    )


def _skew(x: Array) -> Array:
    """Matrices [x] with [x] y = x × y, shape (..., 3, 3)."""
    out = np.zeros((*x.shape, 3))
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -x[..., 2], x[..., 1], -x[..., 0]
    out[..., 1, 0], out[..., 2, 0], out[..., 2, 1] = x[..., 2], -x[..., 1], x[..., 0]
    return out


def _inverse_left_rest(theta: Array) -> Array:
    """κ of the inverse left Jacobian of the exponential, 1 − ½ [θ] + κ [θ]², for rotation vectors θ (..., 3)."""
    angle = np.linalg.norm(theta, axis=-1)
    safe = np.where(angle > 1e-3, angle, 1.0)
    return np.where(angle > 1e-3, 1.0 / safe**2 - 0.5 / (safe * np.tan(0.5 * safe)), 1.0 / 12.0)


def turns_for(
    tumble: Tumble, asked: Array, fixed: tuple[int, ...], *, damping: float = 1.0
) -> tuple[Array, Array, int]:
    """Turns of all frames of a flight that give it a constant angular momentum, by Newton's method on all at once.

    One fixed frame leaves the momentum free: the rest is marched from it, forwards and backwards. Between two
    fixed frames the momentum is not free: it becomes the constant that leads from one pose to the other. A step is a
    block-bidiagonal system, solved by substitution in time proportional to the frames.

    Args:
        tumble: n frames.
        asked: Angular momentum [kg m²/s], shape (3,).
        fixed: Frames (of the flight, rising) that must not turn, at least one.
        damping: γ of [ShapiroLee2011]_, 0 < γ ≤ 1: the part of each Newton step that is taken; it is halved where a
            step makes things worse.

    Returns:
        Turns, unit quaternions (n, 4); the constant momentum of each interval (n − 1, 3); Newton steps taken.

    Raises:
        PoiseError: if no turns were found.

    Source: [ShapiroLee2011]_ steps 1 to 7. Deviates: all frames of a flight at once where the paper goes frame by
    frame, and turns about the center of mass where the paper solves for six unknowns of which three stay zero.
    """
    still = np.tile(rotations.IDENTITY, (len(tumble.times), 1))
    start = momentum_between(tumble)
    count = 0
    for parts in (1, 4, 16):  # a momentum far off is approached in parts
        turn, target, done = still, start, True
        for part in range(1, parts + 1):
            goal = start + (part / parts) * (asked - start)
            turn, target, steps, done = _newton(tumble, fixed, turn, goal, damping)
            count += steps
            if not done:
                break
        if done:
            return turn, target, count
    raise PoiseError(
        "No turns of the root give this flight the angular momentum asked for. Ask for one nearer to the clip's own, "
        "such as mean, or a smaller amount."
    )


def off_steady(tumble: Tumble) -> Array:
    """How each frame would have to be turned as a whole for the flight to keep its mean momentum from its first pose.

    The one measure of uneven spin: `poise check` judges it, and `poise edit spin` takes it to zero.

    Returns:
        Rotation vectors in world axes [rad], shape (n, 3); the first is zero.

    Raises:
        PoiseError: if no turns make the spin steady.
    """
    mean = tumble.steps @ momentum_between(tumble) / tumble.steps.sum()
    return rotations.to_rotation_vector(turns_for(tumble, mean, (0,))[0])


def _response(tumble: Tumble, turn: Array) -> tuple[Array, Array, Array]:
    """Momentum with the frames turned by `turn` (n, 4), and how it answers to further turns of either frame."""
    n, t = len(turn), tumble
    out = np.empty((n - 1, 3)), np.empty((n - 1, 3, 3)), np.empty((n - 1, 3, 3))
    turned_momentum(turn, t.places, t.turns, t.inertias, t.masses, t.steps, *out)
    return out


@compiled(
    "const real turn[frames][4], const real places[frames][bodies][3], const real turns[frames][bodies][4],"
    "const real inertias[frames][bodies][3][3], const real masses[bodies], const real steps[intervals],"
    "real momentum[intervals][3], real earlier[intervals][3][3], real later[intervals][3][3]"
)
def turned_momentum(turn, places, turns, inertias, masses, steps, momentum, earlier, later):
    """Fill `momentum_between` and `frame_jacobians` of a tumble whose frames are turned as a whole."""
    times = np.concatenate([[0.0], np.cumsum(steps)])
    now = Tumble(times, masses, places, turns, inertias).turned(turn)
    momentum[:] = momentum_between(now)
    earlier[:], later[:] = frame_jacobians(now)


def _newton_step(
    momentum: Array, earlier: Array, later: Array, goal: Array, fixed: Sequence[int]
) -> tuple[Array, Array]:
    """Turns φ with earlier φ_k + later φ_{k+1} = target − momentum; fixed frames (rising) stay.

    Where two fixed frames enclose some, their target is the constant that joins them; elsewhere it is the goal.

    Returns:
        φ, shape (n, 3), and the target of each interval, shape (n − 1, 3).

    Raises:
        numpy.linalg.LinAlgError: if the turns of a frame do not change the momentum.
    """
    target = np.broadcast_to(goal, momentum.shape).copy()
    back = np.linalg.inv(later)
    onward = -back @ earlier  # φ_{k+1} = onward φ_k + back (target − momentum)
    for one, other in pairwise(fixed):
        # φ = offset + slope λ, with λ the constant that is to be found
        affine = np.zeros((3, 4))
        given = np.concatenate([-np.matmul(back, momentum[..., None]), back], axis=2)
        for k in range(one, other):
            affine = onward[k] @ affine + given[k]
        target[one:other] = -np.linalg.solve(affine[:, 1:], affine[:, 0])
    change = np.zeros((len(momentum) + 1, 3))
    wanted = (target - momentum)[..., None]
    added = np.matmul(back, wanted)[..., 0]
    for k in range(fixed[0], len(momentum)):
        change[k + 1] = onward[k] @ change[k] + added[k]
    change[list(fixed)] = 0.0
    first = slice(0, fixed[0])
    ahead = np.linalg.inv(earlier[first])
    backward, added = -ahead @ later[first], np.matmul(ahead, wanted[first])[..., 0]
    for k in range(fixed[0] - 1, -1, -1):
        change[k] = backward[k] @ change[k + 1] + added[k]
    return change, target


def _newton(
    tumble: Tumble, fixed: Sequence[int], turn: Array, goal: Array, damping: float
) -> tuple[Array, Array, int, bool]:
    """Newton's method from `turn`: turns, momentum of each interval as it must be, steps, and whether it got there."""
    part, best = damping, np.inf
    held, held_turn, target = None, turn, goal
    for step in range(MOST_ITERATIONS):
        momentum, earlier, later = _response(tumble, turn)
        try:
            change, target = _newton_step(momentum, earlier, later, goal, fixed)
        except np.linalg.LinAlgError:  # turns that change nothing: as good as a step without an end
            change = np.full((len(turn), 3), np.inf)
        error, size = float(np.abs(momentum - target).max()), float(np.abs(later).max())
        if error <= TOLERANCE * size:
            return turn, target, step, True
        if not np.isfinite(change).all() or (held is not None and error > 1.5 * best):
            part *= 0.5
            if held is None or part < 1e-3 * damping:
                return turn, target, step, False
            turn = _advanced(held_turn, held, part)
            continue
        best, held, held_turn = error, change, turn
        # no frame may turn further in one step than the linear system knows anything of
        part = min(damping, LONGEST_STEP / max(float(np.abs(change).max()), 1e-12))
        turn = _advanced(turn, change, part)
    return turn, target, MOST_ITERATIONS, False


def _advanced(turn: Array, change: Array, part: float) -> Array:
    """T₀ e^{γx}: the turns with a part of a Newton step taken."""
    return rotations.normalize(rotations.multiply(rotations.from_rotation_vector(part * change), turn))
