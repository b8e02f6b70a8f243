"""`retime` and `scale`: when things happen, what keeps its frames, and how size and time go together."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.analysis import center_of_mass
from poise.check.finding import Finding
from poise.core import rotations
from poise.core.errors import BudgetExceeded, InvalidValue
from poise.core.motion import Motion
from poise.edit import Budget, Scope, ballistic, fit_path, retime, scale
from poise.edit.report import new_findings
from poise.edit.scale import rest_height
from poise.io.gltf_pose import GltfSource
from poise.io.gltf_tree import node_local, node_parents
from poise.phases.floor import carried_ground, carrying, laid_under
from poise.terrain import Terrain
from tests.clips import MOTIONS, first_cases, needs_motions, sample_clip
from tests.edit_clips import FLIGHTS, ball, clip, hop


def test_a_factor_makes_the_clip_longer_and_its_gravity_weaker_by_the_square() -> None:
    motion = ball(gravity=9.0)
    result, report = retime(motion, factor=1.5)
    assert report["after"]["duration_s"] == pytest.approx(1.5 * motion.duration, abs=motion.dt)
    assert result.fps == pytest.approx(motion.fps)
    fit = fit_path(result.times[:-1], result.translations[:-1, 0])
    assert -fit.acceleration[2] == pytest.approx(9.0 / 1.5**2, rel=1e-9)


def test_both_ends_are_kept_and_poses_are_those_of_the_source() -> None:
    motion, _ = hop()
    for factor in (0.7, 1.0, 1.37, 3.0):
        result = retime(motion, factor=factor).motion
        for frame in (0, -1):
            assert rotations.angle_between(result.rotations[frame], motion.rotations[frame]).max() < 1e-9
            np.testing.assert_allclose(result.translations[frame], motion.translations[frame], atol=1e-12)


def test_outside_of_an_interval_the_frames_are_the_sources_own() -> None:
    motion, _ = hop()
    result, report = retime(motion, factor=1.4, scope=Scope(interval=(0.5, 1.5)))
    first, last = np.searchsorted(motion.times, [0.5, 1.5])
    tail = motion.frame_count - last - 1
    assert np.array_equal(result.rotations[:first], motion.rotations[:first])
    assert np.array_equal(result.translations[-tail:], motion.translations[-tail:])
    assert result.is_uniform
    assert report["changed"]["joint_angle_max_deg"] == 0.0
    # the speed goes smoothly: its change from frame to frame stays far below a jump from 1 to 1 / 1.4
    pelvis = result.translations[:, 0]
    speed = np.linalg.norm(np.diff(pelvis[:, :2], axis=0), axis=1) * result.fps
    own = np.linalg.norm(np.diff(motion.translations[:, 0, :2], axis=0), axis=1) * motion.fps
    assert np.abs(np.diff(speed)).max() < 1.5 * np.abs(np.diff(own)).max()


@pytest.mark.long
@needs_motions
def test_flights_may_keep_their_pace_while_the_rest_goes_slower() -> None:
    motion, character = clip("high jump")
    slow, report = retime(motion, character, factor=1.3)
    kept, own = retime(motion, character, factor=1.3, keep_flights=True)
    (was,), (now,), (same,) = (
        [f["gravity_g"] for f in flights]
        for flights in (report["before"]["flights"], report["after"]["flights"], own["after"]["flights"])
    )
    assert now == pytest.approx(was / 1.3**2, rel=0.02)
    assert same == pytest.approx(was, rel=0.02)
    assert motion.duration + 0.1 < kept.duration < slow.duration
    # what follows from the factor is said so, with what avoids it; nothing else is new
    assert report["check"]["asked"][0]["name"] == "gravity"
    for told in (report["check"]["new"], own["check"]["new"], own["check"]["asked"]):
        assert not told
    assert "--keep-flights" in " ".join(report["notes"])
    # less is offered, as much as passes
    (factor,) = re.findall(r"--factor (\S+) is as far", " ".join(report["notes"]))
    assert float(factor) == pytest.approx(math.sqrt(was / 0.7), abs=0.011)
    less = retime(motion, character, factor=float(factor)).report
    assert not less["check"]["asked"]
    assert retime(motion, character, factor=float(factor) + 0.04).report["check"]["asked"]


def test_an_interval_says_what_it_reached_and_what_falls_there() -> None:
    motion, _ = hop()
    result, report = retime(motion, factor=1.4, scope=Scope(interval=(0.3, 2.4)), verify=False)
    (said,) = report["notes"]
    reached = 1.0 + (result.duration - motion.duration) / 2.1
    assert f"{reached:.3g} × as long and not 1.4 ×" in said
    assert f"{1 / 1.4**2:.3g} of its gravity" in said
    before, after = (report[when]["flights"][0]["gravity_g"] for when in ("before", "after"))
    assert after == pytest.approx(before / 1.4**2, rel=0.02)
    assert not retime(motion, factor=1.4, verify=False)[1]["notes"]


def test_keys_happen_when_they_were_told_to() -> None:
    motion, _ = hop()
    wanted = {30: 0.9, 90: 1.5, 120: 2.6}
    moved = retime(motion, keys=wanted, move_keys=True).motion
    for frame, time in wanted.items():
        assert moved.times[frame] == pytest.approx(time, abs=1e-12)
    assert np.array_equal(moved.rotations, motion.rotations)
    result = retime(motion, keys=wanted).motion
    for frame, time in wanted.items():
        k = int(np.argmin(np.abs(result.times - time)))
        assert abs(result.times[k] - time) < 1e-6  # on the grid, but for the rounding of the file's frame time
        assert rotations.angle_between(result.rotations[k], motion.rotations[frame]).max() < 1e-5


def test_gravity_puts_the_flights_right_on_the_whole() -> None:
    motion, character = hop()
    _, report = retime(motion, character, gravity=9.81)
    assert report["before"]["flights"][0]["gravity_g"] < 0.3
    assert report["after"]["flights"][0]["gravity_g"] == pytest.approx(
        1.0,
        rel=0.15,  # this hop is not a parabola, and its third of the frames fall elsewhere on it
    )


def test_an_amount_of_zero_is_the_motion_itself() -> None:
    motion, _ = hop()
    assert retime(motion, factor=2.0, scope=Scope(0.0)).motion is motion
    assert scale(motion, 2.0, scope=Scope(0.0)).motion is motion
    half = retime(motion, factor=2.0, scope=Scope(0.5))
    assert half.motion.duration == pytest.approx(1.5 * motion.duration, abs=motion.dt)


def test_a_scaled_clip_scales_as_predicted() -> None:
    motion, character = hop()
    size = 2.25
    result, report = scale(motion, size)
    assert result.duration == pytest.approx(1.5 * motion.duration, abs=motion.dt)
    assert report["after"]["height_m"] == pytest.approx(size * report["before"]["height_m"])
    # at every moment the figure is the source's, K times as large, √K times later
    at = motion.resampled(np.minimum(result.times / 1.5, motion.times[-1]), is_bounded=True)
    np.testing.assert_allclose(result.world[0], size * at.world[0], atol=1e-9)
    # so it falls under the same gravity
    larger = poise.Character.fit(result, masses="auto")
    before = fit_path(motion.times[40:120], center_of_mass(motion, character)[40:120]).acceleration[2]
    after = fit_path(result.times[60:180], center_of_mass(result, larger)[60:180]).acceleration[2]
    assert after == pytest.approx(before, rel=0.02)
    assert scale(motion, size, keep_size=True).report["after"]["height_m"] == report["before"]["height_m"]
    assert scale(motion, size, keep_time=True).motion.duration == motion.duration
    back = scale(scale(motion, 4.0, keep_time=True).motion, 0.25, keep_time=True).motion
    np.testing.assert_allclose(back.world[0], motion.world[0], atol=1e-12)


def test_a_scaled_figure_is_judged_on_the_floor_of_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    motion, character = hop()
    seen: list[poise.Character] = []

    def findings_of(clip: Motion, figure: poise.Character, **_: object) -> tuple[Finding, ...]:
        seen.append(figure)
        return ()

    monkeypatch.setattr("poise.edit.report.findings_of", findings_of)
    scale(motion, 2.0)
    scale(motion, 2.0, keep_size=True)
    before, larger, _, same = seen
    assert same is before
    assert larger.floor == pytest.approx(2.0 * before.floor, abs=1e-12)
    assert larger.leg_length == pytest.approx(2.0 * before.leg_length)
    assert larger.mass == pytest.approx(8.0 * before.mass)
    # its center of mass is the source's, K times as far, so every length that a check measures is
    large = scale(motion, 2.0, keep_time=True, verify=False).motion
    np.testing.assert_allclose(
        center_of_mass(large, character.scaled(2.0)), 2.0 * center_of_mass(motion, character), atol=1e-9
    )


@needs_motions
def test_a_new_size_and_time_find_no_other_floor() -> None:
    toy = MOTIONS.with_name("motions2") / "gltf" / "character.glb"
    if not toy.is_file():
        pytest.skip("This clip is in the second set.")
    report = scale(poise.load(toy, clip="walk"), 1.5).report
    assert report["check"]["new"] == []


@first_cases(3, "spec", ["slope:6", "step:0.2", "stairs:0.12,0.3@20", "rough:0.1,3"])
def test_a_scaled_clip_carries_ground_of_its_size(spec: str, tmp_path: Path) -> None:
    motion = sample_clip("walk", 2.5)
    laid = laid_under(Terrain.parse(spec), motion, 0.1)
    upward = carrying(motion, laid)
    places = np.random.default_rng(3).uniform(-2.0, 2.0, (200, 2))

    def heights(clip: Motion, size: float) -> np.ndarray:
        ground = carried_ground(clip)
        assert ground is not None
        return ground.heights(size * places) / size

    poise.save(upward, path := tmp_path / "up.bvh")
    large = scale(upward, 1.6, verify=False).motion
    small = scale(large, 0.25, keep_time=True, verify=False).motion
    poise.save(small, tmp_path / "small.glb")
    sizes = (
        (upward, 1.0),
        (large, 1.6),
        (scale(upward, 1.6, keep_size=True, verify=False).motion, 1.0),
        (retime(upward, factor=1.3, verify=False).motion, 1.0),
        (poise.load(tmp_path / "small.glb"), 0.4),
        (poise.load(path, unit=3.0 * poise.load(path).source.unit), 3.0),  # pyright: ignore[reportOptionalMemberAccess]
        (poise.load(path, height=2.0 * rest_height(motion)), None),
    )
    for made, size in sizes:
        size = size or made.translations[0, 0, 0] / motion.translations[0, 0, 0]
        np.testing.assert_allclose(made.translations[0, 0], size * motion.translations[0, 0], rtol=1e-3)
        np.testing.assert_allclose(heights(made, size), laid.heights(places), atol=1e-6)


def test_a_clip_on_stairs_is_as_good_when_it_is_larger() -> None:
    motion = sample_clip("walk", 2.5)
    result = poise.simulate(motion, terrain=Terrain.parse("stairs:0.12,0.3")).motion
    assert carried_ground(result) is not None
    assert scale(result, 1.6).report["check"]["after"] == []


def test_ten_times_as_tall_is_the_root_of_ten_slower() -> None:
    report = scale(hop()[0], 10.0).report
    assert report["after"]["duration_s"] / report["before"]["duration_s"] == pytest.approx(math.sqrt(10.0), abs=0.01)


def test_wrong_use_is_refused() -> None:
    motion, _ = hop()
    with pytest.raises(InvalidValue, match="give one of them"):
        retime(motion)
    with pytest.raises(InvalidValue, match="give one of them"):
        retime(motion, factor=1.2, gravity=9.81)
    with pytest.raises(InvalidValue, match=r"0\.05 to 20"):
        retime(motion, factor=0.0)
    with pytest.raises(InvalidValue, match="do not rise"):
        retime(motion, keys={30: 1.0, 60: 0.5})
    with pytest.raises(InvalidValue, match="the clip has 0 to"):
        retime(motion, keys={9999: 1.0})
    with pytest.raises(InvalidValue, match="one size"):
        scale(motion, 2.0, scope=Scope(interval=(0.0, 1.0)))
    with pytest.raises(InvalidValue, match="changes nothing"):
        scale(motion, 2.0, keep_time=True, keep_size=True)
    with pytest.raises(BudgetExceeded):
        scale(motion, 2.0, budget=Budget.parse("root 1cm"))


def test_units_do_not_matter() -> None:
    motion, character = hop()
    size = 100.0
    sites = tuple(replace(s, offset=size * s.offset) for s in motion.skeleton.end_sites)
    skeleton = replace(motion.skeleton, offsets=size * motion.skeleton.offsets, end_sites=sites)
    big = replace(motion, skeleton=skeleton, translations=size * motion.translations, source=None)
    heavy = poise.Character.fit(big, masses="auto", mass=character.mass)
    one = ballistic(motion, character, flights=[(36, 128)], keep="timing").motion
    two = ballistic(big, heavy, flights=[(36, 128)], keep="timing", gravity=981.0).motion
    np.testing.assert_allclose(two.world[0] / size, one.world[0], atol=2e-3)  # fitted shapes differ a little with size


@needs_motions
def test_a_quadruped_is_retimed_and_scaled_like_anyone() -> None:
    motion = sample_clip("quadruped")
    result = scale(motion, 0.25).motion
    assert result.duration == pytest.approx(0.5 * motion.duration, abs=motion.dt)
    assert "high jump" in FLIGHTS
    assert clip("high jump")[0].frame_count > 0


@needs_motions
@first_cases(1, ("file", "chosen"), [("Fox.glb", "Walk"), ("cesium_man.gltf", None)])
def test_a_gltf_grows_with_its_skin_and_its_other_clips(file: str, chosen: str | None, tmp_path: Path) -> None:
    motion = poise.load(MOTIONS / "gltf" / file, clip=chosen)
    result, report = scale(motion, 3.0)
    poise.save(result, tmp_path / "big.glb")
    again = poise.load(tmp_path / "big.glb", clip=chosen)
    np.testing.assert_allclose(again.translations, result.translations, atol=1e-5 * np.abs(result.translations).max())
    np.testing.assert_allclose(again.skeleton.offsets, 3.0 * motion.skeleton.offsets, rtol=1e-6, atol=1e-6)
    extents = [np.ptp(_skin_at_rest(m), axis=0) for m in (motion, again)]
    np.testing.assert_allclose(extents[1], 3.0 * extents[0], rtol=1e-5)
    assert motion.source is not None
    others = [name for name in motion.source.clips if name != chosen][: 2 if chosen else 0]
    for name in others:
        before, after = (poise.load(p, clip=name) for p in (MOTIONS / "gltf" / file, tmp_path / "big.glb"))
        np.testing.assert_allclose(after.translations, 3.0 * before.translations, rtol=1e-6, atol=1e-6)
        assert np.array_equal(after.times, before.times)
    assert all(name in str(report["notes"]) for name in others)
    # the size alone: no channel changes, and still the file is not the source's own
    poise.save(scale(motion, 3.0, keep_time=True).motion, tmp_path / "still.glb")
    still = poise.load(tmp_path / "still.glb", clip=chosen)
    np.testing.assert_allclose(still.translations, 3.0 * motion.translations, rtol=1e-6, atol=1e-6)


def _skin_at_rest(motion: Motion) -> np.ndarray:
    """All vertices of the skin in the file's rest pose, in file units."""
    assert motion.source is not None
    assert isinstance(motion.source.document, GltfSource)
    document, places = motion.source.document, []
    parents = node_parents(document.file)

    def world(node: int) -> np.ndarray:
        place, turn, size = node_local(document.file, node)
        matrix = np.eye(4)
        matrix[:3, :3], matrix[:3, 3] = rotations.to_matrix(turn) * size, place
        return matrix if parents[node] < 0 else world(parents[node]) @ matrix

    joints = np.stack([world(n) for n in document.tree.nodes])
    for mesh in document.meshes:
        skinning = (joints @ mesh.inverse_binds)[mesh.joints]
        points = np.concatenate([mesh.positions, np.ones((len(mesh.positions), 1))], axis=1)
        places.append(np.einsum("vn,vnij,vj->vi", mesh.weights, skinning, points)[:, :3])
    return np.concatenate(places)


