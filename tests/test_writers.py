"""A disk that is full, for every writer: one error, nothing half written, the files from before as they were.

The writers come from their registries, so a new format, recording or export is tried without a line here.
"""

from __future__ import annotations

import errno
import json
import os
import pickle
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import poise
from poise.analysis import export
from poise.check.statistics import write_statistics
from poise.cli import live_from
from poise.cli.app import run
from poise.cli.folder import Done, _note, read_manifests
from poise.core.errors import InvalidValue, UnreadableFile
from poise.core.motion import Motion
from poise.io import fbx, files
from poise.io.format import FORMATS, module, optional
from poise.io.mjcf import read_robot
from poise.show import EXTENSIONS, record
from poise.show.motion_scene import scene_of_motion
from poise.show.page import passing_page
from tests import test_io_asf_amc, test_io_deepmimic
from tests.clips import first_cases, sample_clip
from tests.robots import robot_file
from tests.test_robots import csv_of
from tests.test_round_trips import figure

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")

Write = Callable[[Path], None]
"""Writes what it writes into a folder."""
Writer = Callable[[Path], Write]
"""Makes a `Write`; the folder is for what it needs."""


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Inside, a disk is full as soon as a file gets larger [bytes]."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def full_at_file(number: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Inside, no new file gets onto the disk after the first `number` ones."""
    made, begin = 0, files._new_file_beside

    def begun(target: Path) -> Path:
        nonlocal made
        made += 1
        if made > number:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return begin(target)

    with monkeypatch.context() as patched:
        patched.setattr(files, "_new_file_beside", begun)
        yield


def of_format(name: str, suffix: str) -> Writer:
    def prepared(room: Path) -> Write:
        if name == "asf_amc":
            motion = poise.load(test_io_asf_amc.folder(room))
        elif name == "deepmimic":
            motion = poise.load(test_io_deepmimic.folder(room))
        else:
            motion = figure(200, np.arange(200) / 30.0, lying=False)
        return lambda out: poise.save(motion, out / f"a{suffix}")

    return prepared


def of_export(system: str) -> Writer:
    def prepared(room: Path) -> Write:
        robot = read_robot(robot_file(room))
        clip = export.clip_of(poise.load(csv_of(robot, room / "steps.csv")), robot)
        return lambda out: void(export.export(clip, system, out / f"a{export.receiver(system).ending}"))

    return prepared


@cache
def walk() -> Motion:
    return sample_clip("walk", 0.3)


def of_recording(suffix: str) -> Writer:
    def prepared(_: Path) -> Write:
        scene = scene_of_motion(walk().cut(0.0, 0.1))
        return lambda out: void(record(scene, out / f"a{suffix}", width=64, height=64, painter="plain"))

    return prepared


def of_character(suffix: str) -> Writer:
    def prepared(_: Path) -> Write:
        character = poise.Character.fit(walk())
        return lambda out: poise.save_character(character, out / f"a{suffix}")

    return prepared


def void(_: object) -> None:
    return None


WRITTEN = [(name, suffix) for name in FORMATS if optional(module(name), "write") for suffix in module(name).EXTENSIONS]
WRITERS: dict[str, Writer] = {
    **{f"{name}{suffix}": of_format(name, suffix) for name, suffix in WRITTEN},
    **{f"record{suffix}": of_recording(suffix) for suffix in EXTENSIONS},
    **{f"export {system}": of_export(system) for system in export.FORMATS},
    **{f"character{suffix}": of_character(suffix) for suffix in (".toml", ".xml")},
    "statistics": lambda _: lambda out: void(write_statistics(out / "stats", [])),
}
REFUSED = {"asf_amc.asf", "usd.usdz", "fbx.dae", "fbx.blend", "gltf.vrm", "gltf.vrma"}
"""Extensions of formats that are read only."""


