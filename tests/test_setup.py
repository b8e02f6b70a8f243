"""Setting a character up: every edit a value, checks that speak and cures that cure, nothing lost, nobody let in."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import poise
from poise.body.character import Character, figure
from poise.body.toml_file import to_toml
from poise.cli.setup import open_character
from poise.core.errors import InvalidValue
from poise.tracking import propose_roles
from poise.tracking.setup import Setup, begin, edited, find_checks
from poise.tracking.setup.checks import EDITS
from poise.tracking.setup.model import volume
from tests.setup_creature import creature


@pytest.fixture(scope="module")
def beast() -> Character:
    return Character.fit(creature())


def joint(setup: Setup, name: str) -> int:
    return setup.skeleton.names.index(name)


def test_what_is_proposed_is_not_changed_by_being_opened(beast: Character) -> None:
    for character in (figure("child"), beast):
        assert to_toml(begin(character).character) == to_toml(begin(character).proposal)


def test_a_body_taken_and_given_again_is_the_same(beast: Character) -> None:
    setup = begin(beast)
    again = edited(
        edited(setup, {"do": "remove", "joint": joint(setup, "w2")}), {"do": "body", "joint": joint(setup, "w2")}
    )
    bodies = {b.name: b for b in again.character.bodies}
    for body in setup.character.bodies:
        assert bodies[body.name].mass == body.mass
        assert np.allclose(bodies[body.name].offset, body.offset, atol=1e-9)


def test_what_hung_on_a_body_hangs_on_the_next_one(beast: Character) -> None:
    setup = begin(beast)
    before = {b.name: b for b in setup.character.bodies}
    less = edited(setup, {"do": "remove", "joint": joint(setup, "w2")}).character
    names = [b.name for b in less.bodies]
    w3 = less.bodies[names.index("w3")]
    assert names[w3.parent] == "w1"
    assert np.allclose(w3.offset, before["w2"].offset + before["w3"].offset, atol=1e-9)
    tail = next(limb for limb in less.limbs if names.index("w3") in limb.bodies)
    assert [names[b] for b in tail.bodies] == ["w1", "w3", "w4"]


def test_mass_goes_with_size_and_density(beast: Character) -> None:
    setup = begin(beast)
    k = joint(setup, "w2")
    body = setup.parts[k].body
    rod = body.capsules[0]
    edit = {"do": "capsule", "joint": k, "index": 0, "start": rod.start.tolist(), "end": rod.end.tolist()}
    thick = edited(setup, {**edit, "radius": 2.0 * rod.radius}).parts[k].body
    assert thick.mass / volume(thick.capsules) == pytest.approx(body.mass / volume(body.capsules))
    assert thick.mass > 3.0 * body.mass
    dense = edited(setup, {"do": "density", "joint": k, "kg_m3": 500.0}).parts[k].body
    assert dense.mass == pytest.approx(500.0 * volume(body.capsules))
    assert np.linalg.eigvalsh(dense.inertia)[0] > 0.0


def from_nothing(beast: Character) -> Setup:
    """The creature set up as a person would: bodies by chains, an actor's limb onto each limb."""
    setup = edited(begin(beast), {"do": "clear"})
    assert len(setup.parts) == 1
    setup = edited(setup, {"do": "fill", "from": joint(setup, "n0"), "to": joint(setup, "n2")})
    for actor, name in (
        ("left_leg", "a3"), ("right_leg", "b2"), ("left_arm", "a8"), ("right_arm", "b9"), ("neck", "k2"),
        ("free", "w3"),
    ):  # fmt: skip
        setup = edited(setup, {"do": "assign", "joint": joint(setup, name), "actor": actor})
    return setup


def test_limbs_are_made_where_the_actor_is_dropped(beast: Character) -> None:
    setup = from_nothing(beast)
    names = setup.skeleton.names
    found = {c.name: [names[j] for j in c.joints] for c in setup.limbs}
    assert found == {
        "left_leg": ["a1", "a2", "a3", "a4"], "right_leg": ["b1", "b2", "b3", "b4"],
        "left_arm": ["a7", "a8", "a9"], "right_arm": ["b7", "b8", "b9"],
        "neck": ["k1", "k2", "k3"], "tail": ["w1", "w2", "w3", "w4"],
    }  # fmt: skip
    roles = {r.limb: (r.kind, r.actor) for r in propose_roles(setup.character, figure("adult"))}
    assert roles["left_leg"] == ("support", "left_leg")
    assert roles["neck"] == ("targeted", "neck")
    assert roles["tail"] == ("free", "")
    assert setup.character.body_index("left_foot") == [b.name for b in setup.character.bodies].index("a3")


