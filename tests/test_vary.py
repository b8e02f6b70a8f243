"""Variants of a clip: the same for the same seed, plausible, different, and told in a table; runs that go on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.body import fit
from poise.check.clip import findings_of
from poise.cli.app import run
from poise.core import rotations
from poise.edit import ballistic, spin, vary
from poise.intake.anatomy import height_of
from poise.samples import sample_path
from tests.clips import sample_clip
from tests.planted import turned


@pytest.fixture(scope="module")
def walk() -> poise.Motion:
    return sample_clip("walk")


def test_a_variant_follows_from_its_seed_and_number(walk: poise.Motion) -> None:
    character = fit(walk)
    first = [vary.draw(walk, character, 7, k) for k in range(30)]
    assert first == [vary.draw(walk, character, 7, k) for k in range(30)]
    assert first != [vary.draw(walk, character, 8, k) for k in range(30)]
    assert len({v.words for v in first}) == 30
    assert any(v.terrain != "flat" for v in first)
    assert any(v.size != 1.0 for v in first)
    assert any(v.crates for v in first)
    assert any(v.responsiveness != 1.0 for v in first)
    assert all(v.words for v in first)


def test_a_style_of_no_change_is_the_clip(walk: poise.Motion) -> None:
    character = fit(walk)
    style = next(v.style for v in (vary.draw(walk, character, 0, k) for k in range(20)) if v.style is not None)
    still = vary.Style(dict.fromkeys(style.swing, 1.0), {})
    assert rotations.angle_between(vary.styled(walk, still).rotations, walk.rotations).max() < 1e-6
    other = vary.styled(walk, style)
    legs = [character.bodies[b].joint for limb in character.limbs if limb.kind == "leg" for b in limb.bodies]
    assert (other.rotations[:, legs] == walk.rotations[:, legs]).all()
    assert rotations.angle_between(other.rotations, walk.rotations).max() > 0.1


def test_travel_and_heading_are_no_other_motion(walk: poise.Motion) -> None:
    turned = walk.rotations.copy()
    turn = rotations.from_rotation_vector(np.array([0.0, 0.0, 1.3]))
    turned[:, 0] = rotations.multiply(turn, turned[:, 0])
    moved = walk.translations.copy()
    moved[:, 0] = rotations.rotate(turn, moved[:, 0]) + np.array([3.0, 1.0, 0.0])
    other = vary.shape_of(replace(walk, translations=moved, rotations=turned))
    own = vary.shape_of(walk)
    first = rotations.rotate(turn, own)
    assert vary.distance(other, first) < 1e-6
    assert vary.noise_of(walk) > 1e-4


def test_a_flight_stays_ballistic_in_another_style(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arms carried otherwise change path and angular momentum of a flight, which nothing may change in the air."""
    hop = poise.load(sample_path("hover_hop.bvh"))
    character, before = fit(hop), findings_of(hop)
    variant = vary.draw(hop, character, 1, 0)
    assert variant.style is not None
    assert not vary.reasons(vary.make(hop, character, variant, before, poise.World))
    monkeypatch.setattr(vary, "FLIGHT_FINDINGS", ())
    assert "spin" in vary.reasons(vary.make(hop, character, variant, before, poise.World))


def test_what_is_against_a_variant_is_found(walk: poise.Motion) -> None:
    character = fit(walk)
    before = findings_of(walk, character)
    hard = vary.Variant(pushes=(poise.Push("pelvis", (0.0, 0.0, 30000.0), 0.3, 0.2),))
    assert vary.reasons(vary.make(walk, character, hard, before, poise.World))
    assert not vary.reasons(vary.make(walk, character, vary.Variant(), before, poise.World))


def test_a_joint_that_flips_in_the_clip_is_not_the_fault_of_a_variant(walk: poise.Motion) -> None:
    """A check of a clip at a wrong rate says that alone, and nothing of a spike that its variants have, too."""
    part = walk.cut(0.0, 2.0)
    out = np.zeros((part.frame_count, 3))
    out[60, 0] = np.radians(40.0)
    spiked = turned(part, part.skeleton.names.index("LeftArm"), out)
    character = fit(part)
    still = vary.Variant()
    assert any(f.name == "glitch" and f.fails for f in findings_of(spiked, character))
    assert not vary.reasons(vary.make(spiked, character, still, (), poise.World))
    assert vary.own_faults((), part, spiked)[0].name == "glitch"
    assert not vary.own_faults((), spiked, spiked)


