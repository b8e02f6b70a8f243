"""Figures among bodies: one step in which all answer the forces between them.

A driver states what its figure wants as lists; `step.response` says how the answer to these lists changes with a force,
a = a₀ + B F, and a body answers by M⁻¹. `contacts` finds the impulses that suit both. The figure then solves its step
once more with that force, so that nothing but the force enters, and where it touches no body nothing enters at all.
Source: [Levine2012]_ section 3.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from poise.body.character import Character
from poise.core.errors import InvalidValue, MotionWarning, SimulationDiverged, UnknownName
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.filter.forces import Companion, Force, Thing
from poise.filter.sensing import Given
from poise.filter.simulate import Playback
from poise.physics.collisions import CapsulePairs
from poise.physics.mujoco_backend import model_of
from poise.physics.mujoco_bodies import Bodies
from poise.physics.mujoco_sight import Sight
from poise.physics.touching import Touches, remembered
from poise.step import Constraint, Objective, Step
from poise.synthesis.controller_file import Wanted
from poise.synthesis.figure import Settings
from poise.synthesis.world import World as Controlled
from poise.terrain import Terrain
from poise.world.answers import agree, felt_by, largest_forces, wanted_velocities, with_limits
from poise.world.cast import cast_of
from poise.world.drivers import Driver, Figure, Lists, Stream, paces_of
from poise.world.guides import Guide, Guided, guide_bodies, guided, pulled
from poise.world.holds import Hold, eased_joins, take_hold
from poise.world.ledger import Ledger, note_step
from poise.world.muscles import Goals
from poise.world.pacing import Pacing
from poise.world.saving import Saved, restore, save
from poise.world.scenes import deck_of, ground_of, inside_figures, overlaps, read_scene, things_of
from poise.world.thrown import hold, throw
from poise.world.treads import Pressed, Treads, loads

CLOSE = 1e-4
"""Velocity to which the answers of figures agree with the contacts [m/s]."""
LONGEST_STEP = 0.02
"""Of a world [s]."""
BODY = 70.0
"""Mass to which contacts are soft where there is no figure [kg]."""
FASTEST_JOINT = 1e3
"""A joint that is faster [rad/s, m/s] means that the run diverged."""
SETTLING_TIME = 1.5
"""Loose bodies fall and come to rest for so long before time 0 [s]."""


class World:
    """Figures, each with its own driver, and bodies that push back.

    Example:
        >>> ada = poise.world.Clip(motion, character)
        >>> world = poise.World("rubble:10,1", figures={"ada": ada})
        >>> for _ in range(10):
        ...     world.step()

    `poise.simulate(motion, world=world)` runs a clip through the filter in it, beside the world's own figures.

    Args:
        scene: MJCF text, a MuJoCo file (.xml), a scene file (.toml), "rubble:COUNT,SEED"; level ground if not given.
        figures: Drivers by the name of the figure.
        terrain: The ground; one that is not level takes the place of the scene's own.
        dt: Length of a step [s].
        friction: Least friction of what a figure touches.

    Attributes:
        figures: In order; that of `poise.simulate` comes first.
        bodies: The engine's model of figures and bodies.
        q, v: Coordinates and velocities of figures and bodies.
        time: [s].
        track: Places and orientations of the bodies at every step, for recordings.
    """

    def __init__(
        self, scene: str | os.PathLike[str] | None = None, *, figures: Mapping[str, Driver] | None = None,
        terrain: Terrain | None = None, dt: float = 0.01, friction: float = 0.8,
    ) -> None:  # fmt: skip
        if not 0.0 < dt <= LONGEST_STEP:
            raise InvalidValue(f"dt is {dt} s; give a positive time, at most {LONGEST_STEP} s.")
        self._scene, self.friction, self.dt, self.time = scene, friction, dt, 0.0
        self.terrain = Terrain.flat() if terrain is None else terrain
        self._cast = cast_of(scene)
        self._drivers = {**(figures or {}), **self._cast.drivers, **(figures or {})}  # those given come first
        self._outside: Figure | None = None
        self._treads = Treads()
        self._begin([], None)
        if len(self._treads.boxes):  # figures begin on bodies that have come to rest
            self._begin([], None)

    # --- the beginning

    def join(self, playback: Playback, way: Array) -> None:
        """Begin with the figure of a clip that another run plays.

        Args:
            playback: The clip and its figure.
            way: Horizontal places that it will go through [m], shape (N, 2).

        Raises:
            InvalidValue: if the scene cannot be read, or one of the figures cannot begin.
        """
        figure = playback.figure
        self.dt, self.terrain = playback.dt, figure.terrain.bare
        self._outside = Figure("figure", figure.character, None, figure)
        self._begin([(self._outside, figure.q, figure.v)], way)
        see, returns = self._sight.distance, figure.options.after != "stay"
        self._pacing = Pacing(playback, lambda look: see(0, look, self._paces), sees=True, returns=returns, seed=0)

    def advance_clip(self, pushes: Sequence[Force]) -> tuple[Given, float]:
        """Move the clip of the figure that joined on by one step: what it is given, and the frame of its clip."""
        return self._pacing.advance(pushes, self.felt), self._pacing.going.frame

    def admit(
        self, behavior: Wanted, character: Character | None, options: Mapping[str, Any] | None, settings: Settings
    ) -> Controlled:
        """Begin with one more figure, which goals drive, for `poise.synthesize`; the world that its controller knows.

        Raises:
            InvalidValue: if the scene has a figure of this name, or one of them cannot begin.
        """
        goals = Goals(behavior, character, options=options, settings=settings)
        if goals.name in self._drivers:
            raise InvalidValue(f"The scene has a figure {goals.name!r}, as the behavior has. Rename it in the scene.")
        self.dt, self._drivers = settings.dt, {goals.name: goals, **self._drivers}
        self._begin([], None)
        return goals.controlled

    def _begin(
        self, joined: list[tuple[Figure, Array, Array]], way: Array | None, without: frozenset[str] = frozenset()
    ) -> None:
        """Put everyone in place; loose bodies come to rest first. Rubble that a figure begins in is left out."""
        everyone, self._events, self._finders, dt = list(joined), list(self._cast.events), [], self.dt
        for name, driver in self._drivers.items():
            if driver.character is None:
                raise InvalidValue(f"Figure {name!r} has no character; give its driver one.")
            self._introduce(driver, len(everyone))
            driver.begin(driver.character, dt, self.ground(driver.character), None)
            everyone.append((Figure(name, driver.character, driver), driver.q, driver.v))
        self.figures = figures = tuple(figure for figure, _, _ in everyone)
        self.scale = scale = figures[0].character.leg_scale if figures else 1.0
        self._masses = np.array([figure.character.mass for figure in figures])
        self.mass = float(self._masses.mean()) if figures else BODY
        way = next((d.way for d in self._drivers.values() if d.way is not None), None) if way is None else way
        around = read_scene(self._scene, way=way, scale=scale, terrain=self.terrain, without=without)
        places = np.concatenate([np.zeros((1, 2)) if way is None else way, *(q[None, :2] for _, q, _ in everyone)])
        ground = "" if self.terrain.is_flat else ground_of(self.terrain, places)
        self.bodies = bodies = Bodies(
            [model_of(figure.character) for figure in figures], around.mjcf, friction=self.friction, ground=ground,
            margin=0.01 * scale, dt=dt, pairs=[CapsulePairs([figure.character]).pairs for figure in figures],
        )  # fmt: skip
        self._sight = Sight(bodies)
        self._treads.find(bodies)
        self._pressed: list[Pressed] = []
        self._let_meet()
        own = [] if self.terrain.is_static else [deck_of(self.terrain)]
        prefixes = [f"ground/{c.name}" for c in own] + [f"scene/{c.name}" for c in around.carried]
        self._carried = [(bodies.names.index(n), c.pose) for n, c in zip(prefixes, (*own, *around.carried))]
        self._carry(0.0)
        self.q, self.v = bodies.q.copy(), bodies.v.copy()
        self._touches: Touches | None = None
        self._p, self._ledger = np.zeros((0, 3)), Ledger()
        self._lists: tuple[list[Lists | None], list[Array]] | None = None
        # without the figures, which stand still far above, each by itself
        for k, (at, dofs, (_, q, _)) in enumerate(zip(bodies.figure_q, bodies.figure_v, everyone), start=1):
            self.q[at], self.v[dofs] = q, 0.0
            self.q[at.start + 2] += 1e3 * k
        self._held = list(around.balls)
        self._pulls: list[tuple[int, Force]] = []
        self._guided: list[Guided] = []
        self._is_settling = True
        if not bodies.is_figure.all():
            for _ in range(round(SETTLING_TIME / dt)):
                self._meet([None] * len(figures))
                self.q = bodies.after(self.q, self.v)
                hold(bodies, self._held, self.q, self.v)
        for at, dofs, (_, q, v) in zip(bodies.figure_q, bodies.figure_v, everyone):
            self.q[at], self.v[dofs] = q, v
        bodies.move(self.q, self.v)
        if more := inside_figures(bodies) & around.rubble:
            self._begin(joined, way, without | more)
            return
        self._is_settling, self.time = False, 0.0
        self.track: list[tuple[Array, Array]] = []
        self._ledger.start_count()
        self._see()
        for sentence in overlaps(bodies, [figure.name for figure in figures], scale):
            warnings.warn(sentence, MotionWarning, stacklevel=3)

    def _introduce(self, driver: Driver, number: int) -> None:
        """Tell a driver what is around its figure."""
        driver.friction, driver.walls, driver.finders = self.friction, self._cast.walls, self._finders
        driver.seed, driver.room = number, lambda look: self._sight.distance(number, look, self._paces)

    def ground(self, character: Character, terrain: Terrain | None = None) -> Terrain:
        """The ground as a figure knows it, with the bodies that it can step on; one laid under a clip begins there."""
        known = self._treads.ground(terrain or self.terrain, character.leg_length)
        return known if terrain is None else known.begun_at(terrain.origin, terrain.heading, is_lifted=False)

    def _let_meet(self) -> None:
        for k, figure in enumerate(self.figures):
            self.bodies.let_meet(k, ground=figure.meets_ground)
        self._treads.let_meet(self.bodies, [figure.simulated for figure in self.figures])
        self._most = largest_forces(self.bodies, self.figures)

    # --- what a user does to it while it runs

    def figure(self, name: str) -> Figure:
        """The figure with this name.

        Raises:
            UnknownName: if there is none.
        """
        for figure in self.figures:
            if figure.name == name:
                return figure
        raise UnknownName(f"No figure {name!r}. Figures: {', '.join(f.name for f in self.figures) or 'none'}.")

    def drive(self, name: str, driver: Driver) -> None:
        """Let a figure be driven otherwise from now on, from where it is.

        Example:
            >>> world.drive("ada", poise.world.Ragdoll())
            >>> world.step()

        Raises:
            UnknownName: if there is no such figure.
            InvalidValue: if it is the figure of `poise.simulate`, or the driver is for another skeleton.
        """
        figure = self.figure(name)
        if figure.driver is None:
            raise InvalidValue(f"{name!r} is driven by the run that it belongs to; only other figures can change.")
        character = figure.character
        self._introduce(driver, self.figures.index(figure))
        if driver.character is not None and driver.character.skeleton.names != character.skeleton.names:
            raise InvalidValue(f"The driver is for another skeleton than {name!r} has; fit it to the same character.")
        driver.begin(character, self.dt, self.ground(character), (figure.driver.q.copy(), figure.driver.v.copy()))
        figure.driver = driver
        self._let_meet()

    def push(self, name: str, push: Force) -> None:
        """Push or pull a figure, or a body of the scene; the start counts from the world's.

        Raises:
            UnknownName: if there is no such figure or body.
        """
        if f"scene/{name}" in self.bodies.names:
            self._pulls.append((self.bodies.names.index(f"scene/{name}"), push))
            self._held = [ball for ball in self._held if ball.name != name]  # a hand takes it out of the air
            return
        figure = self.figure(name)
        push.body_of(figure.character)
        figure.pushes.append(push)

    def guide(self, name: str, guide: Guide) -> None:
        """Give a free body of the scene a goal of its own, with a helper force; it replaces an older one.

        Raises:
            UnknownName, InvalidValue: if there is no such body, or it does not move freely.
        """
        one = guided(self.bodies, name, guide)
        self._held = [ball for ball in self._held if ball.name != name]
        self._guided = [*(other for other in self._guided if other.body != one.body), one]

    def hold(self, name: str, hold: Hold) -> None:
        """Let a figure take hold of another, or of a body of the scene, from now on; or let go.

        Example:
            >>> world.hold("ada", poise.world.Hold("LeftHand", "bob", "RightHand"))

        Raises:
            UnknownName, InvalidValue: if there is no such figure or body, or they are too far apart.
        """
        self.bodies.move(self.q, self.v)
        take_hold(self.bodies, self.figures, name, hold, self.scale)
        self._held = [ball for ball in self._held if ball.name != hold.other]  # it takes it out of the air

    def save(self) -> Saved:
        """Everything as it is now; `restore` puts it back, and the world goes on as it did, to the last bit.

        Example:
            >>> before = world.save()
            >>> world.step()
            >>> world.restore(before)
        """
        return Saved(self.time, save(self))

    def restore(self, saved: Saved) -> None:
        """Go back to what `save` of this world kept.

        Raises:
            InvalidValue: if it is of another world.
        """
        if saved.kept[0][0] is not self:
            raise InvalidValue("This was saved by another world; each world restores what it saved itself.")
        restore(saved.kept)
        self.bodies.is_placed = False
        self._carry(self.time)
        self._let_meet()

    # --- one step

    def step(self, poses: Mapping[str, Array] | None = None) -> None:
        """Move on by one step.

        Example:
            >>> world.step({"ada": pose})

        Args:
            poses: For each figure that follows a stream, the pose that it goes to, shape (nq,).

        Raises:
            UnknownName: if there is no such figure.
            InvalidValue: if a figure follows no stream, or the pose is not one of it.
            SimulationDiverged: if a figure moves faster than an answer means anything.
        """
        for name, pose in (poses or {}).items():
            driver = self.figure(name).driver
            if not isinstance(driver, Stream):
                raise InvalidValue(f"{name!r} follows no stream: drive({name!r}, Stream(character, pose)) lets it.")
            driver.give(pose)
        self._finish(*self._meet(self._ask_all()))

    @property
    def felt(self) -> Sequence[Force]:
        """Forces on the figure that joined, in the last step."""
        return self._outside.felt if self._outside else ()

    def meet(
        self, step: Step, objectives: Sequence[Objective], constraints: Sequence[Constraint]
    ) -> tuple[Sequence[Objective], Sequence[Constraint], Array]:
        """Solve the contacts of a step of the figure that joined together with those of all others.

        Returns:
            The lists as they are to be solved, and the generalized force of all that touches the figure, shape (nv,).
        """
        lists, forces = self._lists = self._meet([Lists(step, objectives, constraints), *self._ask_all()])
        own = lists[0]
        assert own is not None
        return own.objectives, own.constraints, forces[0]

    def advance(self, q: Array, v: Array) -> None:
        """Go on with the figure that joined at its next pose (nq,) and velocity (nv,)."""
        if self._lists is None:  # it was moved without a step
            self._lists = self._meet([None, *self._ask_all()])
        (lists, forces), self._lists = self._lists, None
        self._finish([None, *lists[1:]], forces, (q, v))

    def _ask_all(self) -> list[Lists | None]:
        """What the world's own figures want in this step, after what happens now."""
        while self._events and self._events[0][0] <= self.time + 1e-9:
            _, name, change = self._events.pop(0)
            if isinstance(change, Guide):
                self.guide(name, change)
            elif isinstance(change, Hold):
                self.hold(name, change)
            elif isinstance(change, Driver):
                self.drive(name, change)
            else:
                self.push(name, change)
        own = ((figure, figure.driver) for figure in self.figures if figure.driver is not None)
        return [d.ask([*(push for push in f.pushes if push.is_on(self.time)), *f.felt]) for f, d in own]

    def _finish(
        self, lists: Sequence[Lists | None], forces: Sequence[Array], joined: tuple[Array, Array] | None = None
    ) -> None:  # fmt: skip
        """Move everything on."""
        q = self.q = self.bodies.after(self.q, self.v)
        for k, (figure, own, force) in enumerate(zip(self.figures, lists, forces)):
            driver = figure.driver
            if driver is None:
                assert joined is not None
                here = joined
            else:
                if own is not None:
                    driver.move(own, force)
                here = driver.q, driver.v
                if not np.abs(here[1]).max(initial=0.0) < FASTEST_JOINT:
                    raise SimulationDiverged(
                        f"Figure {figure.name!r} moves at {np.abs(here[1]).max():.3g} rad/s or m/s at {self.time:.2f} "
                        "s. Take shorter steps (dt), or gentler pushes.",
                        frame=len(self.track), reason="too fast",
                    )  # fmt: skip
            q[self.bodies.figure_q[k]], self.v[self.bodies.figure_v[k]] = here
        stepping = [figure.simulated for figure in self.figures]
        self._treads.note_levels(stepping)
        self._pressed = self._treads.pressed(self.bodies, stepping)
        self.time = len(self.track) * self.dt
        self._carry(self.time)
        self._held, energy = throw(self.bodies, self._held, self.time, q, self.v)
        self._ledger.work += energy
        hold(self.bodies, self._held, q, self.v)
        self._see()

    def _meet(self, lists: Sequence[Lists | None]) -> tuple[list[Lists | None], list[Array]]:
        """Solve the contacts of a step.

        Takes what each figure wants, None for one that is moved without a step.

        Returns:
            The lists as they are to be solved, and the generalized force of all that touches each figure, shapes (nv,).
        """
        bodies, dt = self.bodies, self.dt
        for k, own in enumerate(lists):
            if own is not None:
                self.q[bodies.figure_q[k]], self.v[bodies.figure_v[k]] = own.step.state.q, own.step.state.v
        bodies.move(self.q, self.v)
        busy = [body for body, push in self._pulls if push.is_on(self.time)] + [one.body for one in self._guided]
        bodies.doze(busy + [one.body for one in self._pressed])
        bodies.firm_joins()
        touches = met = bodies.touches()
        count, least = len(met.gaps), np.zeros(0)
        for k, own in enumerate(lists):
            if own is not None and own.limits is not None:
                rows, slowest = own.limits
                touches = with_limits(touches, rows, k)  # trees of figures come first
                least = np.append(least, slowest)
        start = remembered(touches, self._touches, self._p)
        bodies.stiffen(start[count - len(bodies.apart) : count] / dt)
        self._guided = guide_bodies(bodies, self._guided, self.time, dt)
        answers = bodies.answers(touches)
        pulls = pulled(bodies, self._pulls, self.time) + loads(bodies, self._pressed)
        free = bodies.falling(pulls)
        goes = None if self._is_settling else self._carried
        wanted = wanted_velocities(touches, count, least, bodies.apart, goes, self.time, dt, self.scale)
        wanted[:count] = eased_joins(wanted[:count], bodies.firmness, bodies.slips)
        largest = dt * self._most[np.maximum(touches.bodies, -1)].min(axis=1)
        found, wrong, forces, answered = agree(
            bodies, self.figures, lists, touches, answers, start, free, wanted, largest, dt=dt, mass=self.mass,
            close=CLOSE * self.scale,
        )  # fmt: skip
        carried = [body for body, _ in self._carried]
        note_step(self._ledger, bodies, carried, met, found, largest, wrong=wrong, free=free, v=self.v)
        for number, figure in enumerate(self.figures):
            figure.felt = felt_by(bodies, number, met, found.p[:count], ground=figure.meets_ground, dt=dt)
        self._touches, self._p = touches, found.p
        work, impulse = bodies.help(found.v)
        self._ledger.helped += impulse
        self._ledger.work += work + 0.5 * dt * float(pulls @ (self.v + found.v))
        loose = np.repeat(~bodies.is_figure, bodies.width)
        self.v[loose] = found.v[loose]
        return answered, forces

    # --- the state

    def _carry(self, time: float) -> None:
        """Bodies with a given motion are where they are at a time [s]."""
        for body, pose in self._carried:
            self.bodies.carry(body, *pose(time))

    def _see(self) -> None:
        self.bodies.move(self.q, self.v)
        self.track.append(self.bodies.places())
        self._treads.see(self.bodies, self._carried, self.time, self.dt)
        self._treads.sort(self.bodies, [figure.simulated for figure in self.figures])
        for figure, at in zip(self.figures, self.bodies.figure_q):
            figure.note(self.q[at].copy())
        self._paces = paces_of(self.bodies, self.figures, self.dt)
        self._ledger.weigh(self.bodies.energy())

    def motion(self, name: str) -> Motion:
        """What a figure has done so far, a frame for every step, in the world's frame.

        Example:
            >>> poise.save(world.motion("ada"), "ada.bvh")

        Raises:
            UnknownName: if there is no such figure.
        """
        return self.figure(name).motion(self.dt)

    def companions(self, since: int = 0) -> tuple[Companion, ...]:
        """The world's own figures at every step so far, from one on."""
        own = (f for f in self.figures if f.driver)
        return tuple(Companion(f.name, f.character, *f.record(since)) for f in own)

    def things(self, since: int = 0) -> tuple[Thing, ...]:
        """The bodies at every step so far, from one on."""
        return things_of(self.bodies, self.track[since:])

    def report(self) -> dict[str, Any]:
        """What a run's report says under "scene"."""
        return {
            "bodies": int((~self.bodies.is_figure).sum()),
            "figures": len(self.figures),
            **self._ledger.report(),
            "steps_without_answer": sum(f.driver.failed_count for f in self.figures if isinstance(f.driver, Goals)),
        }
