"""Repair of whole clips, against moving the root alone and against smoothing: `python -m benchmarks.repair [FILE …]`.

Each clip is repaired with the default budget and looked at from outside: force and moment that contacts cannot give,
change and slip, and what a check fails before and after. *Root alone* is `ballistic`, then `spin`; *smoothing* is the
low-pass whose change is that of the repair. Change is compared in one norm: 3 cm of the root, 5° of each joint. The
line below *root alone* is the repair that changes no more than that. Without files: all clips of the sets, each of
files that hold several.
"""

from __future__ import annotations

import argparse
import contextlib
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.clips import MOTIONS
from benchmarks.memory import peak_mb
from poise.analysis import analyze
from poise.analysis.smoothing import LowPass, smooth
from poise.body import Character, fit
from poise.body.posing import root_mover
from poise.check.air import wrong_gravity
from poise.check.clip import REPAIRED, findings_of
from poise.core import rotations
from poise.core.errors import PoiseError
from poise.core.motion import Motion
from poise.edit import ballistic, repair, spin
from poise.edit.repair import measures
from poise.edit.report import new_findings
from poise.io import load
from poise.phases.travel import Loop, find_loop, with_rounds
from poise.spacetime.balance import ANGLE, apply_offsets, look, problem_of
from poise.spacetime.search import improve

SUFFIXES = {".bvh", ".amc", ".txt", ".glb", ".gltf"}
WEIGHT = 100.0
"""Of what is left, where the price of offsets is searched for."""
HALVINGS = 12
"""Halvings in the search for the low-pass that changes as much as another edit."""


@dataclass(frozen=True)
class Row:
    """One clip."""

    name: str
    seconds: float
    report: dict[str, Any]
    gone: int
    smaller: int
    stayed: int
    new: tuple[str, ...]
    others: dict[str, tuple[float, ...]]

    @property
    def is_cured(self) -> bool:
        """Every finding that a repair is for is gone or smaller, and none is new."""
        return not self.stayed and not self.new


def files(given: Sequence[Path]) -> Iterator[Path]:
    """The clips."""
    roots = list(given) or [MOTIONS, MOTIONS.parent / "motions2"]
    paths = (p for root in roots for p in ([root] if root.is_file() else sorted(root.rglob("*"))))
    for path in paths:
        if path.suffix.lower() in SUFFIXES and "licen" not in str(path) and "other_formats" not in str(path):
            yield path


def chosen(given: Sequence[Path]) -> Iterator[tuple[Path, int | None]]:
    """Files, and the number of each clip of those that hold several."""
    for path in files(given):
        count = 1
        with contextlib.suppress(PoiseError):
            source = load(path, clip=0).source if path.suffix in (".glb", ".gltf") else None
            count = len(source.clips) if source else 1
        yield from ((path, k) for k in range(count)) if count > 1 else ((path, None),)


def read(path: Path, clip: int | None = None) -> tuple[str, Motion]:
    """A clip; at half its rate where its flights fall with about four times gravity: the file says the wrong rate."""
    motion, name = load(path, clip=clip), path.name if clip is None else f"{path.name}:{clip}"
    share = wrong_gravity(analyze(motion))
    if share is None or not 3.0 < share < 5.5:
        return name, motion
    return f"{name}@{motion.fps / 2.0:g}", load(path, clip=clip, fps=motion.fps / 2.0)


def change(before: Motion, after: Motion, character: Character) -> float:
    """Root mean square over frames of ‖offset / σ‖: 3 cm (by leg) of the root, 5° of each joint [1]."""
    moved = np.linalg.norm(after.world[0] - before.world[0], axis=2)[:, root_mover(character)]
    turned = rotations.angle_between(before.rotations, after.rotations)[:, [b.joint for b in character.bodies]]
    parts = (moved / (0.03 * character.leg_scale)) ** 2 + np.sum((turned / np.radians(5.0)) ** 2, axis=1)
    return float(np.sqrt(np.mean(parts)))


