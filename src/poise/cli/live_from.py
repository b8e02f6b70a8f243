"""What `--live-from` does for `track` and `simulate`: an actor over the network, until Ctrl-C."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from poise.cli import options
from poise.cli.app import note, print_json
from poise.cli.outcome import draw
from poise.core.errors import InvalidValue

if TYPE_CHECKING:
    from poise.tracking.live import Follower, LiveResult

LiveFrom = Annotated[
    str | None,
    typer.Option(
        "--live-from",
        metavar="PROTOCOL[:HOST]:PORT",
        help="A live actor instead of a file, such as vmc:39539. See docs/live.md.",
        rich_help_panel=options.LIVE,
    ),
]
LiveTo = Annotated[
    list[str] | None,
    typer.Option(
        "--live-to",
        metavar="PROTOCOL:HOST:PORT",
        help="Send every pose on, such as vmc:127.0.0.1:39540. Can be repeated.",
        rich_help_panel=options.LIVE,
    ),
]
Seconds = Annotated[
    float | None,
    typer.Option("--seconds", metavar="S", help="End a live run after this long.", rich_help_panel=options.LIVE),
]
Buffer = Annotated[
    float | None,
    typer.Option(
        "--buffer",
        metavar="MS",
        help="Delay of the jitter buffer. Default: as late as packets come.",
        rich_help_panel=options.LIVE,
    ),
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
    live_from: str, follower: Follower, *, live_to: list[str] | None, seconds: float | None, buffer: float | None,
    is_kept: bool,
) -> LiveResult:  # fmt: skip
    """Listen, follow, send on, until the time is over or Ctrl-C."""
    from poise.tracking.live import run_live
    from poise.tracking.protocols import LiveSink, LiveSource

    sinks = [LiveSink(address) for address in live_to or ()]
    with LiveSource(live_from, delay=None if buffer is None else 0.001 * buffer) as source:
        where = source.address
        verb = "connecting to" if where.is_tcp else "listening on"
        note(f"{where.protocol.title}: {verb} {where.host}:{where.port}. Ctrl-C ends.")
        try:
            return run_live(source, follower, sinks=sinks, seconds=seconds, is_kept=is_kept)
        finally:
            for sink in sinks:
                sink.close()


def keep_live(result: LiveResult, output: Path | None, report: Path | None, record: Path | None, *, json: bool) -> None:
    """Write what was asked for, and say how the stream was."""
    from poise.io.files import all_or_none

    if report is not None:
        result.save_report(report)
    if result.character is not None and len(result.q) > 1:
        with all_or_none():
            if output is not None:
                import poise.io

                poise.io.save(result.motion, output)
            if record is not None:
                from poise.show.motion_scene import scene_of_motion

                draw(scene_of_motion(result.motion, result.character, name="live"), record)
    elif output is not None or record is not None:
        note("No motion was written: nobody was heard.")
    if json:
        print_json(result.report)
    else:
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
