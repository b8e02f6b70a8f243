"""What commands that make a motion share: outputs checked before the run, pictures after it, and a short summary."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from poise.cli.app import note, out, progress
from poise.core.errors import InvalidValue, PoiseError, UnknownName
from poise.core.units import GRAVITY

if TYPE_CHECKING:
    from poise.filter.report import SimulationResult
    from poise.show.live import Source
    from poise.show.scene import Scene
    from poise.synthesis.run import SynthesisResult
    from poise.tracking.live import LiveResult
    from poise.tracking.run import TrackResult


PREPARING = "Preparing"
"""What a progress bar says until the first step is made."""


def require_kinds(output: Path | None, record: Path | None, *, live: bool = False) -> None:
    """Refuse before a run what could not be written or shown after it.

    Raises:
        InvalidValue: if no writer knows the extension of the motion or of the recording.
        MissingExtra: if the run shall be live and the server is not installed.
    """
    if live:
        from poise.show.page import require_page
        from poise.show.server import require_server

        require_server()
        require_page()
    if output is not None:
        from poise.io.format import format_for

        try:
            format_for(output)
        except UnknownName as error:
            raise InvalidValue(str(error)) from error
    if record is not None:
        from poise.show.recording import require_kind

        require_kind(record)


@contextmanager
def reporting_interrupts(*paths: Path | None) -> Iterator[None]:
    """Where Ctrl-C ends what runs inside, say which of these files it has written by then and which not."""
    wanted = [p for p in paths if p is not None]
    before = [_stamp(p) for p in wanted]
    try:
        yield
    except KeyboardInterrupt:
        written = [str(p) for p, then in zip(wanted, before) if _stamp(p) not in (None, then)]
        missing = [str(p) for p in wanted if str(p) not in written]
        outcomes = [
            f"{what}: {', '.join(those)}" for what, those in (("Written", written), ("Not written", missing)) if those
        ]
        raise typer.Abort(" ".join(("Interrupted.", *(f"{t}." for t in outcomes)))) from None


def _stamp(path: Path) -> tuple[int, int] | None:
    """What changes when a file is written; None where there is none."""
    if not path.exists():
        return None
    seen = path.stat()
    return seen.st_ino, seen.st_mtime_ns


def _scene_of(result: Any) -> Scene:
    from poise.show.result_scene import scene_of

    return scene_of(result)


def keep(
    result: SimulationResult | SynthesisResult | TrackResult | LiveResult,
    output: Path | None,
    report: Path | None,
    record: Path | None,
    scene: Callable[[Any], Scene] = _scene_of,
    **look: Any,
) -> None:
    """Write what was asked for of a run: its motion and its report, or neither; then its recording.

    Args:
        result: What came of the run: a result of filter, synthesis or tracking.
        output, report, record: Where to.
        scene: Makes what is recorded of a result; by default `poise.show.result_scene.scene_of`, not for tracking.
        look: As for `draw`.
    """
    from poise.io.files import all_or_none, write_json

    with all_or_none():
        if output is not None:
            import poise.io

            poise.io.save(result.motion, output)
        if report is not None:
            said = result.report
            write_json(report, said) if isinstance(said, dict) else said.save(report)
    if record is not None:
        draw_last(lambda: scene(result), record, output, report, **look)


def draw_last(scene: Callable[[], Scene], path: Path, *written: Path | None, **look: Any) -> None:
    """Draw a scene after these files were written. Where it cannot be drawn they stay, and that is said."""
    try:
        draw(scene(), path, **look)
    except Exception:
        if kept := [str(p) for p in written if p is not None]:
            note(f"Written: {', '.join(kept)}. Not written: {path}, for this reason:")
        raise


def draw(scene: Scene, path: Path, **look: Any) -> None:
    """Write a recording of a scene, behind a progress bar; `look` goes to `poise.show.record`."""
    from poise.show import record

    with progress(disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("Drawing", total=None)

        def advance(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        made = record(scene, path, progress=advance, **look)
    if made.note:
        note(made.note)


def keep_round(result: Any) -> str:
    """What the page's button does: the round so far as a clip and a recording, in the current folder, numbered."""
    import poise.io
    from poise.io.files import all_or_none
    from poise.io.format import known_extensions, written_ending
    from poise.show import record
    from poise.show.live_world import WorldRun
    from poise.show.result_scene import scene_of

    try:
        path = Path(result.motion.source.path if result.motion.source else "motion")
        ending = written_ending(path.suffix)
        ending = ending if ending.lower() in known_extensions(written=True) else ".bvh"
        number = 1
        while any(Path(f"{path.stem}-live-{number}{e}").exists() for e in (ending, ".html")):
            number += 1
        clip, page = Path(f"{path.stem}-live-{number}{ending}"), Path(f"{path.stem}-live-{number}.html")
        with all_or_none():
            poise.io.save(result.motion, clip)
            record(scene_of(result.world if isinstance(result, WorldRun) else result), page)
    except PoiseError as error:
        return f"Not kept: {error}"
    note(f"Kept as {clip} and {page}.")
    return f"Kept as {clip} and {page}."


