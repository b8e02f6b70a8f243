"""The search of a repair: ever more weight on what contacts cannot give, as long as the limits hold.

Each weight gives a point of the curve of "how physical" against "how much changed". `improve` is one Gauss-Newton step
at one weight: the derivatives of the cost, frame by frame, on the coefficients of its splines. The six rows of a frame
see three frames of offsets, all other rows one; both are summed up as a band.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from poise.core.typing import Array, Index
from poise.core.units import GRAVITY
from poise.spacetime.balance import (
    PATH,
    REACH,
    SLIP,
    SMOOTH,
    Look,
    Problem,
    bends_of,
    cost,
    look,
    off_ground,
    off_path,
    slip_of,
)
from poise.spacetime.figure import Pose, demand_rows
from poise.spacetime.spline import solve_band, solve_loop
from poise.spacetime.style import GAZE, REACHED, ends_of, gaze_turns, strays_of, turn_rows

WEIGHTS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
"""Weights of what is left of force and moment, from the least change to the most physical."""
ROUNDS = 1, 2
"""Gauss-Newton steps at each weight of the search, which begins where the last one ended, and once it is chosen."""
GAIN = 0.98
"""Share of what is left, below which another weight is worth its change [1]."""
ENOUGH = 0.005
"""What is left may be this much; less would change the clip for nothing that can be seen [1], as `Point.left`."""
SHARE, HOPELESS = 0.6, 0.5
"""A repair that leaves more than SHARE of what was missing, or a force above HOPELESS weights, is none [1]."""
TIGHTER = 8
"""Times that offsets beyond the budget are made dearer, at most."""
PERSON = 70.0
"""Moments are reported for a figure of this mass [kg]."""
UNSEEN = 1e-3
"""In a loop no frame may see the outermost coefficients. Their steps cost this share of what offsets cost [1]."""
CHUNK = 64
"""Frames, or coefficients, whose rows are made at once."""


@dataclass(frozen=True)
class Point:
    """One choice between physical and unchanged.

    Attributes:
        weight: Of what is left of force and moment.
        force: What is left, root mean square over frames, as a share of the weight [1].
        moment: The same for a figure of 70 kg [N m].
        joint, joint_max: Turn of the joints, root mean square over joints and frames and largest [rad].
        root, root_max: Shift of the root, the same [m].
        slip: Way of standing points from where they stand, root mean square [m].
        change: Of all offsets together, root mean square over frames; 3 cm of the root (by leg) or 5° of one joint
            count as 1.
    """

    weight: float
    force: float
    moment: float
    joint: float
    joint_max: float
    root: float
    root_max: float
    slip: float
    change: float

    @property
    def left(self) -> float:
        """Force and moment that are left together [1]."""
        return together(self.force, self.moment)

    def report(self) -> dict[str, float]:
        """As the report has it."""
        return {
            "weight": self.weight,
            "force_rms": self.force,
            "moment_rms_Nm": self.moment,
            "joint_change_rms_deg": math.degrees(self.joint),
            "joint_change_max_deg": math.degrees(self.joint_max),
            "root_change_rms_m": self.root,
            "root_change_max_m": self.root_max,
            "stance_slip_rms_m": self.slip,
            "change": self.change,
        }


def together(force: float, moment: float) -> float:
    """A force as a share of the weight and a moment for a figure of 70 kg [N m] as one number [1]."""
    return force + moment / (PERSON * GRAVITY * REACH)


class Limits(NamedTuple):
    """What may change at most: each offset [m, rad], shape (N,), and the head's turn in the world [rad]."""

    offsets: Array
    gaze: float


def search(problem: Problem, limits: Limits, on_weight: Callable[[int], object]) -> tuple[list[Array], list[Point]]:
    """Coefficients from the least change to the most physical within the limits, and what is to be seen of each.

    `on_weight` is called before each weight with its number. States are looked at anew: each takes much memory.
    """
    states = [np.zeros((problem.spline.count, problem.figure.size))]
    curve = [point_of(problem, look(problem, states[0]), 0.0)]
    for number, weight in enumerate(WEIGHTS):
        if curve[-1].left < ENOUGH:
            break
        on_weight(number)
        coefficients, seen = within(problem, states[-1], weight, limits)
        if seen.left < GAIN * curve[-1].left:
            states.append(coefficients)
            curve.append(seen)
        elif len(curve) > 1:
            break  # more weight buys nothing any more
    return states, curve


