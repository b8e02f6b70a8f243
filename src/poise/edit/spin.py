"""Constant angular momentum in flight: by turning the figure as a whole, or by swinging its limbs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from poise.analysis.angular_momentum import Tumble
from poise.analysis.momentum import center_of_mass
from poise.body.character import Character
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.edit.budget import Budget, Scope
from poise.edit.flight import Figure, Span, choose_flights
from poise.edit.report import Changes, Edited, report_of, verified
from poise.edit.spin_flight import (
    SpinFlight,
    Spun,
    checked_momentum,
    flight_measures,
    natural_scale,
    spin_by_root,
    spin_flight,
)
from poise.edit.spin_pose import spin_by_pose


def spin(
    motion: Motion,
    character: Character | None = None,
    *,
    flights: str | Sequence[Span] = "all",
    momentum: str | Array = "mean",
    by: str = "root",
    priority: Sequence[int] = (),
    limbs: Sequence[str] = (),
    damping: float = 1.0,
    scope: Scope | None = None,
    budget: Budget | None = None,
    verify: bool = True,
) -> Edited:
    """Give each flight a constant angular momentum about its center of mass; in flight its path stays as it is.

    By the root, the figure turns as a whole in every frame and no joint angle changes in flight. The first frame of a
    flight keeps its pose, or the priority frames do; between two frames that keep it, the momentum is the constant
    that leads from one to the other. What the last frame is turned by fades after the flight, while the legs keep
    feet that touch there where they were.

    By the pose, limbs swing in the least-squares sense and within the joint limits, the trunk keeps its orientation,
    and the first and last frame of the flight and the priority frames keep their poses. A flight of which they can
    take next to nothing is left as it is, and the report says so.

    Example:
        >>> hop = poise.load(poise.sample_path("hover_hop"))
        >>> edited = poise.edit.spin(hop, momentum="takeoff", verify=False)

    Args:
        motion: F frames.
        character: Fitted to the motion if not given.
        flights: "all", or first and last frame of each.
        momentum: "mean" of the flight, "takeoff", or the vector [kg m²/s], shape (3,), world, Z up.
        by: "root" or "pose".
        priority: Frames whose pose must survive.
        limbs: With "pose", names of the limbs that may swing; arms and tails if empty (legs where there are none).
        damping: γ of the Newton steps, 0 < γ ≤ 1.
        scope: Amount, interval and blend.
        budget: What may change at most.
        verify: Check the result, and say in the report what is new.

    Raises:
        InvalidValue: if there is no flight, or an argument makes no sense.
        UnknownName: if a limb is none of the character's.
        PoiseError: if no turns of the root give the momentum asked for.
        BudgetExceeded: if more would change than the budget allows.

    Source: [ShapiroLee2011]_ "The Angular-Momentum Tool"; by the pose is what the paper leaves open.
    """
    scope = scope or Scope()
    if by not in ("root", "pose"):
        raise InvalidValue(f"by is {by!r}; give 'root' or 'pose'.")
    if by == "root" and len(limbs):
        raise InvalidValue(
            "The whole figure turns by the root, and no limb swings; leave limbs out, or give by='pose'."
        )
    if not 0.0 < damping <= 1.0:
        raise InvalidValue(f"damping is {damping}; give a number above 0 and up to 1.")
    asked = checked_momentum(momentum)
    figure = Figure.of(motion, character)
    body = figure.character
    if body is None:
        raise InvalidValue("An object without a shape has no angular momentum; give it a character: poise character.")
    spans = choose_flights(motion, figure, flights, scope)
    _require_priority(priority, spans)
    com = center_of_mass(motion, body)
    aloft = [spin_flight(motion, body, span, asked) for span in spans]
    if scope.amount == 0.0:
        spun = Spun(motion)
    elif by == "root":
        spun = spin_by_root(motion, body, figure.root, com, aloft, priority=priority, damping=damping, scope=scope)
    else:
        spun = spin_by_pose(
            motion, body, figure.root, com, aloft, priority=tuple(priority), limbs=tuple(limbs), amount=scope.amount
        )
    changes = Changes.between(motion, spun.motion, figure.root)
    kept = spun.kept | _kept(body, com, spun.motion, changes, spans, priority, is_by_root=by == "root")
    scale = natural_scale(body)
    report = report_of(
        "spin",
        motion,
        spun.motion,
        changes,
        settings={
            "momentum": momentum,
            "by": by,
            "priority": list(priority),
            "limbs": list(limbs),
            "amount": scope.amount,
            "blend_s": scope.blend,
            "interval": scope.interval,
            "scale_kg_m2_s": scale,
        },
        before={"flights": [flight_measures(motion, f, f.tumble, scale) for f in aloft]},
        after={"flights": _after(motion, body, aloft, spun, scale, is_whole=scope.amount == 1.0)},
        kept=kept,
        budget=budget,
        amount=scope.amount,
        notes=spun.notes,
    )
    edited = Edited(spun.motion, report)

    def less(amount: float) -> Edited:
        part = replace(scope, amount=amount)
        return spin(
            motion,
            character,
            flights=spans,
            momentum=momentum,
            by=by,
            priority=priority,
            limbs=limbs,
            damping=damping,
            scope=part,
            verify=False,
        )

    return verified(edited, motion, character, less) if verify else edited


def _after(
    motion: Motion, body: Character, aloft: Sequence[SpinFlight], spun: Spun, scale: float, *, is_whole: bool
) -> list[dict[str, object]]:
    """What the report says of each flight afterwards; how exact the solver was, where all of the edit was made."""
    targets = spun.targets if is_whole and spun.targets else [None] * len(aloft)
    return [flight_measures(motion, f, Tumble.of(spun.motion, body, *f.span), scale, t) for f, t in zip(aloft, targets)]


def _kept(
    body: Character,
    com: Array,
    result: Motion,
    changes: Changes,
    spans: tuple[Span, ...],
    priority: Sequence[int],
    *,
    is_by_root: bool,
) -> dict[str, float]:
    """What was promised: the path in flight, poses of priority frames, and by the root all joint angles in flight."""
    flying = np.concatenate([np.arange(a, b + 1) for a, b in spans])
    moved = (center_of_mass(result, body) - com)[flying]
    posed = list(priority) or [s[0] for s in spans]
    kept = {
        "com_path_error_max_m": float(np.linalg.norm(moved, axis=1).max()),
        "priority_angle_max_deg": math.degrees(float(changes.angles[posed].max())),
    }
    if is_by_root:
        others = np.delete(changes.angles[flying], changes.root, axis=1)
        kept["joint_angle_in_flight_max_deg"] = math.degrees(float(others.max(initial=0.0)))
    return kept


def _require_priority(priority: Sequence[int], spans: tuple[Span, ...]) -> None:
    for frame in priority:
        if not any(a <= frame <= b for a, b in spans):
            listed = ", ".join(f"{a}:{b}" for a, b in spans)
            raise InvalidValue(f"Priority frame {frame} is in no flight that is edited: {listed}.")
