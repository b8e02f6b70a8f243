"""`poise info`: what a file holds and how it was read; with --system, what Poise runs on."""

from __future__ import annotations

import math
import os
import platform
import sys
import warnings
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from poise import phases
from poise.body.character import Character
from poise.body.posing import left_out
from poise.cli import options
from poise.cli.app import app, out, print_json, waiting
from poise.cli.folder import over_folders
from poise.core.errors import FileFormatError, InvalidValue, PoiseError
from poise.core.motion import Evidence, Motion
from poise.core.skeleton import Skeleton
from poise.core.units import HUMAN_LEG
from poise.intake.anatomy import anatomy_of, height_of
from poise.intake.reading import WEIGHED, size_doubt
from poise.io import load, load_skeleton
from poise.io.format import ReadOptions, format_of, optional
from poise.phases.points import leg_length

if TYPE_CHECKING:
    from rich.console import RenderableType


_LABELS = {
    "dialect": "dialect",
    "unit": "unit",
    "up": "up axis",
    "fps": "frame rate",
    "rest_pose": "rest pose",
    "positions": "positions",
    "skeleton": "skeleton",
    "floor_m": "floor",
    "rest_frames": "rest frames in front",
    "zero_length_joints": "joints of zero length",
    "implied_fps": "rate by the motion",
}


@app.command()
@over_folders("info", target=None)
def info(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A motion or skeleton file, or a folder.", show_default=False)
    ] = None,
    system: Annotated[
        bool, typer.Option("--system", help="Show versions, graphics and caches instead, for bug reports.")
    ] = False,
    skeleton: options.Skeleton = None,
    clip: options.Clip = None,
    unit: options.SourceUnit = None,
    up: options.SourceUp = None,
    height: options.Height = None,
    source_fps: options.SourceFps = None,
    frames_from_data: options.FramesFromData = False,
    as_json: options.Json = False,
) -> None:
    """Show what a file holds and how it was read: axis, unit, rate, limbs, and the evidence for each.

    Nothing is changed. What looks wrong is named, with the option that corrects it.

    Example: [bold]poise info walk.bvh[/bold]
    """
    if system:
        found = describe_system()
        print_json(found) if as_json else out().print(_system_page(found))
        return
    if file is None:
        raise InvalidValue("poise info needs a FILE, or --system. Example: poise info walk.bvh.")
    from poise.io import read_options

    chosen = read_options(
        skeleton=skeleton,
        clip=options.clip_key(clip),
        unit=unit,
        up=up,
        fps=source_fps,
        frames_from_data=frames_from_data,
        height=height,
    )
    with waiting(f"Reading {file.name}"):
        found = describe_file(file, chosen)
    if as_json:
        evidence = {
            k: {"value": e.value, "confidence": e.confidence, "reason": e.reason} for k, e in found["evidence"].items()
        }
        print_json(found | {"evidence": evidence})
    else:
        for part in _page(found):
            out().print(part)


def _page(found: dict[str, Any]) -> list[RenderableType]:
    from rich.table import Table
    from rich.text import Text

    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="bold", no_wrap=True)
    facts.add_column(overflow="fold")
    for label, text in _facts(found):
        facts.add_row(label, Text(text))
    parts: list[RenderableType] = [Text(found["file"], style="bold cyan"), facts]
    if found["evidence"]:
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        order = [*_LABELS, *found["evidence"]]
        for name, e in sorted(found["evidence"].items(), key=lambda item: order.index(item[0])):
            taken = Text(_value(name, e.value), style="bold").append(f"  {e.confidence:.0%}", style="cyan")
            table.add_row(_LABELS.get(name, name.replace("_", " ")), taken)
            table.add_row("", Text(e.reason, style="dim"))
        parts += [Text(), Text("How it was read, how sure, and why", style="bold"), table]
    if found["warnings"]:
        parts += [Text(), Text("Worth knowing", style="bold yellow")]
        parts += [Text(f"  ! {w}") for w in found["warnings"]]
    return parts


