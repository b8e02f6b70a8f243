"""`poise pose`: a page in which bodies are dragged to places and stay, and the command without a page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("websockets")

import poise
from poise.body.character import figure
from poise.body.posing import body_positions, motion_to_q
from poise.cli.app import run
from poise.filter.forces import Hand
from poise.show.live_pose import FREE, LivePose
from poise.show.page import has_page
from poise.synthesis.poses import standing
from tests.clips import sample_clip
from tests.live_pages import playing


@pytest.mark.skipif(not has_page(), reason="the player is not built: npm ci && npm run build")
def test_bodies_are_dragged_stay_and_are_freed() -> None:
    adult = figure("adult")
    hand, foot = adult.body_index("left_hand"), adult.body_index("right_foot")
    with playing(LivePose(adult, standing(adult)), bodies=len(adult.bodies)) as (page, results):
        there = [0.4, 0.3, 1.2]
        page.ask(type="grab", track=0, body=hand, point=[0, 0, 0], target=[0.3, 0.3, 1.0])
        page.ask(type="move", target=there)
        page.until(lambda s: np.linalg.norm(s.positions[hand] - there) < 0.02)
        page.ask(type="release")
        up = page.until(lambda s: True).positions[foot] + [0.2, 0.0, 0.3]
        page.ask(type="grab", track=0, body=foot, point=[0, 0, 0], target=up.tolist())
        state = page.until(lambda s: np.linalg.norm(s.positions[foot] - up) < 0.03)
        assert np.linalg.norm(state.positions[hand] - there) < 0.03  # it stayed
        page.ask(type="set", name="free", value=True)
        page.ask(type="release")
        page.ask(type="set", name="after", value=FREE)
        page.ask(type="push", track=0, body=hand, force=[60.0, 0.0, 0.0], seconds=0.1)
        page.until(lambda s: np.linalg.norm(s.positions[hand] - there) > 0.03)
    assert results[0].report["places"] == {}


def test_a_hand_that_lets_go_leaves_its_body_or_frees_it() -> None:
    adult = figure("adult")
    source = LivePose(adult, standing(adult))
    hand = adult.body_index("left_hand")
    for after, held in (("stays there", 1), (FREE, 0)):
        source.begin()
        source.set("after", after)
        grip = source.grab(0, hand, np.zeros(3), np.array([0.3, 0.3, 1.1]))
        seen: list[int] = []

        def watch(grip: Hand = grip, seen: list[int] = seen) -> bool:
            (pins,) = source.moment([], is_paused=False).overlays
            seen.append(int(np.isfinite(pins).all(axis=1).sum()))
            if len(seen) == 40:
                grip.let_go(source.time)
            return len(seen) < 60

        result = source.play(watch)
        assert (seen[0], seen[-1]) == (1, held)
        assert len(result.report["places"]) == held
        assert result.motion.frame_count == 61


def test_the_command_reaches_and_saves_the_way_or_the_pose(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["pose", "adult", "--place", "right_hand 0.45,-0.2,0.2", "--seconds", "2"]
    assert run([*words, "-o", "way.npz", "--record", "way.html"]) == 0
    assert "right_hand: " in capsys.readouterr().out
    way = poise.load("way.npz")
    assert way.frame_count == 201
    adult = figure("adult")
    q = motion_to_q(adult, way)
    place = body_positions(adult, q[-1:])[0, adult.body_index("right_hand")]
    assert np.linalg.norm(place - [0.45, -0.2, 0.2]) < 0.05
    assert run([*words, "-o", "pose.npz", "--still"]) == 0
    still = poise.load("pose.npz")
    assert still.frame_count == 2
    assert np.allclose(still.rotations[-1], way.rotations[-1])
    walk = str(poise.sample_path("walk"))
    assert run(["pose", walk, "--at", "0.5", "--place", "head 9,9,9", "-o", "far.bvh", "--seconds", "0.5"]) == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["adult", "--place", "left_hand 1,2"], "JOINT X,Y,Z"),
        (["adult", "--place", "left_hand 1,2,1 @1+2", "-o", "a.bvh"], "JOINT X,Y,Z"),
        (["adult", "--place", "left_hand 1,2,1", "--place", "left_hand 1,2,2", "-o", "a.bvh"], "twice"),
        (["adult", "--place", "left_hand 1,nan,1", "-o", "a.bvh"], "three finite meters"),
        (["adult", "--place", "wing 1,2,3", "-o", "a.bvh"], "wing"),
        (["adult", "--place", "left_hand 1,2,1"], "No output was given"),
        (["adult", "--seconds", "2"], "--seconds is for the way to a --place"),
        (["walk.bvh", "--place", "left_hand 1,2,1", "--place", "LeftHand 1,2,2", "-o", "a.bvh"], "are one body"),
        (["adult", "--at", "1", "--place", "left_hand 1,2,1", "-o", "a.bvh"], "--at"),
        (["adult", "--seconds", "0", "--place", "left_hand 1,2,1", "-o", "a.bvh"], "seconds is 0"),
        (["walk.bvh", "--at", "99", "--place", "left_hand 1,2,1", "-o", "a.bvh"], "99 s"),
    ],
)
def test_wrong_use_is_one_sentence(
    words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    if "walk.bvh" in words:
        poise.save(sample_clip("walk", 0.5), "walk.bvh")
    assert run(["pose", *words]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert not Path("a.bvh").exists()