def some_of(count: int) -> list[int]:
    """The first, the middle and the last of so many."""
    return sorted({0, count // 2, count - 1})


def tree(folder: Path) -> dict[str, bytes | None]:
    """Every file and folder below one, with its content."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


@pytest.fixture
def room(tmp_path: Path) -> Path:
    (tmp_path / "room").mkdir()
    return tmp_path / "room"


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_what_was_there(name: str, out: Path, room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "fbx.fbx" and fbx._blender() is None:
        pytest.skip('needs Blender: pip install "poise[blender]", or name it in POISE_BLENDER')
    write = WRITERS[name](room)
    if name in REFUSED:
        with pytest.raises(InvalidValue, match="written"):
            write(out)
        assert tree(out) == {}
        return
    # ProtoMotions reads files of PyTorch, which is large: what is written is of no matter here
    torch = SimpleNamespace(from_numpy=lambda values: values, save=pickle.dump, Tensor=type("Tensor", (), {}))
    monkeypatch.setitem(sys.modules, "torch", torch)
    write(out)
    whole = tree(out)
    sizes = [len(data) for data in whole.values() if data is not None]
    largest = max(sizes)
    for path in (out / p for p, data in whole.items() if data is not None):
        path.unlink()
    for path in sorted((p for p in out.rglob("*")), reverse=True):
        path.rmdir()
    for before in ({}, {p: b"before" for p, data in whole.items() if data is not None and "/" not in p}):
        if before and name.startswith(("asf_amc", "deepmimic")):
            before = dict(list(sorted(before.items()))[:1])  # a skeleton of other content is refused for itself
        for path, data in before.items():
            (out / path).write_bytes(data)
        for limit in (0, largest // 2, int(0.97 * largest)):  # a film's length varies by some bytes
            with largest_file(limit), pytest.raises(UnreadableFile, match="cannot be written"):
                write(out)
            assert tree(out) == before
        for number in some_of(len(sizes)):
            with full_at_file(number, monkeypatch), pytest.raises(UnreadableFile, match="the disk is full"):
                write(out)
            assert tree(out) == before
    write(out)
    assert tree(out).keys() == whole.keys()


COMMANDS = {
    "simulate": "CLIP -o OUT/a.bvh --report OUT/r.json --record OUT/r.html",
    "edit retime": "CLIP --factor 1 -o OUT/a.bvh --report OUT/r.json --record OUT/r.html",
    "track": "CLIP -c adult -o OUT/a.bvh --report OUT/r.json --record OUT/r.html",
    "check": "BAD --html OUT/c.html --junit OUT/c.xml --stats OUT/stats",
    "synthesize": "balance --seconds 0.1 -o OUT/a.bvh --report OUT/r.json --record OUT/r.html",
    "spacetime": "particle -o OUT/a.bvh --report OUT/r.json --record OUT/r.html",
    "world": "SCENE --seconds 0.1 --save-figure bob=OUT/b.bvh --report OUT/r.json --record OUT/r.html",
    "demo": "--headless --out OUT/demo",
}
"""Commands that write several files, each with the words after it."""
SCENE = 'schema = "poise.scene/1"\n[[figures]]\nname = "bob"\nclip = "clip.bvh"\nplace = [0.0, 0.0]\n'


@first_cases(1, "name", COMMANDS)
def test_a_full_disk_leaves_no_part_of_what_a_command_writes(
    name: str, out: Path, room: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    poise.save(walk(), room / "clip.bvh")
    moved = walk().translations.copy()
    moved[10, 0, 2] += 0.1
    poise.save(Motion(walk().skeleton, walk().times, moved, walk().rotations), room / "bad.bvh")
    (room / "scene.toml").write_text(SCENE)
    places = {"CLIP": room / "clip.bvh", "BAD": room / "bad.bvh", "SCENE": room / "scene.toml"}
    words = [str(places.get(w, w.replace("OUT", str(out)))) for w in COMMANDS[name].split()]
    made: list[Path] = []

    def begun(target: Path, begin: Any = files._new_file_beside) -> Path:
        made.append(target)
        return begin(target)

    with monkeypatch.context() as patched:
        patched.setattr(files, "_new_file_beside", begun)
        assert run([*name.split(), *words]) == (1 if name == "check" else 0)
    assert len(made) >= 3
    for path in sorted(out.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    capsys.readouterr()
    for number in some_of(len(made)):
        if name == "check" and number == 0:
            number = 1  # a page goes without recordings
        with full_at_file(number, monkeypatch):
            assert run([*name.split(), *words]) == 2
        said = capsys.readouterr().err.splitlines()
        assert [line for line in said if line.startswith("poise: ")] == said[-1:]
        assert "the disk is full" in said[-1]
        kept = next((line for line in said if line.startswith("Written: ")), "")  # a clip stays without its picture
        written = kept.removeprefix("Written: ").partition(". Not written: ")[0].split(", ")
        assert set(tree(out)) == {str(Path(path).relative_to(out)) for path in written if path}


FOLDERS = {
    "library check": "FOLDER -o OUT --record .html",
    "library mend": "FOLDER -o OUT --record .png",
    "library vary": "FOLDER -o OUT -n 2",
    "vary": "FOLDER/one.bvh -o OUT -n 2",
}
"""Commands that fill a folder clip by clip, each with the words after it."""


@first_cases(1, "name", FOLDERS)
def test_a_folder_goes_on_after_a_full_disk(
    name: str, out: Path, room: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each clip has all its files or none, and --resume makes those that are missing."""
    poise.save(walk(), room / "one.bvh")
    if "library" in name:
        poise.save(walk(), room / "two.bvh")
    words = FOLDERS[name].replace("OUT", str(out)).replace("FOLDER", str(room)).split()
    asked = [*name.split(), *words, "--jobs", "1"]
    made: list[Path] = []

    def begun(target: Path, begin: Any = files._new_file_beside) -> Path:
        made.append(target)
        return begin(target)

    def empty() -> None:
        for path in out.iterdir():
            path.unlink()

    with monkeypatch.context() as patched:
        patched.setattr(files, "_new_file_beside", begun)
        assert run(asked) == 0
    whole = {path: data for path, data in tree(out).items() if path != "manifest.jsonl"}
    for number in sorted({*some_of(len(made)), 1}):
        empty()
        capsys.readouterr()
        with full_at_file(number, monkeypatch):
            assert run(asked) in (1, 2)
        assert "the disk is full" in capsys.readouterr().err
        left = tree(out)
        assert left.keys() <= {*whole, "manifest.jsonl"}
        for done in read_manifests(out).values():
            assert done.state == "done" or not (out / done.target).exists()
        assert run([*asked, "--resume"]) == 0
        assert tree(out).keys() - {"manifest.jsonl"} == whole.keys()


def test_a_controller_that_cannot_be_written_leaves_the_one_before(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (out / "walker.npz").write_bytes(b"before")
    with full_at_file(0, monkeypatch):
        clip = str(poise.sample_path("walk"))
        assert run(["locomotion", "build", clip, "-o", str(out / "walker.npz"), "--overwrite"]) == 2
    assert "the disk is full" in capsys.readouterr().err
    assert tree(out) == {"walker.npz": b"before"}


def test_edits_of_a_character_are_saved_as_soon_as_there_is_space(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from poise.show.setup import SetupSession

    path = out / "walker.toml"
    session = SetupSession(poise.Character.fit(walk()), path)
    first = tree(out)
    limb = session.setup.limbs[0].name
    with full_at_file(0, monkeypatch):
        session.do({"do": "scale", "limb": limb, "factor": 0.5})
        assert "the disk is full" in session.view()["saved"]
        assert tree(out) == first
    session.do({"do": "state"})
    assert session.view()["saved"] == ""
    assert tree(out) != first


def test_set_up_says_that_the_last_edits_are_lost(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from poise.show.setup import SetupPage

    path = out / "walker.toml"

    def played(page: SetupPage) -> None:
        session = page.session
        with full_at_file(0, monkeypatch):
            session.do({"do": "scale", "limb": session.setup.limbs[0].name, "factor": 0.5})
        if is_full:
            held.enter_context(full_at_file(0, monkeypatch))

    poise.save(walk(), out / "clip.bvh")
    monkeypatch.setattr(SetupPage, "play", played)
    for is_full, code in ((False, 0), (True, 2)):
        with ExitStack() as held:
            assert run(["setup", str(out / "clip.bvh"), "-o", str(path), "--headless", "--overwrite"]) == code
        assert ("The last edits are lost" in capsys.readouterr().err) is is_full


def test_a_take_that_cannot_be_written_is_kept_elsewhere(
    out: Path, room: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(live_from, "record", lambda *_: walk())
    monkeypatch.setattr(tempfile, "tempdir", str(room))

    def begun(target: Path, begin: Any = files._new_file_beside) -> Path:
        if target.is_relative_to(out) or is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return begin(target)

    is_full = False
    monkeypatch.setattr(files, "_new_file_beside", begun)
    asked = ["record-stream", "vmc:0", "-o", str(out / "take.bvh"), "--report", str(out / "r.json")]
    assert run(asked) == 2
    (kept,) = room.rglob("take.bvh")
    said = capsys.readouterr().err.splitlines()[-1]
    assert "the disk is full" in said
    assert str(kept) in said
    assert poise.load(kept).frame_count == walk().frame_count
    assert tree(out) == {}
    is_full = True
    assert run(asked) == 2
    assert "the disk is full" in capsys.readouterr().err.splitlines()[-1]
    assert len([*room.rglob("*.bvh")]) == 1


def test_a_full_cache_shows_a_page_from_the_folder_of_temporary_files(
    out: Path, room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(dir: Path | None = None, real: Any = tempfile.mkstemp, **more: Any) -> Any:
        handle, path = real(dir=dir, **more)
        if Path(path).is_relative_to(out) or is_full:
            os.close(handle)
            handle = os.open("/dev/full", os.O_WRONLY)
        return handle, path

    is_full = False
    monkeypatch.setattr(tempfile, "mkstemp", made)
    monkeypatch.setattr(tempfile, "tempdir", str(room))
    monkeypatch.setenv("XDG_CACHE_HOME", str(out))
    page = passing_page("a", "text")
    assert (page.parent, page.read_text()) == (room, "text")
    page.unlink()
    is_full = True
    with pytest.raises(UnreadableFile, match="No page can be written"):
        passing_page("a", "text")
    assert not [p for p in (*out.rglob("*"), *room.rglob("*")) if p.is_file()]


def test_a_line_of_a_manifest_is_whole(out: Path) -> None:
    manifest = out / "manifest.jsonl"
    first, second = (Done(name, "done", "", f"{name}.bvh", "k", 1.0) for name in ("one", "two"))
    manifest.write_text(json.dumps(asdict(first))[:20])  # a crash
    _note(manifest, first)
    whole = manifest.read_bytes()
    with largest_file(len(whole) + 30), pytest.raises(UnreadableFile, match="resume"):
        _note(manifest, second)
    assert manifest.read_bytes() == whole
    _note(manifest, second)
    assert read_manifests(out).keys() == {"one", "two"}
