"""USD: figures written and read against UsdSkel's own evaluation, keys that stay, stages of every kind, bad files."""

from __future__ import annotations

import struct
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from poise.core import rotations
from poise.core.errors import FileFormatError, InvalidValue
from poise.core.motion import Ground, Motion
from poise.edit.scale import sized
from tests.clips import MOTIONS, needs_motions
from tests.test_round_trips import figure

pytest.importorskip("pxr", reason='needs usd-core: pip install "poise[usd]"')
Gf, Usd, UsdGeom, UsdSkel, Vt = (import_module(f"pxr.{n}") for n in ("Gf", "Usd", "UsdGeom", "UsdSkel", "Vt"))

STAGE = """#usda 1.0
(
    metersPerUnit = 0.01
    upAxis = "Y"
    timeCodesPerSecond = 24
    startTimeCode = 1
    endTimeCode = 3
)
def SkelRoot "Beast" (prepend apiSchemas = ["SkelBindingAPI"])
{
    double3 xformOp:translate = (10, 0, 0)
    uniform token[] xformOpOrder = ["xformOp:translate"]
    def Skeleton "Skel" (prepend apiSchemas = ["SkelBindingAPI"])
    {
        uniform token[] joints = ["Hips", "Hips/Leg", "Hips/Leg/Foot", "Hips/Arm"]
        uniform matrix4d[] bindTransforms = [
            ((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,90,0,1)), ((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,50,0,1)),
            ((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,5,0,1)), ((1,0,0,0),(0,1,0,0),(0,0,1,0),(20,90,0,1))]
        uniform matrix4d[] restTransforms = [
            ((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,90,0,1)), ((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,-40,0,1)),
            ((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,-45,0,1)), ((1,0,0,0),(0,1,0,0),(0,0,1,0),(20,0,0,1))]
        rel skel:animationSource = </Beast/Skel/Walk>
        def SkelAnimation "Walk"
        {
            uniform token[] joints = ["Hips/Leg", "Hips"]
            float3[] translations.timeSamples = {
                1: [(0, -40, 0), (0, 90, 0)], 2: [(0, -40, 0), (0, 91, 3)], 3: [(0, -40, 0), (0, 92, 6)] }
            quatf[] rotations.timeSamples = {
                1: [(1, 0, 0, 0), (1, 0, 0, 0)], 2: [(0.6, 0.8, 0, 0), (1, 0, 0, 0)],
                3: [(0.8, 0, 0.6, 0), (1, 0, 0, 0)] }
            half3[] scales = [(1, 1, 1), (1, 1, 1)]
        }
    }
    def SkelAnimation "Idle"
    {
        uniform token[] joints = ["Hips"]
        float3[] translations.timeSamples = { 1: [(0, 90, 0)], 2: [(0, 89, 0)] }
        quatf[] rotations = [(1, 0, 0, 0)]
        half3[] scales = [(1, 1, 1)]
    }
    def Mesh "Skin" (prepend apiSchemas = ["SkelBindingAPI"])
    {
        point3f[] points = [(0, 95, 0), (5, 50, 0), (0, 0, 5), (0, 0, -5)]
        int[] faceVertexCounts = [4]
        int[] faceVertexIndices = [0, 1, 2, 3]
        color3f[] primvars:displayColor = [(1, 0, 0)]
        int[] primvars:skel:jointIndices = [0, 1, 2, 2] (elementSize = 1; interpolation = "vertex")
        float[] primvars:skel:jointWeights = [1, 1, 1, 1] (elementSize = 1; interpolation = "vertex")
        rel skel:skeleton = </Beast/Skel>
    }
}
"""


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    file = tmp_path / "beast.usda"
    file.write_text(STAGE)
    return file


