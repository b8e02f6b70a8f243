"""Make a whole clip physical with the least change: stance and flight, force and moment at once, within a budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from poise.analysis.analyze import Analysis, analyze
from poise.body.character import Character, fit
from poise.body.posing import root_mover
from poise.check.air import share_of_gravity, wrong_gravity
from poise.check.clip import REPAIR_SHIFT, REPAIR_TURN, Wanted, on_ground
from poise.check.thresholds import PLAUSIBLE_GRAVITY
from poise.core.errors import InvalidValue, NotForThisClip
from poise.core.motion import Motion
from poise.core.typing import Array, Flags
from poise.core.units import GRAVITY
from poise.edit.budget import Budget, Scope
from poise.edit.direct import NEAR, FlightChange, directed, flight_notes, reached
from poise.edit.flight import Figure as Flier
from poise.edit.flight import Span, no_flights
from poise.edit.report import Changes, Edited, report_of, verified
from poise.edit.touches import Touches, flags_of, touches_of
from poise.goals.surroundings import Scene
from poise.phases.floor import carried_ground
from poise.phases.travel import find_loop, in_place_velocity, with_rounds
from poise.spacetime.balance import ANGLE, Problem, Round, apply_offsets, look, problem_of
from poise.spacetime.figure import Figure
from poise.spacetime.search import (
    ENOUGH,
    ROUNDS,
    SHARE,
    WEIGHTS,
    Limits,
    Point,
    is_in_vain,
    point_of,
    search,
    together,
    within,
)
from poise.spacetime.spline import Spline
from poise.terrain import Terrain

AGAIN = 2
"""Times that the changed clip is looked at anew."""
DEFAULT_BUDGET = Budget(joint=REPAIR_TURN, root=REPAIR_SHIFT)
"""What a repair may change where nothing is said: joints [rad]; the root, for a leg of 0.82 m [m]."""
LONGEST_LOOP = 20.0
"""Offsets of a longer loop do not go round, its ends stay as they are: the solution would need much memory [s]."""
TINY = 1e-9
"""A budget below this is none, and what it is for stays as it is [rad], [m]."""
NEAR_ENDS = math.radians(10.0)
"""Ends whose joints differ by less belong together, as those of a loop: they stay as they are [rad, rms]."""
HARDLY = 0.02
"""Where less is missing, a repair that is left out needs no advice [1], as `Point.left`."""
MUCH = 0.1
"""Share of the weight that is reported if it is left [1]."""
SEAM_STAYS = "The ends of the loop stay as they are; with its seam mended, more force and moment would be left."
IN_ROUNDS = (
    "Played round and round, the repaired clip would need as much force and moment from nowhere; it is left as it is."
)
"""Notes of loops, which are judged over three rounds."""


class _Answer(NamedTuple):
    """What was found: the clip with offsets, the curve's points, the number of the one taken, and its `measures`."""

    changed_by: Callable[..., Motion]
    states: list[Array]
    curve: list[Point]
    number: int
    chosen: Array
    after: dict[str, Any]


