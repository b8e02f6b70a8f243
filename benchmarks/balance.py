"""Bars on staying upright: `python -m benchmarks.balance [PART …]`.

Parts: literal, steps, random, ice, child, weights, quiet (center of pressure of a figure that stands for a minute).

A push is 0.1 s at the chest; the reaction delay of 0.2 s and torque limits are on. A figure has survived that has not
fallen 5 s after the push, or stands still before. Forces on a child are in proportion to its mass.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np

from poise.body.character import figure
from poise.core.typing import Array
from poise.filter.forces import Push
from poise.goals.lists import Weights
from poise.goals.state_machine import StateMachine
from poise.synthesis.behaviors import BEHAVIORS
from poise.synthesis.behaviors.behavior import Behavior
from poise.synthesis.figure import Settings
from poise.synthesis.run import synthesize
from poise.synthesis.world import World

ROUND = (0, 45, 90, 135, 180, 225, 270, 315)
STILL, CALM = 0.06, 30
"""A figure whose every joint and root speed stays below this for so many steps stands still."""


class Shove(NamedTuple):
    """A push: size [N], heading [deg] (0 from the back, 90 from its right), start [s]."""

    force: float
    heading: float
    start: float = 1.0

    def push(self) -> Push:
        way = np.radians(self.heading)
        force = (float(self.force * np.cos(way)), float(self.force * np.sin(way)), 0.0)
        return Push("chest", force, self.start, 0.1)


class Outcome(NamedTuple):
    """What became of it: survived, steps taken, largest penetration [m], contact work over joint work, failures."""

    survived: bool
    steps: int
    penetration: float
    work: float
    failures: int
    root: float


def outcome(behavior: Any, shove: Shove, *, child: bool = False, settings: Settings | None = None) -> Outcome:
    """Push a figure once and see."""
    calm, rested, low = 0, False, False

    def watch(world: World) -> None:
        nonlocal calm, rested, low
        body = world.figures[0].body
        late = world.time > shove.start + 1.5
        calm = calm + 1 if late and np.abs(world.v).max() < STILL else 0
        rested = calm >= CALM
        low = float(world.state.com(body.root)[2]) < 0.6 * body.com_height
        if rested or low:
            raise KeyboardInterrupt

    who = figure("child") if child else None
    if who is not None:
        shove = shove._replace(force=shove.force * who.mass / 70.0)
    result = synthesize(
        behavior, who, pushes=[shove.push()], seconds=shove.start + 5.1, settings=settings, on_step=watch
    )
    report = result.report
    survived = report["fell"] is None and not low and (rested or result.is_complete)
    return Outcome(
        survived, report["steps_taken"], report["penetration_max_m"], report["contact_work_ratio"],
        report["solver"]["failures"], report["root_residual_max"]["force_N"],
    )  # fmt: skip


def table(title: str, behavior: Any, sizes: Sequence[float], headings: Sequence[float] = ROUND, **more: Any) -> None:
    """A table of sizes and headings: steps taken, or "falls"."""
    print(
        f"## {title}\n| push N | "
        + " | ".join(f"{h}°" for h in headings)
        + " |\n|---" * 1
        + "|---" * len(headings)
        + "|"
    )
    worst: list[Outcome] = []
    for size in sizes:
        row = [outcome(behavior, Shove(size, h), **more) for h in headings]
        worst += row
        print(f"| {size:g} | " + " | ".join(str(o.steps) if o.survived else "falls" for o in row) + " |", flush=True)
    _worst(worst)


def _worst(outcomes: Sequence[Outcome]) -> None:
    upright = [o for o in outcomes if o.survived] or list(outcomes)
    print(
        f"{sum(o.survived for o in outcomes)} of {len(outcomes)} survive; of those at most: penetration "
        f"{1e3 * max(o.penetration for o in upright):.2f} mm, contact work {100 * max(o.work for o in upright):.2f} %, "
        f"root {max(o.root for o in upright):.1e} N; failures {sum(o.failures for o in outcomes)}",
        flush=True,
    )


def shoves(seed: int, count: int, low: float, high: float) -> Iterator[Shove]:
    """Random pushes; final numbers use a seed nothing was tuned on."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        yield Shove(random.uniform(low, high), np.degrees(random.uniform(0.0, 2.0 * np.pi)), random.uniform(0.5, 1.5))


def random(seed: int, count: int, low: float, high: float) -> None:
    """Survival of random pushes."""
    outcomes = []
    for shove in shoves(seed, count, low, high):
        outcomes.append(outcome("step", shove))
        if not outcomes[-1].survived:
            print(f"    falls: {shove.force:.0f} N at {shove.heading:.0f}°", flush=True)
    print(f"## {count} random pushes of {low:g} … {high:g} N, seed {seed}")
    _worst(outcomes)


def changed(machine: StateMachine, factor: float) -> Iterator[tuple[str, StateMachine]]:
    """The controller with one weight changed at a time, each with the weight's name."""
    for s, state in enumerate(machine.states):
        for w, goal in enumerate(state.goals):
            weight = getattr(goal, "weight", None)
            if weight is None or state.name == "fallen":
                continue
            goals = (*state.goals[:w], replace(goal, weight=factor * weight), *state.goals[w + 1 :])  # type: ignore[call-arg]
            states = (*machine.states[:s], replace(state, goals=goals), *machine.states[s + 1 :])
            yield f"{state.name}: {type(goal).__name__}({weight:g})", StateMachine(machine.name, states)


