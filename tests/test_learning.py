"""Weights of goals are learned from a clip, written as a controller file, and told apart from a clip not seen."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.body.character import Character
from poise.cli.app import run
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.synthesis.clip import MotionClip
from poise.synthesis.controller_file import controller_of, load_controller
from poise.synthesis.learning import STANDING, distance, learn
from poise.synthesis.prepared import prepared
from poise.synthesis.run import synthesize
from tests.clips import sample_clip

PART = ("--start", "0.05")


@cache
def reach() -> Motion:
    """A hand that goes round a circle, read back from nothing but poses."""
    return synthesize("reach", seconds=0.6).motion


def clip_of(motion: Motion) -> MotionClip:
    return MotionClip(motion, prepared(Character.fit(motion)))


def test_a_clip_stands_where_figures_do() -> None:
    walk = sample_clip("walk")
    clip = clip_of(walk)
    assert np.allclose(np.mean([clip.facing(t)[1] for t in clip.times]), 0.0, atol=0.02)
    place, velocity, acceleration = clip.place("com", 1.0)
    before, after = (clip.place("com", 1.0 + h)[0] for h in (-1e-3, 1e-3))
    assert np.allclose((after - before) / 2e-3, velocity, atol=1e-5)
    assert np.allclose((after - 2.0 * place + before) / 1e-6, acceleration, atol=1e-2)
    assert place[0] > 0.5, "it walks along +x"
    assert not clip.place("com", 100.0)[1].any(), "its last frame is held"
    shares = [clip.standing[side].mean() for side in ("left", "right")]
    assert all(0.5 < share < 0.8 for share in shares), "each foot stands for about two thirds of a walk"
    assert (clip.standing["left"] | clip.standing["right"]).all()


def test_a_run_that_is_its_clip_costs_nothing() -> None:
    result = synthesize("reach", seconds=0.6)
    clip = MotionClip(result.motion, result.character)
    near = distance(result, clip, 0.6, "itself")
    assert near.joints < 0.1
    off = float(np.linalg.norm((clip.q[0] - result.q[0])[:3]))  # the clip's feet are at the origin
    assert near.com == pytest.approx(off, abs=1e-3)
    other = synthesize("balance", seconds=0.6)
    assert distance(other, clip, 0.6, "other").joints > 3.0


def test_learning_lowers_the_cost_and_the_file_runs(tmp_path: Path) -> None:
    pytest.importorskip("cma")
    costs: list[float] = []
    found = learn(reach(), tries=4, population=4, seed=1, on_try=lambda _, cost, __: costs.append(cost))
    assert len(set(costs)) == 4
    # the best try is kept, which is neither the last one nor the start; the file has four digits of each weight
    assert costs[-1] > 1.2 * min(costs)
    assert found.after.cost == pytest.approx(min(costs), rel=0.02)
    assert found.after.cost < 0.6 * found.before.cost  # 0.68 of 1.24; 0.66 of 2.77 while feet that stand crept
    assert found.before.fell is None
    found.save(tmp_path / "mine.toml")
    text = (tmp_path / "mine.toml").read_text()
    assert "seed 1, 4 tries" in text
    behavior = load_controller(tmp_path / "mine.toml")
    assert behavior.options == dict(found.weights)
    assert set(found.weights) == set(STANDING)
    again = synthesize(behavior, Character.fit(reach()), clip=reach(), seconds=0.6)
    assert distance(again, clip_of(reach()), 0.6, "again").cost == pytest.approx(found.after.cost)
    with pytest.raises(InvalidValue, match="begins as its clip does, and there is none; give"):
        synthesize(behavior, seconds=0.1)


def test_a_clip_that_cannot_be_learned_is_refused() -> None:
    with pytest.raises(InvalidValue, match=r"lasts 0\.20 s; learning takes clips of at least 0\.5 s"):
        learn(reach().cut(0.0, 0.2))
    with pytest.raises(InvalidValue, match=r"No foot of .* is on the ground for .* s; .* Cut out such a part"):
        learn(sample_clip("hover_hop"))


def test_the_command_learns_and_says_what_it_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cma")
    clip, mine = tmp_path / "reach.bvh", tmp_path / "mine.toml"
    poise.save(reach(), clip)
    assert run(["synthesize", "learn", str(clip), "-o", str(mine), "--tries", "2", "--held-out", str(clip), *PART]) == 0
    said = capsys.readouterr()
    assert "learned from reach.bvh (0.55 s from 0.05 s): cost" in said.out
    assert "held out reach.bvh: cost" in said.out
    assert "Held out" in mine.read_text()
    assert "try 2 of 2" in said.err
    out = tmp_path / "out.bvh"
    assert run(["synthesize", str(mine), "--clip", str(clip), "-o", str(out), "--seconds", "0.1"]) == 0
    capsys.readouterr()
    assert run(["synthesize", "learn", str(clip), "-o", str(out)]) == 2
    assert "learn writes a controller file; give -o mine.toml, not" in capsys.readouterr().err
    assert run(["synthesize", "learn", "--help"]) == 0
    assert "--held-out" in capsys.readouterr().out
    assert controller_of(mine.read_text()).options.keys() == STANDING.keys()
