"""The report of a synthesized run, and the recorders that collect it.

Each recorder takes in every `WorldStep`. The fields of the report are the contract "poise.synthesize/1".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.filter.forces import Force
from poise.filter.report import Report
from poise.goals.lists import Weights
from poise.goals.state_machine import Visit
from poise.goals.swinging import arc_about
from poise.physics import State
from poise.synthesis.contacts import Candidates
from poise.synthesis.figure import Settings
from poise.synthesis.grips import Grip
from poise.synthesis.records import Cast, Hit, Loss, SolverCounts, Support, WorldStep

ENERGY_AT_REST = 1.0
"""A run whose kinetic energy is less than this is at rest [J]."""


@dataclass(frozen=True)
class Deepest:
    """Who was deepest in a thing: figure or ball, its body (a ball's is itself), the thing, when [s]."""

    figure: str
    body: str
    object: str
    time: float


def _deepest(cast: Cast, candidates: Candidates, k: int, time: float) -> Deepest:
    """For the k-th of the contact points and then the points at corners."""
    if k < candidates.point_count:
        point, surface = k, int(candidates.surface[k])
    else:
        k -= candidates.point_count
        point, surface = int(candidates.points[candidates.at_corners][k]), int(candidates.corners[k])
    is_on_hold = len(np.flatnonzero(candidates.footing.points == point)) > 0
    what = "a hold" if is_on_hold or not cast.scene.surfaces else cast.scene.surfaces[surface].name
    return Deepest(*cast.point_name(point), what, time)


@dataclass
class Audit:
    """Extremes and sums over a run.

    Attributes:
        root_force, root_moment: Largest wrench that held a root, by inverse dynamics [N], [N m].
        cone: Largest excess of a tangential force over μ times the normal one [N].
        penetration: Deepest point below a surface [m].
        deepest: Whose body that was, in what and when, None before anything sank.
        overlap: Deepest overlap of two bodies [m].
        grip_drift: Largest distance of a closed hand from what it holds [m].
        contact_work: Work that contacts put in, by true displacements against what they touch [J].
        joint_work: Work of the joints, in and out added up [J].
        torque: Largest joint torque [N m].
    """

    root_force: float = 0.0
    root_moment: float = 0.0
    cone: float = 0.0
    penetration: float = 0.0
    deepest: Deepest | None = None
    overlap: float = 0.0
    grip_drift: float = 0.0
    contact_work: float = 0.0
    joint_work: float = 0.0
    torque: float = 0.0
    step_seconds: list[float] = field(default_factory=list)

    def __call__(self, step: WorldStep) -> None:
        """Take in one step."""
        candidates, forces, dt = step.candidates, step.forces, step.dt
        for figure, now in zip(step.cast.figures, step.figures, strict=True):
            self.root_force = max(self.root_force, float(np.linalg.norm(now.root_wrench[:3])))
            self.root_moment = max(self.root_moment, float(np.linalg.norm(now.root_wrench[3:])))
            torque = now.torque
            if torque is not None:
                speed = step.v[figure.dofs][6:]
                self.joint_work += float(np.abs((torque - figure.damping * speed) * speed).sum()) * dt
                self.torque = max(self.torque, float(np.abs(torque).max()))
        pressing = np.einsum("si,si->s", forces, candidates.normals)
        across = forces - pressing[:, None] * candidates.normals
        over = np.linalg.norm(across, axis=1) - candidates.friction * pressing
        self.cone = max(self.cone, float(over.max(initial=0.0)))
        pairs = step.gaps[candidates.between]
        own = np.concatenate([step.gaps[: candidates.point_count], step.gaps[candidates.at_corners]])
        own = np.where(own > -0.2, own, 0.0)
        if len(own) and -own.min() > self.penetration:
            self.penetration = float(-own.min())
            self.deepest = _deepest(step.cast, candidates, int(own.argmin()), step.time)
        self.overlap = max(self.overlap, float(-pairs.min(initial=0.0)))
        work = np.einsum("si,si->s", forces, step.ways - step.drifts)
        self.contact_work += float(np.maximum(work, 0.0).sum())
        for grip in step.grips:
            self.grip_drift = max(self.grip_drift, grip.drift)
            self.contact_work += max(float(grip.force @ grip.way), 0.0)


class Energy:
    """Total energy of a run and what explains it.

        E(q ⊖ ½ Δt v, v) = ½ vᵀ M v + Σ m g z

    A step moves places by Δt v⁺, so v belongs to the middle of the step before (the leapfrog scheme); mass matrix and
    heights are taken there too. Otherwise a body in free flight would seem to gain or lose energy. Work is force times
    Δt (v + v⁺) / 2, which for a constant mass matrix is exactly the change of kinetic energy.

    What muscles, pushes, and matter that moves (a rocking floor, a bar) put in explains a rise of E. Contacts with
    matter at rest, between bodies, and the tissue of joints can only take out; what they or the integration put in is
    not explained.

    Attributes:
        total: E before each step, of figures and balls [J].
        kinetic: Its kinetic part [J].
        explained: Work of muscles, pushes and moving matter until then [J].
    """

    def __init__(self) -> None:
        self.total: list[float] = []
        self.kinetic: list[float] = []
        self.explained: list[float] = []
        self._work = 0.0
        self._v: Array | None = None
        self._middle: State | None = None

    def __call__(self, step: WorldStep) -> None:
        """Take in one step."""
        state, dt, cast = step.state, step.dt, step.cast
        v, after = state.v, step.v
        if self._v is not None and not np.array_equal(v, self._v):  # a ball was let go with a speed of its own
            self._work += 0.5 * float(v @ state.M @ v - self._v @ state.M @ self._v)
        self._v = after
        mean = 0.5 * (v + after)
        middle = self._middle = self._middle or State(cast.model)
        middle.move_to(cast.model.integrate(state.q, v, -0.5 * dt), v)
        middle.complete()
        kinetic = 0.5 * float(v @ middle.M @ v)
        height = 0.0
        for root in (*(f.body.root for f in cast.figures), *cast.ball_roots):
            height += middle.mass(root) * GRAVITY * float(middle.com(root)[2])
        self.kinetic.append(kinetic)
        self.total.append(kinetic + height)
        self.explained.append(self._work)
        for figure, now in zip(cast.figures, step.figures, strict=True):
            if now.torque is not None:
                first, end = figure.body.joints
                self._work += dt * float(now.torque @ mean[first:end])
        for body, place, force in step.applied:
            self._work += dt * float(state.external_torque(body, place, force) @ mean)
        self._work += float(np.einsum("si,si->", step.forces, step.drifts))
        for grip in step.grips:
            if grip.other < 0:
                self._work += float(grip.force @ grip.carried)

    def report(self, fell: float | None, dt: float) -> dict[str, Any]:
        """The run's energies [J], and since when it has been at rest [s].

        Args:
            fell: When the first figure fell [s], or None.
            dt: Length of a step [s].
        """
        total, kinetic = np.array(self.total or [0.0]), np.array(self.kinetic or [0.0])
        own = total - np.array(self.explained or [0.0])
        moving = np.flatnonzero(kinetic > ENERGY_AT_REST)
        begins = int(moving[-1]) + 1 if len(moving) else 0
        after = None if fell is None else total[min(round(fell / dt), len(total) - 1) :]
        return {
            "start_J": float(total[0]),
            "end_J": float(total[-1]),
            "unexplained_rise_max_J": rise(own),
            "rise_after_fall_max_J": None if after is None else rise(after),
            "at_rest_since": begins * dt if begins < len(kinetic) else None,
        }


def rise(values: Array) -> float:
    """How far a row of numbers gets above the least before it."""
    return float((values - np.minimum.accumulate(values)).max())


Floats = npt.NDArray[np.float32]

HANGING = 0.3
"""A figure hangs while its feet carry less than this part of what its hands do."""


@dataclass(frozen=True)
class GripSpan:
    """A hand or foot that held something.

    Attributes:
        figure: Index of the figure.
        part: "left_hand", …
        what: Name of the hold, or "figure:part".
        point: Index of the contact point that held.
        start, end: [s].
    """

    figure: int
    part: str
    what: str
    point: int
    start: float
    end: float


@dataclass(frozen=True)
class Trace:
    """Numbers of every step; step k leads from frame k to frame k + 1.

    Attributes:
        points: Contact points of all figures, one after the other [m], shape (S, P, 3).
        forces: Force on each [N], shape (S, P, 3).
        owners: Index of the figure of each point, −1 of those of balls, shape (P,).
        com: Centers of mass of the figures [m], shape (S, N, 3).
        root_force: What held each figure's root [N], shape (S, N).
        effort: Largest torque of each figure in parts of its joint's limit, shape (S, N).
        is_delayed: Whether each figure could not answer yet, shape (S, N).
        swing: Angle of each figure's center of mass from below what its hands hold [deg], shape (S, N); NaN where it
            does not hang.
        grips: All grips, in the order in which they closed.
    """

    points: Floats
    forces: Floats
    owners: npt.NDArray[np.int64]
    com: Floats
    root_force: Floats
    effort: Floats
    is_delayed: npt.NDArray[np.bool_]
    swing: Floats
    grips: tuple[GripSpan, ...]


class Tracer:
    """Takes in every step of a run."""

    def __init__(self) -> None:
        self._rows: list[tuple[Floats, Floats, Floats, Floats, Floats, npt.NDArray[np.bool_], Floats]] = []
        self._open: dict[tuple[int, str, int, float], Grip] = {}
        self._closed: list[GripSpan] = []

    def __call__(self, step: WorldStep) -> None:
        """Take in one step."""
        state, figures = step.state, step.cast.figures
        com = np.array([state.com(f.body.root) for f in figures], dtype=np.float32)
        root = np.array([np.linalg.norm(f.root_wrench[:3]) for f in step.figures], dtype=np.float32)
        effort = np.array([f.effort for f in step.figures], dtype=np.float32)
        delayed = np.array([f.is_delayed for f in step.figures], dtype=np.bool_)
        swing = np.array([_swing(step, k, com[k]) for k in range(len(figures))], dtype=np.float32)
        points = state.points[: len(step.point_forces)].astype(np.float32)
        self._rows.append((points, step.point_forces.astype(np.float32), com, root, effort, delayed, swing))
        now = {(g.figure, g.part, g.point, g.start): g for g in step.grips}
        for key in [k for k in self._open if k not in now]:
            self._close(key, step.time)
        self._open.update(now)

    def repeat_last(self, count: int) -> None:
        """Repeat the last step until there are so many: one without an answer is shown as the one before it."""
        self._rows += self._rows[-1:] * (count - len(self._rows))

    def _close(self, key: tuple[int, str, int, float], time: float) -> None:
        grip = self._open.pop(key)
        self._closed.append(GripSpan(grip.figure, grip.part, grip.what, grip.point, grip.start, time))

    def trace(self, cast: Cast, time: float) -> Trace:
        """All that was taken in until a time [s], when open grips end."""
        for key in list(self._open):
            self._close(key, time)
        figures, points = len(cast.figures), len(cast.radii)
        shapes = ((points, 3), (points, 3), (figures, 3), (figures,), (figures,), (figures,), (figures,))
        columns: list[Any] = [
            np.array([row[k] for row in self._rows]).reshape(len(self._rows), *shape) for k, shape in enumerate(shapes)
        ]
        owners = np.full(points, -1, dtype=np.int64)
        for k, figure in enumerate(cast.figures):
            owners[figure.points] = k
        grips = tuple(sorted(self._closed, key=lambda g: (g.start, g.figure, g.part)))
        points_, forces, com, root, effort, delayed, swing = columns
        return Trace(points_, forces, owners, com, root, effort, delayed.astype(np.bool_), swing, grips)


def _swing(step: WorldStep, who: int, com: Floats) -> float:
    """How far a hanging figure has swung [deg]; NaN where it does not hang by its hands."""
    held = [g.point for g in step.grips if g.figure == who and g.part.endswith("hand")]
    if not held:
        return float("nan")
    feet = np.concatenate(list(step.cast.figures[who].body.feet.values()))
    hands = float(np.linalg.norm(step.point_forces[held].sum(axis=0)))
    if float(np.linalg.norm(step.point_forces[feet].sum(axis=0))) > HANGING * hands:
        return float("nan")
    down = com - step.state.centers[held].mean(axis=0)
    return float(np.degrees(np.arctan2(np.linalg.norm(down[:2]), -down[2])))


@dataclass
class Hanging:
    """The first figure's swings and climb.

    Attributes:
        swings: Largest angle of each half swing, from one passage below the grips to the next [deg]; the first, which
            began where the figure was put, left out.
        climbed: Rise of the center of mass since the start, when a hand last held on [m].
    """

    swings: list[float] = field(default_factory=list)
    climbed: float = 0.0
    _largest: float = 0.0
    _side: float = 0.0
    _passed: int = 0
    _start: float | None = None

    def __call__(self, step: WorldStep) -> None:
        """Take in one step."""
        figure, state = step.cast.figures[0], step.state
        com = state.com(figure.body.root)
        self._start = float(com[2]) if self._start is None else self._start
        holding = [g for g in step.grips if g.figure == 0 and g.other < 0 and g.part.endswith("_hand")]
        if not holding:
            return
        self.climbed = float(com[2]) - self._start
        holds = [step.cast.scene.hold(g.what) for g in holding]
        places = [h.nearest(state.centers[g.point], step.time) for h, g in zip(holds, holding, strict=True)]
        left = state.data.xmat[figure.body.root].reshape(3, 3) @ figure.body.left_axes[0] * np.array([1.0, 1.0, 0.0])
        angle = float(np.degrees(arc_about(places, left, com, np.zeros(3)).angle))
        side = np.sign(angle)
        if side * self._side < 0.0:
            if self._passed:
                self.swings.append(self._largest)
            self._passed, self._largest = self._passed + 1, 0.0
        self._side = side or self._side
        self._largest = max(self._largest, abs(angle))

    @property
    def furthest(self) -> float:
        """Largest angle after the first passage below the grips [deg]."""
        return max([*self.swings, self._largest if self._passed else 0.0])


STEP = "take step"
"""The state that is a protective step."""


def report_of(
    name: str,
    audit: Audit,
    energy: Energy,
    trace: Trace,
    hanging: Hanging,
    figures: Sequence[tuple[str, float, float | None, Sequence[Visit]]],
    *,
    seconds: float,
    stuck: int,
    counts: SolverCounts,
    supports: Sequence[Support],
    losses: Sequence[Loss],
    hits: Sequence[Hit],
    pushes: Sequence[Force],
    engine: Mapping[str, float | str] | None,
    settings: Settings,
    weights: Weights,
    wall: float,
    options: Mapping[str, Any],
    stopped: str | None,
) -> Report:
    """All fields of a run; SI units.

    Args:
        name: The behavior's.
        audit, energy, trace, hanging: Of its steps.
        figures: Name, mass [kg], when it fell [s] and visits of each; the fields without a name are the first one's.
        seconds: How long the motion is [s].
        stuck: Steps in which the first figure's state failed and no other held.
        counts: What the solver did.
        supports, losses, hits, pushes: Events, in order.
        engine: Report of another simulation that moved the figures.
        settings, weights: Of the run.
        wall: How long it took [s].
        options: The behavior's, all of them.
        stopped: Why it ended early, or None.
    """
    t, (_, _, fell, visits) = counts, figures[0]
    steps = 1000.0 * np.array(audit.step_seconds or [0.0])
    median = float(np.median(steps))
    seen = engine or {"name": "poise"}
    contact_work = float(seen.get("contact_work_J", audit.contact_work))
    data: dict[str, Any] = {
        "schema": "poise.synthesize/1",
        "behavior": name,
        "is_literal": settings.is_literal,
        "stopped": stopped,
        "fell": fell,
        "seconds": round(seconds, 9),
        "states": _states(visits),
        "stuck_steps": stuck,
        "figures": {n: {"fell": f, "mass": m, "states": _states(v)} for n, m, f, v in figures},
        "steps_taken": sum(v.name.rpartition(" / ")[2] == STEP for v in visits),
        "climbed_m": hanging.climbed,
        "swing_max_deg": hanging.furthest,
        "swings_deg": list(hanging.swings),
        "supports": [{"figure": s.figure, "body": s.body, "object": s.what, "time": s.time} for s in supports],
        "losses": [
            {"figure": x.figure, "body": x.body, "object": x.what, "time": x.time, "why": x.why} for x in losses
        ],
        "hits": [{**asdict(h), "impulse": h.impulse} for h in hits],
        "pushes": [{"body": p.body, "start": p.start} for p in pushes],
        "root_residual_max": {"force_N": audit.root_force, "moment_Nm": audit.root_moment},
        "engine": seen,
        "cone_violation_max_N": audit.cone,
        "penetration_max_m": seen.get("penetration_max_m", audit.penetration),
        "penetration_deepest": None if audit.deepest is None else asdict(audit.deepest),
        "body_penetration_max_m": seen.get("body_penetration_max_m", audit.overlap),
        "grip_drift_max_m": audit.grip_drift,
        "contact_work_ratio": contact_work / audit.joint_work if audit.joint_work else 0.0,
        "energy": energy.report(fell, settings.dt) if engine is None else None,
        "torque_max_Nm": audit.torque,
        "effort_max": float(trace.effort[:, 0].max(initial=0.0)),
        "slack_used_max": max(t.slack.values(), default=0.0),
        "slack": dict(t.slack),
        "solver": {
            "name": "daqp",
            "solves": t.solves,
            "failures": t.failures,
            "fallbacks": dict(t.conflicts),
            "rounds": t.rounds,
            "rollbacks": t.rollbacks,
            "primal_residual_max": t.primal,
            "dual_residual_max": t.dual,
            "dynamics_residual_max": t.dynamics,
        },
        "wall_seconds": wall,
        "step_ms": {"median": median, "p99": float(np.percentile(steps, 99))},
        "realtime_factor": 1000.0 * settings.dt / median if median else 0.0,
        "settings": {**asdict(settings), "weights": asdict(weights), "options": dict(options)},
    }
    return Report(data)


def _states(visits: Sequence[Visit]) -> list[dict[str, Any]]:
    return [{"name": v.name, "start": v.start, "end": v.end} for v in visits]
