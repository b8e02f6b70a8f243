"""Targets of a step: where the actor's motion puts each limb.

Standing feet are held where they are, and everything else follows where the feet really stand.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping

import numpy as np

from poise.core import rotations
from poise.core.rotations import eased
from poise.core.typing import Array, Index
from poise.core.units import GRAVITY, HUMAN_LEG
from poise.physics.mujoco_backend import Model
from poise.terrain import Terrain
from poise.tracking.actor import ActorMotion
from poise.tracking.balance import (
    ALARMING,
    CALM_HEIGHT,
    CALM_TIME,
    SHIFTED,
    WAITING,
    WEIGHTLESS,
    Return,
    Sway,
    alarm_of,
    balance,
    calm_return,
    capture_error,
    is_needed,
    must_carry,
    off_soles,
    outside,
    recovery_steps,
    restlessness,
    stillness_of,
)
from poise.tracking.calibration import Bend, in_style
from poise.tracking.lists import Knees, Settings, Targets
from poise.tracking.retarget import Retargeter
from poise.tracking.stance import RESTING_HEIGHT, Foot, Goal, RecoveryStep, Sinking, Trunk, pelvis_drop

STYLING = 0.2
"""Time constant with which a style is blended in [s]."""
CARRIED = 0.05
"""Where the force on the actor acts is averaged over so long [s]."""
LEANING = 0.2
"""The center of mass is brought over the soles within so long [s]."""
RISING = 0.2
"""Targets rise with the ground under the feet within so long [s]."""
STANDING_STILL, STEADY_OVER = 0.1, 0.01
"""A center of mass slower than this [m/s], for a leg of 1 m, stands still. A foot is lifted calmly once the capture
point is no further outside the other sole than this, in legs."""
LOWEST, HELD_LOWEST = 0.3, 0.1
"""The pelvis is lowered by so many legs at the most, for legs to reach their feet; the second while a force at the root
holds the character."""


class TargetGenerator:
    """Makes the targets of each step from the actor's motion and from where the character's feet stand.

    Args:
        motion: What the actor does.
        retargeter: From the actor to the character.
        feet: The character's feet by limb, in the order of the actor's soles.
        bends: How legs bend, by limb; legs without a knee have none.
        dt: Of a step [s].
        floor: Height of the character's floor [m].
        terrain: Its ground; level at `floor` if not given.

    Attributes:
        shift: How far targets are off the actor's way [m], shape (2,).
        catch: How far a foot has to step off to catch the body [m], shape (2,).
        alarm: How much the character catches itself by steps of its own, 0 … 1.
        stillness: How much the actor stands, 0 … 1.
        is_held: Whether a force at the root brings the body back; set it before `balance`.
        unsteady: How far the capture point is off where the feet that stand want it, in legs; 0 while it is above
            what touches the ground.
    """

    def __init__(
        self,
        motion: ActorMotion,
        retargeter: Retargeter,
        feet: Mapping[str, Foot],
        bends: Mapping[str, Bend],
        dt: float,
        floor: float,
        terrain: Terrain | None,
    ) -> None:
        self.motion, self.retargeter, self.feet = motion, retargeter, feet
        self.bends, self.dt, self.floor, self.terrain = bends, dt, floor, terrain
        self._bent: dict[str, Array] = {}
        self.shift, self.catch, self.alarm, self.stillness = np.zeros(2), np.zeros(2), 0.0, 0.0
        self._lean, self._force, self._over = np.zeros(2), np.zeros(2), np.zeros(2)
        self._return: Return | None = None
        self._quiet = 0.0
        self._styled = np.zeros((2 + len(retargeter.roles), 6))
        self._rise, self._sinking, self._pitch = 0.0, Sinking(), Sinking()
        ours = retargeter.ours
        self._trunk = Trunk.of(self.feet, ours.turn, ours.yaw, ours.leg)
        self.is_held, self.unsteady = False, 0.0

    def anew(self) -> TargetGenerator:
        """One that begins from the start, of the same motion, with feet of its own."""
        feet = copy.deepcopy(dict(self.feet))
        return TargetGenerator(self.motion, self.retargeter, feet, self.bends, self.dt, self.floor, self.terrain)

    @property
    def sunk(self) -> float:
        """How far the pelvis is lowered for legs to reach their feet [m]."""
        return self._sinking.depth

    def advance(self, time: float, style: Array | None, *, is_beginning: bool) -> Targets:
        """Targets for the actor's present pose.

        Args:
            time: Of the step [s].
            style: Shifts of the targets by a style, shape (T, 6); see `Style`.
            is_beginning: Whether the run begins: feet and ground are taken as they are.
        """
        retargeter, rows, motion = self.retargeter, self.motion.rows, self.motion
        place, velocity, acceleration = rows.x[:, :3].copy(), rows.v[:, :3].copy(), rows.a[:, :3].copy()
        turn, spin = rows.turns.copy(), rows.spins.copy()
        place[:, 2] -= retargeter.ratio * (motion.floor - retargeter.theirs.floor)
        held = np.zeros(len(place), dtype=np.bool_)
        heights = self._ground_under(np.array([place[foot.row, :2] + foot.shift for foot in self.feet.values()]), time)
        place[:, :2] += self.shift
        scale = motion.scale
        carrying = self._must_carry(is_beginning=is_beginning)
        # a live actor's first poses do not say how fast it is
        begins = is_beginning and motion.knows_speeds
        feet = tuple(self.feet.values())
        recovers = any(foot.recovery is not None for foot in self.feet.values())
        for k, foot in enumerate(feet):
            row = foot.row
            if foot.early and foot.has_landed:
                foot.shift = foot.place[:2] - rows.x[row, :2]
            speed = motion.soles.v[k]
            over = foot.over(float(motion.soles.x[k, 2]) - motion.floor, speed, scale, begins=begins)
            goal = Goal(place[row], velocity[row], acceleration[row], turn[row], spin[row])
            goal.place[:2] += foot.shift - self.shift
            goal.velocity[:2] += foot.drift
            # a foot's target is no lower than the actor's sole is over its floor
            if goal.place[2] < self.floor + foot.height:
                goal.place[2] = self.floor + foot.height + max(0.0, over) * retargeter.ratio
            goal.place[2] += heights[k] - self.floor
            goal.turn = foot.leveled(over, speed, scale, goal, begins=begins)
            others = any(foot is not other and other.stands and other.has_landed for other in self.feet.values())
            if foot.recovery is not None:
                goal = foot.recovering(goal, heights[k])
            carries = foot is carrying
            if foot.stands and foot.leaves(over, speed, scale, goal, others=others):
                carries = not self._is_light()
                carries = carries and is_needed(self._force, foot, feet, rows.x[:, :2], retargeter.ours.leg)
            carries = carries and over < RESTING_HEIGHT * scale
            foot.decide(
                over, speed, scale, goal, heights[k], others=others, stays=recovers, carries=carries, begins=begins
            )
            goal = foot.hold(goal)
            place[row], velocity[row], acceleration[row] = goal.place, goal.velocity, goal.acceleration
            turn[row], spin[row] = goal.turn, goal.spin
        if self.terrain is not None:
            climbed = (1.0 - math.exp(-self.dt / RISING)) * (float(np.mean(heights)) - self.floor - self._rise)
            self._rise += climbed
            follow = np.setdiff1d(np.arange(len(place)), [foot.row for foot in self.feet.values()])
            place[follow, 2] += self._rise
            velocity[follow, 2] += climbed / self.dt
        if style is not None:
            share = 1.0 if is_beginning else 1.0 - math.exp(-self.dt / STYLING)
            self._styled += share * (style - self._styled)
            place, turn = in_style(place, turn, self._styled)
        lowest = HELD_LOWEST if self.is_held else LOWEST
        if (trunk := self._trunk) is None:
            drop, pitch = pelvis_drop(self.feet.values(), place, turn[0]), 0.0
        else:
            turn[0], spin[0] = trunk.bounded(turn[0], spin[0], retargeter.ours.turn)
            drop, pitch = trunk.lowered(self.feet, place, turn[0])
        drop = min(drop, lowest * retargeter.ours.leg)
        self._sinking = Sinking(drop) if is_beginning else self._sinking.toward(drop, self.dt)
        self._pitch = Sinking(pitch) if is_beginning else self._pitch.toward(pitch, self.dt)
        if trunk is not None:
            turn[0] = rotations.multiply(turn[0], rotations.from_rotation_vector(self._pitch.depth * trunk.across))
            spin[0] += self._pitch.speed * rotations.rotate(turn[0], trunk.across)
        place[0, 2] -= self._sinking.depth
        velocity[0, 2] -= self._sinking.speed
        acceleration[0, 2] -= self._sinking.acceleration
        stand = [place[foot.row, :2] + foot.arms() for foot in self.feet.values() if foot.stands]
        if stand:
            off = off_soles(place[1, :2], velocity[1, :2], np.concatenate(stand))
            self._lean += (1.0 if is_beginning else 1.0 - math.exp(-self.dt / LEANING)) * (off - self._lean)
        place[1, :2] -= self._lean
        return Targets(place, velocity, acceleration, turn, spin, held)

    def balance(self, com: Array, speed: Array, level: float, touching: Array, settings: Settings) -> Array:
        """What is asked of the center of mass over the ground [m/s²], shape (2,).

        On the way swinging feet are placed to catch the body, and everything follows where feet really stand.

        Args:
            com: The character's center of mass [m], shape (3,).
            speed: Its velocity over the ground [m/s], shape (2,).
            level: Height of the ground under it [m].
            touching: Points that touch the ground [m], shape (m, 2).
            settings: Weights.
        """
        ours, theirs, rows = self.retargeter.ours, self.retargeter.theirs, self.motion.rows
        own = Sway(com[:2].copy(), speed, np.zeros(2), max(float(com[2]) - level, 0.3 * ours.leg))
        height = self.retargeter.ratio * float(theirs.com[2] - theirs.floor)
        # the acceleration of one that rests is noise
        acceleration = restlessness(rows.v[1, :2]) * rows.a[1, :2]
        wanted = Sway(rows.x[1, :2] - self._lean + self._over, rows.v[1, :2], acceleration, height)
        feet = tuple(self.feet.values())
        steps = recovery_steps(
            feet,
            own,
            wanted,
            rows.x[:, :2],
            self.shift,
            touching,
            rows.turns[0],
            leg=ours.leg,
            dt=self.dt,
            step_reach=settings.step_reach,
            is_held=self.is_held,
        )
        for foot, step in zip(feet, steps, strict=True):
            foot.recovery = step
        off = capture_error(own, wanted._replace(place=wanted.place + self.shift)) / ours.leg
        error = math.hypot(off[0], off[1])
        self._return_calmly(own, wanted, error, feet)
        self.alarm = alarm_of(self.alarm, error, feet, ours.leg, self.dt)
        self.stillness = stillness_of(feet, ours.leg)
        reach = settings.reach * (1.0 - self.alarm)
        found = balance(
            own,
            wanted,
            feet,
            rows.x[:, :2],
            self.shift,
            self.catch,
            touching,
            leg=ours.leg,
            dt=self.dt,
            gain=settings.com_gain,
            reach=reach,
            step_reach=settings.step_reach,
            held_off=own.place - rows.x[1, :2] - self.shift if self.is_held else None,
        )
        self.shift, self.catch = found.placed.shift, found.catch
        off = capture_error(own, wanted._replace(place=wanted.place + found.placed.stood)) / ours.leg
        is_steady = len(touching) > 0 and outside(touching, own.place + own.velocity / own.rate) <= 0.0
        self.unsteady = 0.0 if is_steady else math.hypot(off[0], off[1])
        for foot, shift, drift in zip(feet, found.placed.shifts, found.placed.drifts, strict=True):
            foot.shift, foot.drift = shift, drift
        return found.pull

    def _return_calmly(self, own: Sway, wanted: Sway, error: float, feet: tuple[Foot, ...]) -> None:
        """Bring feet together that a recovery step has left apart, once all is still."""
        rows, leg = self.motion.rows, self.retargeter.ours.leg
        tempo = math.sqrt(leg / HUMAN_LEG)
        rests = all(foot.stands and foot.has_landed and foot.rested > WAITING * tempo for foot in feet)
        still = rests and error < ALARMING and math.hypot(*own.velocity) < STANDING_STILL * math.sqrt(leg)
        self._quiet = self._quiet + self.dt if still else 0.0
        now = calm_return(self._return, self._quiet / tempo, error, feet, leg, self.dt)
        goal = np.zeros(2)
        if now is not None:
            stay = [foot for foot in feet if foot.driver != now.driver]
            soles = np.concatenate([rows.x[foot.row, :2] + foot.shift + foot.arms() for foot in stay])
            goal = soles.sum(axis=0) / len(soles) - (wanted.place - self._over) - self.shift
            goal *= eased(min(1.0, now.since / (SHIFTED * tempo)))
            carries = outside(soles, own.place + own.velocity / own.rate) < STEADY_OVER * leg
            if not now.has_lifted and now.since > SHIFTED * tempo and carries:
                where = np.mean([foot.shift for foot in stay], axis=0)
                for foot in feet:
                    if foot.driver == now.driver:
                        total = CALM_TIME * tempo
                        foot.recovery = RecoveryStep(total, total, CALM_HEIGHT * leg, where, is_calm=True)
                now = now._replace(has_lifted=True)
            elif not now.has_lifted and now.since > 3.0 * SHIFTED * tempo:
                now = None
        self._return = now
        self._over = self._over + (1.0 - math.exp(-self.dt / (0.1 * tempo))) * (goal - self._over)

    def bend_knees(self, model: Model, q: Array, pelvis: Array, targets: Targets) -> Knees | None:
        """How the knees of legs that swing should be bent, for their ends to be where they should.

        Args:
            model: Of the character.
            q: Its pose, shape (nq,).
            pelvis: Place of its pelvis [m], shape (3,).
            targets: Of this step.
        """
        before, dofs = self._bent, list[Index]()
        first, second, hips = q.copy(), q.copy(), q[3:7]
        self._bent = {}
        for name, bend in self.bends.items():
            foot = self.feet[name]
            way = targets.place[foot.row] - pelvis - rotations.rotate(hips, foot.hip)
            now = self._bent[name] = bend.knees_at(math.sqrt(float(way @ way)))
            if not targets.held[foot.row]:
                first[bend.at], second[bend.at] = before.get(name, now), now
                dofs.append(bend.dofs)
        if not dofs:
            return None
        own = np.concatenate(dofs)
        return Knees(own, model.difference(q, second, 1.0)[own], model.difference(first, second, self.dt)[own])

    def go_on(self, before: TargetGenerator) -> None:
        """Keep the balance as before roles changed: the way, the catch, a step back that has begun."""
        self.shift, self.catch, self.alarm = before.shift, before.catch, before.alarm
        self._lean, self._force, self._over = before._lean, before._force, before._over
        self._return, self._quiet = before._return, before._quiet
        self._rise, self._sinking, self._pitch = before._rise, before._sinking, before._pitch
        rows = {role.limb: 2 + k for k, role in enumerate(before.retargeter.roles)}
        for k, role in enumerate(self.retargeter.roles):
            if role.limb in rows:
                self._styled[2 + k] = before._styled[rows[role.limb]]
        for foot in self.feet.values():
            if not foot.stands and not foot.shift.any():
                foot.shift = self.shift.copy()

    def restart_at(self, where: Array) -> None:
        """Let all targets follow from a place (2,), standing on no foot."""
        self.shift = where - self.motion.rows.x[0, :2]
        self.catch, self._lean, self._sinking, self._pitch = np.zeros(2), np.zeros(2), Sinking(), Sinking()
        self._over, self._return, self._quiet, self.alarm = np.zeros(2), None, 0.0, 0.0
        for foot in self.feet.values():
            foot.stands, foot.share, foot.shift, foot.drift = False, 0.0, self.shift.copy(), np.zeros(2)
            foot.recovery, foot.rested, foot.early = None, 0.0, 0.0

    def _must_carry(self, *, is_beginning: bool) -> Foot | None:
        """The foot that the actor's weight must be on though it seems not to stand."""
        rows, leg = self.motion.rows, self.retargeter.ours.leg
        if self._is_light() and not any(foot.stands for foot in self.feet.values()):
            return None
        rate = GRAVITY / max(float(rows.x[1, 2]) - self.floor, 0.3 * leg)
        force = rows.x[1, :2] - rows.a[1, :2] / rate
        self._force += (1.0 if is_beginning else 1.0 - math.exp(-self.dt / CARRIED)) * (force - self._force)
        return must_carry(self._force, tuple(self.feet.values()), rows.x[:, :2], leg)

    def _is_light(self) -> bool:
        """Whether the actor flies, or nearly: no foot must carry it."""
        return float(self.motion.rows.a[1, 2]) < -WEIGHTLESS * GRAVITY

    def _ground_under(self, places: Array, time: float) -> list[float]:
        """Height of the character's ground under places (K, 2) [m]."""
        if self.terrain is None:
            return [self.floor] * len(places)
        return self.terrain.heights(places, time).tolist()