def cured(setup: Setup) -> tuple[Setup, int]:
    """All cures taken, one by one; how many."""
    for count in range(12):
        checks = [c for c in find_checks(setup) if c.cure]
        if not checks:
            return setup, count
        for edit in checks[0].edits:
            setup = edited(setup, edit)
    raise AssertionError([c.text for c in find_checks(setup)])


def heavier(setup: Setup, limb: str, factor: float) -> Setup:
    """A limb that is thicker, and weighs that much more."""
    for k in next(c for c in setup.limbs if c.name == limb).joints:
        body = setup.parts[k].body
        rod = body.capsules[0]
        ends = {"start": rod.start.tolist(), "end": rod.end.tolist()}
        edit = {"do": "capsule", "joint": k, "index": 0, **ends, "radius": rod.radius * factor**0.4}
        setup = edited(edited(setup, edit), {"do": "mass", "joint": k, "kg": factor * body.mass})
    return setup


def test_every_check_speaks_and_its_cure_cures(beast: Character) -> None:
    setup = from_nothing(beast)
    heavy = heavier(setup, "tail", 100.0)
    assert any(c.name == "too_heavy" and "Tail" in c.text for c in find_checks(heavy))
    nobody = edited(setup, {"do": "role", "limb": "neck", "role": "targeted", "actor": ""})
    assert any(c.name == "nobody_drives" and c.limb == "neck" for c in find_checks(nobody))
    lame = edited(setup, {"do": "assign", "joint": joint(setup, "a8"), "actor": "left_leg"})
    assert any(c.name == "too_short" and c.limb == "left_arm" for c in find_checks(lame))
    none = setup
    for name in ("left_leg", "right_leg"):
        none = edited(none, {"do": "role", "limb": name, "role": "free"})
    assert find_checks(none)[0].name == "nobody_stands"
    for wrong in (heavy, nobody, lame, none):
        right, count = cured(wrong)
        assert count > 0
        assert not find_checks(right), [c.text for c in find_checks(right)]


def test_a_figure_that_tips_over_is_balanced(beast: Character) -> None:
    setup, _ = cured(from_nothing(beast))
    setup = heavier(setup, "neck", 8.0)
    (check,) = find_checks(setup)
    assert check.name == "off_balance"
    assert "ahead of" in check.text
    right, _ = cured(setup)
    assert not find_checks(right)


@pytest.mark.parametrize(
    "edit",
    [
        {}, {"do": "fly"}, {"do": "body"}, {"do": "body", "joint": 10**6}, {"do": "body", "joint": True},
        {"do": "remove", "joint": 0}, {"do": "mass", "joint": 0, "kg": 0.0},
        {"do": "mass", "joint": 0, "kg": float("nan")},
        {"do": "capsule", "joint": 0, "index": 9, "start": [0, 0, 0], "end": [0, 0, 1], "radius": 0.1},
        {"do": "capsule", "joint": 0, "index": 0, "start": [0, 0, "x"], "end": [0, 0, 1], "radius": 0.1},
        {"do": "assign", "joint": 3, "actor": "third_arm"}, {"do": "assign", "joint": 0, "actor": "free"},
        {"do": "role", "limb": "left_leg", "role": "carried"}, {"do": "role", "limb": "nose", "role": "free"},
        {"do": "weight", "name": "__class__", "value": 1.0}, {"do": ["body"]},
    ],
)  # fmt: skip
def test_edits_that_make_no_sense_are_refused(edit: dict[str, Any], beast: Character) -> None:
    with pytest.raises(InvalidValue):
        edited(begin(beast), edit)


@pytest.mark.long
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(sorted(EDITS)), st.integers(0, 30), st.integers(0, 30)), max_size=12))
def test_no_order_of_edits_breaks_a_character(steps: list[tuple[str, int, int]]) -> None:
    setup = begin(BEAST)
    for do, a, b in steps:
        limb = setup.limbs[a % len(setup.limbs)].name if setup.limbs else "none"
        edit = {
            "do": do, "joint": a, "from": a, "to": b, "kg": 0.1 + b, "kg_m3": 100.0 * (b + 1), "limb": limb,
            "factor": 0.5 + b / 10.0, "on": b % 2 == 0, "role": ("support", "targeted", "free")[b % 3],
            "actor": ("left_leg", "free", "left_arm", "neck")[b % 4], "index": 0, "start": [0, 0, 0],
            "end": [0, 0.1, 0.1], "radius": 0.02 + b / 100.0, "name": "tail", "value": 0.1,
        }  # fmt: skip
        try:
            setup = edited(setup, edit)
        except InvalidValue:
            continue
        character = setup.character
        assert len(character.bodies) == len(setup.parts)
        find_checks(setup)
        assert to_toml(poise.body.toml_file.from_toml(to_toml(character))) == to_toml(character)


