"""Poise's own npz: everything comes back exactly, and nothing a file claims is believed."""

from __future__ import annotations

import io
import json
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from poise.core import rotations
from poise.core.errors import FileFormatError
from poise.core.motion import Evidence, Motion, Source
from poise.core.skeleton import EndSite, Hinge, Skeleton
from poise.io import asf_amc, deepmimic, npz
from poise.io.format import ReadOptions
from tests.clips import MOTIONS, needs_motions


@pytest.fixture
def motion() -> Motion:
    draw = np.random.default_rng(3)
    skeleton = Skeleton(
        names=("Hüfte", "a:b", "c d"),
        parents=np.array([-1, 0, 1]),
        offsets=draw.normal(size=(3, 3)),
        rest_rotations=rotations.normalize(draw.normal(size=(3, 4))),
        end_sites=(EndSite(2, draw.normal(size=3), "tip"), EndSite(1, draw.normal(size=3))),
        hinges={2: Hinge(np.array([0.0, 0.6, 0.8]), -np.inf, 1.25)},
        translating=frozenset({0, 1}),
        fixed=frozenset({1}),
    )
    source = Source(
        path="walk.bvh",
        format="bvh",
        dialect="someone's",
        unit=0.01,
        up="y",
        fps=30.0,
        evidence={"unit": Evidence(0.01, 0.5, "leg length")},
        warnings=("one",),
        clips=("a", "b"),
        clip=1,
        loop=True,
    )
    return Motion(
        skeleton=skeleton,
        times=np.cumsum(draw.uniform(0.01, 0.1, 7)) - 0.001,
        translations=draw.normal(size=(7, 3, 3)),
        rotations=rotations.normalize(draw.normal(size=(7, 3, 4))),
        source=source,
    )


