"""Controllers as TOML: what reads back the same, what is refused in words; machines inside states; tables, graphs."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from poise.core.errors import FileFormatError, InvalidValue, UnknownName
from poise.filter.forces import Push
from poise.goals import registry, stepping
from poise.goals.conditions import AllOf, AnyOf, Balanced, For, InState, Lying, Not, Standing
from poise.goals.goal import Goal
from poise.goals.objectives import ComOver, Pose, Reach, Still
from poise.goals.observation import Observation
from poise.goals.registry import graph, table
from poise.goals.state_machine import ControlState, Part, StateMachine
from poise.goals.stepping import stand_on_left
from poise.synthesis.behaviors import BEHAVIORS
from poise.synthesis.controller_file import controller_of, controller_text, load_controller
from poise.synthesis.run import synthesize
from poise.synthesis.scene_file import scene_of
from tests.clips import first_cases

LEAN = """
schema = "poise.controller/1"
name = "lean"
seconds = 2.0

[options]
weight = 0.3
hand.height = 1.2

[groups]
posture = [{ is = "Pose", weight = 0.005 }, { is = "Still", weight = 0.001 }]

[[states]]
name = "stand"
condition = { is = "AllOf", of = ["Balanced", { is = "Not", of = { is = "Lying", height = 0.5 } }] }
on_enter = "stand_on_left"
goals = [{ is = "ComOver", weight = "$weight", foot = "left" }, { group = "posture" }]
then = ["fallen"]

[[states.inside]]
name = "waving"
priority = 2.0

[[states.inside.states]]
name = "up"
condition = { is = "For", seconds = 0.4 }
goals = [{ is = "Reach", weight = 0.1, body = "left_hand", place = [0.3, 0.4, "$hand.height"] }]

