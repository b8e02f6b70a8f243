"""Ready space-time problems: a particle with a jet engine, Luxo's jump, a planar person's jump, somersault and stride.

Each function states one problem; `solve` solves it by name. Energy is ∫‖f‖² as on the lecture's slide, which calls it
fuel; fuel is ∫‖f‖.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from poise.body.anthropometry import DE_LEVA
from poise.body.character import Character, ball
from poise.core import rotations
from poise.core.errors import InvalidValue, UnknownName, did_you_mean
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.spacetime.planar import Ground, Link, Muscles, Planar, Stance, move
from poise.spacetime.problem import Basis, BSplines, Points, Problem, Solution, casadi

SMOOTHING = 1e-4
"""Added to the squared thrust under the root of the fuel [N²]: the root has no derivative at zero."""
GUESSES = ("ballistic", "line", "nothing", "random")
"""Where a search may start: a ballistic arc, a straight line, zero everywhere, noise of seed 0."""
Place = tuple[float, float, float]


@dataclass(frozen=True)
class Task:
    """A problem stated, not yet solved.

    Attributes:
        problem: The problem.
        guess: Name of its guess.
        figure: The figure of links, or None for a particle.
        mass: Of the particle, if it is one [kg].
        stances: What stands when.
        flight: First and last knot of the flight, or None.
        circles: Obstacles and planets: (x, y, z), radius [m].
        gates: Places to pass [m].
    """

    problem: Problem
    guess: str
    figure: Planar | None = None
    mass: float = 0.0
    stances: tuple[Stance, ...] = ()
    flight: tuple[int, int] | None = None
    circles: tuple[tuple[Place, float], ...] = ()
    gates: tuple[Place, ...] = ()


@dataclass(frozen=True)
class Answer:
    """A task solved, with what can be checked of it.

    Attributes:
        name: Of the ready problem.
        task: What was asked.
        solution: What came of it.
        checks: Numbers that tell whether the physics holds: `flight_gravity` [m/s²] fitted to the center of mass in
            flight, `flight_spin_drift` (share of the largest angular momentum in flight), `force_max` (in weights),
            `torque_max_Nm`; for a particle `thrust_max_N`.
    """

    name: str
    task: Task
    solution: Solution
    checks: Mapping[str, float]

    @property
    def motion(self) -> Motion:
        """The answer as a motion of the figure's skeleton, or of a ball."""
        values, times = self.solution.values, self.solution.times
        if self.task.figure is not None:
            return Motion(self.task.figure.skeleton, times, *self.task.figure.joints(values["q"]))
        skeleton = self.character.skeleton
        turned = np.tile(rotations.IDENTITY, (len(times), 1, 1))
        return Motion(skeleton, times, values["position"][:, None], turned)

    @property
    def character(self) -> Character:
        """Who moves."""
        figure = self.task.figure
        return ball("particle", 0.06, self.task.mass) if figure is None else figure.character

    def report(self) -> dict[str, Any]:
        """For JSON, `poise.spacetime/1`."""
        return {"problem": self.name, **self.solution.report(), "checks": dict(self.checks)}


