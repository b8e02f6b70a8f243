"""Options of behaviors: declared with words, unit and range, one error; the docs' first controllers stand."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from poise.cli.app import run
from poise.core.errors import FileFormatError, InvalidValue, UnknownName
from poise.filter.forces import Push
from poise.goals.surroundings import Ball, floor
from poise.synthesis import records
from poise.synthesis.behaviors import BEHAVIORS
from poise.synthesis.controller_file import controller_of, find_behavior, load_controller
from poise.synthesis.run import synthesize
from poise.synthesis.scene_file import scene_of
from tests.clips import first_cases
from tests.test_controller_files import comparable

DOCS = Path(__file__).parents[1] / "docs" / "synthesis.md"


@pytest.mark.parametrize("name", list(BEHAVIORS))
def test_every_option_says_what_it_is_and_its_default_is_allowed(name: str) -> None:
    for option, told in BEHAVIORS[name].declared.items():
        assert told.what, option
        assert told.checked(option, told.default) == told.default
        if not isinstance(told.default, bool | str):
            assert told.low > -1e10, f"{option} has no range"
    BEHAVIORS[name].setup()


@pytest.mark.parametrize(
    ("behavior", "option", "value", "told"),
    [
        ("wall", "wall.count", 5, "Option wall.count is 5; give a whole number from 0 to 2."),
        ("wall", "wall.count", 1.5, "is 1.5; give a whole number"),
        ("wall", "wall.distance", -0.5, "give a number from 0.1 to 100 m."),
        ("wall", "wall.distance", 0.0, "give a number from 0.1 to 100 m."),
        ("one-foot", "left", 0.5, "Option left is 0.5; give true or false."),
        ("one-foot", "height", -1, "give a number from 0 to 1 m"),
        ("one-foot", "height", 100, "give a number from 0 to 1 m"),
        ("dodge", "ball.speed", 0, "give a number from 1 to 100 m/s"),
        ("dodge", "ball.speed", -7.0, "give a number from 1 to 100 m/s"),
        ("climb", "height", -2, "is -2; give a number"),
        ("climb", "density", 0, "is 0; give a number"),
        ("climb", "seed", 1.7, "is 1.7; give a whole number"),
        ("climb", "seed", -4, "is -4; give a whole number"),
        ("hands", "distance", -1, "is -1; give a number"),
        ("hands", "grip", 7, "is 7; give true or false"),
        ("reach", "radius", -3, "is -3; give a number from 0 to 1 m"),
        ("reach", "period", 0, "is 0; give a number from 0.2 to 60 s"),
        ("swing", "enough", -70, "is -70; give a number from 1 to 180 degrees"),
        ("balance", "friction", float("nan"), "is nan; give a number"),
        ("balance", "friction", "much", "is much; give a number"),
        ("balance", "friction", True, "is true; give a number"),
    ],
)
def test_what_makes_no_sense_is_refused(behavior: str, option: str, value: Any, told: str) -> None:
    with pytest.raises(InvalidValue, match=re.escape(told)):
        BEHAVIORS[behavior].setup({option: value})


def test_true_and_false_have_several_spellings() -> None:
    one_foot = BEHAVIORS["one-foot"]
    right = one_foot.setup({"left": False})
    assert [one_foot.setup({"left": v}) == right for v in (0, 0.0, "false", "0")] == [True] * 4
    assert one_foot.setup({"left": 1.0}) == one_foot.setup()
    assert one_foot.setup() != right
    with pytest.raises(UnknownName, match=r"Options: left=true, height=0\.25, friction=1"):
        one_foot.setup({"leg": 1})


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["dodge", "--set", "ball.speed=0"], "--set ball.speed is 0; give a number from 1 to 100 m/s."),
        (["climb", "--seed", "-4"], "--seed is -4; give a whole number"),
        (["climb", "--seed", "4", "--set", "seed=2"], "--seed and --set seed"),
        (["balance", "--seconds", "0.001"], "0.001 s"),
        (["balance", "--seconds", "1e9"], "3600"),
    ],
)
def test_the_command_refuses_in_one_sentence(
    words: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["synthesize", *words, "-o", str(tmp_path / "a.bvh")]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1
    assert "bug" not in said
    assert not list(tmp_path.iterdir())


def test_options_come_with_their_meaning(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["synthesize", "wall", "--help"]) == 0
    told = capsys.readouterr().out
    assert re.search(r"wall\.distance = 0\.6 +from the figure's middle: a number from 0\.1 to 100 m\n", told)
    assert told.index("wall.distance") < told.index("--responsiveness"), "its own first"
    assert run(["synthesize", "--list", "--json"]) == 0
    listed = {b["name"]: b for b in json.loads(capsys.readouterr().out)["behaviors"]}
    assert set(listed) == set(BEHAVIORS)
    assert listed["wall"]["options"]["wall.distance"]["unit"] == "m"
    assert run(["synthesize", "hands", "--describe", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [c["figure"] for c in told["controllers"]] == [r.name for r in BEHAVIORS["hands"].setup().roles]
    assert controller_of(told["controllers"][0]["toml"]).name == told["controllers"][0]["name"]


@first_cases(4, "name", list(BEHAVIORS))
def test_a_behavior_is_written_as_a_file_to_start_from(name: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    assert run(["synthesize", name, "--write", str(path)]) == 0
    setup = BEHAVIORS[name].setup()
    assert comparable(load_controller(path).setup().roles[0].machine) == comparable(setup.roles[0].machine)
    assert load_controller(path).setup().seconds == setup.seconds
    assert run(["synthesize", name, "--write", str(path)]) == 2, "it is there already"


def test_what_changes_nothing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from poise import sample_path

    words = ["--seconds", "0.02", "--clip", str(sample_path("walk")), "--push", "chest 9 0 0 @3"]
    assert run(["synthesize", "balance", "-o", str(tmp_path / "a.bvh"), *words]) == 2
    assert "--allow" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    assert run(["synthesize", "balance", "-o", str(tmp_path / "a.bvh"), "--allow", *words]) == 0
    said = capsys.readouterr().err
    assert "no goal Follow" in said
    assert "starts at 3 s, but the run ends at 0.02 s" in said
    assert run(["synthesize", "one-foot", "-o", str(tmp_path / "b.bvh"), *words[:4]]) == 0
    assert "Follow" not in capsys.readouterr().err


@pytest.mark.parametrize("lean", [3.0, pytest.param(1.0, marks=pytest.mark.long)])
def test_the_first_controller_of_the_docs_stands(lean: float) -> None:
    text = next(t for t in re.findall(r"```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.S) if "lean" in t)
    behavior = controller_of(text)
    result = synthesize(behavior, options={"lean": lean})
    assert result.report["seconds"] == behavior.setup().seconds
    assert result.report["fell"] is None
    assert result.report["slack"] == {}
    assert result.report["torque_max_Nm"] < 100.0
    assert float(result.q[-1, 1]) > 0.05, "it leans to the left"


def test_a_name_that_is_nearly_a_behavior_is_guessed() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'step'"):
        find_behavior("stepp")


def test_two_holds_of_one_name_are_refused() -> None:
    hold = '[[holds]]\nname = "a"\nplace = [0.3, 0.2, 1.9]\n'
    with pytest.raises(FileFormatError, match="two things are called 'a'"):
        scene_of('schema = "poise.scene/1"\n' + hold + hold)


def test_a_push_on_a_figure_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(UnknownName, match=r"No figure 'bob'\. Figures: child, adult"):
        synthesize("hands", pushes=[Push("bob.chest", (1.0, 0.0, 0.0), 0.0, 0.1)], seconds=0.02)


def test_a_run_that_a_thrown_rock_ends_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_TURN", 0.1)
    rock = Ball("rock", (3.0, 0.0, 1.1), (-60.0, 0.0, 0.5), 0.05, 0.12, 2000.0)
    result = synthesize("balance", scene=replace(floor(), balls=(rock,)), seconds=0.3)
    assert "'rock', 2000 kg thrown at 60 m/s" in str(result.report["stopped"])