def play_live(
    source: Source,
    *,
    port: int,
    headless: bool,
    is_saved: bool,
    keeps_time: bool = False,
    is_over: Callable[[], bool] = lambda: False,
    listen: Callable[[float], None] = time.sleep,
) -> Any:
    """Play a source in a page in real time until Ctrl-C or `is_over`; the result of its last round.

    Args:
        source, keeps_time, listen: See `LiveRun`.
        port, headless: Of the page.
        is_saved: Whether the last round will be saved.
        is_over: Asked after every step.

    Raises:
        InvalidValue: if it was stopped before it began.
    """
    from poise.show.live import LiveRun
    from poise.show.viewer import Viewer

    with Viewer(port=port, is_opened=not headless) as viewer:
        note(f"Live at {viewer.url} (Ctrl-C ends{', and the last round is saved' if is_saved else ''})")
        result = LiveRun(source, viewer, keep_round, keeps_time=keeps_time, listen=listen).play(is_over)
    if result is None:
        raise InvalidValue("The run was stopped before it began; nothing is saved.")
    return result


BELIEVABLE = 0.3
"""Root force beyond the clip's own, as a part of body weight (rms), above which a run is cautioned about."""

SOLVER = {
    "daqp": "Solver: {steps} needed the slower solver.",
    "goal_soft": "Solver: in {steps} the constraints conflicted, so the goal was softened.",
    "carried": "Solver: {steps} had no solution; there the figure keeps its distance from the clip.",
    "glitch_carried": "At jumps and flips of the clip {steps} lack physics; poise edit clean mends what it can.",
}
"""What is said of steps in which the solver did not go its usual way, by their names in the report."""

SUNK = 0.1
"""A point of a figure with legs of 0.82 m that is ever deeper in the ground than this is reported [m]."""

FLOATING = 0.1
"""A figure with legs of 0.82 m that is further than this above the ground where it stood is cautioned about [m]."""

NOTICED = 0.005
"""A figure that ends further than this from where its clip ends was held up [m]."""


def summarize_run(result: SimulationResult, output: Path | None) -> None:
    """What happened, in a few lines a person reads."""
    d = result.report.data
    deviation, contact, residual = d["deviation"], d["contact"], d["root_residual"]
    weight, pace, short = GRAVITY * d["source"]["mass"], d["realtime_factor"], d.get("scene", {}).get("short_m", 0.0)
    what = "The last round" if output is None else str(output)
    lines = [
        f"{what}: {result.motion.frame_count} frames, {result.motion.skeleton.joint_count} joints, "
        f"simulated at {1.0 / d['dt']:.0f} Hz, {d['step_ms']['median']:.2f} ms a frame "
        f"({pace:{'.1g' if pace < 1.0 else '.0f'}} × real time)",
    ]
    if deviation["joint_angle_max_deg"] < 1e-6 and deviation["root_position_max_m"] < 1e-9:
        lines += [] if short > NOTICED else ["Nothing disturbed it: the motion is the one that went in."]
        if result.terrain.spec.startswith("rough"):
            lines.append("Rough ground is level within half a meter of the start, and the figure did not leave that.")
        if bodies := d.get("scene", {}).get("bodies"):
            lines.append(f"It touched nothing of the scene ({bodies} {'body' if bodies == 1 else 'bodies'}).")
    else:
        joints, hips = deviation["joint_angle_max_deg"], _length(deviation["root_position_max_m"])
        why = "it fell" if any(e["outcome"] == "fallen" for e in d["events"] if e["is_felt"]) else ""
        why = why or ("with the ground" if not result.terrain.is_flat else "")
        sunk, floating = 100 * contact["penetration_p95_m"], 100 * contact["float_p95_m"]
        lines += [
            f"Away from the original: joints up to {joints:.1f}°, hips up to {hips}{f' ({why})' if why else ''}",
            f"Feet and ground: in 95 % of frames at most {sunk:.1f} cm inside it and {floating:.1f} cm above it",
            f"Outside help at the hips, beyond the clip's own: {100 * residual['force_rms_N'] / weight:.0f} % of the "
            "body's weight",
        ]
    if short > NOTICED:
        left = f"{short:.1f} m" if short >= 0.1 else f"{100 * short:.0f} cm"
        lines.append(f"Something in its way stopped or slowed it, {left} short of where the clip ends.")
    if any(floor := d.get("floor_velocity_m_s", ())):
        lines.append(f"The clip walks on the spot, as on a treadmill at {math.hypot(*floor):.2f} m/s")
    if (deepest := contact["penetration_max_m"]) > SUNK * d["settings"]["leg_scale"]:
        lines.append(f"Caution: at its worst frame a point is {100 * deepest:.0f} cm inside the ground.")
    if (strain := residual["force_rms_N"] / weight) > BELIEVABLE:
        lines.append(f"Caution: so much outside help ({100 * strain:.0f} %) can be seen: it looks like a marionette.")
    high = contact["aloft_p95_m"]
    is_high = high > FLOATING * d["settings"]["leg_scale"]
    if (strain > BELIEVABLE or is_high) and (aloft := _pushed_aloft(d)):
        lines.append(
            f"Caution: it is pushed in the air at {aloft:.2f} s, where only outside help brings it back: push while a "
            "foot stands."
        )
    if is_high:
        gentler = ["a gentler push"] * bool(d["events"])
        factor = d["settings"]["physicality"]
        is_loose = factor == "off" if isinstance(factor, str) else factor < 1.0
        nearer = ["a physicality near 1"] * bool(is_loose)
        cure = f"; {' or '.join(gentler + nearer)} keeps it down" if gentler or nearer else ""
        lines.append(f"Caution: it leaves the ground by {100 * high:.0f} cm{cure}.")
    if d["events"] and result.terrain.spec.startswith("platform"):
        lines.append("The deck's own way is counted in what the pushes moved.")
    lines += [_push_line(event) for event in d["events"]]
    fall = d.get("fall")
    if fall and not any(event["outcome"] == "fallen" for event in d["events"]):
        lines.append(falls_at(fall))
    for name, count in d["solver"]["conflicts"].items():
        lines.append(f"Gave way in {count} steps: {name}")
    odd = {k: v for k, v in d["solver"]["fallbacks"].items() if v}
    lines += [SOLVER[k].format(steps=f"{v} step{'s' * (v != 1)}") for k, v in odd.items()]
    for line in lines:
        out().print(line, markup=False)