def particle(
    *,
    end: Place = (2.0, 0.0, 1.0),
    seconds: float = 1.0,
    knots: int = 101,
    mass: float = 2.0,
    resting: bool = True,
    objective: str = "energy",
    thrust_limit: float = 60.0,
    splines: int = 0,
    wind: Place = (0.0, 0.0, 0.0),
    drag: float = 0.0,
    gates: Sequence[tuple[float, Place]] = (),
    obstacles: Sequence[tuple[Place, float]] = (),
    planets: Sequence[tuple[Place, float]] = (),
    gravity: float = GRAVITY,
    guess: str = "line",
) -> Task:
    """A particle with a jet engine flies from the origin to `end`: m ẍ = f + m g + drag (wind − ẋ) + pull of planets.

    Args:
        end: Where to [m].
        seconds: Time for it.
        knots: Of the grid.
        mass: [kg].
        resting: Starts and ends at rest. Without it, only the places are given, and the best thrust
            is none at all: a throw.
        objective: "energy" ∫‖f‖² or "fuel" ∫√(‖f‖² + ε), with ε = `SMOOTHING` for a derivative at no thrust.
        thrust_limit: Largest thrust with "fuel" [N], which else would come in blows.
        splines: Coefficients of B-splines for the path; 0 for points.
        wind: Velocity of the air [m/s].
        drag: Linear drag [N s/m].
        gates: Times [s] and places [m] to pass.
        obstacles: Places and radii [m] of balls to stay out of.
        planets: Places [m] and G M [m³/s²] of bodies that pull, softened within 0.1 m.
        gravity: Downward [m/s²].
        guess: "line" or "nothing".
    """
    if objective not in ("energy", "fuel"):
        raise UnknownName(f"No objective {objective!r}; give energy or fuel.")
    ca, problem = casadi(), Problem(seconds, knots)
    a, b, t = np.zeros(3), np.asarray(end, dtype=np.float64), problem.times[:, None] / seconds
    basis: Basis = BSplines(splines, resting) if splines else Points(resting)
    x = problem.function("position", 3, basis, guess=_guess(guess, ("line", "nothing", "random"), a + t * (b - a)))
    f = problem.function("thrust", 3, guess=(0.0, 0.0, 1e-3))
    outside = f.value + ca.repmat(mass * ca.DM([0.0, 0.0, -gravity]), 1, knots) + drag * (ca.DM(wind) - x.rate)
    for place, pull in planets:
        away = ca.DM(place) - x.value
        outside += mass * pull * away / ca.repmat((ca.sum1(away**2) + 0.01) ** 1.5, 3, 1)
    inner = slice(None) if resting else slice(1, -1)  # with free ends, only between them
    problem.require("Newton", (mass * x.acceleration - outside)[:, inner])
    problem.require("ends", ca.horzcat(x.value[:, 0] - a, x.value[:, -1] - b))
    for time, place in gates:
        problem.require("gates", x.value[:, round(time / problem.step)] - ca.DM(place))
    for place, radius in obstacles:
        problem.require("obstacles", ca.sum1((x.value - ca.DM(place)) ** 2), radius**2, np.inf, is_late=True)
    thrust = ca.sum1(f.value**2)
    if objective == "fuel":
        problem.require("thrust limit", thrust / thrust_limit**2, -np.inf, 1.0)
    problem.minimize(objective, problem.integral(thrust if objective == "energy" else ca.sqrt(thrust + SMOOTHING)))
    circles = (*obstacles, *((p, 0.1) for p, _ in planets))
    return Task(problem, guess, mass=mass, circles=circles, gates=tuple(g for _, g in gates))


POST = 0.05
"""Half the width of the lamp's obstacle on the ground [m]."""
LAMP_FOOT = ((0.09, -0.03), (-0.09, -0.03))
LAMP = Planar(
    "luxo",
    (
        Link(
            "base", "", 0.5, 0.18, 0.0, com=(0.0, -0.015), inertia=0.0014, drawn=((-0.08, -0.015, 0.08, -0.015, 0.018),)
        ),
        Link("lower arm", "base", 0.3, 0.30, np.radians(60), bend=(np.radians(20), np.radians(140)), radius=0.012),
        Link(
            "upper arm",
            "lower arm",
            0.3,
            0.30,
            np.radians(120),
            (0.30, 0.0),
            bend=(np.radians(5), np.radians(130)),
            radius=0.012,
        ),
        Link(
            "head",
            "upper arm",
            0.6,
            0.16,
            np.radians(-20),
            (0.30, 0.0),
            bend=(np.radians(-230), np.radians(-50)),
            drawn=((-0.03, 0.0, 0.02, 0.0, 0.02), (0.06, 0.0, 0.11, 0.0, 0.05)),
        ),
    ),
)
"""A desk lamp of 1.7 kg."""


