from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from poise.core.errors import InvalidValue, MissingExtra, PoiseError
from poise.show import Camera, record
from poise.show.browser import PagePainter
from poise.show.camera import FIELD_OF_VIEW, Follow, grid_cell, skin_reach, travel_heading
from poise.show.look import ARROW_COLOR, BACKGROUND, Look, body_sides
from poise.show.pack import needed
from poise.show.plain import PlainPainter
from poise.show.recording import _strip_note as strip_note
from poise.show.recording import still_times
from poise.show.scene import GHOST, Arrow, Scene, Skin, Skinned, Style
from poise.terrain import Terrain
from tests.record_figures import scaled_figure, sliding_track, stick_figure

TIMES = np.linspace(0.0, 2.0, 61)
RED = Style("solid", (0.9, 0.1, 0.1))
BLUE = Style("solid", (0.2, 0.3, 0.9))


def a_scene(**changes: object) -> Scene:
    return replace(Scene(TIMES, (sliding_track(TIMES),), Terrain.flat()), **changes)  # type: ignore[arg-type]


def painted(scene: Scene, time: float, camera: Camera, size: tuple[int, int] = (160, 200)) -> np.ndarray:
    """One picture, its values as floats."""
    follow = Follow(scene, camera)
    with PlainPainter(scene, *size) as made:
        return made.paint(Look(scene).still(time), follow.shot(time, size[0] / size[1])).astype(np.float64)


