"""Scenes of clips and results: what is drawn is what the analysis says, and two clips in step are in step."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.analysis import analyze
from poise.core import rotations
from poise.core.errors import FileFormatError, InvalidValue
from poise.core.units import GRAVITY
from poise.edit import ballistic
from poise.show.arrays import unpack
from poise.show.camera import Camera, Follow
from poise.show.join import in_step, landings, matched, retimed, side_by_side
from poise.show.motion_scene import compare, scene_of_edit, scene_of_motion, scene_of_motions, skins_of
from poise.show.pack import pack
from poise.show.physics import with_physics
from poise.show.scene import Arrow, Curve, Label, Points, Polygon, Scene, Skin, Vectors, file_name, track_of_motion
from poise.terrain import Terrain
from tests.clips import MOTIONS, needs_motions, sample_clip
from tests.edit_clips import hop
from tests.record_figures import sliding_track


@pytest.fixture(scope="module")
def walk() -> poise.Motion:
    return sample_clip("walk")


@pytest.fixture(scope="module")
def seen(walk: poise.Motion) -> Scene:
    return scene_of_motion(walk)


def overlay(scene: Scene, name: str) -> Points | Vectors | Polygon | Curve:
    return next(o for o in scene.overlays if not isinstance(o, Label) and o.name == name)


def test_forces_of_the_limbs_carry_the_weight(seen: Scene, walk: poise.Motion) -> None:
    forces = overlay(seen, "contact force")
    assert isinstance(forces, Vectors)
    weight = seen.tracks[0].character.mass * GRAVITY
    up = np.nansum(forces.vectors[..., 2], axis=1)
    assert np.median(up) == pytest.approx(weight, rel=0.1)
    low = forces.points[..., 2]
    assert np.nanmax(low) < 0.15  # they stand at the feet


def test_the_center_of_mass_is_over_its_projection_and_the_trail_follows_it(seen: Scene) -> None:
    com, below, trail = (overlay(seen, n) for n in ("center of mass", "its projection", "its trail"))
    assert isinstance(com, Points)
    assert isinstance(below, Points)
    assert isinstance(trail, Curve)
    np.testing.assert_allclose(com.positions[..., :2], below.positions[..., :2])
    np.testing.assert_allclose(below.positions[..., 2], seen.tracks[0].character.floor)
    np.testing.assert_array_equal(trail.vertices, com.positions[:, 0])


def test_the_center_of_pressure_lies_in_the_polygon(seen: Scene) -> None:
    polygon, pressure = overlay(seen, "support polygon"), overlay(seen, "center of pressure")
    assert isinstance(polygon, Polygon)
    assert isinstance(pressure, Points)
    checked = 0
    for corners, (place,) in zip(polygon.vertices, pressure.positions):
        if np.isfinite(corners).all() and np.isfinite(place).all():
            sides = np.roll(corners, -1, axis=0) - corners
            away = place - corners
            assert (sides[:, 0] * away[:, 1] - sides[:, 1] * away[:, 0] > -1e-3).all()
            checked += 1
    assert checked > 100


def test_a_ballistic_path_takes_the_frames_gravity_needs() -> None:
    """A body thrown under a third of gravity: its path at full gravity takes sqrt(1/3) of the frames."""
    times = np.arange(61) / 60.0
    track = sliding_track(times, speed=1.5)
    positions = track.positions.copy()
    g = GRAVITY / 3.0
    positions[..., 2] += (0.5 * g * times[-1] * times - 0.5 * g * times**2)[:, None] + 0.5
    skeleton = track.character.skeleton
    translations = np.tile(skeleton.offsets, (61, 1, 1))
    translations[:, 0] = positions[:, 0]
    motion = poise.Motion(skeleton, times, translations, np.tile(rotations.IDENTITY, (61, 5, 1)))
    character = poise.Character.fit(motion)
    analysis = analyze(motion, character, floor=-5.0)
    flight = next(f for f in analysis.flights if f.last - f.first > 50)
    scene = with_physics(Scene(times, (sliding_track(times),), Terrain.flat()), analysis)
    actual, ballistic = overlay(scene, "path in the air"), overlay(scene, "ballistic path")
    assert isinstance(actual, Curve)
    assert isinstance(ballistic, Curve)
    frames = flight.last - flight.first
    assert len(actual.vertices) == frames + 1
    assert len(ballistic.vertices) == pytest.approx(1 + np.ceil(frames / np.sqrt(3.0)), abs=1)
    fall = np.diff(ballistic.vertices[:-1, 2], 2) * 3600.0
    np.testing.assert_allclose(fall, -GRAVITY, rtol=0.01)
    label = next(o for o in scene.overlays if isinstance(o, Label))
    assert label.text.startswith(f"{frames} frames, ballistic {frames / np.sqrt(3.0):.0f} (−")


def test_words_of_two_flights_are_never_seen_at_once() -> None:
    motion, character = hop()
    analysis = analyze(motion, character)
    (flight,) = analysis.flights
    after = replace(flight, start_s=flight.end_s + 0.2, end_s=flight.end_s + 0.4)
    scene = Scene(motion.times, (sliding_track(motion.times),), Terrain.flat())
    vars(analysis)["flights"] = (flight, after)  # it is computed once
    overlays = with_physics(scene, analysis).overlays
    one, other = (o.span for o in overlays if isinstance(o, Label))
    assert one is not None
    assert other is not None
    assert one[1] == other[0] == pytest.approx(flight.end_s + 0.1)
    assert one[0] < flight.start_s
    assert other[1] > after.end_s


def test_a_flight_edited_to_fall_as_on_the_moon_is_compared_with_the_moon() -> None:
    motion, character = hop()
    edited = ballistic(motion, character, gravity=1.62)
    scene = scene_of_edit(motion, edited.motion, edited.report.data, physics=True)
    (label,) = [o for o in scene.overlays if isinstance(o, Label)]
    frames, needed = (int(n) for n in re.findall(r"(\d+) frames, ballistic (\d+)", label.text)[0])
    assert abs(frames - needed) <= 1
    assert "0.1" in label.text.split("·")[1]


def test_an_edit_plots_before_and_after() -> None:
    motion, character = hop()
    edited = ballistic(motion, character, keep="timing")
    words = [o.text for o in scene_of_motion(edited.motion, character).overlays if isinstance(o, Label)]
    assert words
    assert all("(±0)" in w for w in words), "a flight that falls as it should is not a frame longer"
    scene = scene_of_edit(motion, edited.motion, edited.report.data, physics=True)
    assert scene.plots
    for plot in scene.plots:
        names = [line.name for line in plot.series]
        assert len(names) == len(set(names))
        assert {n.split()[0] for n in names} == {"before", "after"}
        assert len({line.color for line in plot.series}) == len(names), plot.name
        assert all(len(line.values) == len(scene.times) for line in plot.series)
    differs = [
        float(np.nanmax(np.abs(plot.series[0].values - plot.series[len(plot.series) // 2].values)))
        for plot in scene.plots
        if "before" in plot.series[0].name
    ]
    assert max(differs) > 0.01


def test_contacts_are_rows_and_pushes_too(walk: poise.Motion, seen: Scene) -> None:
    assert [r.name for r in seen.timeline][:2] == ["left leg", "right leg"]
    assert all(a < b for r in seen.timeline for a, b, _ in r.spans)
    result = poise.simulate(walk.frames(np.arange(120)), pushes=[poise.Push("chest", (300.0, 0.0, 0.0), 0.5)])
    scene = poise.scene_of(result)
    assert scene.timeline[0].name == "pushes"
    assert scene.timeline[0].spans[0][:2] == pytest.approx((0.5, 0.7))
    assert [p.name for p in scene.plots][:2] == ["Change of the pose", "Center of mass moved horizontally"]
    plotted = scene.plots[0].series[0].values
    np.testing.assert_allclose(plotted, result.report["per_frame"]["deviation_rms_deg"])


def test_several_clips_share_a_page_and_a_timeline(walk: poise.Motion) -> None:
    late = replace(walk.frames(np.arange(90)))
    scene = scene_of_motions([walk, late], names=["long", "short"])
    assert [t.name for t in scene.tracks] == ["long", "short"]
    assert scene.tracks[0].style.color != scene.tracks[1].style.color
    np.testing.assert_array_equal(scene.tracks[1].positions[-1], scene.tracks[1].positions[89])
    assert [s.name for s in scene.plots[0].series] == ["long", "short"]
    with pytest.raises(InvalidValue, match="1 to 12"):
        scene_of_motions([])


def test_clips_side_by_side_are_in_step(walk: poise.Motion) -> None:
    """The same walk, turned, moved, at 0.8 of its speed and cut at the front: its feet come down with the other's."""
    turn = rotations.from_rotation_vector(np.array([0.0, 0.0, 1.1]))
    translations, turned = walk.translations.copy(), walk.rotations.copy()
    translations[:, 0] = rotations.rotate(turn, translations[:, 0]) + np.array([3.0, -2.0, 0.0])
    turned[:, 0] = rotations.multiply(turn, turned[:, 0])
    other = replace(walk, translations=translations, rotations=turned).frames(np.arange(20, walk.frame_count))
    other = replace(other, times=other.times / 0.8)
    scene = compare([walk, other], names=["a", "b"])
    assert scene.views == ("a", "b")
    assert [t.view for t in scene.tracks] == [0, 1]
    feet = [t.character.body_index("left_foot") for t in scene.tracks]
    heights = np.stack([t.positions[60:330, f, 2] for t, f in zip(scene.tracks, feet)])
    assert np.asarray(np.corrcoef(heights))[0, 1] > 0.98
    moved = [t.positions[300, 0, :2] - t.positions[100, 0, :2] for t in scene.tracks]
    np.testing.assert_allclose(moved[0], moved[1], atol=0.1)  # a cut clip travels one degree otherwise
    header = unpack(pack(scene)).header
    assert header["views"] == ["a", "b"]
    assert header["tracks"][1]["view"] == 1
    assert {o.get("view", 0) for o in header["overlays"]} == {0, 1}
    legs = {r.name: r.color for r in scene.timeline}
    assert len({legs[f"{clip}: {side} leg"] for clip in "ab" for side in ("left", "right")}) == 4
    assert legs["b: right leg"] == pytest.approx([0.68 * c for c in scene.tracks[1].style.color])


