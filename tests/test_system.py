"""What the system may do to a command: no permission, no space, no home, odd names, links, an interrupt."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import poise
from poise.cli.app import run
from poise.core.errors import PoiseError
from poise.io.files import all_or_none, write_atomically
from tests.clips import first_cases, sample_clip

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions and signals")

SOURCE = Path(poise.__file__).parent
MAY_NOT = ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner", "--inh-caps=-all"]
"""Root may do everything; a process started by this is bound by permissions like any other."""


def command(
    words: Sequence[object], *, env: dict[str, str] | None = None, limits: Any = None, source: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """One command line in a process that permissions bind."""
    before = MAY_NOT if os.geteuid() == 0 else []
    if before and shutil.which("setpriv") is None:
        pytest.skip("as root this needs setpriv")
    environment = {**os.environ, "PYTHONPATH": str(source or SOURCE.parent), **(env or {})}
    if limits is not None:
        environment["PYTHONDONTWRITEBYTECODE"] = "1"  # what is cut off would be read as the module's code later
    line = [*before, sys.executable, "-m", "poise", *map(os.fsencode, map(str, words))]
    return subprocess.run(line, capture_output=True, env=environment, preexec_fn=limits, timeout=240, check=False)


def largest_file(size: int) -> None:
    """To a process that calls this, a disk is full as soon as a file gets larger [bytes]."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def one_sentence(done: subprocess.CompletedProcess[bytes], code: int = 2) -> str:
    said = done.stderr.decode("utf-8")
    assert done.returncode == code, said
    return sentence(said)


def sentence(said: str) -> str:
    """The one sentence with which a command refuses."""
    lines = [line for line in said.splitlines() if not line.startswith("warning: ")]
    assert len(lines) == 1, said
    assert lines[0].startswith("poise: ")
    assert "inside" not in lines[0]
    return lines[0]


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    poise.save(sample_clip("walk", 0.3), tmp_path / "clip.bvh")
    return tmp_path / "clip.bvh"


@pytest.mark.long
def test_a_read_only_installation_and_no_home(tmp_path: Path, clip: Path) -> None:
    """A container or a service: nothing but the output's folder can be written."""
    installed = tmp_path / "site" / "poise"
    shutil.copytree(SOURCE, installed, ignore=shutil.ignore_patterns("__pycache__", "node_modules", "*.nb?"))
    out = tmp_path / "out"
    out.mkdir()
    for folder, _, files in os.walk(tmp_path / "site"):
        for name in files:
            os.chmod(Path(folder, name), 0o444)
        os.chmod(folder, 0o555)
    nowhere = {"HOME": "/proc/nowhere", "XDG_CACHE_HOME": "/proc/nowhere", "NUMBA_CACHE_DIR": ""}
    words = ["simulate", clip, "-o", out / "a.bvh", "--push", "chest 300 0 0 @0.1+0.1", "--report", out / "a.json"]
    done = command(words, env=nowhere, source=tmp_path / "site")
    for folder, _, _ in os.walk(tmp_path / "site"):
        os.chmod(folder, 0o755)
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads((out / "a.json").read_text())["deviation"]["joint_angle_max_deg"] > 1.0


def test_without_a_home_a_clip_is_simulated(tmp_path: Path, clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "/proc/nowhere")
    words = [
        "simulate",
        clip,
        "-o",
        tmp_path / "a.bvh",
        "--record",
        tmp_path / "a.html",
        "--report",
        tmp_path / "a.json",
    ]
    assert run([*map(str, words), "--push", "chest 300 0 0 @0.1+0.1"]) == 0
    assert json.loads((tmp_path / "a.json").read_text())["deviation"]["joint_angle_max_deg"] > 1.0
    assert {p.name for p in tmp_path.iterdir()} == {"clip.bvh", "a.bvh", "a.html", "a.json"}


