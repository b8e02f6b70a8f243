"""What goals read of a machine's memory is written before, or the controller is refused with its cure."""

from __future__ import annotations

from functools import partial

import pytest

from poise.core.errors import FileFormatError, InvalidValue
from poise.goals import registry
from poise.goals.checking import require_memory
from poise.goals.climbing import MoveTo
from poise.goals.combining import AllOf, Not
from poise.goals.conditions import Always, Stepping
from poise.goals.machine import ControlState, Machine, Part
from poise.goals.memory import read_by, written_by
from poise.goals.objectives import ComOver, Pose, Unload, Upright
from poise.goals.one_foot import RaiseFoot, stand_on_left
from poise.goals.reaching import TakeHand
from poise.goals.stepping import StepTo, choose_step
from poise.goals.support import Brace
from poise.goals.view import View
from poise.synthesis.behaviors import BEHAVIORS
from poise.synthesis.controller_file import controller_of
from poise.synthesis.run import synthesize
from tests.test_synthesis_balance import view_of

KEYS = {
    "swing": ("swing", "stance"),
    "seconds": ("seconds",),
    "hands": ("hands",),
    "mover": ("mover",),
    "hand": ("hand",),
}
WHERE = {
    "choose_bars": "cable-car", "reaching.choose_hands": "hands", "support.choose_hands": "wall", "take_bar": "swing",
    "settle": "climb", "choose_hand": "climb", "choose_foot": "climb",
}  # fmt: skip


@pytest.mark.parametrize("name", list(BEHAVIORS))
@pytest.mark.parametrize("is_literal", [False, True])
def test_built_in_controllers_remember_what_they_read(name: str, *, is_literal: bool) -> None:
    for role in BEHAVIORS[name].setup(is_literal=is_literal).roles:
        require_memory(role.machine)


@pytest.mark.parametrize("name", list(registry.entries()))
def test_entries_write_what_they_say(name: str) -> None:
    entry, behavior = registry.entries()[name], WHERE.get(name, "step")
    topics = written_by(entry)
    assert topics is not None
    view = view_of((0.0, 0.0), behavior)
    if behavior == "climb" and name != "settle":
        registry.entries()["settle"](view)
    entry(view)
    written = set(view.memory)
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
        (ControlState("go", (StepTo(10.0),), enter=stand_on_left), "StepTo", "seconds", "choose_gathering"),
        (ControlState("go", (RaiseFoot(1.0),)), "RaiseFoot", "swing", "stand_on_left"),
        (ControlState("go", (ComOver(1.0, "stance"),)), "ComOver", "swing", "choose_step"),
        (ControlState("go", (Upright(1.0, ("chest", "swing")),)), "Upright", "swing", "choose_step"),
        (ControlState("go", (Pose(1.0, without=("arms",)),)), "Pose", "hands", "support.choose_hands"),
        (ControlState("go", musts=(Unload(1.0, "mover"),)), "Unload", "mover", "choose_hand"),
        (ControlState("go", condition=AllOf((Always(), Not(Stepping())))), "Stepping", "swing", "choose_step"),
        (ControlState("go", (Brace(1.0),)), "Brace", "hands", "support.choose_hands"),
        (ControlState("go", (TakeHand(1.0),)), "TakeHand", "hand", "reaching.choose_hands"),
        (ControlState("go", (MoveTo(1.0, 2.0),)), "MoveTo", "mover", "choose_foot"),
        (ControlState("go", lifts=("swing",)), "'swing' in lifts", "swing", "choose_step"),
        (ControlState("go", grips=("left_hand",)), "'left_hand' in grips", "holds", "take_bar"),
    ],
)
def test_what_nobody_remembers_is_refused_with_state_goal_and_cure(
    state: ControlState, who: str, topic: str, cure: str
) -> None:
    with pytest.raises(InvalidValue) as seen:
        synthesize(Machine("own", (state,)), seconds=0.01)
    told = str(seen.value)
    assert told.startswith(f"State 'go': {who} needs the machine to remember {topic!r}")
    assert repr(cure) in told
    assert "enter" in told


def test_what_comes_before_beside_or_around_counts() -> None:
    step = ControlState("go", (StepTo(10.0),), then=("choose",))
    choose = ControlState("choose", enter=choose_step, then=("wait",))
    wait = ControlState("wait", then=("go",))
    require_memory(Machine("before", (wait, choose, step)))
    with pytest.raises(InvalidValue, match="State 'go'"):
        require_memory(Machine("after", (step, ControlState("choose", enter=choose_step))))
    inner = Machine("inner", (ControlState("go", (StepTo(10.0),)),))
    require_memory(Machine("outer", (ControlState("stand", enter=choose_step, inside=(Part(inner),)),)))
    with pytest.raises(InvalidValue, match="State 'go'"):
        require_memory(Machine("outer", (ControlState("stand", inside=(Part(inner),)),)))


def test_a_goal_that_looks_for_itself_and_entries_of_ones_own_are_let_through() -> None:
    def mine(view: View, *, foot: str = "left") -> None:
        view.memory["swing"] = foot

    assert read_by(Brace(1.0, looks=True)) == []
    require_memory(Machine("own", (ControlState("go", (StepTo(1.0),), enter=mine),)))
    require_memory(Machine("own", (ControlState("go", (StepTo(1.0),), enter=partial(mine, foot="right")),)))


def test_a_controller_file_says_where() -> None:
    text = 'schema = "poise.controller/1"\n[[states]]\nname = "go"\nwishes = [{ is = "StepTo", weight = 10.0 }]\n'
    with pytest.raises(FileFormatError, match=r"own\.toml.*State 'go': StepTo needs .* 'choose_step'"):
        controller_of(text, path="own.toml")
    controller_of(text + 'enter = "choose_step"\n', path="own.toml")
