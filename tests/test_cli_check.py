"""`poise check`: exit codes, JSON, reports on disk, folders on several processes, an interrupt."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from poise.check.clip import check_files, clip_files, floor_of_file, process_count
from poise.check.finding import Finding
from poise.check.profile import load_profile
from poise.check.report import ClipReport, Level
from poise.cli.app import run
from poise.cli.check import show
from poise.core.errors import InvalidValue
from tests.clips import MOTIONS, needs_motions, sample_clip
from tests.test_check_reports import check_junit

CLIP = {
    "file", "verdict", "flights", "contacts", "cop", "skating_ratio", "penetration_max_m", "jitter",
    "normalized_jerk_max", "root_residual", "float_max_m", "joint_speed_max", "limit_violations", "phases", "glitches",
    "scale", "unjudged", "findings",
}  # fmt: skip
FLIGHT = {"start_s", "end_s", "gravity_g", "track_error", "linear_momentum_error", "angular_momentum_error"}

WALK, HOP = poise.sample_path("walk"), poise.sample_path("hover_hop")


def checked(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict[str, Any]]:
    code = run(["check", *map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A folder in a folder: a good clip, a broken one, a skeleton, and things that are not clips."""
    folder = tmp_path / "library"
    (folder / "deep").mkdir(parents=True)
    poise.save(poise.load(WALK).cut(0.0, 2.0), folder / "deep" / "walk.bvh")
    (folder / "broken <b>.bvh").write_text("HIERARCHY\nROOT Hips\n{\n  OFFSET 0 0", encoding="utf-8")
    (folder / "readme.txt").write_text("nothing to see", encoding="utf-8")
    (folder / ".hidden.bvh").write_text("no", encoding="utf-8")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    return folder