@pytest.mark.long
def test_a_folder_without_permission(tmp_path: Path, clip: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    said = one_sentence(command(["convert", clip, closed / "a.npz"]))
    assert "permission" in said.lower()
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    shutil.copy(clip, hidden / "clip.bvh")
    hidden.chmod(0o000)
    assert "permission" in one_sentence(command(["info", hidden / "clip.bvh"])).lower()
    clip.chmod(0o000)
    assert "not readable" in one_sentence(command(["info", clip]))


@pytest.mark.parametrize("name", ["x" * 300, "y/" * 2500 + "y"])
def test_a_name_that_is_too_long(tmp_path: Path, clip: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ["info", f"{tmp_path}/{name}.bvh"],
        ["convert", str(clip), f"{tmp_path}/{name}.bvh"],
        ["simulate", str(clip), "-o", str(tmp_path / "a.bvh"), "--report", f"{tmp_path}/{name}.json"],
    ):
        assert run(words) == 2
        sentence(capsys.readouterr().err)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["clip.bvh"]


def test_the_longest_name_is_written(tmp_path: Path, clip: Path) -> None:
    assert run(["convert", str(clip), str(tmp_path / ("n" * 251 + ".npz"))]) == 0


@pytest.mark.long
def test_a_name_that_is_no_text(tmp_path: Path, clip: Path) -> None:
    odd = tmp_path / os.fsdecode(b"w\xff\xfe.bvh")
    try:
        clip.rename(odd)
    except OSError:
        pytest.skip("this file system takes Unicode names only")
    assert json.loads(command(["info", odd, "--json"]).stdout)["frames"] > 1
    for suffix in ("npz", "glb"):
        out = tmp_path / os.fsdecode(b"o\xff." + suffix.encode())
        assert run(["convert", str(odd), str(out)]) == 0
        assert poise.load(out).frame_count == poise.load(odd).frame_count
    record = tmp_path / os.fsdecode(b"r\xff.html")
    report = tmp_path / os.fsdecode(b"r\xff.json")
    words = ["simulate", odd, "-o", tmp_path / "s.bvh", "--report", report, "--record", record]
    assert run([str(word) for word in words]) == 0
    assert json.loads(report.read_text())["source"]["file"]
    assert run(["check", str(odd), "--html", str(tmp_path / "c.html"), "--junit", str(tmp_path / "c.xml")]) in (0, 1)


@first_cases(1, "suffix", ["bvh", "glb", *(pytest.param(s, marks=pytest.mark.long) for s in ("npz", "gltf"))])
def test_a_full_disk_leaves_no_motion(tmp_path: Path, clip: Path, suffix: str) -> None:
    words = ["convert", clip, tmp_path / f"a.{suffix}"]
    one_sentence(command(words, limits=lambda: largest_file(2000)))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["clip.bvh"]


@pytest.mark.long
@pytest.mark.parametrize("record", ["r.png", "r.html", "r.gif", "r.mp4"])
def test_a_full_disk_leaves_no_part_of_a_set_of_files(tmp_path: Path, clip: Path, record: str) -> None:
    """The motion does not fit: nothing is left, and what was there before stays."""
    (tmp_path / "a.bvh").write_text("before")
    one_sentence(
        command(
            [
                "simulate",
                "--terrain",
                "slope:5",
                clip,
                "-o",
                tmp_path / "a.bvh",
                "--overwrite",
                "--record",
                tmp_path / record,
            ],
            limits=lambda: largest_file(clip.stat().st_size + 500),
        )
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.bvh", "clip.bvh"]
    assert (tmp_path / "a.bvh").read_text() == "before"


@pytest.mark.long
def test_a_full_disk_leaves_a_clip_whose_recording_does_not_fit(tmp_path: Path, clip: Path) -> None:
    """The motion fits: it stays, whole, and the shell says what is not written."""
    words = ["edit", "retime", "--factor", "1", clip, "-o", tmp_path / "a.bvh", "--record", tmp_path / "r.html"]
    done = command(words, limits=lambda: largest_file(clip.stat().st_size + 500))
    kept, reason = done.stderr.decode("utf-8").splitlines()[-2:]
    assert done.returncode == 2
    assert kept.startswith("Written: ")
    assert "Not written: " in kept
    assert "cannot be written" in sentence(reason)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.bvh", "clip.bvh"]
    assert poise.load(tmp_path / "a.bvh").frame_count == poise.load(clip).frame_count


@pytest.mark.long
def test_a_full_disk_leaves_no_part_of_the_demo(tmp_path: Path) -> None:
    done = command(["demo", "--headless", "--out", tmp_path / "demo"], limits=lambda: largest_file(300_000))
    assert done.returncode == 2
    assert b"cannot be written" in done.stderr.splitlines()[-1]
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


@pytest.mark.long
def test_a_full_disk_stops_a_folder_in_one_sentence(tmp_path: Path, clip: Path) -> None:
    def full() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (40, 40))

    out = tmp_path / "out"
    said = one_sentence(command(["convert", clip.parent, out, "--to", ".npz", "--jobs", "1"], limits=full))
    assert "manifest.jsonl" in said
    assert "--resume" in said
    assert [p.name for p in out.iterdir()] == ["manifest.jsonl"]


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    real, link = tmp_path / "there" / "real.txt", tmp_path / "link.txt"
    link.symlink_to(real)
    write_atomically(link, b"one")
    assert link.is_symlink()
    assert real.read_bytes() == b"one"
    write_atomically(link, b"two")
    assert link.is_symlink()
    assert real.read_bytes() == b"two"
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(PoiseError, match="cannot be written"):
        write_atomically(tmp_path / "a", b"")


def test_a_device_stays_a_device(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(pipe, b"through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    with pytest.raises(PoiseError, match="folder"):
        write_atomically(tmp_path, b"")


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_new_files_get_the_users_mask(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        write_atomically(tmp_path / "new", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o666 & ~mask
    (tmp_path / "new").chmod(0o640)
    write_atomically(tmp_path / "new", b"again")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_files_appear_together_or_not_at_all(tmp_path: Path) -> None:
    def fail(error: BaseException) -> None:
        with all_or_none():
            write_atomically(tmp_path / "a", b"a")
            raise error

    with pytest.raises(PoiseError):
        fail(PoiseError())
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyboardInterrupt):
        fail(KeyboardInterrupt())
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


START = """
import runpy, _signal as signal
install = signal.signal
def told(*what):
    install(*what)
    signal.signal = install
    print(flush=True)
signal.signal = told
runpy.run_module("poise", run_name="__main__", alter_sys=True)
"""
"""Poise, which says when it has come so far as to answer an interrupt; what is before that is the interpreter's."""


@first_cases(1, "after", [0.0, 0.06, 0.15, 0.3, 0.8])
def test_an_interrupt_at_any_moment_is_one_line(tmp_path: Path, clip: Path, after: float) -> None:
    out = tmp_path / "a.bvh"
    words = ["simulate", str(clip), "-o", str(out), "--terrain", "rough:0.3,7"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    line = [sys.executable, "-c", START, *words]
    child = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    assert child.stdout is not None
    child.stdout.readline()
    time.sleep(after)
    child.send_signal(signal.SIGINT)
    _, told = child.communicate(timeout=60.0)
    said = told.decode("utf-8")
    if child.returncode == 0:
        assert "Traceback" not in said
        return
    assert child.returncode == 130, said
    lines = [line for line in said.splitlines() if not line.startswith("warning: ")]
    assert len(lines) == 1, said
    assert lines[0].startswith("poise: Interrupted.")
    assert not [p for p in tmp_path.iterdir() if "part" in p.name]


def test_nothing_heavy_is_imported_before_an_interrupt_is_answered() -> None:
    code = "import sys; before = set(sys.modules); import poise.__main__; print(*set(sys.modules) - before)"
    env = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, env=env, check=True)
    assert set(done.stdout.split()) == {"__future__", "poise", "poise.__main__"}


def test_the_command_takes_one_thread_before_numpy_is_loaded() -> None:
    code = (
        "import os, sys, poise.cli, poise.__main__ as command\n"
        "poise.cli.run = lambda *_, **__: print(os.environ['OPENBLAS_NUM_THREADS'], 'numpy' in sys.modules)\n"
        "command.main()"
    )
    for given, used in ((None, "1"), ("2", "2")):
        env = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
        env |= {} if given is None else {"OPENBLAS_NUM_THREADS": given}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        assert done.stdout.split() == [used, "False"]