def test_crates_and_responsiveness_change_the_motion(walk: poise.Motion) -> None:
    character = fit(walk)
    before = findings_of(walk, character)
    ahead = walk.world[0][int(1.0 / walk.dt), 0]
    crate = vary.Crate((float(ahead[0]), float(ahead[1])), 0.3, 0.25, 4.0)
    push = poise.Push("chest", (0.0, 500.0, 0.0), 1.0, 0.15)
    part = walk.cut(0.0, 2.0)
    shapes = [
        vary.shape_of(vary.make(part, character, variant, before, poise.World).motion)
        for variant in (
            vary.Variant(),
            vary.Variant(crates=(crate,)),
            vary.Variant(pushes=(push,)),
            vary.Variant(pushes=(push,), responsiveness=0.65),
        )
    ]
    assert vary.distance(shapes[0], vary.shape_of(part)) < 1e-9
    assert vary.distance(shapes[1], shapes[0]) > 1e-3
    assert vary.distance(shapes[3], shapes[2]) > 1e-3
    assert vary.responsive(1.0) == poise.load_preset("recommended")


def test_variants_too_near_the_clip_are_counted_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    short = tmp_path / "short.bvh"
    poise.save(sample_clip("walk", 0.8), short)
    place = tmp_path / "variants"
    monkeypatch.setattr(vary, "APART", 1e6)
    asked = ["vary", str(short), "-o", str(place), "--jobs", "1", "-n", "3"]
    assert run(asked) == 0
    rows = json.loads((place / "variants.json").read_text())["variants"]
    near = sum("nearly the clip: " in row["why"] for row in rows)
    assert near
    said = capsys.readouterr().out
    assert "0 of 3 variants kept" in said
    assert f"{near} dropped: nearly the clip" in said
    assert "Try more" in said
    assert run([*asked, "--resume"]) == 0
    assert json.loads((place / "variants.json").read_text())["variants"] == rows


@pytest.mark.long
def test_a_run_writes_table_page_and_sheet_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "variants"
    asked = ["vary", str(sample_path("walk.bvh")), "--seed", "3", "-o", str(place), "--jobs", "1"]
    assert run([*asked, "-n", "4"]) == 0
    table = json.loads((place / "variants.json").read_text())
    assert [v["index"] for v in table["variants"]] == [0, 1, 2, 3]
    kept = [v for v in table["variants"] if v["kept"]]
    assert kept
    for row in table["variants"]:
        assert row["why"]
        assert row["words"]
        assert (row["file"] is not None) == row["kept"]
    assert sorted(p.name for p in place.glob("*.bvh")) == sorted(v["file"] for v in kept)
    page = (place / "index.html").read_text(encoding="utf-8")
    assert [row["file"] for row in kept if f'href="{row["file"]}"' not in page] == []
    assert page.count('<a href="') == len(kept) + 1  # and the sheet
    assert (place / "sheet.png").exists()
    written = {p: p.stat().st_mtime_ns for p in place.glob("*.bvh")}
    assert run([*asked, "-n", "5", "--resume", "--no-sheet"]) == 0
    again = json.loads((place / "variants.json").read_text())
    assert again["variants"][:4] == table["variants"]
    assert all(p.stat().st_mtime_ns == t for p, t in written.items())
    assert "4 were tried before" in capsys.readouterr().out


@pytest.mark.long
def test_parts_that_go_on_leave_nothing_out(tmp_path: Path) -> None:
    short = tmp_path / "short.bvh"
    poise.save(sample_clip("walk", 0.8), short)
    place = tmp_path / "variants"
    asked = ["vary", str(short), "-o", str(place), "--jobs", "1", "--no-sheet", "--resume"]
    for count, part in (("3", "1/2"), ("6", "1/2"), ("6", "2/2")):
        assert run([*asked, "-n", count, "--shard", part]) == 0
    rows = json.loads((place / "variants.json").read_text())["variants"]
    assert [row["index"] for row in rows] == list(range(6))
    lines = [json.loads(line) for log in place.glob("manifest*.jsonl") for line in log.read_text().splitlines()]
    assert sorted(line["name"][-4:] for line in lines) == [f"{k:04d}" for k in range(6)]