def repair(
    motion: Motion,
    character: Character | None = None,
    *,
    scope: Scope | None = None,
    budget: Budget | None = None,
    keep: Sequence[str] = (),
    freeze: Sequence[str] = (),
    exact: Collection[int] = (),
    terrain: Terrain | str | None = None,
    floor: float | None = None,
    contacts: Flags | Touches | None = None,
    scene: Scene | None = None,
    friction: float = 0.8,
    gravity: float = GRAVITY,
    flights: str | Sequence[Span] = "all",
    jump: FlightChange | str | None = None,
    trust_time: bool = False,
    verify: bool = True,
    on_round: Callable[[int, int], object] | None = None,
) -> Edited:
    """Turn joints and move the root a little over the whole clip, so that its contacts can carry the motion.

    All offsets x(t) are cubic splines. They make

        w Σ ‖left‖² + Σ ‖x / σ‖² + Σ ‖s² x'' / σ‖² + Σ ‖slip / d‖² + Σ ‖gaze / γ‖² + Σ ‖strays / ρ‖²

    small, where `left` is what the best contact forces inside their friction cones leave of m (c̈ − g) and of the rate
    of angular momentum. Nothing is known or asked of joint torques. w is raised until the budget is used up; offsets
    that would go beyond it become dearer where they do. What is measured is low-passed alike before and after; the
    offsets are added to the clip as it was, so its fine detail stays.

    Args:
        motion: F frames.
        character: Fitted to the motion if not given.
        scope: Amount of the change that is kept, and the interval in which anything may change.
        budget: Largest turn of a joint and largest shift of the root; 6° and 6 cm (times leg over 0.82 m) if not given.
        keep: Bodies, roles or limbs whose places in the world stay as they are ("hands", "head", "left_leg").
        freeze: Bodies or roles whose joints do not turn.
        exact: Frames that stay exactly as they are.
        terrain: The ground as it lies, or as text ("slope:10"): then it begins at the clip's start and rises in its
            direction of travel. If not given: what the clip carries, else flat at `floor`.
        floor: Height of level ground [m]; found if not given.
        contacts: Which contact point touches in which frame, shape (F, P), or the touches by name (`Touches`), such as
            {"LeftHand": ["0.8:1.2"]}; nothing else carries then, at any height. "0.8:1.2 grip" may pull, too. Found if
            not given.
        scene: What stands around and bears load, too (`poise.synthesis.load_scene`): walls, boxes, bars and holds.
            Hands may pull at bars and holds. Its floor does not count: the ground is that of the clip, or `floor`.
        friction: Coulomb coefficient, of everything.
        gravity: Downward [m/s²].
        flights: The flights that `jump` changes: "all", or first and last frame of each.
        jump: How these differ from those of the clip, such as "height +20%, turn +180deg"; under `gravity`. Take-off
            and landing follow. The clip gets the frames that this takes.
        trust_time: Repair even where flights fall so fast or slowly that the frame rate or the size must be wrong.
        verify: Check the result, and say in the report what is new; not where `jump` or `scene` is given.
        on_round: Called before each round of the search with how many are done, and how many there are at most.

    Raises:
        InvalidValue: if an argument makes no sense, or the clip's time base is in doubt.

    Example:
        >>> edited = poise.edit.repair(poise.load("walk.bvh"), budget=poise.edit.Budget.parse("joint 3deg"))
        >>> poise.save(edited.motion, "mended.bvh")

    Source: the lecture of [Hodgins1995]_ and Witkin and Kass 1988 ask for whole clips that obey Newton's law. Deviates:
    a clip is given, so contact forces are projected out and only its change is optimized.
    """
    scope = scope or Scope()
    if motion.frame_count < 8:
        raise NotForThisClip(f"A repair needs 8 frames or more; this clip has {motion.frame_count}.")
    body, lies = _ground(motion, character, terrain, floor)
    if isinstance(contacts, Mapping):
        flags = flags_of(contacts, motion.times, body)
        grips = flags_of(contacts, motion.times, body, only_grips=True)
    else:
        flags, grips = contacts, None
    how: dict[str, Any] = lies | {"contacts": flags, "friction": friction, "gravity": gravity, "scene": scene}
    seen = analyze(motion, body, **how)
    how["floor"] = seen.floor
    if not trust_time:
        # where flights are changed, `gravity` is that of the new ones
        _require_time(seen if jump is None else replace(seen, gravity=GRAVITY))
    wanted: list[dict[str, Any]] = []
    change = FlightChange.parse(jump) if isinstance(jump, str) else jump
    unchanged: list[str] = []
    amount, aloft = scope.amount, np.zeros(motion.frame_count, dtype=np.bool_)
    if change is not None:
        if scene is not None:
            raise InvalidValue("Flights are found without a scene; leave jump or scene out.")
        if scope.interval is not None or len(exact) or contacts is not None:
            raise InvalidValue("Flights that are changed move frames in time; leave interval, exact and contacts out.")
        if isinstance(flights, str):
            unchanged = [
                f"Flight {a}:{b} is not changed: {why}. If it is meant to fly, name it: --flight {a}:{b}."
                for (a, b), why in no_flights(motion, Flier.of(motion, body)).items()
            ]
        motion, wanted = directed(motion, body, change.by(amount), gravity, flights)
        seen, amount = analyze(motion, body, **how), 1.0
        aloft = np.zeros(motion.frame_count, dtype=np.bool_)
        for first, last in (w["frames"] for w in wanted):
            aloft[first : last + 1] = True
    elif not (isinstance(flights, str) and flights == "all"):
        raise InvalidValue("Flights are named, but not what changes in them; give jump= (--jump) as well.")
    for frame in exact:
        if not 0 <= frame < motion.frame_count:
            raise InvalidValue(f"Frame {frame} is not in the clip; it has frames 0 to {motion.frame_count - 1}.")
    asked = _complete(budget, body)
    still = {body.body_index(name) for name in freeze}
    ends, interval = find_loop(motion), _interval(motion, scope)
    # what is said of single frames, or lies at a place in the world, holds for one round only
    is_same_every_round = interval is None and flags is None and scene is None and change is None and not len(exact)
    goes_round = ends.is_loop and ends.mismatch < ANGLE and motion.duration < LONGEST_LOOP
    around = Round.of(motion, ends) if goes_round and is_same_every_round else None
    may = {
        "frozen": still | set(np.flatnonzero(_turn_limits(body, asked) < TINY).tolist()),
        "holds_root": 0 in still or asked.root < TINY,
        "held": _bodies_named(body, keep),
        "exact": exact,
        "interval": interval,
        "only_touches": flags is not None,
        "grips": grips,
    }

    def looked_at(clip: Motion, beside: int) -> Analysis:
        """The clip, with so many frames of the rounds beside it if it is a loop."""
        return analyze(with_rounds(clip, ends, beside) if beside else clip, body, **how)

    # of a loop three rounds in a row are measured, with their seams
    beside = 0 if around is None else motion.frame_count - 2

    def measured(clip: Motion) -> dict[str, Any]:
        return measures(looked_at(clip, beside), interval, only_touches=flags is not None, grips=grips)

    before = measured(motion)

    most = (len(WEIGHTS) + AGAIN) * (1 if around is None else 2)

    def count(done: int) -> None:
        if on_round is not None:
            on_round(done, most)

    def solved(round_: Round | None, holds_ends: bool, done: int = 0) -> _Answer:
        """The search, and its answer solved again, after so many rounds."""
        more = may | {"around": round_, "holds_ends": holds_ends, "aloft": None if round_ else aloft}
        frames = 0 if round_ is None else round_.frames
        problem = problem_of(seen if round_ is None else looked_at(motion, frames), **more)
        changed_by = partial(_changed_by, motion, body, problem.figure, problem.spline, tuple(exact))
        limits = _limits(problem, asked, budget)
        states, curve = search(problem, limits, lambda number: count(done + number))
        # who names a budget or an interval has decided already
        in_vain = budget is None and interval is None and not wanted and is_in_vain(curve[0], curve[-1])
        number = 0 if in_vain else len(curve) - 1
        chosen = states[number]
        for again in range(AGAIN if number else 0):
            count(done + len(WEIGHTS) + again)
            # the changed clip is looked at anew: its contacts and its low-pass are no longer quite those of the clip
            anew = problem_of(looked_at(changed_by(chosen), frames), made=chosen, **more)
            same = ("origins", "room", "lift", "looked", "path", "price", "ease")
            anew = replace(anew, **{name: getattr(problem, name) for name in same})
            chosen, curve[number] = within(anew, chosen, curve[number].weight, limits, rounds=ROUNDS[1])
        if number and curve[number].left >= curve[0].left:  # the changed clip touches elsewhere
            number, chosen = 0, states[0]
        after = measured(changed_by(chosen)) if number else before
        return _Answer(changed_by, states, curve, number, chosen, after)

    answer = solved(around, around is None and (ends.is_loop or ends.mismatch < NEAR_ENDS))
    said = ()
    if around is not None:
        # mending a seam may use up the budget that the rest of the round needs
        left, other = left_of(answer.after), solved(None, True, len(WEIGHTS) + AGAIN)
        # where the search gave up, as in `is_in_vain`, the other way has to leave as little as it asks for
        asked_for = 1.0 if answer.number or budget is not None else SHARE
        enough = min(left, asked_for * left_of(before))
        if other.number and left_of(other.after) < enough:
            answer, said = other, (SEAM_STAYS,)
        elif answer.number and left >= left_of(before):
            answer, said = answer._replace(number=0, chosen=answer.states[0], after=before), (IN_ROUNDS,)
    count(most)
    changed_by, states, curve, number, chosen, in_full = answer
    held = seen.touch.grips if grips is None else seen.touch.grips | grips
    allowed = {name: value for name, value in (asked.limits | dict(asked.parts)).items() if math.isfinite(value)}

    def edited_by(amount: float) -> Edited:
        result = changed_by(chosen, amount)
        changes = Changes.between(motion, result, root_mover(body))
        report = report_of(
            "repair",
            motion,
            result,
            changes,
            settings={
                "amount": amount,
                "interval": scope.interval,
                "keep": list(keep),
                "freeze": list(freeze),
                "exact": sorted(exact),
                "friction": friction,
                "gravity": gravity,
                "low_pass": str(seen.filter),
                "low_pass_hz": seen.filter.hz,
                "weight": curve[number].weight,
                "budget": allowed,
                "loop": ends.is_loop,
            },
            before=before,
            after=(in_full if amount == 1.0 else measured(result)) | _changed(changes),
            kept={"exact_frames": len(exact), "loop": ends.is_loop},
            budget=budget,
            character=body,
            amount=amount,
            notes=_notes(seen, curve, number, in_full["force_rms"], said),
        )
        report.data["contacts"] = touches_of(seen.touch.flags, motion.times, body, held)
        report.data["curve"] = [point.report() for point in curve]
        report.data["chosen"] = number
        return Edited(result, replace(report, motions=partial(_choices, changed_by, states, number, result)))

    edited = edited_by(amount)
    if change is not None:
        report = edited.report.data
        report["settings"] |= {"amount": scope.amount, "jump": asdict(change)}
        report["flights"] = reached(wanted, edited.motion, body)
        report["notes"] += unchanged + flight_notes(report["flights"], NEAR * body.leg_scale)
    if not verify or not number or wanted or scene is not None:
        return edited
    ground = terrain if isinstance(terrain, str) else None
    return verified(edited, motion, character, edited_by, floor=floor, terrain=ground)


