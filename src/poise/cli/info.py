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

from poise.cli import options
from poise.cli.app import app, out, print_json, waiting
from poise.cli.folder import over_folders
from poise.cli.options import argument, flag
from poise.core.errors import InvalidValue, install_line

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
    "bone_lengths": "joints off their places",
    "rest_frames": "rest frames in front",
    "zero_length_joints": "joints of zero length",
    "implied_fps": "rate by the motion",
}


@app.command()
@over_folders("info", target=None)
@options.grouped
def info(
    file: Annotated[Path | None, argument("FILE", "A motion or skeleton file, or a folder.")] = None,
    system: Annotated[bool, flag("--system", "Show versions, graphics and caches instead, for bug reports.")] = False,
    reading: options.Reading = options.READ_AS_IS,
    floor: options.Floor = None,
    as_json: options.Json = False,
) -> None:
    """Show what a file holds and how it was read: axis, unit, rate, limbs, and the evidence for each.

    Nothing is changed. For each likely error, it names the option that corrects it.

    Example: [bold]poise info walk.bvh[/bold]
    """
    if system:
        found = describe_system()
        print_json(found) if as_json else out().print(_system_page(found))
        return
    if file is None:
        raise InvalidValue("poise info needs a FILE, or --system. Example: poise info walk.bvh.")
    chosen = reading.checked
    from poise.cli.describe import describe_file

    with waiting(f"Reading {file.name}"):
        found = describe_file(file, chosen, floor)
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

    lines = _facts(found)
    width = min(max(len(label) for label, _ in lines), 40)  # the name of a clip may be longer than the shell is wide
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="bold", overflow="fold", min_width=width, max_width=width)
    facts.add_column(overflow="fold")
    for label, text in lines:
        facts.add_row(Text(label), Text(text))
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
    height = found["height_m"]
    tall = "" if height is None else f", {height:{'.2f' if height >= 0.1 else '.3g'}} m tall"
    sites = f" and {len(found['end_sites'])} end sites" if found["end_sites"] else ""
    lines.append(("skeleton", f"{len(found['joints'])} joints{sites}{tall}" if found["joints"] else "none in the file"))
    if isinstance(found["frames"], list):
        for name, frames, fps, seconds in zip(found["clips"], found["frames"], found["fps"], found["duration_s"]):
            amount = f"{frames} frames, about {fps:.4g} fps, {seconds:.2f} s"
            lines.append((f"clip {name}", {0: "cannot be read", 1: "1 frame, a pose"}.get(frames, amount)))
    elif found["frames"]:
        channels = f", {found['channels']} channels" if found["channels"] else ""
        lines.append(
            ("motion", f"{found['frames']} frames at {found['fps']:.6g} fps, {found['duration_s']:.2f} s{channels}")
        )
        if found["in_place"] is not None:
            speed = math.hypot(*found["floor_velocity_m_s"])
            pace = f"as on a treadmill at {speed:.2f} m/s" if speed > 0.0 else "at a speed that its feet do not show"
            lines.append(("in place", f"yes, {pace}" if found["in_place"] else "no"))
            if not found["in_place"] and found["frames"] > 1:
                lines.append(("goes", _way(found["from_m"], found["to_m"])))
    else:
        lines.append(("motion", "none"))
    if found["unit_m"] is not None:
        lines.append(("unit", f"1 file unit = {found['unit_m']:.6g} m, {found['up']} up"))
    if found["mass_kg"] is not None:
        clip = found["fitted_clip"]
        fitted = "" if clip is None else f" (fitted to clip {clip!r}; --clip fits it to another)"
        lines.append(("character", f"{_mass(found['mass_kg'])} kg, {found['dof']} degrees of freedom{fitted}"))
    for name, limb in found["limbs"].items():
        lines.append((name.replace("_", " "), f"{', '.join(limb['joints'])}"))
    return lines


def _way(start: list[float], end: list[float]) -> str:
    """Where a root goes from its first frame to its last, on the ground."""
    x, y = (b - a for a, b in zip(start, end))
    angle = math.degrees(math.atan2(y, x))
    quarter = round(angle / 90.0)
    toward = ("+x", "+y", "−x", "−y")[quarter % 4]
    if abs(angle - 90.0 * quarter) > 10.0:
        toward = f"{angle % 360.0:.0f}° counterclockwise from +x"
    at = ", ".join(f"{round(v, 1) + 0.0:.1f}" for v in start).replace("-", "−")
    far = math.hypot(x, y)
    return f"{far:.1f} m toward {toward}, from ({at})" if far >= 0.05 else f"ends where it begins, at ({at})"


def _mass(kilograms: float) -> str:
    return f"{kilograms:.4g}" if kilograms < 1e4 else f"{kilograms:,.0f}"


def _value(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if name == "bone_lengths":  # how far joints move off their places
            return f"{1e3 * value:.3g} mm"
        if name == "floor_m":
            return f"{round(value, 5) + 0.0:{'.2f' if abs(value) >= 0.1 else '.3g'}} m"
        unit = {"unit": " m", "fps": " Hz", "implied_fps": " Hz"}.get(name, "")
        return f"{value:.5g}{unit}"
    if isinstance(value, dict):
        return ", ".join(f"{joint} on {other}" for joint, other in value.items())
    if name == "left_out":  # its reason names some; --json has them all
        return f"{len(value)} joint{'s' if len(value) != 1 else ''}"
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


CORE = ("numpy", "scipy", "mujoco", "daqp", "typer", "rich", "pydantic", "pillow")
EXTRAS = {
    "av": "video",
    "trimesh": "mesh",
    "websockets": "studio",
    "usd-core": "usd",
    "bpy": "blender",
    "DracoPy": "draco",
    "casadi": "spacetime",
    "cma": "tune",
    "anywidget": "notebook",
    "distributed": "cluster",
}


def describe_system() -> dict[str, Any]:
    """Versions of Poise, Python and packages, the player, the browser that draws pictures, and the compiled core."""
    import poise

    packages = {name: _version(name) or "missing" for name in CORE}
    packages |= {n: _version(n) or f"not installed: {install_line(e)}" for n, e in EXTRAS.items()}
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
