"""Recordings of capture systems as files: MVNX as motion; markers of TRC and C3D, which can be viewed."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.io import ReadOptions, read_options
from poise.io.format import format_of
from poise.io.markers import read_markers
from tests.clips import sample_clip

WALK = "walk"


def mvnx_of(motion: Motion, path: Path, *, first: int = 7, skip: int = 0) -> Path:
    """A recording as MVN writes it, from world poses; `skip` leaves frames out before the last."""
    skeleton, (places, turns) = motion.skeleton, motion.world
    names = skeleton.names
    children = {j: [c for c in range(len(names)) if skeleton.parents[c] == j] for j in range(len(names))}
    inside = [
        "".join(
            f'<point label="j{names[c]}"><pos_b>{" ".join(map(repr, skeleton.offsets[c].tolist()))}</pos_b></point>'
            for c in children[j]
        )
        + "".join(
            f'<point label="tip"><pos_b>{" ".join(map(repr, e.offset.tolist()))}</pos_b></point>'
            for e in skeleton.end_sites
            if e.joint == j
        )
        for j in range(len(names))
    ]
    segments = "".join(
        f'<segment label="{n}" id="{k + 1}"><points><point label="origin"><pos_b>0 0 0</pos_b></point>{inside[k]}'
        "</points></segment>"
        for k, n in enumerate(names)
    )
    joints = "".join(
        f'<joint label="j{n}"><connector1>{names[skeleton.parents[k]]}/j{n}</connector1>'
        f"<connector2>{n}/origin</connector2></joint>"
        for k, n in enumerate(names)
        if k
    )
    numbers = np.arange(motion.frame_count) + first
    numbers[-1] += skip
    frames = "".join(
        f'<frame type="normal" index="{number}"><orientation>{" ".join(map(repr, q.ravel().tolist()))}</orientation>'
        f"<position>{' '.join(map(repr, p.ravel().tolist()))}</position></frame>"
        for number, q, p in zip(numbers, turns, places)
    )
    path.write_text(
        '<?xml version="1.0"?><mvnx version="4"><subject label="Ada" frameRate="60" segmentCount="9"><segments>'
        f'{segments}</segments><joints>{joints}</joints><frames><frame type="tpose"><orientation>1 0 0 0'
        f"</orientation></frame>{frames}</frames></subject></mvnx>"
    )
    return path


@pytest.fixture(scope="module")
def walk() -> Motion:
    return sample_clip(WALK, 0.3)


def test_mvnx_gives_the_recorded_places_and_turns(walk: Motion, tmp_path: Path) -> None:
    motion = poise.load(mvnx_of(walk, tmp_path / "ada.mvnx", skip=3))
    assert motion.skeleton.names == walk.skeleton.names
    assert np.abs(motion.world[0] - walk.world[0]).max() < 1e-9
    dot = np.abs(np.sum(motion.world[1] * walk.world[1], axis=-1))
    assert dot.min() > 1.0 - 1e-12
    assert motion.times[-1] == pytest.approx((walk.frame_count - 1 + 3) / 60.0)  # lost frames leave a gap
    assert motion.source is not None
    assert (motion.source.unit, motion.source.up, motion.source.clips) == (1.0, "z", ("Ada",))
    assert not motion.source.warnings
    assert len(motion.skeleton.end_sites) >= 4


def test_mvnx_can_be_shoved_and_converted(walk: Motion, tmp_path: Path) -> None:
    motion = poise.load(mvnx_of(walk, tmp_path / "ada.mvnx"))
    poise.save(motion, tmp_path / "ada.bvh")
    assert poise.load(tmp_path / "ada.bvh").skeleton.names == motion.skeleton.names
    with pytest.raises(poise.UnknownName, match=r"No format is written to .*\.bvh"):
        poise.save(motion, tmp_path / "again.mvnx")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('<?xml version="1.0"?>', '<?xml version="1.0"?><!DOCTYPE m [<!ENTITY a "aaaa">]>', "entities"),
        ("</mvnx>", "", "damaged"),
        ('frameRate="60"', 'frameRate="0"', "frameRate"),
        ('type="normal"', 'type="npose"', "no frame"),
        ("connector1", "link", "no segments"),
        ("</position>", " 1</position>", "not places"),
    ],
)
def test_mvnx_that_is_damaged_is_one_sentence(walk: Motion, tmp_path: Path, old: str, new: str, words: str) -> None:
    path = mvnx_of(walk, tmp_path / "ada.mvnx")
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(poise.FileFormatError, match=words):
        poise.load(path)


def trc_of(path: Path, *, mark: str = "\t", late: bool = False) -> Path:
    """Three markers over four frames, Y up, in mm; the second is lost in frame 2."""
    head = ["PathFileType", "4", "(X/Y/Z)", path.name]
    keys = ["DataRate", "CameraRate", "NumFrames", "NumMarkers", "Units"]
    names = ["Frame#", "Time", *([""] if late else []), "Toe", "", "", "Knee", "", "", "Head", "", ""]
    rows = []
    for k in range(4):
        knee = ["", "", ""] if k == 1 else ["5", "500", "1"]
        rows.append([str(k + 1), f"{k / 50:.3f}", f"{10 * k}", "20", "0", *knee, "7", f"{1700 - k}", "2"])
    lines = [head, keys, ["50", "50", "4", "3", "mm"], names, ["", "", "X1", "Y1", "Z1"], *rows]
    path.write_text("\n".join(mark.join(line) for line in lines))
    return path


@pytest.mark.parametrize(("mark", "late"), [("\t", False), (",", False), ("\t", True)])
def test_trc_gives_the_places_of_its_markers(tmp_path: Path, mark: str, late: bool) -> None:
    found = read_markers(trc_of(tmp_path / "m.trc", mark=mark, late=late), ReadOptions())
    assert found.names == ("Toe", "Knee", "Head")
    assert found.up == "y"
    assert found.fps == 50.0
    assert found.places[2] == pytest.approx(np.array([[0.02, 0.0, 0.02], [0.005, -0.001, 0.5], [0.007, -0.002, 1.698]]))
    assert np.isnan(found.places[1, 1]).all()
    assert np.isfinite(np.delete(found.places, 1, axis=1)).all()


def test_markers_are_shown_and_not_moved(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from poise.cli.app import app
    from poise.show.motion_scene import scene_of_markers

    path = trc_of(tmp_path / "m.trc")
    with pytest.raises(poise.FileFormatError, match="no skeleton"):
        poise.load(path)
    told = CliRunner().invoke(app, ["info", str(path), "--json"])
    assert told.exit_code == 0
    assert '"frames": 4' in told.stdout
    scene = scene_of_markers(read_markers(path, read_options(up="y")), "m")
    (points,) = scene.overlays
    assert np.isnan(points.positions[1, list(points.names).index("Knee")]).all()  # pyright: ignore[reportAttributeAccessIssue]
    assert np.isfinite(scene.tracks[0].positions).all()  # a lost marker waits where it was seen last
    shown = CliRunner().invoke(app, ["view", str(path), "--record", str(tmp_path / "m.html")])
    assert shown.exit_code == 0, shown.output
    assert (tmp_path / "m.html").stat().st_size > 10_000


def test_trc_that_is_damaged_names_the_line(tmp_path: Path) -> None:
    path = trc_of(tmp_path / "m.trc")
    path.write_text(path.read_text().replace("1698", "high"))
    with pytest.raises(poise.FileFormatError, match="not a number") as caught:
        read_markers(path, ReadOptions())
    assert caught.value.line == 8


def test_trc_of_strangers(tmp_path: Path) -> None:
    """Two marks between two values; markers without a name; no marker, and nothing at all."""
    path = trc_of(tmp_path / "m.trc")
    plain = path.read_text()
    path.write_text(plain.replace("50\t50\t4\t3\tmm", " 50.0\t\t 50.0\t\t 4\t\t 3\t mm"))
    assert read_markers(path, ReadOptions()).fps == 50.0
    path.write_text(plain.replace("\tHead", "\t"))
    assert read_markers(path, ReadOptions()).names == ("Toe", "Knee", "marker 3")
    nobody = plain.replace("\t4\t3\tmm", "\t4\t0\tmm").replace("Toe", "").replace("Knee", "").replace("Head", "")
    for text, words in ((nobody, "states 0 markers"), ("", "ends within its heading")):
        path.write_text(text)
        with pytest.raises(poise.FileFormatError, match=words):
            read_markers(path, ReadOptions())


def test_c3d_gives_the_places_of_its_markers(tmp_path: Path) -> None:
    c3d = pytest.importorskip("c3d", reason="needs c3d, as a writer: pip install c3d")
    path = tmp_path / "m.c3d"
    places = np.random.default_rng(3).normal(scale=500.0, size=(5, 4, 3))
    writer = c3d.Writer(point_rate=100.0, point_units="mm ")
    for k, frame in enumerate(places):
        table = np.zeros((4, 5), dtype=np.float32)
        table[:, :3] = frame
        table[2, 3] = -1.0 if k == 3 else 0.0
        writer.add_frames([(table, np.array([[]]))])
    writer.set_point_labels(["A", "B", "C", "D"])
    writer.set_screen_axis("+X", "+Z")
    with path.open("wb") as file:
        writer.write(file)
    found = read_markers(path, ReadOptions())
    assert format_of(path).NAME == "markers"
    assert found.names == ("A", "B", "C", "D")
    assert (found.up, found.unit, found.fps) == ("z", 0.001, 100.0)
    assert found.places[:, 0] == pytest.approx(places[:, 0] / 1000.0, abs=1e-6)
    assert np.isnan(found.places[3, 2]).all()
    assert np.isfinite(found.places[2, 2]).all()


def c3d_of(path: Path, kind: int, *, whole: bool, analog: tuple[int, int] = (0, 1)) -> Array:
    """A C3D of 3 points over 6 frames as a processor writes it, and its places [mm]. The third is lost in frame 2.

    `analog`: samples of a frame as the heading counts them, and the factor by which it counts them too low.
    """
    order = ">" if kind == 86 else "<"

    def real(value: float) -> bytes:
        if kind == 85:  # halves swapped, 4 times as large
            raw = struct.pack("<f", 4.0 * value)
            return raw[2:] + raw[:2]
        return struct.pack(f"{order}f", value)

    def parameter(name: str, words: list[str]) -> bytes:
        width = max(map(len, words))
        body = struct.pack("bBBB", -1, 2, width, len(words)) + "".join(w.ljust(width) for w in words).encode() + b"\0"
        return struct.pack("bb", len(name), 1) + name.encode() + struct.pack(f"{order}H", 2 + len(body)) + body

    parameters = struct.pack("bb", 5, -1) + b"POINT" + struct.pack(f"{order}H", 3) + b"\0"
    parameters += parameter("LABELS", ["A", "B", "C"]) + parameter("UNITS", ["mm\0\0"]) + parameter("UNITS", ["m"])
    parameters += parameter("Y_SCREEN", ["+Z"])
    places = np.random.default_rng(kind).integers(-900, 900, size=(6, 3, 3)).astype(np.float64)
    samples = analog[0] * analog[1]
    frames = b""
    for k, frame in enumerate(places):
        for n, place in enumerate(frame):
            left = -1 if (k, n) == (2, 2) else 0
            if whole:
                frames += struct.pack(f"{order}4h", *(2.0 * place).astype(int), left)
            else:
                frames += b"".join(real(float(v)) for v in (*place, left))
        frames += bytes((2 if whole else 4) * samples)
    heading = bytes((2, 0x50)) + struct.pack(f"{order}5H", 3, analog[0], 1, 6, 0) + real(0.5 if whole else -1.0)
    heading += struct.pack(f"{order}2H", 3, analog[1]) + real(120.0)
    blocks = [heading, bytes((0, 0, 1, kind)) + parameters]
    path.write_bytes(b"".join(b.ljust(512, b"\0") for b in blocks) + frames)
    return places


@pytest.mark.parametrize("kind", [84, 85, 86])
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("analog", [(0, 1), (4, 1), (4, 5)])
def test_c3d_of_every_processor_is_read(tmp_path: Path, kind: int, whole: bool, analog: tuple[int, int]) -> None:
    places = c3d_of(tmp_path / "m.c3d", kind, whole=whole, analog=analog)
    found = read_markers(tmp_path / "m.c3d", ReadOptions())
    assert (found.names, found.up, found.unit, found.fps) == (("A", "B", "C"), "z", 0.001, 120.0)
    assert np.isnan(found.places[2, 2]).all()
    places[2, 2] = np.nan
    assert found.places == pytest.approx(places / 1000.0, abs=1e-6, nan_ok=True)


def test_c3d_without_a_unit_is_in_millimeters_and_says_so(tmp_path: Path) -> None:
    c3d_of(tmp_path / "m.c3d", 84, whole=False)
    data = (tmp_path / "m.c3d").read_bytes()
    (tmp_path / "m.c3d").write_bytes(data.replace(b"UNITS", b"OTHER"))
    found = read_markers(tmp_path / "m.c3d", ReadOptions())
    assert (found.unit, found.evidence["unit"].confidence) == (0.001, 0.6)
    (tmp_path / "m.c3d").write_bytes(data.replace(b"mm\0\0", b"mete"))
    assert read_markers(tmp_path / "m.c3d", ReadOptions()).unit == 1.0


def test_c3d_that_is_damaged_never_ends_the_process(tmp_path: Path) -> None:
    c3d_of(tmp_path / "m.c3d", 84, whole=False)
    whole = (tmp_path / "m.c3d").read_bytes()
    chance = np.random.default_rng(0)
    outcomes = set()
    for _ in range(60):
        data = bytearray(whole)
        for at in chance.integers(len(data), size=8):
            data[at] = chance.integers(256)
        path = tmp_path / "damaged.c3d"
        path.write_bytes(data[: chance.integers(2, len(data))])
        try:
            outcomes.add(type(read_markers(path, ReadOptions())).__name__)
        except (poise.FileFormatError, poise.InvalidValue) as error:
            outcomes.add(type(error).__name__)
    assert "FileFormatError" in outcomes