def weights(seed: int, count: int, low: float, high: float) -> None:
    """Survival of the same pushes with each weight halved and doubled."""
    pushed = list(shoves(seed, count, low, high))
    setup = BEHAVIORS["step"].setup()
    machine = setup.roles[0].machine

    def survived(machine: StateMachine, general: Weights) -> int:
        role = replace(setup.roles[0], machine=machine)
        behavior = Behavior("step", "", lambda _: replace(setup, roles=(role,)))
        settings = Settings(weights=general)
        return sum(outcome(behavior, shove, settings=settings).survived for shove in pushed)

    print(f"## Each weight × ½ and × 2, {count} pushes of {low:g} … {high:g} N, seed {seed}")
    print(f"as they are: {survived(machine, Weights())}\n| weight | × ½ | × 2 |\n|---|---|---|", flush=True)
    for (name, less), (_, more) in zip(changed(machine, 0.5), changed(machine, 2.0), strict=True):
        print(f"| {name} | {survived(less, Weights())} | {survived(more, Weights())} |", flush=True)
    for field in fields(Weights):
        value = getattr(Weights(), field.name)
        counts = [survived(machine, replace(Weights(), **{field.name: k * value})) for k in (0.5, 2.0)]
        print(f"| {field.name} ({value:g}) | {counts[0]} | {counts[1]} |", flush=True)


SETTLES = 5.0
"""What a figure does in its first seconds is left out [s]."""
PEOPLE = {"rms": ((2.8, 8.9), (1.1, 5.6)), "speed": ((3.6, 18.5), (1.8, 6.7))}
"""Least and largest of 14 young adults, eyes open, 60 s, ahead and aside [mm], [mm/s]: docs/synthesis.md."""


def sway(cop: Array, dt: float) -> dict[str, Array]:
    """Center of pressure of quiet standing as force plates report it, low-passed at 10 Hz, ahead and aside.

    Args:
        cop: Of each frame [m], shape (F, 2).
        dt: Between frames [s].

    Returns:
        "rms" [mm], mean "speed" [mm/s], and "median" and "most": the frequencies [Hz] below which half and 95 % of the
        power from 0.1 Hz on lies; each shape (2,).
    """
    from scipy.signal import butter, sosfiltfilt, welch  # half a second to import

    places = 1e3 * sosfiltfilt(butter(2, 20.0 * dt, output="sos"), cop, axis=0)
    places -= places.mean(axis=0)
    frequencies, power = welch(places, 1.0 / dt, nperseg=min(len(places), 2048), axis=0)
    share = np.cumsum(power[frequencies > 0.1], axis=0)
    share /= share[-1]
    frequencies = frequencies[frequencies > 0.1]
    return {
        "rms": np.sqrt((places**2).mean(axis=0)),
        "speed": np.abs(np.diff(places, axis=0)).mean(axis=0) / dt,
        "median": frequencies[(share < 0.5).sum(axis=0)],
        "most": frequencies[(share < 0.95).sum(axis=0)],
    }


def quiet(seeds: Sequence[int]) -> None:
    """Sway of figures that stand for a minute, against people's."""
    print("## Standing for 60 s: ahead and aside\n| behavior | seed | rms mm | speed mm/s | median Hz | 95 % Hz |")
    print("|---|---|---|---|---|---|", flush=True)
    for name in ("balance", "step"):
        for seed in seeds:
            result = synthesize(name, seconds=60.0 + SETTLES, options={"seed": seed})
            pressed = result.trace.forces[:, :, 2:]
            cop = (pressed * result.trace.points[:, :, :2]).sum(axis=1) / pressed.sum(axis=1)
            found = sway(cop[round(SETTLES / 0.01) :], 0.01)
            cells = " | ".join(f"{a:.2f}, {b:.2f}" for a, b in found.values())
            within = all(low < x < high for k, (*pairs,) in PEOPLE.items() for x, (low, high) in zip(found[k], pairs))
            print(f"| {name} | {seed} | {cells} | {'within' if within else 'OUTSIDE'}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["literal", "steps", "random", "ice", "child", "weights"])
    fresh = int(np.random.SeedSequence().generate_state(1)[0])
    parser.add_argument("--seed", type=int, default=fresh, help="a fresh one if not given; it is printed")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--low", type=float, default=100.0)
    parser.add_argument("--high", type=float, default=300.0)
    wanted = parser.parse_args()
    for part in wanted.parts:
        if part == "literal":
            literal = Settings(is_literal=True)
            table("In place, the paper's weights", "balance", (75, 150, 250), (0, 90, 180, 270), settings=literal)
        elif part == "steps":
            table("Steps", "step", (150, 300, 400, 450))
        elif part == "ice":
            table("Ice, friction 0.2", "ice", (150, 300), (0, 90, 180, 270))
        elif part == "child":
            table("Child, steps", "step", (150, 300), (0, 90, 180, 270), child=True)
        elif part == "quiet":
            quiet(range(wanted.seed % 1000, wanted.seed % 1000 + 3))
        elif part == "random":
            random(wanted.seed, wanted.count, wanted.low, wanted.high)
        else:
            weights(wanted.seed + 1, max(4, wanted.count // 10), wanted.low, wanted.high)


if __name__ == "__main__":
    main()
