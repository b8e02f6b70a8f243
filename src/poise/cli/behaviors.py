"""What `poise synthesize` does besides a run: --list, --goals, --describe, --write, --tune, --help, and `learn`."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from poise.cli import options
from poise.cli.app import note, out, output_paths, print_json
from poise.cli.options import argument, name_and_value, option
from poise.core.errors import InvalidValue

if TYPE_CHECKING:
    from poise.body.character import Character
    from poise.synthesis.behaviors.behavior import Behavior


class SynthesizeCommand(TyperCommand):
    """`poise synthesize`: --help after a behavior describes that behavior, too; `learn` is a command of its own."""

    _arguments: tuple[str, ...] = ()

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        if args[:1] == ["learn"]:
            return typer.main.get_command(learner).make_context(f"{info_name} learn", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        self._arguments = tuple(args)
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from poise.core.errors import PoiseError
        from poise.synthesis.controller_file import find_behavior

        for word in self._arguments:
            if word.startswith("-"):
                continue
            try:
                behavior = find_behavior(word)
            except PoiseError:
                continue
            describe(behavior)
            out().print("\nOf every behavior:", markup=False)
            break
        super().format_help(ctx, formatter)


def list_behaviors(*, as_json: bool = False) -> None:
    """Every behavior with its sentence and its options."""
    from poise.synthesis.behaviors import BEHAVIORS

    if as_json:
        print_json({"behaviors": [_as_json(behavior) for behavior in BEHAVIORS.values()]})
        return
    width = max(len(name) for name in BEHAVIORS)
    for behavior in BEHAVIORS.values():
        out().print(f"{behavior.name.ljust(width)}  {behavior.summary}", markup=False)
        if behavior.declared:
            out().print(f"{' ' * width}    --set {_options(behavior.options)}", markup=False)
    out().print(
        "\npoise synthesize NAME --help tells what the options mean; --write OUT.toml writes a controller to start "
        "from, and --goals lists what such a file can say.",
        markup=False,
    )


OWN = "With --mode literal its own weights are taken in the literal form."


def _options(values: Mapping[str, Any]) -> str:
    from poise.synthesis.behaviors.behavior import shown

    return "  ".join(f"{name}={shown(value)}" for name, value in values.items())


def _as_json(behavior: Behavior) -> dict[str, Any]:
    """A behavior for machines: its options with what they mean and may be."""
    return {
        "name": behavior.name,
        "summary": behavior.summary,
        "seconds": behavior.setup().seconds,
        "has_literal_form": behavior.literal is not None,
        "options": {
            name: {
                "default": o.default,
                "what": o.what,
                "unit": o.unit,
                "is_whole": o.is_whole,
                "low": o.low if math.isfinite(o.low) else None,
                "high": o.high if math.isfinite(o.high) else None,
            }
            for name, o in behavior.declared.items()
        },
    }


def describe(behavior: Behavior, *, as_json: bool = False) -> None:
    """A behavior's options with defaults, and its controller as a table and as a graph."""
    from poise.goals.registry import graph, table
    from poise.synthesis.behaviors.behavior import shown
    from poise.synthesis.controller_file import controller_text

    setup = behavior.setup()
    if as_json:
        machines = [
            {"figure": r.name, "name": r.machine.name, "toml": controller_text(r.machine), "graph": graph(r.machine)}
            for r in setup.roles
        ]
        print_json({**_as_json(behavior), "controllers": machines})
        return
    lines = [f"{behavior.name}: {behavior.summary}".rstrip(": "), f"Runs {setup.seconds:g} s unless --seconds says."]
    lines.append("Has the paper's own weights (--mode literal)." if behavior.literal else OWN)
    lines += ["", "Options (--set NAME=VALUE):" if behavior.declared else "It has no options."]
    heads = [f"  {name} = {shown(o.default)}" for name, o in behavior.declared.items()]
    width = max((len(head) for head in heads), default=0)
    lines += [
        f"{head.ljust(width)}  {o.what}{': ' if o.what else ''}{o.allowed}".rstrip()
        for head, o in zip(heads, behavior.declared.values(), strict=True)
    ]
    for role in setup.roles:
        lines += [
            "",
            table(role.machine),
            "",
            "Its transitions, for Graphviz (the number at an arrow: which way out of its state in the table):",
            graph(role.machine),
        ]
    out().print("\n".join(lines), markup=False)


def write_controller(behavior: Behavior, path: Path) -> None:
    """A behavior's controller as a file to change; of several figures' the first one's."""
    from poise.goals.surroundings import Scene
    from poise.synthesis.controller_file import save_controller

    setup = behavior.setup()
    first, is_alone = setup.roles[0], len(setup.roles) == 1
    save_controller(
        first.machine, path, seconds=setup.seconds, within=None if is_alone else (behavior.name, first.name)
    )
    scene = "" if not is_alone or setup.scene == Scene() else "; its scene is not in it: give one with --scene"
    out().print(f"{path}: poise synthesize {path} -o out.bvh runs it{scene}.", markup=False)


def list_goals() -> None:
    """Every goal, condition and action with its settings and its sentence, and the names of parts they accept."""
    from poise.body.character import figure
    from poise.goals import body, registry

    for title, kinds in (("Goals", registry.goals()), ("Conditions", registry.conditions())):
        out().print(f"{title}:", markup=False)
        for kind in kinds.values():
            out().print(f"  {registry.shown(kind)}\n      {_sentence(kind)}", markup=False)
    out().print("Actions (on_enter):", markup=False)
    for name, function in registry.actions().items():
        out().print(f"  {name}\n      {_sentence(function)}", markup=False)
    for title, names in (
        ("foot", body.FEET),
        ("part, parts, releases", body.PARTS),
        ("body, bodies, only, without", body.BODIES),
    ):
        out().print(f"Names for {title}:", markup=False)
        for name, what in names.items():
            out().print(f"  {name:12}  {what}", markup=False)
    roles = ", ".join(sorted(figure().roles))
    out().print(f"Roles, for part and body (a body's own name, too):\n  {roles}", markup=False)


