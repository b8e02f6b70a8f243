"""Ground from the command line, from pictures, meshes and platform files."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import poise
from poise.core.errors import FileFormatError, InvalidValue
from poise.phases.floor import carried_ground, carrying, laid_under
from poise.terrain import Terrain
from tests.clips import sample_clip


@pytest.mark.parametrize(
    ("spec", "point", "height"),
    [
        ("flat", (5.0, 5.0), 0.0),
        ("slope:20", (1.0, 0.0), math.tan(math.radians(20.0))),
        (" Slope:-20 ", (1.0, 0.0), -math.tan(math.radians(20.0))),
        ("slope:45@90", (0.0, 1.0), 1.0),
        ("step:0.5", (1.5, 0.0), 0.5),
        ("stairs:0.2,0.6@-90", (0.0, -1.7), 0.4),
        ("rough:0,3", (4.0, 2.0), 0.0),
    ],
)
def test_specifications(spec: str, point: tuple[float, float], height: float) -> None:
    terrain = Terrain.parse(spec).placed(origin=(0.0, 0.0), heading=0.0)
    assert terrain.heights(np.array([point]))[0] == pytest.approx(height, abs=1e-12)


@pytest.mark.parametrize(
    "spec",
    [
        "slope:20",
        "stairs:0.2,0.6@90",
        "rough:0.2,7",
        "rough:1,3,60",
        "flat",
        "step:-0.5",
        "step:0.1,2.5",
        "stairs:0.123456789,0.3,0",
    ],
)
def test_a_terrain_says_how_it_was_asked_for(spec: str) -> None:
    assert Terrain.parse(spec).spec == spec


def test_rubble_as_a_terrain_names_the_option_that_makes_it() -> None:
    with pytest.raises(InvalidValue, match="scene` rubble:COUNT,SEED"):
        Terrain.parse("rubble:40,1")


@pytest.mark.parametrize(
    "spec",
    [
        "", "hill", "slope", "slope:", "slope:x", "slope:nan", "slope:89", "slope:1,2", "stairs:0.2", "stairs:0.2,-1",
        "rough:0.2", "rough:0.2,1.5", "rough:0.2,-3", "rough:0.2,1,95", "flat:1", "image:a.png", "image:a.png,x,1",
        "image:,1,1", "slope:10@1000", "mesh:", "20", "step:0.2@", "step:0.2@north",
    ],
)  # fmt: skip
def test_a_bad_specification_is_one_error_that_lists_what_is_allowed(spec: str) -> None:
    with pytest.raises(InvalidValue, match="Allowed: flat, slope:DEG") as caught:
        Terrain.parse(spec)
    assert str(caught.value).count("Allowed:") == 1


def test_a_picture_is_ground(tmp_path: Path) -> None:
    # a ramp to the right, twice as wide as high
    path = tmp_path / "ramp, v2@home.png"
    Image.fromarray(np.tile(np.linspace(0, 255, 64).astype(np.uint8), (32, 1))).save(path)
    terrain = Terrain.parse(f"image:{path},6.4,2").placed(origin=(0.0, 0.0), heading=0.0)
    line = np.stack([np.linspace(-3.0, 3.0, 25), np.full(25, 0.7)], axis=1)
    expected = 2.0 * (line[:, 0] + 3.15) / 6.3  # pixel centers lie 5 cm inside the borders
    np.testing.assert_allclose(terrain.heights(line), expected, atol=2.0 / 255.0)
    assert terrain.heights(np.array([[50.0, 0.0], [-50.0, 9.0]])) == pytest.approx([2.0, 0.0], abs=1e-9)
    np.testing.assert_allclose(terrain.sample(np.array([[50.0, 0.0]])).normal, [[0.0, 0.0, 1.0]], atol=1e-12)


def test_the_upper_edge_of_a_picture_lies_to_the_left(tmp_path: Path) -> None:
    values = np.zeros((16, 16), dtype=np.uint8)
    values[:8] = 255
    Image.fromarray(values).save(tmp_path / "half.png")
    terrain = Terrain.image(tmp_path / "half.png", 1.6, 1.0)
    assert terrain.heights(np.array([[0.0, 0.6], [0.0, -0.6]])) == pytest.approx([1.0, 0.0])


def test_sixteen_bits_are_kept(tmp_path: Path) -> None:
    values = np.full((8, 8), 6554, dtype=np.uint16)
    Image.fromarray(values).save(tmp_path / "deep.png")
    assert Terrain.image(tmp_path / "deep.png", 1.0, 10.0).heights(np.zeros((1, 2)))[0] == pytest.approx(1.0, abs=1e-3)


def test_a_large_picture_is_averaged_down(tmp_path: Path) -> None:
    Image.fromarray(np.tile(np.linspace(0, 255, 5000).astype(np.uint8), (40, 1))).save(tmp_path / "wide.png")
    terrain = Terrain.image(tmp_path / "wide.png", 50.0, 1.0)
    assert max(terrain.shape.heights.shape) <= 2048  # type: ignore[attr-defined]
    assert terrain.heights(np.zeros((1, 2)))[0] == pytest.approx(0.5, abs=0.01)


def test_a_huge_picture_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    path = tmp_path / "bomb.png"
    Image.new("1", (30_000, 5_000)).save(path)
    assert os.path.getsize(path) < 100_000
    with pytest.raises(FileFormatError, match="64000000"):
        Terrain.image(path, 10.0, 1.0)


@pytest.mark.parametrize("content", [b"", b"not a picture", b"\x89PNG\r\n\x1a\n" + b"\0" * 40])
def test_a_broken_picture_is_one_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.png"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"broken\.png"):
        Terrain.image(path, 10.0, 1.0)


def test_a_cut_off_picture_is_one_error(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.png", tmp_path / "cut.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64), dtype=np.uint8)).save(whole)
    cut.write_bytes(whole.read_bytes()[:1500])
    with pytest.raises(FileFormatError, match=r"cut\.png"):
        Terrain.image(cut, 10.0, 1.0)


@pytest.mark.parametrize("spec", ["image:missing.png,1,1", "mesh:missing.obj", "platform:missing.csv"])
def test_a_missing_file_is_one_error(spec: str) -> None:
    with pytest.raises(FileFormatError, match="missing"):
        Terrain.parse(spec)


def test_windows_paths_keep_their_colon() -> None:
    with pytest.raises(FileFormatError) as caught:
        Terrain.parse(r"image:C:\hills\a,b.png,20,1.5@45")
    assert caught.value.path == r"C:\hills\a,b.png"


def test_a_mesh_is_ground(tmp_path: Path) -> None:
    pytest.importorskip("trimesh")
    path = tmp_path / "ramp.obj"
    # a ramp 4 m long and 2 m wide that rises to 1 m, and a table above part of the floor beside it
    path.write_text(
        "v 0 -1 0\nv 4 -1 1\nv 4 1 1\nv 0 1 0\nf 1 2 3\nf 1 3 4\n"
        "v 0 2 0.5\nv 1 2 0.5\nv 1 3 0.5\nv 0 3 0.5\nf 5 6 7\nf 5 7 8\n",
        encoding="utf-8",
    )
    terrain = Terrain.parse(f"mesh:{path}").placed(origin=(10.0, 0.0), heading=0.0)
    points = np.array([[11.0, 0.0], [13.0, 0.5], [10.5, 2.5], [12.5, 2.5], [20.0, 0.0], [5.0, 0.0]])
    np.testing.assert_allclose(terrain.heights(points), [0.25, 0.75, 0.5, 0.0, 0.0, 0.0], atol=1e-6)
    normal = terrain.sample(points).normal[0]
    np.testing.assert_allclose(normal, np.array([-0.25, 0.0, 1.0]) / math.hypot(1.0, 0.25), atol=1e-6)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello\n",
        "v 0 0 0\n",
        "v 0 0 0\nv 1e9 0 0\nv 0 1e9 0\nf 1 2 3\n",
        "v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    ],
)
def test_a_broken_mesh_is_one_error(tmp_path: Path, text: str) -> None:
    pytest.importorskip("trimesh")
    path = tmp_path / "broken.obj"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"broken\.obj"):
        Terrain.mesh(path)


def test_a_platform_file(tmp_path: Path) -> None:
    path = tmp_path / "lift.csv"
    path.write_text("# a lift\ntime,x,y,z\n0,0,0,0\n\n2,0,0,1.5\n", encoding="utf-8")
    terrain = Terrain.parse(f"platform:{path}")
    point = np.zeros((1, 2))
    assert terrain.heights(point, 5.0)[0] == 1.5
    assert terrain.heights(point, 1.0)[0] == pytest.approx(0.75)
    assert terrain.sample(point, 1.0).velocity[0, 2] > 0.75
    path.write_text("\ufefftime,x,y,z,pitch_deg,roll_deg\r\n0,0,0,0,5,0\r\n", encoding="utf-8")
    assert Terrain.platform(path).heights(np.array([[1.0, 0.0]]))[0] == pytest.approx(math.tan(math.radians(5.0)))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("time,x,y\n0,0,0\n", 1),
        ("0,0,0,0\n", 1),
        ("time,x,y,z\n0,0,0\n", 2),
        ("time,x,y,z\n0,0,0,0\n\n1,0,zero,0\n", 4),
        ("time,x,y,z\n" + "0," * 600 + "\n", 2),
        ("time,x,y,z\n", None),
        ("", None),
        ("time,x,y,z\n1,0,0,0\n0,0,0,0\n", None),
        ("time,x,y,z\n0,0,0,inf\n", None),
    ],
)
def test_a_broken_platform_file_names_its_line(tmp_path: Path, text: str, line: int | None) -> None:
    path = tmp_path / "broken.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileFormatError, match="time,x,y,z") as caught:
        Terrain.platform(path)
    assert caught.value.line == line


def test_a_platform_file_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "broken.csv"
    path.write_bytes(b"time,x,y,z\n\xff\xfe\x00")
    with pytest.raises(FileFormatError, match="UTF-8"):
        Terrain.platform(path)


@pytest.mark.parametrize("terrain", [Terrain.stairs(0.17, 0.3, distance=0.4), Terrain.step(0.1, distance=-2.0)])
def test_a_clip_carries_its_stairs_where_they_lie(terrain: Terrain, tmp_path: Path) -> None:
    walk = sample_clip("walk")
    laid = laid_under(terrain, walk, 0.0)
    poise.save(carrying(walk, laid), tmp_path / "stairs.bvh")
    kept = carried_ground(poise.load(tmp_path / "stairs.bvh"))
    assert kept is not None
    along = np.linspace(-3.0, 3.0, 200)[:, None] * laid.forward + np.array(laid.origin)
    np.testing.assert_allclose(kept.heights(along), laid.heights(along), atol=1e-9)