def joints_by_usd(path: Path, times: np.ndarray, clip: str | None = None) -> np.ndarray:
    """Places of all joints [m], Z up, by UsdSkel's own evaluation, shape (F, J, 3)."""
    stage = Usd.Stage.Open(str(path))
    prim = next(p for p in stage.Traverse() if p.IsA(UsdSkel.Skeleton))
    if clip is not None:
        found = next(p for p in stage.Traverse() if p.GetName() == clip)
        UsdSkel.BindingAPI(prim).CreateAnimationSourceRel().SetTargets([found.GetPath()])
    query, places = UsdSkel.Cache().GetSkelQuery(UsdSkel.Skeleton(prim)), UsdGeom.XformCache()
    found = []
    for code in times * stage.GetTimeCodesPerSecond():
        code = float(round(code)) if abs(code - round(code)) < 1e-3 else float(code)
        places.SetTime(code)
        found.append(
            (np.array(query.ComputeJointSkelTransforms(code)) @ np.array(places.GetLocalToWorldTransform(prim)))[
                :, 3, :3
            ]
        )
    at = np.array(found) * UsdGeom.GetStageMetersPerUnit(stage)
    return at if UsdGeom.GetStageUpAxis(stage) == "Z" else np.stack([at[..., 0], -at[..., 2], at[..., 1]], axis=-1)


def bent(motion: Motion, joint: int, frames: slice) -> Motion:
    turned = motion.rotations.copy()
    turned[frames, joint] = rotations.multiply(
        turned[frames, joint], rotations.from_rotation_vector(np.array([0.3, 0.1, 0]))
    )
    return replace(motion, rotations=turned)


def test_a_stage_is_read_as_usd_evaluates_it(stage: Path) -> None:
    walk = poise.load(stage, clip="Walk")
    assert walk.skeleton.names == ("Hips", "Leg", "Foot", "Arm")
    assert walk.fps == pytest.approx(24.0)
    assert walk.world[0] == pytest.approx(joints_by_usd(stage, 1 / 24 + walk.times), abs=1e-7)
    assert walk.world[0][0, 0] == pytest.approx([0.1, 0.0, 0.9], abs=1e-9)  # centimeters, Y up, moved by the SkelRoot
    idle = poise.load(stage, clip="Idle")
    assert idle.world[0] == pytest.approx(joints_by_usd(stage, 1 / 24 + idle.times, "Idle"), abs=1e-7)
    source = walk.source
    assert source is not None
    assert (source.format, source.unit, source.up, source.clips) == ("usd", 0.01, "y", ("Walk", "Idle"))
    (mesh,) = source.document.meshes
    assert len(mesh.positions) == 4
    assert mesh.indices.tolist() == [[0, 1, 2], [0, 2, 3]]
    assert mesh.color == pytest.approx((1.0, 0.0, 0.0))


def test_uneven_scale_reaches_every_joint_below(tmp_path: Path) -> None:
    file, again = tmp_path / "flat.usda", tmp_path / "again.usda"
    file.write_text(
        STAGE.replace("half3[] scales = [(1, 1, 1), (1, 1, 1)]", "half3[] scales = [(1, 1, 1), (1, 2, 1)]", 1)
    )
    walk = poise.load(file, clip="Walk")
    assert walk.world[0] == pytest.approx(joints_by_usd(file, 1 / 24 + walk.times), abs=1e-6)
    edited = bent(walk, 0, slice(1, 2))
    poise.save(edited, again)
    assert joints_by_usd(again, 1 / 24 + walk.times)[:, 0] == pytest.approx(edited.world[0][:, 0], abs=1e-6)
    assert poise.load(again, clip="Walk").world[0] == pytest.approx(edited.world[0], abs=1e-6)


def test_a_stage_older_than_the_binding_schema_keeps_skin_and_clip(tmp_path: Path) -> None:
    file, mesh = tmp_path / "old.usda", "rel skel:skeleton = </Beast/Skel>"
    source = "rel skel:animationSource = </Beast/Skel/Walk>"
    text = STAGE.replace(' (prepend apiSchemas = ["SkelBindingAPI"])', "").replace(source, "")
    file.write_text(text.replace(mesh, f"{mesh}\n        {source}"))
    motion = poise.load(file, clip="Walk")
    assert motion.skeleton.skin is not None
    assert motion.skeleton.skin == pytest.approx([1.0, 1.0, 2.0, 0.0])
    assert motion.world[0][1, 1] != pytest.approx(motion.world[0][0, 1], abs=1e-3)
    again = tmp_path / "again.usda"
    poise.save(bent(motion, 1, slice(1, 2)), again)
    assert 'apiSchemas = ["SkelBindingAPI"]' not in again.read_text()


