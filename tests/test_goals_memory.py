"""What goals read of a machine's memory is written before, or the controller is refused with its cure."""

from __future__ import annotations

from functools import partial

import pytest

from poise.core.errors import FileFormatError, InvalidValue
from poise.goals import registry
from poise.goals.climbing import MoveTo
from poise.goals.conditions import AllOf, Always, Not, Stepping
from poise.goals.goal import read_by, written_by
from poise.goals.objectives import ComOver, Pose, Unload, Upright
from poise.goals.observation import Observation
from poise.goals.reaching import TakeHand
from poise.goals.registry import require_memory
from poise.goals.state_machine import ControlState, Part, StateMachine
from poise.goals.stepping import RaiseFoot, StepTo, choose_step, stand_on_left
from poise.goals.walls import Brace
from poise.synthesis.behaviors import BEHAVIORS
from poise.synthesis.controller_file import controller_of
from poise.synthesis.run import synthesize
from tests.test_synthesis_balance import observation_of

KEYS = {
    "swing": ("swing", "stance"),
    "seconds": ("seconds",),
    "hands": ("hands",),
    "mover": ("mover",),
    "hand": ("hand",),
}
WHERE = {
    "choose_bars": "cable-car", "choose_partner_hand": "hands", "choose_wall_hands": "wall", "take_bar": "swing",
    "settle": "climb", "choose_hand": "climb", "choose_foot": "climb", "reach_for_ball": "dodge",
}  # fmt: skip


@pytest.mark.parametrize("name", list(BEHAVIORS))
@pytest.mark.parametrize("is_literal", [False, True])
def test_built_in_controllers_remember_what_they_read(name: str, *, is_literal: bool) -> None:
    for role in BEHAVIORS[name].setup(is_literal=is_literal).roles:
        require_memory(role.machine)


@pytest.mark.parametrize("name", list(registry.actions()))
def test_entries_write_what_they_say(name: str) -> None:
    action, behavior = registry.actions()[name], WHERE.get(name, "step")
    topics = written_by(action)
    assert topics is not None
    observed = observation_of((0.0, 0.0), behavior)
    if behavior == "climb" and name != "settle":
        registry.actions()["settle"](observed)
    action(observed)
    written = set(observed.memory)
    for topic in topics:
        if topic == "holds":
            assert any(key.endswith(" reaches") for key in written)
        else:
            assert written.issuperset(KEYS[topic])
    assert written.intersection(k for keys in KEYS.values() for k in keys) <= {
        k for t in topics for k in KEYS.get(t, ())
    }


@pytest.mark.parametrize(
    ("state", "who", "topic", "cure"),
    [
        (ControlState("go", (StepTo(10.0),)), "StepTo", "swing", "choose_step"),
        (ControlState("go", (StepTo(10.0),), on_enter=stand_on_left), "StepTo", "seconds", "choose_gathering"),
        (ControlState("go", (RaiseFoot(1.0),)), "RaiseFoot", "swing", "stand_on_left"),
        (ControlState("go", (ComOver(1.0, "stance"),)), "ComOver", "swing", "choose_step"),
        (ControlState("go", (Upright(1.0, ("chest", "swing")),)), "Upright", "swing", "choose_step"),
        (ControlState("go", (Pose(1.0, without=("arms",)),)), "Pose", "hands", "choose_wall_hands"),
        (ControlState("go", constraints=(Unload(1.0, "mover"),)), "Unload", "mover", "choose_hand"),
        (ControlState("go", condition=AllOf((Always(), Not(Stepping())))), "Stepping", "swing", "choose_step"),
        (ControlState("go", (Brace(1.0),)), "Brace", "hands", "choose_wall_hands"),
        (ControlState("go", (TakeHand(1.0),)), "TakeHand", "hand", "choose_partner_hand"),
        (ControlState("go", (MoveTo(1.0, 2.0),)), "MoveTo", "mover", "choose_foot"),
        (ControlState("go", releases=("swing",)), "'swing' in releases", "swing", "choose_step"),
        (ControlState("go", grips=("left_hand",)), "'left_hand' in grips", "holds", "take_bar"),
    ],
)
def test_what_nobody_remembers_is_refused_with_state_goal_and_cure(
    state: ControlState, who: str, topic: str, cure: str
) -> None:
    with pytest.raises(InvalidValue) as seen:
        synthesize(StateMachine("own", (state,)), seconds=0.01)
    told = str(seen.value)
    assert told.startswith(f"State 'go': {who} reads {topic!r} from the memory")
    assert repr(cure) in told
    assert "on_enter" in told


def test_what_comes_before_beside_or_around_counts() -> None:
    step = ControlState("go", (StepTo(10.0),), then=("choose",))
    choose = ControlState("choose", on_enter=choose_step, then=("wait",))
    wait = ControlState("wait", then=("go",))
    require_memory(StateMachine("before", (wait, choose, step)))
    with pytest.raises(InvalidValue, match="State 'go'"):
        require_memory(StateMachine("after", (step, ControlState("choose", on_enter=choose_step))))
    inner = StateMachine("inner", (ControlState("go", (StepTo(10.0),)),))
    require_memory(StateMachine("outer", (ControlState("stand", on_enter=choose_step, inside=(Part(inner),)),)))
    with pytest.raises(InvalidValue, match="State 'go'"):
        require_memory(StateMachine("outer", (ControlState("stand", inside=(Part(inner),)),)))


def test_a_goal_that_looks_for_itself_and_actions_of_ones_own_are_let_through() -> None:
    def mine(observed: Observation, *, foot: str = "left") -> None:
        observed.memory["swing"] = foot

    assert read_by(Brace(1.0, is_nearest=True)) == []
    require_memory(StateMachine("own", (ControlState("go", (StepTo(1.0),), on_enter=mine),)))
    require_memory(StateMachine("own", (ControlState("go", (StepTo(1.0),), on_enter=partial(mine, foot="right")),)))


def test_a_controller_file_says_where() -> None:
    text = 'schema = "poise.controller/1"\n[[states]]\nname = "go"\ngoals = [{ is = "StepTo", weight = 10.0 }]\n'
    with pytest.raises(FileFormatError, match=r"own\.toml.*State 'go': StepTo reads .* 'choose_step'"):
        controller_of(text, path="own.toml")
    controller_of(text + 'on_enter = "choose_step"\n', path="own.toml")