def _changed_by(
    motion: Motion,
    body: Character,
    figure: Figure,
    spline: Spline,
    exact: Sequence[int],
    coefficients: Array,
    amount: float = 1.0,
) -> Motion:
    """The clip with a part of the offsets of these coefficients."""
    offsets = amount * spline.evaluate(coefficients, motion.times)
    offsets[list(exact)] = 0.0
    return apply_offsets(body, motion, offsets, figure)


def _choices(
    changed_by: Callable[[Array], Motion], states: Sequence[Array], number: int, chosen: Motion
) -> tuple[Motion, ...]:
    """The clip at each point of the curve."""
    return tuple(chosen if k == number else changed_by(state) for k, state in enumerate(states))


def _limits(problem: Problem, asked: Budget, given: Budget | None) -> Limits:
    """What each offset may be at most. Without a budget of its own, less for what hardly moves in the clip."""
    figure, body = problem.figure, problem.character
    named = Budget() if given is None else given
    own = {j for joints in named.joints_of(body.skeleton, body).values() for j in joints}
    room, most = problem.ease, np.empty(figure.size)
    most[:3] = asked.root * (1.0 if math.isfinite(named.root) else room[:3])
    for b, limit in enumerate(_turn_limits(body, asked)):
        is_named = (
            math.isfinite(named.joint) or body.bodies[b].joint in own or (b == 0 and math.isfinite(named.root_turn))
        )
        columns = figure.columns(b)
        most[columns] = limit * (1.0 if is_named else room[columns])
    # splines may swing between the frames that are looked at: a percent is kept free
    return Limits(0.99 * np.maximum(most, TINY), max(asked.joint, TINY))