def test_a_mirrored_limb_is_read_and_written(stage: Path, tmp_path: Path) -> None:
    """As in rigs whose right side is a mirror of the left one: a point reflection of the leg and all below it."""
    text = stage.read_text().replace(
        "(0,0,1,0),(0,-40,0,1))", "(0,0,1,0),(0,-40,0,1))".replace("0,0,1,0", "0,0,-1,0"), 1
    )
    text = text.replace("half3[] scales = [(1, 1, 1), (1, 1, 1)]", "half3[] scales = [(-1, -1, -1), (1, 1, 1)]", 1)
    stage.write_text(text)
    walk = poise.load(stage, clip="Walk")
    wanted = joints_by_usd(stage, 1 / 24 + walk.times)
    assert walk.world[0] == pytest.approx(wanted, abs=1e-7)
    assert wanted[0, 2, 2] > wanted[0, 1, 2]  # the foot's offset is turned round with the leg
    copy = tmp_path / "copy.usda"
    poise.save(bent(walk, 1, slice(1, 2)), copy)
    again = joints_by_usd(copy, 1 / 24 + walk.times)
    assert again[[0, 2]] == pytest.approx(wanted[[0, 2]], abs=1e-7)
    assert again[1] == pytest.approx(bent(walk, 1, slice(1, 2)).world[0][1], abs=1e-7)
    # without keys of its own, too
    other = stage.with_name("still.usda")
    other.write_text(text.replace('joints = ["Hips"]', 'joints = ["Hips/Arm"]').replace("(0, 90, 0)]", "(20, 0, 0)]"))
    idle = poise.load(other, clip="Idle")
    assert idle.world[0] == pytest.approx(joints_by_usd(other, 1 / 24 + idle.times, "Idle"), abs=1e-7)


def test_a_scale_that_only_the_clip_states_sizes_the_figure(stage: Path) -> None:
    """As in agents of crowds: the skeleton rests in centimeters, and each clip scales it by a constant."""
    text = stage.read_text().replace(
        "half3[] scales = [(1, 1, 1), (1, 1, 1)]", "half3[] scales = [(1, 1, 1), (0.5, 0.5, 0.5)]"
    )
    stage.write_text(text)
    walk = poise.load(stage, clip="Walk")
    assert walk.world[0] == pytest.approx(joints_by_usd(stage, 1 / 24 + walk.times), abs=1e-7)
    assert np.linalg.norm(walk.skeleton.offsets, axis=1)[1:] == pytest.approx([0.2, 0.225, 0.1])
    assert walk.source is not None
    assert walk.source.document.joint_scales == pytest.approx([0.005] * 4)
    assert np.linalg.norm(poise.load(stage, clip="Idle").skeleton.offsets, axis=1)[1:] == pytest.approx(
        [0.4, 0.45, 0.2]
    )


def test_several_animations_need_a_name(stage: Path) -> None:
    with pytest.raises(FileFormatError, match="2 clips: 0 'Walk', 1 'Idle'"):
        poise.load(stage)


def test_what_a_user_says_counts(stage: Path) -> None:
    plain = poise.load(stage, clip="Walk")
    assert poise.load(stage, clip="Walk", unit="m").world[0] == pytest.approx(100.0 * plain.world[0], rel=1e-6)
    z_up = poise.load(stage, clip="Walk", up="z").world[0]
    assert z_up[..., 1] == pytest.approx(plain.world[0][..., 2], abs=1e-9)
    assert poise.load(stage, clip="Walk", height=1.8).source.unit > 0.01  # type: ignore[union-attr]
    for motion in (poise.load(stage, clip="Walk", height=1.8), poise.load(stage, clip="Walk", up="z")):  # written so
        poise.save(motion, stage.with_name("said.usda"))
        assert np.allclose(poise.load(stage.with_name("said.usda"), clip="Walk").world[0], motion.world[0], atol=1e-9)


def test_an_untouched_motion_is_the_same_file(stage: Path) -> None:
    poise.save(poise.load(stage, clip="Walk"), stage.with_name("copy.usda"))
    assert stage.with_name("copy.usda").read_bytes() == stage.read_bytes()


