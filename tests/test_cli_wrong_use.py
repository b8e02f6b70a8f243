"""One clear sentence for each wrong use, exit code 2, nothing written: what a first-time user typed."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import poise
from poise.cli.app import run


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("convert walk.bvh out.bvh --start -5", "--start is -5; give 0 or more"),
        ("convert walk.bvh out.bvh --end -5", "--end is -5; give 0 or more"),
        ("convert walk.bvh out.bvh --fps 1e9", "fps is 1e+09; give at most"),
        ("check walk.bvh --floor nan", "--floor is nan; give a finite number"),
        ("check walk.bvh -c empty.toml", "empty.toml: It names no schema"),
        ("synthesize empty.toml -o out.bvh", "empty.toml: It names no schema"),
        ("pose none.glb --place 'head 0,0,1' -o out.bvh", "'none.glb' is no figure: there is no such file"),
        ("record-stream vmc:0 -o out.xyz --seconds 0.1", "No format is written to the extension '.xyz'"),
        ("export unitree walk.bvh --robot walk.bvh -o out.csv", "Give a MuJoCo model (.xml)"),
        ("synthesize step --height 1.8m -o out.bvh", "give --character FILE as well"),
    ],
)
def test_a_wrong_use_is_told_in_one_sentence(
    words: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    poise.save(poise.load(poise.sample_path("walk")).cut(0.0, 0.3), "walk.bvh")
    Path("empty.toml").write_text("", encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    assert run(shlex.split(words)) == 2
    shown = capsys.readouterr()
    assert said in shown.err.replace("\n", " ")
    assert "Traceback" not in shown.err
    assert sorted(tmp_path.rglob("*")) == before