def _turn_limits(body: Character, budget: Budget) -> Array:
    """How far each body's joint may turn [rad], shape (B,)."""
    limits = np.full(len(body.bodies), budget.joint)
    limits[0] = budget.root_turn if math.isfinite(budget.root_turn) else budget.joint
    of_joint = {b.joint: k for k, b in enumerate(body.bodies)}
    for name, joints in budget.joints_of(body.skeleton, body).items():
        for joint in joints:
            if joint in of_joint:
                limits[of_joint[joint]] = budget.parts[name]
    return limits


def measures(
    seen: Analysis,
    interval: tuple[float, float] | None = None,
    *,
    only_touches: bool = False,
    grips: Flags | None = None,
) -> dict[str, Any]:
    """What a clip asks of the world beyond what its contacts can give, found anew from the clip alone."""
    problem = problem_of(seen, interval=interval, only_touches=only_touches, grips=grips)
    state = look(problem, np.zeros((problem.spline.count, problem.figure.size)))
    here = point_of(problem, state, 0.0)
    return {"force_rms": here.force, "moment_rms_Nm": here.moment, "stance_slip_rms_m": here.slip}


def left_of(measured: Mapping[str, float]) -> float:
    """Force and moment of `measures` together, as `Point.left` [1]."""
    return together(measured["force_rms"], measured["moment_rms_Nm"])


