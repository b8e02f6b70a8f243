"""`poise simulate`: what each option does to the bundled walk, and one sentence for each wrong use."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer
from PIL import Image

import poise
from poise.cli.app import app, run
from poise.cli.outcome import SOLVER, summarize_run
from poise.core.errors import PoiseError
from poise.filter.setup import Counts
from poise.phases.glitches import find_glitches
from poise.show.scene.scene import Scene
from tests.clips import MOTIONS, needs_motions, sample_clip
from tests.interrupted import interrupted
from tests.test_push import held

SHOVE = "chest 300 0 0 @0.3+0.2"
REPORT = {
    "source": {"file", "format", "frames", "fps", "joints", "dof", "mass"},
    "deviation": {"joint_angle_max_deg", "joint_angle_rms_deg", "root_position_max_m", "body_position_max_m"},
    "root_residual": {"force_max_N", "force_rms_N", "moment_max_Nm", "moment_rms_Nm"},
    "contact": {
        "glitch_frames", "penetration_max_m", "penetration_p95_m", "float_max_m", "float_p95_m", "skating_ratio",
        "friction_violation_max", "sliding_power_max_W",
    },
    "solver": {
        "name", "solves", "failures", "fallbacks", "primal_residual_max", "dual_residual_max", "dynamics_residual_max",
    },
    "step_ms": {"median", "p99"},
    "per_frame": {
        "time", "root_force_N", "root_moment_Nm", "com_m", "com_reference_m", "deviation_rms_deg", "contacts",
    },
}  # fmt: skip
EVENT = {
    "start", "duration", "joint_peak_deg", "root_peak_deg", "com_excursion_max_m", "com_excursion_before_m",
    "com_back_s", "recovery_s", "cut_by",
}  # fmt: skip


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled walk's first second, as a BVH of its own."""
    path = tmp_path_factory.mktemp("clip") / "walk.bvh"
    poise.save(sample_clip("walk", 1.0), path)
    return path


def simulate(source: Path, out: Path, *words: object) -> tuple[poise.Motion, dict]:
    """Run the command; the motion it wrote and its report."""
    report = out.with_suffix(".json")
    code = run(["simulate", str(source), "-o", str(out), "--report", str(report), *map(str, words)])
    assert code == 0
    return poise.load(out), json.loads(report.read_text(encoding="utf-8"))


def split(path: Path) -> tuple[str, list[str]]:
    """Header and lines of numbers of a BVH."""
    header, _, rows = path.read_text(encoding="utf-8").partition("Frame Time")
    return header + rows.split("\n", 1)[0], rows.split("\n")[1:]


def turned(motion: poise.Motion, source: poise.Motion, joint: str) -> float:
    """Largest component by which a joint's rotation differs from the source's."""
    j = motion.skeleton.names.index(joint)
    return float(np.abs(motion.rotations[:, j] - source.rotations[:, j]).max())


# --- undisturbed


def test_undisturbed_the_file_comes_back_to_the_printed_digit(walk: Path, tmp_path: Path) -> None:
    _, report = simulate(walk, tmp_path / "out.bvh")
    assert split(tmp_path / "out.bvh") == split(walk)
    assert report["deviation"]["joint_angle_max_deg"] < 1e-9
    assert report["events"] == []


@pytest.mark.parametrize("fps", [120, 85])
def test_undisturbed_at_any_rate_every_source_frame_comes_back(walk: Path, tmp_path: Path, fps: int) -> None:
    _, report = simulate(walk, tmp_path / "out.bvh", "--fps", fps)
    assert 1.0 / report["dt"] == pytest.approx(fps)
    assert report["frames"] == int(poise.load(walk).duration * fps + 1e-6) + 1
    assert split(tmp_path / "out.bvh") == split(walk)


# --- disturbed


def test_a_push_is_felt_after_it_starts_and_not_before(walk: Path, tmp_path: Path) -> None:
    moved, report = simulate(walk, tmp_path / "out.bvh", "--push", SHOVE)
    source = poise.load(walk)
    off = np.linalg.norm(moved.translations[:, 0] - source.translations[:, 0], axis=1)
    assert off[:19].max() < 1e-6
    assert off.max() > 0.03
    assert moved.frame_count == source.frame_count
    assert split(tmp_path / "out.bvh")[0] == split(walk)[0], "skeleton, names, channels and rate are the input's"
    (event,) = report["events"]
    assert event.keys() >= EVENT
    assert event["com_excursion_max_m"] > 0.03
    assert event["force_N"] == [300.0, 0.0, 0.0]


