"""`poise convert`: between formats, rates, units and up axes, and never over its input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import poise.io
from poise.cli.app import run
from tests.bvh_texts import FIGURE, bvh, put, values
from tests.clips import MOTIONS, first_cases, needs_motions


def convert(*words: object) -> int:
    return run(["convert", *map(str, words)])


def test_an_untouched_bvh_is_the_same_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = put(tmp_path, bvh()), tmp_path / "out.bvh"
    assert convert(source, target) == 0
    assert target.read_bytes() == source.read_bytes()
    assert "5 frames at 30 fps, 12 joints" in capsys.readouterr().out


def test_the_output_may_be_an_option_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = put(tmp_path, bvh()), tmp_path / "out.bvh"
    assert convert(source, "-o", target) == 0
    assert target.read_bytes() == source.read_bytes()
    assert convert(source.parent, "-o", tmp_path / "all", "--to", "npz", "--jobs", 1) == 0
    assert {p.suffix for p in (tmp_path / "all").iterdir()} == {".npz", ".html", ".jsonl"}
    for words in ([source], [source, target, "-o", target], [source.parent, tmp_path / "a", "-o", tmp_path / "b"]):
        assert convert(*words) == 2
        assert "poise: Give one " in capsys.readouterr().err


def test_parts_rates_units_and_axes(tmp_path: Path) -> None:
    table = values(FIGURE, frames=31)
    source, target = put(tmp_path, bvh(table=table, time="0.1")), tmp_path / "out.bvh"
    before = poise.io.load(source)
    assert convert(source, target, "--start", 1, "--end", 2) == 0
    part = poise.io.load(target)
    np.testing.assert_array_equal(part.world[0], before.world[0][10:21])
    assert convert(source, target, "--fps", 20, "--overwrite") == 0
    faster = poise.io.load(target)
    assert (faster.frame_count, faster.fps) == (61, pytest.approx(20.0))
    np.testing.assert_allclose(faster.world[0][::2], before.world[0], atol=1e-7)
    assert convert(source, target, "--unit", "m", "--up", "z", "--overwrite") == 0
    other = poise.io.load(target)
    assert other.source is not None
    assert (other.source.unit, other.source.up) == (1.0, "z")
    np.testing.assert_allclose(other.world[0], before.world[0], atol=1e-7)
    assert convert(source, target, "--source-unit", "m", "--source-fps", 30, "--overwrite") == 0
    large = poise.io.load(target, unit="m")
    np.testing.assert_allclose(large.world[0], 100.0 * before.world[0], atol=1e-7)
    assert large.fps == pytest.approx(30.0, rel=1e-6)


def test_never_over_its_input_nor_silently_over_anything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = put(tmp_path, bvh())
    other = put(tmp_path, "precious", "out.bvh")
    assert convert(source, source, "--overwrite") == 2
    assert "the input file" in capsys.readouterr().err
    assert convert(source, other) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert other.read_text(encoding="utf-8") == "precious"
    assert source.read_text(encoding="utf-8") == bvh()
    assert convert(source, other, "--overwrite") == 0
    assert other.read_bytes() == source.read_bytes()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["out.xyz"], "No format is written to the extension '.xyz'"),
        (["out.html"], "Pages, pictures and films are written with --record"),
        (["out.xyz"], "Give one of .bvh, .amc, .txt, .json, .usd, .usda, .usdc, .npz, .gltf, .glb, .fbx."),
        (["out"], "has no extension, which says the format"),
        (["out.bvh", "--fps", "0"], "must be a positive number"),
        (["out.bvh", "--start", "9"], "No frame between"),
        (["out.npz", "--unit", "cm"], "--source-unit"),
        (["none/out.bvh"], "folder does not exist"),
    ],
)
def test_refusals(words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = put(tmp_path, bvh())
    assert convert(source, tmp_path / words[0], *words[1:]) == 2
    assert sentence in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["clip.bvh"]


@needs_motions
@pytest.mark.parametrize("suffix", [".bvh", ".npz", ".glb"])
@first_cases(
    2,
    ("name", "more"),
    [
        ("bvh/other/bvh_example.bvh", []),
        ("asf_amc/02_01.amc", []),
        ("deepmimic/humanoid3d_walk.txt", []),
        ("gltf/Fox.glb", ["--clip", "Run", "--fps", "30"]),
        ("nc/dataset-1_walk_normal_002.bvh", []),
    ],
)
def test_every_format_to_every_other(name: str, more: list[str], suffix: str, tmp_path: Path) -> None:
    source, target = MOTIONS / name, tmp_path / f"out{suffix}"
    assert convert(source, target, *more) == 0
    clip = more[1] if more else None
    before = poise.io.load(source, clip=clip)
    before = poise.io.resampled_to(before, 30.0) if more else before
    unit = None
    if suffix == ".bvh" and before.source is not None:  # the guess of a fox's unit is no matter of this test
        unit = before.source.unit if name.endswith(".bvh") else "cm"
    back = poise.io.load(target, unit=unit, clip=clip if suffix == ".glb" else None)
    place = [back.skeleton.names.index(n) for n in before.skeleton.names]
    assert back.frame_count == before.frame_count
    size = np.ptp(before.world[0])
    np.testing.assert_allclose(back.world[0][:, place], before.world[0], atol=2e-6 * size)


@needs_motions
def test_one_of_several_clips_has_to_be_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert convert(MOTIONS / "gltf" / "Fox.glb", tmp_path / "out.bvh") == 2
    assert "'Survey', 1 'Walk', 2 'Run'" in capsys.readouterr().err


@needs_motions
def test_what_cannot_be_moved_is_refused_with_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert convert(MOTIONS / "quadruped" / "hopturn.txt", tmp_path / "out.bvh") == 2
    assert "no skeleton" in capsys.readouterr().err
