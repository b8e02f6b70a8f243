"""What a person sees of figures that goals move, as numbers, with fresh seeds.

    python -m benchmarks.reactions [PART …] [--seed N] [--count 12]

Parts: recoveries (steps after pushes), falls, arms, foot (on one foot), walls, car, dodge, ice, files (the controllers
in `examples/controllers`), scenes (away from their defaults, the same in every run). A push lasts 0.1 s at the chest of
the built-in adult unless a row says otherwise. Forces are those of steps of 0.01 s, in body weights (BW), not filtered.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poise.body.posing import body_positions
from poise.core import rotations
from poise.core.skeleton import world_pose
from poise.filter.forces import Push
from poise.synthesis.run import SynthesisResult, synthesize
from poise.synthesis.scene_file import load_scene

Array = npt.NDArray[np.float64]
DT, START = 0.01, 0.5
NEAR = 0.002
"""A point of a sole that is no higher over the floor touches it [m]."""
SIDES = ("left", "right")
UP = ("follow", "bring up")
"""States in which a foot is brought up."""
EXAMPLES = Path(__file__).parents[1] / "examples" / "controllers"


def shove(size: float, heading: float, body: str = "chest", start: float = START) -> Push:
    """A level push [N] toward a heading [deg], 0 from the back, 90 toward the figure's left."""
    way = np.radians(heading)
    return Push(body, (float(size * np.cos(way)), float(size * np.sin(way)), 0.0), start, 0.1)


def soles(result: SynthesisResult, side: str) -> list[int]:
    """Contact points of a foot."""
    character = result.character
    foot = {character.roles[role] for role in (f"{side}_foot", f"{side}_toe") if role in character.roles}
    return [k for k, p in enumerate(character.contact_points) if p.part == "foot" and p.body in foot]


def yaw(result: SynthesisResult, side: str) -> Array:
    """How far a foot is turned outward against where it began, in each frame [deg]."""
    motion, body = result.motion, result.character.bodies[result.character.roles[f"{side}_foot"]]
    turns = world_pose(motion.skeleton, motion.translations, motion.rotations)[1][:, body.joint]
    turn = rotations.multiply(turns, rotations.conjugate(turns[:1].repeat(len(turns), axis=0)))
    angle = 2.0 * np.degrees(np.arctan2(turn[:, 3], turn[:, 0]))
    angle = (angle + 180.0) % 360.0 - 180.0
    return angle if side == "left" else -angle


def scrape(result: SynthesisResult, side: str, first: int = 0) -> float:
    """Longest way of a point of a sole along the floor in one go while it touches [m]."""
    points = result.trace.points[first:, soles(result, side)]
    moved = np.linalg.norm(np.diff(points[..., :2], axis=0), axis=2)
    touches = points[1:, :, 2] < points[0, :, 2].min() + NEAR
    longest, run = 0.0, np.zeros(moved.shape[1])
    for way, on in zip(moved, touches, strict=True):
        run = np.where(on, run + np.where(way > 1e-4, way, 0.0), 0.0)
        longest = max(longest, float(run.max()))
    return longest


def pressed(result: SynthesisResult) -> Array:
    """Vertical force of all contacts in each step, in body weights, shape (S,)."""
    own = result.trace.owners == 0
    return result.trace.forces[:, own, 2].sum(axis=1) / (9.81 * result.character.mass)


def foot_speeds(result: SynthesisResult) -> Array:
    """Speed of the middle of each foot in each step [m/s], shape (S − 1, 2)."""
    middles = np.stack([result.trace.points[:, soles(result, side)].mean(axis=1) for side in SIDES], axis=1)
    return np.linalg.norm(np.diff(middles, axis=0), axis=2) / DT


def stood(result: SynthesisResult) -> bool:
    return result.report["fell"] is None and result.is_complete