def test_landings_are_matched_by_the_longest_run() -> None:
    ours = (("right", 0.2), ("left", 1.0), ("right", 2.0), ("left", 3.0))
    theirs = (("left", 0.5), ("right", 1.0), ("left", 1.5), ("left", 9.0))
    first, second = matched(theirs, ours)
    assert first.tolist() == [0.5, 1.0, 1.5]
    assert second.tolist() == [1.0, 2.0, 3.0]
    assert len(matched((), ours)[0]) == 0


def test_time_runs_at_its_own_speed_outside_of_what_is_matched() -> None:
    times = np.linspace(0.0, 4.0, 41)
    scene = Scene(times, (sliding_track(times),), Terrain.flat())
    moved = retimed(scene, np.array([1.0, 2.0]), np.array([5.0, 5.5])).times
    np.testing.assert_allclose(np.interp([0.0, 1.0, 1.5, 2.0, 4.0], times, moved), [4.0, 5.0, 5.25, 5.5, 7.5])


def test_a_clip_that_would_run_too_fast_is_only_shifted(walk: poise.Motion) -> None:
    slow = replace(walk, times=3.0 * walk.times)
    own, leader = analyze(slow, poise.Character.fit(slow)), analyze(walk, poise.Character.fit(walk))
    if not landings(own):
        pytest.skip("so slow that nothing lands")
    scene = in_step(scene_of_motion(slow, physics=False), own, leader)
    np.testing.assert_allclose(np.diff(scene.times), np.diff(slow.times), atol=1e-9)


