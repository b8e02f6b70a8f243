"""What the server can be asked for: each job takes the fields of a request and gives those of its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields as fields_of
from importlib import import_module
from typing import Any

import numpy as np

from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.serve import messages
from poise.serve.messages import Fields, motion_data, packed

Tell = Callable[[float, str], None]
"""Takes the part that is done, 0 … 1, and what is being done."""

SCOPE = ("amount", "interval", "blend", "budget", "floor")
"""Fields that all edits read."""


def load() -> None:
    """Import what jobs import, so that the first one need not wait for it."""
    for name in ("analysis.analyze", "check.clip", "edit.mend", "filter.simulate", "world"):
        import_module(f"poise.{name}")


def simulate(asked: Fields, tell: Tell) -> dict[str, Any]:
    """Give a motion physical reactions to pushes, ground and bodies."""
    from poise.body.character import fit
    from poise.filter.simulate import Live
    from poise.filter.simulate import simulate as run
    from poise.world import World

    messages.known(
        asked, ("motion", "pushes", "pulls", "terrain", "bodies", "options", "frames", "mass", "floor"), "simulate"
    )
    motion = messages.read_motion(asked.get("motion"))
    tell(0.0, "Fitting the character")
    mass, floor = messages.optional(asked, "mass"), messages.optional(asked, "floor")
    character = fit(motion, mass=mass)
    first, last = _frames(asked, motion)
    part = motion if last - first + 1 == motion.frame_count else motion.frames(np.arange(first, last + 1))
    floor = character.floor if floor is None else floor
    options, rest = _options(messages.fields(asked.get("options", {}), "options"))
    bodies = messages.read_bodies(asked, floor)

    def watch(live: Live) -> None:
        tell(live.fraction, "Simulating")

    result = run(
        part,
        character,
        terrain=messages.read_terrain(asked.get("terrain"), part, floor),
        pushes=messages.read_forces(asked, float(motion.times[first] - motion.times[0])),
        options=options,
        floor=floor,
        world=None if bodies is None else World(bodies, friction=options.friction),
        watch=watch,
        **rest,
    )
    report = result.report
    return {
        "motion": motion_data(result.motion),
        "frames": [first, last],
        "fell": report.data.get("fall") is not None,
        "mass": character.mass,
        "report": report.data,
        "bodies": [
            {
                "name": t.name,
                "times": packed(result.times),
                "positions": packed(np.broadcast_to(t.positions, (len(result.times), 3))),
                "rotations": packed(np.broadcast_to(t.orientations, (len(result.times), 4))),
            }
            for t in result.things
            if t.mass > 0.0
        ],
    }


def check(asked: Fields, tell: Tell) -> dict[str, Any]:
    """What is physically wrong with a motion, where, and what would mend it."""
    messages.known(asked, ("motion", "profile", "floor", "trials"), "check")
    motion = messages.read_motion(asked.get("motion"))
    floor = messages.optional(asked, "floor")
    found = _findings(
        motion, tell, messages.text(asked, "profile", "realistic"), floor, is_tried=bool(asked.get("trials"))
    )
    return {"passes": not any(f["fails"] for f in found), "findings": found}


def _findings(
    motion: Motion, tell: Tell, profile: str, floor: float | None, *, is_tried: bool = False
) -> list[dict[str, Any]]:
    """The findings of a check, each with the tools that mend it."""
    from poise.check.clip import judge, on_ground
    from poise.check.finding import doubts
    from poise.check.profile import load_profile
    from poise.check.report import Wanted
    from poise.edit.mend import MENDERS, Cures

    limits = load_profile(profile)
    tell(0.0, "Checking")
    clip = on_ground(motion, Wanted(floor=floor))
    tell(0.5, "Judging")
    unsure = doubts(clip, is_floor_given=floor is not None)
    found = judge(clip, limits, trials=Cures() if is_tried else None, unsure=unsure)
    return [f.as_json() | {"tools": sorted({m.name for m in MENDERS if f.name in m.findings})} for f in found]


def mend(asked: Fields, tell: Tell) -> dict[str, Any]:
    """Do what a check asks for; `only` names the findings to mend. With what a check finds in the result."""
    from poise.check.profile import require_flaw
    from poise.edit.mend import mend as run

    messages.known(asked, ("motion", "only", *SCOPE), "mend")
    motion = messages.read_motion(asked.get("motion"))
    only = messages.items(asked, "only", 100)
    if not all(isinstance(name, str) for name in only):
        raise InvalidValue("only needs names of findings, such as skate.")
    for name in only:
        require_flaw(name)
    tell(0.0, "Mending")
    floor = messages.optional(asked, "floor")
    edited = run(motion, only=only, **_scope(asked), floor=floor)
    return _edited(edited) | {"findings": _findings(edited.motion, tell, "realistic", floor)}


def repair(asked: Fields, tell: Tell) -> dict[str, Any]:
    """Change the whole motion a little, so that its contacts can carry it."""
    from poise.edit.repair import repair as run

    messages.known(asked, ("motion", *SCOPE), "repair")
    motion = messages.read_motion(asked.get("motion"))
    tell(0.0, "Repairing")
    return _edited(run(motion, **_scope(asked), floor=messages.optional(asked, "floor")))


def ballistic(asked: Fields, tell: Tell) -> dict[str, Any]:
    """Put a flight on a ballistic path, which may start and end elsewhere."""
    from poise.edit.ballistic import PathTarget
    from poise.edit.ballistic import ballistic as run

    messages.known(asked, ("motion", "flight", "start", "end", "keep", *SCOPE), "ballistic")
    motion = messages.read_motion(asked.get("motion"))
    ends: dict[str, Any] = {
        name: messages.array(asked[name], name, (3,)) for name in ("start", "end") if asked.get(name) is not None
    }
    flights: Any = "all"
    if asked.get("flight") is not None:
        a, b = messages.array(asked["flight"], "flight", (2,)).tolist()
        flights = [(int(a), int(b))]
    scope = _scope(asked)
    tell(0.0, "Throwing")
    return _edited(
        run(
            motion,
            flights=flights,
            keep=messages.text(asked, "keep", "ends"),
            target=PathTarget(**ends),
            **scope,
            verify=False,
        )
    )


def track(asked: Fields, tell: Tell) -> dict[str, Any]:
    """Let the motion of an actor drive a character; `character` is a motion of which the first frame stands."""
    from poise.body.character import fit
    from poise.tracking.run import track as run

    messages.known(asked, ("actor", "character", "pushes", "pulls", "terrain", "root", "mass"), "track")
    actor = messages.read_motion(asked.get("actor"), "actor")
    standing = messages.read_motion(asked.get("character"), "character")
    tell(0.0, "Fitting the characters")
    source = standing if standing.frame_count > 2 else standing.skeleton
    character = fit(source, mass=messages.optional(asked, "mass"))
    result = run(
        actor,
        character,
        standing=standing.frames(np.arange(1)),
        root=messages.text(asked, "root", "hard"),
        pushes=messages.read_forces(asked),
        terrain=messages.read_terrain(asked.get("terrain"), actor, 0.0),
        progress=lambda done, all: tell(done / max(1, all), "Tracking"),
    )
    return {"motion": motion_data(result.motion), "report": result.report}


def overlays(asked: Fields, tell: Tell) -> dict[str, Any]:
    """The physics of a motion, frame by frame, for drawing."""
    from poise.analysis.analyze import analyze

    messages.known(asked, ("motion", "floor"), "overlays")
    motion = messages.read_motion(asked.get("motion"))
    tell(0.0, "Analyzing")
    clip = analyze(motion, floor=messages.optional(asked, "floor"))
    support, momentum = clip.support, clip.momentum
    return {
        "mass": clip.mass,
        "floor": clip.floor,
        "times": packed(motion.times),
        "com": packed(clip.com),
        "linear_momentum": packed(momentum.linear),
        "angular_momentum": packed(momentum.angular),
        "pressure": packed(support.cop),
        "zmp": packed(support.zmp),
        "polygon": packed(support.polygon),
        "corners": support.corners.tolist(),
        "points": packed(clip.touch.points),
        "touches": packed(clip.touch.flags),
        "forces": packed(clip.forces.contact),
        "airborne": packed(clip.is_airborne),
        "flights": [
            {
                "frames": [f.first, f.last],
                "start": clip.com[f.first].tolist(),
                "end": clip.com[f.last].tolist(),
                "duration": f.duration,
                "gravity_g": f.gravity_g,
            }
            for f in clip.flights
        ],
    }


JOBS: dict[str, Callable[[Fields, Tell], dict[str, Any]]] = {
    f.__name__: f for f in (simulate, check, mend, repair, ballistic, track, overlays)
}
"""Every job by name."""


def _frames(asked: Fields, motion: Motion) -> tuple[int, int]:
    """First and last frame that are asked for; all if none are."""
    if asked.get("frames") is None:
        return 0, motion.frame_count - 1
    first, last = messages.array(asked["frames"], "frames", (2,)).tolist()
    if not (first == int(first) and last == int(last) and 0 <= first < last < motion.frame_count):
        raise InvalidValue(f"frames is {first:g}, {last:g}; the motion has frames 0 to {motion.frame_count - 1}.")
    return int(first), int(last)


SWITCHES = ("goal", "friction", "hard_contact", "engine", "after")
"""Options of a run that go as they come: texts, numbers, flags."""


def _options(asked: Fields) -> tuple[Any, dict[str, Any]]:
    """Options of the filter, and the arguments of `simulate` beside them."""
    from poise.filter.quasi_physical import Physicality
    from poise.filter.setup import Options

    messages.known(asked, (*SWITCHES, "physicality", "preset", "fps", "amount", "only", "freeze"), "options")
    kinds = {f.name: type(f.default) for f in fields_of(Options) if f.name in SWITCHES}
    given: dict[str, Any] = {}
    for name in SWITCHES:
        if name in asked:
            is_flag = kinds[name] is bool
            if is_flag and not isinstance(asked[name], bool):
                raise InvalidValue(f"{name} is {asked[name]!r}; give true or false.")
            read = messages.number if kinds[name] is float else messages.text
            given[name] = asked[name] if is_flag else read(asked, name)
    knob = asked.get("physicality", 1.0)
    if knob in ("strict", "off"):
        given["physicality"] = Physicality(is_strict=knob == "strict", is_off=knob == "off")
    else:
        given["physicality"] = Physicality(messages.number(asked, "physicality", 1.0))
    rest: dict[str, Any] = {name: messages.number(asked, name) for name in ("fps", "amount") if name in asked}
    rest |= {name: tuple(map(str, messages.items(asked, name, 1000))) for name in ("only", "freeze") if name in asked}
    return Options(**given), rest | ({"preset": messages.text(asked, "preset")} if "preset" in asked else {})


def _scope(asked: Fields) -> dict[str, Any]:
    """Scope and budget of an edit."""
    from poise.edit import Budget, Scope

    interval = None
    if asked.get("interval") is not None:
        start, end = messages.array(asked["interval"], "interval", (2,)).tolist()
        interval = (start, end)
    budget = None if asked.get("budget") is None else Budget.parse(messages.text(asked, "budget"))
    scope = Scope(messages.number(asked, "amount", 1.0), interval, messages.number(asked, "blend", 0.2))
    return {"scope": scope, "budget": budget}


def _edited(edited: Any) -> dict[str, Any]:
    return {
        "motion": motion_data(edited.motion),
        "notes": list(edited.report.data.get("notes", ())),
        "report": edited.report.data,
    }
