"""Hostile files: each once made Poise fail inside, hang or fill the memory; now each is a result or one sentence."""

from __future__ import annotations

import io
import json
import os
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import poise
import poise.io
from poise.core.errors import FileFormatError, InternalError, InvalidValue, PoiseError, UnreadableFile
from poise.core.motion import Motion
from poise.io.files import parse_toml
from poise.terrain import Terrain
from tests.clips import first_cases, sample_clip
from tests.test_io_gltf import changed, made, saved
from tests.test_io_npz import members, pack

SECONDS, MEGABYTES = 2.0, 200.0


@contextmanager
def bounded(seconds: float = SECONDS, megabytes: float = MEGABYTES) -> Iterator[None]:
    """What runs inside takes no longer and no more memory [MB] than every hostile file may."""
    tracemalloc.start()
    began = time.process_time()
    try:
        yield
    finally:
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
    assert peak < megabytes
    assert time.process_time() - began < 4.0 * seconds  # tracing slows it down


def refused(call: Callable[[], Any], match: str) -> str:
    """The one sentence with which a call refuses its file."""
    with bounded(), pytest.raises(PoiseError, match=match) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def sample() -> Motion:
    return sample_clip("walk", 0.2)


@first_cases(3, "number", ["1e999", "-1e400", "9" * 400 + ".0", "Infinity", "NaN", "9" * 5000])
@pytest.mark.parametrize("kind", ["npz", "gltf", "deepmimic"])
def test_no_json_number_is_too_large(tmp_path: Path, sample: Motion, kind: str, number: str) -> None:
    if kind == "npz":
        poise.save(sample, tmp_path / "a.npz")
        parts = members(tmp_path / "a.npz")
        header = np.load(io.BytesIO(parts["header.npy"]))
        text = str(header).replace('"fps": ', f'"fps": {number}, "was": ', 1)
        written = io.BytesIO()
        np.save(written, np.array(text))
        path = pack(tmp_path / "b.npz", parts | {"header.npy": written.getvalue()})
    elif kind == "gltf":
        path = tmp_path / "a.gltf"
        path.write_text(json.dumps(made()).replace('"version"', f'"sum": {number}, "version"', 1))
    else:
        path = tmp_path / "a.txt"
        path.write_text('{"Loop": "none", "Frames": [[' + number + "," + "0," * 42 + "0]]}")
    refused(lambda: poise.load(path), r"JSON|too large|finite|no sensible")


