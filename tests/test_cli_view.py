"""`poise view` and `poise simulate --record OUT.html`, `--live`: what a user types, and what is there afterwards."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest

import poise
from poise.cli.app import run
from poise.show.arrays import read_recording
from poise.show.browser import find_browser
from poise.show.page import KEPT, has_page, live_page, passing_page, recording_page
from tests.clips import first_cases, sample_clip

needs_page = pytest.mark.skipif(not has_page(), reason="the player is not built: npm ci && npm run build")


@pytest.fixture
def walk(tmp_path: Path) -> Path:
    path = tmp_path / "walk.bvh"
    poise.save(sample_clip("walk").frames(np.arange(90)), path)
    return path


@needs_page
def test_a_recording_has_a_title_and_opens_at_the_push(walk: Path, tmp_path: Path) -> None:
    page = tmp_path / "run.html"
    words = ["simulate", str(walk), "-o", str(tmp_path / "out.bvh"), "--push", "chest 300 0 0 @0.8+0.2"]
    assert run([*words, "--record", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "<title>walk.bvh: push of chest, 300 N at 0.80 s" in text
    assert '"t": 0.5' in text.split('id="poise-options">')[1][:100]


def test_a_strip_shows_the_push_from_aside() -> None:
    """The camera looks across the push, so that it goes from left to right of the picture."""
    from poise.show.camera import Follow
    from poise.show.recording import _first_camera

    motion = sample_clip("walk", 1.0)
    for force in ((300.0, 0.0, 0.0), (0.0, -200.0, 50.0)):
        scene = poise.scene_of(poise.simulate(motion, pushes=[poise.Push("chest", force, 0.3, 0.2)]), physics=False)
        shot = Follow(scene, _first_camera(scene, ".png")).shot(0.4, 1.0)
        flat = np.array(force[:2]) / np.hypot(*force[:2])
        assert shot.right[:2] @ flat == pytest.approx(1.0, abs=1e-6)


@first_cases(1, "suffix", ["bvh", "npz", "glb"])
def test_a_clip_carries_its_ground_into_view(tmp_path: Path, suffix: str) -> None:
    motion = sample_clip("walk", 1.0)
    result = poise.simulate(motion, terrain=poise.Terrain.stairs(0.15, 0.4))
    poise.save(result.motion, tmp_path / f"up.{suffix}")
    scene = poise.scene_of_motion(poise.load(tmp_path / f"up.{suffix}"), physics=False)
    assert scene.terrain.spec.startswith("stairs:0.15,0.4")
    places = result.motion.world[0][:, 0, :2]
    assert scene.terrain.heights(places) == pytest.approx(result.terrain.heights(places), abs=1e-6)


@needs_page
def test_a_run_is_recorded_as_a_page(walk: Path, tmp_path: Path) -> None:
    page, out, report = tmp_path / "run.html", tmp_path / "out.bvh", tmp_path / "r.json"
    words = ["simulate", str(walk), "-o", str(out), "--push", "chest 300 0 0 @0.5+0.2", "--report", str(report)]
    assert run([*words, "--record", str(page)]) == 0
    seen = read_recording(page)
    assert [t["name"] for t in seen.header["tracks"]] == ["simulated", "original"]
    assert {"pushes", "com", "forces", "support"} <= {layer["name"] for layer in seen.header["layers"]}
    assert "chest, 300 N" in json.dumps(seen.header["timeline"])
    # the moved clip with its report: the same plots again
    both = tmp_path / "both.html"
    assert run(["view", str(out), str(report), "--record", str(both)]) == 0
    (pushes,) = (r for r in read_recording(both).header["timeline"] if r["name"] == "pushes")
    assert pushes["spans"][0][:2] == pytest.approx([0.5, 0.7])
    names = [[p["name"] for p in read_recording(f).header["plots"]] for f in (page, both)]
    assert names[0] == names[1]


@needs_page
def test_clips_are_seen_together_or_side_by_side(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    together, beside = tmp_path / "a.html", tmp_path / "b.html"
    assert run(["view", str(walk), str(walk), "--record", str(together)]) == 0
    assert run(["view", str(walk), str(walk), "--side-by-side", "--record", str(beside)]) == 0
    assert len(read_recording(together).header["tracks"]) == 2
    assert "views" not in read_recording(together).header
    assert read_recording(beside).header["views"] == ["walk", "walk (2)"]
    assert run(["view", str(beside), "--headless"]) == 0
    assert "90 frames" in capsys.readouterr().out


@needs_page
def test_names_cannot_break_out_of_the_page(tmp_path: Path) -> None:
    motion = sample_clip("walk").frames(np.arange(10))
    evil = '</script><script>alert(1)</script><img src=x onerror="alert(2)">'
    scene = poise.scene_of_motion(motion, name=evil)
    view = poise.view(scene, is_opened=False)
    text = view.save(tmp_path / "evil.html").read_text(encoding="utf-8")
    assert "alert(1)" not in text.replace("&lt;script&gt;alert(1)", "")
    assert evil not in text
    assert evil not in view._repr_html_()
    assert evil not in recording_page(b"", evil, {"theme": evil})
    assert evil not in live_page(evil, evil)
    assert read_recording(tmp_path / "evil.html").header["title"] == evil


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere.bvh"], ["nowhere.bvh"]),
        (["walk.bvh", "--record", "walk.avi"], [".avi", ".html"]),
        (["walk.bvh", "--record", "walk.bvh"], ["input file"]),
        (["walk.bvh", "--side-by-side"], ["two to four"]),
        (["page.html"], ["not a recording"]),
        (["page.html", "walk.bvh"], ["alone"]),
        (["report.json"], ["clip"]),
        (["."], ["is a folder", "walk.bvh", "poise library check . -o "]),
    ],
    ids=lambda w: " ".join(w),
)
@needs_page
def test_wrong_use_is_one_sentence(
    words: list[str], said: list[str], walk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(walk.parent)
    Path("page.html").write_text("<p>no", encoding="utf-8")
    Path("report.json").write_text('{"schema": "poise.simulate/1"}', encoding="utf-8")
    assert run(["view", *words]) == 2
    complaint = capsys.readouterr().err
    assert complaint.count("\n") == 1
    for word in said:
        assert word in complaint


def test_without_the_player_it_says_what_cures_it(
    walk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("poise.show.page.BUNDLE", tmp_path / "no" / "page.html")
    out = str(tmp_path / "out.bvh")
    for words in (["simulate", str(walk), "-o", out, "--record", "x.html"], ["view", str(walk)]):
        assert run(words) == 2
        assert "npm ci" in capsys.readouterr().err
    assert not Path(out).exists()


@needs_page
def test_pages_that_are_only_looked_at_are_kept_in_one_place_and_not_for_ever(
    walk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("poise.show.page.cache_folder", lambda: tmp_path / "caches")
    folder = tmp_path / "caches" / "poise" / "pages"
    assert run(["view", str(walk), "--headless", "--plain"]) == 0
    said = Path(capsys.readouterr().out.replace("\n", "").split("Open ")[1].split(" in a browser")[0])
    assert said.parent == folder
    assert said.name.startswith("walk-")
    assert read_recording(said).header["title"] == "walk"
    for k in range(KEPT + 3):
        made = passing_page(f"../{k}", "x")
        os.utime(made, (k, k))  # the clock of a file system may be coarse
    left = {p.read_text(encoding="utf-8")[:1] for p in folder.iterdir()}
    assert len(list(folder.iterdir())) == KEPT
    assert "<" in left  # the newest by its own time
    monkeypatch.setattr("poise.show.page.cache_folder", lambda: said)  # a file is not a folder
    assert passing_page("walk", "x").read_text(encoding="utf-8") == "x"


@needs_page
@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent otherwise there")
def test_a_page_is_served_on_a_port_until_ctrl_c(walk: Path, tmp_path: Path) -> None:
    pytest.importorskip("websockets")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "poise", "view", str(walk), "--port", str(port), "--headless"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, encoding="utf-8") as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        assert said.startswith(f"Open http://127.0.0.1:{port}/?token=")
        with urlopen(said.split()[1], timeout=60.0) as answer:
            assert b"poise-recording" in answer.read()
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == ""
    assert process.returncode == 0
    assert run(["view", str(walk), "--port", str(port), "--record", str(tmp_path / "a.html")]) == 2


@pytest.mark.long
@needs_page
@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent otherwise there")
@pytest.mark.parametrize("is_saved", [True, pytest.param(False, marks=pytest.mark.long)])
def test_a_live_run_ends_with_ctrl_c_and_saves_its_last_round(walk: Path, tmp_path: Path, is_saved: bool) -> None:
    pytest.importorskip("websockets")
    out = tmp_path / "out.bvh"
    words = [sys.executable, "-m", "poise", "simulate", str(walk), "--live", "--headless"]
    if is_saved:
        words += ["-o", str(out)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, encoding="utf-8") as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        assert said.startswith("Live at http://127.0.0.1:")
        from websockets.sync.client import connect

        address = said.split()[2]
        origin = address.split("/?")[0]
        channel = address.replace("http://", "ws://").replace("/?", "/ws?")
        with connect(channel, origin=origin, max_size=None) as page:  # type: ignore[arg-type]
            while not (isinstance(message := page.recv(timeout=60.0), bytes) and message[0] == 1):
                pass  # until it runs
            process.send_signal(signal.SIGINT)
            process.stderr.read()
    assert process.returncode == 0
    assert out.exists() == is_saved
    if is_saved:
        assert 1 <= poise.load(out).frame_count <= 90


@needs_page
def test_a_part_of_a_clip_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "part.html"
    assert (
        run(["view", str(poise.sample_path("walk")), "-o", str(page), "--start", "1", "--end", "1.5", "--plain"]) == 0
    )
    assert read_recording(page).header["times"]["shape"] == [31]
    assert run(["view", str(poise.sample_path("walk")), "--record", str(page), "--overwrite", "--start", "nan"]) == 2
    assert "--start is nan" in capsys.readouterr().err


@needs_page
def test_a_clip_of_a_file_is_named_behind_an_at_sign(tmp_path: Path) -> None:
    clip, page = poise.load(poise.sample_path("walk")).frames(np.arange(60)), tmp_path / "part.html"
    poise.save(clip, tmp_path / "walk.glb")
    assert run(["view", f"{tmp_path / 'walk.glb'}@0", "-o", str(page), "--plain"]) == 0
    assert read_recording(page).header["times"]["shape"] == [60]


def test_a_skeleton_without_a_motion_is_told_in_words_of_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "alone.bvh"
    text = poise.sample_path("walk").read_text(encoding="utf-8")
    path.write_text(text[: text.index("MOTION")], encoding="utf-8")
    assert run(["simulate", str(path), "-o", str(tmp_path / "out.bvh")]) == 2
    said = capsys.readouterr().err
    assert "`poise character` uses its skeleton" in said
    assert "load_skeleton" not in said
    assert run(["character", str(path), "-o", str(tmp_path / "alone.toml")]) == 0


def test_a_file_without_a_clip_is_shown_at_rest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A glTF and a BVH; `poise setup` opens both."""
    from poise.cli.setup import open_character

    creature, alone = tmp_path / "creature.gltf", tmp_path / "alone.bvh"
    poise.save(sample_clip("walk").frames(np.arange(9)), creature)
    content = json.loads(creature.read_text(encoding="utf-8"))
    content |= {"animations": [], "skins": [{"joints": list(range(len(content["nodes"])))}]}
    creature.write_text(json.dumps(content), encoding="utf-8")
    text = poise.sample_path("walk").read_text(encoding="utf-8")
    alone.write_text(text[: text.index("MOTION")], encoding="utf-8")
    for file in (creature, alone):
        page = file.with_suffix(".html")
        assert run(["view", str(file), "-o", str(page)]) == 0
        assert "It is shown at rest." in capsys.readouterr().err
        assert read_recording(page).header["times"]["shape"] == [1]
        character, motion = open_character(file)
        assert motion is not None
        assert motion.skeleton.names == poise.load_skeleton(file).names
        assert character.bodies