@pytest.mark.parametrize("kind", ["usda", "usdc", "usd"])
def test_what_did_not_change_stays(stage: Path, kind: str) -> None:
    walk = bent(poise.load(stage, clip="Walk"), 1, slice(1, 2))
    copy = stage.with_name(f"copy.{kind}")
    poise.save(walk, copy)
    back = poise.load(copy, clip="Walk")
    assert back.times.tolist() == walk.times.tolist()
    assert back.world[0] == pytest.approx(walk.world[0], abs=1e-7)
    before, after = Usd.Stage.Open(str(stage)), Usd.Stage.Open(str(copy))
    for name in ("Skel/Walk", "Idle"):
        old, new = (UsdSkel.Animation(s.GetPrimAtPath(f"/Beast/{name}")) for s in (before, after))
        assert old.GetTranslationsAttr().GetTimeSamples() == new.GetTranslationsAttr().GetTimeSamples()
        for code in old.GetTranslationsAttr().GetTimeSamples():
            assert old.GetTranslationsAttr().Get(code) == new.GetTranslationsAttr().Get(code)
    old, new = (UsdSkel.Animation(s.GetPrimAtPath("/Beast/Skel/Walk")).GetRotationsAttr() for s in (before, after))
    assert new.GetTimeSamples() == [1.0, 2.0, 3.0]
    for code in (1.0, 2.0, 3.0):
        assert (old.Get(code)[0] == new.Get(code)[0]) == (code != 2.0)
        assert old.Get(code)[1] == new.Get(code)[1]
    assert (
        after.GetPrimAtPath("/Beast/Skin").GetAttribute("points").Get()
        == before.GetPrimAtPath("/Beast/Skin").GetAttribute("points").Get()
    )


def test_a_joint_the_animation_did_not_name_is_added(stage: Path) -> None:
    walk = bent(poise.load(stage, clip="Walk"), 3, slice(0, 3))
    copy = stage.with_name("copy.usda")
    poise.save(walk, copy)
    assert poise.load(copy, clip="Walk").world[0] == pytest.approx(walk.world[0], abs=1e-7)
    assert joints_by_usd(copy, 1 / 24 + walk.times) == pytest.approx(walk.world[0], abs=1e-7)
    opened = Usd.Stage.Open(str(copy))
    animation = UsdSkel.Animation(opened.GetPrimAtPath("/Beast/Skel/Walk"))
    assert list(animation.GetJointsAttr().Get()) == ["Hips/Leg", "Hips", "Hips/Arm"]


def test_cut_and_resampled_clips_are_written(stage: Path) -> None:
    walk = poise.load(stage, clip="Walk")
    for other in (walk.cut(1 / 24, 2 / 24), poise.io.resampled_to(walk, 96.0)):
        copy = stage.with_name("copy.usda")
        poise.save(other, copy)
        back = poise.load(copy, clip="Walk")
        assert back.times == pytest.approx(other.times, abs=1e-6)
        assert back.world[0] == pytest.approx(other.world[0], abs=1e-7)


def test_the_ground_is_carried_along(stage: Path) -> None:
    walk = poise.load(stage, clip="Walk")
    assert walk.source is not None
    ground = Ground("slope:15", (1.0, 2.0), 0.5, 0.1)
    poise.save(replace(walk, source=replace(walk.source, ground=ground)), stage.with_name("copy.usda"))
    back = poise.load(stage.with_name("copy.usda"), clip="Walk").source
    assert back is not None
    assert back.ground == ground


def test_root_motion_on_prims(stage: Path) -> None:
    text = STAGE.replace(
        "double3 xformOp:translate = (10, 0, 0)",
        "double3 xformOp:translate.timeSamples = { 1: (10, 0, 0), 3: (10, 0, 40) }",
    )
    stage.write_text(text)
    walk = poise.load(stage, clip="Walk")
    assert walk.skeleton.names[0] == "Beast"
    hips = walk.skeleton.names.index("Hips")
    assert walk.world[0][:, hips] == pytest.approx(joints_by_usd(stage, 1 / 24 + walk.times)[:, 0], abs=1e-6)
    moved = walk.translations.copy()
    moved[:, 0, 2] += 0.2
    raised = replace(walk, translations=moved)
    poise.save(raised, stage.with_name("copy.usda"))
    assert poise.load(stage.with_name("copy.usda"), clip="Walk").world[0] == pytest.approx(raised.world[0], abs=1e-6)


