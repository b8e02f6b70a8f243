"""The paper's own form and weights: every behavior runs in it; where the mass goes, which foot lifts, its own steps."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from poise.filter.forces import Push
from poise.goals.objectives import Still
from poise.goals.polygon import centroid
from poise.goals.stepping import Nearing, StepMidway, choose_farther_foot, midway
from poise.synthesis.behaviors import BEHAVIORS
from poise.synthesis.controller_file import controller_of
from poise.synthesis.figure import Settings
from poise.synthesis.run import SynthesisResult, synthesize, world_of
from poise.synthesis.world import World
from tests.clips import first_cases
from tests.test_synthesis_balance import observation_of

Array = npt.NDArray[np.float64]
LITERAL = Settings(is_literal=True)


class Watched:
    """A literal run; where the center of mass was against the middle of some feet's soles [m], one row a step."""

    def __init__(self, behavior: str, feet: tuple[str, ...], seconds: float, *pushes: Push) -> None:
        self.rows: list[Array] = []
        self.feet = feet
        self.result: SynthesisResult = synthesize(
            behavior, seconds=seconds, pushes=pushes, settings=LITERAL, on_step=self._look
        )

    def _look(self, world: World) -> None:
        body = world.figures[0].body
        soles = world.state.points[np.concatenate([body.feet[side] for side in self.feet]), :2]
        self.rows.append(world.state.com(body.root)[:2] - centroid(soles))

    @property
    def off(self) -> Array:
        """Shape (N, 2)."""
        return np.array(self.rows)


@first_cases(3, "name", list(BEHAVIORS))
def test_every_behavior_runs_in_the_literal_form(name: str) -> None:
    result = synthesize(name, seconds=0.05, settings=LITERAL)
    assert result.is_complete
    assert result.report["is_literal"]
    assert result.report["root_residual_max"]["force_N"] < 1e-6
    assert result.report["solver"]["failures"] == 0
    goals = {
        (type(w).__name__, getattr(w, "weight", 0.0))
        for role in BEHAVIORS[name].setup(is_literal=True).roles
        for state in role.machine.states
        for w in state.goals
    }
    if name in ("hopper", "run"):
        return  # of another source: their own goals in this form
    papers = {"climb": 0.2, "swing": 0.1}
    assert ("Still", papers.get(name, 0.5)) in goals, "the paper's G_qv"


def test_a_controller_of_ones_own_runs_in_the_literal_form() -> None:
    text = '[[states]]\nname = "rest"\ngoals = [{ is = "Still", weight = 0.5 }, { is = "ComOver", weight = 5.0 }]\n'
    behavior = controller_of('schema = "poise.controller/1"\n' + text)
    assert behavior.setup(is_literal=True).roles[0].machine.states[0].goals[0] == Still(0.5)
    assert synthesize(behavior, seconds=0.03, settings=LITERAL).report["is_literal"]


@pytest.mark.long
def test_the_mass_comes_back_toward_the_middle_of_the_soles_and_not_past_it() -> None:
    seen = Watched("balance", ("left", "right"), 6.0, Push("chest", (120.0, 120.0, 0.0), 0.3, 0.1))
    assert seen.result.report["fell"] is None
    off = seen.off
    for axis, most in ((0, 0.7), (1, 0.97)):
        peak, last = off[:, axis].max(), off[-150:, axis]
        assert peak > 0.01
        assert last.min() > 0.0
        assert last.mean() < most * peak, "it stays where the push left it"
    # what people do who stand: the mass stays over the soles all the time
    assert np.abs(off).max() < 0.06


@pytest.mark.long
def test_one_foot_lifts_after_the_weight_has_moved() -> None:
    seen = Watched("one-foot", ("left",), 7.5)
    report, trace = seen.result.report, seen.result.trace
    assert report["fell"] is None
    assert report["solver"]["failures"] == 0
    assert [v.name for v in seen.result.visits] == ["shift", "lift"]
    releases = round(seen.result.visits[1].start / 0.01)
    own = seen.result.character.contact_points
    names = [b.name for b in seen.result.character.bodies]
    right = [k for k, p in enumerate(own) if p.part == "foot" and names[p.body].startswith("Right")]
    heights, loads = trace.points[:, right, 2], trace.forces[:, right, 2].sum(axis=1)
    assert heights[:releases].max() < 1e-3, "lifted before the weight had moved"
    assert np.abs(seen.off[releases]).max() < 0.5 * np.abs(seen.off[0]).max()
    assert heights[-1].mean() > 5e-3
    assert loads[-1] < 0.5 * loads[releases]


# --- the paper's own steps


def test_the_farther_foot_steps_until_the_mass_is_midway() -> None:
    view = observation_of((0.0, 0.0))
    for aside, farther in ((-0.05, "left"), (0.05, "right")):
        view.com = view.place(view.foot("both")) + np.array([0.0, aside, 1.0])
        choose_farther_foot(view)
        assert view.memory["swing"] == farther
    place = midway(view)
    np.testing.assert_allclose(0.5 * (place[:2] + view.place(view.foot("stance"))[:2]), view.com[:2], atol=1e-12)
    assert place[2] == pytest.approx(0.0, abs=1e-3)
    assert len(StepMidway(0.8).objectives(view)) == 1


def test_a_step_ends_when_its_place_runs_away_from_the_foot() -> None:
    for speed, near in ((1.0, False), (-1.0, True)):
        view = observation_of((speed, 0.0))
        choose_farther_foot(view)
        view.time_in_state = 0.2
        view.memory["ahead"] = midway(view)[0] > view.place(view.foot("swing"))[0]
        assert Nearing().holds(view) == (near == view.memory["ahead"])
        view.time_in_state = 0.05
        assert Nearing().holds(view)


def test_a_push_too_hard_for_standing_makes_it_try_a_step() -> None:
    result = synthesize("step", seconds=1.6, pushes=[Push("chest", (350.0, 0.0, 0.0), 0.3, 0.1)], settings=LITERAL)
    assert [v.name for v in result.visits][:3] == ["balance", "relax foot", "take step"]
    assert world_of(BEHAVIORS["step"].setup(is_literal=True), settings=LITERAL).weights.torque_change == 1e-6
