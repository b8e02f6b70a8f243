"""`poise spacetime`: motion as the answer of one optimization over all of its times."""

from __future__ import annotations

import ast
import inspect
from typing import Annotated, Any

from poise.cli import options
from poise.cli.app import app, out, output_paths, print_json, waiting
from poise.cli.options import argument, flag, option


@app.command()
def spacetime(
    name: Annotated[str, argument("NAME", "A built-in problem; see --list.")] = "",
    choices: Annotated[
        list[str] | None,
        option("NAME=VALUE", "Change an option of the problem (see --list). Can be repeated.", "--set"),
    ] = None,
    guess: Annotated[str, option("GUESS", "Initial guess of the solver (see --list).")] = "",
    show_list: Annotated[bool, flag("--list", "List the problems and their options.")] = False,
    output: options.Output = None,
    record: options.Record = None,
    report: options.Report = None,
    as_json: options.Json = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Solve a built-in space-time problem: a particle with a jet engine, Luxo's jump, a person's jump, flip or stride.

    Needs the extra "spacetime" (CasADi with IPOPT).

    Example: [bold]poise spacetime luxo --record luxo.html[/bold]
    """
    from poise.io.files import all_or_none, write_json
    from poise.spacetime.ready import READY, solve

    if show_list or not name:
        for known, ready in READY.items():
            text = (inspect.getdoc(ready) or "").splitlines()
            out().print(f"[bold]{known}[/bold]  {text[0]}")
            lines = [line for line in text[1:] if line.strip() and line.strip() != "Args:"]
            out().print("\n".join(lines), markup=False)
        return
    output_paths([output, record, report], "-o, --record and --report", inputs=[], overwrite=overwrite)
    if record is not None:
        from poise.show.recording import require_kind

        require_kind(record)
    wanted = dict(_value(choice) for choice in choices or ())
    with waiting(f"Solving {name}"):
        answer = solve(name, **(wanted | ({"guess": guess} if guess else {})))
    found = answer.report()
    with all_or_none():
        if output is not None:
            import poise.io

            poise.io.save(answer.motion, output)
        if report is not None:
            write_json(report, found)
        if record is not None:
            from poise.show import record as write
            from poise.show.spacetime_scene import scene_of_spacetime

            write(scene_of_spacetime(answer), record)
    if as_json:
        print_json(found)
        return
    solution = answer.solution
    out().print(
        f"{name}: cost {solution.cost:.6g} ({', '.join(solution.costs)}), {solution.iterations} iterations from the "
        f"guess {solution.guess!r} in {solution.seconds:.1f} s; {solution.unknowns} unknowns, "
        f"{solution.rows} constraints.",
        markup=False,
    )
    for check, value in answer.checks.items():
        out().print(f"  {check:<20}{value:.5g}", markup=False)


def _value(choice: str) -> tuple[str, Any]:
    """`NAME=VALUE` as a name and a number, word, or tuple of these."""
    name, text = options.name_and_value(choice, "distance=0.6")
    try:
        return name, ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return name, text
