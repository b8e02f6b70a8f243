"""`poise edit`: what each tool writes, its report, and one sentence for each wrong use."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import poise
from poise.body import save_character
from poise.body.character import figure
from poise.cli.app import run
from poise.cli.edit_run import flights_of, gravity_of, keeping_amount, vector
from poise.cli.outcome import MEASURES, lines
from poise.core.errors import BudgetExceeded, InvalidValue
from poise.core.units import GRAVITY
from poise.edit import Edited, EditReport, Scope
from poise.show.arrays import read_recording
from tests.clips import MOTIONS, first_cases, needs_motions, sample_clip
from tests.test_io_asf_amc import AMC, ASF

CHANGED = {"joint_angle_max_deg", "root_position_max_m", "frames"}
TOOLS = {
    "ballistic": ["--keep", "timing"],
    "spin": ["--momentum", "mean"],
    "retime": ["--factor", "1.25"],
    "scale": ["--size", "2"],
    "ground": [],
}


@pytest.fixture(scope="module")
def hop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled hop around its flight, as a BVH of its own."""
    path = tmp_path_factory.mktemp("clip") / "hop.bvh"
    poise.save(sample_clip("hover_hop").cut(1.9, 4.4), path)
    return path


@pytest.mark.parametrize("tool", TOOLS)
def test_each_tool_writes_a_clip_and_its_report(tool: str, hop: Path, tmp_path: Path) -> None:
    out, report = tmp_path / "out.bvh", tmp_path / "out.json"
    assert run(["edit", tool, str(hop), "-o", str(out), "--report", str(report), *TOOLS[tool]]) == 0
    data = json.loads(report.read_text(encoding="utf-8"))
    assert data["schema"] == "poise.edit/1"
    assert data["edit"] == tool
    assert data["changed"].keys() >= CHANGED
    assert {"before", "after", "kept"} <= data.keys()
    before, after = poise.load(hop), poise.load(out)
    assert after.skeleton.names == before.skeleton.names
    assert after.fps == pytest.approx(before.fps)
    assert after.frame_count == data["frames"]