@needs_page
@pytest.mark.skipif(not os.environ.get("POISE_BROWSER_TESTS") and not Path("/usr/bin/chromium").exists(), reason="none")
def test_the_page_draws_its_own_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The figure stands where the camera says, as every painter draws it."""
    pytest.importorskip("websockets")
    monkeypatch.delenv("POISE_BROWSER", raising=False)
    assert find_browser() is not None
    from PIL import Image

    from poise.show import record
    from poise.show.scene import Scene
    from poise.terrain import Terrain
    from tests.record_figures import sliding_track

    times = np.linspace(0.0, 1.0, 11)
    scene = Scene(times, (sliding_track(times),), Terrain.flat())
    seen = {}
    for painter in ("page", "plain"):
        path = tmp_path / f"{painter}.png"
        done = record(scene, path, painter=painter, times=[0.5], width=160, height=200)
        assert done.painter == painter
        colors = np.asarray(Image.open(path).convert("RGB"), dtype=float)[-200:]
        figure = (colors[..., 0] > 1.35 * colors[..., 2]) & (colors[..., 0] > 60)
        rows, columns = np.nonzero(figure)
        seen[painter] = (rows.min(), rows.max(), columns.mean())
    np.testing.assert_allclose(seen["page"], seen["plain"], atol=8)