def _changed(changes: Changes) -> dict[str, float]:
    others = np.delete(changes.angles, changes.root, axis=1)
    turning = others[:, (others > 0.0).any(axis=0)]
    return {
        "joint_change_rms_deg": math.degrees(float(np.sqrt(np.mean(turning**2)))) if turning.size else 0.0,
        "joint_change_max_deg": math.degrees(float(others.max(initial=0.0))),
        "root_change_rms_m": float(np.sqrt(np.mean(changes.root_moved**2))),
        "root_change_max_m": float(changes.root_moved.max()),
    }


def _ground(
    motion: Motion, character: Character | None, terrain: Terrain | str | None, floor: float | None
) -> tuple[Character, dict[str, Any]]:
    """The character, and where the ground lies as `analyze` takes it."""
    if isinstance(terrain, Terrain):
        return character or fit(motion), {"floor": None, "terrain": terrain}
    if terrain is None and (floor is not None or carried_ground(motion) is None):
        return character or fit(motion), {"floor": floor, "terrain": None}
    seen = on_ground(motion, Wanted(floor=floor, terrain=terrain), character)
    return seen.character, {"floor": seen.floor, "terrain": seen.terrain}


def _complete(budget: Budget | None, body: Character) -> Budget:
    """The budget with what was not said filled in from the default."""
    root = DEFAULT_BUDGET.root * body.leg_scale
    if budget is None:
        return replace(DEFAULT_BUDGET, root=root)
    joint = budget.joint if math.isfinite(budget.joint) else DEFAULT_BUDGET.joint
    return replace(budget, joint=joint, root=budget.root if math.isfinite(budget.root) else root)


def _interval(motion: Motion, scope: Scope) -> tuple[float, float] | None:
    if scope.interval is None:
        return None
    first, last = scope.frames(motion)
    return float(motion.times[first]), float(motion.times[last])