def test_what_did_not_change_keeps_the_numbers_of_the_file(hop: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.bvh"
    assert run(["edit", "ballistic", str(hop), "-o", str(out)]) == 0
    rows = [path.read_text(encoding="utf-8").split("Frame Time")[1].splitlines()[1:] for path in (hop, out)]
    assert len(rows[1]) < len(rows[0])  # the flight was too long
    assert rows[0][:10] == rows[1][:10]
    assert rows[0][-10:] == rows[1][-10:]
    nothing = tmp_path / "nothing.bvh"
    assert run(["edit", "spin", str(hop), "-o", str(nothing), "--amount", "0"]) == 0
    assert nothing.read_bytes() == hop.read_bytes()


def test_grounding_twice_writes_the_same_file(hop: Path, tmp_path: Path) -> None:
    once, twice = tmp_path / "once.bvh", tmp_path / "twice.bvh"
    assert run(["edit", "ground", str(hop), "-o", str(once)]) == 0
    assert run(["edit", "ground", str(once), "-o", str(twice)]) == 0
    assert once.read_bytes() == twice.read_bytes()


def test_a_budget_refuses_with_exit_1_and_writes_nothing(
    hop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, report = tmp_path / "out.bvh", tmp_path / "out.json"
    words = ["edit", "ballistic", str(hop), "-o", str(out), "--keep", "timing", "--report", str(report)]
    assert run([*words, "--budget", "joint 3deg, root 2cm"]) == 1
    assert "the budget allows 2 cm" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    assert run([*words, "--budget", "joint 3deg, root 2cm", "--json"]) == 1
    assert "the budget allows 2 cm" in json.loads(capsys.readouterr().out)["refused"]
    assert run([*words, "--budget", "joint 90deg, root 9m"]) == 0


@first_cases(
    1,
    "words",
    [["scale", "--size", "0.5", "--budget", "root 3cm"], ["ballistic", "--budget", "joint 5deg, root 2cm"]],
    ids=lambda w: w[0],
)
def test_the_amount_that_a_refusal_names_is_taken(
    words: list[str], hop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["edit", words[0], str(hop), "-o", str(tmp_path / "out.bvh"), *words[1:]]
    assert run(asked) == 1
    found = re.search(r"An amount of ([0-9.e-]+) keeps it", capsys.readouterr().err)
    assert found is not None
    assert run([*asked, "--amount", found[1]]) == 0


def test_a_refusal_that_proportion_misjudges_finds_an_amount_by_trying() -> None:
    """Half the change at half the amount is what proportion says; here it is more."""

    def edit(scope: Scope) -> Edited:
        if scope.amount > 0.07:
            raise BudgetExceeded("Too far.", seen={}, allowed={}, amount=0.5 * scope.amount)
        return Edited(sample_clip("walk"), EditReport())

    with pytest.raises(BudgetExceeded) as refused:
        edit(Scope())
    assert 0.03 < keeping_amount(refused.value, Scope(), edit) <= 0.07


def test_the_summary_counts_in_whole_numbers_and_says_words() -> None:
    data = {
        "frames": 1100, "duration_s": 9.17, "notes": ["A note."],
        "changed": {"frames": 0, "joint": None, "joint_angle_max_deg": 0.0, "root_position_max_m": None,
                    "time_max_s": 1.2},
        "before": {"frames": 1234, "contact_frames": 1034, "penetration_max_m": 0.05, "skating_ratio": 0.25},
        "after": {"frames": 1100, "contact_frames": 1034, "penetration_max_m": 0.005, "skating_ratio": 0.0},
    }  # fmt: skip
    assert lines(Path("a.bvh"), data)[1:] == [
        "Poses stay as they were: moments shifted by up to 1.2 s",
        "Frames 1234 → 1100",
        "Deepest point in the floor 5 → 0.5 cm",
        "A note.",
    ]
    cut = {"frames": 0, "joint": None, "joint_angle_max_deg": 0.0, "root_position_max_m": None}
    assert lines(Path("a.bvh"), data | {"changed": cut})[1] == "134 frames were cut off; the others are unchanged."
    assert lines(Path("a.bvh"), data | {"changed": cut, "frames": 1234})[1] == "Nothing was changed."
    data["changed"] |= {"frames": 1, "joint": "hip", "joint_angle_max_deg": 1.0, "root_position_max_m": 14.284}
    assert "Changed 1 frame: joints up to 1.00° (hip), root up to 14.28 m" in lines(Path("a.bvh"), data)[1]


@pytest.mark.parametrize("tool", TOOLS)
def test_every_measure_of_a_report_has_words(tool: str, hop: Path, tmp_path: Path) -> None:
    report = tmp_path / "out.json"
    assert run(["edit", tool, str(hop), "-o", str(tmp_path / "out.bvh"), "--report", str(report), *TOOLS[tool]]) == 0
    before = json.loads(report.read_text(encoding="utf-8"))["before"]
    assert {k for k, v in before.items() if not isinstance(v, list)} <= MEASURES.keys()


def test_a_scaled_capture_is_written_with_its_skeleton(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "leg.asf").write_text(ASF, encoding="utf-8")
    (tmp_path / "leg_01.amc").write_text(AMC, encoding="utf-8")
    out = tmp_path / "large.amc"
    assert run(["edit", "scale", str(tmp_path / "leg_01.amc"), "-o", str(out), "--size", "2", "--keep-time"]) == 0
    before, after = poise.load(tmp_path / "leg_01.amc"), poise.load(out)
    np.testing.assert_allclose(after.world[0], 2.0 * before.world[0], atol=1e-9)
    np.testing.assert_allclose(after.skeleton.offsets, 2.0 * before.skeleton.offsets, atol=1e-12)
    assert (tmp_path / "leg.asf").read_text(encoding="utf-8") == ASF
    assert f"{tmp_path / 'large.asf'}: the skeleton" in capsys.readouterr().out
    # a skeleton in the way is said before anything is written
    (tmp_path / "other.asf").write_text(ASF, encoding="utf-8")
    words = ["edit", "scale", str(tmp_path / "leg_01.amc"), "-o", str(tmp_path / "other.amc"), "--size", "3"]
    assert run(words) == 2
    assert "holds another skeleton" in capsys.readouterr().err
    assert not (tmp_path / "other.amc").exists()


@needs_motions
def test_a_scaled_deepmimic_clip_is_written_with_its_character(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clip, out = MOTIONS / "deepmimic" / "humanoid3d_walk.txt", tmp_path / "out.txt"
    assert run(["edit", "scale", str(clip), "-o", str(out), "--size", "2"]) == 0
    np.testing.assert_allclose(poise.load(out).skeleton.offsets, 2.0 * poise.load(clip).skeleton.offsets, atol=1e-12)
    assert f"{tmp_path / 'humanoid3d.txt'}: the skeleton" in capsys.readouterr().out


def test_a_range_of_durations_writes_one_clip_each(hop: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.bvh"
    assert run(["edit", "ballistic", str(hop), "-o", str(out), "--duration", "0.4:0.8", "--count", "3"]) == 0
    frames = [poise.load(tmp_path / f"out-{k}.bvh").frame_count for k in (1, 2, 3)]
    assert all(12 <= more <= 14 for more in np.diff(frames))  # the borders take up to a frame each
    assert not out.exists()


def test_a_family_is_refused_before_its_first_file_is_written(hop: Path, tmp_path: Path) -> None:
    out, last = tmp_path / "out.bvh", tmp_path / "out-3.bvh"
    last.write_text("mine", encoding="utf-8")
    assert run(["edit", "ballistic", str(hop), "-o", str(out), "--duration", "0.4:0.8", "--count", "3"]) == 2
    assert last.read_text(encoding="utf-8") == "mine"
    assert sorted(p.name for p in tmp_path.glob("out*")) == ["out-3.bvh"]


def test_before_and_after_are_drawn(hop: Path, tmp_path: Path) -> None:
    out, strip = tmp_path / "out.bvh", tmp_path / "out.png"
    assert run(["edit", "ballistic", str(hop), "-o", str(out), "--record", str(strip)]) == 0
    with Image.open(strip) as picture:
        assert np.asarray(picture.convert("L")).std() > 5.0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ballistic", "--flight", "x"], "give frames such as 120:131"),
        (["ballistic", "--flight", "3:9999"], "not in this clip"),
        (["ballistic", "--gravity", "up"], "--gravity is 'up'"),
        (["ballistic", "--from", "1,2"], "three numbers"),
        (["ballistic", "--count", "3"], "needs a range"),
        (["spin", "--limbs", "wing"], "needs --by pose"),
        (["ballistic", "--keep", "both"], "give 'ends' or 'timing'"),
        (["spin", "--priority", "a"], "frame numbers"),
        (["spin", "--by", "magic"], "'root' or 'pose'"),
        (["retime"], "give one of them"),
        (["retime", "--keys", "3"], "frames and seconds"),
        (["scale", "--size", "-1"], "size is -1"),
        (["ground", "--amount", "2"], "from 0 to 1"),
        (["ground", "--interval", "5"], "two numbers with a colon"),
        (["ground", "--budget", "leg 3deg"], "There are 41 roles and joints"),
        (["spin", "--interval", "0.7:1.2"], "The interval cuts flight"),
        (["spin", "--interval", "0:0.1"], "No flight lies in the interval; the clip has flight"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_wrong_use_is_one_sentence_and_exit_2(
    words: list[str], said: str, hop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["edit", words[0], str(hop), "-o", str(tmp_path / "out.bvh"), *words[1:]]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert "Traceback" not in err
    assert not (tmp_path / "out.bvh").exists()


def test_a_character_of_another_skeleton_is_refused(
    hop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rig = tmp_path / "adult.toml"
    save_character(figure("adult"), rig)
    words = ["edit", "ground", str(hop), "-o", str(tmp_path / "out.bvh"), "--character", str(rig)]
    assert run(words) == 2
    assert "belongs to another skeleton" in capsys.readouterr().err


def test_the_input_and_existing_files_are_never_written_over(hop: Path, tmp_path: Path) -> None:
    was = hop.read_bytes()
    assert run(["edit", "retime", str(hop), "-o", str(hop), "--factor", "2", "--overwrite"]) == 2
    other = tmp_path / "other.bvh"
    other.write_text("mine", encoding="utf-8")
    assert run(["edit", "retime", str(hop), "-o", str(other), "--factor", "2"]) == 2
    assert hop.read_bytes() == was
    assert other.read_text(encoding="utf-8") == "mine"


def test_what_words_mean() -> None:
    assert gravity_of("1.3") == pytest.approx(1.3 * GRAVITY)
    assert gravity_of("1.3g") == pytest.approx(1.3 * GRAVITY)
    assert gravity_of("1.62m/s2") == pytest.approx(1.62)
    assert gravity_of("9.81") == pytest.approx(9.81)
    np.testing.assert_array_equal(gravity_of("0,-9.81,0"), [0.0, -9.81, 0.0])
    assert flights_of(None) == "all"
    assert flights_of(["3:9", "20:40,50:60"]) == [(3, 9), (20, 40), (50, 60)]
    with pytest.raises(InvalidValue):
        vector("--to", "1,2,x")


def test_a_recording_shows_the_original_beside_the_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "clips").mkdir()
    poise.save(poise.load(poise.sample_path("walk")).cut(0.0, 1.0), tmp_path / "clips" / "step.bvh")
    words = ["library", "mend", str(tmp_path / "clips"), "-o", str(tmp_path / "out"), "--jobs", "1"]
    assert run([*words, "--record", ".html", "--side-by-side"]) == 0
    seen = read_recording(tmp_path / "out" / "step.html").header
    assert [track["name"] for track in seen["tracks"]] == ["before", "after"]
    assert seen["title"] == "step.bvh: before and after"
    out = ["-o", str(tmp_path / "none.bvh"), "--side-by-side"]
    assert run(["edit", "clean", str(tmp_path / "clips" / "step.bvh"), *out]) == 2
    assert "give --record as well" in capsys.readouterr().err


def test_a_repair_in_a_scene_is_not_recorded_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What stands in the scene has one place: the option is refused, not ignored."""
    (tmp_path / "s.toml").write_text("[[bodies]]\nname = 'a'\n")
    words = ["edit", "repair", str(poise.sample_path("walk")), "-o", str(tmp_path / "out.bvh")]
    words += ["--scene", str(tmp_path / "s.toml"), "--record", str(tmp_path / "out.html"), "--side-by-side"]
    assert run(words) == 2
    assert "has one place" in capsys.readouterr().err
