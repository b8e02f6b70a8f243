"""A cable car: what it does is key-framed, what the figure does is not."""

from __future__ import annotations

import numpy as np
import pytest

from poise.goals.surroundings import Scene, Surface
from poise.synthesis.behaviors import BEHAVIORS
from poise.synthesis.behaviors.cable_car import TOP
from poise.synthesis.run import synthesize


def test_in_a_rocking_car_the_figure_grabs_the_bar_holds_on_and_hangs_when_the_floor_breaks() -> None:
    options = {"wall.until": 1.6, "floor.until": 2.0}
    report = (result := synthesize("cable-car", seconds=2.6, options=options)).report
    assert [v.name for v in result.visits] == ["balance", "grab", "hold", "hang"]
    assert result.visits[-1].start > 1.99
    assert {(s["body"], s["object"]) for s in report["supports"]} == {("left_hand", "bar"), ("right_hand", "bar")}
    assert result.q[-1, 2] > 0.6, "it hangs"
    assert report["grip_drift_max_m"] <= 1e-3
    assert report["penetration_max_m"] <= 5e-4
    assert report["body_penetration_max_m"] <= 1e-3
    assert report["contact_work_ratio"] <= 0.02
    assert report["root_residual_max"]["force_N"] <= 1e-6
    assert report["solver"]["failures"] == 0


def test_the_car_rocks_about_its_cable_and_loses_walls_and_floor_when_told() -> None:
    scene = BEHAVIORS["cable-car"].setup({"wall.until": 2.2, "floor.until": 2.6, "rock.degrees": 8.0}).scene

    def there(time: float) -> set[str]:
        return {s.name for s in scene.surfaces if s.exists(time)}

    assert there(2.19) == {"floor", "wall ahead", "wall behind"}
    assert there(2.2) == there(2.59) == {"floor"}
    assert not there(2.6)
    parts = [*scene.surfaces, *scene.holds]
    assert len({part.movement for part in parts}) == 1, "it is one body"
    times = np.linspace(0.0, 8.0, 801)
    turned = [scene.holds[0].turn(float(t)) for t in times]
    tilts = np.degrees([np.arctan2(turn[0, 2], turn[2, 2]) for turn in turned])
    assert np.abs(tilts).max() == pytest.approx(8.0, abs=0.01)
    assert (tilts[times <= 0.5] == 0.0).all()
    away = np.array([scene.holds[0].middle(float(t)) - np.array(TOP) for t in times])
    angles = np.degrees(np.arctan2(away[:, 0], -away[:, 2]))
    assert angles == pytest.approx(angles[0] - tilts), "the bar swings about the cable as the car tilts"
    assert np.linalg.norm(away, axis=1) == pytest.approx(np.full(len(away), np.linalg.norm(away[0])))


def test_without_a_bar_in_reach_it_steps_instead() -> None:
    result = synthesize("cable-car", seconds=2.0, options={"bar.height": 2.4})
    assert "grab" not in [v.name for v in result.visits]
    assert result.report["steps_taken"] >= 1


def test_a_figure_falls_freely_when_its_floor_is_gone() -> None:
    result = synthesize("balance", seconds=0.6, scene=Scene((Surface("floor", until=0.2),)))
    height = result.q[:, 2]
    speed = (height[60] - height[50]) / 0.1
    earlier = (height[50] - height[40]) / 0.1
    assert abs((speed - earlier) / 0.1 + 9.81) < 1.0
