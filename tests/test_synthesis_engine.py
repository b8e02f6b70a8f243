"""Figures on MuJoCo's own forward simulation: the engine beside closed forms, and the synthesizer as its controller."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from poise.body.character import ball
from poise.core.errors import InvalidValue, SimulationDiverged, UnknownName
from poise.filter.forces import Push
from poise.goals.surroundings import Ball, Hold, Movement, Scene, Surface
from poise.physics import Model, State, model_of, model_of_scene
from poise.physics.collisions import CapsulePairs
from poise.physics.mujoco_backend import Point
from poise.physics.mujoco_engine import Engine, Slab
from poise.synthesis.behaviors import BEHAVIORS
from poise.synthesis.figure import Settings
from poise.synthesis.records import Applied
from poise.synthesis.run import EngineMover, synthesize, world_of
from poise.synthesis.world import Moved, World
from tests.clips import first_cases
from tests.figures import biped, random_state

Array = npt.NDArray[np.float64]

G = 9.81
CORNERS = [(x, y, -0.1) for x in (-0.2, 0.2) for y in (-0.2, 0.2)]


def slab(normal: tuple[float, float, float] = (0.0, 0.0, 1.0), friction: float = 1.0, **more: float) -> Slab:
    surface = Surface("floor", normal=normal, friction=friction)
    half = more.get("half", np.inf)
    return Slab(np.zeros(3), surface.frame, (half, half), 0.2, friction)


def crate() -> Model:
    """A box of 5 kg whose corners touch."""
    body = '<body name="crate"><freejoint/><inertial pos="0 0 0" mass="5" diaginertia="0.08 0.08 0.13"/></body>'
    xml = f'<mujoco><option gravity="0 0 {-G}"/><worldbody>{body}</worldbody></mujoco>'
    return Model(xml, [Point(f"corner {k}", 1, c) for k, c in enumerate(CORNERS)])


def still(model: Model, *place: float) -> Array:
    q = model.q_rest()
    q[:3] = place
    return q


def test_flight_is_a_parabola() -> None:
    model = model_of(ball("ball", 0.1, 2.0))
    engine, v, count = Engine(model, [slab()]), np.array([1.0, -2.0, 3.0, 0.0, 0.0, 4.0]), 400
    engine.place(still(model, 0.0, 0.0, 1.0), v)
    engine.advance(np.zeros(6), count * engine.timestep)
    t = count * engine.timestep
    # the engine's own integration: velocities first, so half a time step more of falling
    expected = np.array([0.0, 0.0, 1.0]) + v[:3] * t - np.array([0.0, 0.0, 0.5 * G * t * (t + engine.timestep)])
    np.testing.assert_allclose(engine.q[:3], expected, atol=1e-9)
    np.testing.assert_allclose(engine.v, v - np.array([0.0, 0.0, G * t, 0.0, 0.0, 0.0]), atol=1e-9)
    assert not engine.forces.any()


def test_torques_act_on_the_same_dynamics() -> None:
    state = random_state(biped(), 2)
    model, t = state.model, 1e-4
    torque = 20.0 * np.random.default_rng(3).normal(size=model.nv)
    damping = np.concatenate([np.zeros(6), np.linspace(0.0, 5.0, model.nv - 6)])
    engine = Engine(model, [], damping=damping, timestep=t)
    engine.place(state.q, state.v)
    engine.advance(torque, t)
    # damping is implicit: (M + Δt D) (v⁺ − v) = Δt (τ − bias − D v)
    change = np.linalg.solve(state.M + t * np.diag(damping), t * (torque - state.bias - damping * state.v))
    np.testing.assert_allclose(engine.v, state.v + change, atol=1e-8)


def test_a_push_acts_where_it_is_given() -> None:
    state = random_state(biped(), 5)
    model, t = state.model, 1e-4
    engine, body = Engine(model, [], timestep=t), model.body("left_shin")
    place, force = state.body_place(body, np.array([0.1, -0.2, 0.3])), np.array([30.0, -20.0, 40.0])
    engine.place(state.q, state.v)
    engine.advance(np.zeros(model.nv), t, [(body, place, force)])
    change = t * np.linalg.solve(state.M, state.external_torque(body, place, force) - state.bias)
    np.testing.assert_allclose(engine.v, state.v + change, atol=1e-8)
    engine.place(state.q, state.v)
    engine.advance(np.zeros(model.nv), t)
    np.testing.assert_allclose(engine.v, state.v - t * np.linalg.solve(state.M, state.bias), atol=1e-8)


@first_cases(1, "normal", [(0.0, 0.0, 1.0), (0.0, -0.28, 0.96)])
@first_cases(1, "half", [3.0, np.inf])
def test_a_crate_at_rest_is_carried(normal: tuple[float, float, float], half: float) -> None:
    model = crate()
    surface = slab(normal, half=half)
    engine, n = Engine(model, [surface]), np.array(normal)
    q = still(model, *(0.1 * n))
    q[3:7] = [np.cos(0.5 * (a := np.arctan2(-normal[1], normal[2]))), np.sin(0.5 * a), 0.0, 0.0]
    engine.place(q, np.zeros(6))
    engine.advance(np.zeros(6), 1.0)
    engine.advance(np.zeros(6), 0.1)
    np.testing.assert_allclose(engine.forces.sum(axis=0), [0.0, 0.0, 5.0 * G], atol=0.05)
    assert (engine.forces @ n > 5.0).all()
    assert engine.depth < 1e-4
    # points lie on the slab, not a sphere's radius above it
    heights = State(model).at(engine.q, engine.v).points @ n
    np.testing.assert_allclose(heights, 0.0, atol=1e-4)


def test_work_of_contacts_is_what_a_crate_gains_that_they_push_out() -> None:
    engine, g = Engine(crate(), [slab()]), G * np.array([0.0, 0.0, 1.0])
    start = np.array([0.0, 0.0, 0.095])
    engine.place(still(crate(), *start), np.zeros(6))
    engine.advance(np.zeros(6), 0.01)
    gained = 0.5 * 5.0 * float(engine.v[:3] @ engine.v[:3]) + 5.0 * float(g @ (engine.q[:3] - start))
    assert engine.q[2] > 0.1
    assert engine.work == pytest.approx(gained, rel=0.02)


def test_contacts_take_energy_and_give_none_back() -> None:
    engine, height = Engine(crate(), [slab()]), 0.1
    engine.place(still(crate(), 0.0, 0.0, 0.1 + height), np.zeros(6))
    for _ in range(50):
        engine.advance(np.zeros(6), 0.01)
    speed = float(np.sqrt(2.0 * G * height))
    assert engine.work < 0.01 * 5.0 * G * height
    assert 0.0 < engine.depth < speed * (engine.timestep + 0.5 * engine.STIFF)


@pytest.mark.parametrize(("friction", "slides"), [(0.2, True), (0.5, False)])
def test_friction_holds_what_it_can(friction: float, *, slides: bool) -> None:
    model = crate()
    engine = Engine(model, [slab(friction=friction)])
    engine.place(still(model, 0.0, 0.0, 0.1), np.zeros(6))
    push = 0.35 * 5.0 * G
    engine.advance(np.array([push, 0.0, 0.0, 0.0, 0.0, 0.0]), 0.5)
    if slides:
        # from rest with what friction leaves
        assert engine.v[0] == pytest.approx(0.5 * (push / 5.0 - friction * G), rel=0.02)
    else:
        assert abs(engine.q[0]) < 1e-3


def test_bodies_push_on_each_other_where_asked() -> None:
    parts = [ball("one", 0.1, 1.0), ball("two", 0.1, 3.0)]
    model, pairs = model_of_scene(parts), CapsulePairs(parts).pairs
    q = model.q_rest()
    q[7] = 0.5
    v = np.zeros(12)
    v[0] = 2.0
    after: list[Array] = []
    for chosen in (pairs, None):
        engine = Engine(model, [], pairs=chosen)
        engine.place(q, v)
        engine.advance(np.array([0, 0, G, 0, 0, 0, 0, 0, 3 * G, 0, 0, 0]), 0.5)
        after.append(engine.v)
        assert engine.depth == 0.0
        assert (engine.overlap > 0.0) == (chosen is not None)
    assert after[0][0] + 3.0 * after[0][6] == pytest.approx(2.0, abs=1e-6)
    assert after[0][6] > 0.4
    assert after[1][0] == pytest.approx(2.0, abs=1e-9)


def test_a_simulation_that_runs_away_is_told_and_writes_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = crate()
    engine = Engine(model, [slab()])
    engine.place(still(model, 0.0, 0.0, 1.0), np.zeros(6))
    with pytest.raises(SimulationDiverged, match="unstable after 0"):
        engine.advance(np.array([1e14, 0.0, 0.0, 0.0, 1e14, 0.0]), 0.1)
    assert not list(tmp_path.iterdir())


# --- the synthesizer as its controller


def balancing(settings: Settings | None = None, scene: Scene | None = None) -> World:
    return world_of(BEHAVIORS["balance"].setup(), scene=scene, settings=settings)


@pytest.mark.long
def test_a_figure_stands_and_answers_a_push_on_the_engine() -> None:
    pushes = [Push("chest", (100.0, 0.0, 0.0), 0.8, 0.1)]
    result, own = (
        synthesize("balance", pushes=pushes, seconds=2.0, settings=Settings(engine=engine))
        for engine in ("mujoco", "poise")
    )
    assert result.report["fell"] is None
    told = result.report["engine"]
    assert told["name"] == "mujoco"
    assert 0.0 < told["penetration_max_m"] < 3e-4
    assert 0.0 < result.report["contact_work_ratio"] < 5e-3, "not the work of the steps, whose contacts rest later"
    assert result.report["penetration_max_m"] == told["penetration_max_m"]
    assert own.report["engine"] == {"name": "poise"}
    # it gives way by more than a centimeter, comes to rest, and does much as it would without the engine
    assert result.q[80:, 0].max() - result.q[80, 0] > 0.01
    assert np.abs(result.v[-1]).max() < 0.3
    assert np.abs(result.q[:, :3] - own.q[:, :3]).max() < 0.03


@pytest.mark.long
def test_the_engine_carries_what_the_step_expects() -> None:
    world = balancing(Settings(engine="mujoco"))
    assert isinstance(world.mover, EngineMover)
    for _ in range(60):
        world.step()
    weight = world.figures[0].character.mass * G
    assert world.forces[:, 2].sum() == pytest.approx(weight, rel=0.1)
    np.testing.assert_array_equal(world.q, world.mover.engine.q)
    np.testing.assert_array_equal(world.forces, world.mover.engine.forces[: len(world.forces)])
    again = balancing(Settings(engine="mujoco"))
    for _ in range(60):
        again.step()
    np.testing.assert_array_equal(world.q, again.q)


class _Expected:
    """Moves a world just as it would have moved."""

    rest = 0.0

    def __init__(self, world: World) -> None:
        self.q, self.model, self.forces, self.felt = world.q, world.cast.model, world.forces, 0

    def __call__(self, torque: Array, expected: Array, applied: Sequence[Applied], dt: float) -> Moved:
        self.q, self.felt = self.model.integrate(self.q, expected, dt), self.felt + len(applied)
        return Moved(self.q, expected, self.forces)

    def report(self) -> dict[str, float | str]:
        return {}


def test_a_mover_that_does_what_is_expected_changes_nothing_but_that_pushes_come_unknown() -> None:
    push = Push("chest", (100.0, 0.0, 0.0), 0.1, 0.1)
    alone, pushed, moved = balancing(), balancing(), balancing()
    moved.mover = mover = _Expected(moved)
    pushed.push(push)
    moved.push(push)
    for k in range(30):
        for world in (alone, pushed, moved):
            world.step()
        if k < 10:
            np.testing.assert_array_equal(moved.q, alone.q)
    assert mover.felt == 10
    assert pushed.q[0] - alone.q[0] > 0.005
    # the mover leaves the push out, so nothing pushes this one; its delay starts all the same
    assert abs(moved.q[0] - alone.q[0]) < 0.002
    assert moved.figures[0].held is not None


@pytest.mark.parametrize(
    "scene",
    [
        Scene(balls=(Ball("ball", (3.0, 0.0, 1.0), (-5.0, 0.0, 1.0)),)),
        Scene(holds=(Hold("bar", (0.3, 0.0, 2.0)),)),
        Scene((Surface("floor"), Surface("deck", movement=Movement((0.0, 1.0), ((0, 0, 0), (1, 0, 0)))))),
        Scene((Surface("floor", until=2.0),)),
    ],
)
def test_what_the_engine_does_not_simulate_is_refused(scene: Scene) -> None:
    with pytest.raises(
        InvalidValue, match=r"this scene has (ball \(a ball\)|bar \(a hold\)|deck \(moves\)|floor \(is taken away\))\."
    ):
        balancing(Settings(engine="mujoco"), scene)


def test_times_that_do_not_fit_are_refused() -> None:
    world = balancing()
    with pytest.raises(InvalidValue, match="not a whole number"):
        EngineMover(world.cast, world.q, world.v, 0.01, timestep=0.0015)
    with pytest.raises(InvalidValue, match=r"up to 0\.0003\d* s"):
        EngineMover(world.cast, world.q, world.v, 0.01, timestep=0.005)
    with pytest.raises(UnknownName, match="poise, mujoco"):
        Settings(engine="bullet")
