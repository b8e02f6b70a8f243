"""A folder in place of a file: every clip is done, once, whatever happens to one of them."""

from __future__ import annotations

import json
import os
import pickle
import platform
import re
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import poise
from poise.body.character import figure
from poise.cli.app import run
from poise.cli.folder import COMMANDS
from poise.cli.folder_page import Done, reasons
from poise.core.batch import ProcessDied, each, shard
from poise.core.errors import BudgetExceeded, FileFormatError, InvalidValue, SimulationDiverged, UnreadableFile
from tests.chromium import launched, needs_browser
from tests.clips import sample_clip


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    """Three clips, one in a folder of its own, a file that is none, and one of no interest."""
    folder = tmp_path / "clips"
    (folder / "more").mkdir(parents=True)
    short = sample_clip("walk", 0.3)
    for name in ("a.bvh", "b.bvh", "more/a.npz"):
        poise.save(short, folder / name)
    (folder / "broken.bvh").write_text("no clip")
    (folder / "readme.md").write_text("no clip either")
    return folder


def lines(path: Path) -> dict[str, dict]:
    return {d["name"]: d for d in map(json.loads, path.read_text(encoding="utf-8").splitlines())}


def test_a_folder_is_converted(clips: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(["convert", str(clips), str(out), "--to", "glb", "--jobs", "1"]) == 1
    assert sorted(p.relative_to(out).as_posix() for p in out.rglob("*.glb")) == ["a.glb", "b.glb", "more/a.glb"]
    told = capsys.readouterr()
    assert "3 of 4 clips done, 1 failed" in told.out
    assert told.err.count("broken.bvh: ") == 1
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "more/a.npz" in page.replace("\\", "/")
    assert "4 clips, 1 failed" in page
    states = {name: d["state"] for name, d in lines(out / "manifest.jsonl").items()}
    assert states["broken.bvh"] == "failed"
    assert list(states.values()).count("done") == 3


def test_what_is_only_read_is_refused_before_the_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clip = str(poise.sample_path("walk"))
    for command in (["simulate"], ["edit", "mend"]):
        for ending, instead in ((".usdz", ".usdc"), (".dae", ".fbx"), (".asf", ".amc")):
            # an input that is not there is told only when it is read
            assert run([*command, "missing.bvh", "-o", str(tmp_path / f"a{ending}")]) == 2
            assert f"{ending} files can be read but not written. Write {instead}" in capsys.readouterr().err
    assert run(["convert", clip, str(tmp_path / "a.usdz")]) == 2
    (tmp_path / "clips").mkdir()
    (tmp_path / "clips" / "a.usdz").write_bytes(b"")
    assert run(["library", "mend", str(tmp_path / "clips"), "-o", str(tmp_path / "out"), "--jobs", "1"]) == 2
    assert lines(tmp_path / "out" / "manifest.jsonl")["a.usdz"]["target"] == "a.usdc"
    assert "<h1>poise library mend</h1>" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


def test_what_is_not_for_a_clip_leaves_it_out_and_is_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clips, out = tmp_path / "clips", tmp_path / "out"
    clips.mkdir()
    walk = sample_clip("walk", 0.3)
    poise.save(walk, clips / "a.bvh")
    poise.save(walk.frames(np.array([0])), clips / "pose.bvh")
    (clips / "rig.bvh").write_text((clips / "pose.bvh").read_text().partition("MOTION")[0])
    assert run(["simulate", str(clips), "-o", str(out), "--jobs", "1"]) == 0
    told = capsys.readouterr()
    assert "1 of 3 clips done, 2 left out." in told.out
    assert "pose.bvh: left out. A run needs at least 3 frames; this motion has 1." in told.err
    assert "3 clips, 0 failed, 2 left out." in (out / "index.html").read_text(encoding="utf-8")
    assert {name: d["state"] for name, d in lines(out / "manifest.jsonl").items()} == {
        "a.bvh": "done",
        "pose.bvh": "left out",
        "rig.bvh": "left out",
    }
    assert run(["simulate", str(clips), "-o", str(out), "--jobs", "1", "--resume"]) == 0
    assert "0 of 0 clips done (3 were done before)" in capsys.readouterr().out
    assert run(["edit", "ballistic", str(clips), "-o", str(tmp_path / "flown"), "--jobs", "1"]) == 0
    assert "0 of 3 clips done, 3 left out." in capsys.readouterr().out
    assert run(["check", str(clips / "pose.bvh")]) == 0
    assert "One pose, not judged" in capsys.readouterr().out


def test_a_folder_of_actors_drives_a_character(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clips, out = tmp_path / "clips", tmp_path / "out"
    clips.mkdir()
    poise.save(sample_clip("walk", 0.3), clips / "a.bvh")
    assert run(["track", str(clips), "-c", "child", "-o", str(out), "--to", "npz", "--report", ".json"]) == 0
    assert "1 of 1 clips done" in capsys.readouterr().out
    assert sorted(p.name for p in out.iterdir()) == ["a.json", "a.npz", "index.html", "manifest.jsonl"]
    assert poise.load(out / "a.npz").skeleton.names == figure("child").skeleton.names
    assert run(["track", str(clips), "-c", "child"]) == 2
    assert "name the folder for the new files too" in capsys.readouterr().err


def test_the_page_of_a_folder_says_who_falls(tmp_path: Path) -> None:
    clip, out = tmp_path / "in", tmp_path / "out"
    clip.mkdir()
    poise.save(sample_clip("walk", 1.5), clip / "a.bvh")
    told = {}
    for newtons in (100, 6000):
        push = f"chest {newtons} 0 0 @0.2+0.2"
        assert run(["simulate", str(clip), "-o", str(out / str(newtons)), "--push", push, "--jobs", "1"]) == 0
        told[newtons] = (out / str(newtons) / "index.html").read_text(encoding="utf-8")
    assert "The figure falls at " in told[6000]
    assert "falls" not in told[100]


def test_a_run_that_nobody_watches_says_how_far_it_is(
    clips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.modules["poise.cli.app"], "SAYS_EVERY", 0.0)
    assert run(["convert", str(clips), str(tmp_path / "out"), "--to", "glb", "--jobs", "1"]) == 1
    told = capsys.readouterr().err
    assert [f"{k} of 4 done, about " in told for k in (1, 2, 3, 4)] == [True, True, True, False]


def test_what_is_done_is_not_done_again(clips: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    words = ["convert", str(clips), str(out), "--to", ".npz", "--jobs", "1"]
    assert run(words) == 1
    assert run(words) == 2
    assert "--resume" in capsys.readouterr().err
    stamps = {p: p.stat().st_mtime_ns for p in out.rglob("*.npz")}
    shutil.copy(clips / "b.bvh", clips / "broken.bvh")
    (out / "b.npz").unlink()
    assert run([*words, "--resume"]) == 0
    assert "2 of 2 clips done" in capsys.readouterr().out
    assert {p for p, then in stamps.items() if p.exists() and p.stat().st_mtime_ns == then} == set(stamps) - {
        out / "b.npz"
    }
    # another question, or another clip, is a new answer
    os.utime(clips / "a.bvh", ns=(1, 1))
    assert run([*words, "--resume"]) == 0
    assert "1 of 1 clips done" in capsys.readouterr().out
    assert run([*words, "--resume", "--fps", "30"]) == 0
    assert "4 of 4 clips done" in capsys.readouterr().out
    # one that still fails does not hide those that were done before
    (clips / "broken.bvh").write_text("broken", encoding="utf-8")
    assert run([*words, "--resume", "--fps", "30"]) == 1
    assert "0 of 1 clips done (3 were done before), 1 failed" in capsys.readouterr().out


def test_an_interrupt_with_one_process_ends_the_run(
    clips: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    convert = COMMANDS["convert"]

    def interrupted(**given: Any) -> None:
        if given["source"].name == "b.bvh":
            raise KeyboardInterrupt
        convert(**given)

    monkeypatch.setitem(COMMANDS, "convert", interrupted)
    out = tmp_path / "out"
    assert run(["convert", str(clips), str(out), "--jobs", "1"]) == 130
    assert "1 of 4 clips done; --resume goes on" in capsys.readouterr().err
    assert list(lines(out / "manifest.jsonl")) == ["a.bvh"]


def test_shards_do_all_clips_once(clips: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for k in (1, 2, 3):  # in one folder, as machines do that begin at once
        run(["convert", str(clips), str(out), "--shard", f"{k}/3", "--jobs", "1"])
    found = [lines(p) for p in sorted(out.glob("manifest-*.jsonl"))]
    assert len(found) == 3
    assert sorted(name for part in found for name in part) == sorted({name for part in found for name in part})
    assert sum(len(part) for part in found) == 4
    assert "4 clips, 1 failed" in (out / "index.html").read_text(encoding="utf-8")
    # a part that was begun is not begun again by mistake, nor is the whole
    assert run(["convert", str(clips), str(out), "--shard", "2/3", "--jobs", "1"]) == 2
    assert run(["convert", str(clips), str(out), "--jobs", "1"]) == 2


@pytest.mark.parametrize("part", ["0/2", "3/2", "1", "a/b", "1/0", "-1/2", ""])
def test_a_shard_that_is_none(part: str) -> None:
    with pytest.raises(InvalidValue, match="shard"):
        shard([1, 2, 3], part)


def test_a_folder_is_simulated_with_reports(clips: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (clips / "broken.bvh").unlink()
    words = [
        "simulate",
        str(clips),
        "-o",
        str(out),
        "--push",
        "chest 200 0 0 @0.1+0.1",
        "--report",
        ".json",
        "--jobs",
        "1",
    ]
    assert run(words) == 0
    assert json.loads((out / "more" / "a.json").read_text())["schema"] == "poise.simulate/1"
    told = lines(out / "manifest.jsonl")["a.bvh"]
    assert told["measures"]["largest turn of a joint [deg]"] > 0.1
    page = (out / "index.html").read_text(encoding="utf-8")
    assert 'href="a.json"' in page
    assert "outside help at the hips, rms [N]" in page
    assert not re.search(r"<td class=n>[^<]*e[-+]", page)


def test_clips_of_one_name_have_a_report_each(tmp_path: Path) -> None:
    clips, out = tmp_path / "clips", tmp_path / "out"
    clips.mkdir()
    walk = sample_clip("walk", 0.3)
    for name in ("walk.bvh", "walk.npz"):
        poise.save(walk, clips / name)
    assert run(["simulate", str(clips), "-o", str(out), "--report", ".json", "--jobs", "1"]) == 0
    assert {p.name for p in out.glob("walk*")} == {"walk.bvh", "walk.json", "walk.npz.npz", "walk.npz.json"}


def test_a_folder_is_edited_and_described(clips: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(["edit", "scale", str(clips), "-o", str(out), "--size", "2", "--jobs", "1"]) == 1
    assert poise.load(out / "a.bvh").world[0][0, 0, 2] > 1.5 * poise.load(clips / "a.bvh").world[0][0, 0, 2]
    capsys.readouterr()
    assert run(["info", str(clips), "--json", "--jobs", "1"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "poise.folder/1"
    assert {c["name"]: c["measures"].get("frames") for c in found["clips"]}["b.bvh"] > 10
    assert run(["info", str(clips), "--jobs", "1"]) == 1
    assert "b.bvh" in capsys.readouterr().out
    # what `info` says of a clip is said of a folder's clip too
    run(["info", str(out / "a.bvh"), "--json"])
    told = json.loads(capsys.readouterr().out)["warnings"]
    run(["info", str(out), "--json", "--jobs", "1"])
    of_folder = {c["name"]: c["warnings"] for c in json.loads(capsys.readouterr().out)["clips"]}
    assert told
    assert of_folder["a.bvh"] == told


@pytest.mark.parametrize(
    "words",
    [
        ["convert", "CLIPS/a.bvh", "OUT.bvh", "--resume"],
        ["simulate", "CLIPS", "--live"],
        ["simulate", "CLIPS"],
        ["convert", "EMPTY", "OUT"],
        ["convert", "CLIPS", "CLIPS/a.bvh"],
        ["convert", "CLIPS", "CLIPS"],
        ["convert", "CLIPS", "OUT", "--jobs", "0"],
    ],
)
def test_wrong_use_of_folders_is_one_sentence(
    words: list[str], clips: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    places = {"CLIPS": clips, "EMPTY": tmp_path / "empty", "OUT": tmp_path / "out"}
    for name, place in places.items():
        words = [w.replace(name, str(place), 1) if w.startswith(name) else w for w in words]
    before = sorted(clips.rglob("*"))
    assert run(words) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1, said
    assert said[0].startswith("poise: ")
    assert sorted(clips.rglob("*")) == before


def _square(number: int) -> int:
    if number == 3:
        raise InvalidValue("three")
    if number == 5:
        os._exit(9)
    return number * number


@pytest.mark.long
def test_a_process_that_dies_takes_only_its_own_item() -> None:
    found = dict(each(_square, range(8), workers=2))
    assert isinstance(found[3], InvalidValue)
    assert isinstance(found[5], ProcessDied)
    assert {k: v for k, v in found.items() if k not in (3, 5)} == {k: k * k for k in (0, 1, 2, 4, 6, 7)}


def test_an_executor_can_be_given() -> None:
    with ThreadPoolExecutor(2) as pool:
        assert dict(each(abs, [-1, -2, 3], executor=pool)) == {-1: 1, -2: 2, 3: 3}
        assert pool.submit(abs, -4).result() == 4  # it is left open


def test_a_cluster_does_a_folder(
    clips: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Through `distributed.Client`, here one of threads: the clips are done there, and what cannot be is refused."""
    asked = []

    class Client(ThreadPoolExecutor):
        threads = 1

        def __init__(self, address: str, timeout: float) -> None:
            super().__init__(1)
            if "nobody" in address:
                raise OSError("timed out")
            asked.append(address)

        def nthreads(self) -> dict[str, int]:
            return {"tcp://worker": self.threads}

        def get_executor(self, pure: bool) -> ThreadPoolExecutor:
            return self

    words = ["edit", "scale", str(clips), "-o", str(clips.parent / "out"), "--size", "2", "--jobs"]
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert run([*words, "tcp://node:8786"]) == 2
    assert "poise[cluster]" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=Client))
    assert run([*words, "tcp://nobody:1"]) == 2
    assert "No Dask scheduler answers" in capsys.readouterr().err
    assert run([*words, "many"]) == 2
    assert "give a number of processes, or an address" in capsys.readouterr().err
    assert run([*words, "tcp://node:8786"]) == 1  # one clip is broken
    assert "3 of 4 clips done" in " ".join(capsys.readouterr().out.split())
    assert asked == ["tcp://node:8786"]
    Client.threads = 2
    assert run([*words, "tcp://node:8786", "--overwrite"]) == 2
    assert "--nthreads 1" in capsys.readouterr().err


def test_every_clip_of_a_file_with_several_is_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One clip a job, in a file of its own; a clip that --clip names is done alone."""
    clips, out = tmp_path / "clips", tmp_path / "out"
    clips.mkdir()
    with_two_clips(clips / "rig.glb")
    assert run(["convert", str(clips), str(out), "--to", "npz", "--jobs", "1"]) == 0
    assert sorted(p.name for p in out.glob("*.npz")) == ["rig-Rig_Run_v1.2.npz", "rig-Walk.npz"]
    assert sorted(lines(out / "manifest.jsonl")) == ["rig.glb@Rig|Run v1.2", "rig.glb@Walk"]
    assert poise.load(out / "rig-Walk.npz").frame_count > 2
    one = tmp_path / "one"
    assert run(["convert", str(clips), str(one), "--to", "npz", "--jobs", "1", "--clip", "Walk"]) == 0
    assert [p.name for p in one.glob("*.npz")] == ["rig.npz"]
    capsys.readouterr()
    # of one file, too; the error that there are several names the way
    rig, every = clips / "rig.glb", tmp_path / "every"
    assert run(["convert", str(rig), str(every / "rig.npz")]) == 2
    assert "--clip all, and a folder" in capsys.readouterr().err
    assert run(["convert", str(rig), str(every / "rig.npz"), "--clip", "all"]) == 2
    assert f"{every / 'rig'} --to .npz" in capsys.readouterr().err
    assert run(["convert", str(rig), str(every), "--clip", "all", "--to", "npz", "--jobs", "1"]) == 0
    assert sorted(p.name for p in every.glob("*.npz")) == ["rig-Rig_Run_v1.2.npz", "rig-Walk.npz"]
    capsys.readouterr()


def with_two_clips(path: Path) -> None:
    """A GLB whose one animation stands there twice, by two names."""
    poise.save(sample_clip("walk", 0.3), path)
    data = path.read_bytes()
    length = int.from_bytes(data[12:16], "little")
    content = json.loads(data[20 : 20 + length])
    (animation,) = content["animations"]
    content["animations"] = [animation | {"name": "Walk"}, animation | {"name": "Rig|Run v1.2"}]
    text = json.dumps(content).encode()
    text += b" " * (-len(text) % 4)
    rest = data[20 + length :]
    head = data[:8] + (20 + len(text) + len(rest)).to_bytes(4, "little")
    path.write_bytes(head + len(text).to_bytes(4, "little") + data[16:20] + text + rest)


@pytest.mark.parametrize(
    "error",
    [
        FileFormatError("no motion", path="a.bvh", line=3, column=4, text="x"),
        UnreadableFile("a.bvh is not there"),
        BudgetExceeded("too much", seen={"joint": 1.0}, allowed={"joint": 0.5}, amount=0.5),
        SimulationDiverged("it fell apart", frame=7, reason="speed"),
    ],
    ids=lambda e: type(e).__name__,
)
def test_an_error_travels_between_processes_whole(error: Exception) -> None:
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert vars(back) == vars(error)


def unreadable(path: Path) -> float:
    return poise.load(path).duration


def test_a_broken_file_breaks_no_pool(clips: Path) -> None:
    paths = [clips / "broken.bvh", clips / "a.bvh", clips / "b.bvh"]
    with ProcessPoolExecutor(1) as executor:
        found = {path.stem: result for path, result in each(unreadable, paths, executor=executor)}
    assert isinstance(found["broken"], FileFormatError)
    assert found["broken"].line == 1
    assert isinstance(found["a"], float)


def test_a_library_is_checked_and_taken_up_again(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from poise.cli.app import app
    from poise.samples import sample_path

    clips, out = tmp_path / "clips", tmp_path / "out"
    clips.mkdir()
    for name in ("walk", "hover_hop"):
        shutil.copy(sample_path(name), clips)
    (clips / "broken.bvh").write_text("HIERARCHY\n")
    asked = ["library", "check", str(clips), "-o", str(out), "--record", ".png", "--jobs", "1"]
    run = CliRunner().invoke(app, asked)
    assert run.exit_code == 1, run.output  # one cannot be read; the others are done
    assert "2 of 3 clips done, 1 failed, 1 fails its check." in run.output
    report = json.loads((out / "hover_hop.json").read_text())
    assert report["schema"] == "poise.check/1"
    failing = [f["name"] for f in report["clips"][0]["findings"] if f["fails"]]
    assert failing
    page = (out / "index.html").read_text()
    assert failing[0] in page
    assert 'src="walk.png"' in page
    assert (out / "walk.png").stat().st_size > 1000
    before = (out / "walk.json").stat().st_mtime_ns
    again = CliRunner().invoke(app, [*asked, "--resume"])
    assert "2 were done before" in again.output
    assert (out / "walk.json").stat().st_mtime_ns == before


@pytest.mark.long
@needs_browser
def test_rows_of_a_page_are_filtered_and_ordered(tmp_path: Path) -> None:
    from poise.cli.folder_page import Done, summary_page

    rows = [
        Done("a & <b>.bvh", "done", "", "a.bvh", "k", 1.0, {"failing": 10.0}, ("fails: skate.",)),
        Done("c.bvh", "done", "", "c.bvh", "k", 1.0, {"failing": 9.0}, ("fails: glitch.",)),
        Done("d.bvh", "failed", "no figure", "", "k", 1.0),
    ]
    path = tmp_path / "index.html"
    path.write_text(summary_page("poise check", rows, tmp_path))
    with launched() as browser:
        page = browser.new_page()
        page.goto(path.as_uri())
        shown = "[...document.querySelectorAll('tbody tr')].filter((r) => !r.hidden).map((r) => r.cells[0].textContent)"
        page.fill("#only", "bvh -skate")
        assert page.evaluate(shown) == ["c.bvh", "d.bvh"]
        page.fill("#only", "")
        page.check('label:has-text("c.bvh")')
        page.check('label:has-text("d.bvh")')
        page.check("#chosen")
        assert page.evaluate(shown) == ["c.bvh", "d.bvh"]
        page.uncheck("#chosen")
        page.click("th button:has-text('failing')")
        assert page.evaluate(shown) == ["c.bvh", "a & <b>.bvh", "d.bvh"]  # by number, the empty one last


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc alone gives memory back so")
def test_a_worker_of_dask_keeps_freed_memory() -> None:
    """Arrays of 1.6 MB one after the other: each is fetched from the system anew, or none after the first."""
    code = (
        "import resource, sys, numpy as np; from poise.core.process import keep_freed_memory\n"
        "if sys.argv[1] == 'keep': keep_freed_memory()\n"
        "for _ in range(100): np.ones(200_000)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)"
    )
    faults = {}
    for word in ("leave", "keep"):
        env = {**os.environ, "MALLOC_TRIM_THRESHOLD_": "65536"}
        ran = subprocess.run([sys.executable, "-c", code, word], env=env, capture_output=True, text=True, check=True)
        faults[word] = int(ran.stdout)
    assert faults["leave"] - faults["keep"] > 50 * 200_000 * 8 // os.sysconf("SC_PAGE_SIZE")


def test_a_reason_that_many_clips_have_is_said_once() -> None:
    done = [Done(f"{k}.bvh", "failed", "No body 'chset'.", "", "", 0.1) for k in range(7)]
    alone = Done("x.bvh", "failed", "x.bvh: It is empty.", "", "", 0.1)
    assert reasons([*done, alone], "left out. ") == [
        "7 clips: left out. No body 'chset'. (0.bvh, 1.bvh, 2.bvh, 3.bvh, 4.bvh and 2 more)",
        "x.bvh: left out. It is empty.",
    ]