def test_what_cannot_be_asked_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clip = str(sample_path("walk.bvh"))
    assert run(["vary", clip, "-n", "0", "-o", str(tmp_path / "a")]) == 2
    assert run(["vary", clip, "--seed", "-1", "-o", str(tmp_path / "a")]) == 2
    assert run(["vary", clip, "--to", "usdz", "-o", str(tmp_path / "a")]) == 2
    assert "Write .usdc" in capsys.readouterr().err
    assert run(["vary", str(tmp_path), "-o", str(tmp_path / "a")]) == 2
    assert "no motion file" in capsys.readouterr().err
    assert not (tmp_path / "a").exists()


def test_a_clip_that_cannot_be_read_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "clips").mkdir()
    (tmp_path / "clips" / "bad.bvh").write_text("junk")
    (tmp_path / "clips" / "model.vrm").write_text("")
    place = tmp_path / "out"
    assert run(["library", "vary", str(tmp_path / "clips"), "-n", "2", "-o", str(place), "--jobs", "1"]) == 2
    told = capsys.readouterr()
    assert "bad-0000 and 1 more: " in told.err
    assert "begins with the word HIERARCHY" in told.err
    assert "(model.vrm)" in told.err
    assert "2 failed" in told.out
    assert "dropped" not in told.out
    assert "Try more" not in told.out
    page = (place / "index.html").read_text(encoding="utf-8")
    assert "2 clips, 2 failed" in page
    assert "begins with the word HIERARCHY" in page


def test_a_figure_without_a_clip_is_refused_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bones, _, _ = sample_path("walk").read_text(encoding="utf-8").partition("MOTION")
    (tmp_path / "bones.bvh").write_text(bones, encoding="utf-8")
    place = tmp_path / "out"
    assert run(["vary", str(tmp_path / "bones.bvh"), "-n", "3", "-o", str(place), "--jobs", "1"]) == 2
    told = capsys.readouterr()
    assert "failed" not in told.out
    assert "for the motion get the whole file" in " ".join(told.err.split())
    assert not place.exists()


def test_one_clip_of_a_file_is_varied(walk: poise.Motion, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two = tmp_path / "two.gltf"
    poise.save(walk.cut(0.0, 2.0), two)
    content = json.loads(two.read_text(encoding="utf-8"))
    content["animations"] = [{**content["animations"][0], "name": name} for name in ("first", "second")]
    two.write_text(json.dumps(content), encoding="utf-8")
    words = ["vary", f"{two}@second", "-n", "1", "-o", str(tmp_path / "out"), "--jobs", "1"]
    assert run(words) == 0
    (row,) = json.loads((tmp_path / "out" / "variants.json").read_text(encoding="utf-8"))["variants"]
    assert row["file"].endswith(".gltf")
    assert run([*words, "--clip", "first"]) == 2
    assert "names a clip" in capsys.readouterr().err


def test_a_flight_that_a_push_presses_down_falls_as_gravity_asks() -> None:
    """What `mend` gives to `ballistic` and `spin` is what a variant's flights are given to them for, gravity too."""
    hop = poise.load(sample_path("hover_hop.bvh"))
    hop = spin(ballistic(hop, verify=False).motion, verify=False).motion
    (flight,) = poise.analyze(hop).flights
    push = poise.Push("pelvis", (0.0, 0.0, -800.0), float(hop.times[flight.first]), 0.54)
    tried = vary.make(hop, fit(hop), vary.Variant(pushes=(push,)), findings_of(hop), poise.World)
    assert not vary.reasons(tried)  # gravity 2.01 g before


def test_variants_have_the_height_that_is_given(tmp_path: Path) -> None:
    place = tmp_path / "variants"
    asked = ["vary", str(sample_path("walk.bvh")), "--seed", "3", "--no-sheet", "-o", str(place), "--jobs", "1"]
    assert run([*asked, "-n", "2", "--height", "0.9m"]) == 0
    rows = [v for v in json.loads((place / "variants.json").read_text())["variants"] if v["kept"]]
    assert rows
    for row in rows:
        assert height_of(poise.load(place / row["file"])) == pytest.approx(0.9 * row["size"], rel=0.05)
