"""Space-time problems: cost against guess, and how unknowns and constraints grow with joints and time.

`python -m benchmarks.spacetime docs/spacetime.svg` also draws what it measured.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from poise.spacetime import Link, Planar, Problem, SpacetimeUnsolved, Stance, move, solve
from poise.spacetime.ready import GUESSES

JOINTS, KNOTS = (1, 2, 4, 8, 16), (21, 41, 81, 161, 321)
STEPS = (("luxo", (0.02, 0.01, 0.005)), ("jump", (0.02, 0.01)), ("stride", (0.01, 0.005)))
PROBLEMS = (("luxo", {}), ("luxo", {"obstacle": 0.25}), ("jump", {}))


def chain(joints: int, knots: int) -> Problem:
    """A chain of links of 1 m and 1 kg together swings its end by 40° in a second, from rest to rest."""
    count = joints + 1
    links = [Link("0", "", 1.0 / count, 1.0 / count, np.pi / 2)]
    links += [
        Link(str(k), str(k - 1), 1.0 / count, 1.0 / count, np.pi / 2, (1.0 / count, 0.0)) for k in range(1, count)
    ]
    figure, problem = Planar("chain", tuple(links)), Problem(1.0, knots)
    start = figure.standing((0.0, 0.0), "0", (0.0, 0.0))
    foot = Stance("0", ((0.0, 0.0), (0.0, 0.5), (0.0, -0.5)), 0, knots - 1, (0.0, 0.0))
    moving = move(problem, figure, (foot,), np.tile(start, (knots, 1)))
    problem.require("start", moving.q.value[2:, 0] - start[2:])
    problem.require("end", moving.q.value[3:, -1] - start[3:] + np.radians(40.0))
    problem.minimize("effort", problem.integral(moving.torque**2))
    return problem


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("chart", nargs="?", type=Path, help="an SVG file to draw")
    chart = parser.parse_args().chart
    print("cost, iterations, by guess")
    for name, options in PROBLEMS:
        for guess in GUESSES:
            try:
                s = solve(name, guess=guess, **options).solution
                seen = f"{s.cost:>12.4f}{s.iterations:>6}{s.seconds:>8.1f} s"
            except SpacetimeUnsolved as error:
                seen = str(error)[:70]
            print(f"  {name:<6}{options!s:<20}{guess:<12}{seen}", flush=True)
    print("cost, gravity of the flight, by step")
    for name, steps in STEPS:
        for step in steps:
            answer = solve(name, step=step)
            gravity = answer.checks.get("flight_gravity", float("nan"))
            print(f"  {name:<8}{1000.0 * step:>4g} ms {answer.solution.cost:>12.4f} {gravity:>12.9f}", flush=True)
    print("particle at rest at both ends: energy against the closed form")
    for knots in (76, 151, 301):
        end, seconds = np.array([3.0, 0.0, 1.0]), 2.0
        cost = solve("particle", end=tuple(end), seconds=seconds, knots=knots, mass=1.0, resting=True).solution.cost
        exact = 12.0 * end @ end / seconds**3 + 9.81**2 * seconds
        print(f"  {knots:>4} knots {abs(cost / exact - 1.0):.1e}", flush=True)
    print(f"{'joints':>8}{'knots':>7}{'unknowns':>10}{'rows':>8}{'entries':>9}")
    charts: list[Line] = [[], []]
    for place, sizes in enumerate(([(j, 41) for j in JOINTS], [(4, n) for n in KNOTS])):
        for joints, knots in sizes:
            seen = chain(joints, knots).size()
            print(f"{joints:>8}{knots:>7}{seen[0]:>10}{seen[1]:>8}{seen[2]:>9}", flush=True)
            charts[place].append(((joints, knots)[place], seen))
    if chart is not None:
        named = (("joints, at 41 knots", charts[0]), ("knots, with 4 joints", charts[1]))
        chart.write_text(svg(named), encoding="utf-8")


Line = list[tuple[int, tuple[int, ...]]]


def svg(charts: tuple[tuple[str, Line], ...]) -> str:
    """Charts beside each other on logarithmic axes: unknowns, constraint rows, entries of the Jacobian."""
    names, colors = ("unknowns", "constraints", "Jacobian entries"), ("#1f5fae", "#c2541a", "#3a8a4d")
    low, high = 2.0, 5.0
    out = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 300" font-family="sans-serif" font-size="12">',
        '<rect width="720" height="300" fill="white"/>',
    ]
    for place, (title, line) in enumerate(charts):
        first, last = np.log10(line[0][0]), np.log10(line[-1][0])

        def at(x: float, y: float, first: float = first, last: float = last, place: int = place) -> str:
            across = 60 + 350 * place + 260 * (np.log10(x) - first) / (last - first)
            return f"{across:.1f},{250 - 210 * (np.log10(y) - low) / (high - low):.1f}"

        out.append(f'<text x="{190 + 350 * place}" y="292" text-anchor="middle">{title}</text>')
        for power in range(int(low), int(high) + 1):
            a, b = at(line[0][0], 10.0**power), at(line[-1][0], 10.0**power)
            out.append(f'<polyline points="{a} {b}" stroke="#ddd"/>')
            out.append(f'<text x="{52 + 350 * place}" y="{a.split(",")[1]}" text-anchor="end">{10**power:,}</text>')
        for x, _ in line:
            out.append(f'<text x="{at(x, 10**low).split(",")[0]}" y="270" text-anchor="middle">{x}</text>')
        for k, (name, color) in enumerate(zip(names, colors)):
            points = " ".join(at(x, values[k]) for x, values in line)
            out.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>')
            if place == 0:
                out.append(f'<text x="{80 + 200 * k}" y="20" fill="{color}">{name}</text>')
    return "\n".join([*out, "</svg>", ""])


if __name__ == "__main__":
    main()