def test_prims_that_move_without_a_skeleton(tmp_path: Path) -> None:
    made = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(made, 1.0)
    body = UsdGeom.Xform.Define(made, "/Robot")
    arm = UsdGeom.Cube.Define(made, "/Robot/Arm")
    arm.AddTranslateOp().Set(Gf.Vec3d(0, 1, 0))
    for code in range(5):
        body.AddTranslateOp().Set(Gf.Vec3d(code, 0, 0), code) if code == 0 else body.GetOrderedXformOps()[0].Set(
            Gf.Vec3d(code, 0, 0), code
        )
    made.Export(str(tmp_path / "robot.usda"))
    motion = poise.load(tmp_path / "robot.usda")
    assert motion.skeleton.names == ("Robot", "Arm")
    assert motion.world[0][:, 1, 0] == pytest.approx(np.arange(5.0))
    assert motion.world[0][:, 1, 2] == pytest.approx(np.ones(5))


def test_of_several_skeletons_the_largest_is_the_figure(stage: Path) -> None:
    prop = """def SkelRoot "Prop" {
    def Skeleton "Lid" (prepend apiSchemas = ["SkelBindingAPI"])
    {
        uniform token[] joints = ["Lid"]
        uniform matrix4d[] restTransforms = [((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,0,1))]
        rel skel:animationSource = </Prop/Open>
    }
    def SkelAnimation "Open"
    {
        uniform token[] joints = ["Lid"]
        quatf[] rotations = [(1, 0, 0, 0)]
    }
}
"""
    stage.write_text(
        STAGE.replace(
            'def SkelRoot "Beast"', prop.replace("{\n    def Skel", "\n{\n    def Skel", 1) + 'def SkelRoot "Beast"'
        )
    )
    walk = poise.load(stage, clip="Walk")
    assert walk.skeleton.names == ("Hips", "Leg", "Foot", "Arm")
    assert walk.source is not None
    assert walk.source.clips == ("Walk", "Idle")
    assert any("/Prop/Lid" in w for w in walk.source.warnings)


def test_layers_and_instances_are_one_stage(stage: Path, tmp_path: Path) -> None:
    top = tmp_path / "scene" / "top.usda"
    top.parent.mkdir()
    top.write_text(
        '#usda 1.0\n(upAxis = "Y"; metersPerUnit = 0.01; timeCodesPerSecond = 24)\n'
        'def Xform "World"\n{\n'
        '    def Xform "Cast" (instanceable = true; references = @../beast.usda@</Beast>)\n    {\n    }\n'
        "}\n"
    )
    walk = poise.load(top, clip="Walk")
    assert walk.world[0] == pytest.approx(poise.load(stage, clip="Walk").world[0], abs=1e-7)
    changed = bent(walk, 2, slice(0, 3))
    poise.save(changed, tmp_path / "copy.usdc")
    assert poise.load(tmp_path / "copy.usdc", clip="Walk").world[0] == pytest.approx(changed.world[0], abs=1e-7)


@pytest.mark.parametrize(("unit", "up"), [(None, None), ("cm", "y")])
def test_any_motion_becomes_a_stage(tmp_path: Path, unit: str | None, up: str | None) -> None:
    motion = figure(20, np.arange(20) / 30.0, lying=True)
    copy = tmp_path / "copy.usdc"
    poise.save(motion, copy, unit=unit, up=up)
    back = poise.load(copy)
    assert back.skeleton.names == motion.skeleton.names
    assert back.world[0] == pytest.approx(motion.world[0], abs=1e-6)
    assert joints_by_usd(copy, motion.times) == pytest.approx(motion.world[0], abs=1e-6)
    assert [e.joint for e in back.skeleton.end_sites] == [e.joint for e in motion.skeleton.end_sites]
    assert back.skeleton.end_sites[0].offset == pytest.approx(motion.skeleton.end_sites[0].offset, abs=1e-6)