def is_in_vain(before: Point, after: Point) -> bool:
    """Whether the clip is hardly more physical than before, so that its change buys nothing."""
    return after.left > SHARE * before.left or after.force > HOPELESS


def within(
    problem: Problem, coefficients: Array, weight: float, limits: Limits, rounds: int = ROUNDS[0]
) -> tuple[Array, Point]:
    """Steps at one weight, and what they give; offsets beyond the budget become dearer until they keep it."""
    price, state = problem.price, look(problem, coefficients)
    for _ in range(rounds):
        state = improve(problem, state, weight, price)
    for _ in range(TIGHTER):
        over = _excess(problem, state, limits)
        if over.max() <= 1.0:
            break
        price = price * np.maximum(1.0, 1.1 * over) ** 2
        state = improve(problem, state, weight, price)
    worst = float(_excess(problem, state, limits).max())
    if worst > 1.0:  # by a hair: all offsets give way
        state = look(problem, state.coefficients / worst)
    return state.coefficients, point_of(problem, state, weight)


def _excess(problem: Problem, state: Look, limits: Limits) -> Array:
    """How far each offset of each frame is beyond its limit: 1 is all that is allowed, shape (K, N).

    A head that turns too far in the world counts for all joints that carry it.
    """
    over = np.zeros_like(state.offsets)
    figure, share = problem.figure, state.offsets / limits.offsets
    groups = [slice(0, 3), *(figure.columns(b) for b in range(len(figure.parents)))]
    for columns in groups:
        over[:, columns] = np.linalg.norm(share[:, columns], axis=1)[:, None]
    body = problem.head
    turned = np.linalg.norm(gaze_turns(state.pose, body, problem.looked), axis=1) / limits.gaze
    while body >= 0:
        columns = figure.columns(body)
        over[:, columns] = np.maximum(over[:, columns], turned[:, None])
        body = int(figure.parents[body])
    return over


def point_of(problem: Problem, state: Look, weight: float) -> Point:
    """What a state of the search leaves, and how much it changes."""
    figure = problem.figure
    left = (state.carried.left / problem.scale)[problem.is_open[1:-1]]
    per_person = PERSON / figure.mass
    turns = (
        np.stack([np.linalg.norm(state.offsets[:, figure.columns(b)], axis=1) for b in range(1, len(figure.parents))])
        if len(figure.parents) > 1
        else np.zeros((1, len(figure.times)))
    )
    moved = np.linalg.norm(state.offsets[:, :3], axis=1)
    return Point(
        weight,
        _rms(left[:, :3]) / (figure.mass * max(problem.gravity, 1e-9)),
        per_person * _rms(left[:, 3:]),
        float(np.sqrt(np.mean(turns**2))),
        float(turns.max()),
        _rms(moved[:, None]),
        float(moved.max()),
        _slip_of(problem, state),
        float(np.sqrt(np.mean(np.sum(state.offsets**2 / problem.plain, axis=1)))),
    )


def _slip_of(problem: Problem, state: Look) -> float:
    count = len(problem.character.contact_points)
    stands = problem.stands[:, :count] & problem.is_open[:, None]
    ways = (state.pose.points - problem.anchors)[:, :count][stands]
    return _rms(ways) if len(ways) else 0.0


def _rms(rows: Array) -> float:
    """Root mean square of the lengths of rows (K, n)."""
    return float(np.sqrt(np.mean(np.sum(np.square(rows), axis=1)))) if len(rows) else 0.0


def improve(problem: Problem, seen: Look, weight: float, price: Array) -> Look:
    """One Gauss-Newton step with the contact forces projected out, halved until it helps."""
    step = _step(problem, seen, weight, price)
    before, part = cost(problem, seen, weight, price), 1.0
    for _ in range(5):
        tried = look(problem, seen.coefficients + part * step)
        if cost(problem, tried, weight, price) < before:
            return tried
        part *= 0.35
    return seen


