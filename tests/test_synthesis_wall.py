"""A wall as support: the same push is answered by a step, by hands, or by a step and then hands."""

from __future__ import annotations

import numpy as np
import pytest

from poise.filter.forces import Push
from poise.synthesis.run import SynthesisResult, synthesize

BARS = {"penetration_max_m": 5e-4, "body_penetration_max_m": 1e-3, "contact_work_ratio": 0.02}


def pushed(force: float, heading: float = 0.0, seconds: float = 1.5, **options: float) -> SynthesisResult:
    """A figure pushed at the chest by so many newtons toward a heading [deg]; these bars hold in all runs."""
    way = np.radians(heading)
    push = Push("chest", (force * float(np.cos(way)), force * float(np.sin(way)), 0.0), 0.2, 0.1)
    result = synthesize(
        "wall",
        pushes=(push,),
        seconds=seconds,
        options={"wall" + ("" if name[0] == "2" else ".") + name: value for name, value in options.items()},
    )
    report = result.report
    assert report["fell"] is None
    assert report["root_residual_max"]["force_N"] <= 1e-6
    assert report["solver"]["failures"] == 0
    for name, most in BARS.items():
        assert report[name] <= most, name
    return result


def hands(result: SynthesisResult) -> dict[str, str]:
    """What each hand came to rest on."""
    return {s["body"]: s["object"] for s in result.report["supports"]}


def test_the_same_push_is_answered_by_a_step_by_hands_or_by_both() -> None:
    without, near, far = pushed(350.0, count=0.0), pushed(350.0, distance=0.6), pushed(350.0, distance=0.8)
    assert without.report["steps_taken"] >= 1
    assert not hands(without)
    assert near.report["steps_taken"] == 0
    assert hands(near) == {"LeftHand": "wall", "RightHand": "wall"}
    assert [v.name for v in near.visits][:3] == ["balance", "reach", "lean"]
    assert far.report["steps_taken"] >= 1
    assert set(hands(far).values()) == {"wall"}


def test_the_nearest_hand_alone_takes_a_wall_at_the_side_and_lets_go_of_it() -> None:
    result = pushed(250.0, 90.0, seconds=2.4, distance=0.55, direction=90.0)
    assert hands(result) == {"LeftHand": "wall"}
    assert [v.name for v in result.visits] == ["balance", "reach", "lean", "let go", "balance"]


@pytest.mark.parametrize(("ahead", "beside", "taken"), [(0.45, 0.8, "wall"), (0.7, 0.4, "wall2")])
def test_of_two_walls_the_nearer_is_taken(ahead: float, beside: float, taken: str) -> None:
    result = pushed(300.0, 45.0, seconds=1.2, count=2.0, distance=ahead, **{"2.distance": beside})
    assert result.report["supports"][0]["object"] == taken


def test_a_wall_behind_is_not_seen_and_helps_nobody() -> None:
    result = pushed(250.0, 180.0, seconds=1.0, distance=0.4, direction=180.0)
    assert "reach" not in [v.name for v in result.visits]