def _sentence(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def with_gains(behavior: Behavior, path: Path) -> Behavior:
    """A behavior whose options are by default those of a gains file."""
    from poise.synthesis.tuning import load_gains

    owner, found = load_gains(path)
    if owner != behavior.name:
        raise InvalidValue(f"{path} holds options of {owner!r}, not of {behavior.name!r}.")
    chosen = behavior.chosen(found)
    declared = {name: replace(o, default=chosen[name]) for name, o in behavior.declared.items()}
    return replace(behavior, declared=declared)


def tune_behavior(
    behavior: Behavior,
    tuned: Sequence[str],
    output: Path | None,
    *,
    cases: Sequence[str],
    held_out: Sequence[str],
    character: Character | None,
    seconds: float | None,
    tries: int,
    seed: int,
    overwrite: bool,
) -> None:
    """Search options of a behavior and write them to a gains file; OUT.toml.tries keeps every try, to go on later."""
    from poise.synthesis.behaviors.behavior import named
    from poise.synthesis.tuning import tune

    if output is None or output.suffix.lower() != ".toml":
        given = "" if output is None else f", not {output}"
        raise InvalidValue(f"--tune writes its gains to a TOML file; give -o gains.toml{given}.")
    output_paths((output,), "-o", inputs=[], overwrite=overwrite)
    ranges: dict[str, tuple[float, float]] = {}
    for text in tuned:
        name, _, span = (part.strip() for part in text.partition("="))
        own = named(behavior.declared, name, behavior.name)
        try:
            low, high = (float(x) for x in span.split(":")) if span else (own.low, own.high)
        except ValueError:
            raise InvalidValue(f"Cannot read --tune {text!r}. Write NAME or NAME=LOW:HIGH.") from None
        ranges[name] = (low, high)

    def read(texts: Sequence[str], flag: str) -> list[dict[str, str]]:
        return [dict(name_and_value(word, "speed=2", flag) for word in text.split()) for text in texts]

    def tell(number: int, cost: float, least: float) -> None:
        note(f"try {number} of {tries}: cost {cost:.3f}, least so far {least:.3f}")

    found = tune(
        behavior,
        ranges,
        cases=read(cases, "--case") or [{}],
        held_out=read(held_out, "--held-out"),
        character=character,
        seconds=seconds,
        tries=tries,
        seed=seed,
        log=output.with_name(output.name + ".tries"),
        on_try=tell,
    )
    found.save(output)
    for title, before, after in (
        ("tuned on", found.before, found.after),
        ("held out", found.held_before, found.held_after),
    ):
        for old, new in zip(before, after, strict=True):
            said = f"{title} {new.typed}".rstrip()
            out().print(f"{said}: cost {old.cost:.3f} before, {new.cost:.3f} after", markup=False)
    out().print(f"{output}: poise synthesize {behavior.name} --gains {output} -o out.bvh runs with it.", markup=False)


learner = typer.Typer(rich_markup_mode="rich", add_completion=False)
"""Of one command, which `synthesize` hands over to when its first word is "learn"."""


@learner.command("learn")
def learn(
    clip: Annotated[Path, argument("CLIP", "A clip that stands, reaches or walks (or FILE@CLIP).")],
    output: Annotated[Path, option("MINE.toml", "The controller file.", "-o", "--output", show_default=False)],
    held_out: Annotated[
        Path | None,
        option("CLIP", "A clip that only the weights found are tried on.", "--held-out"),
    ] = None,
    start: options.Start = None,
    end: options.End = None,
    tries: Annotated[int, option("N", "How many sets of weights are tried.")] = 64,
    seed: Annotated[int, option("N", "Random seed of the search.")] = 0,
    overwrite: options.Overwrite = False,
) -> None:
    """Find the weights of goals with which a figure moves most like a clip, and write them as a controller file.

    The clip says where hands, feet and center of mass go; the rest of the body follows from the weights.
    MINE.toml.tries keeps every try, so that the same command goes on where it was stopped.

    Example: [bold]poise synthesize learn reach.bvh -o mine.toml --held-out other.bvh[/bold]
    """
    from poise.cli.figure import captured
    from poise.io.format import file_and_clip
    from poise.synthesis.learning import learn as learn_weights

    if output.suffix.lower() != ".toml":
        raise InvalidValue(f"learn writes a controller file; give -o mine.toml, not {output}.")
    files = [file_and_clip(str(name))[0] for name in (clip, held_out) if name is not None]
    output_paths((output,), "-o", inputs=files, overwrite=overwrite)
    motion = options.part_of(captured(clip), start, end)
    other = None if held_out is None else captured(held_out)

    def tell(number: int, cost: float, least: float) -> None:
        note(f"try {number} of {tries}: cost {cost:.3f}, least so far {least:.3f}")

    log = output.with_name(output.name + ".tries")
    name = None if start is None and end is None else f"{clip.name} ({motion.duration:.2f} s from {start or 0.0:g} s)"
    found = learn_weights(motion, held_out=other, name=name, tries=tries, seed=seed, log=log, on_try=tell)
    found.save(output)
    for title, before, after in (
        ("learned from", found.before, found.after),
        ("held out", found.held_before, found.held_after),
    ):
        if before is not None:
            out().print(f"{title} {before.clip}: {before} at the start, {after} now", markup=False)
    out().print(f"{output}: poise synthesize {output} --clip {clip} -o out.bvh runs it.", markup=False)