def _step(problem: Problem, seen: Look, weight: float, price: Array) -> Array:
    """The step of all coefficients (M, N): solve (Σ rowᵀ row) y = −Σ rowᵀ residual."""
    figure, spline = problem.figure, problem.spline
    used = np.flatnonzero(problem.is_used)
    rows, pulls = _balance_rows(problem, seen, weight, used)
    H = _balance_squares(problem, rows)
    del rows
    slip, off = slip_of(problem, seen.pose), off_ground(problem, seen.pose)
    gaze = gaze_turns(seen.pose, problem.head, problem.looked) / GAZE
    first, (basis, bend) = problem.first, problem.basis
    pulls += price[:, used] * seen.offsets[:, used]
    done = 0
    for begin in range(0, spline.count, CHUNK):
        end = min(begin + CHUNK, spline.count)
        start, stop = np.searchsorted(first, (begin - 3, end))
        k, fresh = slice(start, stop), slice(done, stop)
        J, values = _held_rows(problem, seen.pose, k, used, slip, off, gaze)
        pulls[fresh] += np.einsum("kin,ki->kn", J[done - start :], values[done - start :])
        done = stop
        square = np.swapaxes(J, 1, 2) @ J
        square[:, range(len(used)), range(len(used))] += price[k][:, used]
        for c in range(begin, end):
            a, z = np.searchsorted(first[k], (c - 3, c + 1))
            on = _weights(basis[k][a:z], c - first[k][a:z])
            squares = square[a:z].reshape(z - a, len(used) ** 2)
            H[c, :4] += (on[:, :1] * on).T.dot(squares).reshape(4, len(used), len(used))
    smooth = SMOOTH**4 * problem.price[:, used]
    stiff = np.zeros((spline.count, 4, len(used)))
    for low in range(4):
        for high in range(low, 4):
            np.add.at(stiff[:, high - low], first + low, (bend[:, low] * bend[:, high])[:, None] * smooth)
    ends, squares = problem.beyond
    for low in range(4):
        for high in range(low, 4):
            np.add.at(stiff[:, high - low], ends + low, squares[:, low, high][:, used])
    H[:, :4, range(len(used)), range(len(used))] += stiff
    gradient = np.zeros((spline.count, len(used)))
    bends = smooth * bends_of(problem, seen.coefficients)[:, used]
    for n in range(4):
        np.add.at(gradient, first + n, basis[:, n, None] * pulls + bend[:, n, None] * bends)
    at = ends[:, None] + np.arange(4)
    np.add.at(gradient, at, np.einsum("eabn,ebn->ean", squares, seen.coefficients[at])[..., used])
    step = np.zeros((spline.count, figure.size))
    if problem.round is None:
        step[:, used] = solve_band(H, gradient, problem.is_free)
    else:
        H[:, 0, range(len(used)), range(len(used))] += UNSEEN / (problem.plain * problem.ease**2)[used]
        turn = problem.round.turn_of(figure.size)[np.ix_(used, used)]
        step[:, used] = solve_loop(H, gradient, problem.is_free, turn, problem.round.pieces)
    return step


def _balance_rows(problem: Problem, seen: Look, weight: float, used: Index) -> tuple[Array, Array]:
    """What is left in each frame by the offsets of the frame before, itself and after, and their pull on each frame.

    Returns:
        Rows (3, K + 1, 6, n), of which the first, the last and one more frame are zero, and Σ rowᵀ left, shape (K, n).
    """
    frames = len(problem.figure.times)
    rows, pulls = np.zeros((3, frames + 1, 6, len(used))), np.zeros((frames, len(used)))
    for begin in range(1, frames - 1, CHUNK):
        end = min(begin + CHUNK, frames - 1)
        inner = slice(begin - 1, end - 1)
        root = math.sqrt(weight) * np.swapaxes(seen.carried.root[inner], 1, 2) * problem.scale
        wanted = np.concatenate([seen.wanted.force[inner], seen.wanted.moment[inner]], axis=1)
        left = root @ wanted[..., None]
        for lag, on in enumerate(demand_rows(problem.figure, seen.pose, seen.wanted, inner, seen.carried.forces)):
            own = rows[lag, begin:end] = root @ on[:, :, used]
            pulls[begin + lag - 1 : end + lag - 1] += (np.swapaxes(own, 1, 2) @ left)[..., 0]
    return rows, pulls