def luxo(
    *,
    distance: float = 0.5,
    obstacle: float = 0.0,
    step: float = 0.02,
    flight: float = 0.26,
    stiffness: float = 0.0,
    splines: int = 0,
    friction: float = 0.8,
    blow: float = 1.0,
    guess: str = "ballistic",
) -> Task:
    """A desk lamp jumps, from rest to rest, with the least ∫‖torque‖².

    Args:
        distance: Of the jump [m].
        obstacle: Height of a post halfway that base and head go over [m]; 0 for none.
        step: Time between knots [s].
        flight: Time in the air [s].
        stiffness: k of muscles f = k (q_m − q) [N m/rad]; 0 for free torques.
        splines: Coefficients of the set points q_m; 0 for one at each knot.
        friction: Coulomb coefficient.
        blow: Largest blow of the landing, as a change of the lamp's velocity [m/s].
        guess: One of `GUESSES`.
    """
    problem, (first, last) = _phases(step, 0.4, flight, 0.4)
    ends = [LAMP.standing((0.09 + d, 0.0), "base", LAMP_FOOT[0]) for d in (0.0, distance)]
    stances = (
        Stance("base", LAMP_FOOT, 0, first, (0.09, 0.0), releases=True),
        Stance("base", LAMP_FOOT, last, problem.knots - 1, (0.09 + distance, 0.0), blow=blow),
    )
    clear = [("base", p) for p in LAMP_FOOT]
    muscles = Muscles(stiffness, BSplines(splines) if splines else None)
    ground = Ground(friction=friction, clear=clear)
    guessed = _jump_guess(guess, problem, ends, first, last)
    moving = move(problem, LAMP, stances, guessed, muscles=muscles, ground=ground)
    _ends(problem, moving.q.value, ends)
    drawn = np.linspace(0.0, 0.9, 7) if obstacle > 0.0 else np.zeros(0)
    circles = tuple(((0.5 * distance, 0.0, obstacle * z), POST * float(np.sqrt(1.0 - z**2))) for z in drawn.tolist())
    if obstacle > 0.0:
        over = [*clear, ("base", (0.0, -0.03)), ("head", (0.16, 0.0))]
        _stay_out(problem, LAMP, moving.q.value, 0.5 * distance, obstacle, over)
    problem.minimize("effort", problem.integral(moving.torque**2))
    return Task(problem, guess, LAMP, stances=stances, flight=(first, last), circles=circles)


TOE, HEEL = (0.16, -0.07), (-0.06, -0.07)
MASS = 70.0
"""Of the person [kg]."""


def _mass(*segments: str) -> float:
    """Of segments of the person [kg]."""
    return MASS * sum(DE_LEVA[segment] for segment in segments)


def person(legs: int = 1) -> Planar:
    """A person of 70 kg and 1.7 m in the sagittal plane, both arms as one; `legs=1` moves both legs as one.

    Masses by `body.anthropometry.DE_LEVA`.
    """
    deg = np.radians
    trunk, arms = (
        _mass("head", "upper_trunk", "middle_trunk", "lower_trunk"),
        2.0 * _mass("upper_arm", "forearm", "hand"),
    )
    torso = ((0.03, 0.0, 0.42, 0.0, 0.11), (0.62, 0.0, 0.70, 0.01, 0.09))
    bend = (deg(-250), deg(10))
    links = [
        Link("trunk", "", trunk, 0.78, deg(88), com=(0.31, 0.0), inertia=2.6, drawn=torso),
        Link("arms", "trunk", arms, 0.62, deg(-85), (0.48, 0.0), bend=bend, radius=0.04, aside=(0.2, -0.2)),
    ]
    sides = [("", 0.0, (0.09, -0.09))] if legs == 1 else [("left ", 8.0, (0.09,)), ("right ", -8.0, (-0.09,))]
    thigh, shank, foot = (2.0 / legs * _mass(segment) for segment in ("thigh", "shin", "foot"))
    sole = ((-0.03, -0.04, 0.0, 0.0, 0.03), (-0.03, -0.04, 0.14, -0.05, 0.03))
    for name, lean, aside in sides:
        hip, knee, ankle = (deg(-205), deg(-45)), (deg(-150), deg(-3)), (deg(35), deg(120))
        top, middle = name + "thigh", name + "shank"
        links += [
            Link(top, "trunk", thigh, 0.41, deg(-78 + lean), bend=hip, radius=0.07, aside=aside),
            Link(middle, top, shank, 0.40, deg(-104 + lean), (0.41, 0.0), bend=knee, radius=0.05, aside=aside),
            Link(
                name + "foot",
                middle,
                foot,
                0.20,
                0.0,
                (0.40, 0.0),
                com=(0.05, -0.04),
                inertia=0.008 / legs,
                bend=ankle,
                aside=aside,
                drawn=sole,
            ),
        ]
    return Planar("person", tuple(links))