def test_scenes_with_views_are_not_put_side_by_side_again(walk: poise.Motion) -> None:
    with pytest.raises(InvalidValue, match="views"):
        side_by_side([compare([walk, walk]), scene_of_motion(walk)])


@needs_motions
@pytest.mark.parametrize("name", ["gltf/cesium_man.gltf", "gltf/Fox.glb"])
def test_a_skin_is_where_the_file_puts_it(name: str) -> None:
    """Vertices posed by the page's rule lie where glTF's own rule puts them: near the bones, the right size."""
    motion = poise.load(MOTIONS / name, clip=0)
    scene = scene_of_motion(motion, physics=False)
    seen = unpack(pack(scene))
    track = seen.header["tracks"][0]
    positions, turns = seen.poses(0)
    assert len(track["bodies"]) == motion.skeleton.joint_count
    followed = track["bodies"][track["root"]]["name"]  # what the camera goes along with
    assert followed == scene.tracks[0].character.bodies[0].name
    (skin, *_) = track["skins"]
    vertices = seen.array(skin["vertices"]).astype(float)
    joints, weights = seen.array(skin["joints"]).astype(int), seen.array(skin["weights"]).astype(float)
    binds = seen.array(skin["inverse_binds"]).astype(float)
    frame = len(positions) // 2
    matrices = np.tile(np.eye(4), (len(binds), 1, 1))
    matrices[:, :3, :3], matrices[:, :3, 3] = rotations.to_matrix(turns[frame]), positions[frame]
    by_bone = matrices @ binds
    posed = np.einsum("vk,vkij,vj->vi", weights, by_bone[joints], np.c_[vertices, np.ones(len(vertices))])[:, :3]
    low, high = posed.min(axis=0), posed.max(axis=0)
    assert high[2] - low[2] == pytest.approx(np.ptp(positions[frame, :, 2]), rel=0.5)
    assert abs(low[2] - scene.tracks[0].character.floor) < 0.15 * (high[2] - low[2])
    nearest = np.linalg.norm(posed[:, None] - positions[frame][None], axis=2).min(axis=1)
    assert nearest.max() < 0.6 * (high - low).max()
    assert track["skins"][0]["texture"]["type"] in ("image/png", "image/jpeg")


