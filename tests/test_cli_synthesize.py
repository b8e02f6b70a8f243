"""`poise synthesize`: what each option does, one sentence for each wrong use, the same bytes twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from poise.cli.app import run
from poise.cli.figure import read_figure
from poise.cli.synthesized import PERSON, summarize_synthesis
from poise.core.errors import FileFormatError, InvalidValue
from poise.goals.surroundings import Scene
from poise.intake.anatomy import height_of
from poise.io import gltf
from poise.physics import State
from poise.physics.mujoco_backend import model_of
from poise.synthesis.behaviors import BEHAVIORS
from poise.synthesis.poses import sole_points
from tests.clips import MOTIONS, first_cases, needs_motions, sample_clip
from tests.interrupted import interrupted

SHOVE = "chest 60 0 0 @0.05+0.1"
HERE = Path(__file__).parents[1]

FIELDS: dict[str, type | tuple[type, ...]] = {
    "schema": str, "behavior": str, "is_literal": bool, "stopped": (str, type(None)), "fell": (float, type(None)),
    "seconds": float, "states": list, "stuck_steps": int, "figures": dict, "steps_taken": int, "climbed_m": float,
    "swing_max_deg": float, "supports": list, "losses": list, "hits": list, "pushes": list, "root_residual_max": dict,
    "cone_violation_max_N": float, "penetration_max_m": float, "body_penetration_max_m": float,
    "grip_drift_max_m": float, "contact_work_ratio": float, "torque_max_Nm": float, "effort_max": float,
    "slack_used_max": float, "slack": dict, "solver": dict, "wall_seconds": float, "step_ms": dict,
    "realtime_factor": float, "settings": dict,
}  # fmt: skip
SOLVER = {
    "name", "solves", "failures", "fallbacks", "primal_residual_max", "dual_residual_max", "dynamics_residual_max",
}  # fmt: skip


def synthesize(out: Path, *words: object, behavior: str = "balance", seconds: float = 0.3) -> dict[str, Any]:
    """Run the command; the report it wrote."""
    report = out.with_suffix(".json")
    code = run(
        ["synthesize", behavior, "-o", str(out), "--report", str(report), "--seconds", str(seconds), *map(str, words)]
    )
    assert code == 0
    return json.loads(report.read_text(encoding="utf-8"))


def test_a_run_writes_a_motion_and_a_report_of_the_contract(tmp_path: Path) -> None:
    report = synthesize(tmp_path / "a.bvh", "--push", SHOVE)
    wrong = {k: report.get(k) for k, kind in FIELDS.items() if k not in report or not isinstance(report[k], kind)}
    assert not wrong
    assert set(report) >= set(FIELDS)
    assert set(report["solver"]) >= SOLVER
    assert set(report["root_residual_max"]) == {"force_N", "moment_Nm"}
    assert set(report["step_ms"]) == {"median", "p99"}
    assert report["schema"] == "poise.synthesize/1"
    assert [s["name"] for s in report["states"]] == ["balance"]
    assert report["settings"]["options"] == dict(BEHAVIORS["balance"].options)
    assert report["root_residual_max"]["force_N"] < 1e-6
    motion = poise.load(tmp_path / "a.bvh")
    assert motion.frame_count == 31
    assert motion.fps == pytest.approx(100.0)
    moved = motion.world[0][-1, motion.skeleton.names.index("Chest")] - motion.world[0][0, 0]
    assert moved[0] > 0.005, "a push along x moves it along x, Z up"


@pytest.mark.parametrize("name", ["a.npz", "a.glb"])
def test_other_formats_hold_the_same_motion(tmp_path: Path, name: str) -> None:
    synthesize(tmp_path / name, seconds=0.1)
    assert poise.load(tmp_path / name).frame_count == 11


def test_the_options_reach_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--set", "friction=0.4", "--responsiveness", "0.5", "--mode", "literal", "--character", "child", "--json")
    report = synthesize(tmp_path / "a.bvh", *words, seconds=0.1)
    assert report["settings"]["options"]["friction"] == 0.4
    assert (report["settings"]["responsiveness"], report["is_literal"]) == (0.5, True)
    assert next(iter(report["figures"].values()))["mass"] == pytest.approx(24.0, abs=0.5)
    assert json.loads(capsys.readouterr().out)["schema"] == "poise.synthesize/1"


def test_a_skeleton_file_becomes_a_figure(tmp_path: Path) -> None:
    report = synthesize(tmp_path / "a.bvh", "--character", poise.sample_path("walk"), seconds=0.1)
    assert report["fell"] is None
    names = poise.load(tmp_path / "a.bvh").skeleton.names
    assert names == sample_clip("walk").skeleton.names


def test_controller_and_scene_files_run_with_their_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    controller, scene = tmp_path / "stand.toml", tmp_path / "room.toml"
    controller.write_text(
        'schema = "poise.controller/1"\nname = "stand"\nsummary = "Stands."\n[options]\nweight = 0.3\n'
        '[[states]]\nname = "s"\ngoals = [{ is = "ComOver", weight = "$weight" }, { is = "Pose", weight = 0.005 }]\n',
        encoding="utf-8",
    )
    scene.write_text(
        'schema = "poise.scene/1"\n[options]\nwall.distance = 0.6\n'
        '[[walls]]\nname = "wall"\nplace = ["$wall.distance", 0.0, 1.0]\nfacing = [-1.0, 0.0, 0.0]\n',
        encoding="utf-8",
    )
    words = ("--scene", scene, "--set", "weight=0.5", "--set", "wall.distance=0.9")
    report = synthesize(tmp_path / "a.bvh", *words, behavior=str(controller), seconds=0.1)
    assert (report["behavior"], report["settings"]["options"]) == ("stand", {"weight": 0.5})
    capsys.readouterr()
    assert run(["synthesize", str(controller), "--describe"]) == 0
    told = capsys.readouterr().out
    assert "weight = 0.3" in told
    assert "ComOver(0.3)" in told
    assert "digraph" in told


def test_list_help_and_goals_tell_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["synthesize", "--list"]) == 0
    listed = capsys.readouterr().out
    assert not [b.name for b in BEHAVIORS.values() if b.name not in listed or b.summary not in listed]
    assert run(["synthesize", "step", "--help"]) == 0
    helped = capsys.readouterr().out
    assert "--responsiveness" in helped
    assert "friction = 1" in helped
    assert "take step" in helped
    assert run(["synthesize", "--help"]) == 0
    assert "friction = 1" not in capsys.readouterr().out
    assert run(["synthesize", "--goals"]) == 0
    goals = capsys.readouterr().out
    assert "Upright(weight, bodies=('chest',), horizon=0.1, ahead=0.0, aside=0.0)" in goals
    assert "The center of mass stands over a foot's support" in goals
    assert all(name in goals for name in ("loose arms", "swing leg", "left_shoulder"))


@pytest.mark.parametrize("name", list(BEHAVIORS))
def test_every_behavior_is_described(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["synthesize", name, "--describe"]) == 0
    told = capsys.readouterr().out
    behavior = BEHAVIORS[name]
    assert not [o for o in behavior.options if f"  {o} = " not in told]
    assert not [s.name for r in behavior.setup().roles for s in r.machine.states if s.name not in told]


ROOM = """schema = "poise.scene/1"
[[bodies]]
name = "crate"
place = [0.35, 0.0, 0.21]
sides = [0.4, 0.5, 0.4]
mass = 8.0
"""
FALLS = (
    '<mujoco><worldbody><geom type="plane" size="9 9 1"/><body name="crate" pos="0.35 0 0.21"><freejoint/>'
    '<geom type="box" size="0.2 0.25 0.2" mass="8"/></body></worldbody></mujoco>'
)


@first_cases(1, "name", ["room.toml", "room.xml", "rubble:4,1"])
def test_bodies_of_a_scene_move_around_the_figure(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("room.toml").write_text(ROOM, encoding="utf-8")
    Path("room.xml").write_text(FALLS, encoding="utf-8")
    words = ["synthesize", "step", "--scene", name, "-o", "a.bvh", "--report", "a.json", "--record", "a.html"]
    assert run([*words, "--push", "chest 250 0 0 @0.1+0.1", "--seconds", "0.6"]) == 0
    assert "States [s]: balance 0.00 → relax foot" in capsys.readouterr().out
    assert poise.load("a.bvh").frame_count == 61
    report = json.loads(Path("a.json").read_text(encoding="utf-8"))
    assert report["schema"] == "poise.synthesize/1"
    scene, (figure,) = report["scene"], report["figures"].values()
    assert scene["bodies"] == (4 if "rubble" in name else 1)
    assert scene["contact_residual_p95_m_s"] < 1e-3
    assert scene["momentum_error_max_Ns"] < 1e-10
    assert report["pushes"] == [{"body": "chest", "start": 0.1}]
    assert [s["name"] for s in figure["states"]][:3] == ["balance", "relax foot", "take step"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--engine", "mujoco"], "--engine"),
        (["--set", "wall.distance=1"], "Options: friction=1"),
        (["--push", "tail 1 2 3 @0"], "tail"),
        (["--push", "crate.chest 1 2 3 @0"], "crate.chest"),
    ],
)
def test_what_a_scene_of_bodies_cannot_have_is_refused(
    words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("room.toml").write_text(ROOM, encoding="utf-8")
    assert run(["synthesize", "balance", "--scene", "room.toml", "-o", "a.bvh", *words]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1
    with pytest.raises(FileFormatError, match=r"bodies, which move by physics.*poise.synthesize"):
        poise.synthesis.synthesize("balance", scene="room.toml")
    with pytest.raises(InvalidValue, match=r"world=poise\.World"):
        poise.synthesis.synthesize("balance", scene="rubble:5,1")
    with pytest.raises(InvalidValue, match="with a world; leave them out"):
        poise.synthesize("balance", scene="rubble:5,1", clip=sample_clip("walk", 0.5))
    with pytest.raises(InvalidValue, match="with a world; leave them out"):
        poise.synthesize("balance", scene=Scene(), world=poise.World("room.toml"))


def test_a_scene_with_bodies_makes_its_own_world(tmp_path: Path) -> None:
    file = tmp_path / "room.toml"
    file.write_text(ROOM, encoding="utf-8")
    for scene, count in ((file, 1), ("rubble:3,1,shape=mesh", 3)):
        own = poise.synthesize("balance", scene=scene, seconds=0.1)
        other = poise.synthesize("balance", world=poise.World(scene), seconds=0.1)
        assert own.report["scene"]["bodies"] == len(own.things) == count
        assert np.array_equal(own.motion.rotations, other.motion.rotations)


def test_a_run_of_goals_in_a_world_is_a_result_as_any(tmp_path: Path) -> None:
    file = tmp_path / "room.toml"
    poise.save(sample_clip("walk", 1.0), tmp_path / "walk.bvh")
    clip = '[[figures]]\nname = "bob"\nclip = "walk.bvh"\nplace = [0.0, -3.0]\n'
    file.write_text(ROOM + clip, encoding="utf-8")
    push = poise.Push("chest", (80.0, 0.0, 0.0), start=0.05, duration=0.1)
    world = poise.World(file)
    result = poise.synthesize("balance", world=world, pushes=[push], seconds=0.3)
    assert result.motion.frame_count == 31
    assert np.abs(world.motion("figure").translations - result.motion.translations).max() < 1e-12
    assert [c.name for c in result.companions] == ["bob"]
    shown = poise.scene_of(result)
    assert [track.name for track in shown.tracks] == ["figure", "bob"]
    assert "crate" in {prop.name for prop in shown.props}
    assert len(shown.arrows) == 1
    alone = poise.synthesize("balance", pushes=[push], seconds=0.3)
    still = poise.synthesize("balance", world=poise.World(), seconds=0.3)
    moved, there, rest = (float(r.trace.com[-1, 0, 0]) for r in (result, alone, still))
    assert abs(moved - there) < 0.2 * abs(there - rest), "the push acts in the world as it does alone"
    assert abs(there - rest) > 0.005


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "--list"),
        (["blance", "-o", "a.bvh"], "No behavior 'blance'. Did you mean 'balance'? Behaviors: balance"),
        (["balance"], "-o balance.bvh"),
        (["balance", "--json"], "-o balance.bvh"),
        (["balance", "-o", "a.xyz"], "xyz"),
        (["balance", "-o", "none/a.bvh"], "there is no folder none"),
        (["balance", "-o", "a.bvh", "--report", "a.bvh"], "same file"),
        (["balance", "-o", "a.bvh", "--record", "a.avi"], ".avi"),
        (["balance", "-o", "a.bvh", "--set", "friction"], "NAME=VALUE"),
        (["balance", "-o", "a.bvh", "--set", "frictoin=1"], "Options: friction=1"),
        (["balance", "-o", "a.bvh", "--set", "friction=much"], "a number"),
        (["balance", "-o", "a.bvh", "--seconds", "0"], "--seconds is 0"),
        (["balance", "-o", "a.bvh", "--responsiveness", "nan"], "--responsiveness is nan"),
        (["balance", "-o", "a.bvh", "--mode", "other"], "horizon or literal"),
        (["balance", "-o", "a.bvh", "--engine", "other"], "own or mujoco"),
        (["balance", "-o", "a.bvh", "--camera", "above"], "side, front, back, quarter or top"),
        (["balance", "-o", "a.bvh", "--push", "child.chest 1 2 3 @0"], "child.chest"),
        (["balance", "-o", "a.bvh", "--push", "chest 1 2"], "BODY FX FY FZ @START+DURATION"),
        (["balance", "-o", "a.bvh", "--push", "tail 1 2 3 @0"], "tail"),
        (
            ["balance", "-o", "a.bvh", "--character", "giant"],
            "Built-in figures: adult, child. Any other needs its own file",
        ),
        (["balance", "-o", "a.bvh", "--scene", "none.toml"], "none.toml"),
        (["none.toml", "-o", "a.bvh"], "There is no file none.toml"),
    ],
)
def test_wrong_use_is_one_sentence_and_writes_nothing(
    words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["synthesize", *words]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_cameras_are_those_of_recordings() -> None:
    from poise.cli.synthesize import VIEWS
    from poise.show import VIEWS as KNOWN

    assert set(VIEWS) == set(KNOWN)
    assert {b.setup().view for b in BEHAVIORS.values()} <= set(KNOWN)
    assert BEHAVIORS["hands"].setup().view == "front"


def test_an_existing_file_is_kept_unless_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "a.bvh"
    out.write_text("mine", encoding="utf-8")
    assert run(["synthesize", "balance", "-o", str(out), "--seconds", "0.05"]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert out.read_text(encoding="utf-8") == "mine"
    assert run(["synthesize", "balance", "-o", str(out), "--seconds", "0.05", "--overwrite"]) == 0
    assert poise.load(out).frame_count == 6


def test_python_says_the_same_as_the_command(tmp_path: Path) -> None:
    synthesize(tmp_path / "a.npz", "--push", SHOVE, seconds=0.2)
    result = poise.synthesize("balance", pushes=[poise.Push("chest", (60.0, 0.0, 0.0), 0.05, 0.1)], seconds=0.2)
    assert isinstance(result, poise.SynthesisResult)
    assert np.array_equal(poise.load(tmp_path / "a.npz").rotations, result.motion.rotations)
    assert poise.synthesis.BEHAVIORS is BEHAVIORS


def process(*words: object, hashed: int = 0) -> subprocess.Popen[bytes]:
    """The command as a process of its own."""
    environment = {**os.environ, "PYTHONHASHSEED": str(hashed), "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "poise", "synthesize", *map(str, words)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=HERE,
    )  # fmt: skip


@pytest.mark.long
def test_two_processes_make_the_same_bytes(tmp_path: Path) -> None:
    shove = ("--push", "chest 250 40 0 @0.05+0.1", "--seconds", "0.6")
    outs = [tmp_path / "a.bvh", tmp_path / "b.bvh"]
    children = [
        process("step", "-o", out, "--report", out.with_suffix(".json"), *shove, hashed=k + 1)
        for k, out in enumerate(outs)
    ]
    for child in children:
        _, told = child.communicate(timeout=300.0)
        assert child.returncode == 0, told.decode()
    assert outs[0].read_bytes() == outs[1].read_bytes()
    reports = [json.loads(out.with_suffix(".json").read_text(encoding="utf-8")) for out in outs]
    for report in reports:
        for timing in ("wall_seconds", "step_ms", "realtime_factor"):
            report.pop(timing)
    assert reports[0] == reports[1]
    assert [s["name"] for s in reports[0]["states"]][:2] == ["balance", "relax foot"]


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="no SIGINT for one child on Windows")
def test_interrupted_it_keeps_what_is_done(tmp_path: Path) -> None:
    """Ctrl-C once the run goes on: a motion that can be read, a report that says so, exit code 130."""
    out, report, mark = tmp_path / "a.bvh", tmp_path / "a.json", tmp_path / "mark"
    words = ["synthesize", "balance", "-o", out, "--report", report, "--seconds", "600"]
    interrupted(words, mark, "poise.synthesis.world.World.step", 10)
    done = json.loads(report.read_text(encoding="utf-8"))
    assert done["stopped"] == "interrupted"
    assert 0.05 < done["seconds"] < 600.0
    assert poise.load(out).frame_count == round(done["seconds"] / 0.01) + 1
    assert not [p for p in tmp_path.iterdir() if p.suffix == ".part"]


def test_a_goal_without_its_clip_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "own.toml"
    text = 'schema = "poise.controller/1"\n[[states]]\nname = "go"\n'
    own.write_text(text + 'goals = [{ is = "Follow", weight = 1.0 }]\n', encoding="utf-8")
    run(["synthesize", str(own), "-o", str(tmp_path / "a.bvh"), "--seconds", "0.02"])
    assert "no clip to follow" in " ".join(capsys.readouterr().err.split())


@needs_motions
@pytest.mark.parametrize("option", ["--clip", "--character"])
def test_one_clip_of_several_is_chosen(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = MOTIONS / "gltf" / "greenman.glb"
    words = ["synthesize", "balance", "-o", str(tmp_path / "out.bvh"), "--seconds", "0.05", option]
    # a motion to follow must be named; what a figure is fitted to is told
    assert run([*words, str(file)]) == (2 if option == "--clip" else 0)
    told = " ".join(capsys.readouterr().err.split())
    assert ("greenman.glb@0" if option == "--clip" else "fitted to clip '0_pose'; greenman.glb@NAME") in told
    assert run([*words, f"{file}@no such clip"]) == 2
    assert "no such clip" in capsys.readouterr().err
    assert run([*words, f"{file}@2", "--overwrite"]) == 0


def test_of_two_figures_it_is_said_which_one_the_file_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    synthesize(tmp_path / "h.bvh", behavior="hands", seconds=0.05)
    assert "h.bvh holds 'child' alone; 'adult' can be seen" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("seconds", "said"), [(0.5, "Lost its balance at 0.4"), (0.7, "Fell at 0.5")])
def test_a_run_that_ends_in_a_fall_does_not_say_that_nobody_fell(
    seconds: float, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    result = poise.synthesize("balance", pushes=[poise.Push("chest", (400.0, 0.0, 0.0), 0.1, 0.3)], seconds=seconds)
    assert [v.name for v in result.visits] == ["balance", "fallen"]
    assert (result.figures[0].fell is None) == said.startswith("Lost")
    summarize_synthesis(result, None)
    told = capsys.readouterr().out
    assert said in told
    assert "Did not fall" not in told


def test_the_speed_reached_is_told_beside_the_one_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    result = poise.synthesize("run", options={"speed": 2.5}, seconds=1.3)
    summarize_synthesis(result, None)
    told = capsys.readouterr().out
    assert result.q[-1, 0] - result.q[-101, 0] < 1.5
    assert f"last second: {result.q[-1, 0] - result.q[-101, 0]:.1f}" in told
    assert "asked for: 2.5 m/s" in told
    summarize_synthesis(poise.synthesize("balance", seconds=0.1), None)
    assert "Speed" not in capsys.readouterr().out


@needs_motions
def test_a_figure_that_cannot_run_fails_and_its_shape_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["synthesize", "run", "-o", str(tmp_path / "run.bvh"), "--seconds", "1.8", "--overwrite"]
    figure = ["-c", str(MOTIONS / "gltf" / "greenman.glb")]
    assert run([*words, *figure]) == 1
    shown = capsys.readouterr()
    assert "run failed: it never left the ground" in shown.err
    assert "1.13 m high and its feet stand 0.24 m apart" in shown.err
    assert "which is 2.2 m/s with legs of 0.99 m" in shown.out
    assert (tmp_path / "run.bvh").exists()
    assert run([*words, *figure, "--push", "chest 5 0 0 @0.1+0.1"]) == 0, "who is pushed may fall"
    assert run(words) == 0


def test_the_grown_up_that_the_gait_was_found_for_has_the_shape_told() -> None:
    who = read_figure("adult").character
    result = poise.synthesize("run", who, seconds=0.1)
    state = State(model_of(who)).at(result.q[0], result.v[0])
    soles = [state.points[sole_points(who, side)].mean(axis=0) for side in ("left", "right")]
    high = float(state.com(state.model.roots[0])[2] - soles[0][2]) / who.leg_length
    apart = float(np.linalg.norm(soles[0][:2] - soles[1][:2])) / who.leg_length
    assert (high, apart) == pytest.approx(PERSON, abs=0.006)


def test_results_are_printed_in_a_line() -> None:
    result = poise.synthesize("balance", seconds=0.05)
    assert len(repr(result)) < 200
    assert "balance" in repr(result)
    assert len(repr(result.figures)) < 200
    moved = poise.simulate(sample_clip("walk", 0.2))
    assert repr(moved) == "<simulated: 13 frames, 0.20 s, 21 joints on flat, 0 pushes>"


def test_a_skeleton_without_a_clip_is_a_character(tmp_path: Path) -> None:
    walk = poise.sample_path("walk").read_text(encoding="utf-8")
    bones, _, _ = walk.partition("MOTION")
    path = tmp_path / "bones.bvh"
    path.write_text(bones, encoding="utf-8")
    fitted = poise.Character.fit(poise.load_skeleton(path))
    assert read_figure(str(path)).character.leg_length == pytest.approx(fitted.leg_length)


def test_a_doubtful_size_is_told_with_where_to_say_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    giant = tmp_path / "giant.glb"
    poise.save(poise.load(poise.sample_path("walk"), height=9.0), giant)
    read_figure(str(giant))
    told = capsys.readouterr().err
    assert "9 m tall" in told
    assert f"poise character {giant} -o figure.toml" in told.replace("\n", " ")
    two = tmp_path / "two.gltf"
    poise.save(poise.load(giant), two)
    content = json.loads(two.read_text(encoding="utf-8"))
    content["animations"] = [{**content["animations"][0], "name": name} for name in ("first", "second")]
    two.write_text(json.dumps(content), encoding="utf-8")
    read_figure(str(two))
    command = capsys.readouterr().err.partition("`poise ")[2].partition("`")[0]  # runs as it stands
    assert run([*command.split()[:-1], str(tmp_path / "figure.toml")]) == 0
    capsys.readouterr()
    read_figure(str(poise.sample_path("walk")))
    read_figure(str(giant), "1.8m")
    assert "warning" not in capsys.readouterr().err


def test_a_figure_is_as_tall_as_its_user_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    giant, made = tmp_path / "giant.glb", tmp_path / "made.glb"
    poise.save(poise.load(poise.sample_path("walk"), height=9.0).cut(0.0, 0.2), giant)
    assert (
        run(["synthesize", "balance", "--seconds", "0.1", "-c", str(giant), "--height", "1.8m", "-o", str(made)]) == 0
    )
    assert height_of(poise.load(made)) == pytest.approx(1.8, rel=1e-6)
    assert "tall" not in capsys.readouterr().err
    for name, said in (("adult", "its own height"), (None, "--character FILE")):
        words = ["synthesize", "balance", "--height", "1.8m", "-o", str(tmp_path / "none.bvh")]
        assert run([*words, *(["-c", name] if name else [])]) == 2
        assert said in capsys.readouterr().err.replace("\n", " ")


def test_the_file_of_a_figure_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, read, own = tmp_path / "figure.glb", [], gltf.read_figure
    poise.save(poise.load(poise.sample_path("walk")).cut(0.0, 0.2), path)
    monkeypatch.setattr("poise.io.gltf.read_figure", lambda *given: read.append(1) or own(*given))
    figure = read_figure(str(path))
    assert figure.drawn is figure.motion
    assert len(read) == 1