def jump(
    *,
    distance: float = 0.8,
    turns: float = 0.0,
    step: float = 0.02,
    push: float = 0.5,
    flight: float = 0.4,
    catch: float = 0.5,
    torque_limit: float = 500.0,
    blow: float = 0.1,
    guess: str = "ballistic",
) -> Task:
    """A person jumps with both feet, from rest to rest, with the least ∫‖torque‖².

    Args:
        distance: Of the jump [m].
        turns: Somersaults backward; negative for forward.
        step: Time between knots [s].
        push, flight, catch: Time on the ground, in the air and to land [s].
        torque_limit: Of both legs' or arms' joints together [N m].
        blow: Largest blow of the landing, as a change of the body's velocity [m/s].
        guess: One of `GUESSES`.
    """
    figure = person()
    problem, (first, last) = _phases(step, push, flight, catch)
    ends = [figure.standing((TOE[0] + d, 0.0), "foot", TOE) for d in (0.0, distance)]
    ends[1][2:] += 2.0 * np.pi * turns
    roll = first - round(0.12 / step)
    stances = (
        Stance("foot", (TOE, HEEL), 0, roll, (TOE[0], 0.0)),
        Stance("foot", (TOE,), roll + 1, first, (TOE[0], 0.0), releases=True),
        Stance("foot", (TOE, HEEL), last, problem.knots - 1, (TOE[0] + distance, 0.0), blow=blow),
    )
    clear = [("foot", TOE), ("foot", HEEL), ("trunk", (0.78, 0.0)), ("arms", (0.62, 0.0)), ("shank", (0.0, 0.0))]
    guessed = _jump_guess(guess, problem, ends, first, last)
    muscles, ground = Muscles(torque_limit=torque_limit), Ground(clear=clear)
    moving = move(problem, figure, stances, guessed, muscles=muscles, ground=ground)
    _ends(problem, moving.q.value, ends)
    problem.minimize("effort", problem.integral(moving.torque**2))
    return Task(problem, guess, figure, stances=stances, flight=(first, last))


def somersault(*, turns: float = 1.0, distance: float = -0.2, flight: float = 0.64, guess: str = "ballistic") -> Task:
    """A person's standing somersault, backward by default.

    Args:
        turns: Of the whole body; negative for forward.
        distance: Between take-off and landing [m].
        flight: Time in the air [s].
        guess: One of `GUESSES`.
    """
    return jump(distance=distance, turns=turns, flight=flight, push=0.6, catch=0.6, torque_limit=700.0, guess=guess)


def stride(
    *,
    speed: float = 3.0,
    contact: float = 0.2,
    flight: float = 0.12,
    step: float = 0.01,
    torque_limit: float = 280.0,
    blow: float = 0.1,
    guess: str = "line",
) -> Task:
    """One step of a person's run on the balls of the feet that repeats with left and right changed.

    Args:
        speed: Of the run [m/s].
        contact, flight: Time on one foot and in the air [s].
        step: Time between knots [s].
        torque_limit: Of each joint [N m].
        blow: Largest blow of the foot, as a change of the body's velocity [m/s].
        guess: "line" or "nothing".
    """
    figure, ca = person(legs=2), casadi()
    first, count = round(contact / step), round((contact + flight) / step)
    problem = Problem(count * step, count + 1)
    stances = (Stance("left foot", (TOE,), 0, first, (None, 0.0), True, 2.0 * blow),)  # half of each of its ends
    start = figure.standing((TOE[0], 0.0), "left foot", TOE)
    line = start + np.outer(problem.times, [speed] + [0.0] * (figure.size - 1))
    clear = [(side + "foot", p) for side in ("left ", "right ") for p in (TOE, HEEL)]
    muscles, ground = Muscles(torque_limit=torque_limit), Ground(clear=clear)
    guessed, cycle = _guess(guess, ("line", "nothing", "random"), line), [0, 1, 5, 6, 7, 2, 3, 4]
    moving = move(problem, figure, stances, guessed, muscles=muscles, ground=ground, cycle=cycle)
    q = moving.q.value
    problem.require("speed", ca.vertcat(q[0, 0], q[0, -1] - q[0, 0] - speed * problem.duration))
    problem.minimize("effort", problem.integral(moving.torque**2))
    return Task(problem, guess, figure, stances=stances, flight=(first, count))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


READY: dict[str, Callable[..., Task]] = {
    "particle": particle,
    "luxo": luxo,
    "jump": jump,
    "somersault": somersault,
    "stride": stride,
}


