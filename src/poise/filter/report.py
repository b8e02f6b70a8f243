"""What a run gives back: the motion, and a report of what deviated, what touched and what the solver did.

The fields of the report are the contract "poise.simulate/1".
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from poise.body.character import Character
from poise.body.posing import body_positions, joint_deviations
from poise.core.motion import Motion
from poise.core.typing import Array, Flags
from poise.core.units import GRAVITY
from poise.filter.filter import SimulatedCharacter
from poise.filter.forces import Companion, Force, PointGoal, Push, Thing
from poise.filter.frame import FALLEN_DROP, FALLEN_TILT, LARGEST_LEAN, LARGEST_TURN, LARGEST_WAY
from poise.filter.quasi_physical import FALLBACK_WEIGHT, HOVERING, StepRecord
from poise.filter.targets import LONGEST_STEP, LONGEST_SWING, RISE, SUNK
from poise.io.files import write_atomically
from poise.phases.contacts import skating_frames
from poise.terrain import Terrain

SETTLED_SPEED = 0.1
"""A figure that lies is still where no joint moves faster than this [m/s], for a leg of 0.82 figure."""
NEAR = 0.02
"""A place is back when it is no further off than this [m], for a leg of 0.82 figure."""

CONSTANTS = {
    "ground.rise": RISE,
    "fallback.weight": FALLBACK_WEIGHT,
    "hover.root_share": HOVERING,
    "free_root.longest_swing_s": LONGEST_SWING,
    "free_root.longest_step_m": LONGEST_STEP,
    "free_root.largest_lean_m": LARGEST_LEAN,
    "free_root.largest_turn_rad": LARGEST_TURN,
    "free_root.largest_way_m": LARGEST_WAY,
    "free_root.fallen_tilt_rad": FALLEN_TILT,
    "free_root.fallen_drop_legs": FALLEN_DROP,
    "free_root.sunk_legs": SUNK,
}
"""Numbers that no preset changes, for the settings in the report."""


@dataclass(frozen=True)
class Report:
    """Numbers of one run; `data` has the fields of the schema."""

    data: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    def __contains__(self, key: object) -> bool:
        return key in self.data

    def __iter__(self) -> Iterator[str]:
        """Names of the fields."""
        return iter(self.data)

    def save(self, path: str | Path) -> None:
        """Write as JSON; never half."""
        write_atomically(Path(path), json.dumps(self.data, indent=1, allow_nan=False) + "\n")


FELT = 1.0
"""A point that is pressed with more than this touches [N]."""


def touched_points(character: Character, simulated: SimulatedCharacter | None, felt: Sequence[Force]) -> Flags:
    """Contact points that carry in the step just solved, shape (P,): on the ground, or where bodies hold the figure up.

    A body's force has no contact point of its own: it counts for the points of the body or of the leg or arm it is on.

    Args:
        character: The figure's.
        simulated: The filter's figure, which knows its forces on the ground; None if it has none.
        felt: Forces of bodies and of other figures.
    """
    own = np.array([p.body for p in character.contact_points], dtype=np.intp)
    out = np.zeros(len(own), dtype=np.bool_)
    last = None if simulated is None else simulated.last
    if simulated is not None and last is not None and last.frame == simulated.frame:
        out[last.step.contacts.points] = np.linalg.norm(last.result.forces, axis=1) > FELT
    for body in _bearing(character, felt):
        mine = own == body
        limbs = [x.bodies for x in character.limbs if x.kind in ("leg", "arm") and body in x.bodies]
        out |= mine if mine.any() or not limbs else np.isin(own, limbs[0])
    return out


def _bearing(character: Character, felt: Sequence[Force]) -> list[int]:
    """Bodies of the figure that something else pushes up."""
    still = np.zeros(3)
    ups = [(force.body_of(character), force.force_at(still, still, 0.0, character.mass)[2]) for force in felt]
    return [body for body, up in ups if up > FELT]


FRAMES_AT_ONCE = 256
"""The numbers of so many frames are computed together."""


class Recorder:
    """Collects the numbers of every frame while a run goes on.

    Attributes:
        touches: Contact points that carry, see `touched_points`, shape (F, P); none where there are no bodies.
    """

    def __init__(self, figure: SimulatedCharacter, q: Array, times: Array, lowest: Array) -> None:
        """Begin; `lowest` is how low each contact point ever is in the clip [m], shape (P,)."""
        self._figure, self._reference_q, self._times, self._lowest = figure, q, times, lowest
        frames = len(times)
        self._step_seconds: list[float] = []
        self._root_force, self._root_moment = np.zeros(frames), np.zeros(frames)
        self._com, self._com_reference = np.zeros((frames, 3)), np.zeros((frames, 3))
        self._contacts = np.zeros(frames, dtype=np.int64)
        self._penetration, self._floating, self._aloft = np.zeros((3, frames))
        self._friction, self._power = np.zeros(frames), np.zeros(frames)
        self._foot_points = [i for i, p in enumerate(figure.character.contact_points) if p.part == "foot"]
        # a frame that was carried has no low foot
        self._foot_gaps = np.full((frames, len(self._foot_points)), np.inf)
        self._foot_velocities = np.zeros((frames, len(self._foot_points), 3))
        self._now = figure.q.copy()
        self.touches = np.zeros((frames, len(lowest)), dtype=np.bool_)
        self._borne = np.zeros(frames, dtype=np.bool_)
        self._steps, self._falls = np.zeros((2, frames), dtype=np.bool_)
        self._energy, self._work = np.full(frames, np.nan), np.zeros(frames)
        # the frames that `_measure` will turn into the numbers above, and what it needs of each
        self._pending: list[int] = []
        shape = FRAMES_AT_ONCE, len(lowest)
        self._wrench = np.zeros((FRAMES_AT_ONCE, 6))
        self._forces, self._normals, self._velocities = np.zeros((3, *shape, 3))
        self._gaps, self._heights = np.zeros((2, *shape))
        self._flags = np.zeros(shape, dtype=np.bool_)

    def record(self, k: int, seconds: float) -> None:
        """Take in frame k, after the figure has stepped to frame k + 1."""
        self._step_seconds.append(seconds)
        figure, last = self._figure, self._figure.last
        if figure.world is not None:
            felt = figure.world.felt
            self.touches[k] = self.touches[k + 1] = touched_points(figure.character, figure, felt)
            self._borne[k] = bool(_bearing(figure.character, felt))
        self._steps[k], self._falls[k] = figure.goal.steps, figure.fall is not None
        if last is None or last.frame != k:
            self._place(k, self._now)
            self._now = figure.q.copy()
            return
        self._now = figure.q.copy()
        self._com[k], self._com_reference[k] = last.com, last.reference.com
        # the step in which a fall begins was still held
        if figure.fall is not None and figure.problem.values.is_falling:
            self._energy[k], self._work[k] = self._energies(last)
        row, contacts = len(self._pending), last.step.contacts
        self._pending.append(k)
        self._wrench[row] = last.result.torque[:6]
        if figure.fall is None:
            self._wrench[row] -= last.reference.torque[:6]
        self._forces[row] = self._normals[row] = 0.0
        self._forces[row, contacts.points], self._normals[row, contacts.points] = last.result.forces, contacts.normals
        self._velocities[row], self._gaps[row] = last.velocities, last.gaps
        self._heights[row], self._flags[row] = last.reference.points[:, 2] - figure.floor, last.reference.flags
        if len(self._pending) == FRAMES_AT_ONCE:
            self._measure()

    def _measure(self) -> None:
        """Turn what was kept of the pending frames into their numbers."""
        frames, n = np.array(self._pending, dtype=np.int64), len(self._pending)
        self._pending = []
        self._root_force[frames] = np.linalg.norm(self._wrench[:n, :3], axis=1)
        self._root_moment[frames] = np.linalg.norm(self._wrench[:n, 3:], axis=1)
        forces, normals, gaps, is_held = self._forces[:n], self._normals[:n], self._gaps[:n], ~self._falls[frames, None]
        self._contacts[frames] = (np.linalg.norm(forces, axis=2) > FELT).sum(axis=1)
        # only the clip's own depth is excused, not that of a stand made from it
        lowest = np.where(is_held, self._lowest - self._figure.floor, -np.inf)
        own = np.maximum(self._heights[:n], lowest)
        deeper = np.maximum(0.0, -gaps) - np.maximum(0.0, -own)
        self._penetration[frames] = deeper.max(axis=1, initial=0.0)
        floats = np.where(self._flags[:n] & is_held, gaps - np.maximum(0.0, own), 0.0)
        self._floating[frames] = floats.max(axis=1, initial=0.0)
        is_carried = self._borne[frames] | (self._contacts[frames] > 0)
        self._aloft[frames] = np.where(is_carried, 0.0, self._floating[frames])
        pressing = np.einsum("fki,fki->fk", forces, normals)
        sliding = forces - pressing[..., None] * normals
        excess = np.linalg.norm(sliding, axis=2) - self._figure.options.friction * pressing
        self._friction[frames] = excess.max(axis=1, initial=0.0)
        moving = self._velocities[:n]
        tangent = moving - np.einsum("fki,fki->fk", moving, normals)[..., None] * normals
        self._power[frames] = np.maximum(0.0, np.einsum("fki,fki->fk", sliding, tangent)).sum(axis=1)
        self._foot_gaps[frames], self._foot_velocities[frames] = (
            gaps[:, self._foot_points],
            moving[:, self._foot_points],
        )

    def _energies(self, last: StepRecord) -> tuple[float, float]:
        """Energy of the figure [J], and the work of muscles and pushes in the step [J]."""
        figure, s = self._figure, self._figure.state
        height = float(s.com(figure.model.roots[0])[2]) - figure.floor
        speed = s.v + 0.5 * figure.dt * last.result.a
        work = figure.dt * float(last.result.torque @ speed + last.step.external @ speed)
        return 0.5 * float(s.v @ s.M @ s.v) + GRAVITY * figure.mass * height, work

    def _fall(self, simulated: Array, n: int) -> dict[str, Any] | None:
        """How the last fall went: by how much energy rose without muscles' or pushes' work, and until it lay still."""
        frames = np.flatnonzero(np.isfinite(self._energy[:n]))
        if not frames.size:
            return None
        first = int(frames[np.flatnonzero(np.diff(frames, prepend=-9) > 1)[-1]])
        span = frames[frames >= first]
        places = body_positions(self._figure.character, simulated[span])
        speeds = np.linalg.norm(np.diff(places, axis=0), axis=2).max(axis=1) / self._figure.dt
        own = self._energy[span] - np.concatenate([[0.0], np.cumsum(self._work[span])[:-1]])
        return {
            "start": float(self._times[first]),
            "unexplained_rise_J": float((own - np.minimum.accumulate(own)).max()),
            "still_after_s": _settled(speeds < SETTLED_SPEED * self._figure.scale, self._figure.dt),
        }

    def report(
        self,
        *,
        motion: Motion,
        glitches: npt.NDArray[np.bool_],
        wall: float,
        pushes: tuple[Force, ...],
        simulated: Array,
        lags: Array,
    ) -> Report:
        """All fields, over the frames that were made; `lags` is how far a treadmill's floor lags (n, 3) [m]."""
        figure, n = self._figure, len(simulated)
        character, reference = figure.character, self._reference_q[:n]
        angles = joint_deviations(character, reference, simulated)
        away = body_positions(character, simulated) - body_positions(character, reference) + lags[:, None]
        moved = np.linalg.norm(simulated[:, :3] - reference[:, :3] + lags, axis=1)
        bodies = np.linalg.norm(away, axis=2)
        last = max(n - 1, 1)
        self._measure()
        self._place(n - 1, self._now)
        self._com[:n] += lags
        steps = 1000.0 * np.array(self._step_seconds or [0.0])
        solved = slice(0, last)
        goal = self._com[solved, :2] - self._com_reference[solved, :2]
        source = motion.source
        t = figure.counts
        skates = skating_frames(self._foot_gaps, self._foot_velocities, character.leg_length)
        data: dict[str, Any] = {
            "schema": "poise.simulate/1",
            "source": {
                "file": source.path if source else None,
                "format": source.format if source else None,
                "frames": motion.frame_count,
                "fps": motion.fps,
                "joints": motion.skeleton.joint_count,
                "dof": figure.model.nv,
                "mass": character.mass,
            },
            "settings": {"preset": figure.preset.name, **figure.preset.settings(), **_options(figure)},
            "frames": n,
            "dt": figure.dt,
            "wall_seconds": wall,
            "realtime_factor": figure.dt / (1e-3 * float(np.median(steps))) if steps.any() else 0.0,
            "step_ms": {"median": float(np.median(steps)), "p99": float(np.percentile(steps, 99))},
            "deviation": {
                "joint_angle_max_deg": float(angles.max()),
                "joint_angle_rms_deg": float(np.sqrt(np.mean(angles**2))),
                "root_position_max_m": float(moved.max()),
                "body_position_max_m": float(bodies.max()),
            },
            "goal_error_max_m": float(np.abs(goal - self._shift(n)).max()) if figure.options.goal != "none" else None,
            "root_residual": {
                "force_max_N": float(self._root_force[solved].max()),
                "force_rms_N": float(np.sqrt(np.mean(self._root_force[solved] ** 2))),
                "moment_max_Nm": float(self._root_moment[solved].max()),
                "moment_rms_Nm": float(np.sqrt(np.mean(self._root_moment[solved] ** 2))),
            },
            "contact": {
                "glitch_frames": int(glitches[:n].sum()),
                "penetration_max_m": float(self._penetration[solved].max()),
                "penetration_p95_m": float(np.percentile(self._penetration[solved], 95)),
                "float_max_m": float(self._floating[solved].max()),
                "float_p95_m": float(np.percentile(self._floating[solved], 95)),
                "aloft_p95_m": float(np.percentile(self._aloft[solved], 95)),
                "skating_ratio": float(skates[solved].mean()),
                "friction_violation_max": float(self._friction[solved].max()),
                "sliding_power_max_W": float(self._power[solved].max()),
            },
            "solver": {
                "name": "daqp" if figure.options.readable else "active set",
                "solves": t.solves,
                "failures": t.failures,
                "fallbacks": dict(t.fallbacks),
                "conflicts": dict(t.conflicts),
                "primal_residual_max": t.primal,
                "dual_residual_max": t.dual,
                "dynamics_residual_max": t.dynamics,
            },
            "events": [self._event(p, angles, moved, glitches, *self._until(p, pushes, n)) for p in pushes],
            "per_frame": {
                "time": self._times[:n].tolist(),
                "root_force_N": self._root_force[:n].tolist(),
                "root_moment_Nm": self._root_moment[:n].tolist(),
                "com_m": self._com[:n].tolist(),
                "com_reference_m": self._com_reference[:n].tolist(),
                "deviation_rms_deg": np.sqrt(np.mean(angles**2, axis=1)).tolist(),
                "contacts": self._contacts[:n].tolist(),
            },
            "fall": self._fall(simulated, n),
            "ground_m": figure.floor,
        }
        return Report(data)

    def _place(self, k: int, q: Array) -> None:
        """Centers of mass of a frame that no step was solved for, from its pose (nq,)."""
        state, root, without = self._figure.state, self._figure.model.roots[0], self._figure.goal_without
        for pose, places in ((q, self._com), (self._reference_q[k], self._com_reference)):
            state.move_to(pose, np.zeros(self._figure.model.nv))
            places[k] = state.com_without(root, without)

    def _shift(self, n: int) -> Array:
        return np.array(self._figure.shifts[: max(n - 1, 1)]).reshape(-1, 2)

    def _until(self, push: Force, pushes: tuple[Force, ...], n: int) -> tuple[int, str | None]:
        """Frames up to the next push or pull, so that each event tells of its own; and which of the two it is."""
        later = [p for p in pushes if p.start >= push.start + push.duration]
        after = min(later, key=lambda p: p.start, default=None)
        frames = int(np.ceil(after.start / self._figure.dt - 1e-9)) if after else n
        return (frames, after.kind) if after and frames < n else (n, None)

    def _event(
        self, push: Force, angles: Array, moved: Array, glitches: npt.NDArray[np.bool_], n: int, cut_by: str | None
    ) -> dict[str, Any]:
        """The first n frames against the reference from one push on; what earlier ones left is counted in."""
        angles, moved = angles[:n], moved[:n]
        dt = self._figure.dt
        duration = float(min(push.duration, self._times[n - 1]))
        end = push.start + duration
        first, after = int(np.ceil(push.start / dt - 1e-9)), min(int(np.ceil(end / dt - 1e-9)), n - 1)
        excursion = np.linalg.norm(self._com[:n, :2] - self._com_reference[:n, :2], axis=1)
        near = NEAR * self._figure.scale
        calm = (angles.max(axis=1) < 2.0) & (moved < near)
        begun = int(push.start / dt + 1e-9)  # the step that it starts in
        missed = (glitches[begun:after] | glitches[begun + 1 : after + 1]) & ~self._falls[begun:after]
        is_felt = first < len(self._times) and first < n - 1 and not (missed.size and missed.all())
        return {
            "body": push.body,
            "kind": push.kind,
            "start": push.start,
            "duration": duration,
            "force_N": list(push.force) if isinstance(push, Push) else None,
            "is_felt": is_felt,
            "glitched_s": min(float(missed.sum() * dt), duration),
            "outcome": "fallen" if self._falls[first:n].any() else "stepped" if self._steps[first:n].any() else "held",
            "joint_peak_deg": float(angles[first:, 1:].max(initial=0.0)),
            "root_peak_deg": float(angles[first:, 0].max(initial=0.0)),
            "com_excursion_max_m": float(excursion[first:].max(initial=0.0)),
            "com_excursion_before_m": float(excursion[first]) if first < n else 0.0,
            "com_back_s": _settled(excursion[after:] < near, dt) if is_felt else None,
            "recovery_s": _settled(calm[after:], dt) if is_felt else None,
            "cut_by": cut_by,
        }


