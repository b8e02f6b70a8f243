"""The Blender extension, driven inside of Blender (tests/blender_steps.py), held against Poise itself."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from poise.check.clip import findings_of
from poise.core.motion import Motion
from poise.io import fbx
from poise.serve.messages import read_forces, read_motion

ROOT = Path(__file__).parents[1]
EXTENSION = ROOT / "extension"
SCRIPT = Path(__file__).with_name("blender_steps.py")
CLOSE = 1e-4
"""Of the height: Blender keeps numbers in single precision."""


def test_the_extension_stands_alone_and_says_its_license() -> None:
    for file in EXTENSION.glob("*.py"):
        text = file.read_text(encoding="utf-8")
        assert "SPDX-License-Identifier: GPL-3.0-or-later" in text.split("\n")[1], file
        imported = set(re.findall(r"^\s*(?:from|import) (\w+)", text, re.MULTILINE))
        assert imported <= {*sys.stdlib_module_names, "bpy", "numpy", "mathutils", "gpu", "gpu_extras"}, file
    assert "GNU GENERAL PUBLIC LICENSE" in (EXTENSION / "LICENSE").read_text(encoding="utf-8")
    manifest = (EXTENSION / "blender_manifest.toml").read_text(encoding="utf-8")
    assert f'version = "{poise.__version__}"' in manifest


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The folder with what Blender wrote, and what it said."""
    call = fbx._blender()
    if call is None:
        pytest.skip('needs Blender: pip install "poise[blender]", or name it in POISE_BLENDER')
    folder = tmp_path_factory.mktemp("blender")
    (folder / "home").mkdir()
    ran = subprocess.run(
        [str(SCRIPT) if word == str(fbx.SCRIPT) else word for word in call]
        + [str(EXTENSION), str(folder), str(poise.sample_path("walk")), str(poise.sample_path("hover_hop"))],
        env={**os.environ, "POISE_PYTHON": sys.executable, "BLENDER_USER_RESOURCES": str(folder / "home")},
        capture_output=True,
        text=True,
        timeout=900.0,
    )
    assert (folder / "said.json").exists(), ran.stdout[-3000:] + ran.stderr[-3000:]
    return folder, json.loads((folder / "said.json").read_text())


def sent(folder: Path, name: str) -> tuple[Motion, list[Any], Any, Any]:
    """The motion that Blender sent, its pushes, and the joints before and after."""
    data, arrays = json.loads((folder / f"{name}.json").read_text()), np.load(folder / f"{name}.npz")
    motion = read_motion(data["motion"])
    return motion, read_forces(data), arrays["before"], arrays["after"]


def height(motion: Motion) -> float:
    return float(np.ptp(motion.world[0][0, :, 2]))


def farthest(a: Any, b: Any) -> float:
    return float(np.linalg.norm(a - b, axis=-1).max())


def test_it_is_built_valid_and_enabled(done: tuple[Path, dict[str, Any]]) -> None:
    said = done[1]
    assert said["build"][0] == 0, said["build"]
    assert said["validate"][0] == 0, said["validate"]
    assert said["enabled"]


def test_a_push_gives_a_new_action_with_what_poise_computes(done: tuple[Path, dict[str, Any]]) -> None:
    folder, said = done
    motion, pushes, before, after = sent(folder, "pushed")
    assert [p.body for p in pushes] == [said["bone"]]
    (push,) = pushes
    np.testing.assert_allclose(
        push.force_at(np.zeros(3), np.zeros(3), 0.0, 1.0), [-250.0 * np.sin(0.3), 250.0 * np.cos(0.3), 0.0], atol=0.01
    )
    assert (push.start, push.duration) == pytest.approx((14 / 60, 0.2), abs=1e-6)
    assert farthest(motion.world[0], before) < CLOSE * height(motion)
    own = poise.simulate(motion, pushes=pushes).motion
    assert farthest(own.world[0], after) < CLOSE * height(motion)
    assert farthest(before, after) > 0.05
    assert said["actions"] == ["walk", said["new"]]
    assert said["keys kept"]
    assert said["frame"] == 15