def rows_and_columns(picture: np.ndarray, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Where the picture is strongly red, or is not red."""
    red = picture[..., 0] - picture[..., 1:].max(axis=-1)
    rows, columns = np.nonzero(red > 60.0 if kind == "red" else red <= 60.0)
    return rows, columns


def test_the_figure_stands_upright_on_the_ground_where_the_camera_says() -> None:
    scene = a_scene(tracks=(sliding_track(TIMES, style=RED),))
    camera = Camera("side", elevation=-2.0)
    rows, columns = rows_and_columns(painted(scene, 1.0, camera), "red")
    shot = Follow(scene, camera).shot(1.0, 0.8)
    scale = 200 / shot.height
    # head of the trunk's capsule at 1.62 m, sole at 0: perspective and rounding within 4 pixels
    top, sole = (100 - scale * ((np.array([1.0, 0.0, z]) - shot.target) @ shot.up) for z in (1.62, 0.0))
    assert rows.min() == pytest.approx(top, abs=4.0)
    assert rows.max() == pytest.approx(sole, abs=4.0)
    assert rows.min() > 4  # whole, and large
    assert rows.max() - rows.min() > 0.6 * 200
    assert columns.mean() == pytest.approx(80.0, abs=12.0)
    toe = columns[rows > rows.max() - 8].max()
    assert toe > 80 + 0.15 * scale  # it travels, and so faces, to the right


def test_a_figure_above_the_ground_is_seen_above_its_shadow() -> None:
    standing = a_scene(tracks=(sliding_track(TIMES, style=RED),))
    hovering = a_scene(tracks=(sliding_track(TIMES, style=RED, height=0.3),))
    for scene, gap in ((standing, 0.0), (hovering, 0.3)):
        scale = 200 / Follow(scene, Camera()).shot(1.0, 0.8).height
        rows, columns = rows_and_columns(painted(scene, 1.0, Camera()), "red")
        shot = Follow(scene, Camera()).shot(1.0, 0.8)
        ground = 100 - scale * ((np.array([1.0, -0.12, 0.0]) - shot.target) @ shot.up)  # under the near foot
        assert ground - rows.max() == pytest.approx(scale * gap, abs=5.0)
        assert len(columns) > 300


def test_a_figure_of_any_size_is_seen_the_same() -> None:
    usual = a_scene(tracks=(sliding_track(TIMES, style=RED),))
    for size in (0.02, 100.0):
        track = sliding_track(TIMES, style=RED)
        scaled = replace(track, character=scaled_figure(size), positions=size * track.positions)
        for terrain in (Terrain.flat(), Terrain.slope(10.0)):
            expected = painted(replace(usual, terrain=terrain), 1.0, Camera())
            seen = painted(a_scene(tracks=(scaled,), terrain=terrain), 1.0, Camera())
            assert np.mean(np.abs(seen - expected) > 40.0) < 0.08


def test_left_limbs_are_lighter_than_right_ones() -> None:
    assert body_sides(stick_figure()) == ["", "left", "left", "right", "right"]
    scene = a_scene()
    seen = {view: painted(scene, 1.0, Camera(view, heading=0.0, elevation=0.0)) for view in ("front", "back")}
    low = slice(120, 165)
    for view, lighter_on_right in (("front", True), ("back", False)):
        figure = seen[view][low]
        darker_left_half = figure[:, :80].min() < figure[:, 80:].min()
        assert darker_left_half == lighter_on_right


def test_a_ghost_lets_shine_through_what_is_behind_it() -> None:
    nothing = painted(a_scene(tracks=(sliding_track(TIMES), sliding_track(TIMES, speed=1.0))), 1.0, Camera())
    away = replace(sliding_track(TIMES), positions=sliding_track(TIMES).positions + np.array([0.3, 0.0, 0.0]))
    solid = painted(
        a_scene(tracks=(sliding_track(TIMES), replace(away, style=Style("solid", GHOST.color)))), 1.0, Camera()
    )
    ghost = painted(a_scene(tracks=(sliding_track(TIMES), replace(away, style=GHOST))), 1.0, Camera())
    assert np.abs(ghost - nothing).max() > 15.0
    assert ghost.min() > solid.min() - 1.0
    # one solid figure and a ghost are framed by the solid one alone
    assert Follow(a_scene(tracks=(sliding_track(TIMES), replace(away, style=GHOST))), Camera()).width == pytest.approx(
        Follow(a_scene(), Camera()).width
    )


def test_a_figure_that_is_thrown_far_by_a_hard_push_is_framed_itself() -> None:
    track = sliding_track(TIMES)
    far = np.clip(TIMES - 1.0, 0.0, 0.5)[:, None, None] * np.array([30.0, 0.0, 0.0])
    push = Arrow(0, 0, 0.8, 1.2, np.array([50000.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.5]))
    thrown = a_scene(tracks=(replace(track, positions=track.positions + far),), arrows=(push,))
    assert 0.0 < Follow(thrown, Camera()).height < 2.0 * Follow(a_scene(), Camera()).height
    assert 0.0 < Follow(thrown, Camera()).width < 6.0 * 1.8


def test_a_push_is_an_arrow_that_ends_at_the_body() -> None:
    push = Arrow(0, 0, 0.8, 1.2, np.array([200.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.5]))
    scene = a_scene(arrows=(push,), tracks=(sliding_track(TIMES, style=BLUE),))
    camera = Camera("side", elevation=0.0)
    rows, columns = rows_and_columns(painted(scene, 1.0, camera), "red")
    assert len(rows) > 30
    shot = Follow(scene, camera).shot(1.0, 0.8)
    scale = 200 / shot.height
    drawn = Look(scene).still(1.0).arrows[0]
    middle = 80 + scale * ((drawn.tip - shot.target) @ shot.right)
    length = scale * float(np.linalg.norm(drawn.tip - drawn.tail))
    assert columns.max() == pytest.approx(middle, abs=4.0)
    assert columns.max() - columns.min() == pytest.approx(length, abs=5.0)
    assert rows.mean() == pytest.approx(100 - scale * (1.3 - shot.target[2]), abs=4.0)
    assert not len(rows_and_columns(painted(scene, 0.5, camera), "red")[0])
    assert not len(rows_and_columns(painted(scene, 1.9, camera), "red")[0])
    assert ARROW_COLOR[0] > 0.5


@pytest.mark.parametrize(
    "terrain",
    [
        Terrain.slope(15.0),
        Terrain.stairs(0.2, 0.6),
        Terrain.rough(0.4, 1),
        Terrain.platform([[0, 0, 0, 0], [2, 0, 0, 0.5]]),
    ],
    ids=["slope", "stairs", "rough", "platform"],
)
def test_the_camera_and_the_ground_follow_the_terrain(terrain: Terrain) -> None:
    track = sliding_track(TIMES, style=RED)
    ground = np.array([terrain.heights(p[:1, :2], float(t))[0] for p, t in zip(track.positions, TIMES)])
    positions = track.positions.copy()
    positions[..., 2] += ground[:, None]
    scene = a_scene(tracks=(replace(track, positions=positions),), terrain=terrain)
    for time in (0.0, 1.0, 2.0):
        picture = painted(scene, time, Camera())
        rows, _ = rows_and_columns(picture, "red")
        assert len(rows) > 300
        assert 120 < rows.max() < 200  # the lowest that is seen of the figure stays in the lower part of the picture
        # the sky is above, the ground below
        assert np.abs(picture[4, 4] / 255.0 - BACKGROUND).max() < 0.08
        assert np.abs(picture[-4, 4] / 255.0 - BACKGROUND).max() > 0.08


def test_moving_ground_is_drawn_where_it_is() -> None:
    rising = Terrain.platform([[0, 0, 0, 0], [2, 0, 0, 3.0]])
    track = sliding_track(TIMES, style=RED)
    positions = track.positions.copy()
    positions[..., 2] += np.array([rising.heights(np.zeros((1, 2)), float(t))[0] for t in TIMES])[:, None]
    scene = a_scene(tracks=(replace(track, positions=positions),), terrain=rising)
    # half way it has gone one square of the grid and 1.5 m up; the camera has caught up there, as at the start
    early, late = (painted(scene, time, Camera()) for time in (0.0, 1.0))
    assert np.mean(np.abs(early - late) > 40.0) < 0.03


def test_only_rows_that_others_do_not_tell_are_kept() -> None:
    places = np.arange(11.0)
    assert needed(places, np.abs(places - 4.0)[:, None]).tolist() == [0, 4, 10]


def test_the_camera_knows_where_the_figure_goes_or_faces() -> None:
    assert travel_heading(a_scene()) == pytest.approx(0.0, abs=1e-6)
    assert abs(travel_heading(a_scene(tracks=(sliding_track(TIMES, speed=-1.0),)))) == pytest.approx(180.0)
    assert travel_heading(a_scene(tracks=(sliding_track(TIMES, speed=0.0),))) == pytest.approx(0.0, abs=1e-6)
    there = sliding_track(TIMES, speed=0.0)
    way = np.sin(np.pi * TIMES / TIMES[-1])  # to y = 3 m and back
    and_back = replace(there, positions=there.positions + 3.0 * way[:, None, None] * np.array([0.0, 1.0, 0.0]))
    assert travel_heading(a_scene(tracks=(and_back,))) == pytest.approx(90.0)
    shot = Follow(a_scene(), Camera("side")).shot(1.0, 1.0)
    np.testing.assert_allclose(shot.right, [1.0, 0.0, 0.0], atol=1e-9)
    assert shot.distance == pytest.approx(0.5 * shot.height / np.tan(np.radians(FIELD_OF_VIEW / 2)))
    assert [grid_cell(h) for h in (0.04, 0.2, 2.3, 200.0)] == pytest.approx([0.01, 0.1, 1.0, 100.0])
    # the camera keeps up at both ends of a clip
    for time in (0.0, 1.0, 2.0):
        assert Follow(a_scene(), Camera()).shot(time, 1.0).target[0] == pytest.approx(time + 0.0, abs=0.05)


def test_a_strip_holds_its_stills_and_a_push_is_in_one_of_them(tmp_path: Path) -> None:
    push = Arrow(0, 0, 0.24, 0.26, np.array([0.0, 200.0, 0.0]), np.zeros(3))
    target = tmp_path / "strip.png"
    seen: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        seen.append((done, total))

    tracks, both = (sliding_track(TIMES, style=BLUE),), ("side", "front")
    scene = a_scene(arrows=(push,), title="A figure", tracks=tracks)
    done = record(scene, target, painter="plain", width=60, height=80, camera=both, progress=progress)
    assert (done.path, done.painter, done.note, done.frames) == (target, "plain", "", 20)
    assert seen == [(k, 20) for k in range(1, 21)]
    picture = np.asarray(Image.open(target)).astype(float)
    assert picture.shape[1] == 10 * 63 - 3
    assert picture.shape[0] > 2 * 83 - 3
    assert len(rows_and_columns(picture, "red")[0]) > 5
    record(a_scene(), target, painter="plain", times=[0.5, 0.6, 0.7], width=60, height=80)
    assert Image.open(target).size[0] == 3 * 63 - 3
    two = record(
        [a_scene(title="one"), a_scene(title="two")], target, painter="plain", times=[0.5], width=60, height=80
    )
    assert two.frames == 2
    assert list(tmp_path.iterdir()) == [target]


def test_a_strip_of_a_long_scene_shows_what_a_push_does() -> None:
    push = Arrow(0, 0, 20.0, 20.2, np.array([0.0, 200.0, 0.0]), np.zeros(3))
    times = np.linspace(0.0, 60.0, 61)
    scene = a_scene(times=times, tracks=(sliding_track(times),))
    assert (still_times(scene, None)[0], still_times(scene, None)[-1]) == (0.0, 60.0)
    seen = still_times(replace(scene, arrows=(push,)), None)
    assert 19.5 < seen[0] < 20.0
    assert 21.0 < seen[-1] < 23.0


def test_a_strip_says_its_title_once_and_which_part_it_shows() -> None:
    scene = a_scene(title="walk")
    named = replace(scene, tracks=(replace(scene.tracks[0], name="walk"),))
    assert strip_note(named, "walk", TIMES) == ""
    assert strip_note(named, "walk", TIMES[:31]) == "0.00 to 1.00 s of 2.00 s"
    assert strip_note(scene, "walk", TIMES) == scene.tracks[0].name


def test_skin_that_no_capsule_holds_is_in_the_picture() -> None:
    """A horn 0.8 m above the head's joint, in centimeters and on its side, turned with the joint."""
    scene = a_scene()
    (track,) = scene.tracks
    vertices = np.array([[0.0, 0.0, 0.0], [80.0, 0.0, 0.0], [0.0, 1.0, 0.0], [900.0, 0.0, 0.0]], dtype=np.float32)
    bind = np.array([[0.0, 0.01, 0.0, 0.0], [0.0, 0.0, 0.01, 0.0], [0.01, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    weights = np.tile(np.array([0.2, 0.8, 0.0, 0.0], dtype=np.float32), (4, 1))
    joints = np.tile(np.array([1, 0, 0, 0]), (4, 1))
    horn = Skin("horn", vertices, np.array([[0, 1, 2]]), joints, weights, np.stack([bind, *[np.eye(4)] * 4]))
    positions = np.zeros((len(TIMES), 5, 3)) + np.array([0.0, 0.0, 1.6])
    turns = np.zeros((len(TIMES), 5, 4)) + np.array([1.0, 0.0, 0.0, 0.0])
    turns[30:, 0] = np.array([np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0])  # a quarter about y
    reach = skin_reach(Skinned((horn,), positions, turns))
    assert reach[0, :, 2].max() == pytest.approx(2.4)  # the vertex that no triangle has is not drawn
    assert reach[-1, :, 0].max() == pytest.approx(0.8)
    horned = replace(scene, tracks=(replace(track, skinned=Skinned((horn,), positions, turns)),))
    shot = Follow(horned, Camera()).shot(0.0, 0.5)
    assert (np.array([0.0, 0.0, 2.4]) - shot.target) @ shot.up < 0.5 * shot.height
    bare = Follow(scene, Camera()).shot(0.0, 0.5)
    assert (np.array([0.0, 0.0, 2.4]) - bare.target) @ bare.up > 0.5 * bare.height


def test_a_gif_plays_as_long_as_the_scene(tmp_path: Path) -> None:
    push = Arrow(0, 0, 0.55, 0.75, np.array([0.0, 200.0, 0.0]), np.zeros(3))  # in none of five evenly spaced pictures
    scene = a_scene(arrows=(push,), tracks=(sliding_track(TIMES, style=BLUE),))
    done = record(scene, tmp_path / "film.gif", painter="plain", fps=12.5, width=96, height=64, camera="front")
    assert done.frames == 26
    film = Image.open(done.path)
    ends, red = [], []  # pictures that do not differ are one longer picture in the file
    for k in range(getattr(film, "n_frames", 0)):
        film.seek(k)
        ends.append(film.info["duration"] + (ends[-1] if ends else 0))
        red.append(len(rows_and_columns(np.asarray(film.convert("RGB")).astype(float), "red")[0]))
    assert ends[-1] == 26 * 80
    shown = {t: red[int(np.searchsorted(ends, 1000 * t, side="right"))] for t in (0.1, 0.4, 0.7, 1.4, 1.9)}
    assert shown[0.7] > 10  # the arrow keeps its color
    assert max(shown[0.1], shown[0.4], shown[1.4], shown[1.9]) == 0


def test_an_mp4_plays_as_long_as_the_scene(tmp_path: Path) -> None:
    av = pytest.importorskip("av")
    done = record(a_scene(), tmp_path / "film.mp4", painter="plain", times=(0.0, 1.0), fps=20, width=95, height=63)
    with av.open(str(done.path)) as film:
        stream = film.streams.video[0]
        assert (stream.width, stream.height) == (96, 64)
        assert float(stream.average_rate) == pytest.approx(20.0)
        frames = [f.to_ndarray(format="rgb24") for f in film.decode(stream)]
    assert len(frames) == done.frames == 21
    assert np.abs(frames[0].astype(float) - frames[-1]).max() > 12.0  # the ground has passed by
    pair = record(
        a_scene(),
        tmp_path / "pair.gif",
        painter="plain",
        times=(0.0, 0.1),
        width=60,
        height=40,
        camera=("side", "front"),
    )
    assert Image.open(pair.path).size == (120, 40)


def test_what_cannot_be_recorded_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = a_scene()
    with pytest.raises(InvalidValue, match=r"'\.avi' is not one of \.html, \.png, \.gif, \.mp4"):
        record(scene, tmp_path / "a.avi")
    with pytest.raises(InvalidValue, match="Create it first"):
        record(scene, tmp_path / "no" / "a.png")
    with pytest.raises(InvalidValue, match="16 … 2048"):
        record(scene, tmp_path / "a.png", width=5000, height=100)
    with pytest.raises(InvalidValue, match="million pixels"):
        record(scene, tmp_path / "a.png", width=2000, height=2000, times=np.linspace(0.0, 1.0, 30))
    with pytest.raises(InvalidValue, match="too many"):
        record(scene, tmp_path / "a.png", times=np.linspace(0.0, 1.0, 65))
    long = np.linspace(0.0, 100.0, 5)
    with pytest.raises(InvalidValue, match=r"too many.*mp4"):
        record(Scene(long, (sliding_track(long),), Terrain.flat()), tmp_path / "a.gif")
    with pytest.raises(InvalidValue, match="outside 0 … 2 s"):
        record(scene, tmp_path / "a.png", times=[2.5])
    with pytest.raises(InvalidValue, match=r"times=\(first, last\)"):
        record(scene, tmp_path / "a.gif", times=[0.0, 0.5, 1.0])
    with pytest.raises(InvalidValue, match="rate above 0"):
        record(scene, tmp_path / "a.gif", fps=0.0)
    with pytest.raises(InvalidValue, match="Views: side, front"):
        record(scene, tmp_path / "a.png", camera="below")
    with pytest.raises(InvalidValue, match="Painters: auto"):
        record(scene, tmp_path / "a.png", painter="oil")
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(MissingExtra, match=re.escape(f'{sys.executable} -m pip install "poise[video]"')):
        record(scene, tmp_path / "a.mp4")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["png", "gif", "mp4"])
def test_a_recording_that_breaks_off_leaves_the_old_file_and_nothing_else(tmp_path: Path, kind: str) -> None:
    target = tmp_path / f"film.{kind}"
    target.write_bytes(b"the old one")

    def stop(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        record(a_scene(), target, painter="plain", width=64, height=48, progress=stop)
    assert target.read_bytes() == b"the old one"
    assert list(tmp_path.iterdir()) == [target]


def test_without_a_browser_a_plain_drawing_takes_its_place_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POISE_BROWSER", "none")
    done = record(a_scene(), tmp_path / "a.png", width=40, height=60)
    assert done.painter == "plain"
    assert "plain drawing" in done.note
    with pytest.raises(PoiseError, match="Install Chromium"):
        record(a_scene(), tmp_path / "b.png", painter="page")


def test_a_browser_that_does_not_answer_is_no_file_that_cannot_be_written() -> None:
    class Silent:
        def send(self, text: str) -> None: ...

        def recv(self, timeout: float) -> str:
            raise TimeoutError(f"timed out in {timeout} s")

    scene = a_scene()
    painter = PagePainter.__new__(PagePainter)
    vars(painter).update(_socket=Silent(), _number=0, _size=(40, 60))
    with pytest.raises(PoiseError, match=r"did not answer for 60 s\. .* \.html"):
        painter.paint(Look(scene).still(0.0), Follow(scene, Camera("side")).shot(0.0, 1.0))