@needs_motions
@pytest.mark.parametrize(("name", "clip"), [("gltf/Fox.glb", "Walk"), ("gltf/cesium_man.gltf", None)])
def test_a_skin_goes_with_its_figure(tmp_path: Path, name: str, clip: str | None) -> None:
    motion = poise.load(MOTIONS / name, clip=clip)
    copy = tmp_path / "copy.usdc"
    poise.save(motion, copy)
    size = float(np.ptp(motion.world[0][0], axis=0).max())
    frame = motion.frame_count // 2
    assert joints_by_usd(copy, motion.times[[frame]])[0] == pytest.approx(motion.world[0][frame], abs=1e-6 * size)
    # the skin where UsdSkel puts it, against linear blend skinning of the source's own mesh
    stage = Usd.Stage.Open(str(copy))
    code = float(round(motion.times[frame] * stage.GetTimeCodesPerSecond()))
    query = UsdSkel.Cache()
    root = UsdSkel.Root(stage.GetPrimAtPath("/Figure"))
    query.Populate(root, Usd.PrimDefaultPredicate)
    (binding,) = query.ComputeSkelBindings(root, Usd.PrimDefaultPredicate)
    moves = query.GetSkelQuery(binding.GetSkeleton()).ComputeSkinningTransforms(code)
    target = binding.GetSkinningTargets()[0]
    points = UsdGeom.Mesh(target.GetPrim()).GetPointsAttr().Get()
    assert target.ComputeSkinnedPoints(moves, points, code)
    assert motion.source is not None
    source = motion.source.document
    mesh = source.meshes[0]
    places, turns = motion.world[0][frame], rotations.to_matrix(motion.world[1][frame])
    binds = mesh.inverse_binds
    local = np.einsum("jab,vb->vja", binds[:, :3, :3], mesh.positions.astype(np.float64)) + binds[:, :3, 3]
    world = np.einsum("jab,vjb->vja", turns, local * source.joint_scales[:, None]) + places
    rows = np.arange(len(mesh.positions))[:, None]
    wanted = np.einsum("vn,vna->va", mesh.weights, world[rows, mesh.joints])
    assert np.array(points) == pytest.approx(wanted, abs=1e-5 * size)


def test_scaled_figures_are_written_in_their_size(stage: Path) -> None:
    walk = poise.load(stage, clip="Walk")
    larger = sized(walk, 2.0)
    poise.save(larger, stage.with_name("copy.usda"))
    assert poise.load(stage.with_name("copy.usda"), clip="Walk").world[0] == pytest.approx(larger.world[0], abs=1e-6)