def left(motion: Motion, character: Character, loop: Loop, **how: Any) -> tuple[float, float, float]:
    """Force [weights] and moment [N m, 70 kg] that contacts cannot give, and slip of standing points [m].

    A loop is measured as three rounds in a row, with their seams.
    """
    seen = measures(analyze(rounds(motion, loop), character, **how))
    return seen["force_rms"], seen["moment_rms_Nm"], seen["stance_slip_rms_m"]


def rounds(motion: Motion, loop: Loop) -> Motion:
    """Three rounds of a loop that a repair takes round, but for a frame at each end; other clips as they are."""
    return with_rounds(motion, loop, motion.frame_count - 2) if goes_round(loop) else motion


def goes_round(loop: Loop) -> bool:
    """As `repair` decides for a short clip."""
    return loop.is_loop and loop.mismatch < ANGLE


def root_alone(motion: Motion, character: Character) -> Motion:
    """Flights made ballistic, then their spin made steady; the number of frames stays."""
    with contextlib.suppress(PoiseError):
        motion = ballistic(motion, character, keep="timing").motion
    try:
        return spin(motion, character).motion
    except PoiseError:
        return motion


def at_change(motion: Motion, character: Character, wanted: float) -> Motion:
    """The repair that changes no more than this, whatever its budget."""
    problem = problem_of(analyze(motion, character))
    state = best = look(problem, np.zeros((problem.spline.count, problem.figure.size)))
    cheap, dear = 1.0, 3e3
    for _ in range(HALVINGS // 2):
        factor = float(np.sqrt(cheap * dear))
        for _ in range(2):
            state = improve(problem, state, WEIGHT, factor * problem.price)
        offsets = problem.spline.evaluate(state.coefficients, motion.times)
        if change(motion, apply_offsets(character, motion, offsets, problem.figure), character) > wanted:
            cheap = factor
        else:
            dear, best = factor, state
    return apply_offsets(character, motion, problem.spline.evaluate(best.coefficients, motion.times), problem.figure)


def smoothed(motion: Motion, character: Character, wanted: float, loop: Loop) -> Motion:
    """The low-pass of rotations and translations that changes as much as wanted; of a loop it goes round."""
    whole = rounds(motion, loop)
    own = slice(motion.frame_count - 2, 2 * motion.frame_count - 2) if goes_round(loop) else slice(None)

    def at(hz: float) -> Motion:
        low, turned = LowPass(hz), whole.rotations.copy()
        for j in range(turned.shape[1]):  # the short way round from frame to frame
            signs = np.sign(np.sum(turned[1:, j] * turned[:-1, j], axis=1))
            turned[1:, j] *= np.cumprod(np.where(signs == 0.0, 1.0, signs))[:, None]
        turned = rotations.normalize(smooth(low, whole.times, turned))
        moved = smooth(low, whole.times, whole.translations)
        return replace(motion, rotations=turned[own], translations=moved[own])

    slow, fast = 0.1, 0.44 * motion.fps
    for _ in range(HALVINGS):
        middle = float(np.sqrt(slow * fast))
        slow, fast = (middle, fast) if change(motion, at(middle), character) > wanted else (slow, middle)
    return at(fast)


def row(name: str, motion: Motion, *, compare: bool) -> Row:
    """Repair a clip and look at it."""
    character = fit(motion)
    began = time.process_time()
    edited = repair(motion, character, verify=False)
    seconds = time.process_time() - began
    before, after = (findings_of(m, character) for m in (motion, edited.motion))
    wanted = [f for f in before if f.name in REPAIRED]
    worst: dict[str, float] = {}
    for f in after:
        if f.name in REPAIRED:
            worst[f.name] = max(f.excess, worst.get(f.name, 0.0))
    gone = sum(f.name not in worst for f in wanted)
    smaller = sum(f.name in worst and worst[f.name] < _worst(wanted, f.name) for f in wanted)
    new = tuple(sorted(f"{f.name} {f.where}".strip() for f in new_findings(before, after)))
    others: dict[str, tuple[float, ...]] = {}
    if compare:
        level = {"floor": analyze(motion, character).floor}
        own, loop = change(motion, edited.motion, character), find_loop(motion)
        for title, other in (
            ("root alone", root_alone(motion, character)),
            ("smoothing", smoothed(motion, character, own, loop)),
        ):
            others[title] = (change(motion, other, character), *left(other, character, loop, **level))
            if title == "root alone":
                least = at_change(motion, character, others[title][0])
                others["  repair"] = (change(motion, least, character), *left(least, character, loop, **level))
        others["repair"] = (own, *left(edited.motion, character, loop, **level))
    return Row(name, seconds, edited.report.data, gone, smaller, len(wanted) - gone - smaller, new, others)


def long(motion: Motion, seconds: float) -> str:
    """A clip there and back for so long at 120 Hz: processor time and peak memory of its repair."""
    around = np.concatenate([np.arange(motion.frame_count), np.arange(motion.frame_count - 2, 0, -1)])
    index = np.resize(around, round(120.0 * seconds))
    times = np.arange(len(index)) / 120.0
    clip = replace(motion, times=times, translations=motion.translations[index], rotations=motion.rotations[index])
    character = fit(clip)
    began = time.process_time()
    edited = repair(clip, character, trust_time=True, verify=False)
    left = edited.report["after"]["force_rms"]
    return f"{time.process_time() - began:.1f} s of processor time, {peak_mb():.0f} MB, force left {left:.3f}"


def _worst(findings: Sequence[Any], name: str) -> float:
    return max(f.excess for f in findings if f.name == name)


def said(r: Row) -> str:
    """One line of the table."""
    b, a = r.report["before"], r.report["after"]
    text = (
        f"{r.name:<42}{b['force_rms']:6.3f} →{a['force_rms']:6.3f}{b['moment_rms_Nm']:7.1f} →{a['moment_rms_Nm']:6.1f}"
        f"{a['joint_change_rms_deg']:6.2f}{a['joint_change_max_deg']:6.2f}{100 * a['root_change_rms_m']:6.2f}"
        f"{100 * a['root_change_max_m']:6.2f}{1000 * b['stance_slip_rms_m']:6.2f} →{1000 * a['stance_slip_rms_m']:5.2f}"
        f"{r.gone:4}{r.smaller:3}{r.stayed:3}{r.seconds:7.1f} s  {', '.join(r.new)}"
    )
    for title, (size, force, moment, slip) in r.others.items():
        text += (
            f"\n    {title:<12} change {size:6.3f}  force {force:6.3f}  moment {moment:6.1f}  slip {1000 * slip:6.2f}"
        )
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--compare", action="store_true", help="also against the root alone and against smoothing")
    parser.add_argument("--part", default="1/1", help="the k-th of n parts of the clips, such as 1/2")
    parser.add_argument(
        "--long", type=Path, metavar="FILE", help="time and memory of 45 s at 120 Hz, walked there and back"
    )
    parser.add_argument("--seconds", type=float, default=45.0, help="length of that clip")
    wanted = parser.parse_args()
    if wanted.long is not None:
        print(f"{wanted.seconds:g} s at 120 Hz of {wanted.long.name}: {long(load(wanted.long), wanted.seconds)}")
        return
    part, parts = (int(x) for x in wanted.part.split("/"))
    print(
        f"{'clip':<42}{'force':>14}{'moment N m':>15}{'joint rms, max °':>12}{'root rms, max cm':>12}{'slip mm':>13}"
        "  gone, smaller, stayed   time, new findings",
        flush=True,
    )
    rows: list[Row] = []
    warnings.simplefilter("ignore")
    for k, (path, clip) in enumerate(chosen(wanted.files)):
        if k % parts != part - 1:
            continue
        try:
            found = row(*read(path, clip), compare=wanted.compare)
        except PoiseError as error:
            print(f"{path.name:<42}not repaired: {str(error)[:110]}", flush=True)
            continue
        rows.append(found)
        print(said(found), flush=True)
    failing = [r for r in rows if r.gone + r.smaller + r.stayed]
    print(
        f"{len(rows)} clips repaired; {sum(bool(r.new) for r in rows)} with something new; {len(failing)} had findings"
    )
    print(f"gone or smaller, none new: {sum(r.is_cured for r in rows)} of {len(rows)}")


if __name__ == "__main__":
    main()
