"""`poise info`, and what all commands share: exit codes, one sentence of error, JSON, a quick --help."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import poise
from poise.cli.app import app, output_path, run
from poise.cli.describe import describe_motion, mass_doubt
from poise.cli.info import _facts, _page, _value, _way
from poise.core.errors import InvalidValue, install_line, known_names
from poise.core.units import CMU_UNIT
from poise.intake.anatomy import anatomy_of, height_of
from poise.samples import sample_path
from tests.bvh_texts import PERSON, Joint, bvh, changed, hierarchy, put, values
from tests.character_figures import dog, motion
from tests.clips import MOTIONS, SAMPLES, everywhere, first_cases, needs_motions, sample_clip, under_a_still_root
from tests.test_limbs import both, figure

FIELDS = {
    "schema", "file", "format", "dialect", "joints", "end_sites", "channels", "frames", "fps", "duration_s", "unit_m",
    "up", "height_m", "limbs", "mass_kg", "dof", "clips", "in_place", "evidence", "warnings",
}  # fmt: skip
EVERY = [
    p
    for folder in ("bvh", "asf_amc", "deepmimic", "quadruped", "gltf", "nc")
    for p in sorted((MOTIONS / folder).rglob("*"))
    if p.is_file() and p.suffix in (".bvh", ".asf", ".amc", ".txt", ".glb", ".gltf")
]


FROG = MOTIONS.with_name("motions2") / "gltf" / "easy_enemies_Frog.glb"


def info(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    assert run(["info", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@first_cases(4, "path", everywhere([*map(sample_path, SAMPLES), *EVERY]), ids=lambda p: p.stem)
def test_every_file_is_described(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = info(capsys, path)
    assert found.keys() >= FIELDS
    assert found["schema"] == "poise.info/1"
    assert found["file"] == str(path)
    assert found["unit_m"] > 0.0
    assert found["up"] in ("y", "z")
    for name, evidence in found["evidence"].items():
        assert evidence.keys() == {"value", "confidence", "reason"}, name
        assert 0.0 <= evidence["confidence"] <= 1.0
        assert evidence["reason"]


@needs_motions
def test_a_mislabelled_rate_is_accused_by_its_motion(capsys: pytest.CaptureFixture[str]) -> None:
    path = MOTIONS / "bvh" / "cmu_3dsmax" / "143_05.bvh"
    found = info(capsys, path)
    assert found["fps"] == pytest.approx(120.0, rel=1e-4)
    assert found["evidence"]["implied_fps"]["value"] == 60.0
    assert any("--source-fps 60" in w for w in found["warnings"])
    cured = info(capsys, path, "--source-fps", 60)
    assert cured["fps"] == pytest.approx(60.0)
    assert "implied_fps" not in cured["evidence"]


@needs_motions
def test_what_a_cmu_clip_says(capsys: pytest.CaptureFixture[str]) -> None:
    found = info(capsys, MOTIONS / "bvh" / "cmu_motionbuilder" / "05_20-mb.bvh")
    assert found["unit_m"] == CMU_UNIT
    assert (len(found["joints"]), len(found["end_sites"]), found["channels"], found["frames"]) == (31, 7, 96, 1096)
    assert found["evidence"]["rest_frames"]["value"] == 1
    assert any("--start 0.0083" in w for w in found["warnings"])
    assert len(found["evidence"]["zero_length_joints"]["value"]) == 10
    assert {"frame", "joint", "kind"} == found["glitches"][0].keys()
    assert found["limbs"]["left_leg"]["kind"] == "leg"
    assert found["limbs"]["left_leg"]["joints"][0] == "LeftUpLeg"
    assert found["mass_kg"] == pytest.approx(70.0)
    assert found["in_place"] is False


def test_a_leg_of_a_creature_that_never_comes_down_is_told() -> None:
    def said(**turns: float) -> list[str]:
        turned = {name: np.tile([0.0, turn, 0.0], (60, 1)) for name, turn in turns.items()}
        warnings = describe_motion(motion(dog(), turned), Path("dog.bvh"))["warnings"]
        return [w for w in warnings if "above the floor in every frame" in w]

    assert not said()
    (one,) = said(left_arm=-1.0)
    assert one.startswith("The left front leg stays ")
    assert one.count("leg") == 1
    (two,) = said(left_arm=-1.0, right_arm=-1.0)
    assert two.startswith("The left front leg and the right front leg stay ")


@needs_motions
def test_what_is_no_clip(capsys: pytest.CaptureFixture[str]) -> None:
    robot = info(capsys, MOTIONS / "quadruped" / "hopturn.txt")
    assert (robot["joints"], robot["frames"], robot["fps"]) == ([], 91, pytest.approx(24.0, rel=0.02))
    assert any("no skeleton" in w for w in robot["warnings"])
    skeleton = info(capsys, MOTIONS / "asf_amc" / "02.asf")
    assert (len(skeleton["joints"]), skeleton["frames"], skeleton["unit_m"]) == (31, 0, CMU_UNIT)
    fox = info(capsys, MOTIONS / "gltf" / "Fox.glb")
    assert fox["clips"] == ["Survey", "Walk", "Run"]
    walk = info(capsys, MOTIONS / "gltf" / "Fox.glb", "--clip", 1)
    assert walk["in_place"] is True
    assert any(walk["floor_velocity_m_s"])
    assert any("--unit" in w for w in walk["warnings"])


@needs_motions
def test_a_clip_that_is_not_there_is_one_sentence_with_the_near_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", str(MOTIONS / "gltf" / "Fox.glb"), "--clip", "Wolk"]) != 0
    told = capsys.readouterr()
    assert "Did you mean 'Walk'?" in told.err
    assert len(told.err.strip().splitlines()) == 1
    assert not told.out


def test_an_unknown_name_of_many_is_answered_with_the_near_ones() -> None:
    names = [f"Finger{k}" for k in range(40)] + ["LeftUpperLeg", "RightUpperLeg", "chest"]
    said = known_names("chst", names, "joints", "`poise info FILE`")
    assert said == " Did you mean 'chest'? There are 43 joints; `poise info FILE` lists them."
    said = known_names("upperleg", names, "joints", "`poise info FILE`")
    assert "Like it" in said or "Did you mean" in said
    assert {"LeftUpperLeg", "RightUpperLeg"} <= set(re.findall(r"\w+", said))
    assert len(said) < 200
    rigged = ["left_collar", "Armature_mixamorig:LeftArm", "Armature_mixamorig:LeftForeArm"]
    assert known_names("LeftArm", rigged, "joints", "").startswith(" Did you mean 'Armature_mixamorig:LeftArm'?")
    assert known_names("x", ["a", "b"], "joints", "") == " Joints: a, b."


@needs_motions
def test_a_file_of_clips_says_once_how_many_and_what_is_odd(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", str(FROG)]) == 0
    said = capsys.readouterr().out
    assert said.count("Frog_Jump") == 1
    assert "The file holds 4 clips. Choose one with --clip" in said
    assert "weighs 1,064 kg, by its size and shape" in " ".join(said.split())


def test_a_clip_with_a_long_name_leaves_room_for_its_numbers() -> None:
    nothing = dict.fromkeys(("height_m", "unit_m", "mass_kg"))
    file = {"file": "a.fbx", "format": "fbx", "dialect": "", "joints": ["hips"], "end_sites": [], "limbs": {}}
    clips = {"clips": ["Armature|" * 8 + "run"], "frames": [24], "fps": [24.0], "duration_s": [0.96]}
    with StringIO() as room:
        Console(file=room, width=80).print(_page(nothing | file | clips | {"evidence": {}, "warnings": []})[1])
        assert "24 frames, about 24 fps" in room.getvalue()


def test_a_clip_of_one_frame_is_a_pose() -> None:
    nothing = dict.fromkeys(("height_m", "unit_m", "mass_kg"))
    file = {"format": "glTF", "dialect": "", "joints": ["hips"], "end_sites": [], "limbs": {}}
    clips = {"clips": ["ready", "idle"], "frames": [1, 40], "fps": [0.0, 24.0], "duration_s": [0.0, 1.625]}
    found = nothing | file | clips
    said = dict(_facts(found))
    assert said["clip ready"] == "1 frame, a pose"
    assert said["clip idle"].startswith("40 frames, about 24 fps")


def test_lengths_have_a_unit_and_few_digits() -> None:
    told = [_value("floor_m", x) for x in (-4e-8, 0.0044742, 1.23456)]
    assert [*told, _value("bone_lengths", 3.4332e-07)] == ["0 m", "0.00447 m", "1.23 m", "0.000343 mm"]


def test_joints_that_hang_elsewhere_are_words_and_no_dictionary() -> None:
    assert _value("hangs_on", {"IKLeg": "LowerLeg", "IKArm": "Hand"}) == "IKLeg on LowerLeg, IKArm on Hand"


def test_an_end_beyond_the_clip_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", str(sample_path("walk")), str(tmp_path / "a.npz"), "--end", "60"]) == 0
    assert "--end 60 is past the end of the clip, 6.6 s" in capsys.readouterr().err
    assert run(["convert", str(sample_path("walk")), str(tmp_path / "b.npz"), "--end", "6.6"]) == 0
    assert "past the end" not in capsys.readouterr().err


def test_heights_are_those_of_the_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = info(capsys, put(tmp_path, bvh(PERSON)))
    assert found["height_m"] == pytest.approx(0.92 + 0.75, abs=0.01)  # sole to hips, hips to the top of the head
    huge = info(capsys, put(tmp_path, bvh(PERSON)), "--unit", "m")
    assert huge["height_m"] == pytest.approx(100.0 * found["height_m"], rel=0.02)
    assert any("--unit" in w for w in huge["warnings"])
    assert info(capsys, put(tmp_path, hierarchy(PERSON)))["unit_m"] == 0.01


def test_a_joint_on_the_ground_and_a_guide_make_nobody_taller() -> None:
    rows = [
        ("Guides", "", (0.0, 0.0, 0.0)), ("Head", "Guides", (0.0, 0.0, 1.75)), ("Ref", "Guides", (0.0, 0.0, 0.0)),
        ("X_Hips", "Ref", (0.0, 0.0, 0.95)), ("X_Spine", "Ref", (0.0, 0.0, 1.0)), ("X_Head", "X_Spine", (0, 0, 0.6)),
        *both(("*UpLeg", "X_Hips", (0, 0.1, 0)), ("*Leg", "*UpLeg", (0, 0, -0.45)), ("*Foot", "*Leg", (0, 0, -0.4)),
              ("*Arm", "X_Spine", (0, 0.2, 0.3)), ("*ForeArm", "*Arm", (0, 0.3, 0)),
              ("*Hand", "*ForeArm", (0, 0.2, 0))),
    ]  # fmt: skip
    skin = [0.0 if name in ("Guides", "Head", "Ref") else 9.0 for name, _, _ in rows]
    skeleton = figure(rows, skin=skin).skeleton
    assert height_of(skeleton) == pytest.approx(1.75, abs=0.02)
    assert anatomy_of(skeleton).trunk_length == pytest.approx(0.05 + 0.6, abs=0.06)


def test_a_large_head_counts_with_all_of_its_height(tmp_path: Path) -> None:
    person = (*changed(PERSON, "Head", tip=None), Joint("HeadTop", "Head", (0, 90, 0), tip=(0, 1, 0)))
    skeleton = poise.load(put(tmp_path, bvh(person))).skeleton
    skin = np.array([name != "HeadTop" for name in skeleton.names], float)  # as of a file with a skin
    places = skeleton.rest[0][:, 2]
    tall = height_of(replace(skeleton, skin=skin))
    assert tall == pytest.approx(np.ptp(places), abs=0.1)
    assert tall > 2.0


def test_the_page_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", str(put(tmp_path, bvh(PERSON)))]) == 0
    page = capsys.readouterr().out
    for words in (
        "15 joints and 5 end sites",
        "5 frames at 30",
        "1 file unit = 0.01 m, y up",
        "LeftUpLeg, LeftLeg",
        "why",
    ):
        assert words in page


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ((0.5, -7.2), "7.1 m toward −y, from (0.0, −0.1)"),
        ((-3.0, 0.0), "3.0 m toward −x, from (0.0, −0.1)"),
        ((2.0, 1.9), "2.8 m toward 45° counterclockwise from +x, from (0.0, −0.1)"),
        ((0.02, -0.1), "ends where it begins, at (0.0, −0.1)"),
    ],
)
def test_where_a_clip_goes(end: tuple[float, float], words: str) -> None:
    assert _way([0.01, -0.08], list(end)) == words


def test_where_the_sample_goes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", str(sample_path("walk.bvh"))]) == 0
    assert "7.1 m toward −y, from (0.0, −0.1)" in capsys.readouterr().out


def test_one_joint_is_described_without_a_character(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = info(capsys, put(tmp_path, bvh(PERSON[:1], values(PERSON[:1]))))
    assert found["joints"] == ["Hips"]
    assert found["evidence"]["unit"]["confidence"] < 0.5
    assert np.isfinite(found["height_m"])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["info", "no such.bvh"], "There is no file no such.bvh"),
        (["info"], "needs a FILE"),
        (["inform"], "No such command 'inform'"),
        (["info", "--fast", "x"], "No such option"),
        (["edit", "repair", "x.bvh", "-o", "y.bvh", "--start", "1"], "A part of the clip is given by --interval S:E"),
        (["simulate", "x.bvh", "--interval", "1:2"], "A part of the clip is given by --start S and --end S"),
        (["info", "x.bvh", "--interval", "1:2"], "See poise info --help."),
        (["info", "x", "--source-fps", "many"], "Invalid value for '--source-fps'"),
        (["info", "x.bvh", "--unit", "parsec"], "parsec"),
        (["info", "x.bvh", "--up", "w"], "'w' is not one of x, y, z"),
        (["convert", "x.bvh"], "Give one file to write: poise convert x.bvh OUT"),
    ],
)
def test_wrong_use_is_one_sentence_and_exit_code_two(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert sentence in captured.err
    assert captured.err.startswith("poise: ")
    assert captured.err.count("\n") == 1


def test_debug_shows_the_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = put(tmp_path, "HIERARCHY\nnonsense")
    assert run(["info", str(path)]) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert run(["info", str(path)], debug=True) == 2
    captured = capsys.readouterr().err
    assert "Traceback" in captured
    assert f"{path}:2:1" in captured


def test_a_bug_is_called_a_bug(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("poise.cli.info.describe_system", broken)
    assert run(["info", "--system"]) == 2
    assert "This is a bug" in capsys.readouterr().err


def test_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("poise.cli.info.describe_system", stopped)
    assert run(["info", "--system"]) == 130


def test_every_help_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    commands = [c.name or (c.callback.__name__ if c.callback else "") for c in app.registered_commands]
    assert {"info", "convert"} <= set(commands)
    for words in ([], *([c.replace("_", "-")] for c in commands)):
        assert run([*words, "--help"]) == 0
        assert "Example" in capsys.readouterr().out, words


def test_no_word_of_a_help_is_taken_for_markup() -> None:
    from typer.main import get_command

    def parts(command: Any) -> list[str]:
        own = [getattr(p, "help", None) or "" for p in command.params] + [command.help or ""]
        return own + [t for c in getattr(command, "commands", {}).values() for t in parts(c)]

    told = parts(get_command(app))
    assert len(told) > 100
    eaten = [t for t in told for tag in re.findall(r"(?<!\\)\[(?!/)([^\]]*)\]", t) if tag not in ("bold", "dim")]
    assert not eaten


def test_an_option_has_the_same_short_name_in_every_command() -> None:
    from typer.main import get_command

    def options_of(command: Any) -> list[list[str]]:
        own = [p.opts for p in command.params]
        return own + [o for c in getattr(command, "commands", {}).values() for o in options_of(c)]

    short: dict[str, set[str]] = {}
    for names in options_of(get_command(app)):
        for long in (n for n in names if n.startswith("--") and names != ["--record", "-o"]):  # view has no other -o
            short.setdefault(long, set()).add(" ".join(n for n in names if n != long))
    assert len(short) > 100
    assert {long: found for long, found in short.items() if len(found) > 1} == {}
    assert (short["--character"], short["--jobs"], short["--output"]) == ({"-c"}, {"-j"}, {"-o"})


def test_the_floor_can_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert info(capsys, sample_path("walk"), "--floor", 0.1)["evidence"]["floor_m"]["value"] == 0.1
    assert info(capsys, sample_path("walk"))["evidence"]["floor_m"]["value"] != 0.1


@needs_motions
def test_without_a_named_clip_the_figure_is_that_of_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    found = info(capsys, FROG)
    assert found["fitted_clip"] == found["clips"][0]
    assert found["mass_kg"] == info(capsys, FROG, "--clip", found["clips"][0])["mass_kg"]
    assert info(capsys, sample_path("walk"))["fitted_clip"] is None


def test_system_names_the_line_that_installs_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from poise.cli import info

    monkeypatch.setattr(info, "_version", lambda package: None)
    assert info.describe_system()["packages"]["DracoPy"] == f"not installed: {install_line('draco')}"


def test_system_tells_what_it_runs_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", "--system", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "poise.system/1"
    assert found["packages"].keys() >= {"numpy", "mujoco", "daqp", "av"}
    assert {"poise", "python", "platform", "browser", "core"} <= found.keys()


def test_outputs_never_overwrite_by_accident(tmp_path: Path) -> None:
    path = put(tmp_path, "x")
    with pytest.raises(InvalidValue, match="overwrite"):
        output_path(path, inputs=[], overwrite=False)
    with pytest.raises(InvalidValue, match="the input file"):
        output_path(tmp_path / "." / "clip.bvh", inputs=[path], overwrite=True)
    assert output_path(path, inputs=[], overwrite=True) == path


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from poise.cli.app import run; import poise.cli; run(['--help']);"
        "bad = {'numpy', 'scipy', 'mujoco', 'PIL', 'pydantic'} & set(sys.modules);"
        "sys.exit(str(bad) if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr


def test_as_a_module_with_a_pipe_in_another_encoding() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-m", "poise", "info", "ÄÖ.bvh"], capture_output=True, check=False, env=environment
    )
    assert done.returncode == 2
    assert "ÄÖ.bvh" in done.stderr.decode("utf-8")


def test_the_version_is_printed_without_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"poise {poise.__version__}\n"


def test_a_shell_completes_commands_and_options() -> None:
    """What `poise --install-completion` lets a shell ask."""
    asked = {"_POISE_COMPLETE": "complete_bash", "COMP_WORDS": "poise library ", "COMP_CWORD": "2"}
    call = [sys.executable, "-m", "poise"]
    said = subprocess.run(call, env=os.environ | asked, capture_output=True, text=True, timeout=120, check=False).stdout
    assert {"check", "mend", "vary"} <= set(said.split())


def test_one_glitch_is_told_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    walk = sample_clip("walk")
    places = walk.translations.copy()
    places[40, 0, 2] += 0.3
    poise.save(replace(walk, translations=places, source=None), tmp_path / "spike.bvh")
    (said,) = [w for w in info(capsys, tmp_path / "spike.bvh")["warnings"] if "glitch" in w]
    assert said.startswith("1 glitch (1 × ")
    assert "in frame 40. " in said


def test_a_toy_that_weighs_as_much_as_a_grown_person_is_told() -> None:
    toy = poise.Character.fit(sample_clip("walk"), mass=70.0)
    assert "Its height alone would give 27 kg" in mass_doubt(toy, 1.24)
    assert mass_doubt(toy, 1.7) == ""
    assert mass_doubt(poise.Character.fit(sample_clip("walk"), mass=30.0), 1.24) == ""


def test_the_size_of_a_mass_is_the_one_it_follows_from() -> None:
    heavy = poise.Character.fit(sample_clip("walk"), mass=347.5)
    assert "2.9 m tall" in mass_doubt(heavy, 2.9)
    assert "skin" not in mass_doubt(heavy, 2.9), "this one has none"
    assert "0.938 m" not in mass_doubt(heavy, 0.938), "70 kg at 1.7 m make 12 kg of 0.938 m"


def test_a_clip_goes_where_its_hips_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    poise.save(under_a_still_root(sample_clip("walk", 2.0)), tmp_path / "still.bvh")
    poise.save(sample_clip("walk", 2.0), tmp_path / "walk.bvh")
    own, other = (info(capsys, tmp_path / f"{name}.bvh") for name in ("walk", "still"))
    assert other["from_m"] == pytest.approx(own["from_m"], abs=1e-3)
    assert other["to_m"] == pytest.approx(own["to_m"], abs=1e-3), "the root above its hips stays at the origin"


def test_a_scene_that_is_not_there_is_said_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["world", "nothere.toml"]) == 2
    assert "There is no file nothere.toml" in capsys.readouterr().err