def _facts(found: dict[str, Any]) -> list[tuple[str, str]]:
    lines = [("format", " · ".join(x for x in (found["format"], found["dialect"]) if x))]
    tall = f", {found['height_m']:.2f} m tall" if found["height_m"] is not None else ""
    sites = f" and {len(found['end_sites'])} end sites" if found["end_sites"] else ""
    lines.append(("skeleton", f"{len(found['joints'])} joints{sites}{tall}" if found["joints"] else "none in the file"))
    if isinstance(found["frames"], list):
        for name, frames, fps, seconds in zip(found["clips"], found["frames"], found["fps"], found["duration_s"]):
            lines.append((f"clip {name}", f"{frames} frames, about {fps:.4g} fps, {seconds:.2f} s"))
    elif found["frames"]:
        channels = f", {found['channels']} channels" if found["channels"] else ""
        lines.append(
            ("motion", f"{found['frames']} frames at {found['fps']:.6g} fps, {found['duration_s']:.2f} s{channels}")
        )
        lines.append(("in place", "yes" if found["in_place"] else "no")) if found["in_place"] is not None else None
    else:
        lines.append(("motion", "none"))
    if found["unit_m"] is not None:
        lines.append(("unit", f"1 file unit = {found['unit_m']:.6g} m, {found['up']} up"))
    if found["mass_kg"] is not None:
        alone = " (of the skeleton alone; with --clip it is fitted to that clip)" if len(found["clips"]) > 1 and not (
            isinstance(found["frames"], int)
        ) else ""  # fmt: skip
        lines.append(("character", f"{_mass(found['mass_kg'])} kg, {found['dof']} degrees of freedom{alone}"))
    for name, limb in found["limbs"].items():
        lines.append((name.replace("_", " "), f"{', '.join(limb['joints'])}"))
    return lines


def _mass(kilograms: float) -> str:
    return f"{kilograms:.4g}" if kilograms < 1e4 else f"{kilograms:,.0f}"


def _value(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        unit = {"unit": " m", "floor_m": " m", "fps": " Hz", "implied_fps": " Hz"}.get(name, "")
        return f"{value:.5g}{unit}"
    if isinstance(value, list):
        return (f"{len(value)}: " if len(value) > 4 else "") + ", ".join(map(str, value))
    return str(value)


def _system_page(found: dict[str, Any]) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for key, value in found.items():
        if isinstance(value, dict):
            for name, detail in value.items():
                table.add_row(f"{key} {name}", Text(str(detail)))
        else:
            table.add_row(key, Text(str(value)))
    return table


SCHEMA = "poise.info/1"

OFF_GROUND = 0.12
"""A floor this far from height 0 is told, for a leg of 0.82 m [m]: ankles and toes lie a little above a sole."""
PLAUSIBLE_LEG = (0.15, 2.0)
"""Legs outside this range [m] throw doubt on the unit: those of most creatures lie within."""


def describe_file(path: Path, options: ReadOptions) -> dict[str, Any]:
    """Everything `poise info` says of a file, in the fields of poise.info/1; evidence as `Evidence`.

    Raises:
        PoiseError: if the file cannot be read at all.
    """
    try:
        motion = load(
            path,
            skeleton=options.skeleton,
            clip=options.clip,
            unit=options.unit,
            up=options.up,
            fps=options.fps,
            frames_from_data=options.frames_from_data,
            height=options.height,
        )
    except FileFormatError as error:
        return _without_motion(path, options, error)
    return describe_motion(motion, path)


def describe_motion(motion: Motion, path: Path) -> dict[str, Any]:
    """The same of a motion that was read from `path`."""
    source, skeleton = motion.source, motion.skeleton
    found = _empty(path) | _of_skeleton(skeleton)
    evidence: dict[str, Evidence] = {}
    warnings: list[str] = []
    if source is not None:
        found |= {"format": source.format, "dialect": source.dialect, "unit_m": source.unit, "up": source.up}
        found |= {"clips": list(source.clips), "channels": _channel_count(source.document)}
        evidence |= source.evidence
        warnings += source.warnings
    found |= {"frames": motion.frame_count, "fps": motion.fps, "duration_s": motion.duration}
    evidence |= _faults(motion, warnings) | _zero_bones(skeleton)
    character = _character(motion, warnings)
    if character is not None:
        found |= _of_character(character, motion)
        _doubt_size(character, motion, warnings)
        beside = left_out(character, motion)
        if beside.carried or beside.stretched:
            names = [*beside.carried, *beside.stretched]
            evidence["left_out"] = Evidence(names, 1.0, " ".join(beside.sentences) + " They come back unchanged.")
        if not beside.is_figure:
            warnings.append(beside.sentences[0])
    found |= {"in_place": phases.is_in_place(motion), "glitches": _glitches(motion)}
    if found["in_place"]:
        warnings.append(
            "The clip walks on the spot: its feet slide backwards under a body that stays. Put it on terrain only "
            "after its travel was put back in the tool it came from."
        )
    return found | {"evidence": evidence, "warnings": list(dict.fromkeys(warnings))}


def _empty(path: Path) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "file": str(path),
        "format": None,
        "dialect": None,
        "joints": [],
        "end_sites": [],
        "channels": 0,
        "frames": 0,
        "fps": None,
        "duration_s": None,
        "unit_m": None,
        "up": None,
        "height_m": None,
        "limbs": {},
        "mass_kg": None,
        "dof": None,
        "clips": [],
        "in_place": None,
        "glitches": [],
        "evidence": {},
        "warnings": [],
    }