BAD = {
    "cut": (STAGE[:900], "USD cannot"),
    "no figure": ('#usda 1.0\ndef Xform "World" {}\n', "no figure in it"),
    "no rest": (
        STAGE.replace("restTransforms", "someTransforms").replace("bindTransforms", "others"),
        "0 rest transforms",
    ),
    "values of other length": (STAGE.replace("2: [(0, 89, 0)]", "2: [(0, 89, 0), (0, 0, 0)]"), "2 values for 1 joints"),
    "no unit": (STAGE.replace("metersPerUnit = 0.01", "metersPerUnit = 0"), "must be positive"),
    "not a number": (STAGE.replace("(0, 91, 3)", "(0, nan, 3)"), "not finite"),
    "rest of no numbers": (STAGE.replace("(0,-45,0,1)", "(0,-45,0,inf)"), "no finite numbers"),
    "rest far too large": (STAGE.replace("(0,-45,0,1)", "(0,-1e300,0,1)"), "far too large"),
    "bind without a size": (
        STAGE.replace("restTransforms", "someTransforms").replace(
            "[\n            ((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,90,0,1)), ((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,50",
            "[\n            ((0,0,0,0),(0,1,0,0),(0,0,1,0),(0,90,0,1)), ((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,50",
        ),
        "without a size",
    ),
    "no animation": (STAGE[: STAGE.index("        rel skel:animationSource")] + "}\n}\n", "no animation"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_stages_are_refused_in_a_sentence(stage: Path, what: str, capfd: Any) -> None:
    stage.write_text(BAD[what][0])
    with pytest.raises(FileFormatError, match=BAD[what][1]):
        poise.load(stage, clip=0)
    assert capfd.readouterr().err == ""


def test_broken_bytes_never_crash(stage: Path) -> None:
    packed = stage.with_name("packed.usdc")
    poise.save(bent(poise.load(stage, clip="Walk"), 1, slice(0, 1)), packed)
    data = packed.read_bytes()
    draw = np.random.default_rng(3)
    for _ in range(40):
        broken = bytearray(data[: draw.integers(8, len(data))] if draw.random() < 0.5 else data)
        broken[draw.integers(8, len(broken))] ^= int(draw.integers(1, 256)) if len(broken) > 8 else 0
        packed.write_bytes(bytes(broken))
        try:
            poise.load(packed, clip=0)
        except FileFormatError:
            continue


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded on Linux")
@pytest.mark.parametrize("section", ["TOKENS", "FIELDS", "FIELDSETS", "PATHS", "SPECS"])
def test_a_small_file_cannot_ask_for_much_memory(stage: Path, section: str) -> None:
    """The number of a section's entries is memory that OpenUSD asks for before it looks how long the file is."""
    import resource

    packed = stage.with_name("packed.usdc")
    opened = Usd.Stage.Open(str(stage))
    opened.GetRootLayer().Export(str(packed))
    data = bytearray(packed.read_bytes())
    (contents,) = struct.unpack_from("<q", data, 16)
    (count,) = struct.unpack_from("<Q", data, contents)
    rows = (struct.unpack_from("<16sqq", data, contents + 8 + 32 * k) for k in range(count))
    starts = {name.rstrip(b"\0").decode(): start for name, start, _ in rows}
    struct.pack_into("<Q", data, starts[section], 10**10)
    packed.write_bytes(data)
    before = resource.getrlimit(resource.RLIMIT_AS)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(FileFormatError, match="more than 2 GB of memory"):
        poise.load(packed, clip="Walk")
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most < 2_500_000  # [KiB]


def test_archives_are_read_and_not_written(stage: Path) -> None:
    archive = stage.with_name("beast.usdz")
    assert import_module("pxr.UsdUtils").CreateNewUsdzPackage(str(stage), str(archive))
    walk = poise.load(archive, clip="Walk")
    assert walk.world[0] == pytest.approx(poise.load(stage, clip="Walk").world[0], abs=1e-7)
    with pytest.raises(InvalidValue, match="not written"):
        poise.save(walk, archive)
    poise.save(bent(walk, 1, slice(0, 1)), stage.with_name("copy.usdc"))
    assert poise.load(stage.with_name("copy.usdc"), clip="Walk").frame_count == 3


def test_keys_between_frames_that_nobody_changed_stay(stage: Path) -> None:
    opened = Usd.Stage.Open(str(stage))
    animation = UsdSkel.Animation(opened.GetPrimAtPath("/Beast/Skel/Walk"))
    turns, places = animation.GetRotationsAttr(), animation.GetTranslationsAttr()
    for code in (4.0, 5.0, 6.0, 7.0, 2.4, 5.5):
        turns.Set(turns.Get(1.0 if code % 2.0 else 3.0), code)
        places.Set(places.Get(2.0), code)
    opened.GetRootLayer().Save()
    walk = poise.load(stage, clip="Walk")
    assert walk.fps == pytest.approx(24.0)
    walk = bent(walk, 1, slice(4, 5))
    copy = stage.with_name("copy.usda")
    poise.save(walk, copy)
    back = poise.load(copy, clip="Walk")
    assert back.times.tolist() == walk.times.tolist()
    assert back.world[0] == pytest.approx(walk.world[0], abs=1e-7)
    written = Usd.Stage.Open(str(copy))
    new = UsdSkel.Animation(written.GetPrimAtPath("/Beast/Skel/Walk"))
    assert new.GetRotationsAttr().GetTimeSamples() == [1.0, 2.0, 2.4, 3.0, 4.0, 5.0, 6.0, 7.0]  # 5.5 is beside 5
    assert new.GetTranslationsAttr().GetTimeSamples() == places.GetTimeSamples()
    for code in (1.0, 2.0, 2.4, 3.0, 4.0, 6.0, 7.0):
        assert new.GetRotationsAttr().Get(code) == turns.Get(code)