def _bodies_named(body: Character, names: Sequence[str]) -> tuple[int, ...]:
    """Bodies that names mean: a body or role, the last body of a limb, or "hands", "feet" for both."""
    ends = {limb.name: limb.bodies[-1] for limb in body.limbs}
    found: list[int] = []
    for name in names:
        word = name.strip().lower()
        role = {"hands": "hand", "feet": "foot"}.get(word)
        many = [index for r, index in body.roles.items() if role and r.endswith(role)]
        found += many or [ends[word] if word in ends else body.body_index(name)]
    return tuple(dict.fromkeys(found))


def _require_time(seen: Analysis) -> None:
    """Refuse a clip whose flights fall so fast or so slowly that its frame rate, unit or gravity must be wrong."""
    share = wrong_gravity(seen)
    if share is None:
        return
    rate = seen.motion.fps / math.sqrt(share)
    raise InvalidValue(
        f"The clip's flights fall with {share:.2g} times gravity: its frame rate or its size is wrong, and a repair "
        f"would hide that. At {rate:.4g} frames a second they would fall with {seen.gravity:.3g} m/s². Give "
        "--source-fps (fps= of poise.load), --unit, or --gravity; --trust-time (trust_time=True) repairs it as it is."
    )


def _notes(seen: Analysis, curve: Sequence[Point], number: int, force: float, said: Sequence[str]) -> tuple[str, ...]:
    """What was said of a loop; why the clip is left as it is, or what is still missing; how that is measured."""
    notes = list(said)
    if IN_ROUNDS not in said and (left := _left(curve, number, force)):
        notes.append(left)
    if drift := float(np.linalg.norm(in_place_velocity(seen.motion))):
        froude = drift**2 / (GRAVITY * seen.character.leg_length)
        notes.append(
            f"It goes on the spot: force and moment are those of going at {drift:.2g} m/s (Froude number {froude:.2g}) "
            "over ground at rest."
        )
    share, unsure = share_of_gravity(seen)
    least, most = PLAUSIBLE_GRAVITY
    if force > MUCH and share > unsure and not least <= share <= most:
        notes.append(
            f"The flights fall with {share:.2g} ± {unsure:.1g} times gravity, so the frame rate may be wrong. "
            f"With --source-fps {seen.motion.fps / math.sqrt(share):.3g} they would fall with {seen.gravity:.3g} m/s²."
        )
    if seen.filter.is_on:
        notes.append(f"Force and moment are measured after a low-pass ({seen.filter}), before and after alike.")
    return tuple(notes)


def _left(curve: Sequence[Point], number: int, force: float) -> str:
    """Why the clip is left as it is, or what is missing (`force`, measured, over the weight); empty if little is."""
    start, chosen, best = curve[0], curve[number], curve[-1]
    if len(curve) == 1 and start.left < ENOUGH:
        return "The clip is physical already; it is left as it is."
    if len(curve) == 1:
        return "No change within the budget makes the clip more physical; it is left as it is."
    if not number and start.left < HARDLY:
        return "Hardly any force or moment is missing, and a change would buy little; the clip is left as it is."
    if not number and best.left >= start.left:
        return (
            "The repaired clip touches at other times, so as much force and moment is missing; it is left as it is. "
            "Say what touches when (--contacts), or allow less change (--budget)."
        )
    if not number:
        return (
            f"Force without a support is {100.0 * start.force:.0f} % of the weight, and the usual budget would only "
            f"bring it to {100.0 * best.force:.0f} %, so the clip is left as it is. Are its contacts and frame rate "
            "right (--contacts, --source-fps)? With a --budget of your own, the repair changes all that it allows."
        )
    if force > MUCH:
        why = (
            "the budget is used up. A larger --budget goes on."
            if chosen.force > MUCH
            else "the repaired clip touches at other times than it was solved for, such as where a limb goes deep."
        )
        return (
            f"{100.0 * force:.0f} % of the weight is still held by nothing: {why} Glitches, wrong contacts or a wrong "
            "rate cannot be repaired (poise check names them)."
        )
    return ""