def _balance_squares(problem: Problem, rows: Array) -> Array:
    """Σ rowᵀ row of the balance's rows (3, K + 1, 6, n) on the coefficients, a band (M, S, n, n)."""
    count, (members, windows) = problem.spline.count, problem.windows
    size, span, lead = rows.shape[3], windows.shape[-1], windows.shape[-1] - 1
    H = np.zeros((count, span, size, size))
    for begin in range(0, count, CHUNK):
        end = min(begin + CHUNK, count)
        groups = members[begin : end + 2 * lead]  # from coefficient begin − lead on
        on = np.zeros((len(groups), span, groups.shape[1], 6, size))
        for lag in range(3):
            on += np.einsum("gfw,gfin->gwfin", windows[lag, begin : end + 2 * lead], rows[lag, groups])
        # of each coefficient, what the groups of frames that see it say, the first of them first
        of = np.arange(end - begin + lead)[:, None] + np.arange(span)
        on = on.reshape(len(groups), span, -1, size)[of, np.arange(lead, -1, -1)]
        for d in range(span):
            high = on[d : end - begin + d, : span - d].reshape(end - begin, -1, size)
            low = on[: end - begin, d:].reshape(end - begin, -1, size)
            np.matmul(np.swapaxes(high, 1, 2), low, out=H[begin:end, d])
    return H


def _weights(basis: Array, behind: Index) -> Array:
    """Weights (K, 4) of a coefficient and of the three after it in frames whose first lies so far behind it."""
    at = behind[:, None] + np.arange(4)
    return np.where(at < 4, np.take_along_axis(basis, np.minimum(at, 3), axis=1), 0.0)


def _held_rows(
    problem: Problem, pose: Pose, frames: slice, used: Index, slip: Array, off: Array, gaze: Array
) -> tuple[Array, Array]:
    """How the head turns, points that stand, sink or lift and a held center of mass move with the offsets of a frame.

    Returns:
        Rows (k, m, n) and residuals (k, m), in units of their prices; zero where a point does not count.
    """
    scale = 1.0 / (SLIP * problem.size)
    rows, values = [], []
    if problem.head >= 0:
        rows.append(turn_rows(problem.figure, pose, frames, problem.head)[:, :, used] / GAZE)
        values.append(gaze[frames])
    ends, wide = ends_of(problem.character), 1.0 / (REACHED * problem.size)
    strays = strays_of(pose, ends, problem.origins)[frames]
    for n, p in enumerate(ends):
        rows.append(wide * problem.figure.point_rows(pose, frames, int(p))[:, :, used])
        values.append(wide * strays[:, n])
    stands, astray = problem.stands[frames], off[frames] != 0.0
    for p in np.flatnonzero(stands.any(axis=0) | astray.any(axis=0)):
        moves = scale * problem.figure.point_rows(pose, frames, int(p))[:, :, used]
        if stands[:, p].any():
            rows.append(moves * stands[:, p, None, None])
            values.append(scale * slip[frames, p])
        if astray[:, p].any():
            along = np.einsum("ki,kin->kn", problem.normals[frames, p], moves) * astray[:, p, None]
            rows.append(along[:, None])
            values.append(scale * off[frames, p, None])
    aloft = ~np.isnan(problem.path[frames, 0])
    if aloft.any():
        share = problem.figure.masses[:, None, None] / problem.figure.mass * np.eye(3)
        moving = aloft[:, None, None, None] * share
        narrow = 1.0 / (PATH * problem.size)
        rows.append(narrow * problem.figure.pull_back(pose, frames, np.zeros_like(moving), moving)[:, :, used])
        values.append(narrow * off_path(problem, pose)[frames])
    if not rows:
        return np.zeros((len(stands), 0, len(used))), np.zeros((len(stands), 0))
    return np.concatenate(rows, axis=1), np.concatenate(values, axis=1)