def solve(name: str, /, **options: Any) -> Answer:
    """Solve a ready problem by name.

        answer = solve("luxo", distance=0.5)
        print(answer.checks["flight_gravity"])  # -9.81

    Raises:
        UnknownName: for another name.
        InvalidValue: for an option it does not have.
        MissingExtra: without CasADi.
        SpacetimeUnsolved: if there is no such motion, or none is found.
    """
    if name not in READY:
        raise UnknownName(f"No space-time problem {name!r}.{did_you_mean(name, READY)} Problems: {', '.join(READY)}.")
    known = inspect.signature(READY[name]).parameters
    for option, value in options.items():
        if option not in known:
            raise InvalidValue(
                f"Problem {name!r} has no option {option!r}.{did_you_mean(option, known)} Options: {', '.join(known)}."
            )
        usual = known[option].default
        if isinstance(usual, int | float) and not isinstance(usual, bool) and not _is_number(value):
            raise InvalidValue(f"{option} of {name!r} is {value!r}; give a finite number, such as {usual:g}.")
        if isinstance(usual, str) and not isinstance(value, str):
            raise InvalidValue(f"{option} of {name!r} is {value!r}; give a word, such as {usual!r}.")
        if (
            isinstance(usual, tuple)
            and usual
            and not (isinstance(value, list | tuple) and len(value) == len(usual) and all(map(_is_number, value)))
        ):
            raise InvalidValue(f"{option} of {name!r} is {value!r}; give {len(usual)} numbers, such as {usual}.")
    task = READY[name](**options)
    solution = task.problem.solve(task.guess)
    return Answer(name, task, solution, checks(task, solution))


def checks(task: Task, solution: Solution) -> dict[str, float]:
    """See `Answer.checks`."""
    if task.figure is None:
        return {"thrust_max_N": float(np.linalg.norm(solution.values["thrust"], axis=1).max())}
    figure, q, h = task.figure, solution.values["q"], task.problem.step
    out = {"torque_max_Nm": float(np.abs(solution.values["torque"]).max())}
    total = sum(solution.values[f"force {k}"][:, 1::2].sum(axis=1) for k in range(len(task.stances)))
    out["force_max"] = float(np.max(total) / (figure.mass * GRAVITY))
    if task.flight is not None:
        first, last = task.flight
        part = slice(first, last + 1)
        out["flight_gravity"] = float(2.0 * np.polyfit(h * np.arange(last - first + 1), q[part, 1], 2)[0])
        spin = figure.angular_momentum(q[part].T, h)
        out["flight_spin_drift"] = float(np.ptp(spin) / max(float(np.abs(spin).max()), 1e-6))
    return out


def _phases(step: float, push: float, flight: float, catch: float) -> tuple[Problem, tuple[int, int]]:
    """A problem over three phases, and the first and last knot of the flight."""
    for what, value in (("step", step), ("push", push), ("flight", flight), ("catch", catch)):
        if not (np.isfinite(value) and value > 0.0):
            raise InvalidValue(f"{what} is {value} s; give a positive time.")
    first, air, after = (max(2, round(t / step)) for t in (push, flight, catch))
    knots = first + air + after + 1
    return Problem(step * (knots - 1), knots), (first, first + air)


def _guess(name: str, known: Sequence[str], line: Array) -> Array:
    """Values to start from: the line, zeros, or noise."""
    if name not in known:
        raise UnknownName(f"No guess {name!r} here.{did_you_mean(name, known)} Guesses: {', '.join(known)}.")
    if name == "random":
        return 0.5 * np.random.default_rng(0).normal(size=line.shape)
    return np.zeros_like(line) if name == "nothing" else line


def _jump_guess(name: str, problem: Problem, ends: Sequence[Array], first: int, last: int) -> Array:
    """A jump to start from (N, size): from stand to stand at even speed, or an arc between take-off and landing."""
    t, (a, b) = problem.times, ends
    if name != "ballistic":
        return _guess(name, GUESSES, a + np.outer(t / t[-1], b - a))
    share = np.clip((t - t[first]) / (t[last] - t[first]), 0.0, 1.0)
    arc = a + np.outer(share, b - a)
    arc[:, 1] += 0.5 * GRAVITY * (t[last] - t[first]) ** 2 * share * (1.0 - share)
    return arc


def _ends(problem: Problem, q: Any, ends: Sequence[Array]) -> None:
    problem.require("ends", casadi().horzcat(q[:, 0] - ends[0], q[:, -1] - ends[1]))


def _stay_out(
    problem: Problem, figure: Planar, q: Any, x: float, height: float, points: Sequence[tuple[str, tuple[float, float]]]
) -> None:
    """Points of a figure stay out of half an ellipse that stands on the ground: a post without corners."""
    for link, at in points:
        p = figure.point(q, link, at)
        away = ((p[0, :] - x) / POST) ** 2 + (p[1, :] / height) ** 2
        problem.require("obstacle", away, 1.0, np.inf, is_late=True)