@needs_motions
def test_a_deepmimic_clip_is_written_with_its_character_of_the_new_size(tmp_path: Path) -> None:
    source = MOTIONS / "deepmimic" / "humanoid3d_spinkick.txt"
    motion = poise.load(source)
    result = scale(motion, 2.0).motion
    poise.save(result, tmp_path / "x.txt")
    again = poise.load(tmp_path / "x.txt")
    np.testing.assert_allclose(again.skeleton.offsets, 2.0 * motion.skeleton.offsets, atol=1e-12)
    for new, old in zip(again.skeleton.end_sites, motion.skeleton.end_sites, strict=True):
        np.testing.assert_allclose(new.offset, 2.0 * old.offset, atol=1e-12)
    np.testing.assert_allclose(again.translations, result.translations, atol=1e-9)
    # the clip is not written where its character cannot be
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "humanoid3d.txt").write_text("{}", encoding="utf-8")
    with pytest.raises(InvalidValue, match="another character"):
        poise.save(result, tmp_path / "taken" / "x.txt")
    assert not (tmp_path / "taken" / "x.txt").exists()


def test_no_frame_between_two_keys_swings_beyond_a_sudden_change() -> None:
    motion = sample_clip("walk", 1.0)
    places = motion.translations.copy()
    places[:, 0] = (np.arange(motion.frame_count) >= 30)[:, None] * np.array([0.0, 0.0, 0.4])
    popped, times = replace(motion, translations=places, source=None), np.linspace(0.0, motion.duration, 400)
    assert popped.resampled(times).translations[:, 0, 2].max() > 0.42
    for played in (popped.resampled(times, is_bounded=True), retime(popped, factor=1.3, verify=False).motion):
        height = played.translations[:, 0, 2]
        assert height.min() >= -1e-12
        assert height.max() <= 0.4 + 1e-12
    # where all goes smoothly, it is the same spline
    times = np.linspace(0.0, motion.duration, 97)
    smooth, bounded = motion.resampled(times), motion.resampled(times, is_bounded=True)
    assert np.degrees(rotations.angle_between(smooth.rotations, bounded.rotations)).max() < 0.5


