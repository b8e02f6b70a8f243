"""Options of a behavior are found by a search that can go on, and cases that it has not seen are told apart."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from poise.body.character import figure
from poise.cli.app import run
from poise.core.errors import FileFormatError, InvalidValue, MissingExtra, UnknownName
from poise.synthesis.run import SynthesisResult
from poise.synthesis.tuning import load_gains, tune

HOW: dict[str, Any] = {"seconds": 0.02, "population": 4, "seed": 3}
RANGES = {"sinks": (0.03, 0.12), "flight": (0.1, 0.2)}


def bowl(result: SynthesisResult, case: Any) -> float:
    """Least where sinks is 0.09 and flight 0.12."""
    options = result.report["settings"]["options"]
    return ((options["sinks"] - 0.09) / 0.09) ** 2 + ((options["flight"] - 0.12) / 0.1) ** 2


def test_the_search_finds_the_least_cost_and_its_file_says_how(tmp_path: Path) -> None:
    pytest.importorskip("cma")
    held = [{"speed": 3.0}]
    found = tune("run", RANGES, cases=[{"speed": 2.0}], held_out=held, tries=24, cost=bowl, **HOW)
    assert found.before[0].cost > 0.1
    assert found.after[0].cost < 0.01
    assert found.options["sinks"] == pytest.approx(0.09, abs=0.01)
    assert found.options["flight"] == pytest.approx(0.12, abs=0.01)
    assert found.held_after[0].case == held[0]
    found.save(tmp_path / "gains.toml")
    assert load_gains(tmp_path / "gains.toml") == ("run", dict(found.options))
    text = (tmp_path / "gains.toml").read_text()
    assert "CMA-ES" in text
    assert "seed = 3" in text
    assert "[[found.held_out]]" in text


def test_a_search_that_was_stopped_goes_on_as_if_it_had_not(tmp_path: Path) -> None:
    pytest.importorskip("cma")
    whole = tune("run", RANGES, tries=12, cost=bowl, **HOW)
    log, ran = tmp_path / "tries", 0

    def counted(result: SynthesisResult, case: Any) -> float:
        nonlocal ran
        ran += 1
        if ran == 8:
            raise KeyboardInterrupt
        return bowl(result, case)

    with pytest.raises(KeyboardInterrupt):
        tune("run", RANGES, tries=12, cost=counted, log=log, **HOW)
    assert len(log.read_text().splitlines()) == 1 + 6  # the search and its tries; the first run was that at the start
    with log.open("a") as file:
        file.write('{"values": [0.1')  # cut off as it was written
    ran = -1000
    again = tune("run", RANGES, tries=12, cost=counted, log=log, **HOW)
    assert again.options == whole.options
    assert ran == -1000 + 1 + 6 + 1  # at the start, the six that were missing, the best
    with pytest.raises(InvalidValue, match="with other seed"):
        tune("run", RANGES, tries=12, cost=bowl, log=log, **{**HOW, "seed": 4})
    with pytest.raises(InvalidValue, match="with other character"):
        tune("run", RANGES, tries=12, cost=bowl, log=log, character=figure("child"), **HOW)


def test_cases_are_checked_before_anything_runs() -> None:
    pytest.importorskip("cma")

    def never(result: SynthesisResult, case: Any) -> float:
        raise AssertionError("a case was run")

    with pytest.raises(UnknownName, match="no option 'sped'"):
        tune("run", RANGES, held_out=[{"sped": 3.0}], tries=1, cost=never, **HOW)
    with pytest.raises(InvalidValue, match="sets sinks, which is tuned"):
        tune("run", RANGES, cases=[{"sinks": 0.05}], tries=1, cost=never, **HOW)


def test_a_broken_line_among_the_tries_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("cma")
    log = tmp_path / "tries"
    tune("run", RANGES, tries=3, cost=bowl, log=log, **HOW)
    lines = log.read_text().splitlines()
    log.write_text("\n".join([*lines[:2], lines[2][:9], lines[3]]) + "\n")
    with pytest.raises(FileFormatError, match="not a list of tries"):
        tune("run", RANGES, tries=3, cost=bowl, log=log, **HOW)
    log.write_text("\n".join(["[1]", *lines[1:]]) + "\n")  # JSON, but no search
    with pytest.raises(FileFormatError, match="not a list of tries"):
        tune("run", RANGES, tries=3, cost=bowl, log=log, **HOW)


def test_a_case_costs_a_fall_and_a_wrong_speed() -> None:
    pytest.importorskip("cma")
    stands = tune("balance", {"friction": (0.0, 1.0)}, tries=1, population=2, seconds=0.1).before[0]
    assert (stands.cost, stands.fell) == (0.0, None)
    slow = tune("run", RANGES, cases=[{"speed": 2.0}], tries=1, **HOW).before[0]
    assert slow.cost == pytest.approx(5.0 * (1.0 - slow.speed / 2.0))  # it has not begun to run
    fixed = {"speed": 0.0, "height": 0.85, "upright": 1.0, "foot": 1.0}  # far from what it can do
    fallen = tune("run", RANGES, cases=[fixed], tries=1, **{**HOW, "seconds": 6.0}).before[0]
    assert fallen.fell is not None
    assert fallen.cost == pytest.approx(10.0 * (1.0 - fallen.fell / 6.0) + 5.0 * min(fallen.speed / 0.1, 1.0), abs=0.02)


@pytest.mark.parametrize(
    ("ranges", "words"),
    [
        ({"sinks": (0.1, 0.03)}, "lower first"),
        ({"sinks": (0.01, 0.1)}, "lower first"),
        ({"sinks": (0.1, 0.15)}, "does not hold the value at the start"),
        ({}, "No option"),
    ],
)
def test_a_range_that_makes_no_sense_is_refused(ranges: dict[str, tuple[float, float]], words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        tune("run", ranges, cost=bowl, **HOW)


def test_unknown_options_and_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownName, match="no option 'wings'"):
        tune("run", ["wings"])
    other = tmp_path / "other.toml"
    other.write_text('schema = "poise.controller/1"\n')
    with pytest.raises(FileFormatError, match="not a gains file"):
        load_gains(other)
    monkeypatch.setitem(sys.modules, "cma", None)
    log = tmp_path / "tries"
    with pytest.raises(MissingExtra, match=r"poise\[tune\]"):
        tune("run", RANGES, tries=1, cost=bowl, log=log, **HOW)
    assert not log.exists(), "nothing has run"


def test_tries_without_a_search_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["synthesize", "run", "--tries", "8", "-o", str(tmp_path / "run.bvh")]) == 2
    assert "--tries belong to a search; give --tune" in capsys.readouterr().err


def test_the_command_tunes_and_runs_with_what_was_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cma")
    gains, report = tmp_path / "gains.toml", tmp_path / "run.json"
    words = ["synthesize", "run", "--tune", "sinks=0.03:0.12", "--case", "speed=1", "--held-out", "speed=2"]
    assert run([*words, "--tries", "2", "--seconds", "0.1", "-o", str(gains)]) == 0
    assert "held out speed=2" in capsys.readouterr().out
    assert run(["synthesize", "run", "--gains", str(gains), "--seconds", "0.1", "--report", str(report)]) == 0
    used = json.loads(report.read_text())["settings"]["options"]
    assert used["sinks"] == load_gains(gains)[1]["sinks"]
    capsys.readouterr()
    assert run(["synthesize", "run", "--gains", str(gains), "--describe", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["options"]["sinks"]["default"] == used["sinks"]
    assert run(["synthesize", "hopper", "--gains", str(gains), "--report", str(report), "--overwrite"]) == 2
    assert "'run', not of 'hopper'" in capsys.readouterr().err
    assert run(["synthesize", "run", "--tune", "sinks", "-o", str(tmp_path / "run.bvh")]) == 2
    assert run(["synthesize", "run", "--tune", "sinks", "--set", "speed=2", "-o", str(tmp_path / "new.toml")]) == 2
    assert "--tune does not use --set" in capsys.readouterr().err
    assert run([*words, "--seed", "-1", "-o", str(tmp_path / "new.toml")]) == 2
    assert run(["synthesize", "run", "--case", "speed=1", "--report", str(report), "--overwrite"]) == 2
