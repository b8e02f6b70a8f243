"""Space-time constraints

A motion as the answer of one optimization over all of its times: known are its ends, the laws of mechanics and what
should be small. First a particle with a jet engine is stated in six lines and held against its closed form.
Then a desk lamp jumps: from a ballistic arc and from a straight line the search ends in the same jump, in which the
lamp falls with exactly the gravity it should. Needs the extra `spacetime`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from poise.show import record
from poise.show.spacetime_scene import scene_of_spacetime
from poise.spacetime import Answer, Points, Problem, solve
from poise.spacetime.problem import casadi

OUT = Path(tempfile.mkdtemp()) if "--headless" in sys.argv else Path("out")


def flight(mass: float, distance: float, seconds: float) -> float:
    """Least ∫ f² of a straight flight from rest to rest without gravity."""
    problem = Problem(seconds, 101)
    x, f = problem.function("position", 1, Points(is_resting=True)), problem.function("thrust", 1)
    problem.require("Newton", mass * x.acceleration - f.value)
    problem.require("ends", casadi().horzcat(x.value[0], x.value[-1] - distance))
    problem.minimize("energy", problem.integral(f.value**2))
    return problem.solve().cost


def main() -> None:
    """Fly, jump twice, draw, check."""
    OUT.mkdir(exist_ok=True)
    energy, closed = flight(2.0, 1.0, 1.0), 12.0 * 2.0**2
    print(f"particle: energy {energy:.4f}, by the formula 12 m² d² / T³ {closed:.4f}")
    jumps = [solve("luxo", guess=guess) for guess in ("ballistic", "line")]
    print(f"{'guess':<12}{'cost':>10}{'iterations':>12}{'gravity in flight':>20}")
    for answer in jumps:
        solution = answer.solution
        gravity = answer.checks["flight_gravity"]
        print(f"{solution.guess:<12}{solution.cost:>10.4f}{solution.iterations:>12}{gravity:>20.4f}")
    record(scene_of_spacetime(jumps[0]), OUT / "luxo.png", width=180, height=220)
    print(f"See {OUT / 'luxo.png'}.")
    check(energy, closed, jumps)


def check(energy: float, closed: float, jumps: list[Answer]) -> None:
    """The closed form is met, both guesses lead to one jump, and it is a fall."""
    assert abs(energy / closed - 1.0) < 1e-3
    assert abs(jumps[0].solution.cost / jumps[1].solution.cost - 1.0) < 0.01
    assert abs(jumps[0].checks["flight_gravity"] + 9.81) < 1e-6


if __name__ == "__main__":
    main()
