"""`poise character`: fit a character, write it as TOML or MJCF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from poise.cli import options
from poise.cli.app import app, out, output_path, print_json
from poise.cli.figure import any_clip
from poise.cli.options import option
from poise.core.errors import InvalidValue, NoMotion
from poise.core.units import kilograms

if TYPE_CHECKING:
    from poise.body import Character
    from poise.core.motion import Motion
    from poise.core.skeleton import Skeleton


@app.command()
@options.grouped
def character(
    file: options.File,
    output: Annotated[
        Path,
        option("OUT", ".toml to edit, .xml for MuJoCo.", "-o", "--output", panel=options.OUTPUT, show_default=False),
    ],
    as_json: options.Json = False,
    overwrite: options.Overwrite = False,
    mass: options.Mass = None,
    masses: Annotated[
        str,
        option(
            "auto|anthropometric|length",
            "How mass is distributed: by a table of human body segments, or by bone length. "
            "auto: the table for people, else length.",
            panel=options.FIGURE,
        ),
    ] = "auto",
    roles: Annotated[
        str | None,
        option(
            "TEXT",
            "What limbs do in poise track, such as 'tail=free, left_leg<-left_leg'. Default: by kind of limb. "
            "See docs/setup.md.",
            panel=options.FIGURE,
        ),
    ] = None,
    reading: options.Reading = options.READ_AS_IS,
) -> None:
    """Fit a character to a clip or a skeleton: masses, joint limits, contact points. Edit the file and use it again.

    FILE may also be a character file (TOML), to convert it to MJCF.

    Example: [bold]poise character walk.bvh -o walker.toml --mass 62[/bold]
    """
    from poise.body import fit, load_character, save_character

    output_path(output, inputs=[file], overwrite=overwrite)
    if file.suffix.lower() == ".toml":
        if mass is not None or masses != "auto":
            raise InvalidValue("--mass and --masses are for fitting; in a character's own TOML edit the masses.")
        fitted = load_character(file)
    else:
        fitted = fit(_read(file, reading), mass=mass, masses=masses)
    if roles is not None:
        from poise.tracking import with_roles

        fitted = with_roles(fitted, roles)
    save_character(fitted, output)
    if as_json:
        print_json(describe_character(fitted, file, output))
    else:
        _print(fitted, output)


def _read(file: Path, how: options.Reading) -> Motion | Skeleton:
    """A file's motion, the first where it holds several and none is named, or its skeleton where it has no other."""
    try:
        return any_clip(file, how)
    except NoMotion:
        return how.load_skeleton(file)


def describe_character(fitted: Character, file: Path, output: Path) -> dict[str, Any]:
    """What `--json` prints: masses [kg], lengths [m], limbs, roles, bodies and contact points by name."""
    names = [b.name for b in fitted.bodies]
    return {
        "schema": "poise.character/1",
        "file": str(file),
        "output": str(output),
        "mass_kg": fitted.mass,
        "dof": fitted.nv,
        "leg_length_m": fitted.leg_length,
        "floor_m": fitted.floor,
        "limbs": {
            x.name: {
                "kind": x.kind,
                "joints": [names[i] for i in x.bodies],
                "role": x.role or None,
                "actor": x.actor or None,
            }
            for x in fitted.limbs
        },
        "roles": {role: names[i] for role, i in fitted.roles.items()},
        "bodies": [
            {"name": b.name, "kind": b.kind, "parent": names[b.parent] if b.parent >= 0 else None, "mass_kg": b.mass}
            for b in fitted.bodies
        ],
        "contact_points": [
            {"name": p.name, "body": names[p.body], "part": p.part, "radius_m": p.radius} for p in fitted.contact_points
        ],
    }


def _print(fitted: Character, output: Path) -> None:
    from rich.table import Table

    table = Table("limb", "joints", box=None, pad_edge=False)
    for limb in fitted.limbs:
        table.add_row(limb.name, " ".join(fitted.bodies[i].name for i in limb.bodies))
    out().print(table, markup=False)
    out().print(
        f"{output}: {kilograms(fitted.mass)}, {len(fitted.bodies)} bodies, {fitted.nv} degrees of freedom, "
        f"leg {fitted.leg_length:.3f} m, floor at {fitted.floor:+.3f} m, {len(fitted.contact_points)} contact points",
        markup=False,
    )