def assert_same(a: Motion, b: Motion) -> None:
    for name in ("times", "translations", "rotations"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    s, t = a.skeleton, b.skeleton
    assert (s.names, s.translating, s.fixed) == (t.names, t.translating, t.fixed)
    for name in ("parents", "offsets", "rest_rotations"):
        assert np.array_equal(getattr(s, name), getattr(t, name)), name
    assert [(e.joint, e.name, *e.offset) for e in s.end_sites] == [(e.joint, e.name, *e.offset) for e in t.end_sites]
    assert {j: (*h.axis, h.lower, h.upper) for j, h in s.hinges.items()} == {
        j: (*h.axis, h.lower, h.upper) for j, h in t.hinges.items()
    }


def test_everything_comes_back_exactly(tmp_path, motion):
    npz.write(motion, tmp_path / "a.npz")
    again = npz.read(tmp_path / "a.npz", ReadOptions())
    assert_same(again, motion)
    source = again.source
    assert source is not None
    assert (source.format, source.fps, source.clips, source.clip, source.loop) == ("npz", 30.0, ("a", "b"), 1, True)
    assert source.warnings == ("one",)
    assert source.evidence["unit"] == Evidence(0.01, 0.5, "leg length")
    assert source.evidence["origin"].value["path"] == "walk.bvh"


def test_second_round_changes_nothing(tmp_path, motion):
    npz.write(motion, tmp_path / "a.npz")
    npz.write(npz.read(tmp_path / "a.npz", ReadOptions()), tmp_path / "b.npz")
    npz.write(npz.read(tmp_path / "b.npz", ReadOptions()), tmp_path / "b2.npz")
    assert_same(npz.read(tmp_path / "b2.npz", ReadOptions()), motion)


def test_motion_without_source(tmp_path, motion):
    npz.write(replace(motion, source=None), tmp_path / "a.npz")
    assert_same(npz.read(tmp_path / "a.npz", ReadOptions()), motion)


def test_plain_numpy_reads_it(tmp_path, motion):
    npz.write(motion, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:
        assert json.loads(str(arrays["header"]))["schema"] == "poise.motion/1"
        assert np.array_equal(arrays["rotations"], motion.rotations)


@needs_motions
@pytest.mark.parametrize("name", ["asf_amc/02_01.amc", "deepmimic/humanoid3d_roll.txt"])
def test_real_clips_come_back_exactly(tmp_path, name):
    reader = asf_amc if name.endswith(".amc") else deepmimic
    motion = reader.read(MOTIONS / name, ReadOptions())
    npz.write(motion, tmp_path / "a.npz")
    assert_same(npz.read(tmp_path / "a.npz", ReadOptions()), motion)


def test_rate_unit_and_up_can_be_given(tmp_path, motion):
    npz.write(motion, tmp_path / "a.npz")
    asked = npz.read(tmp_path / "a.npz", ReadOptions(unit=2.0, up="y", fps=10.0))
    assert asked.times == pytest.approx(np.arange(7) / 10.0)
    x, y, z = motion.translations[0, 0]
    assert asked.translations[0, 0] == pytest.approx([2 * x, -2 * z, 2 * y])
    turned = rotations.rotate(rotations.from_rotation_vector(np.array([np.pi / 2, 0, 0])), 2.0 * motion.world[0])
    assert asked.world[0] == pytest.approx(turned)


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {i.filename: archive.read(i) for i in archive.infolist()}


def pack(path: Path, parts: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def array_bytes(array: Any) -> bytes:
    data = io.BytesIO()
    np.lib.format.write_array(data, np.asarray(array), allow_pickle=True)
    return data.getvalue()


def claimed(shape: tuple[int, ...]) -> bytes:
    data = io.BytesIO()
    np.lib.format.write_array_header_1_0(data, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return data.getvalue() + bytes(80)


def header_with(parts: dict[str, bytes], **change: Any) -> bytes:
    header = json.loads(str(np.lib.format.read_array(io.BytesIO(parts["header.npy"]))))
    return array_bytes(np.array(json.dumps(header | change)))


SPOILED = {
    "missing member": (lambda p: {k: v for k, v in p.items() if k != "times.npy"}, "missing \\['times'\\]"),
    "strange member": (lambda p: p | {"more.npy": b"1"}, "not expected \\['more'\\]"),
    "pickle": (lambda p: p | {"times.npy": array_bytes(np.array([{}], dtype=object))}, "times is object"),
    "claims too much": (lambda p: p | {"rotations.npy": claimed((10**9, 31, 4))}, "claims shape"),
    "overflowing claim": (lambda p: p | {"rotations.npy": claimed((2**40, 2**40, 2**40))}, "claims shape"),
    "negative claim": (lambda p: p | {"rotations.npy": claimed((-1, 3, 4))}, "claims shape|damaged"),
    "short array": (lambda p: p | {"times.npy": p["times.npy"][:-8]}, "claims shape"),
    "single precision": (lambda p: p | {"times.npy": array_bytes(np.arange(7, dtype=np.float32))}, "float32"),
    "no array": (lambda p: p | {"times.npy": b"hello"}, "damaged"),
    "other schema": (lambda p: p | {"header.npy": header_with(p, schema="poise.motion/9")}, "poise.motion/9"),
    "header no JSON": (lambda p: p | {"header.npy": array_bytes(np.array("{"))}, "not JSON"),
    "names lost": (lambda p: p | {"header.npy": header_with(p, names=["a"])}, "do not fit"),
    "names not text": (lambda p: p | {"header.npy": header_with(p, names=[1, 2, 3])}, "not a list of text"),
    "joint out of range": (lambda p: p | {"header.npy": header_with(p, fixed=[9])}, "joint 9 of 3"),
    "end sites lost": (lambda p: p | {"header.npy": header_with(p, end_sites=[])}, "do not fit"),
    "times reordered": (lambda p: p | {"times.npy": array_bytes(np.arange(7.0)[::-1].copy())}, "must increase"),
    "times NaN": (lambda p: p | {"times.npy": array_bytes(np.full(7, np.nan))}, "must increase|finite"),
    "infinite place": (lambda p: p | {"translations.npy": array_bytes(np.full((7, 3, 3), np.inf))}, "not finite"),
    "long quaternion": (lambda p: p | {"rotations.npy": array_bytes(np.full((7, 3, 4), 0.6))}, "length 1.2"),
    "parents reordered": (lambda p: p | {"parents.npy": array_bytes(np.array([1, -1, 0]))}, "only root"),
}


@pytest.mark.parametrize("name", SPOILED)
def test_spoiled_file_is_refused(tmp_path, motion, name):
    change, problem = SPOILED[name]
    npz.write(motion, tmp_path / "a.npz")
    path = pack(tmp_path / "b.npz", change(members(tmp_path / "a.npz")))
    with pytest.raises(FileFormatError, match=problem) as caught:
        npz.read(path, ReadOptions())
    assert caught.value.cure


@pytest.mark.parametrize("keep", [0.0, 0.01, 0.5, 0.99])
def test_cut_file_is_refused(tmp_path, motion, keep):
    npz.write(motion, tmp_path / "a.npz")
    data = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "b.npz").write_bytes(data[: int(keep * len(data))])
    with pytest.raises(FileFormatError, match="cut off or damaged"):
        npz.read(tmp_path / "b.npz", ReadOptions())


def test_flipped_byte_is_noticed(tmp_path, motion):
    npz.write(motion, tmp_path / "a.npz")
    data = bytearray((tmp_path / "a.npz").read_bytes())
    data[data.index(b"rotations.npy") + 300] ^= 1
    (tmp_path / "b.npz").write_bytes(data)
    with pytest.raises(FileFormatError, match="damaged"):
        npz.read(tmp_path / "b.npz", ReadOptions())


def test_bomb_is_not_unpacked(tmp_path, motion):
    npz.write(motion, tmp_path / "a.npz")
    parts = members(tmp_path / "a.npz") | {"times.npy": bytes(200_000_000)}
    path = pack(tmp_path / "b.npz", parts, zipfile.ZIP_DEFLATED)
    began = time.process_time()
    with pytest.raises(FileFormatError, match="claims to unpack"):
        npz.read(path, ReadOptions())
    assert time.process_time() - began < 1.0  # the refusal comes before the unpacking


def test_packed_file_is_read(tmp_path, motion):
    npz.write(motion, tmp_path / "a.npz")
    path = pack(tmp_path / "b.npz", members(tmp_path / "a.npz"), zipfile.ZIP_DEFLATED)
    assert_same(npz.read(path, ReadOptions()), motion)


def test_what_each_joint_moves_of_the_skin_is_kept(tmp_path):
    skeleton = Skeleton(
        ("a", "b"),
        np.array([-1, 0]),
        np.zeros((2, 3)),
        np.tile([1.0, 0, 0, 0], (2, 1)),
        skin=np.array([3.0, 0.5]),
        sole=-0.02,
    )
    motion = Motion(skeleton, np.arange(2) / 30.0, np.zeros((2, 2, 3)), np.tile([1.0, 0, 0, 0], (2, 2, 1)))
    poise.save(motion, tmp_path / "skin.npz")
    again = poise.load(tmp_path / "skin.npz").skeleton.skin
    assert again is not None
    assert again.tolist() == [3.0, 0.5]
    assert poise.load(tmp_path / "skin.npz").skeleton.sole == -0.02
    plain = Motion(replace(skeleton, skin=None), motion.times, motion.translations, motion.rotations)
    poise.save(plain, tmp_path / "plain.npz")
    assert poise.load(tmp_path / "plain.npz").skeleton.skin is None