@needs_motions
def test_a_skin_under_scaled_nodes_is_as_large_as_its_bones(tmp_path: Path) -> None:
    """The same file below a node of scale 2: bones and skin are twice as large."""
    source = MOTIONS / "gltf" / "cesium_man.gltf"
    file = json.loads(source.read_text(encoding="utf-8"))
    scene = file["scenes"][file.get("scene", 0)]
    file["nodes"].append({"name": "twice", "scale": [2.0, 2.0, 2.0], "children": scene["nodes"]})
    scene["nodes"] = [len(file["nodes"]) - 1]
    twice = tmp_path / "twice.gltf"
    twice.write_text(json.dumps(file), encoding="utf-8")
    heights = []
    for path in (source, twice):
        motion = poise.load(path)
        (skin, *_) = skins_of(motion)
        positions, turns = (a[0] for a in motion.world)
        matrices = np.tile(np.eye(4), (len(positions), 1, 1))
        matrices[:, :3, :3], matrices[:, :3, 3] = rotations.to_matrix(turns), positions
        vertices = np.c_[skin.vertices, np.ones(len(skin.vertices))]
        posed = np.einsum("vk,vkij,vj->vi", skin.weights, (matrices @ skin.inverse_binds)[skin.joints], vertices)
        heights.append((np.ptp(posed[:, 2]), np.ptp(positions[:, 2])))
    np.testing.assert_allclose(heights[1], 2.0 * np.array(heights[0]), rtol=1e-4)


@needs_motions
def test_a_texture_too_large_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    motion = poise.load(MOTIONS / "gltf" / "cesium_man.gltf")
    monkeypatch.setattr("poise.show.motion_scene.MAX_PIXELS", 100)
    with pytest.warns(poise.MotionWarning, match="texture is left out"):
        (skin, *_) = skins_of(motion)
    assert skin.texture is None
    monkeypatch.setattr("poise.show.motion_scene.MAX_VERTICES", 10)
    with pytest.warns(poise.MotionWarning, match="capsules are shown"):
        assert skins_of(motion) == ()


def test_a_page_that_is_no_recording_is_said_so(tmp_path: Path) -> None:
    from poise.show.arrays import read_recording

    page = tmp_path / "page.html"
    for text in ("<p>hello</p>", '<script id="poise-recording">AAAA</script>'):
        page.write_text(text, encoding="utf-8")
        with pytest.raises(FileFormatError, match="recording"):
            read_recording(page)


def test_before_an_edit_a_skinned_figure_wears_its_own_skin(monkeypatch: pytest.MonkeyPatch) -> None:
    motion, character = hop()
    count = motion.skeleton.joint_count
    corners, first = np.eye(3, dtype=np.float32), np.zeros((3, 4), dtype=np.int64)
    weights = np.eye(4, dtype=np.float32)[first[:, 0]]
    triangle, binds = np.array([[0, 1, 2]]), np.tile(np.eye(4), (count, 1, 1))
    skin = Skin("cloth", corners, triangle, first, weights, binds, None, None, "")
    monkeypatch.setattr("poise.show.motion_scene.skins_of", lambda _: (skin,))
    edited = ballistic(motion, character)  # which makes it shorter
    scene = scene_of_edit(motion, edited.motion, edited.report.data)
    after, before = scene.tracks
    assert before.style.kind == "ghost"
    assert before.skinned is not None
    assert after.skinned is not None
    assert before.skinned.positions.shape == after.skinned.positions.shape == (len(scene.times), count, 3)
    np.testing.assert_allclose(before.skinned.positions[10], motion.world[0][10], atol=1e-6)


def test_a_camera_holds_the_arrows_of_pushes(walk: poise.Motion) -> None:
    character = poise.Character.fit(walk)
    track = track_of_motion(walk, character)
    arrow = Arrow(0, character.roles["chest"], 1.0, 1.2, np.array([0.0, 900.0, 0.0]), np.zeros(3))
    plain, pushed = Scene(walk.times, (track,), Terrain.flat()), Scene(walk.times, (track,), Terrain.flat(), (arrow,))
    camera = Camera("side", heading=90.0)
    assert Follow(pushed, camera).width > Follow(plain, camera).width + 0.5


def test_a_title_names_the_clip_where_its_file_holds_several(walk: poise.Motion) -> None:
    assert walk.source is not None
    source = replace(walk.source, path="folder/fox.glb", clips=("Rig|Idle", "Rig|Run"), clip=1)
    running = replace(walk, source=source)
    assert file_name(running) == "fox.glb · Run"
    assert scene_of_motion(running, physics=False).title == "fox · Run"
    idle = replace(running, source=replace(source, clip=0))
    assert scene_of_motions([running, idle], physics=False).title == "fox · Run, fox · Idle"
    assert file_name(replace(running, source=replace(source, clips=("Run",), clip=0))) == "fox.glb"
