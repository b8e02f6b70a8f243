"""What a user hands in wrong is said in words; machines that watch each other; what the summary counts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import poise
from poise.cli.app import run
from poise.core.errors import FileFormatError, InvalidValue, UnknownName
from poise.filter.forces import Push
from poise.goals.conditions import Not, Reached
from poise.goals.objectives import ComOver, Pose, Upright
from poise.goals.registry import table
from poise.goals.state_machine import ControlState, Part, StateMachine
from poise.goals.walls import choose_wall_hands
from poise.synthesis import BEHAVIORS
from poise.synthesis.controller_file import controller_of, load_controller
from poise.synthesis.run import synthesize
from poise.synthesis.world import World

DOCS = Path(__file__).parents[1] / "docs" / "synthesis.md"
STAND = 'schema = "poise.controller/1"\nname = "mine"\n[[states]]\nname = "lean"\n'


def test_a_scene_may_be_a_path(tmp_path: Path) -> None:
    path = tmp_path / "room.toml"
    path.write_text('schema = "poise.scene/1"\n[floor]\nname = "deck"\n', encoding="utf-8")
    assert synthesize("balance", scene=path, seconds=0.01).scene == poise.synthesis.load_scene(path)


def test_a_goal_that_is_none_is_refused() -> None:
    def ask(world: World) -> None:
        world.figure().goals["x"] = "hello"  # pyright: ignore[reportArgumentType]

    with pytest.raises(InvalidValue, match="Goal 'x' of 'figure' is 'hello'"):
        synthesize("balance", seconds=0.05, on_step=ask)


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ({"goals": ComOver(1.0)}, "goals is ComOver.*give a tuple of goals"),
        ({"goals": ("Pose",)}, "give a tuple of goals"),
        ({"then": "fallen"}, "then is 'fallen'; give a tuple of names"),
        ({"condition": "Always"}, "condition is 'Always'; give one"),
        ({"goals": (ComOver(-1.0),)}, "ComOver has weight -1.0; give zero or more"),
        ({"constraints": (Pose(1.0, horizon=0.0),)}, "Pose has horizon 0.0; give a positive number"),
    ],
)
def test_a_state_made_wrong_says_so(state: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidValue, match=told):
        ControlState("lean", **state)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('grips = ["chest"]', "state 'lean', grips: there is no part 'chest'"),
        ('releases = ["swnig"]', "there is no part 'swnig'. Did you mean 'swing'?"),
        ('condition = { is = "InState", machine = "nope", states = ["a"] }', "InState: there is no machine 'nope'"),
        ('condition = { is = "Reached", machine = "mine", states = ["leen"] }', "'mine' has no state 'leen'"),
        ('inside = [{ use = "nofile.toml" }]', "state 'lean', inside 1, key 'use': there is no file nofile.toml"),
    ],
)
def test_names_that_stand_for_nothing_are_said_when_a_file_is_read(text: str, told: str) -> None:
    with pytest.raises(FileFormatError, match=r"^mine\.toml: ") as caught:
        controller_of(STAND + text + "\n", path="mine.toml")
    assert told in str(caught.value)


def test_names_of_a_body_are_said_with_state_and_goal() -> None:
    wrong = StateMachine("mine", (ControlState("lean", (Upright(1.0, ("chesst",)),)),))
    with pytest.raises(UnknownName, match=r"Controller 'mine', state 'lean', goal Upright: .*chesst"):
        synthesize(wrong, seconds=0.02)
    with pytest.raises(UnknownName, match="no part 'tail'"):
        synthesize(StateMachine("mine", (ControlState("lean", releases=("tail",)),)), seconds=0.02)


def test_tables_name_entries_as_files_do() -> None:
    assert "on enter: choose_wall_hands" in table(
        StateMachine("m", (ControlState("reach", on_enter=choose_wall_hands),))
    )


def test_reached_waits_for_a_machine_that_is_not_at_work_yet() -> None:
    """In the first step the watched machine, listed second, has not begun: `Not(Reached)` holds, the watcher waits."""
    inner = StateMachine("inner", (ControlState("a", (Pose(1.0),)),))
    waits = ControlState("wait", (), Not(Reached("inner", ("a",))), ("on",))
    watcher = StateMachine("watcher", (waits, ControlState("on")))
    visits = synthesize(
        StateMachine("outer", (ControlState("s", inside=(Part(watcher), Part(inner))),)), seconds=0.03
    ).visits
    assert {v.name: v.start for v in visits if "wait" in v.name or v.name.endswith("on")} == pytest.approx(
        {"s / wait": 0.0, "s / on": 0.01}
    )


@pytest.mark.long
def test_the_docs_example_of_machines_that_watch_each_other() -> None:
    blocks = re.findall(r"```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.S)
    behavior = controller_of(next(t for t in blocks if '"wave"' in t))
    result = synthesize(behavior, pushes=[Push("chest", (250.0, 0.0, 0.0), 0.3, 0.1)], seconds=2.2)
    assert result.report["fell"] is None
    names = result.motion.skeleton.names
    hand = [float(result.motion.world[0][f, names.index("LeftHand"), 2]) for f in (0, 40, -1)]
    assert abs(hand[1] - hand[0]) < 0.1, "before the push it hangs"
    assert hand[2] > hand[0] + 0.5, "after it the arm is up"
    assert result.report["steps_taken"] or any(v.name.endswith("take step") for v in result.visits)


def test_a_report_can_be_asked_what_it_holds() -> None:
    report = synthesize("balance", seconds=0.02).report
    assert "fell" in report
    assert "x" not in report
    assert set(report) == set(report.data)


def test_the_summary_counts_hands_before_a_fall_and_names_both_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--push", "chest 600 0 0 @0.05+0.1", "--seconds", "1.6"]
    assert run(["synthesize", "balance", "-o", str(tmp_path / "a.bvh"), *words]) in (0, 1)
    told = capsys.readouterr().out
    assert "Fell at" in told
    assert "by hand" not in told, "hands on the floor of one who fell are not support"
    assert run(["synthesize", "hands", "-o", str(tmp_path / "b.bvh"), "--seconds", "0.05"]) == 0
    told = capsys.readouterr().out
    assert "Child did not fall, adult did not fall." in told
    machines = {r.name: r.machine.name for r in BEHAVIORS["hands"].setup().roles}
    assert machines == {"child": "child", "adult": "adult"}


def test_load_controller_of_nothing_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(poise.core.errors.UnreadableFile, match=r"none\.toml"):
        load_controller(tmp_path / "none.toml")