def test_armature_and_reaction_are_those_of_the_file(done: tuple[Path, dict[str, Any]]) -> None:
    motion, pushes, before, after = sent(done[0], "pushed")
    file = poise.load(poise.sample_path("walk"))
    names = [n for n in motion.skeleton.names if n in file.skeleton.names]
    assert len(names) > 15
    theirs = [file.skeleton.names.index(n) for n in names]
    ours = [motion.skeleton.names.index(n) for n in names]
    assert farthest(before[:, ours], file.world[0][: len(before), theirs]) < CLOSE * height(motion)
    # bones say less than the file: where they differ, the figure would be another one, and so would its reaction
    own = poise.simulate(file.cut(0.0, motion.duration), pushes=pushes).motion
    assert farthest(after[:, ours], own.world[0][:, theirs]) < CLOSE * height(motion)


def test_undisturbed_nothing_changes_and_tracks_hold_both(done: tuple[Path, dict[str, Any]]) -> None:
    motion, _, before, after = sent(done[0], "still")
    assert farthest(before, after) < CLOSE * height(motion)
    assert done[1]["nla"] == ["walk (before)", "walk simulated"]
    assert done[1]["nla active"]


def test_scaled_turned_and_odd_armatures_come_back(done: tuple[Path, dict[str, Any]]) -> None:
    motion, _, before, after = sent(done[0], "odd")
    assert farthest(before, after) < CLOSE * height(motion)
    assert done[1]["left out"]
    owners, above, notes = done[1]["hung"]
    assert above == owners
    assert len(notes) == 1
    assert notes[0].startswith("4 bones without a parent")
    assert "Apply its scale" in done[1]["skewed"]


def test_a_rig_with_constraints_gets_a_copy_without(done: tuple[Path, dict[str, Any]]) -> None:
    motion, _, before, after = sent(done[0], "constrained")
    assert farthest(before, after) < CLOSE * height(motion)
    name, has_action, constraints, meshes, moved = done[1]["copy"]
    assert (name, has_action, constraints, meshes) == ("walk Poise", True, 1, 1)
    assert moved < 1e-6


def test_scenes_of_strangers_come_back(done: tuple[Path, dict[str, Any]]) -> None:
    for case, said in done[1]["strange"].items():
        assert said["still"] < CLOSE, case
        assert said["moved"] > 0.03, case
        assert said["pushes"] == 1, case
        assert said["copy"] == (case == "driver"), case
        assert said["armatures"] == 1 + (case == "driver"), f"{case}: a simulation again makes no second copy"
        assert said["drawn"] < 2.0, f"{case}: what is drawn is where the figure is"
        if case != "nla off":  # a track below is no action that could be put back
            assert said["again"] < CLOSE, f"{case}: a simulation again shoves the shoved figure"
    assert done[1]["forces"] == [200.0, 10.0], "a figure of 0.4 times the size is pushed with 0.06 times the force"
    refused = done[1]["refused"]
    assert "Choose Pose Position" in refused["rest position"]
    assert "Leave edit mode" in refused["edit mode"]
    assert "disabled in viewports" in refused["disabled"]
    assert "Time Stretching" in refused["stretched time"]
    assert "library override" in refused["linked"]


def test_poise_starts_while_the_arrow_is_turned(done: tuple[Path, dict[str, Any]]) -> None:
    assert done[1]["begun by add push"]


def test_findings_are_markers_and_their_cure_mends(done: tuple[Path, dict[str, Any]]) -> None:
    folder, said = done
    motion, _, _, after = sent(folder, "mended")
    own = [f for f in findings_of(motion) if f.fails]
    assert [f["name"] for f in said["findings"]] == ["skate"] * len(own)
    assert all(f["fails"] and f["mendable"] and f["cures"] for f in said["findings"])
    frames = [[[a + 1, b + 1] for a, b in f.frames] for f in own]
    assert [f["frames"] for f in said["findings"]] == frames
    assert {tuple(m) for m in said["markers"]} == {("Poise: skate", a) for spans in frames for a, _ in spans}
    assert all(
        f"frames {spans[0][0]}–" in f["sentence"] or len(spans) > 1 for f, spans in zip(said["findings"], frames)
    )
    assert said["sentences"] == [
        "slides 14 cm while it stands, frames 13–15, 17 and 2 more stretches",
        "leaves its parabola by 3 cm at frame 22, 0.30 m/s on the whole",
        "raise it 2 cm at frame 18, less and less toward frames 13 and 24",
        "pin the foot from frame 11 to 35: it moves 3 cm",
        "delete the keys 13–19 of all joints and interpolate",
        "Frame 10 is a rest pose; 12 frames (0.20 s) are few",
    ]
    own = poise.edit.mend(motion, only=["skate"]).motion
    assert farthest(own.world[0], after) < CLOSE * height(motion)
    assert said["mended"] == "walk mended"
    assert said["keys kept by mend"]
    assert said["left by mend"] == [[], True]
    assert said["findings forgotten"]  # they were those of the motion before
    assert said["repaired"] == "walk repaired"
    assert said["cleared"]