[[states]]
name = "fallen"
condition = "Lying"
goals = [{ group = "posture" }]
"""


def machine_of(text: str) -> StateMachine:
    return controller_of(text).setup().roles[0].machine


def test_a_file_says_the_same_as_python() -> None:
    posture = (Pose(0.005), Still(0.001))
    wave = ControlState("up", (Reach(0.1, "left_hand", (0.3, 0.4, 1.2)),), For(0.4))
    stand = ControlState(
        "stand", (ComOver(0.3, "left"), *posture), AllOf((Balanced(), Not(Lying(0.5)))), ("fallen",), stand_on_left,
        inside=(Part(StateMachine("waving", (wave,)), 2.0),),
    )  # fmt: skip
    assert machine_of(LEAN) == StateMachine("lean", (stand, ControlState("fallen", posture, Lying())))
    assert controller_of(LEAN).setup().seconds == 2.0


def comparable(machine: StateMachine) -> tuple[object, ...]:
    """A machine with its actions as function and settings: two partials are never equal."""
    states = [replace(s, on_enter=None) for s in machine.states]
    actions = [(a.func, a.keywords) if isinstance(a, partial) else a for a in (s.on_enter for s in machine.states)]
    return machine.name, states, actions


@first_cases(4, "name", list(BEHAVIORS))
def test_every_built_in_controller_reads_back_as_it_was_written(name: str) -> None:
    setup = BEHAVIORS[name].setup()
    for role in setup.roles:
        assert comparable(machine_of(controller_text(role.machine))) == comparable(role.machine)


def lean_to(observed: Observation, *, side: float = 1.0) -> None:
    """An action with a setting, as a module of goals might have one."""


@pytest.fixture
def _action(monkeypatch: pytest.MonkeyPatch) -> None:
    lean_to.__module__ = stepping.__name__
    monkeypatch.setattr(stepping, "lean_to", lean_to, raising=False)


@pytest.mark.usefixtures("_action")
def test_nested_machines_musts_and_settings_of_entries_read_back() -> None:
    inner = StateMachine("inner", (ControlState("a", (Still(0.1),), For(0.2), ("b",)), ControlState("b")))
    middle = StateMachine("middle", (ControlState("m", inside=(Part(inner, 0.5),)),))
    outer = ControlState(
        "o", condition=AnyOf((InState("inner", ("a",)), Standing(For(1.0)))), releases=("swing",), grips=("left_hand",),
        constraints=(Still(1.0, root=True),), inside=(Part(middle), Part(inner, 3.0)),
        on_enter=partial(lean_to, side=0.5),
    )  # fmt: skip
    written = machine_of(controller_text(StateMachine("outer", (outer,))))
    state = written.states[0]
    assert isinstance(state.on_enter, partial)
    assert state.on_enter.func is lean_to
    assert state.on_enter.keywords == {"side": 0.5}
    assert state.inside == outer.inside
    assert (state.condition, state.releases, state.grips, state.constraints) == (
        outer.condition, outer.releases, outer.grips, outer.constraints,
    )  # fmt: skip


def test_options_change_what_a_file_says() -> None:
    changed = controller_of(LEAN).setup({"hand.height": 0.9}).roles[0].machine
    assert changed.states[0].inside[0].machine.states[0].goals == (Reach(0.1, "left_hand", (0.3, 0.4, 0.9)),)
    with pytest.raises(UnknownName, match=r"hand\.heigth.*hand\.height=1\.2"):
        controller_of(LEAN).setup({"hand.heigth": 0.9})


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('"poise.controller/1"', '"poise.controller/9"', ["schema", "poise.controller/1"]),
        ("seconds = 2.0", "second = 2.0", ["'second'", "Did you mean 'seconds'"]),
        ("seconds = 2.0", "seconds = -2.0", ["seconds", "positive"]),
        ('is = "ComOver"', 'is = "ComOvr"', ["state 'stand'", "goal 1", "Did you mean 'ComOver'", "Upright"]),
        ('weight = "$weight"', 'wieght = "$weight"', ["state 'stand'", "ComOver", "'wieght'", "Did you mean 'weight'"]),
        ('weight = "$weight"', 'weight = "$wait"', ["state 'stand'", "option 'wait'", "hand.height"]),
        ('weight = "$weight"', 'weight = "heavy"', ["state 'stand'", "'weight'", "'heavy'", "a number"]),
        ('weight = "$weight"', "weight = true", ["'weight'", "True", "a number"]),
        ('weight = "$weight"', "weight = nan", ["'weight'", "nan", "a number"]),
        ('weight = "$weight"', "weight = -1.0", ["ComOver", "weight -1.0", "zero or more"]),
        ('weight = "$weight", ', "", ["ComOver", "'weight' is missing", "foot"]),
        ('"Balanced"', '"Balancd"', ["condition", "'Balancd'", "Did you mean 'Balanced'"]),
        ('"stand_on_left"', '"stand_on_lift"', ["state 'stand'", "on_enter", "stand_on_left"]),
        ('"stand_on_left"', '{ is = "stand_on_left", far = 1.0 }', ["'far'", "Keys: none"]),
        ('then = ["fallen"]', 'then = ["falen"]', ["'stand'", "'falen'", "stand, fallen"]),
        ('then = ["fallen"]', 'then = "fallen"', ["state 'stand'", "'then'", "[brackets]"]),
        ('{ group = "posture" }', '{ group = "poster" }', ["state 'stand'", "'poster'", "Did you mean 'posture'"]),
        ("priority = 2.0", "priority = 0.0", ["state 'stand'", "priority"]),
        ('place = [0.3, 0.4, "$hand.height"]', "place = [0.3, 0.4]", ["'place'", "2 items", "3"]),
        ('name = "fallen"', 'nme = "fallen"', ["state 2", "'nme'"]),
        ('name = "fallen"', 'name = "stand"', ["'lean'", "a different name for each state"]),
        ("[[states]]", "[[stats]]", ["'stats'", "Did you mean 'states'"]),
        ("[groups]", "[groups", ["not TOML", ":10:"]),
    ],
)
def test_what_a_file_gets_wrong_is_said(before: str, after: str, told: list[str]) -> None:
    assert before in LEAN
    with pytest.raises(FileFormatError) as caught:
        controller_of(LEAN.replace(before, after), path="lean.toml")
    message = str(caught.value)
    assert message.startswith("lean.toml")
    assert not [word for word in told if word not in message], message


def test_a_machine_from_another_file_or_behavior_is_used(tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner.toml", tmp_path / "outer.toml"
    inner.write_text(LEAN, encoding="utf-8")
    head = 'schema = "poise.controller/1"\nname = "outer"\n[[states]]\nname = "all"\n'
    outer.write_text(
        head + 'inside = [{ use = "inner.toml" }, { use = "balance", priority = 0.5, name = "b" }]', encoding="utf-8"
    )
    parts = load_controller(outer).setup().roles[0].machine.states[0].inside
    assert parts[0].machine == machine_of(LEAN)
    assert parts[1].machine.states == BEHAVIORS["balance"].setup().roles[0].machine.states
    assert (parts[1].machine.name, parts[1].priority) == ("b", 0.5)
    inner.write_text(head + 'inside = [{ use = "outer.toml" }]', encoding="utf-8")
    with pytest.raises(FileFormatError, match="uses itself"):
        load_controller(outer)
    outer.write_text(head + 'inside = [{ use = "no such" }]', encoding="utf-8")
    with pytest.raises(FileFormatError, match="No behavior 'no such'"):
        load_controller(outer)


def test_the_files_in_the_docs_are_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[1] / "docs" / "synthesis.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", page, re.S)
    controllers = [b for b in blocks if "poise.controller/1" in b]
    scenes = [b for b in blocks if "poise.scene/1" in b]
    assert (len(controllers), len(scenes), len(blocks)) == (3, 1, 5)
    assert [s.name for s in machine_of(controllers[0]).states] == ["lean", "fallen"]
    assert len(scene_of(scenes[0]).balls) == 1
    (tmp_path / "look.toml").write_text(LEAN, encoding="utf-8")
    (part,) = (b for b in blocks if b not in controllers + scenes)
    head = 'schema = "poise.controller/1"\n'
    assert len(controller_of(head + part, path=tmp_path / "a.toml").setup().roles[0].machine.states[0].inside) == 2


def test_deep_nesting_is_refused_in_words() -> None:
    deep = '{ is = "Not", of = ' * 150 + '"Always"' + " }" * 150
    with pytest.raises(FileFormatError, match="too deep"):
        controller_of(LEAN.replace('"Lying"\n', deep + "\n"))


def test_what_no_file_can_hold_is_said_when_written() -> None:
    def on_enter(observed: Observation) -> None: ...

    with pytest.raises(InvalidValue, match=r"'s' has on_enter 'on_enter'.*poise.goals"):
        controller_text(StateMachine("m", (ControlState("s", on_enter=on_enter),)))


def test_a_new_goal_is_found_by_its_class_alone() -> None:
    @dataclass(frozen=True)
    class Whistle(Goal):
        """It whistles."""

        weight: float
        tune: str = "slow"

        def objectives(self, observed: Observation) -> list:
            return []

    text = LEAN.replace("{ group", '{ is = "Whistle", weight = 2.0 }, { group', 1)
    assert Whistle(2.0) in machine_of(text).states[0].goals
    assert registry.shown(Whistle) == "Whistle(weight, tune='slow')"


def test_goals_with_one_name_are_told_apart_by_their_module() -> None:
    def choose(observed: Observation) -> None: ...

    def other(observed: Observation) -> None: ...

    other.__name__, other.__module__ = "choose", "poise.goals.stepping"
    named = registry._by_name([choose, other])
    assert named == {"stepping.choose": other, "test_controller_files.choose": choose}
    assert registry.name_of(other, named) == "stepping.choose"


def test_tables_and_graphs_show_everything() -> None:
    machine = machine_of(LEAN)
    shown = table(machine)
    for words in (
        "AllOf((Balanced, Not(Lying(0.5))))",
        "ComOver(0.3, foot='left')",
        "stand_on_left",
        "waving",
        "up",
    ):
        assert words in shown, words
    assert "horizon" not in shown  # as it comes
    drawn = graph(machine)
    assert '"stand" -> "fallen"' in drawn
    assert '"stand / waving: up"' in drawn
    quoted = graph(StateMachine('a "b"', (ControlState('c\\ "d"'),)))
    assert '"c\\\\ \\"d\\""' in quoted


def test_machines_inside_a_state_begin_with_it_and_end_with_it() -> None:
    posture = (ComOver(0.3), Pose(0.005), Still(0.001))
    inner = StateMachine("inner", (ControlState("a", posture, For(0.1), ("b",)), ControlState("b", posture)))
    first = ControlState("first", condition=InState("inner", ("a",)), then=("second",), inside=(Part(inner),))
    second = ControlState("second", posture, For(0.2), ("first",))
    result = synthesize(StateMachine("outer", (first, second)), seconds=0.4)
    names = [v.name for v in result.visits]
    assert names == ["first", "first / a", "first / b", "second", "first", "first / a"]
    starts = [v.start for v in result.visits]
    # the inner machine goes to b at 0.10; the outer one sees it in the next step
    assert starts == pytest.approx([0.0, 0.0, 0.1, 0.11, 0.31, 0.31], abs=0.0101)
    assert result.visits[2].end == pytest.approx(result.visits[3].start)
    assert result.report["fell"] is None


def test_a_priority_weighs_the_goals_of_a_machine_inside() -> None:
    """The inner machine alone, or at twice the priority of half its weights: the same motion, to rounding."""
    strong, weak = (ComOver(0.3), Pose(0.005), Still(0.001)), (ComOver(0.15), Pose(0.0025), Still(0.0005))
    plain = StateMachine("plain", (ControlState("s", strong),))
    inner = StateMachine("in", (ControlState("s", weak),))
    nested = StateMachine("outer", (ControlState("s", inside=(Part(inner, 2.0),)),))
    shove = [Push("chest", (60.0, 0.0, 0.0), 0.05, 0.1)]
    a, b = (synthesize(m, seconds=0.4, pushes=shove).q for m in (plain, nested))
    assert np.abs(a - a[0]).max() > 0.01
    assert np.abs(a - b).max() < 1e-9


CHILD = """schema = "poise.controller/1"
name = "clinging child"
within = "hands"
figure = "child"
[options]
distance = 0.65
[[states]]
name = "rest"
goals = [{ is = "Still", weight = 0.5 }]
"""


def test_a_file_takes_the_place_of_one_figure_and_a_second_file_of_the_other(tmp_path: Path) -> None:
    own, built_in = controller_of(CHILD).setup(), BEHAVIORS["hands"].setup({"distance": 0.65})
    assert [r.name for r in own.roles] == ["child", "adult"]
    assert own.roles[0].machine.name == "clinging child"
    assert own.roles[0].character == "child"
    assert (own.roles[1], own.scene, own.view) == (built_in.roles[1], built_in.scene, built_in.view)
    assert controller_of(CHILD).setup({"distance": 0.9}).roles[1].place == (0.0, 0.9)
    (tmp_path / "child.toml").write_text(CHILD, encoding="utf-8")
    second = CHILD.replace('"hands"', '"child.toml"').replace('figure = "child"', 'figure = "adult"')
    both = controller_of(second, path=tmp_path / "adult.toml").setup()
    assert [r.machine.states[0].name for r in both.roles] == ["rest", "rest"]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('figure = "child"', 'figure = "kid"', "key 'figure'.*'kid'.*child, adult"),
        ('within = "hands"', 'within = "hand"', "key 'within'.*No behavior 'hand'"),
        ('within = "hands"\n', "", "key 'figure'.*Write within"),
    ],
)
def test_a_place_that_there_is_not_is_refused(before: str, after: str, told: str) -> None:
    with pytest.raises(FileFormatError, match=told):
        controller_of(CHILD.replace(before, after))
