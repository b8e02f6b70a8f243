"""What `poise simulate` tells before it runs: problems of the clip and of its options, each with its cure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from poise.cli.app import note
from poise.core.errors import InvalidValue

if TYPE_CHECKING:
    from poise.core.motion import Motion
    from poise.filter.forces import Force
    from poise.filter.options import Options

PEOPLE = (20.0, 200.0)
"""Usual masses of people [kg]; others are mentioned."""


def advise(whole: Motion, motion: Motion, start: float, source_fps: float | None, *, is_level: bool) -> None:
    """What a user should know of the clip.

    Args:
        whole: The clip.
        motion: The part of it that is kept.
        start: Where that begins [s].
        source_fps: The rate that was given, if one was [1/s].
        is_level: The ground is level and stays so.
    """
    from poise.phases.glitches import find_glitches, leading_rest_frames
    from poise.phases.travel import is_in_place

    lead = leading_rest_frames(motion)
    if lead:
        note(
            f"warning: the first {lead} frame(s) look like a rest pose; "
            f"--start {start + lead * motion.dt:.5g} skips them."
        )
    glitches = [g for g in find_glitches(motion) if g.kind != "t-pose"]
    if glitches:
        first = glitches[0]
        note(
            f"warning: {len(glitches)} capture glitch(es), first a {first.kind} of "
            f"{motion.skeleton.names[first.joint]!r} in frame {first.frame}; there the reaction is "
            "carried over instead of computed."
        )
    if not is_level and is_in_place(whole):
        note("warning: the clip walks in place; slopes and stairs need a clip that travels.")


def require_felt(pushes: Sequence[Force], duration: float, *, is_allowed: bool) -> None:
    """Refuse pushes that start after the clip's end [s]; warn of them if they are allowed.

    Raises:
        InvalidValue: if there is one and it is not allowed.
    """
    for late in (p for p in pushes if p.start >= duration):
        what = (
            f"The {late.kind} of {late.body!r} starts at {late.start:g} s, but the clip ends at {duration:.2f} s, so "
            "it has no effect."
        )
        if not is_allowed:
            raise InvalidValue(f"{what} Start it earlier, repeat a cyclic clip (--loop), or accept it (--allow).")
        note(f"warning: {what}")


def tell_useless(
    options: Options, *, seed: int | None, terrain: str, headless: bool, port: int, live: bool
) -> None:  # fmt: skip
    """Warn of options that change nothing beside others."""
    from poise.filter.options import Options as Usual

    usual = Usual()
    if options.engine == "pd":
        given = {
            "--goal": options.goal != usual.goal,
            "--goal-point": options.goal_points,
            "--goal-without": options.goal_without,
            "--physicality": options.physicality != usual.physicality,
            "--hard-contact": options.hard_contact,
        }
        _tell([name for name, is_given in given.items() if is_given], "--engine pd has no goals and no ground to weigh")
    elif options.goal == "none" and options.goal_without:
        _tell(["--goal-without"], "--goal none guides no center of mass")
    if seed is not None and not (terrain.startswith("rough:") and "," not in terrain):
        _tell(["--seed"], "--terrain is not rough ground without a seed of its own")
    if not live:
        _tell([n for n, given in (("--headless", headless), ("--port", port)) if given], "they belong to --live")


def _tell(names: list[str], why: str) -> None:
    if names:
        note(f"warning: {', '.join(names)} {'changes' if len(names) == 1 else 'change'} nothing: {why}.")


def tell_mass(mass: float) -> None:
    """Say a mass [kg] that nobody gave and that may surprise."""
    if not PEOPLE[0] <= mass <= PEOPLE[1]:
        height = 1.7 * (mass / 70.0) ** (1.0 / 3.0)
        note(
            f"warning: the figure has {mass:.3g} kg, by its size: stretched out it is {height:.3g} m. Pushes meet "
            "that mass; --mass KG gives another, --unit another size."
        )