@first_cases(1, "value", [1.5, 0, [], {}, "x", True, None])
def test_no_member_of_a_gltf_of_a_wrong_kind_crashes(tmp_path: Path, value: Any) -> None:
    """Every member of a glTF, replaced by a value of each kind: a motion or one sentence, reading and writing."""

    def places(content: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        entries = content.items() if isinstance(content, dict) else enumerate(content)
        for key, part in entries:
            yield (*place, key)
            if isinstance(part, dict | list):
                yield from places(part, (*place, key))

    def set_at(place: tuple[Any, ...]) -> dict[str, Any]:
        return changed(*place, to=value)

    for place in places(made()):
        path = saved(tmp_path, set_at(place))
        for call in (poise.load, poise.load_skeleton):
            try:
                read = call(path)
            except FileFormatError:  # a check foresaw it; what none did is an InternalError
                continue
            if isinstance(read, Motion):
                poise.save(read, tmp_path / "out.glb")
                poise.save(read, tmp_path / "out.npz")


@pytest.mark.parametrize("kind", [{"a": 1}, [], None, 3, "prismatic"])
def test_a_deepmimic_joint_of_no_type(tmp_path: Path, kind: Any) -> None:
    path = tmp_path / "character.txt"
    joints = [{"ID": 0, "Name": "root", "Type": "none", "Parent": -1}, {"Name": "a", "Type": kind, "Parent": 0}]
    path.write_text(json.dumps({"Skeleton": {"Joints": joints}, "BodyDefs": []}))
    refused(lambda: poise.load_skeleton(path), "is of type")


@first_cases(2, "name", ["names", "end_sites", "hinges", "translating", "fixed"])
@pytest.mark.parametrize("value", [None, 5, "text", [[1]], {"a": 1}])
def test_an_npz_header_of_wrong_kinds(tmp_path: Path, sample: Motion, name: str, value: Any) -> None:
    poise.save(sample, tmp_path / "a.npz")
    parts = members(tmp_path / "a.npz")
    header = json.loads(str(np.load(io.BytesIO(parts["header.npy"])))) | {name: value}
    written = io.BytesIO()
    np.save(written, np.array(json.dumps(header)))
    refused(lambda: poise.load(pack(tmp_path / "b.npz", parts | {"header.npy": written.getvalue()})), "not a list of")


@pytest.mark.parametrize("times", [[-1.0, 0.0, 1e308], [0.0, 0.0, 1.0], [0.0, float("nan"), 1.0], [3.0, 2.0, 1.0]])
def test_times_that_do_not_rise_or_never_end(sample: Motion, times: list[float]) -> None:
    with pytest.raises(InvalidValue, match=r"time|finite"):
        Motion(sample.skeleton, np.array(times), sample.translations[:3], sample.rotations[:3])


def test_a_joint_beyond_the_moon_is_refused(sample: Motion) -> None:
    with pytest.raises(InvalidValue, match="away in frame 0"):
        Motion(sample.skeleton, sample.times, 1e300 * (1.0 + sample.translations), sample.rotations)


@pytest.mark.parametrize(
    "text",
    [
        "a" + ".a" * 20_000 + " = 1\n",
        "[" + "a." * 20_000 + "a]\n",
        'x = {"a b"' + '."c d"' * 20_000 + " = 1}\n",
        "x = " + "[" * 20_000 + "\n",
        "x = " + "{a=" * 20_000 + "\n",
        "x = " + "9" * 5_000 + "\n",
        "# much\n" * 400_000,
    ],
)
def test_toml_that_costs_too_much(text: str) -> None:
    refused(lambda: parse_toml(text, "hostile.toml"), r"hostile\.toml")


def test_ordinary_toml_is_read() -> None:
    text = "# " + "." * 100 + '\na.b."c.d" = "' + "One. Two. " * 12 + '"\nnumbers = [' + "1.5, " * 100 + "2.5]\n"
    assert parse_toml(text, "x")["a"]["b"]["c.d"].startswith("One.")


@pytest.mark.parametrize("row", ["1e300,0,0,0.1,0,3", "2,1e300,0,0,0,0", "1e-300,0,0,0,2,0", "1,0,0,0,2,nan"])
def test_platform_keys_of_no_sensible_size(tmp_path: Path, row: str) -> None:
    path = tmp_path / "p.csv"
    path.write_text(f"time,x,y,z,pitch_deg,roll_deg\n0,0,0,1,0,-1\n{row}\n")
    refused(lambda: Terrain.platform(path), "Platform")


@first_cases(
    3,
    ("mode", "size"),
    [
        *((mode, size) for mode in ("P", "1", "I;16") for size in ((40_000, 3), (3, 40_000), (2049, 2))),
        ("1", (5000, 5000)),
        *(pytest.param(mode, (5000, 5000), marks=pytest.mark.long) for mode in ("P", "I;16")),
    ],
)
def test_pictures_of_any_proportion(tmp_path: Path, size: tuple[int, int], mode: str) -> None:
    path = tmp_path / ("p.png" if mode != "P" else "p.gif")
    Image.new(mode, size, 1).save(path)
    with bounded():
        terrain = Terrain.image(path, 4.0, 1.0)
    assert np.isfinite(terrain.heights(np.random.default_rng(0).uniform(-3.0, 3.0, (50, 2)))).all()


def test_the_edge_of_a_picture_that_is_averaged_is_kept(tmp_path: Path) -> None:
    """The last columns, which fill no whole block, still count: the right edge of this picture is white."""
    values = np.zeros((4, 4097), dtype=np.uint8)
    values[:, 4096:] = 255
    Image.fromarray(values).save(tmp_path / "p.png")
    shape: Any = Terrain.image(tmp_path / "p.png", 4.0, 1.0).shape
    assert shape.heights.shape == (2, 1366)
    assert shape.heights[:, -1] == pytest.approx(2.0 / 3.0)
    assert shape.heights[:, :-1].max() == 0.0


def test_a_picture_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    Image.new("RGB", (8000, 7990)).save(tmp_path / "p.png")
    refused(lambda: Terrain.image(tmp_path / "p.png", 4.0, 1.0), "unpacks to")


@pytest.mark.parametrize("vertices", ["v 1 2\n" * 3, "v 1\n" * 3, "v 1 2\nv 1 2 3\nv 3 2 1\n", "v\n" * 3])
def test_vertices_without_three_coordinates(tmp_path: Path, vertices: str) -> None:
    pytest.importorskip("trimesh")
    path = tmp_path / "m.obj"
    path.write_text(vertices + "f 1 2 3\n")
    refused(lambda: Terrain.mesh(path), r"mesh|coordinates|corners")


def _faces(count: int) -> str:
    corners = "".join(f"v -5 -5 {i * 1e-3}\nv 5 -5 {i * 1e-3}\nv 0 5 {i * 1e-3}\n" for i in range(count))
    return corners + "".join(f"f {3 * i + 1} {3 * i + 2} {3 * i + 3}\n" for i in range(count))


def test_large_faces_over_one_another_make_a_coarser_grid(tmp_path: Path) -> None:
    pytest.importorskip("trimesh")
    path = tmp_path / "m.obj"
    path.write_text(_faces(60))
    with bounded():
        terrain = Terrain.mesh(path)
    assert terrain.heights(np.zeros((1, 2)))[0] == pytest.approx(0.059, abs=1e-6)
    path.write_text(_faces(20_000))
    with pytest.raises(FileFormatError, match="together cover"):
        Terrain.mesh(path)


def test_an_address_is_no_file() -> None:
    refused(
        lambda: poise.load("https://example.com/walk.bvh"),
        "https://example.com/walk.bvh is an address.*Download it first",
    )


def test_a_uri_of_any_length(tmp_path: Path) -> None:
    for uri in ("a" * 5_000, "b/" * 3_000, "c%00d", "d" * 300 + ".bin"):
        path = saved(tmp_path, changed("buffers", 0, "uri", to=uri))
        assert len(refused(partial(poise.load, path), r"data|URI")) < 500 + len(str(path))


@pytest.mark.parametrize("name", ["x" * 300 + ".bvh", "a/" * 3000 + "b.bvh", "nul\0.bvh", "\udcff.bvh"])
def test_a_name_of_any_length(tmp_path: Path, sample: Motion, name: str) -> None:
    for call in (poise.load, poise.load_skeleton, lambda p: poise.save(sample, p)):
        try:
            call(tmp_path / name)
        except PoiseError as error:
            assert len(str(error)) < 500 + len(str(tmp_path / name))  # noqa: PT017
            str(error).encode("utf-8", "backslashreplace")


@pytest.mark.parametrize("kind", ["bvh", "npz", "glb", "gltf"])
def test_mutants_are_read_or_refused_in_a_sentence(tmp_path: Path, sample: Motion, kind: str) -> None:
    """Bytes changed, cut out, doubled, and numbers that are none: whatever is read is finite."""
    path = tmp_path / f"a.{kind}"
    poise.save(sample, path)
    whole, draw = path.read_bytes(), np.random.default_rng(11)
    odd = (b"NaN", b"1e999", b"-1", b"99999999999999999999", b"[]", b"null", b"\xff", b"\x00")
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(int(draw.choice([1, 1, 3, 12]))):
            at = int(draw.integers(len(data)))
            way, until = int(draw.integers(4)), at + int(draw.choice([1, 4, 60]))
            if way == 0:
                data[at] ^= int(draw.integers(1, 256))
            elif way == 1:
                del data[at : min(until, len(data) - 1)]
            else:
                data[at:at] = data[at:until] if way == 2 else odd[int(draw.integers(len(odd)))]
        path.write_bytes(bytes(data))
        try:
            motion = poise.load(path)
        except PoiseError as error:
            assert not isinstance(error, InternalError), str(error)  # noqa: PT017
            continue
        assert np.isfinite(motion.translations).all()
        assert np.isfinite(motion.rotations).all()


def test_a_bvh_of_short_rows_is_refused_before_it_takes_the_memory(tmp_path: Path) -> None:
    """A frame of two bytes moves two hundred joints."""
    joints = "".join(f"JOINT j{k}\n{{\nOFFSET 0 1 0\n" for k in range(200)) + "}\n" * 200
    head = f"HIERARCHY\nROOT r\n{{\nOFFSET 0 0 0\nCHANNELS 1 Zrotation\n{joints}}}\n"
    head += "MOTION\nFrames: 100000\nFrame Time: 0.01\n"
    path = tmp_path / "long.bvh"
    path.write_text(head + "0\n" * 100_000)
    refused(lambda: poise.load(path), "201 joints take about")


@pytest.mark.long
def test_a_zip_with_a_bomb_inside(tmp_path: Path, sample: Motion) -> None:
    poise.save(sample, tmp_path / "a.npz")
    parts = members(tmp_path / "a.npz") | {"times.npy": bytes(400_000_000)}
    pack(tmp_path / "b.npz", parts, zipfile.ZIP_DEFLATED)
    del parts
    refused(lambda: poise.load(tmp_path / "b.npz"), "claims to unpack")


def test_errors_of_python_name_arguments_and_those_of_a_command_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from poise.cli.app import run

    (tmp_path / "a.amc").write_text("#!comment\n:FULLY-SPECIFIED\n:DEGREES\n1\nroot 0 0 0 0 0 0\n")
    with pytest.raises(FileFormatError, match="skeleton=FILE") as caught:
        poise.load(tmp_path / "a.amc")
    assert "--" not in str(caught.value)
    assert run(["info", str(tmp_path / "a.amc")]) == 2
    assert "--skeleton FILE" in capsys.readouterr().err
    with pytest.raises(poise.UnknownName, match="Did you mean 'chest'"):
        poise.Character.fit(sample_clip("walk")).body_index("chesst")


def test_hips_are_the_pelvis_where_no_joint_is_called_so() -> None:
    skeleton = sample_clip("walk").skeleton
    renamed = tuple("Root" if name == "Hips" else name for name in skeleton.names)
    person = poise.Character.fit(replace(skeleton, names=renamed))
    assert person.body_index("Hips") == person.roles["pelvis"]


@pytest.mark.parametrize("header", ["{'descr': (", "{'descr': '<f8', 'shape': (3,\\n", "x y", "{'a':\n  1\n 2"])
def test_an_array_in_a_zip_whose_header_is_damaged(tmp_path: Path, sample: Motion, header: str) -> None:
    poise.save(sample, tmp_path / "a.npz")
    text = header.encode() + b"\n"
    array = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(24)
    parts = members(tmp_path / "a.npz")
    refused(lambda: poise.load(pack(tmp_path / "b.npz", parts | {"times.npy": array})), "damaged")
    other = {"poses.npy": array, "trans.npy": array, "betas.npy": array, "mocap_framerate.npy": array}
    refused(lambda: poise.load(pack(tmp_path / "c.npz", other)), "damaged")


def test_a_bug_in_a_reader_is_told_as_a_bug_and_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from poise.check.clip import check_file
    from poise.check.profile import load_profile
    from poise.check.report import Wanted
    from poise.io import bvh
    from poise.io.format import ReadOptions

    path = tmp_path / "walk.bvh"
    poise.save(sample_clip("walk"), path)

    def broken(*_: object) -> None:
        raise KeyError("a mistake")

    monkeypatch.setattr(bvh, "read", broken)
    with pytest.raises(
        InternalError, match=r"walk\.bvh: Poise failed inside \(KeyError: 'a mistake', poise/io/.*:\d+\)"
    ):
        poise.load(path)
    (report,) = check_file(path, load_profile("realistic"), ReadOptions(), Wanted())
    assert report.verdict == "unreadable"
    assert "This is a bug: please report it" in str(report.error)
    path.write_bytes(path.read_bytes()[:300])
    monkeypatch.undo()
    with pytest.raises(FileFormatError):
        poise.load(path)


@pytest.mark.parametrize("fails", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_files_that_belong_together_are_replaced_all_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: BaseException
) -> None:
    from poise.io import files

    old, new, last = (tmp_path / name for name in ("old.txt", "new.txt", "last.txt"))
    old.write_text("before")
    last.write_text("before")
    replace = os.replace

    def full(source: Path, target: Path) -> None:
        if Path(target) == last and Path(source).read_text() == "after":
            raise fails
        replace(source, target)

    def write_all() -> None:
        with files.all_or_none():
            for path in (old, new, last):
                files.write_atomically(path, "after")

    monkeypatch.setattr(files.os, "replace", full)
    with pytest.raises(UnreadableFile if isinstance(fails, OSError) else KeyboardInterrupt):
        write_all()
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"old.txt": "before", "last.txt": "before"}
    monkeypatch.undo()
    write_all()
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == dict.fromkeys(
        ("old.txt", "new.txt", "last.txt"), "after"
    )