BEAST = Character.fit(creature())


# --- the session and its server


def test_every_edit_is_kept_and_undone(beast: Character, tmp_path: Path) -> None:
    from poise.show.setup import SetupSession

    path = tmp_path / "beast.toml"
    session = SetupSession(beast, path)
    first = path.read_text()
    session.do({"do": "role", "limb": "tail", "role": "free"})
    session.do({"do": "scale", "limb": "tail", "factor": 0.5})
    changed = path.read_text()
    assert changed != first
    session.do({"do": "undo"})
    session.do({"do": "undo"})
    session.do({"do": "undo"})
    assert path.read_text() == first
    session.do({"do": "redo"})
    session.do({"do": "redo"})
    assert path.read_text() == changed
    with pytest.raises(InvalidValue):
        session.do({"do": "scale", "limb": "nose", "factor": 0.5})
    assert path.read_text() == changed
    again = SetupSession(poise.load_character(path), path)  # the server ended, and begins again
    assert path.read_text() == changed
    assert again.view()["limbs"] == session.view()["limbs"]
    json.dumps(again.view(), allow_nan=False)


def test_a_file_that_cannot_be_written_is_told(beast: Character, tmp_path: Path) -> None:
    from poise.show.setup import SetupSession

    session = SetupSession(beast, tmp_path / "no" / "beast.toml")
    assert session.view()["saved"]


def test_any_file_with_a_skeleton_opens(tmp_path: Path) -> None:
    character, motion = open_character(Path(str(poise.sample_path("walk"))))
    assert motion is not None
    assert any(limb.kind == "leg" for limb in character.limbs)
    poise.save_character(character, tmp_path / "walker.toml")
    again, none = open_character(tmp_path / "walker.toml")
    assert none is None
    assert again.nv == character.nv


@contextmanager
def served(beast: Character, path: Path) -> Iterator[Any]:
    from poise.show.setup import BUNDLE, SetupPage, SetupSession

    pytest.importorskip("websockets")
    if not BUNDLE.is_file():
        pytest.skip("the set-up page is not built")
    page = SetupPage(SetupSession(beast, path), is_opened=False)
    stop = threading.Event()
    thread = threading.Thread(target=lambda: page.play(stop.is_set))
    thread.start()
    try:
        yield page
    finally:
        stop.set()
        thread.join()
        page.close()


def _read_on(line: Any) -> None:
    while True:
        line.recv(timeout=60.0)


def test_only_who_knows_the_token_edits(beast: Character, tmp_path: Path) -> None:
    from websockets.exceptions import ConnectionClosed, InvalidStatus
    from websockets.sync.client import connect

    path = tmp_path / "beast.toml"
    with served(beast, path) as page:
        address = page.url.split("/?")[0]
        with urllib.request.urlopen(page.url) as answer:
            assert b"poise-live" in answer.read()
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{address}/?token=wrong")
        assert refused.value.code == 403
        socket = page.url.replace("http://", "ws://").replace("/?", "/ws?")
        with pytest.raises(InvalidStatus):
            connect(socket, origin="http://elsewhere.example")  # type: ignore[arg-type]
        with connect(socket, origin=address, max_size=None) as line:  # type: ignore[arg-type]
            seen = json.loads(next(m for m in line if isinstance(m, str)))
            assert seen["type"] == "setup"
            for bad in ("{", '{"do": "fly"}', '{"do": 7}', "[]", '{"do": "body", "joint": "x"}'):
                line.send(bad)
            line.send('{"do": "scale", "limb": "tail", "factor": 0.5}')
            refusals, changed = 0, None
            for message in line:
                words = json.loads(message) if isinstance(message, str) else {}
                refusals += words.get("type") == "refused"
                if words.get("type") == "setup" and words["undo"] == 1:
                    changed = words
                    break
            assert refusals == 5
            assert changed is not None
        with connect(socket, origin=address, max_size=None) as line:  # type: ignore[arg-type]
            line.send("x" * 5000)
            with pytest.raises(ConnectionClosed):
                _read_on(line)
    assert poise.load_character(path).mass < begin(beast).character.mass


def test_roles_of_the_file_drive(beast: Character) -> None:
    limbs = tuple(replace(x, role="free", actor="") if x.kind == "arm" else x for x in beast.limbs)
    kinds = {r.limb: r.kind for r in propose_roles(replace(beast, limbs=limbs), figure("adult"))}
    assert all(kinds[x.name] == "free" for x in limbs if x.kind == "arm")
