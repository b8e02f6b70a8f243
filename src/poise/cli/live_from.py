"""An actor over the network until Ctrl-C: `--live-from` of `track` and `simulate`, and `poise record-stream`."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from poise.cli import options
from poise.cli.app import app, note, output_paths, print_json
from poise.cli.options import argument, option
from poise.cli.outcome import keep, require_kinds
from poise.core.errors import InvalidValue

if TYPE_CHECKING:
    from poise.core.motion import Motion
    from poise.tracking.followers import Follower
    from poise.tracking.live import LiveResult
    from poise.tracking.protocols import LiveSource

LiveFrom = Annotated[
    str | None,
    option(
        "PROTOCOL[:HOST]:PORT",
        "A live actor instead of a file, such as vmc:39539. See docs/live.md.",
        "--live-from",
        panel=options.LIVE,
    ),
]
LiveTo = Annotated[
    list[str] | None,
    option(
        "PROTOCOL:HOST:PORT",
        "Send every pose to this address, such as vmc:127.0.0.1:39540. Can be repeated.",
        "--live-to",
        panel=options.LIVE,
    ),
]
Seconds = Annotated[
    float | None,
    option("S", "End a live run after this long.", "--seconds", panel=options.LIVE),
]
Buffer = Annotated[
    float | None,
    option("MS", "Delay of the jitter buffer. Default: adapts to the packets.", "--buffer", panel=options.LIVE),
]


def require_live(live_from: str | None, live_to: list[str] | None, seconds: float | None, buffer: float | None) -> None:
    """Refuse options of a live run where there is none.

    Raises:
        InvalidValue: which of them.
    """
    if live_from is not None:
        for name, value in (("--seconds", seconds), ("--buffer", buffer)):
            if value is not None and not 0.0 < value < 1e6:
                raise InvalidValue(f"{name} is {value:g}; give a positive number.")
        return
    for name, value in (("--live-to", live_to), ("--seconds", seconds), ("--buffer", buffer)):
        if value:
            raise InvalidValue(f"{name} needs a live actor: --live-from vmc:39539.")


def follow(
    live_from: str,
    follower: Follower,
    *,
    live_to: list[str] | None,
    seconds: float | None,
    buffer: float | None,
    is_kept: bool,
    show: Callable[[Callable[..., LiveResult], Callable[[float], None]], LiveResult] | None = None,
) -> LiveResult:
    """Listen, follow, send on, until the time is over or Ctrl-C.

    Args:
        live_from, follower, live_to, seconds, buffer: As the options say.
        is_kept: Keep the motion.
        show: Plays a run in a page; it gets the run, which takes what says that it is over, and what listens on for
            so long [s] while the run is paused.
    """
    from poise.tracking.live import run_live
    from poise.tracking.protocols import LiveSink, LiveSource

    sinks = [LiveSink(address) for address in live_to or ()]
    with LiveSource(live_from, delay=None if buffer is None else 0.001 * buffer) as source:
        where = source.address
        verb = "connecting to" if where.is_tcp else "listening on"
        note(f"{where.protocol.title}: {verb} {where.host}:{where.port}. Ctrl-C ends.")
        gc.collect()
        gc.freeze()  # looking through all that was loaded for garbage takes 50 ms, six steps
        try:
            run = partial(run_live, source, follower, sinks=sinks, seconds=seconds, is_kept=is_kept)
            return run() if show is None else show(run, lambda seconds: source.wait(time.monotonic() + seconds))
        finally:
            gc.unfreeze()
            for sink in sinks:
                sink.close()


def keep_live(result: LiveResult, output: Path | None, report: Path | None, record: Path | None, *, json: bool) -> None:
    """Write what was asked for, and say how the stream was."""
    from poise.io.files import write_json
    from poise.show.result_scene import scene_of

    if report is not None:
        write_json(report, result.report)
    if result.character is not None and len(result.q) > 1:
        keep(result, output, None, record, partial(scene_of, title="live"))
    elif output is not None or record is not None:
        note("No motion was written: no data arrived.")
    if json:
        print_json(result.report)
    elif "source" in result.report:
        for line in stream_lines(result.report):
            note(line)


def stream_lines(report: dict[str, Any]) -> list[str]:
    """How a stream was, in a few lines."""
    source = report["source"]
    if not source["poses"]:
        seen = f" {source['packets']} packets came, {source['malformed']} malformed." if source["packets"] else ""
        why = "".join(f" {reason}" for reason in list(source["malformed_reasons"])[:1])
        return [f"No actor was heard on {source['host']}:{source['port']}.{seen}{why}"]
    lines = [f"{source['poses']} poses at {source['fps'] or 0.0:.0f} Hz in {source['packets']} packets"]
    faults = [
        f"{source[name]} {name.replace('_', ' ')}"
        for name in ("lost", "late", "reordered", "duplicate", "malformed", "pauses", "jumps", "other_senders")
        if source[name]
    ]
    lines[0] += ": " + ", ".join(faults) if faults else ", none lost"
    if source["actors"] > 1:
        lines.append(f"{source['actors']} actors, one after the other")
    lines += [f"an actor could not be read: {why}" for why in report.get("unreadable_actors", {})]
    processing, buffered = report.get("processing_ms"), report.get("buffer_ms")
    if processing and buffered:
        lines.append(
            f"jitter buffer {buffered['median']:.0f} ms; then {processing['median']:.1f} ms to the pose that goes out "
            f"(99th percentile {processing['p99']:.1f})"
        )
    if report.get("skipped_steps"):
        lines.append(f"{report['skipped_steps']} steps were skipped: this machine was too slow, or busy")
    return lines


MOST_SECONDS = 3600.0
"""A recording ends after so long by itself [s]."""
FAILED = 1


@app.command("record-stream")
def record_stream(
    address: Annotated[
        str,
        argument("PROTOCOL[:HOST]:PORT", "The live actor, such as vmc:39539."),
    ],
    output: options.OutputNeeded,
    seconds: Annotated[float, option("S", "End after this long, in seconds. Ctrl-C ends it earlier.")] = 600.0,
    fps: Annotated[float | None, option("N", "Frame rate of the file. Default: the actor's.")] = None,
    report: options.Report = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Record a live actor as a motion file, in the order of the sender's clock.

    Exit code 1 if no pose arrived.

    Example: [bold]poise record-stream vmc:39539 -o take.bvh --seconds 30[/bold]
    """
    from poise.tracking.protocols import LiveSource

    if not 0.0 < seconds <= MOST_SECONDS:
        raise InvalidValue(f"--seconds is {seconds:g}; give up to {MOST_SECONDS:g}.")
    if fps is not None and not 0.1 <= fps <= 1000.0:
        raise InvalidValue(f"--fps is {fps:g}; give 0.1 to 1000.")
    require_kinds(output, None)  # what is recorded cannot be recorded again
    output_paths((output, report), "-o and --report", inputs=(), overwrite=overwrite)
    with LiveSource(address) as source:
        where = source.address
        note(f"{where.protocol.title}: listening on {where.host}:{where.port}. Ctrl-C ends.")
        motion = record(source, seconds, fps)
        counted = source.report()
    if motion is not None:
        _save_take(motion, output)
    data = {"schema": "poise.live/1", "source": counted, "frames": 0 if motion is None else motion.frame_count}
    if report is not None:
        from poise.io.files import write_json

        write_json(report, data)
    if as_json:
        print_json(data)
    else:
        for line in stream_lines(data):
            note(line)
        if motion is not None:
            note(f"{output}: {motion.frame_count} frames, {motion.duration:.2f} s")
    if motion is None:
        raise typer.Exit(FAILED)