def _without_motion(path: Path, options: ReadOptions, refusal: FileFormatError) -> dict[str, Any]:
    """A file that holds only a skeleton, several clips, or a clip without a skeleton."""
    candidate = format_of(path)
    facts: dict[str, Any] | None = None
    describe = optional(candidate, "describe")
    if describe is not None:
        try:
            facts = describe(path, options)
        except FileFormatError:
            facts = None
    try:
        skeleton = load_skeleton(
            path, skeleton=options.skeleton, unit=options.unit, up=options.up, height=options.height
        )
    except FileFormatError:
        if facts is None:
            raise refusal from None
        skeleton = None
    found = _empty(path) | {"format": candidate.NAME}
    warnings: list[str] = []
    if skeleton is not None:
        found |= _of_skeleton(skeleton) | {"evidence": _zero_bones(skeleton)}
        if candidate.NAME not in WEIGHED and options.unit is None and options.height is None:
            warnings += filter(None, [size_doubt(anatomy_of(skeleton), height_of(skeleton))])
        character = _character(skeleton, warnings)
        if character is not None:
            found |= _of_character(character, None)
    for key, value in (facts or {}).items():
        if key == "evidence":
            found["evidence"] = found["evidence"] | value
        elif key == "warnings":
            warnings += value
        elif key == "reason":
            warnings.append(value)
        else:
            found[key] = value
    return found | {"warnings": list(dict.fromkeys(warnings))}


def _of_skeleton(skeleton: Skeleton) -> dict[str, Any]:
    return {
        "joints": list(skeleton.names),
        "end_sites": [f"{skeleton.names[s.joint]}: {s.name}" for s in skeleton.end_sites],
        "height_m": height_of(skeleton),
    }


def _of_character(character: Character, motion: Motion | None) -> dict[str, Any]:
    names = character.skeleton.names
    limbs = {
        limb.name: {"kind": limb.kind, "joints": [names[character.bodies[i].joint] for i in limb.bodies]}
        for limb in character.limbs
    }
    return {
        "limbs": limbs,
        "mass_kg": character.mass,
        "dof": character.nv,
        "height_m": height_of(motion or character.skeleton),
    }


def _channel_count(document: Any) -> int:
    """Numbers per frame in the file, where its document says so."""
    values = getattr(document, "values", None)
    if values is not None:
        return int(values.shape[1])
    clip = getattr(document, "clip", None)
    return len(getattr(clip, "channels", ()))


def _character(source: Motion | Skeleton, warnings: list[str]) -> Character | None:
    try:
        return Character.fit(source)
    except PoiseError as error:
        warnings.append(f"No character fits this skeleton: {error}")
        return None


def _doubt_size(character: Character, motion: Motion, warnings: list[str]) -> None:
    leg = character.leg_length
    if any("--unit" in w or "--height" in w for w in warnings):
        return
    if not PLAUSIBLE_LEG[0] <= leg <= PLAUSIBLE_LEG[1] and motion.source is not None:
        warnings.append(
            f"The legs are {leg:.3g} m long, which few creatures have: the unit ({motion.source.unit:g} m) "
            "may be wrong. Say it with --unit, such as --unit cm."
        )


