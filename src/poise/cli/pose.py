"""`poise pose`: hands and feet dragged to places, the body follows with weight."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from poise.cli import options
from poise.cli.app import app, note, out, output_paths, print_json
from poise.cli.figure import BUILT_IN, Figure, file_and_clip, read_figure
from poise.cli.options import argument, flag, option
from poise.cli.outcome import keep, play_live, reporting_interrupts, require_kinds
from poise.core.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poise.core.typing import Array
    from poise.show.scene import Scene
    from poise.tracking.live import LiveResult

STEP = 0.01
"""Time between two poses on the way [s]."""


@app.command()
def pose(
    who: Annotated[
        str,
        argument("WHO", "adult, child, a character file (TOML), or any file with a skeleton (FILE@CLIP of several)."),
    ],
    output: options.Output = None,
    place: Annotated[
        list[str] | None,
        option("'JOINT X,Y,Z'", "Where a joint goes, in meters, Z up. Can be repeated. Without it: a page to drag in."),
    ] = None,
    at: Annotated[float | None, option("S", "Time of the clip whose pose it begins in. Default: its start.")] = None,
    seconds: Annotated[float | None, option("S", "How long the way to --place takes. Default: 3.")] = None,
    height: options.FigureHeight = None,
    still: Annotated[bool, flag("--still", "Save the last pose alone, not the way there.")] = False,
    record: options.Record = None,
    overwrite: options.Overwrite = False,
    port: options.Port = 0,
    headless: options.Headless = False,
    json: options.Json = False,
) -> None:
    """Drag hands, feet, head or hips to places; the rest of the body follows with its weight over its feet.

    Example: [bold]poise pose adult --place 'right_hand 0.45,-0.2,0.1' -o squat.bvh --record squat.png[/bold]
    """
    import numpy as np

    from poise.edit import pose as posed
    from poise.tracking.live import LiveResult

    places = _places(place or ())
    live = not places
    if not live and output is None and record is None and not json:
        raise InvalidValue("No output was given. Give -o or --record FILE, or leave --place out to drag in a page.")
    if live and seconds is not None:
        raise InvalidValue("--seconds is for the way to a --place; give one, or leave --seconds out to drag in a page.")
    require_kinds(output, record, live=live)
    output_paths((output, record), "-o and --record", inputs=_files(who), overwrite=overwrite)
    read = read_figure(who, height)
    character, q, drawn = read.character, _begun(read, who, at), read.drawn
    with reporting_interrupts(output, record):
        if live:
            from poise.show.live_pose import LivePose

            source = LivePose(character, q, drawn=drawn, title=f"poise pose {who}")
            result = play_live(source, port=port, headless=headless, is_saved=output is not None)
        else:
            found = posed(character, q, places, seconds=3.0 if seconds is None else seconds, dt=STEP)
            times = STEP * np.arange(len(found.q), dtype=np.float64)
            report = {"schema": "poise.pose/1", "interrupted": False, "places": places, "off_m": found.off}
            result = LiveResult(character, found.q, times, report, drawn)
        if still:
            result = LiveResult(character, result.q[[-1, -1]], result.times[:2], result.report, drawn)
        keep(result, output, None, record, _scene)
    if output is not None:
        note(f"{output}: {len(result.q)} frames")
    if json:
        print_json(result.report)
        return
    for name, off in result.report.get("off_m", {}).items():
        out().print(f"{name}: {100.0 * off:.1f} cm from its place", markup=False)


def _places(texts: Sequence[str]) -> dict[str, tuple[float, float, float]]:
    """Where each joint goes [m]."""
    found: dict[str, tuple[float, float, float]] = {}
    for text in texts:
        name, _, numbers = text.strip().rpartition(" ")
        name = name.strip()
        try:
            if not name:
                raise ValueError
            x, y, z = (float(number) for number in numbers.split(","))
        except ValueError:
            raise InvalidValue(
                f"Cannot read --place {text!r}. Write it as 'JOINT X,Y,Z' in meters, such as 'left_hand 0.4,0.3,1.1'."
            ) from None
        if name in found:
            raise InvalidValue(f"--place names {name!r} twice. A joint goes to one place; leave the other out.")
        found[name] = (x, y, z)
    return found


def _scene(result: LiveResult) -> Scene:
    from poise.show.result_scene import scene_of

    return scene_of(result, title="pose", physics=False)


def _files(who: str) -> list[Path]:
    return [] if who in BUILT_IN else [file_and_clip(who)[0]]


def _begun(figure: Figure, who: str, at: float | None) -> Array:
    """The pose that a figure begins in: of its clip, or standing where it has none."""
    from poise.body.posing import motion_to_q
    from poise.synthesis.poses import standing

    motion = figure.motion
    if motion is None:
        if at is not None:
            raise InvalidValue(f"{who!r} has no clip, so --at means nothing; leave it out.")
        return standing(figure.character)
    at = 0.0 if at is None else at
    if not 0.0 <= at <= motion.duration:
        raise InvalidValue(f"--at is {at:g} s; the clip is {motion.duration:.2f} s long.")
    frame = min(round(at / motion.dt), motion.frame_count - 1)
    return motion_to_q(figure.character, motion)[frame]
