"""Dodging: what is seen coming is avoided, in haste if it is to be feared; what is not seen hits with its momentum."""

from __future__ import annotations

import numpy as np
import pytest

from poise.core.skeleton import world_pose
from poise.core.units import GRAVITY
from poise.synthesis.figure import Settings
from poise.synthesis.run import SynthesisResult, synthesize


def thrown(seconds: float = 1.3, way: float = 0.0, *, is_literal: bool = False, **options: float) -> SynthesisResult:
    """A figure at which a ball is thrown from a direction [deg]; these bars hold in all runs."""
    settings = Settings(is_literal=is_literal)
    options = {"ball.from": way} | {"ball." + name: value for name, value in options.items()}
    result = synthesize("dodge", seconds=seconds, options=options, settings=settings)
    report = result.report
    assert report["fell"] is None
    assert report["root_residual_max"]["force_N"] <= 1e-6
    assert report["solver"]["failures"] == 0
    assert report["penetration_max_m"] <= 5e-4
    assert report["body_penetration_max_m"] <= 1e-3
    return result


def aside(result: SynthesisResult) -> float:
    """How far the pelvis went to the side [m]."""
    return float(np.abs(result.q[:, 1]).max())


def test_a_ball_that_is_seen_is_dodged_and_one_to_be_feared_in_haste() -> None:
    calm, feared = thrown(), thrown(harmful=True, radius=0.08, mass=0.4)
    assert not calm.report["hits"]
    assert not feared.report["hits"]
    assert "dodge" in [v.name for v in calm.visits]
    assert "dodge in fear" in [v.name for v in feared.visits]
    assert aside(feared) > 0.1
    assert aside(feared) > 2.0 * aside(calm)


def test_without_an_urge_nobody_gets_out_of_the_way() -> None:
    loath = synthesize("dodge", seconds=1.1, options={"urge": 0.0})
    assert "dodge" in [v.name for v in loath.visits]
    assert loath.report["hits"]
    assert aside(loath) < 0.01


def test_a_ball_from_behind_is_not_seen_and_hits_with_its_momentum() -> None:
    result = thrown(way=180.0)
    assert [v.name for v in result.visits] == ["balance"]
    hits = result.report["hits"]
    assert hits
    assert {h["figure"] for h in hits} == {"figure"}
    path = result.balls[0].places
    before, after = (path[101] - path[100]) / 0.01, (path[115] - path[114]) / 0.01
    lost = result.balls[0].ball.mass * (before - after)
    lost[2] -= result.balls[0].ball.mass * GRAVITY * 0.14
    np.testing.assert_allclose(
        np.sum([h["momentum"] for h in hits], axis=0), lost, atol=1e-3 * float(np.linalg.norm(lost))
    )
    assert all(h["impulse"] == pytest.approx(np.linalg.norm(h["momentum"])) for h in hits)
    assert all(1.0 < h["time"] < h["until"] < 1.15 for h in hits)


def test_the_literal_form_stays_convex_and_moves_the_head_away_from_the_line() -> None:
    seen, unseen = (thrown(1.04, way, is_literal=True) for way in (0.0, 180.0))
    assert "dodge" in [v.name for v in seen.visits]
    head = seen.character.body_index("head")
    joint = seen.character.bodies[head].joint
    motions = (seen.motion, unseen.motion)
    beside = [world_pose(m.skeleton, m.translations, m.rotations)[0][-1, joint, 1] for m in motions]
    assert beside[1] - beside[0] > 5e-4, "next to nothing, but away"


def test_the_literal_form_with_more_urge_lets_the_ball_pass_and_stays_up() -> None:
    settings = Settings(is_literal=True)
    result = synthesize("dodge", seconds=2.5, options={"urge": 150.0}, settings=settings)
    assert not result.report["hits"]
    assert result.report["fell"] is None
    assert result.report["solver"]["failures"] == 0