class Recovery(NamedTuple):
    """How a recovery went.

    Attributes:
        steps, brought: Steps taken, feet brought up.
        turned: How far a foot is turned in the end against where it began [deg].
        apart: How much farther apart the feet are in the end [cm].
        landing: Largest force after the push [BW].
        scraped: Longest way of a point of a sole that touches [cm].
        hurried: Largest speed of a foot that is brought up [m/s].
        pause: Longest rest between two moves of a foot [s].
        over: When the last foot stands, after the push [s].
    """

    steps: int
    brought: int
    turned: float
    apart: float
    landing: float
    scraped: float
    hurried: float
    pause: float
    over: float


def recovery(result: SynthesisResult) -> Recovery:
    """Measure one."""
    names, began, speeds = [v.name for v in result.visits], round(START / DT), foot_speeds(result)
    moving = np.flatnonzero((speeds > 0.1).any(axis=1))
    gaps = np.diff(moving[moving > began])
    spread = [
        float(np.linalg.norm(np.subtract(*(result.trace.points[k, soles(result, s)].mean(axis=0) for s in SIDES))))
        for k in (0, -1)
    ]
    brought = [speeds[round(v.start / DT) : round(v.end / DT)] for v in result.visits if v.name in UP]
    return Recovery(
        names.count("take step"),
        sum(name in UP for name in names),
        max(float(abs(yaw(result, side)[-1])) for side in SIDES),
        100.0 * (spread[1] - spread[0]),
        float(pressed(result)[began:].max()),
        100.0 * max(scrape(result, side, began) for side in SIDES),
        max((float(each.max()) for each in brought if each.size), default=0.0),
        float(gaps.max()) * DT if len(gaps) else 0.0,
        float(moving.max()) * DT - START if len(moving) else 0.0,
    )


def row(*cells: object) -> None:
    """Print a row of a table."""
    print("| " + " | ".join(f"{c:.2f}" if isinstance(c, float) else str(c) for c in cells) + " |", flush=True)


def head(title: str, *names: str) -> None:
    """Print a title and the head of a table."""
    print(f"## {title}")
    row(*names)
    print("|---" * len(names) + "|")


def recoveries(random: np.random.Generator, count: int) -> None:
    """Random pushes."""
    head("Steps: pushes of 200 … 450 N from any side, 8 s", "push", *Recovery._fields)
    rows: list[Recovery] = []
    for _ in range(count):
        size, heading = random.uniform(200.0, 450.0), random.uniform(0.0, 360.0)
        result = synthesize("step", pushes=[shove(size, heading)], seconds=8.0)
        if stood(result):
            rows.append(recovery(result))
            row(f"{size:.0f} N at {heading:.0f}°", *rows[-1])
        else:
            row(f"{size:.0f} N at {heading:.0f}°", "falls")
    row(f"median of {len(rows)}", *np.median(np.array(rows), axis=0).tolist())
    row("most", *np.array(rows).max(axis=0).tolist())


BODIES = ("chest", "pelvis", "head", "left_hand", "right_elbow", "left_knee", "right_foot", "left_shoulder")


def falls(random: np.random.Generator, count: int) -> None:
    """Pushes that few stand."""
    columns = ("fell s", "energy unexplained J", "rises again cm", "at rest after s", "BW")
    head("Falls: pushes of 400 … 900 N at any body, 5 s", "push", *columns)
    for k in range(count):
        behavior, body = ("balance", "step", "ice")[k % 3], str(random.choice(BODIES))
        size, heading = random.uniform(400.0, 900.0), random.uniform(0.0, 360.0)
        result = synthesize(behavior, pushes=[shove(size, heading, body, 0.2)], seconds=5.0)
        label, fell, energy = f"{behavior}, {body}, {size:.0f} N at {heading:.0f}°", result.report["fell"], None
        if fell is None:
            row(label, "stands")
            continue
        energy = result.report["energy"]
        heights, rest = result.trace.com[round(fell / DT) :, 0, 2], energy["at_rest_since"]
        again = 100.0 * float((heights - np.minimum.accumulate(heights)).max())
        most = float(pressed(result).max())
        row(label, fell, energy["unexplained_rise_max_J"], again, "never" if rest is None else rest - fell, most)