def _zero_bones(skeleton: Skeleton) -> dict[str, Evidence]:
    lengths = np.linalg.norm(skeleton.offsets, axis=1)
    zero = [skeleton.names[j] for j in np.flatnonzero(lengths < 1e-9) if j]
    if not zero:
        return {}
    return {"zero_length_joints": Evidence(zero, 1.0, "they stand on their parents; kept as they are")}


def _glitches(motion: Motion) -> list[dict[str, Any]]:
    return [
        {"frame": int(g.frame), "joint": motion.skeleton.names[g.joint], "kind": g.kind}
        for g in phases.find_glitches(motion)
    ]


def _faults(motion: Motion, warnings: list[str]) -> dict[str, Evidence]:
    """Floor, rest pose in front, glitches, a rate that the flights contradict, loop; warnings are added."""
    found = {"floor_m": phases.find_floor(motion)}
    floor, size = found["floor_m"], leg_length(motion.skeleton) / HUMAN_LEG
    if abs(floor.value) > OFF_GROUND * size and floor.confidence > 0.6 and motion.frame_count > 1:
        way, then = ("above", "hovers") if floor.value > 0.0 else ("below", "sinks in")
        warnings.append(
            f"Its lowest joints or tips stand {abs(floor.value):.2f} m {way} height 0, the origin of the file: in a "
            f"scene whose ground is there it {then}. Poise finds the floor by itself; --floor says another."
        )
    lead = phases.leading_rest_frames(motion)
    if lead:
        which = "Frame 0 is" if lead == 1 else f"Frames 0 to {lead - 1} are"
        start = f"{float(motion.times[lead]):.4f}".rstrip("0")
        found["rest_frames"] = Evidence(
            lead, 0.9, "the body leaves them by a step that stands out from the rest of the clip"
        )
        warnings.append(f"{which} a rest pose put in front of the motion; --start {start} leaves it out.")
    glitches = [g for g in phases.find_glitches(motion) if g.kind != "t-pose"]
    if glitches:
        names = list(dict.fromkeys(motion.skeleton.names[g.joint] for g in glitches))
        frames = f"{min(g.frame for g in glitches)} to {max(g.last for g in glitches)}"
        kinds = ", ".join(
            f"{sum(g.kind == k for g in glitches)} × {k}" for k in dict.fromkeys(g.kind for g in glitches)
        )
        found["glitches"] = Evidence(len(glitches), 0.8, f"{kinds}; between frames {frames}; {', '.join(names[:6])}")
        warnings.append(
            f"{len(glitches)} capture glitches ({kinds}) between frames {frames}. Nothing was mended; "
            "simulate does not solve in these frames."
        )
    loop = phases.find_loop(motion)
    if math.isfinite(loop.mismatch):
        found["loop"] = Evidence(loop.is_loop, 0.9 if loop.is_loop else 0.7, loop.reason)
    return found


CORE = ("numpy", "scipy", "mujoco", "daqp", "typer", "rich", "pydantic", "pillow")
EXTRAS = {"pygltflib": "gltf", "av": "video", "trimesh": "mesh", "websockets": "studio"}


def describe_system() -> dict[str, Any]:
    """Versions of Poise, Python and packages, the player, the browser that draws pictures, and the compiled core."""
    import poise

    packages = {name: _version(name) or "missing" for name in CORE}
    packages |= {n: _version(n) or f"not installed (pip install 'poise[{e}]')" for n, e in EXTRAS.items()}
    return {
        "schema": "poise.system/1",
        "poise": poise.__version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "encoding": sys.getfilesystemencoding(),
        "packages": packages,
        "player": _player(),
        "browser": _browser(),
        "core": _core(),
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _player() -> str:
    """Whether pages can be written."""
    from poise.show.page import BUNDLE, has_page

    return f"{BUNDLE}, {BUNDLE.stat().st_size / 1e3:.0f} kB" if has_page() else "not built; recordings are films"


def _browser() -> str:
    """What draws the player's pictures."""
    from poise.show.browser import find_browser, why_not

    return why_not() or str(find_browser())


def _core() -> str:
    """Which compiled core runs, or why NumPy does its work."""
    from poise.native import library, reason

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = library()
    return str(loaded._name) if loaded is not None else f"none, NumPy does its work, many times slower: {reason()}"