def _pushed_aloft(d: dict[str, Any]) -> float | None:
    """When the first push begins during which nothing touches the ground [s]; None if there is none."""
    touching, times = d["per_frame"]["contacts"], d["per_frame"]["time"]
    for event in d["events"]:
        during = [c for c, t in zip(touching, times) if event["start"] <= t <= event["start"] + event["duration"]]
        if event["is_felt"] and during and not any(during):
            return event["start"]
    return None


def falls_at(fall: dict[str, Any]) -> str:
    """The sentence for the fall of a report."""
    return f"The figure falls at {fall['start']:.2f} s."


def _length(meters: float) -> str:
    return f"{100 * meters:.1f} cm" if meters < 1.0 else f"{meters:.2f} m"


MISSED = 0.1
"""A push of which more than this share is lost is said to have lost it [1]."""


def _push_line(event: dict[str, Any]) -> str:
    """One push or pull, and what became of it."""
    what = f"{event['kind'].capitalize()} of {event['body']} at {event['start']:.2f} s:"
    missed = event["glitched_s"] / max(event["duration"], 1e-9)
    if not event["is_felt"] and missed > 0.0:
        return f"{what} not felt, since all of it falls on glitches of the clip; push at another time, or mend them"
    if not event["is_felt"]:
        return f"{what} never felt, the run ended before it"
    if event["outcome"] == "fallen":
        return f"{what} it fell"
    back, moved = event["com_back_s"], 100 * event["com_excursion_max_m"]
    after = f"back within {back:.1f} s" if (back or 0.0) >= 0.05 else f"back by the time the {event['kind']} ended"
    if back is None:
        after = f"not back before the {f'next {cut}' if (cut := event['cut_by']) else 'end'}"
    stepped = "it stepped, " if event["outcome"] == "stepped" else ""
    lost = f"; {100 * min(missed, 1.0):.0f} % of it fell on glitches of the clip and is lost"
    before = 100 * event["com_excursion_before_m"]
    way = f"moved {moved:.0f} cm" if before < 1.0 else f"at most {moved:.0f} cm off the clip ({before:.0f} cm before)"
    return f"{what} {stepped}center of mass {way}, {after}{lost if missed > MISSED else ''}"