def test_json_holds_every_promised_field(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = checked(capsys, HOP)
    assert code == 1
    assert found["schema"] == "poise.check/1"
    (clip,) = found["clips"]
    assert clip.keys() >= CLIP
    assert clip["verdict"] == "fail"
    assert clip["flights"][0].keys() >= FLIGHT
    assert clip["cop"].keys() == {"inside_ratio", "within_radius_ratio"}
    assert clip["scale"].keys() >= {"implied_size", "confidence"}
    assert clip["filter"]["hz"] > 0.0
    for finding in clip["findings"]:
        assert finding.keys() >= {"name", "measure", "threshold", "frames", "cures"}
        assert all(isinstance(c, str) for c in finding["cures"])
        assert all(0 <= a <= b < clip["frames"] for a, b in finding["frames"])
    assert found["profile"]["limits"]["gravity"]["min"] == load_profile("realistic")["gravity"].least


def test_a_good_clip_passes_and_a_bad_one_fails_only_on_what_was_asked(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = checked(capsys, WALK)
    assert (code, found["clips"][0]["verdict"], found["clips"][0]["findings"]) == (0, "pass", [])
    code, found = checked(capsys, HOP, "--fail-on", "glitch,skate", "--fail-on", "penetration")
    assert (code, found["clips"][0]["verdict"]) == (0, "pass")
    assert {f["name"] for f in found["clips"][0]["findings"]} >= {"gravity"}
    assert not any(f["fails"] for f in found["clips"][0]["findings"])
    assert checked(capsys, HOP, "--fail-on", "gravity")[0] == 1


def test_one_unreadable_file_is_reported_and_stops_nothing(
    library: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    html, junit, stats = tmp_path / "a.html", tmp_path / "a.xml", tmp_path / "stats"
    code, found = checked(capsys, library, "--html", html, "--junit", junit, "--stats", stats, "--jobs", 1)
    assert code == 1
    verdicts = {Path(c["file"]).name: c["verdict"] for c in found["clips"]}
    assert verdicts == {"broken <b>.bvh": "unreadable", "walk.bvh": "pass"}
    broken = next(c for c in found["clips"] if c["verdict"] == "unreadable")
    assert "broken <b>.bvh:4" in broken["error"]
    assert int(check_junit(junit.read_bytes()).attrib["errors"]) == 1
    assert "broken &lt;b&gt;.bvh" in html.read_text(encoding="utf-8")
    assert (stats / "quoted.csv").is_file()
    assert not [p for p in tmp_path.rglob("*.part")]


def test_what_cannot_be_read_is_said_once(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([library], [library, "--json"], [library / "broken <b>.bvh"]):
        run(["check", *map(str, words), "--jobs", "1"])
        told = capsys.readouterr()
        people = told.err if "--json" in words else told.out + told.err
        assert people.count("broken <b>.bvh:4") == 1


def test_a_character_file_is_taken_instead_of_a_fitted_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    heavy = tmp_path / "heavy.toml"
    fitted = poise.Character.fit(poise.load(WALK), masses="auto")
    # with its floor 30 cm higher, the same feet are deep in it
    poise.save_character(dataclasses.replace(fitted, floor=fitted.floor + 0.3), heavy)
    _, own = checked(capsys, WALK)
    _, told = checked(capsys, WALK, "--character", heavy)
    deeper = told["clips"][0]["penetration_max_m"] - own["clips"][0]["penetration_max_m"]
    assert deeper == pytest.approx(0.3, abs=0.02)
    assert run(["check", str(WALK), "--character", str(tmp_path / "none.toml")]) == 2
    assert "none.toml" in capsys.readouterr().err
    code, other = checked(capsys, poise.sample_path("quadruped"), "--character", heavy)
    assert (code, other["clips"][0]["verdict"]) == (2, "unreadable")
    # clips of another skeleton: once, by name, and not as if their files were at fault
    copies = [tmp_path / f"hound{k}.bvh" for k in range(2)]
    for copy in copies:
        copy.write_bytes(poise.sample_path("quadruped").read_bytes())
    capsys.readouterr()
    assert run(["check", *map(str, copies), "--character", str(heavy)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "cannot be read" not in line
    assert all(copy.name in line for copy in copies)
    assert "another skeleton" in line


def test_nothing_readable_is_wrong_use(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", str(library / "broken <b>.bvh")]) == 2
    assert "cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere.bvh"], "no file or folder nowhere.bvh"),
        ([str(WALK), "--profile", "real"], "realistic, strict, stylized"),
        ([str(WALK), "--fail-on", "gravty"], "Did you mean 'gravity'"),
        ([str(WALK), "--html", "no/such/folder/a.html"], "Create it first"),
        ([str(WALK), "--html", str(WALK)], "is the input file"),
        ([str(WALK), "--html", "a.x", "--junit", "a.x"], "same file"),
        ([str(WALK), "--jobs", "0"], "give 1 or more"),
        ([str(WALK), "--html", "x.xml"], "call it x.html"),
        ([str(WALK), "--stats", "p.toml"], "call it p."),
        ([], "FILE"),
    ],
)
def test_wrong_use_is_one_sentence(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", *words]) == 2
    error = capsys.readouterr().err
    assert said in " ".join(error.split())
    assert len(error.splitlines()) == 1


def test_what_is_there_is_not_overwritten_unasked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    page.write_text("mine", encoding="utf-8")
    assert run(["check", str(WALK), "--html", str(page)]) == 2
    assert page.read_text(encoding="utf-8") == "mine"
    assert run(["check", str(WALK), "--html", str(page), "--overwrite"]) == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    (tmp_path / "stats").mkdir()
    (tmp_path / "stats" / "mine.txt").write_text("mine", encoding="utf-8")
    assert run(["check", str(WALK), "--stats", str(tmp_path / "stats")]) == 2
    capsys.readouterr()


def test_a_person_reads_the_finding_the_threshold_and_the_cures(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", str(HOP), str(WALK)]) == 1
    told = capsys.readouterr().out
    assert "shorten the flight 93→" in told
    assert "allowed at least 0.7" in told
    assert "1 pass, 1 fail (profile realistic)" in told


def test_files_of_a_folder_are_the_ones_that_may_be_clips(library: Path) -> None:
    (library / "twist.vrma").write_bytes(b"glTF")  # always a clip; a .vrm is a figure, as a rule without one
    (library / "figure.vrm").write_bytes(b"glTF")
    names = [p.name for p in clip_files([library, library / "deep" / "walk.bvh"])]
    assert names == ["broken <b>.bvh", "walk.bvh", "twist.vrma"]


@needs_motions
def test_a_file_of_several_clips_and_one_without_motion(capsys: pytest.CaptureFixture[str]) -> None:
    fox, figure = MOTIONS / "gltf" / "Fox.glb", MOTIONS / "deepmimic" / "humanoid3d.txt"
    _, found = checked(capsys, fox, figure)
    assert [c["clip"] for c in found["clips"]] == ["Survey", "Walk", "Run"]
    assert found["without_motion"] == [str(figure)]
    _, found = checked(capsys, fox, "--clip", "Walk")
    assert len(found["clips"]) == 1
    _, found = checked(capsys, f"{fox}@Walk", f"{fox}@2", f"{fox}@Walk")
    assert [Path(c["file"]).name for c in found["clips"]] == ["Fox.glb@Walk", "Fox.glb@2"]
    _, found = checked(capsys, fox, "--clip", "all")  # as everywhere else
    assert [c["clip"] for c in found["clips"]] == ["Survey", "Walk", "Run"]


@needs_motions
def test_the_cure_of_a_wrong_rate_can_be_given_back_as_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    path = MOTIONS / "bvh" / "cmu_3dsmax" / "143_05.bvh"
    code, found = checked(capsys, path)
    assert code == 1
    assert "--source-fps 60" in found["clips"][0]["findings"][0]["cures"][0]
    assert checked(capsys, path, "--source-fps", 60)[0] == 0


@pytest.mark.long
def test_several_processes_say_what_one_says(library: Path) -> None:
    paths = clip_files([library, HOP])
    profile = load_profile("realistic")
    alone, together = check_files(paths, profile), check_files(paths, profile, jobs=2)
    assert [r.as_json() for r in alone] == [r.as_json() for r in together]
    assert [r.verdict for r in together] == ["unreadable", "pass", "fail"]
    assert process_count(paths[:1]) == 1
    with pytest.raises(InvalidValue):
        check_files(paths, profile, jobs=0)


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="interrupts are sent another way there")
def test_an_interrupt_leaves_no_half_file(library: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    words = ["check", str(library), str(HOP), "--html", str(page), "--jobs", "2"]
    code = f"from poise.cli import main; print('ready', flush=True); main({words!r})"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stderr=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")  # workers, and who keeps their resources
    for _ in range(300):
        if not children.exists() or len(children.read_text(encoding="utf-8").split()) > 2:
            break
        time.sleep(0.1)
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=60)
    if process.returncode == 1:
        pytest.skip("it had finished before it was interrupted")
    assert process.returncode == 130, error
    assert not page.exists()
    assert not list(tmp_path.glob(".page*"))


def test_a_clip_is_judged_on_the_ground_that_is_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    walk = sample_clip("walk")
    way = walk.world[0][:, 0, :2] - walk.world[0][0, 0, :2]
    rise = np.linalg.norm(way, axis=1) * np.tan(np.radians(10.0))
    translations = walk.translations.copy()
    translations[:, 0, 2] += rise
    path = tmp_path / "uphill.bvh"
    poise.save(dataclasses.replace(walk, translations=translations), path)
    flat = checked(capsys, path)[1]["clips"][0]
    slope = checked(capsys, path, "--terrain", "slope:10")[1]["clips"][0]
    assert [f for f in flat["findings"] if f["name"] in ("penetration", "float", "contacts")]
    assert slope["penetration_max_m"] < 0.12
    assert not [f for f in slope["findings"] if f["name"] in ("contacts", "gravity")]
    assert slope["verdict"] == "pass"


def test_a_pass_with_warnings_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    report = ClipReport("a.bvh", "", "pass", (Finding("jerk", 0.9, 0.2, (), "Joints shake", fails=False),))
    show([report], (), load_profile("realistic"))
    said = capsys.readouterr().out
    assert "a.bvh  (1 warning)" in said
    assert "warning: jerk  Joints shake." in said


def test_what_only_moving_platforms_need_is_not_loaded() -> None:
    """Every process of a check loads its modules anew; splines are a tenth of that time."""
    code = "import sys, poise.check.clip; sys.exit('scipy.interpolate' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_shell_says_what_was_not_judged_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    why = "Balance and the force at the hips are not judged: it is not clear where the floor lies."
    show([ClipReport("walk.bvh", "", "pass", unjudged=(why,))], (), load_profile("realistic"))
    assert " ".join(capsys.readouterr().out.split()) == f"pass walk.bvh {why}"


@needs_motions
def test_clips_of_a_file_stand_on_one_floor() -> None:
    """A clip in doubt is judged on the floor of the others; a body that lies in it is told of."""
    packs = MOTIONS.with_name("motions2") / "gltf"
    files = [next(packs.parent.rglob(name)) for name in ("cyberpunk_Character.glb", "mech_Leela.glb")]
    found = {c.clip.rpartition("|")[2]: c for c in check_files(files[:1], load_profile("realistic"))}
    assert any("taken from the other clips" in note for note in found["Sword_Slash"].notes)
    assert not any("where the floor lies" in said for said in found["Sword_Slash"].unjudged)
    found = {c.clip.rpartition("|")[2]: c for c in check_files(files[1:], load_profile("realistic"))}
    told = [name for name, c in found.items() if any("22 cm below it (--floor 0" in said for said in c.unjudged)]
    assert told == ["Death"]


def test_two_floors_in_a_file_settle_nothing() -> None:
    """Three clips must be sure of one floor, and two thirds of all that are."""

    def shared(*heights: float, unsure: int = 0) -> float | None:
        levels = [Level(h, 1.0, k >= unsure) for k, h in enumerate(heights)]
        return floor_of_file([ClipReport("a.glb", str(k), "pass", level=v) for k, v in enumerate(levels)])

    assert shared(0.0, 0.01, 0.0, 0.4) == 0.01
    assert shared(0.0, 0.01, 0.4) is None, "two agree"
    assert shared(-0.3, -0.3, -0.3, 0.0, 0.0) is None, "sitting and standing"
    assert shared(0.3, 0.0, 0.0, 0.0, unsure=2) is None, "two are sure"
