"""`poise world --live`: figures and bodies are dragged and pushed, a figure is let go and driven again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip("websockets")

import poise
from poise.cli.world import play_alone, summarize_world
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.show.live_world import LiveWorld
from poise.show.motion_scene import skins_of
from poise.show.page import has_page
from poise.world import Clip, Goals, Ragdoll, World
from tests.clips import MOTIONS, needs_motions, sample_clip
from tests.live_pages import playing

if TYPE_CHECKING:
    from poise.locomotion import Walking

CRATE = (
    '<mujoco><worldbody><geom type="plane" size="20 20 1"/><geom name="post" type="box" size="0.1 0.1 1" pos="-4 0 1"/>'
    '<body name="crate" pos="2.0 3.0 0.2"><freejoint/><geom type="box" size="0.2 0.2 0.2" mass="6"/></body>'
    "</worldbody></mujoco>"
)


def made() -> World:
    walk = sample_clip("walk", 4.0)  # the whole loops, so a minute would be prepared
    return World(CRATE, figures={"ada": Clip(walk, place=(0.0, 0.0), heading=0.0)})


@pytest.mark.skipif(not has_page(), reason="the player is not built: npm ci && npm run build")
def test_bodies_and_figures_are_dragged_and_figures_let_go() -> None:
    source = LiveWorld(made())
    count = len(source._world.figures[0].character.bodies)
    with playing(source, bodies=count + 2) as (page, _):
        scene = source.scene()
        assert [p.is_draggable for p in scene.props] == [False, True]  # the post never moves
        start = page.until(lambda s: s.time > 0.15).positions[-1]
        assert start == pytest.approx([2.0, 3.0, 0.2], abs=0.01)
        page.ask(type="grab", track=2, body=0, point=[0, 0, 0], target=[2.2, 3.0, 1.0])
        page.until(lambda s: np.linalg.norm(s.positions[-1] - [2.2, 3.0, 1.0]) < 0.06)  # it hangs from the hand
        page.ask(type="release")
        page.until(lambda s: s.positions[-1, 2] < 0.3)  # it falls
        page.ask(type="push", track=2, body=0, force=[0.0, 400.0, 0.0], seconds=0.1)
        page.until(lambda s: s.positions[-1, 1] > 3.1)
        page.ask(type="grab", track=1, body=0, point=[0, 0, 0], target=[0, 0, 0])
        page.until(lambda s: any("move by physics" in w.get("why", "") for w in page.words))
        page.ask(type="set", name="drive ada", value="nothing")
        page.until(lambda s: s.positions[0, 2] < 0.4)  # she falls
        page.ask(type="set", name="drive ada", value="clip")
        before = page.until(lambda s: s.positions[0, 2] > 0.8)  # and walks again
        page.ask(type="restart")
        page.until(lambda s: s.time < before.time)
        again = page.until(lambda s: s.time > 0.15)
        assert again.positions[-1] == pytest.approx(start, abs=1e-4)


def test_the_page_sees_what_hands_pull_with() -> None:
    world = made()
    source = LiveWorld(world)
    source.begin()
    assert [getattr(mark, "name", "") for mark in source.scene().overlays] == ["hand"]
    chest = world.figures[0].character.roles["chest"]
    (still,) = source.moment([], is_paused=False).overlays
    assert np.isnan(still).all()
    hands = [
        source.grab(0, chest, np.zeros(3), np.array([0.0, 0.6, 1.3])),
        source.grab(2, 0, np.zeros(3), np.array([2.0, 3.0, 0.6])),
    ]
    for _ in range(2):
        world.step()
    (arrows,) = source.moment(hands, is_paused=False).overlays
    assert 50.0 < np.linalg.norm(arrows[0, 3:]) < 0.8 * 9.81 * world.figures[0].character.mass + 1.0
    assert np.allclose(arrows[1, :3], [2.0, 3.0, 0.3], atol=0.3)
    assert arrows[1, 5] > 10.0  # the crate is lifted
    assert np.isnan(arrows[2:]).all()


@needs_motions
def test_figures_wear_their_skins_and_are_held_by_joints(tmp_path: Path) -> None:
    motion = poise.load(MOTIONS / "gltf" / "cesium_man.gltf")
    figures = {"man": Clip(motion), "eve": Goals("balance", place=(2.0, 0.0))}
    world = World(CRATE, figures=figures)
    world.push("man", poise.Push("chest", (0.0, 100.0, 0.0), start=0.02, duration=0.1))
    source = LiveWorld(world)
    man, eve = source.scene().tracks
    assert man.skinned is not None
    assert eve.skinned is None
    world.step()
    moved = source.moment([], is_paused=False).poses
    joints, character = motion.skeleton.joint_count, world.figures[0].character
    assert [len(places) for places, _ in moved][:2] == [joints, len(world.figures[1].character.bodies)]
    chest = character.roles["chest"]
    held = source.grab(0, character.bodies[chest].joint, np.zeros(3), np.array([0.0, 0.6, 1.3]))
    assert held.index == chest
    for _ in range(10):
        world.step()
    scene = poise.scene_of(world)
    row = next(row for row in scene.timeline if row.name == "pushes")
    assert [words.split(":")[0] for _, _, words in row.spans] == ["man", "man"]
    assert len(scene.arrows) == 2
    assert scene.tracks[0].skinned is not None
    assert scene.tracks[0].skinned.positions.shape == (12, joints, 3)
    poise.save(world.motion("man"), tmp_path / "man.glb")
    assert skins_of(poise.load(tmp_path / "man.glb"))
    world.drive("man", Ragdoll())
    world.step()
    assert poise.scene_of(world).tracks[0].skinned is not None  # whatever drives it


def test_a_round_ends_and_begins_as_it_did() -> None:
    source = LiveWorld(made(), seconds=0.3)
    results = []
    for _ in range(2):
        source.begin()
        results.append(source.play(lambda: True))
    assert all(r.is_complete and r.motion.frame_count == 31 for r in results)
    assert np.array_equal(results[0].motion.rotations, results[1].motion.rotations)
    with pytest.raises(InvalidValue, match="no figure"):
        LiveWorld(World("rubble:2,1"))


def test_one_that_walks_goes_where_the_page_says(tmp_path: Path) -> None:
    from poise.locomotion import Walking, build

    examples = build([sample_clip("walk")])
    ada = Walking(examples)
    ada.velocity = 1.0, 0.0
    world = World(figures={"ada": ada}, dt=1.0 / 60.0)
    source = LiveWorld(world, seconds=2.0)
    assert [c.name for c in source.controls] == ["speed", "direction", "turn", "there", "drive ada"]
    assert source.controls[0].value == pytest.approx(1.0)
    done = {}
    for turn in (0.0, 60.0):
        source.set("turn", turn)
        source.begin()
        source.play(lambda: True)
        done[turn] = np.array(world.figure("ada").poses)
    ahead, left = done[0.0], done[60.0]
    assert ahead[-1, 0] > 1.2
    assert abs(ahead[-1, 1]) < 0.1
    assert left[-1, 1] > 0.4
    assert rotations.yaw_to(left[0, 3:7], left[-1, 3:7]) == pytest.approx(ada.walker.heading, abs=0.4)
    # a shove changes the controller's velocity, and the body gives way besides
    source.set("turn", 0.0)
    source.begin()
    before = 0.0
    for k in range(120):
        if k == 50:
            world.push("ada", poise.Push("chest", (0.0, 250.0, 0.0), start=world.time, duration=0.2))
            before = float(ada.walker.velocity[1])
        world.step()
        if k == 63:
            assert ada.walker.velocity[1] > before + 0.2
    aside = np.array(world.figure("ada").poses)
    assert aside[-1, 1] > 0.15  # it does not go back to the path it had
    world.drive("ada", Ragdoll())
    for _ in range(60):
        world.step()
    world.drive("ada", ada)
    for _ in range(5):
        world.step()
    assert np.hypot(*(ada.walker.place - world.figure("ada").poses[-1][:2])) < 0.3  # it goes on from where it is


STREET = """
schema = "poise.scene/1"
[[figures]]
name = "bob"
clip = "walk.bvh"
place = [0.5, -2.0]
[[bodies]]
name = "crate"
place = [4.0, 4.0, 0.2]
sides = [0.4, 0.4, 0.4]
mass = 3
"""


def walking_live(speed: float, seconds: float) -> tuple[Walking, World, LiveWorld]:
    """One that walks ahead at this speed [m/s], on a live page that has begun."""
    from poise.locomotion import Walking, build

    ada = Walking(build([sample_clip("walk")]))
    ada.velocity = speed, 0.0
    world = World(figures={"ada": ada}, dt=1.0 / 60.0)
    source = LiveWorld(world, seconds=seconds)
    source.begin()
    return ada, world, source


def test_one_that_walks_goes_along_a_path_drawn_on_the_page_and_stands_at_its_end() -> None:
    ada, world, source = walking_live(1.0, 9.0)
    source.set("there", "1.5,0.0 1.5,1.5")
    source.play(lambda: True)
    path = np.array(world.figure("ada").poses)[:, :2]
    assert np.linalg.norm(path - (1.5, 0.0), axis=1).min() < 0.5
    assert np.linalg.norm(path[-1] - (1.5, 1.5)) < 0.3
    assert np.ptp(path[-30:], axis=0).max() < 0.05
    source.begin()
    source.set("there", "0,5")
    source.set("speed", 1.0)  # a slider takes over
    for _ in range(60):
        source._go_there()
        world.step()
    assert ada.velocity == (1.0, 0.0)


def test_the_ground_goes_along_with_one_that_walks_far() -> None:
    world = World(figures={"ada": Clip(sample_clip("walk"))})
    source, shown = LiveWorld(world), []
    source.begin()
    figure = world.figure("ada")
    for y in (0.0, -7.0, -9.0, -16.0):
        figure.poses[-1] = np.array([0.0, y, *figure.poses[0][2:]])
        if not shown or source.is_changed():
            source.scene()
            shown.append(y)
    assert shown == [0.0, -9.0]


def test_the_command_runs_a_scene_file_and_saves_its_figures(tmp_path: Path) -> None:
    from poise.cli import run

    poise.save(sample_clip("walk", 2.0), tmp_path / "walk.bvh")
    (tmp_path / "street.toml").write_text(STREET, encoding="utf-8")
    street, bob, html = str(tmp_path / "street.toml"), tmp_path / "bob.bvh", tmp_path / "street.json"
    assert run(["world", street, "--seconds", "0.5", "--save-figure", f"bob={bob}", "--report", str(html)]) == 0
    saved = poise.load(bob)
    assert saved.frame_count == 51
    assert html.stat().st_size > 100
    clip = str(poise.sample_path("walk.bvh"))
    other = tmp_path / "other.bvh"
    asked = ["simulate", clip, "--end", "0.5", "-o", str(tmp_path / "out.bvh"), "--scene", street]
    assert run([*asked, "--save-figure", f"bob={other}"]) == 0
    assert poise.load(other).frame_count > 50
    assert run([*asked, "--save-figure", "bop=x.bvh", "--overwrite"]) != 0
    assert run(["world", street, "--save-figure", "bob"]) != 0
    assert run(["world", street]) != 0
    assert run(["walk", str(tmp_path / "no.npz"), "--live", "--to", "1,1"]) != 0


def test_a_world_without_bodies_is_summed_up_without_them(capsys: pytest.CaptureFixture[str]) -> None:
    for scene, is_told in ((None, False), (CRATE, True)):
        world = World(scene, figures={"ada": Clip(sample_clip("walk", 1.0))})
        summarize_world(play_alone(world, 0.1, "street"))
        told = capsys.readouterr().out
        assert told.startswith("0.10 s: ada")
        assert ("contacts on average" in told) == is_told


def test_the_page_shows_where_one_goes_and_that_it_stands() -> None:
    _, _, source = walking_live(1.2, 6.0)
    source.set("turn", 30.0)
    assert source.set("there", "1.0,0.0 1.0,1.0") == {"speed": 1.2, "direction": 0.0, "turn": 0.0}
    moment = source.moment((), is_paused=False)
    _, ring, dots = moment.overlays
    assert ring[0] == pytest.approx([1.0, 1.0, 0.0])
    assert np.isfinite(dots[:, 0]).sum() == 6  # a dot every 25 cm, but near the figure
    source.play(lambda: True)
    moment = source.moment((), is_paused=False)
    assert moment.controls["speed"] == 0.0
    assert all(np.isnan(marks).all() for marks in moment.overlays[1:])
    assert source.set("there", "3,3") == {"speed": 1.2, "direction": 0.0, "turn": 0.0}  # as fast as before


def test_one_that_came_to_its_place_stands_as_a_person_and_shifts_its_weight() -> None:
    from poise.locomotion import Toward, Walking, build

    ada = Walking(build([sample_clip("walk")]))
    world = World(figures={"ada": ada}, dt=1.0 / 60.0)
    command = Toward([(0.6, 0.0)], 1.0, 60.0).begin()
    for _ in range(900):
        ada.velocity, ada.turn = command(ada.walker, world.time) or ((0.0, 0.0), 0.0)
        world.step()
    motion = world.motion("ada")
    names, (places, _) = motion.skeleton.names, motion.world
    at = {name: places[300:, names.index(name)] for name in ("LeftArm", "LeftHand", "LeftUpLeg", "LeftLeg", "LeftFoot")}
    leg = [np.linalg.norm(at[a] - at[b], axis=1) for a, b in (("LeftUpLeg", "LeftLeg"), ("LeftLeg", "LeftFoot"))]
    straight = np.linalg.norm(at["LeftUpLeg"] - at["LeftFoot"], axis=1) / (leg[0] + leg[1])
    assert straight.min() > 0.985, "0.974 where it stood as in the mean pose of its walk"
    assert np.abs(at["LeftHand"][:, 0] - at["LeftArm"][:, 0]).max() < 0.04, "the arm hangs; it was 5.5 cm ahead"
    pelvis = places[300:, 0]
    assert 0.02 < np.ptp(pelvis[:, 1]) < 0.1, "it shifts its weight"
    assert np.ptp(at["LeftFoot"][:, :2], axis=0).max() < 0.01, "on feet that stay"