def test_a_glitch_that_was_there_is_not_new_for_being_named_otherwise() -> None:
    was = Finding("glitch", 1.0, 0.0, ((10, 11),), "knee flips")
    later, same = (Finding("glitch", 1.0, 0.0, (span,), "foot spikes", where="foot") for span in ((13, 14), (10, 11)))
    other = Finding("glitch", 1.0, 0.0, ((30, 30),), "foot spikes", where="foot")
    moments = np.arange(60) / 1.3
    assert new_findings([was], [later, other], moments) == (other,)
    assert new_findings([was], [same, later, other]) == (later, other)  # no frame moved in time


@needs_motions
@first_cases(1, ("name", "finding"), [("bvh/cmu_3dsmax/143_40", "glitch"), ("../motions2/bvh/144_01", "joint-speed")])
def test_a_turn_that_the_source_makes_as_well_is_nothing_new(name: str, finding: str) -> None:
    path = MOTIONS / f"{name}.bvh"
    if not path.is_file():
        pytest.skip(f"no {path.name}; docs/clips.md says where it is from")
    motion = poise.load(path)
    report = retime(motion.cut(0.0, min(12.0, motion.duration)), factor=1.3).report["check"]
    assert finding in [f["name"] for f in report["after"]]
    assert finding not in [f["name"] for f in report["new"]]


def test_the_check_of_an_edit_fits_one_figure_on_the_ground_of_the_clip(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    walk = sample_clip("walk", 1.5)
    on_slope = carrying(walk, laid_under(Terrain.parse("slope:3"), walk, 0.0))
    fits: list[Motion] = []
    fit = sys.modules["poise.check.clip"].fit
    monkeypatch.setattr("poise.check.clip.fit", lambda motion, **how: fits.append(motion) or fit(motion, **how))
    assert "check" in poise.edit.scale(on_slope, 1.2).report.data
    assert len(fits) == 1
