"""Wrong BVH files end in one clear error with line and cure, in no time, whatever they claim about themselves."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import poise
import poise.io
from poise.core.errors import FileFormatError
from poise.io import ReadOptions
from poise.io.bvh import parse
from tests.bvh_texts import bvh, hierarchy, motion_text, put, values

PLAIN = bvh()
FIRST_ROW = PLAIN[: PLAIN.index("0.0333333")].count("\n") + 2


def refused(folder: Path, text: str | bytes, match: str | None = None, line: int | None = None) -> FileFormatError:
    """The error of a file; it must not hang, nor need more than 200 MB."""
    path = put(folder, text)
    tracemalloc.start()
    begin = time.perf_counter()
    with pytest.raises(FileFormatError, match=match) as caught:
        poise.io.load(path)
    seconds = time.perf_counter() - begin
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds < 60.0, "a refusal must not hang"
    assert peak < 200e6
    assert caught.value.path == str(path)
    assert caught.value.cure
    if line is not None:
        assert caught.value.line == line
    return caught.value


@pytest.mark.parametrize(
    ("old", "new", "match", "line"),
    [
        ("HIERARCHY", "HIERARCHI", "no format|begins with the word HIERARCHY", None),
        ("ROOT", "BASE", "'ROOT' should stand", 2),
        ("ROOT Hips", "ROOT", "ROOT without a name", 2),
        ("OFFSET 0 90 0", "OFFSET 0 90", "OFFSET needs three numbers; 'CHANNELS' is none", 5),
        ("OFFSET 0 90 0", "OFFSET 0 nan 0", "'nan' is none", 4),
        ("OFFSET 0 90 0", "OFFSET 0 1e999 0", "'1e999' is none", 4),
        ("OFFSET 0 90 0", "OFFSET 0 90 0 0", "'0' stands where", 4),
        ("\tOFFSET 0 90 0\n", "", "has no OFFSET", None),
        ("CHANNELS 6", "CHANNELS six", "count from 0 to 6", 5),
        ("CHANNELS 6", "CHANNELS 7", "count from 0 to 6", 5),
        ("CHANNELS 6", "CHANNELS 5", "'Yrotation' stands where", 5),
        ("CHANNELS 3", "CHANNELS 4", "is not a channel; joint 'LeftUpLeg' announces 4", None),
        ("CHANNELS 6 Xposition", "CHANNELS 6 Wposition", "'Wposition' is not a channel", 5),
        ("CHANNELS 6 Xposition", "CHANNELS 6 Yposition", "appears twice", 5),
        (
            "CHANNELS 6 Xposition Yposition Zposition Zrotation",
            "CHANNELS 6 Xposition Yposition Zposition Xrotation",
            "appears twice",
            5,
        ),
        ("End Site", "End Cap Site {", "'{' stands|'OFFSET' should", None),
        ("JOINT LeftUpLeg", "JOIN LeftUpLeg", "'JOIN' stands where", 6),
        ("}\nMOTION", "}\n}\nMOTION", "stands after the last", None),
        ("}\nMOTION", "MOTION", "The hierarchy ends where", None),
        ("}\nMOTION", "}\nROOT second\n{\n}\nMOTION", "second ROOT", None),
        ("MOTION\n", "MOTIONS\n", "'MOTIONS' stands after", None),
        ("MOTION\n", "", "The line MOTION is missing", None),
        ("Frames: 5\n", "", "'Frames:' and a number", None),
        ("Frames: 5\n", "Frames: five\n", "not a whole number", None),
        ("Frames: 5\n", "Frames: -5\n", "not a whole number", None),
        ("Frames: 5\n", "Frames: 5.5\n", "not a whole number", None),
        ("Frames: 5\n", "Frames: 0\n", "declares 0 frames and holds 5", None),
        ("Frame Time: 0.0333333\n", "", "'Frame Time:' and a number", None),
        ("Frame Time: 0.0333333", "Frame Time: 0", "not a usable number of seconds", None),
        ("Frame Time: 0.0333333", "Frame Time: -1", "not a usable number of seconds", None),
        ("Frame Time: 0.0333333", "Frame Time: inf", "not a usable number of seconds", None),
        ("Frame Time: 0.0333333", "Frame Time: 0,0333333", "not a usable number of seconds", None),
    ],
)
def test_one_wrong_word(tmp_path: Path, old: str, new: str, match: str, line: int | None) -> None:
    assert old in PLAIN
    error = refused(tmp_path, PLAIN.replace(old, new, 1), match, line)
    assert error.line is None or error.line <= PLAIN.count("\n") + 5


@pytest.mark.parametrize("word", ["nan", "inf", "1e400", "1,5", "x", "1.2.3", "--5", "1_0", "0x1p3", "٣", "\0", "1-2"])
def test_a_word_that_is_no_number(tmp_path: Path, word: str) -> None:
    lines = PLAIN.rstrip("\n").split("\n")
    words = lines[FIRST_ROW + 1].split(" ")
    words[7] = word
    lines[FIRST_ROW + 1] = " ".join(words)
    error = refused(tmp_path, "\n".join(lines) + "\n", "Not a finite number", FIRST_ROW + 2)
    assert error.column == sum(len(w) + 1 for w in words[:7]) + 1
    assert ("decimal point" in error.cure) == ("," in word)


def test_rows_of_another_length(tmp_path: Path) -> None:
    lines = PLAIN.rstrip("\n").split("\n")
    lines[FIRST_ROW] += " 7.5"
    refused(tmp_path, "\n".join(lines), "A row of 40 numbers; the hierarchy has 39 channels", FIRST_ROW + 1)
    short = PLAIN.rstrip("\n").split("\n")
    short[FIRST_ROW] = short[FIRST_ROW].rsplit(" ", 3)[0]
    refused(tmp_path, "\n".join(short), "A row of 36 numbers", FIRST_ROW + 1)


@pytest.mark.parametrize("part", range(0, 100, 4))
def test_truncated_anywhere(tmp_path: Path, part: int) -> None:
    text = PLAIN.rstrip("\n")
    cut = text[: len(text) * part // 100]
    error = refused(tmp_path, cut)
    assert error.line is None or 1 <= error.line <= cut.count("\n") + 2


def test_reordered_parts(tmp_path: Path) -> None:
    refused(tmp_path, motion_text(values()) + hierarchy())
    refused(tmp_path, hierarchy() + "MOTION\nFrame Time: 0.0333333\nFrames: 5\n", "'Frames:' and a number")


def test_no_frames_and_nothing_that_moves(tmp_path: Path) -> None:
    refused(tmp_path, hierarchy() + "MOTION\nFrames: 0\nFrame Time: 0.1\n", "no frames")
    still = "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 0\n}\nMOTION\nFrames: 1\nFrame Time: 0.1\n"
    refused(tmp_path, still, "nothing here moves")


FRAMES = hierarchy() + "MOTION\nFrames: 5\nFrame Time: 0.1\n"
LEAF = "OFFSET 0 0 0\nCHANNELS 0\n"


@pytest.mark.parametrize(
    ("start", "repeated", "count", "end"),
    [
        (PLAIN.replace("Frames: 5", "Frames: 999999999999999"), "", 0, ""),
        ("HIERARCHY\nROOT a\n{\n" + LEAF, "JOINT b\n{\n" + LEAF, 200_000, ""),
        ("HIERARCHY\n", "ROOT a\n{\n", 500_000, ""),
        ("HIERARCHY\nROOT ", "a", 20_000_000, ""),
        ("HIERARCHY\n", " ", 20_000_000, ""),
        ("HIERARCHY\nROOT a\n{\nOFFSET ", "1", 20_000_000, ""),
        (FRAMES, "1 ", 20_000_000, ""),
        pytest.param(FRAMES, "9", 40_000_000, "", marks=pytest.mark.long),
        (FRAMES, "1\n", 10_000_000, ""),
        (FRAMES, "\n", 30_000_000, "1 2 3"),
        (hierarchy(), "MOTION\n", 1_000_000, ""),
        ("HIERARCHY\n", "}{", 5_000_000, ""),
        ("HIERARCHY", "\0", 20_000_000, ""),
    ],
    ids=lambda part: str(part)[:12],
)
def test_huge_claims_and_endless_garbage(tmp_path: Path, start: str, repeated: str, count: int, end: str) -> None:
    refused(tmp_path, start + repeated * count + end)


@pytest.mark.parametrize(
    "data", [b"", b"\0", b"\xff\xfeH\0I\0", bytes(range(256)) * 50, b"HIERARCHY\n\xff\xfe\xfd", b"PK\x03\x04"]
)
def test_what_is_no_text(tmp_path: Path, data: bytes) -> None:
    refused(tmp_path, data)


def test_a_file_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "clip.bvh"
    with path.open("wb") as file:
        file.truncate((1 << 30) + 1)
    with pytest.raises(FileFormatError, match="at most 1073741824 are read"):
        poise.io.load(path)


VOCABULARY = (
    "HIERARCHY|ROOT|JOINT|End Site|{|}|OFFSET|CHANNELS|MOTION|Frames:|Frame Time:|\n|\t|Xposition|Yrotation|Zrotation"
    "|0|1|3|6|-1.5|1e-3|1e999|nan|abc|,|é|\0|999999999999999999999999"
)
WORDS = st.sampled_from(VOCABULARY.split("|"))


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(st.lists(WORDS, max_size=60))
def test_any_words_at_all(tmp_path: Path, words: list[str]) -> None:
    path = put(tmp_path, "HIERARCHY\n" + " ".join(words))
    with pytest.raises(FileFormatError):
        parse(path, ReadOptions())


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(st.integers(0, len(PLAIN) - 1), st.integers(0, 60), st.binary(max_size=12))
@example(at=PLAIN.index("LeftLeg"), length=0, new=b"}")
def test_any_bytes_exchanged(tmp_path: Path, at: int, length: int, new: bytes) -> None:
    data = PLAIN.encode()
    path = put(tmp_path, data[:at] + new + data[at + length :])
    try:
        motion = poise.io.load(path)
    except FileFormatError:
        return
    assert np.isfinite(motion.translations).all()


@pytest.mark.parametrize("mark", ["\x1c", "\x85", "\xa0"])
def test_a_mark_that_only_python_takes_for_a_blank_is_no_number(tmp_path: Path, mark: str) -> None:
    head, _, last = PLAIN.rstrip("\n").rpartition(" ")
    with pytest.raises(FileFormatError, match="Not a finite number"):
        poise.io.load(put(tmp_path, f"{head} {mark}{last}\n".encode("latin-1")))


@pytest.mark.long
def test_a_table_on_one_line_takes_no_more_memory_than_one_of_rows(tmp_path: Path) -> None:
    """Neither takes ten times the file."""
    motion = poise.load(poise.sample_path("walk"))
    poise.save(motion.resampled(np.linspace(0.0, motion.duration, 6000)), tmp_path / "rows.bvh")
    head, mark, table = (tmp_path / "rows.bvh").read_text(encoding="utf-8").partition("Frame Time:")
    rate, _, rows = table.partition("\n")
    (tmp_path / "line.bvh").write_text(f"{head}{mark}{rate}\n{' '.join(rows.split())}\n", encoding="utf-8")
    found = []
    for name in ("rows.bvh", "line.bvh"):
        tracemalloc.start()
        found.append(poise.load(tmp_path / name))
        assert tracemalloc.get_traced_memory()[1] < 10 * (tmp_path / name).stat().st_size
        tracemalloc.stop()
    assert np.array_equal(found[0].world[0], found[1].world[0])