def test_a_push_that_comes_before_the_figure_is_back_cuts_the_first_and_tells_what_that_left(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pushes = ("--push", "chest 300 0 0 @0.2+0.1", "--push", "chest 200 0 0 @0.6+0.1")
    _, report = simulate(walk, tmp_path / "out.bvh", *pushes)
    first, second = report["events"]
    assert (first["cut_by"], second["cut_by"]) == ("push", None)
    assert first["com_excursion_before_m"] < 1e-9
    assert 0.03 < second["com_excursion_before_m"] < second["com_excursion_max_m"]
    said = " ".join(capsys.readouterr().out.split())
    assert "not back before the next push" in said
    left, most = (100 * second[f"com_excursion_{name}_m"] for name in ("before", "max"))
    assert f"at most {most:.0f} cm off the clip ({left:.0f} cm before), not back before the end" in said


def test_the_report_holds_what_the_interface_promises(walk: Path, tmp_path: Path) -> None:
    _, report = simulate(walk, tmp_path / "out.bvh", "--push", SHOVE)
    assert report["schema"] == "poise.simulate/1"
    for name, fields in REPORT.items():
        assert report[name].keys() >= fields, name
    assert report.keys() >= {
        "settings",
        "frames",
        "dt",
        "wall_seconds",
        "realtime_factor",
        "goal_error_max_m",
        "ground_m",
    }
    for name in REPORT["per_frame"]:
        assert len(report["per_frame"][name]) == report["frames"], name
    for name, value in poise.load_preset("recommended").settings().items():
        assert report["settings"][name] == value


def test_json_goes_to_stdout_alone(walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", str(walk), "-o", str(tmp_path / "out.bvh"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "poise.simulate/1"


def test_two_pushes_and_a_pull(walk: Path, tmp_path: Path) -> None:
    words = ["--push", SHOVE, "--push", "left_hand 0 0 30 @0.1+0.1", "--pull", "head 0 0 2 200 @0.5+0.2"]
    _, report = simulate(walk, tmp_path / "out.bvh", *words)
    assert [e["start"] for e in report["events"]] == [0.3, 0.1, 0.5]


def test_a_slope_lifts_the_walk(walk: Path, tmp_path: Path) -> None:
    moved, report = simulate(walk, tmp_path / "out.bvh", "--terrain", "slope:15")
    source = poise.load(walk)
    traveled = np.linalg.norm(source.translations[-1, 0, :2] - source.translations[0, 0, :2])
    lifted = moved.translations[-1, 0, 2] - source.translations[-1, 0, 2]
    assert lifted == pytest.approx(np.tan(np.radians(15)) * traveled, abs=0.12)
    assert report["contact"]["penetration_p95_m"] < 0.02


def test_rough_ground_takes_the_seed(walk: Path, tmp_path: Path) -> None:
    a = simulate(walk, tmp_path / "a.bvh", "--terrain", "rough:0.3,4")[0]
    b = simulate(walk, tmp_path / "b.bvh", "--terrain", "rough:0.3", "--seed", 4)[0]
    c = simulate(walk, tmp_path / "c.bvh", "--terrain", "rough:0.3", "--seed", 5)[0]
    assert np.array_equal(a.rotations, b.rotations)
    assert not np.array_equal(a.rotations, c.rotations)


@pytest.mark.long
def test_a_goal_point_is_reached(walk: Path, tmp_path: Path) -> None:
    source = poise.load(walk)
    hand = source.skeleton.names.index("LeftHand")
    x, y, z = source.world[0][-1, hand] + (0.1, 0.0, 0.1)
    moved, _ = simulate(walk, tmp_path / "out.bvh", "--goal-point", f"left_hand {x:.4f},{y:.4f},{z:.4f} @0.2+5")
    assert np.linalg.norm(moved.world[0][-1, hand] - (x, y, z)) < 0.02


def test_physicality_is_a_knob(walk: Path, tmp_path: Path) -> None:
    joints = {}
    for knob in ("1", "5", "off"):
        _, report = simulate(walk, tmp_path / f"{knob}.bvh", "--push", SHOVE, "--physicality", knob)
        joints[knob] = report["deviation"]["joint_angle_rms_deg"]
        assert report["settings"]["physicality"] == ("off" if knob == "off" else float(knob))
    assert joints["5"] > 1.15 * joints["1"], "emphasized, it answers with the joints"
    assert joints["off"] < joints["1"]


def test_only_freeze_and_amount(walk: Path, tmp_path: Path) -> None:
    source = poise.load(walk)
    whole = simulate(walk, tmp_path / "whole.bvh", "--push", SHOVE)[0]
    assert turned(whole, source, "LeftArm") > 0.002
    only = simulate(walk, tmp_path / "only.bvh", "--push", SHOVE, "--only", "LeftArm,RightArm")[0]
    assert turned(only, source, "LeftArm") == pytest.approx(turned(whole, source, "LeftArm"), rel=1e-3)
    assert turned(only, source, "RightUpLeg") < 1e-9
    frozen = simulate(walk, tmp_path / "frozen.bvh", "--push", SHOVE, "--freeze", "LeftArm")[0]
    assert turned(frozen, source, "LeftArm") < 1e-9
    assert turned(frozen, source, "RightArm") > 0.002
    half = simulate(walk, tmp_path / "half.bvh", "--push", SHOVE, "--amount", 0.5)[0]
    moved = [np.linalg.norm(m.translations[:, 0] - source.translations[:, 0], axis=1).max() for m in (half, whole)]
    assert moved[0] == pytest.approx(0.5 * moved[1], rel=1e-3)
    none = tmp_path / "none.bvh"
    simulate(walk, none, "--push", SHOVE, "--amount", 0)
    assert split(none) == split(walk)


def test_start_and_end_cut_and_time_counts_from_the_first_kept_frame(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved, report = simulate(walk, tmp_path / "out.bvh", "--start", 0.2, "--end", 0.8, "--push", "chest 300 0 0 @0+0.2")
    assert "count from --start 0.2 s, those of pushes too" in capsys.readouterr().err
    assert moved.frame_count == 37
    assert report["per_frame"]["time"][0] == 0.0
    source = poise.load(walk).cut(0.2, 0.8)
    assert np.linalg.norm(moved.translations[6, 0] - source.translations[6, 0]) > 0.001


def test_a_loop_goes_on(walk: Path, tmp_path: Path) -> None:
    whole = sample_clip("walk")
    moved, _ = simulate(poise.sample_path("walk"), tmp_path / "out.bvh", "--loop")
    assert moved.duration == pytest.approx(2.0 * whole.duration, rel=0.01)
    travel = [m.translations[-1, 0, 1] - m.translations[0, 0, 1] for m in (whole, moved)]
    assert travel[1] == pytest.approx(2.0 * travel[0], rel=0.02)


def test_a_body_may_have_spaces_in_its_name(walk: Path, tmp_path: Path) -> None:
    spaced = tmp_path / "spaced.bvh"
    spaced.write_text(walk.read_text(encoding="utf-8").replace("JOINT Head", "JOINT my Head 2"), encoding="utf-8")
    name = poise.load(spaced).skeleton.names[12]
    assert name == "my Head 2"
    _, report = simulate(spaced, tmp_path / "out.bvh", "--push", f"{name.upper()} 50 0 0 @0.2+0.1")
    assert report["events"][0]["body"] == name.upper()
    assert report["events"][0]["joint_peak_deg"] > 0.5


@pytest.mark.parametrize("command", ["simulate", "edit mend"])
def test_a_picture_that_cannot_be_drawn_leaves_the_clip(
    command: str, walk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def silent(*_: object, **__: object) -> None:
        raise PoiseError("The browser did not answer for 60 s.")

    monkeypatch.setattr("poise.show.record", silent)
    out, report = tmp_path / "out.bvh", tmp_path / "out.json"
    words = [*command.split(), str(walk), "-o", str(out), "--record", str(tmp_path / "out.png")]
    assert run([*words, "--report", str(report)]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == "poise: The browser did not answer for 60 s."
    assert said[-2].startswith(f"Written: {out}")
    assert poise.load(out).frame_count > 2
    assert report.exists()
    assert not (tmp_path / "out.png").exists()


def test_a_strip_is_drawn(walk: Path, tmp_path: Path) -> None:
    simulate(walk, tmp_path / "out.bvh", "--end", 0.2, "--record", tmp_path / "strip.png")
    with Image.open(tmp_path / "strip.png") as picture:
        assert np.asarray(picture).std() > 5.0


def test_the_baseline_and_the_paper_s_preset_run(walk: Path, tmp_path: Path) -> None:
    assert simulate(walk, tmp_path / "pd.bvh", "--engine", "pd")[1]["settings"]["engine"] == "pd"
    assert simulate(walk, tmp_path / "paper.bvh", "--preset", "paper")[1]["settings"]["preset"] == "paper"


# --- wrong use


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--push", "tail 300 0 0 @0.3+0.2"], ["tail", "chest", "left_hand"]),
        (["--push", "chest 300 0 @0.3"], ["BODY FX FY FZ @START+DURATION"]),
        (["--push", "chest 300 0 0"], ["BODY FX FY FZ @START+DURATION"]),
        (["--push", "chest 300 0 0 @0.3+-1"], ["duration"]),
        (["--pull", "chest 300 0 0 @0.3"], ["STIFFNESS"]),
        (["--goal-point", "left_hand 1,2 @0.3"], ["JOINT X,Y,Z"]),
        (["--goal-without", "tail"], ["tail"]),
        (["--only", "tail"], ["tail"]),
        (["--terrain", "moon:3"], ["moon", "slope"]),
        (["--terrain", "slope:steep"], ["slope"]),
        (["--fps", "12"], ["unstable", "--fps"]),
        (["--fps", "0"], ["fps"]),
        (["--goal", "up"], ["--goal", "moving"]),
        (["--engine", "coupled"], ["coupled"]),
        (["--preset", "fast"], ["fast", "recommended"]),
        (["--physicality", "much"], ["--physicality", "strict"]),
        (["--physicality", "1e30"], ["--physicality", "1000"]),
        (["--only", "LeftHand", "--freeze", "left_hand"], ["left_hand", "only", "freeze"]),
        (["--unit", "1e9"], ["legs", "--unit"]),
        (["--friction", "-1"], ["--friction"]),
        (["--amount", "2"], ["amount"]),
        (["--loop", "--end", "0.5"], ["does not loop"]),
        (["--fps", "inf"], ["--fps"]),
        (["--start", "5"], ["5"]),
        (["--record", "film.avi"], [".avi", ".gif"]),
        (["--report", "nowhere/out.json"], ["nowhere"]),
        (["--no-such-option"], ["--no-such-option", "--help"]),
        (["--record", "a.html", "--record", "b.png"], ["--record is given twice"]),
        (["--fps=60", "--push", "chest 300 0 0 @0.3+0.2", "--fps", "60"], ["--fps is given twice"]),
    ],
    ids=lambda w: " ".join(w) if w and w[0].startswith("--") else None,
)
def test_wrong_use_is_one_sentence_and_writes_nothing(
    words: list[str], said: list[str], walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.bvh"
    assert run(["simulate", str(walk), "-o", str(out), *words]) == 2
    told = capsys.readouterr()
    lines = told.err.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("poise: ")
    assert "bug" not in lines[0]
    assert told.out == ""
    for word in said:
        assert word in lines[0]
    assert not out.exists()


def test_files_are_never_lost(walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = walk.read_bytes()
    assert run(["simulate", str(walk), "-o", str(walk), "--overwrite"]) == 2
    assert "input file" in capsys.readouterr().err
    there = tmp_path / "there.bvh"
    there.write_text("mine", encoding="utf-8")
    assert run(["simulate", str(walk), "-o", str(there)]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert there.read_text(encoding="utf-8") == "mine"
    assert run(["simulate", str(walk), "-o", str(tmp_path / "new.bvh"), "--report", str(walk), "--overwrite"]) == 2
    assert walk.read_bytes() == before
    assert run(["simulate", str(walk), "-o", str(there), "--overwrite"]) == 0
    assert split(there) == split(walk)


def test_a_missing_file_and_an_unknown_format(walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", str(tmp_path / "none.bvh"), "-o", str(tmp_path / "out.bvh")]) == 2
    assert "none.bvh" in capsys.readouterr().err
    assert run(["simulate", str(walk), "-o", str(tmp_path / "out.xyz")]) == 2
    assert ".bvh" in capsys.readouterr().err


@needs_motions
def test_a_clip_without_a_skeleton_is_refused_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = MOTIONS / "quadruped" / "hopturn.txt"
    assert run(["simulate", str(path), "-o", str(tmp_path / "out.bvh")]) == 2
    told = capsys.readouterr().err
    assert "skeleton" in told
    assert len(told.strip().splitlines()) == 1


# --- warnings


def test_a_fall_without_a_push_is_told(walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steep = ["--terrain", "slope:30", "--physicality", "strict"]
    assert run(["simulate", str(walk), *steep, "-o", str(tmp_path / "a.bvh")]) == 0
    assert "The figure falls at " in capsys.readouterr().out
    assert run(["simulate", str(walk), "-o", str(tmp_path / "b.bvh")]) == 0
    assert "falls" not in capsys.readouterr().out


def test_a_push_after_the_end_is_told(walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", str(walk), "-o", str(tmp_path / "no.bvh"), "--push", "chest 300 0 0 @5+0.2"]
    assert run(words) == 2
    told = capsys.readouterr()
    assert "--loop" in told.err
    assert "--allow" in told.err
    assert not (tmp_path / "no.bvh").exists()
    simulate(walk, tmp_path / "out.bvh", "--push", "chest 300 0 0 @5+0.2", "--allow")
    told = capsys.readouterr()
    assert "no effect" in told.err
    assert "never felt" in told.out
    assert "back within" not in told.out


def test_a_push_that_moves_nothing_far_is_not_back_within_no_time(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    simulate(walk, tmp_path / "out.bvh", "--push", "chest 2 0 0 @0.3+0.1")
    told = capsys.readouterr().out
    assert "back by the time the push ended" in told
    assert "within 0.0 s" not in told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--goal", "none", "--goal-without", "left_hand"], ["--goal-without", "--goal none"]),
        (["--engine", "pd", "--goal", "com-xy", "--hard-contact"], ["--goal, --hard-contact", "--engine pd"]),
        (["--seed", "3"], ["--seed", "rough"]),
        (["--headless"], ["--headless", "--live"]),
    ],
)
def test_options_that_change_nothing_are_told(
    words: list[str], said: list[str], walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    simulate(walk, tmp_path / "out.bvh", "--end", "0.2", *words)
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("warning: ")
    for word in said:
        assert word in line


def test_what_is_usual_is_not_told(walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    simulate(walk, tmp_path / "out.bvh", "--end", "0.2", "--terrain", "rough:0.3", "--seed", "3")
    assert capsys.readouterr().err == ""


def test_a_pull_is_called_one_and_level_ground_is_said(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    simulate(walk, tmp_path / "out.bvh", "--end", "0.3", "--pull", "left_hand 0 0 1 100 @0.1+0.1")
    assert "Pull of left_hand" in capsys.readouterr().out
    still = tmp_path / "still.npz"
    poise.save(held(poise.load(walk), 30, 0.3), still)
    simulate(still, tmp_path / "still_out.npz", "--terrain", "rough:0.15,3")
    assert "level within half a meter" in capsys.readouterr().out


def test_a_mass_nobody_gave_is_said(walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    big = tmp_path / "big.bvh"
    poise.save(poise.load(walk), big)
    simulate(big, tmp_path / "out.bvh", "--end", "0.2", "--unit", "0.02")
    assert "--mass" in capsys.readouterr().err
    simulate(big, tmp_path / "given.bvh", "--end", "0.2", "--unit", "0.02", "--mass", "500")
    assert "--mass" not in capsys.readouterr().err


def test_a_misspelt_joint_of_a_character_is_guessed(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figure = tmp_path / "figure.toml"
    assert run(["character", str(walk), "-o", str(figure)]) == 0
    figure.write_text(figure.read_text(encoding="utf-8").replace('"LeftForeArm"', '"LeftForArm"'), encoding="utf-8")
    capsys.readouterr()
    assert run(["simulate", str(walk), "-o", str(tmp_path / "out.bvh"), "--character", str(figure)]) == 2
    assert "Did you mean 'LeftForeArm'?" in capsys.readouterr().err


@needs_motions
def test_a_looped_clip_goes_back_where_it_came_from(tmp_path: Path) -> None:
    source = MOTIONS / "deepmimic" / "humanoid3d_walk.txt"
    out = tmp_path / "out.txt"
    assert run(["simulate", str(source), "-o", str(out), "--loop", "--push", "chest 200 100 0 @0.5+0.2"]) == 0
    character = next(tmp_path.glob("*character*"), None) or next(p for p in tmp_path.iterdir() if p != out)
    assert poise.load(out, skeleton=character).duration > 1.5 * poise.load(source).duration


def test_every_fallback_of_the_solver_has_words() -> None:
    assert Counts().fallbacks.keys() == SOLVER.keys()


def test_help_says_all_it_allows_on_a_narrow_screen() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "poise", "simulate", "--help"],
        env={**os.environ, "COLUMNS": "80"}, capture_output=True, text=True, encoding="utf-8", check=True,
    ).stdout  # fmt: skip
    words = " ".join(told.replace("│", " ").split())
    for allowed in ("none: no goal", "(.png)", "rough:HEIGHT,SEED (,MAXSLOPE)", "off: joint torques"):
        assert allowed in words
    assert "…" not in words.replace("JOINT,…", "").replace("0…1", "")


@needs_motions
@pytest.mark.parametrize(
    ("path", "words", "said"),
    [
        ("bvh/cmu_motionbuilder/02_01.bvh", ["--end", "0.3"], ["rest pose", "--start 0.0083"]),
        ("bvh/cmu_3dsmax/143_01.bvh", ["--end", "0.3"], ["contradicts the motion", "--source-fps 60"]),
        (
            "gltf/Fox.glb",
            ["--clip", "Run", "--end", "0.3", "--terrain", "slope:5"],
            ["79 m", "--height", "in place"],
        ),
        (
            "bvh/cmu_motionbuilder/05_20-mb.bvh",
            ["--start", "5.2", "--end", "5.6"],
            ["glitch", "carried over", "count from --start 5.2 s"],
        ),
    ],
)
def test_what_is_odd_about_a_clip_is_told_with_its_cure(
    path: str, words: list[str], said: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    simulate(MOTIONS / path, tmp_path / "out.bvh", *words)
    told = capsys.readouterr().err
    assert all(line.startswith(("warning: ", "Times and frames count from ")) for line in told.strip().splitlines())
    for word in said:
        assert word in told


@needs_motions
def test_a_push_on_a_glitch_is_not_said_to_be_felt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = MOTIONS / "bvh" / "cmu_motionbuilder" / "05_20-mb.bvh"
    frame = find_glitches(poise.load(path).cut(5.2, 5.6))[0].frame
    push = f"chest 300 0 0 @{(frame - 0.1) / 120:.4f}+0.008"
    simulate(path, tmp_path / "out.bvh", "--start", "5.2", "--end", "5.6", "--push", push)
    told = capsys.readouterr().out
    assert "not felt, since all of it falls on glitches" in told
    assert "back by the time" not in told


@needs_motions
def test_a_cured_clip_is_not_warned_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = MOTIONS / "bvh" / "cmu_motionbuilder" / "02_01.bvh"
    simulate(path, tmp_path / "out.bvh", "--start", "0.0083333", "--end", "0.3")
    assert "rest pose" not in capsys.readouterr().err


# --- interrupted


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT for one child on Windows")
def test_ctrl_c_writes_what_is_done(tmp_path: Path) -> None:
    out, report, sign = tmp_path / "out.bvh", tmp_path / "out.json", tmp_path / "under way"
    words = ["simulate", poise.sample_path("walk"), "-o", out, "--report", report, "--fps", "2000", "--push", SHOVE]
    assert "Interrupted" in interrupted(words, sign, "poise.filter.filter.SimulatedCharacter.advance", 200)
    done, whole = poise.load(out), sample_clip("walk")
    assert 6 <= done.frame_count < whole.frame_count
    assert np.abs(done.rotations[:6] - whole.rotations[:6]).max() < 1e-9, "the push came later"
    assert json.loads(report.read_text(encoding="utf-8"))["frames"] >= 200


def test_an_interrupt_while_drawing_says_what_is_written(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: Scene) -> None:
        raise KeyboardInterrupt

    out, page = tmp_path / "out.bvh", tmp_path / "page.html"
    monkeypatch.setattr(Scene, "__post_init__", interrupt)
    assert run(["simulate", str(walk), "-o", str(out), "--record", str(page)]) == 130
    assert f"Interrupted. Written: {out}. Not written: {page}." in capsys.readouterr().err
    assert out.exists()
    assert not page.exists()


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="no SIGINT for one child on Windows")
def test_ctrl_c_while_drawing_says_what_is_written(tmp_path: Path) -> None:
    out, film = tmp_path / "out.bvh", tmp_path / "film.gif"
    words = ["simulate", poise.sample_path("walk"), "-o", out, "--record", film]
    said = interrupted(words, tmp_path / "drawing", "poise.show.scene.scene.Scene.__post_init__", 1)
    assert f"Interrupted. Written: {out}. Not written: {film}." in said
    assert out.exists()
    assert not film.exists()


def test_an_interrupt_is_told_and_nothing_of_it_is_a_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["poise.cli.app"], "_command", lambda: typer.main.get_command(app))

    @app.command(name="stop", hidden=True)
    def stop() -> None:
        signal.raise_signal(signal.SIGINT)

    try:
        assert run(["stop"]) == 130
    finally:
        app.registered_commands.pop()
    assert capsys.readouterr().err == "poise: Interrupted.\n"


def test_a_figure_that_flies_is_cautioned_about(walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    simulate(walk, tmp_path / "out.bvh", "--push", "chest 0 0 3000 @0.1+0.3")
    said = capsys.readouterr().out
    assert "leaves the ground" in said
    assert "gentler push keeps it down" in said  # its physicality is 1 already
    simulate(walk, tmp_path / "low.bvh", "--push", SHOVE)
    assert "leaves the ground" not in capsys.readouterr().out
    poise.save(sample_clip("walk", 1.5), tmp_path / "walk.bvh")
    simulate(tmp_path / "walk.bvh", tmp_path / "wades.bvh", "--scene", "rubble:60,1,size=0.05-0.2,mass=1-5,shape=mesh")
    assert "leaves the ground" not in capsys.readouterr().out  # a foot hangs over stones, and the other stands


def test_outside_help_that_can_be_seen_is_cautioned_about(walk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = poise.simulate(poise.load(walk), pushes=[poise.Push("chest", (100.0, 0.0, 0.0), 0.3)])
    weight = 9.81 * result.report["source"]["mass"]
    for share, is_told in ((0.25, False), (0.35, True)):
        result.report.data["root_residual"]["force_rms_N"] = share * weight
        summarize_run(result, None)
        assert ("looks like a marionette" in " ".join(capsys.readouterr().out.split())) == is_told


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["--push", "chst 300 0 0 @0.1+0.1"], "'chest'"),
        (["--freeze", "LeftHnd"], "'LeftHand'"),
        (["--preset", "recomended"], "'recommended'"),
        (["--terrain", "star:0.2,0.6"], "'stairs'"),
    ],
)
def test_a_name_with_a_slip_is_answered_by_the_name_that_was_meant(
    words: list[str], meant: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", str(poise.sample_path("walk")), "-o", str(tmp_path / "a.bvh"), *words]) == 2
    assert f"id you mean {meant}" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_file_with_a_slip_in_its_name_is_answered_by_its_neighbor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    poise.save(sample_clip("walk", 0.2), tmp_path / "walk.bvh")
    assert run(["info", str(tmp_path / "wlk.bvh")]) == 2
    assert "Did you mean 'walk.bvh'?" in capsys.readouterr().err


def test_a_figure_held_up_by_a_few_centimeters_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    result = poise.simulate(sample_clip("walk", 0.5))
    result.report.data["scene"] = {"bodies": 1, "short_m": 0.04}
    summarize_run(result, None)
    said = capsys.readouterr().out
    assert "stopped or slowed it, 4 cm short" in said
    assert "Nothing disturbed it" not in said


def test_a_push_in_the_air_is_told_with_its_cure(capsys: pytest.CaptureFixture[str]) -> None:
    """A figure that lifts off at 0.6 s and hangs in the air; the same push on the ground is not told so."""
    hop = poise.load(poise.sample_path("hover_hop")).cut(1.8, 3.6)
    for start, is_aloft in ((0.05, False), (1.0, True)):
        result = poise.simulate(hop, pushes=[poise.Push("chest", (100.0, 0.0, 0.0), start, 0.2)])
        for share in (0.0, 0.5):
            result.report.data["root_residual"]["force_rms_N"] = share * 9.81 * result.report["source"]["mass"]
            summarize_run(result, None)
            said = f"in the air at {start:.2f} s" in capsys.readouterr().out
            assert said is (is_aloft and share > 0.3)