def _save_take(motion: Motion, output: Path) -> None:
    """Save what cannot be recorded again; if its file cannot be written, as a temporary file.

    Raises:
        UnreadableFile: if its file cannot be written; says where the take is then.
    """
    import tempfile

    import poise.io
    from poise.core.errors import UnreadableFile

    try:
        poise.io.save(motion, output)
    except UnreadableFile as error:
        try:
            aside = Path(tempfile.mkdtemp(prefix="poise-take-")) / output.name
            poise.io.save(motion, aside)
        except (OSError, UnreadableFile):
            raise error from None
        raise UnreadableFile(f"{error} The take was saved as {aside}.") from error


def record(source: LiveSource, seconds: float, fps: float | None = None) -> Motion | None:
    """The poses of a live actor for so long after the first [s]; None if there were fewer than two.

    Where another actor takes over, the longer of the takes is kept.
    """
    import time

    takes: list[list[Any]] = []
    first: float | None = None
    try:
        while True:
            source.receiver.wait(0.05)
            for pose in source.take():
                first = time.monotonic() if first is None else first
                if not takes or takes[-1][-1].skeleton is not pose.skeleton:
                    takes.append([])
                takes[-1].append(pose)
            if first is not None and time.monotonic() - first >= seconds:
                break
    except KeyboardInterrupt:
        pass
    take = max(takes, key=len, default=[])
    return clip_of_take(take, source.report()["fps"] or 60.0, fps) if len(take) > 1 else None


def clip_of_take(take: list[Any], rate: float, fps: float | None) -> Motion:
    """Poses in the order of their times, at an even frame rate; gaps are bridged by a spline."""
    import numpy as np

    from poise.core.motion import Motion

    times = [pose.time if pose.time is not None else (pose.number or k) / rate for k, pose in enumerate(take)]
    if len(set(times)) < 2 or all(pose.time is None and pose.number is None for pose in take):
        times = [k / rate for k in range(len(take))]
    order = sorted(set(range(len(take))), key=lambda k: times[k])
    kept = [order[0]]
    for k in order[1:]:
        if times[k] - times[kept[-1]] > 1e-4:
            kept.append(k)
    at = np.array([times[k] for k in kept])
    raw = Motion(
        take[0].skeleton,
        at - at[0],
        np.stack([take[k].translations for k in kept]),
        np.stack([take[k].rotations for k in kept]),
    )
    step = 1.0 / (fps or _usual(rate))
    return raw.resampled(step * np.arange(int(raw.duration / step + 1e-6) + 1, dtype=np.float64))


def _usual(rate: float) -> float:
    """A frame rate that files have, if the measured one is within 3 % of it."""
    usual = (24.0, 25.0, 30.0, 48.0, 50.0, 60.0, 90.0, 100.0, 120.0, 240.0)
    near = min(usual, key=lambda r: abs(r - rate))
    return near if abs(near - rate) < 0.03 * near else round(rate, 3)