def swing(result: SynthesisResult, until: float = 0.6) -> str:
    """Largest turn of each upper arm within a time after the push [s], in the world [deg]."""
    places = body_positions(result.character, result.q)
    index, first, turns = result.character.body_index, round(START / DT), []
    for side in SIDES:
        arm = places[first:, index(f"{side}_elbow")] - places[first:, index(f"{side}_shoulder")]
        arm /= np.linalg.norm(arm, axis=1, keepdims=True)
        along = np.clip(arm[: round(until / DT)] @ arm[0], -1.0, 1.0)
        turns.append(f"{np.degrees(np.arccos(along)).max():.1f}")
    return ", ".join(turns)


def arms(random: np.random.Generator, count: int) -> None:
    """150 N at the chest, with and without the living layer."""
    head("Upper arms, 0.6 s after 150 N at the chest, left and right [deg]", "push", "with", "without")
    for behavior in ("balance", "step"):
        for heading in (0.0, 90.0, 180.0, 270.0, *random.uniform(0.0, 360.0, count // 2)):
            pushes = [shove(150.0, heading)]
            with_, without = (
                synthesize(behavior, pushes=pushes, seconds=1.2, options={"alive": a}) for a in (True, False)
            )
            row(f"{behavior}, at {heading:.0f}°", swing(with_), swing(without))


def foot(random: np.random.Generator, count: int) -> None:
    """On one foot, with other heights and the other foot."""
    head("On one foot, 6 s", "asked cm", "foot up", "raised cm", "scraped cm", "outcome")
    for k in range(max(count // 2, 1)):
        options = {"height": float(random.uniform(0.1, 0.5)), "left": bool(k % 2)}
        result = synthesize("one-foot", seconds=6.0, options=options)
        side = "right" if options["left"] else "left"
        points = result.trace.points[:, soles(result, side), 2]
        raised = 100.0 * float((points[-1] - points[0]).min())
        scraped, up = 100.0 * scrape(result, side), "up" if stood(result) else "falls"
        row(100.0 * options["height"], side, raised, scraped, up)


def run_row(label: str, result: SynthesisResult) -> None:
    """Print how a run went."""
    report = result.report
    supports = ", ".join(sorted({f"{s['body']}: {s['object']}" for s in report["supports"]}))
    outcome = "up" if stood(result) else f"fell at {report['fell']:.2f} s"
    hits, most = len(report["hits"]), float(pressed(result).max())
    row(label, outcome, supports, hits, report["steps_taken"], most, report["energy"]["unexplained_rise_max_J"])


RUN_COLUMNS = ("outcome", "touched or held", "hits", "steps", "BW", "energy J")


def walls(random: np.random.Generator, count: int) -> None:
    """Two walls, ahead and to the left, other distances."""
    head("Two walls, pushed toward them", "push, walls", *RUN_COLUMNS)
    for _ in range(count):
        size, heading = random.uniform(250.0, 400.0), random.uniform(-20.0, 90.0)
        ahead, left = random.uniform(0.45, 0.9), random.uniform(0.4, 0.8)
        options = {"wall.count": 2, "wall.distance": ahead, "wall2.distance": left}
        label = f"{size:.0f} N at {heading:.0f}°, {ahead:.2f} m ahead, {left:.2f} m to the left"
        run_row(label, synthesize("wall", pushes=[shove(size, heading)], seconds=5.0, options=options))


def car(random: np.random.Generator, count: int) -> None:
    """The cable car with other angles and bars."""
    head("Cable car", "rocks, bar", *RUN_COLUMNS)
    for _ in range(count):
        degrees, ahead, height = random.uniform(6.0, 15.0), random.uniform(-0.1, 0.45), random.uniform(1.6, 2.0)
        options = {"rock.degrees": degrees, "bar.ahead": ahead, "bar.height": height}
        run_row(f"{degrees:.1f}°, {ahead:.2f} m ahead, {height:.2f} m high", synthesize("cable-car", options=options))


def dodge(random: np.random.Generator, count: int) -> None:
    """Balls to be feared at other heights, straight on and from other sides."""
    head("Dodge", "ball", *RUN_COLUMNS)
    for k in range(count):
        aside, way = (random.uniform(-0.1, 0.1), random.uniform(-80.0, 80.0)) if k % 2 else (0.0, 0.0)
        height = random.uniform(0.9, 1.6)
        options = {"ball.height": height, "ball.aside": aside, "ball.from": way, "ball.harmful": True}
        run_row(f"{height:.2f} m high, {aside:.2f} m beside, from {way:.0f}°", synthesize("dodge", options=options))


def ice(random: np.random.Generator, count: int) -> None:
    """How far feet slip."""
    head("Ice, pushes of 200 … 400 N", "push, friction", "slipped cm", *RUN_COLUMNS[:1], "steps")
    for _ in range(count):
        size, heading, friction = random.uniform(200.0, 400.0), random.uniform(0.0, 360.0), random.uniform(0.1, 0.2)
        result = synthesize("ice", pushes=[shove(size, heading)], seconds=6.0, options={"friction": friction})
        slipped = 100.0 * max(scrape(result, side, round(START / DT)) for side in SIDES)
        label, up = f"{size:.0f} N at {heading:.0f}°, {friction:.2f}", "up" if stood(result) else "falls"
        row(label, slipped, up, result.report["steps_taken"])


def files(_random: np.random.Generator, _count: int) -> None:
    """The examples."""
    head("Controllers in files", "file", *RUN_COLUMNS)
    for name in ("crate", "chair", "catch", "get_up"):
        path = EXAMPLES / f"{name}_scene.toml"
        scene = load_scene(path) if path.exists() else None
        pushes = [shove(250.0, 0.0, start=0.1)] if name == "get_up" else []
        run_row(name, synthesize(EXAMPLES / f"{name}.toml", scene=scene, pushes=pushes))


AWAY: tuple[tuple[str, tuple[float, float] | None, dict[str, float]], ...] = (
    *(("wall", (size, 0.0), {}) for size in (250.0, 325.0, 400.0)),
    *(("wall", (size, side), {"wall.count": 2}) for size in (250.0, 300.0, 400.0) for side in (100.0, 150.0)),
    *(("cable-car", None, {"rock.degrees": degrees}) for degrees in (6.0, 10.0, 12.0, 15.0)),
    ("dodge", None, {"ball.height": 1.2}),
    ("dodge", None, {"ball.height": 1.2, "ball.aside": 0.0}),
    *(("ice", (size, 0.0), {}) for size in (350.0, 400.0, 450.0)),
    ("one-foot", None, {"height": 0.5}),
)
"""Behavior, push ahead and to the left at 1 s [N], and options."""


def scenes(_random: np.random.Generator, _count: int) -> None:
    """Scenes away from their defaults, one run each."""
    head("Scenes away from their defaults", "scene", *RUN_COLUMNS)
    for behavior, push, options in AWAY:
        pushes = [] if push is None else [Push("chest", (*push, 0.0), 1.0, 0.1)]
        names = [f"{name}={value:g}" for name, value in options.items()]
        if push is not None:
            names.insert(0, f"{push[0]:.0f} N ahead, {push[1]:.0f} N to the left")
        run_row(f"{behavior}: {', '.join(names)}", synthesize(behavior, pushes=pushes, options=options))


PARTS: Mapping[str, Callable[[np.random.Generator, int], None]] = {
    "recoveries": recoveries,
    "falls": falls,
    "arms": arms,
    "foot": foot,
    "walls": walls,
    "car": car,
    "dodge": dodge,
    "ice": ice,
    "files": files,
    "scenes": scenes,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    fresh = int(np.random.SeedSequence().generate_state(1)[0])
    parser.add_argument("--seed", type=int, default=fresh, help="a fresh one if not given; it is printed")
    parser.add_argument("--count", type=int, default=12, help="random runs of a part")
    wanted = parser.parse_args()
    print(f"# Reactions, seed {wanted.seed}")
    unknown = sorted(set(wanted.parts) - set(PARTS))
    if unknown:
        parser.error(f"no part {', '.join(unknown)}. There are: {', '.join(PARTS)}")
    for name in wanted.parts or list(PARTS):
        PARTS[name](np.random.default_rng([wanted.seed, list(PARTS).index(name)]), wanted.count)


if __name__ == "__main__":
    main()