def _settled(calm: npt.NDArray[np.bool_], dt: float) -> float | None:
    """Time until it is calm for good; None if it never is."""
    if not len(calm) or not calm[-1]:
        return None
    loud = np.flatnonzero(~calm)
    return float((loud[-1] + 1) * dt) if loud.size else 0.0


def _options(figure: SimulatedCharacter) -> dict[str, Any]:
    o = figure.options
    plain = {f.name: getattr(o, f.name) for f in dataclasses.fields(o) if f.name not in ("goal_points", "physicality")}
    plain["goal_without"] = list(o.goal_without)
    plain["physicality"] = (
        "off" if o.physicality.is_off else "strict" if o.physicality.is_strict else o.physicality.factor
    )
    plain["goal_points"] = [g.body for g in o.goal_points]
    plain["objectives"] = [getattr(make, "__name__", type(make).__name__) for make in o.objectives]
    plain["leg_scale"] = figure.scale
    return plain | CONSTANTS


@dataclass(frozen=True)
class SimulationResult:
    """A simulated clip.

    Example:
        >>> result = poise.simulate(motion, character, pushes=[push])
        >>> poise.save(result.motion, "pushed.bvh")

    Attributes:
        motion: The source's frames with the reaction in them.
        source: The frames that went in.
        character: The character.
        terrain: The ground, placed.
        times: Simulated times [s], shape (S,).
        q: Simulated coordinates, shape (S, nq).
        reference_q: What it follows: coordinates of the clip; slower, or standing, where bodies hold it, shape (S, nq).
        pushes: What pushed and pulled.
        report: Numbers of the run.
        goal_points: Places on bodies that had targets of their own.
        things: Bodies around the figure.
        companions: Other figures beside it.
        is_complete: False if the run was interrupted.
        touches: Contact points that the ground or bodies carry, shape (S, P); None where there are no bodies.
    """

    motion: Motion
    source: Motion
    character: Character
    terrain: Terrain
    times: Array
    q: Array
    reference_q: Array
    pushes: tuple[Force, ...]
    report: Report
    goal_points: tuple[PointGoal, ...] = ()
    is_complete: bool = True
    things: tuple[Thing, ...] = ()
    companions: tuple[Companion, ...] = ()
    touches: Flags | None = None

    def __repr__(self) -> str:
        many = "" if len(self.pushes) == 1 else "es"
        return (
            f"<simulated: {self.motion.frame_count} frames, {self.motion.duration:.2f} s, "
            f"{self.motion.skeleton.joint_count} joints on {self.terrain.spec}, {len(self.pushes)} push{many}>"
        )
