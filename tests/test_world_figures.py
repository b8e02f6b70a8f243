"""Several figures in one world, each with its own driver, and drivers that change while it runs."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from poise.cli.outcome import summarize_run
from poise.core import rotations
from poise.core.errors import FileFormatError, InvalidValue, MotionWarning, UnknownName
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.filter.sensing import feet_of
from poise.filter.simulate import Playback
from poise.intake.anatomy import height_of
from poise.physics import State
from poise.physics.mujoco_backend import model_of
from poise.physics.mujoco_sight import Look
from poise.show.world_scene import scene_of_world
from poise.world import Clip, Goals, Ragdoll, World
from poise.world.answers import largest_forces
from poise.world.drivers import moved_to
from poise.world.standing import Going, Memory, Sensed, Stands, go_on
from poise.world.stands import Finder, stands_of, steps_of
from tests.clips import MOTIONS, first_cases, needs_motions, sample_clip, under_a_still_root

CRATE = (
    '<mujoco><worldbody><geom type="plane" size="20 20 1"/><body name="crate" pos="0.1 -0.5 0.2"><freejoint/>'
    '<geom type="box" size="0.2 0.3 0.2" mass="5"/></body></worldbody></mujoco>'
)


@pytest.fixture(scope="module")
def walk() -> Motion:
    """Four seconds, at whose end it stops: the whole sample loops, so a world would prepare a minute of it."""
    return sample_clip("walk", 4.0)


@pytest.fixture(scope="module")
def person(walk: Motion) -> poise.Character:
    return poise.Character.fit(walk)


def standing(person: poise.Character, walk: Motion, up: float) -> Array:
    q = poise.motion_to_q(person, walk)[20].copy()
    q[:3] = 0.0, 0.0, q[2] + up
    return q


def energy(state: State) -> float:
    root = state.model.roots[0]
    return 0.5 * float(state.v @ state.M @ state.v) + 9.81 * state.mass(root) * float(state.com(root)[2])


def test_two_figures_that_touch_nothing_play_their_clips(person: poise.Character, walk: Motion) -> None:
    def run(scene: str | None) -> list[Array]:
        figures = {
            "ada": Clip(walk, person, place=(0.0, 0.0), heading=0.0),
            "bob": Clip(walk, person, place=(2.6, 0.1), heading=np.pi),  # they meet later
        }
        world = World(scene, figures=figures)
        for _ in range(10):
            world.step()
        return [np.array(figure.poses) for figure in world.figures]

    far = CRATE.replace('pos="0.1 -0.5 0.2"', 'pos="15 15 0.2"')
    for alone, among in zip(run(None), run(far)):
        assert np.abs(alone - among).max() < 1e-9, "0.4 rad where they met while the crate came to rest"


@pytest.mark.long
def test_a_ragdoll_falls_gains_nothing_and_comes_to_rest(person: poise.Character, walk: Motion) -> None:
    v = np.zeros(person.nv)
    v[1] = -1.5
    world = World(CRATE, figures={"doll": Ragdoll(person, standing(person, walk, 0.5), v)})
    state, seen = State(model_of(poise.synthesis.prepared.steadied(person))), []
    for _ in range(400):
        world.step()
        driver = world.figure("doll").driver
        assert driver is not None
        seen.append(energy(state.at(driver.q, driver.v)))
    rises = np.array(seen) - np.minimum.accumulate(seen)
    assert rises.max() < 1.0 < seen[0] - seen[-1]  # J; it lost a thousand
    moved = np.diff(np.array(world.figure("doll").poses)[-20:, :3], axis=0)
    assert np.abs(moved).max() < 0.1 * world.dt  # it lies
    lowest = min(float(state.points[:, 2].min()), 0.0)
    assert lowest > -0.03
    report = world.report()
    assert report["momentum_error_max_Ns"] < 1e-10
    assert report["penetration_p95_m"] < 0.02
    assert report["energy_exchanged_J"] > 1.0  # it fell on the crate


def test_figures_that_begin_in_each_other_are_told(person: poise.Character, walk: Motion) -> None:
    both = {name: Clip(walk, person, place=(0.0, 0.1 * k)) for k, name in enumerate(("ada", "bob"))}
    with pytest.warns(MotionWarning, match=r"Figure 'ada' begins 0\.\d+ m inside figure 'bob'.*another place"):
        World(figures=both)


def test_no_rubble_lies_where_a_figure_begins(person: poise.Character, walk: Motion) -> None:
    ada = Clip(walk, person, place=(0.0, 0.0), heading=0.0)
    figures = {"ada": ada, "bob": Clip(walk, person, place=(3.0, 0.1), heading=3.14)}
    world = World("rubble:40,3", figures=figures)
    assert "scene/piece 3" not in world.bodies.names  # it lay in the leg of the second
    assert world.report()["bodies"] == 39
    assert len(world.figures[0].poses) == 1


def test_two_walkers_stop_each_other(person: poise.Character, walk: Motion) -> None:
    apart = World(figures={"ada": Clip(walk, person, place=(0.0, 0.0), heading=0.0)})
    both = World(
        figures={
            "ada": Clip(walk, person, place=(0.0, 0.0), heading=0.0, sees=False),
            "bob": Clip(walk, person, place=(1.6, 0.1), heading=np.pi, sees=False),
        }
    )
    for world in (apart, both):
        for _ in range(110):
            world.step()
    alone, ada, bob = (np.array(f.poses) for f in (apart.figures[0], *both.figures))
    assert np.array_equal(alone[:25], ada[:25])  # until they meet each walks as if alone
    assert alone[-1, 0] > ada[-1, 0] + 0.2
    assert np.linalg.norm(bob[:, :2] - ada[:, :2], axis=1).min() > 0.15  # nobody walks through the other
    assert both.report()["penetration_max_m"] < 0.15  # 0.10 to 0.15 m at six places


def test_figures_that_meet_at_once_agree_with_their_contacts(person: poise.Character, walk: Motion) -> None:
    figures = {}
    for k in range(3):
        angle = 2.0 * np.pi * k / 3
        place = (0.8 * np.cos(angle), 0.8 * np.sin(angle))
        figures[str(k)] = Clip(walk, person, place=place, heading=angle + np.pi + 0.15, sees=False)
    world = World(figures=figures)
    for _ in range(100):
        world.step()
    assert world.report()["contacts_mean"] > 1.0  # they meet
    assert world.report()["contact_residual_p95_m_s"] < 1e-3  # 0.11 where no round counts on the figures' own answers


def walking_among(scene: str, person: poise.Character, walk: Motion, folder: Path, *, sees: bool = False) -> World:
    """A world of a person who walks along x among what a scene says, as if blind.

    One that sees begins at the origin; a blind one 0.9 s later, where it soon meets what is in its way.
    """
    file = folder / "scene.toml"
    file.write_text('schema = "poise.scene/1"\n' + scene)
    start, x = (0.0, 0.0) if sees else (0.9, 0.97)
    clip = Clip(walk.cut(start, 4.0), person, place=(x, 0.0), heading=0.0, sees=sees)
    return World(file, figures={"ada": clip})


WALL = '[[boxes]]\nname = "wall"\nplace = [1.9, 0, 1.2]\nsides = [0.2, 2.0, 2.4]\n'
PLANK = (
    '[[bodies]]\nname = "plank"\nplace = [1.85, 0, 0.5]\nsides = [1.4, 2.4, 0.05]\nmass = 10\n'
    "hinge = {axis = [0, 1, 0], place = [1.85, 0, 0.5]}\n"
)
BESIDE = '[[boxes]]\nname = "wall"\nplace = [1.9, 0.6, 1.2]\nsides = [2.0, 0.2, 2.4]\n'
SLAB = '[[boxes]]\nname = "slab"\nplace = [1.65, 0, 0.02]\nsides = [0.2, 0.8, 0.04]\n'
LIGHT = '[[bodies]]\nname = "crate"\nplace = [1.9, 0, 0.2]\nsides = [0.4, 0.4, 0.4]\nmass = 4\n'


@first_cases(1, "scene", [WALL, PLANK], ids=["wall", "plank"])
def test_a_walker_stops_before_what_it_sees(person: poise.Character, walk: Motion, tmp_path: Path, scene: str) -> None:
    world = walking_among(scene, person, walk, tmp_path, sees=True)
    for _ in range(260):
        world.step()
    poses = np.array(world.figures[0].poses)
    assert 0.3 < poses[-1, 0] < 1.5
    assert world.report()["penetration_max_m"] <= 0.0, "it touches nothing; toes went 37 mm into the wall"
    assert 3e-4 < np.ptp(poses[-100:, 0]) < 0.02  # it sways
    motion = world.figures[0].motion(world.dt)
    places = motion.world[0][:, [motion.skeleton.names.index(name) for name in ("LeftToeBase", "RightToeBase")]]
    toes, heights = places[..., :2], places[..., 2]
    still = np.linalg.norm(toes[-1] - toes, axis=-1) < 0.02
    assert still[220:].all(), "it stands"
    slips = np.linalg.norm(np.diff(toes[60:], axis=0), axis=-1) * (heights[61:] < heights.min() + 0.01)
    assert slips.sum(axis=0).max() < 0.1, "12 cm where no step was longer, and both feet by 22 cm"
    driver = world.figures[0].driver
    assert isinstance(driver, Clip)
    nearest = float(driver._playback.figure.problem.pose.places[:, 0].max())
    assert 0.2 < (1.8 if scene == WALL else 1.85 - 0.7) - nearest < 0.5, "as near as a person, and no nearer"
    assert 0.1 < toes[-1, 0, 1] - toes[-1, 1, 1] < 0.25, "legs do not cross"


@pytest.mark.parametrize("scene", [BESIDE, LIGHT, SLAB], ids=["beside", "light", "slab"])
def test_a_walker_passes_a_wall_beside_its_way_pushes_what_is_light_and_does_not_look_for_what_is_low(
    person: poise.Character, walk: Motion, tmp_path: Path, scene: str
) -> None:
    world = walking_among(scene, person, walk, tmp_path, sees=True)
    for _ in range(270):
        world.step()
    assert world.figures[0].poses[-1][0] > 2.2


def test_what_is_low_trips_a_walker_and_does_not_slow_its_clip(
    person: poise.Character, walk: Motion, tmp_path: Path
) -> None:
    world = walking_among(SLAB, person, walk, tmp_path)
    is_hit = False
    for _ in range(200):
        world.step()
        is_hit |= bool(world.figures[0].felt)
    assert is_hit
    assert world.figures[0].poses[-1][0] > 2.9, "its clip goes on under it; held, it was at 1.4 m"


def test_nothing_moves_when_a_figure_looks_ahead(person: poise.Character, walk: Motion, tmp_path: Path) -> None:
    world = walking_among(WALL, person, walk, tmp_path, sees=True)
    places = world.bodies.engine[1].geom_xpos
    before = places.copy()
    assert isinstance(driver := world.figures[0].driver, Clip)
    assert 1.3 < driver.room(Look(np.array([1.0, 0.0]), 3.0, least=10.0, low=0.1)) < 1.9
    assert np.array_equal(places, before)


def test_a_clip_that_is_simulated_is_held_as_in_a_world(
    person: poise.Character, walk: Motion, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clip = moved_to(walk, (0.0, 0.0), 0.0, 0.0).cut(0.0, 2.5)
    world = walking_among(WALL, person, clip, tmp_path, sees=True)
    result = poise.simulate(clip, person, world=World(tmp_path / "scene.toml"), fps=100.0)
    for _ in range(len(result.q) - 1):
        world.step()
    assert np.abs(np.array(world.figures[0].poses) - result.q).max() < 5e-3  # 1e-7 at its start; steps make it more
    assert result.report["scene"]["penetration_max_m"] <= 0.0, "it falls over what it sees"
    shown, at = poise.motion_to_q(person, result.motion), np.round(result.motion.times * 100.0).astype(int)
    assert result.motion.frame_count == clip.frame_count, "the clip's frames, in which it stands"
    assert np.abs(shown[::6] - result.q[at[::6]]).max() < 1e-3
    assert result.report["deviation"]["joint_angle_max_deg"] < 30.0, "a longer last step; the clip goes on without it"
    left = np.linalg.norm(poise.motion_to_q(person, clip)[-1, :2] - result.q[-1, :2])
    assert result.report["scene"]["short_m"] == pytest.approx(left, abs=0.05)
    summarize_run(result, None)
    assert f"in its way stopped or slowed it, {left:.1f} m short of where the clip ends" in capsys.readouterr().out


@first_cases(1, "apart", [2.4, 5.0], ids=["near", "far"])
def test_walkers_who_see_each_other_make_way(person: poise.Character, walk: Motion, apart: float) -> None:
    bob = Clip(walk, person, place=(apart, 0.1), heading=np.pi)
    world = World(figures={"ada": Clip(walk, person, place=(0.0, 0.0), heading=0.0), "bob": bob})
    for _ in range(360):
        world.step()
    ada, bob = (np.array(figure.poses) for figure in world.figures)
    assert ada[-1, 0] > bob[-1, 0] + 0.5, "they pass; they stood before each other for good"
    assert (ada[:, 1] < bob[:, 1]).all(), "each on its right"
    assert np.linalg.norm(bob[:, :2] - ada[:, :2], axis=1).min() > 0.5
    assert world.report()["penetration_max_m"] <= 0.0
    assert max(np.ptp(ada[:, 2]), np.ptp(bob[:, 2])) < 0.08, "upright"


@pytest.mark.long
@pytest.mark.parametrize(("place", "heading"), [((0.0, -3.0), 0.5 * np.pi), ((2.1, -2.1), 0.75 * np.pi)])
def test_two_whose_ways_cross_pass_each_other(
    person: poise.Character, place: tuple[float, float], heading: float
) -> None:
    clip = sample_clip("walk")
    figures = {
        "ada": Clip(clip, person, place=(-3.0, 0.0), heading=0.0),
        "bob": Clip(clip.cut(0.4, 99.0), person, place=place, heading=heading),
    }
    world = World(figures=figures)
    for _ in range(420):
        world.step()
    ada, bob = (np.array(figure.poses) for figure in world.figures)
    assert np.linalg.norm(bob[:, :2] - ada[:, :2], axis=1).min() > 0.5
    assert world.report()["penetration_max_m"] <= 0.0, "they bumped, stood and fell where each saw the other as it was"
    assert ada[-1, 0] > 1.0, "nobody waits"
    assert max(np.ptp(ada[:, 2]), np.ptp(bob[:, 2])) < 0.06, "upright"


@pytest.mark.long
def test_two_meet_in_a_door_and_pass(tmp_path: Path) -> None:
    text = (Path(__file__).parents[1] / "docs" / "world.md").read_text(encoding="utf-8")
    poise.save(sample_clip("walk"), tmp_path / "walk.bvh")
    file = tmp_path / "doorway.toml"
    file.write_text(text.split("```toml\n")[1].split("```")[0])
    world = World(file)
    held = np.zeros((500, 2), dtype=np.bool_)
    for now in held:
        world.step()
        now[:] = [driver.pacing.going.is_held for f in world.figures if isinstance(driver := f.driver, Clip)]
    ada, bob = (np.array(figure.poses) for figure in world.figures)
    assert ada[-1, 0] > 3.2
    assert bob[-1, 0] < 1.8
    assert not held[:, 1].any(), "one makes way"
    assert not held[400:].any(), "both have passed; now and then they looked back, and stopped for it"
    assert world.report()["penetration_max_m"] < 0.005, "hands may brush"
    assert max(np.ptp(ada[:, 2]), np.ptp(bob[:, 2])) < 0.1, "upright"


def test_a_walker_goes_round_a_post_and_comes_back(person: poise.Character, tmp_path: Path) -> None:
    file = tmp_path / "post.toml"
    post = '[[boxes]]\nname = "post"\nplace = [2.6, 0.0, 1.0]\nsides = [0.2, 0.2, 2.0]\n'
    file.write_text('schema = "poise.scene/1"\n' + post)
    world = World(file, figures={"ada": Clip(sample_clip("walk"), person, place=(0.0, 0.0), heading=0.0)})
    for _ in range(650):
        world.step()
    x, y, z = np.array(world.figures[0].poses)[:, :3].T
    beside = np.abs(x - 2.6) < 0.3
    assert x[-1] > 6.0
    assert np.abs(y[beside]).min() > 0.4
    assert np.abs(y).max() < 0.9
    assert abs(y[-1]) < 0.2, "on its clip's line again"
    assert np.ptp(z) < 0.06
    motion = world.figures[0].motion(world.dt)
    names, (places, turns) = motion.skeleton.names, motion.world
    yaw = np.array([rotations.yaw_to(turns[0, 0], turn) for turn in turns[:, 0]])
    assert yaw.min() < -0.2, "it turns along its way: 7° where only its feet went aside"
    assert yaw.max() > 0.2
    left = np.stack([-np.sin(yaw), np.cos(yaw)], axis=1)
    feet = places[:, names.index("LeftFoot"), :2] - places[:, names.index("RightFoot"), :2]
    assert np.einsum("fc,fc->f", feet, left).min() > 0.03, "its feet crossed by 5 cm"
    toes = places[:, [names.index("LeftToeBase"), names.index("RightToeBase")]]
    slips = np.linalg.norm(np.diff(toes[..., :2], axis=0), axis=-1) * (
        toes[1:, :, 2] < toes[..., 2].min(axis=0) + 0.008
    )
    assert slips.sum(axis=0).max() < 0.1, "13 cm where feet that stand follow the bend"
    assert world.report()["penetration_max_m"] <= 0.0


@pytest.mark.long
def test_a_walker_stands_at_a_wall_and_goes_on_without_it(
    person: poise.Character, walk: Motion, tmp_path: Path
) -> None:
    scene = (
        '[[boxes]]\nname = "wall"\nplace = [1.5, 0, 1.2]\nsides = [0.2, 2.0, 2.4]\n'
        '[[events]]\nmove = "wall"\nkeys = [{time = 3.4}, {time = 3.7, shift = [0.0, 0.0, 3.0]}]\n'
    )
    world = walking_among(scene, person, walk, tmp_path)
    for _ in range(560):
        world.step()
    x, _, z = np.array(world.figures[0].poses)[:, :3].T
    assert np.ptp(x[290:340]) < 0.05  # it stands; its feet slid backward, and it fell
    assert x[290] < 1.4
    assert z.min() > 0.7 * z[0]
    assert x[-1] > 1.9  # the way is free


def test_a_wall_does_not_whip_the_head(person: poise.Character, walk: Motion, tmp_path: Path) -> None:
    scene = '[[boxes]]\nname = "wall"\nplace = [1.5, 0, 1.2]\nsides = [0.2, 2.0, 2.4]\n'
    world = walking_among(scene, person, walk, tmp_path)
    head, trunk = person.body_index("head"), person.body_index("chest")
    first, hit = world.bodies.figure_body[0], False
    for _ in range(110):
        world.step()
        hit |= any(force.body_of(person) == head for force in world.figures[0].felt)
    turns = np.array([turn for _, turn in world.track])
    against = rotations.multiply(rotations.conjugate(turns[:, first + trunk]), turns[:, first + head])
    steps = rotations.to_rotation_vector(rotations.multiply(against[1:], rotations.conjugate(against[:-1])))
    assert hit
    assert np.degrees(np.linalg.norm(steps, axis=1).max()) / world.dt < 900.0  # 1760 with two body weights on the head
    assert world.report()["penetration_max_m"] < 0.08  # 0.03 to 0.065 at eight places of the wall


def test_a_tiny_arm_takes_no_more_than_so_many_of_its_own_weights(person: poise.Character, walk: Motion) -> None:
    arms = {body for limb in person.limbs if limb.kind == "arm" for body in person.carried(limb.bodies[0])}
    bodies = [replace(b, mass=b.mass * (0.03 if k in arms else 1.0)) for k, b in enumerate(person.bodies)]
    most = []
    for character in (person, replace(person, bodies=tuple(bodies))):
        world = World(figures={"ada": Clip(walk, character)})
        first = world.bodies.figure_body[0]
        most.append(largest_forces(world.bodies, world.figures)[first : first + len(bodies)])
    own = sorted(arms)
    weight = 9.81 * sum(bodies[k].mass for k in arms) / 2.0
    assert most[1][own].max() < 40.0 * weight  # 2 000 N on an arm of 0.2 kg moved it by 106 rad/s in one step
    assert most[0][own].min() == most[0][0]  # a person's arms take what the trunk takes


@first_cases(
    1,
    "scene",
    [
        '[[boxes]]\nname = "wall"\nplace = [1.6, 0, 1.2]\nsides = [0.2, 2.0, 2.4]\n',
        '[[bodies]]\nname = "crate"\nplace = [1.75, 0, 0.5]\nsides = [0.8, 0.8, 1.0]\nmass = 200\n',
    ],
    ids=["wall", "crate"],
)
def test_a_walker_that_is_held_comes_to_a_stand_on_both_feet(
    person: poise.Character, walk: Motion, tmp_path: Path, scene: str
) -> None:
    world = walking_among(scene, person, walk, tmp_path)
    for _ in range(340):
        world.step()
    poses = np.array(world.figures[0].poses)
    state, feet = State(model_of(person)), feet_of(person)
    state.move_to(poses[-1], np.zeros(person.nv))
    state.touch()
    for foot in feet:
        assert state.points[list(foot), 2].max() < person.floor + 0.04  # toes were 8 cm up, or a foot in the air
    assert np.abs(np.diff(poses[-50:], axis=0)).max() < 2e-3  # nothing trembles


def every_stand(playback: Playback, character: poise.Character) -> Stands:
    steps = steps_of(playback, character)
    return stands_of(playback, character, steps, range(len(steps.frames)))


def test_stands_are_found_as_they_come_near(person: poise.Character, walk: Motion) -> None:
    driver = Clip(walk, person, place=(0.0, 0.0), heading=0.0)
    world = World(figures={"ada": driver})
    world.step()
    every, found = every_stand(driver._playback, person), driver.pacing._stands
    assert found is not None
    assert len(found.frames) < len(every.frames)
    for _ in range(150):
        world.step()
    later = driver.pacing._stands
    assert later is not None
    assert len(later.frames) > len(found.frames)
    for now, all_at_once in zip(later, every, strict=True):
        assert (now == all_at_once[: len(now)]).all()


@needs_motions
def test_figures_that_play_one_clip_find_its_stands_once(person: poise.Character, walk: Motion) -> None:
    other = Clip(walk.frames(np.arange(20, 180)), person, place=(0.0, 9.0))
    drivers = {f"{k}": Clip(walk, person, place=(4.0 * k, 0.0), heading=1.3 * k) for k in range(3)}
    World(figures={**drivers, "other": other})
    assert len(other.finders) == 2
    finder = drivers["0"].finders[0]
    for driver in drivers.values():
        playback = driver._playback
        assert finder.plays(playback)
        assert not finder.plays(other._playback)
        shared, own = finder.stands(playback, range(4)), Finder(playback).stands(playback, range(4))
        assert len(own.frames) > 1
        for there, here in zip(shared, own, strict=True):
            np.testing.assert_allclose(there, here, atol=1e-9)


@needs_motions
def test_stands_of_a_clip_are_no_lower_than_it_is() -> None:
    clip = poise.load(MOTIONS / "bvh/cmu_3dsmax/131_01.bvh").cut(0.0, 12.0)
    driver = Clip(clip, poise.Character.fit(clip), place=(0.0, 0.0), heading=0.0)
    World(figures={"ada": driver}).step()
    playback = driver._playback
    stands = every_stand(playback, playback.figure.character)
    assert len(stands.frames) > 5
    up = stands.poses[:, 2] - playback.q[stands.frames, 2]
    assert up.min() > -0.03  # where its legs cross, the hips sank by 9 cm, in another clip by 1.5 m
    assert np.abs(stands.points[:, :, 2].min(axis=1) - playback.track.floor).max() < 1e-4


def test_arms_hang_and_knees_bend_about_one_axis_in_a_stand(person: poise.Character, walk: Motion) -> None:
    driver = Clip(walk, person, place=(0.0, 0.0), heading=0.0)
    World(figures={"ada": driver}).step()
    playback = driver._playback
    stands, state = every_stand(playback, person), State(model_of(person))
    ahead, bent = [], []
    for pose in stands.poses[1:-1]:
        state.move_to(pose, np.zeros(person.nv))
        hands = [state.data.xpos[person.body_index(f"{side}_hand") + 1] for side in ("left", "right")]
        ahead.append(float(hands[0][0] - hands[1][0]))
    for side in ("left", "right"):
        at = person.q_addresses[person.body_index(f"{side}_knee")]
        axis = np.linalg.svd(rotations.to_rotation_vector(playback.q[:, at : at + 4]))[2][0]
        turns = rotations.to_rotation_vector(stands.poses[:, at : at + 4])
        bent.append(np.linalg.norm(turns - (turns @ axis)[:, None] * axis, axis=1).max())
    assert np.abs(ahead).max() < 0.05, "hands hang side by side; 7 cm apart as in the step"
    assert np.degrees(max(bent)) < 9.0, "a knee turned in by 16 degrees"


def test_a_figure_whose_stand_is_in_the_ground_is_told_of(
    person: poise.Character, walk: Motion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blend = Stands.blend

    def lowered(*given: Any) -> Array:
        pose = blend(*given)
        pose[2] -= 0.4 * given[3].share
        return pose

    monkeypatch.setattr(Stands, "blend", lowered)
    file, path = tmp_path / "scene.toml", poise.motion_to_q(person, walk)[:, :2]
    x, y = (path[-1] - path[0]) / np.hypot(*(path[-1] - path[0]))
    place = f"place = [{path[0, 0] + 1.9 * x}, {path[0, 1] + 1.9 * y}, 1.2]\nfacing = [{-x}, {-y}, 0]\n"
    file.write_text(f'schema = "poise.scene/1"\n[[walls]]\nname = "wall"\n{place}size = [4.0, 2.4]\n')
    report = poise.simulate(walk, person, world=World(file)).report
    assert report["contact"]["penetration_max_m"] > 0.2


@pytest.mark.long
@pytest.mark.parametrize("height", [0.9, 0.35], ids=["hip", "shin"])
def test_a_walker_at_a_rope_stays_on_its_feet(
    person: poise.Character, walk: Motion, tmp_path: Path, height: float
) -> None:
    ends = f"start = [1.5, -1.2, {height}]\nend = [1.5, 1.2, {height}]\n"
    rope = f'[[ropes]]\nname = "rope"\n{ends}pieces = 16\nmass = 0.15\nradius = 0.015\nslack = 0.02\n'
    world = walking_among(rope, person, walk, tmp_path)
    for _ in range(260):
        world.step()
    poses = np.array(world.figures[0].poses)
    assert poses[-1, 0] < 1.9  # it is held
    assert poses[:, 2].min() > 0.8  # at the hip it fell 2.2 s from here


def test_a_held_clip_waits_until_its_figure_is_calm() -> None:
    life = np.zeros((2, 6, 3))
    stands = Stands(np.array([100, 150]), np.zeros((2, 7)), np.zeros((2, 0, 3)), np.zeros((2, 0), dtype=np.bool_), life)
    seen = Sensed(
        110.0,
        np.array([1.0, 0.0]),
        1.0,
        -0.5,
        0.0,
        is_pushed_back=True,
        is_blocked=True,
        looked=0.0,
        aside=0.0,
        nearer=0.0,
        are_feet_down=True,
        has_fallen=False,
    )
    going = Going(frame=110.0, rate=0.0, is_held=True)
    for _ in range(50):
        going = go_on(going, seen._replace(frame=going.frame), stands, dt=0.01, scale=1.0)
    assert (going.frame, going.stop, going.share) == (110.0, -1, 0.0)  # it rebounds
    for _ in range(80):
        going = go_on(going, seen._replace(frame=going.frame, pace=0.0), stands, dt=0.01, scale=1.0)
    assert (going.frame, going.stop, going.share) == (110.0, 0, 1.0)  # in the middle of the step that it is in
    gone = seen._replace(pace=0.0, is_pushed_back=False, is_blocked=False)
    free = go_on(going._replace(memory=Memory(untouched=0.3)), gone, stands, dt=0.01, scale=1.0)
    assert not free.is_held
    assert free.rate > 0.0


@pytest.mark.long
def test_a_walker_pushes_a_light_crate_and_does_not_climb_it(
    person: poise.Character, walk: Motion, tmp_path: Path
) -> None:
    scene = '[[bodies]]\nname = "crate"\nplace = [1.6, 0, 0.2]\nsides = [0.4, 0.4, 0.4]\nmass = 12\n'
    world = walking_among(scene, person, walk, tmp_path)
    for _ in range(290):
        world.step()
    assert world.track[-1][0][world.bodies.names.index("scene/crate"), 0] > 1.9  # pushed from 1.6; measured 1.98
    state, longest, off = State(model_of(person)), 0, 0
    for q in world.figures[0].poses:
        state.move_to(q, np.zeros(person.nv))
        state.touch()
        off = off + 1 if state.points[[p for foot in feet_of(person) for p in foot], 2].min() > 0.03 else 0
        longest = max(longest, off)
    assert longest < 80  # steps of 10 ms; it knelt on the crate for seconds


def test_limbs_of_a_ragdoll_do_not_sink_into_the_ground(person: poise.Character, walk: Motion) -> None:
    world = World(figures={"ada": Clip(walk, person, place=(0.0, 0.0), heading=0.0)})
    world.drive("ada", Ragdoll())
    for _ in range(200):
        world.step()
    m, d = world.bodies.engine
    sunk = {}
    for g in range(m.ngeom):
        name = m.body(int(m.geom_bodyid[g])).name
        if int(m.geom_type[g]) == 3 and "Foot" not in name and "Toe" not in name:  # a capsule
            radius, half = m.geom_size[g, :2]
            sunk[name] = radius + half * abs(d.geom_xmat[g][8]) - d.geom_xpos[g, 2]
    assert len(sunk) > 10
    assert max(sunk.values()) < 0.01  # where points alone met the ground, a lower leg sank 6 cm


def test_a_figure_turns_ragdoll_and_gets_up_to_its_clip(person: poise.Character, walk: Motion) -> None:
    world = World(figures={"ada": Clip(walk, person, place=(0.0, 0.0), heading=0.0)})
    world.push("ada", poise.Push("chest", (0.0, 900.0, 0.0), start=0.05, duration=0.15))
    for step in range(300):
        if step == 8:
            world.drive("ada", Ragdoll())
        if step == 80:
            assert world.figure("ada").poses[-1][2] < 0.4  # it lies
            world.drive("ada", Clip(walk, person))
        world.step()
    poses = np.array(world.figure("ada").poses)
    assert poses[-1, 2] > 0.8  # it walks again
    places = poise.body.posing.body_positions(person, poses)
    speeds = np.linalg.norm(np.diff(places, axis=0), axis=2).max(axis=1) / world.dt
    assert speeds.max() < 10.0  # nothing jumps where the driver changes


@pytest.mark.long
def test_a_world_goes_on_as_it_did_once_restored(person: poise.Character, walk: Motion) -> None:
    def made() -> World:
        figures = {
            "ada": Clip(walk, person, place=(0.0, 0.0), heading=0.0),
            "doll": Ragdoll(person, standing(person, walk, 0.4) + np.eye(person.nq)[1]),
        }
        return World("rubble:6,3", figures=figures)

    def run(world: World, count: int) -> tuple[Array, Array]:
        for _ in range(count):
            if len(world.track) == 35:
                world.drive("ada", Ragdoll())
            world.step()
        return world.q.copy(), world.v.copy()

    world, other = made(), made()
    run(world, 30)
    kept = world.save()
    first = run(world, 20)
    world.restore(kept)
    assert world.time == kept.time
    again = run(world, 20)
    assert np.array_equal(first[0], again[0])
    assert np.array_equal(first[1], again[1])
    run(other, 30)
    assert np.array_equal(run(other, 20)[0], first[0])  # another world of the same seed
    with pytest.raises(InvalidValue, match="another world"):
        other.restore(kept)


def test_goals_go_on_as_they_did_once_restored() -> None:
    world = World(figures={"eve": Goals("step")})
    world.push("eve", poise.Push("chest", (60.0, 0.0, 0.0), start=0.02, duration=0.1))
    for _ in range(10):
        world.step()
    kept, after = world.save(), []
    for _ in range(2):
        world.restore(kept)
        for _ in range(10):
            world.step()
        after.append((world.q.copy(), world.v.copy()))
    assert np.array_equal(after[0][0], after[1][0])
    assert np.array_equal(after[0][1], after[1][1]), "torques and states of the controller were not put back"


@pytest.mark.long
def test_goals_answer_a_push_in_a_world_as_they_do_alone() -> None:
    push = poise.Push("chest", (80.0, 0.0, 0.0), start=0.9, duration=0.2)
    world = World(figures={"eve": Goals("balance")})
    world.push("eve", push)
    for _ in range(200):
        world.step()
    poses = np.array(world.figure("eve").poses)
    # another path to the same: the synthesizer's own step, whose contacts are unknowns of it
    alone = poise.synthesize("balance", pushes=[push], seconds=2.0).q
    assert np.abs(poses[:, 2] - poses[0, 2]).max() < 0.05  # it stands
    assert np.ptp(poses[:, 0]) == pytest.approx(np.ptp(alone[:, 0]), rel=0.2)
    assert np.abs(poses[:, :3] - alone[: len(poses), :3]).max() < 0.03
    assert world.report()["contact_residual_p95_m_s"] < 5e-3
    driver = world.figure("eve").driver
    assert isinstance(driver, Goals)
    assert driver.failed_count == 0


@pytest.mark.long
def test_goals_step_on_a_floor_with_the_friction_of_their_world(tmp_path: Path) -> None:
    """It is less than that of the floor of `poise.synthesize`: a foot planned for that one slips on this."""
    path = tmp_path / "floor.toml"
    path.write_text('schema = "poise.scene/1"\n[floor]\nfriction = 0.8\n', encoding="utf-8")
    world = World(path, figures={"eve": Goals("step")})
    world.push("eve", poise.Push("chest", (250.0, 0.0, 0.0), 0.2, 0.12))
    for _ in range(130):
        world.step()
    assert world.figure("eve").poses[-1][2] > 0.75


@pytest.mark.long
def test_a_walker_that_falls_is_driven_by_goals_and_by_its_clip_again(person: poise.Character, walk: Motion) -> None:
    world = World(figures={"ada": Clip(walk, person, place=(0.0, 0.0), heading=0.0)})
    world.push("ada", poise.Push("chest", (0.0, 150.0, 0.0), start=0.3, duration=0.15))
    for step in range(500):
        if step == 42:
            world.drive("ada", Goals("balance", person))
        if step == 200:
            world.drive("ada", Clip(walk, person))
        world.step()
    poses = np.array(world.figure("ada").poses)
    assert poses[-1, 2] > 0.8
    speeds = np.linalg.norm(np.diff(poses[:, :3], axis=0), axis=1) / world.dt
    assert speeds.max() < 5.0


FILE = """
schema = "poise.scene/1"
[[figures]]
name = "bob"
clip = "walk.bvh"
place = [0.5, -2.0]
heading = 90
[[figures]]
name = "doll"
driver = "ragdoll"
clip = "walk.bvh"
place = [3.0, 0.0]
[[figures]]
name = "eve"
behavior = "balance"
place = [-3.0, 0.0]
[[events]]
push = "bob"
body = "chest"
force = [300, 0, 0]
time = 0.2
[[events]]
drive = "bob"
by = "ragdoll"
time = 0.3
"""


def test_a_scene_file_names_figures_and_events(tmp_path: Path, walk: Motion) -> None:
    poise.save(walk.cut(0.0, 1.0), tmp_path / "walk.bvh")
    file = tmp_path / "street.toml"
    file.write_text(FILE, encoding="utf-8")
    result = poise.simulate(walk.cut(0.0, 0.6), world=World(file))
    poses = {c.name: c.q for c in result.companions}
    assert list(poses) == ["bob", "doll", "eve"]
    assert all(len(q) == len(result.q) for q in poses.values())
    assert np.allclose(poses["bob"][0, :2], [0.5, -2.0], atol=1e-6)
    assert poses["bob"][20, 1] > -2.0 + 0.1  # it goes along +y
    assert poses["doll"][0, 2] - poses["doll"][-1, 2] > 0.3  # it falls
    assert abs(poses["eve"][-1, 2] - poses["eve"][0, 2]) < 0.02
    assert poses["bob"][-1, 2] < poses["bob"][0, 2] - 0.03  # nothing drives it any more
    assert result.report["scene"]["figures"] == 4
    assert [t.name for t in poise.scene_of(result, physics=False).tracks] == ["simulated", "original", *poses]


@needs_motions
def test_a_scene_file_names_a_clip_of_several_and_a_height(tmp_path: Path) -> None:
    shutil.copy(MOTIONS / "gltf" / "greenman.glb", tmp_path)
    file = tmp_path / "street.toml"
    words = 'schema = "poise.scene/1"\n[[figures]]\nname = "man"\nclip = "greenman.glb{}"\n{}\n'
    file.write_text(words.format("", ""), encoding="utf-8")
    with pytest.raises(FileFormatError, match=r'clip = "greenman\.glb@0"'):
        World(file)
    file.write_text(words.format("@2_move", 'height = "1.7m"'), encoding="utf-8")
    assert height_of(World(file).figure("man").character.skeleton) == pytest.approx(1.7, abs=0.02)
    file.write_text(words.format("@2", ""), encoding="utf-8")
    World(file).step()


def test_clips_of_any_rate_come_to_an_end(walk: Motion) -> None:
    for fps in (30.0, 60.0, 100.0, 120.0):
        short = walk.cut(0.0, 0.9)
        Clip(short.resampled(np.arange(0.0, short.duration, 1.0 / fps)))  # at 120 Hz: "frame times must increase"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('name = "doll"', 'name = "bob"'), "another figure has this name"),
        (('drive = "bob"', 'drive = "bop"'), "Figures: bob, doll, eve"),
        (('body = "chest"', 'body = "wing"'), "wing"),
        (('by = "ragdoll"', 'by = "wind"'), "wind"),
        (('driver = "ragdoll"\nclip = "walk.bvh"', 'driver = "ragdoll"'), "no pose to begin with"),
        (('behavior = "balance"', 'behavior = "hover"'), "hover"),
        (("heading = 90", "hedding = 90"), "hedding"),
    ],
)
def test_figures_that_make_no_sense_are_refused(
    tmp_path: Path, walk: Motion, change: tuple[str, str], words: str
) -> None:
    poise.save(walk.cut(0.0, 0.5), tmp_path / "walk.bvh")
    assert change[0] in FILE
    file = tmp_path / "street.toml"
    file.write_text(FILE.replace(*change, 1), encoding="utf-8")
    with pytest.raises((FileFormatError, UnknownName), match=words):
        World(file).step()
    with pytest.raises(FileFormatError, match="poise synthesize --scene"):
        poise.synthesis.load_scene(file)


@pytest.mark.long
def test_goals_lean_on_walls_of_a_scene_file(tmp_path: Path) -> None:
    file = tmp_path / "wall.toml"
    file.write_text(
        'schema = "poise.scene/1"\n[[walls]]\nname = "wall"\nplace = [0.6, 0.0, 1.2]\nfacing = [-1, 0, 0]\n',
        encoding="utf-8",
    )
    seen = {}
    for scene in (file, None):
        world = World(scene, figures={"eve": Goals("wall", options={"wall.count": 0})})
        world.push("eve", poise.Push("chest", (200.0, 0.0, 0.0), start=0.1, duration=0.1))
        for _ in range(80):
            world.step()
        driver = world.figure("eve").driver
        assert isinstance(driver, Goals)
        seen[scene] = {visit.name for visit in driver.visits}
    assert "reach" in seen[file], "it did not know the wall"
    assert "reach" not in seen[None]


def test_names_and_drivers_that_make_no_sense_are_refused(person: poise.Character, walk: Motion) -> None:
    world = World(figures={"ada": Clip(walk, person)})
    with pytest.raises(UnknownName, match="Figures: ada"):
        world.drive("bob", Ragdoll())
    with pytest.raises(UnknownName, match="tail"):
        world.push("ada", poise.Push("tail", (1.0, 0.0, 0.0)))
    other = sample_clip("quadruped")
    with pytest.raises(InvalidValue, match="another skeleton"):
        world.drive("ada", Clip(other))
    with pytest.raises(InvalidValue, match="no character"):
        World(figures={"doll": Ragdoll()}).step()
    with pytest.raises(InvalidValue, match="positive time"):
        World(dt=0.0)


def test_what_a_figure_did_is_a_motion(person: poise.Character, walk: Motion, tmp_path: Path) -> None:
    world = World(figures={"ada": Clip(walk, person, place=(1.0, 2.0), heading=0.5), "eve": Goals("balance")})
    for k in range(12):
        if k == 6:
            world.drive("ada", Ragdoll())
        world.step()
    for figure in world.figures:
        poise.save(world.motion(figure.name), tmp_path / "one.bvh")
        read, done = poise.load(tmp_path / "one.bvh"), world.motion(figure.name)
        assert read.frame_count == 13
        order = [read.skeleton.names.index(name) for name in done.skeleton.names]
        assert np.abs(read.world[0][:, order] - done.world[0]).max() < 1e-4
    assert abs(world.motion("ada").dt - world.dt) < 1e-9
    with pytest.raises(UnknownName, match="ada, eve"):
        world.motion("eva")


def test_a_recording_of_a_world_shows_which_leg_stands_when(person: poise.Character, walk: Motion) -> None:
    world = World(figures={"ada": Clip(walk, person)})
    for _ in range(round(1.0 / world.dt)):
        world.step()
    rows = {row.name: row for row in scene_of_world(world).timeline}
    assert list(rows) == ["left leg", "right leg"]
    stands = [sum(b - a for a, b, _ in row.spans) for row in rows.values()]
    assert 1.0 < sum(stands) < 1.7  # one or two of them at any time of a walk
    assert not scene_of_world(world, is_now=True).timeline


def test_a_clip_is_put_where_its_hips_begin(walk: Motion) -> None:
    clip = under_a_still_root(walk.cut(0.0, 1.0))
    hips = moved_to(clip, (1.0, -2.0), 0.5, 0.1).world[0][:, 1]
    assert hips[0, :2] == pytest.approx((1.0, -2.0), abs=1e-9)
    assert np.abs(hips - moved_to(walk.cut(0.0, 1.0), (1.0, -2.0), 0.5, 0.1).world[0][:, 0]).max() < 1e-6