def test_both_ends_of_a_flight_can_be_dragged(done: tuple[Path, dict[str, Any]]) -> None:
    folder, said = done
    assert said["flights"] >= 1
    assert said["drawn"][0] > 5
    np.testing.assert_allclose(said["arc ends"], said["handles"], atol=1e-6)
    motion, _, _, after = sent(folder, "thrown")
    a, b = said["thrown"]["frames"]
    start, end = (np.array(e) for e in said["thrown"]["ends"])
    target = poise.edit.PathTarget(start, end)
    own = poise.edit.ballistic(motion, flights=[(a, b)], keep="timing", target=target, verify=False).motion
    assert farthest(own.world[0], after) < CLOSE * height(motion)
    com = poise.analyze(own, poise.Character.fit(motion)).com
    np.testing.assert_allclose(com[[a, b]], said["thrown"]["ends"], atol=0.02)
    assert not said["thrown"]["handles left"]


def test_bodies_fall_and_ground_lifts(done: tuple[Path, dict[str, Any]]) -> None:
    folder, said = done
    name, place, frame = said["crate"]
    motion, _, before, after = sent(folder, "ground")
    assert name.endswith("Poise")
    assert said["crate begins"] == [pytest.approx(2.0, abs=1e-6), frame], "where it is in the first frame"
    assert place[2] == pytest.approx(poise.Character.fit(motion).floor + 0.2, abs=0.02)
    assert after[-1, 0, 2] - before[-1, 0, 2] == pytest.approx(0.08, abs=0.04)


def test_an_actor_drives_another_armature(done: tuple[Path, dict[str, Any]]) -> None:
    motion, _, before, after = sent(done[0], "tracked")
    assert farthest(before[:, 0], after[:, 0]) < 0.5 * height(motion)
    assert np.linalg.norm(after[-1, 0] - after[0, 0]) > 0.3
    assert "same armature" in done[1]["same"]


def test_live_mode_follows_the_arrow(done: tuple[Path, dict[str, Any]]) -> None:
    live = done[1]["live"]
    ends = np.array(live["ends"])
    assert live["frames"] == 41
    assert all(np.linalg.norm(a - b) > 0.01 for a, b in pairwise(ends))
    assert done[1]["live lines"] > 3
    assert done[1]["live asked"], "to ask what live mode depends on moved a push to another bone"
    assert not done[1]["live after another file"], "the first click in a new file would end what no longer runs"


def test_an_arrow_that_is_moved_pushes_the_bone_it_is_at(done: tuple[Path, dict[str, Any]]) -> None:
    assert done[1]["live bones"] == ["LeftForeArm", "RightUpLeg", "Head"]
    assert done[1]["moved name"] == "Push RightUpLeg"


def test_what_goes_wrong_is_one_sentence(done: tuple[Path, dict[str, Any]]) -> None:
    said = done[1]
    assert "no such bone" in said["bad bone"]
    assert said["cancelled"] == "Cancelled."
    assert said["figures"] == [True] * 3, "the only armature; none of two; that of the active skin"
    assert "Choose an armature first" in said["no armature"]
    assert "Name the Python that has Poise" in said["no python"]
    assert "Name the Python that has Poise" in said["no poise"]


def test_the_server_ends_with_the_extension(done: tuple[Path, dict[str, Any]]) -> None:
    assert done[1]["server ended"]
    assert done[1]["unregistered"]