@dataclass(frozen=True)
class Words:
    """How a number of a report is said.

    Attributes:
        name: What it is.
        unit: What is printed after it.
        factor: From the report's unit to the printed one.
        is_count: Whole, and printed so.
    """

    name: str
    unit: str
    factor: float = 1.0
    is_count: bool = False

    def number(self, value: float | None) -> str:
        """The value without its unit; – where there is none."""
        if value is None:
            return "–"
        if self.is_count:
            return f"{value:.0f}"
        value *= self.factor
        size = abs(value)
        return "0" if size < 1e-9 else f"{value:.3g}" if size < 1000.0 else f"{value:.0f}"

    def line(self, before: float | None, after: float | None) -> str:
        """What it was and what it is."""
        unit = self.unit if self.unit in ("", "°") else f" {self.unit}"
        return f"{self.name} {self.number(before)} → {self.number(after)}{unit}"


MEASURES = {
    "duration_s": Words("Duration", "s"),
    "frames": Words("Frames", "", is_count=True),
    "height_m": Words("Height", "m"),
    "skating_ratio": Words("Frames in which a foot skates", "%", 100.0),
    "foot_slide_mm_per_frame": Words("Standing feet slide", "mm a frame"),
    "penetration_max_m": Words("Deepest point in the floor", "cm", 100.0),
    "float_max_m": Words("Largest gap under what stands", "cm", 100.0),
    "contact_frames": Words("Frames with a foot on the floor", "", is_count=True),
    "force_rms": Words("Force that contacts cannot give", "% of the weight", 100.0),
    "moment_rms_Nm": Words("Moment that contacts cannot give (scaled to a body of 70 kg)", "N m"),
    "stance_slip_rms_m": Words("Points that stand move, rms,", "mm", 1000.0),
}
"""Measures of a whole clip, by their names in the report."""
UNTOLD = ("skating_ratio",)
"""Only in the report: it counts every low foot that moves, and `poise check` only feet that stand."""
FLIGHT = {
    "gravity_g": Words("gravity", "g"),
    "path_error_max_m": Words("off its path", "cm", 100.0),
    "rise_m": Words("rise", "cm", 100.0),
    "turn_off_steady_max_deg": Words("off steady spin", "°"),
    "angular_momentum_spread_kg_m2_s": Words("angular momentum varies by", "kg m²/s"),
}
"""The same of a flight."""


def summarize_edit(output: Path, data: dict[str, Any]) -> None:
    """Print what happened.

    Args:
        output: The file that was written.
        data: The report, `poise.edit/1`.
    """
    for line in lines(output, data):
        out().print(line, markup=False)


def lines(output: Path, data: dict[str, Any]) -> list[str]:
    """What happened, line by line."""
    said = [f"{output}: {data['frames']} frames, {data['duration_s']:.4g} s", _changed(data)]
    said += [_flight(b, a) for b, a in zip(data["before"].get("flights", []), data["after"].get("flights", []))]
    for key, measure in MEASURES.items():
        before, after = data["before"].get(key), data["after"].get(key)
        if key not in UNTOLD and before is not None and measure.number(before) != measure.number(after):
            said.append(measure.line(before, after))
    return [*said, *data["notes"]]


def _changed(data: dict[str, Any]) -> str:
    """How far joints, root, size and time went from what they were."""
    changed = data["changed"]
    parts: list[str] = []
    if changed["joint"]:
        parts.append(f"joints up to {changed['joint_angle_max_deg']:.2f}° ({changed['joint']})")
    if changed["root_position_max_m"]:
        far = changed["root_position_max_m"]
        parts.append(f"root up to {far:.2f} m" if far >= 1.0 else f"root up to {100 * far:.2f} cm")
    size, time = changed.get("size", 1.0), changed.get("time_max_s", 0.0)
    if size != 1.0:
        parts.append(f"size {size:.4g} ×")
    if time:
        parts.append(f"moments shifted by up to {abs(time):.3g} s")
    cut = data["before"].get("frames", data["frames"]) - data["frames"]
    if not parts and cut > 0:
        return f"{cut} frame{'s were' if cut != 1 else ' was'} cut off; the others are unchanged."
    if not parts:
        return "Apart from its flights nothing was changed." if data.get("flights") else "Nothing was changed."
    if not changed["joint"] and not changed["root_position_max_m"]:
        return f"Poses stay as they were: {', '.join(parts)}"
    return f"Changed {changed['frames']} frame{'s' * (changed['frames'] != 1)}: {', '.join(parts)}"


def _flight(before: dict[str, Any], after: dict[str, Any]) -> str:
    said = [f"Flight {before['frames'][0]}:{before['frames'][1]}"]
    if after["frames"] != before["frames"]:
        said.append(f"now {after['frames'][0]}:{after['frames'][1]}")
    said += [measure.line(before[key], after[key]) for key, measure in FLIGHT.items() if key in before]
    return ", ".join(said)
