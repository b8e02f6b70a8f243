"""The set-up page in a real browser: a creature nobody has seen, by mouse and keyboard, in fewer than sixty actions."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import poise
from poise.body.character import Character, figure
from poise.show.setup import BUNDLE, SetupPage, SetupSession
from poise.tracking import PerformanceTracker, propose_roles
from poise.tracking.calibration import standing_pose
from tests.chromium import needs_browser, opened, until
from tests.setup_creature import creature

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [
    needs_browser,
    pytest.mark.skipif(not BUNDLE.is_file(), reason="the set-up page is not built"),
    pytest.mark.long,
]

MOST_ACTIONS = 60
CLICK_SECONDS, DRAG_SECONDS, MOST_SECONDS = 1.5, 3.0, 180.0
"""How long a person takes."""


@contextmanager
def served(character: Character, path: Path | None, **given: Any) -> Iterator[SetupPage]:
    page = SetupPage(SetupSession(character, path, **given), is_opened=False)
    stop = threading.Event()
    thread = threading.Thread(target=lambda: page.play(stop.is_set))
    thread.start()
    try:
        yield page
    finally:
        stop.set()
        thread.join()
        page.close()


class Hand:
    """Mouse and keyboard, counted."""

    def __init__(self, page: Page) -> None:
        self.page, self.clicks, self.drags = page, 0, 0

    @property
    def seconds(self) -> float:
        return CLICK_SECONDS * self.clicks + DRAG_SECONDS * self.drags

    def _answered(self, act: Any) -> None:
        before = self.page.evaluate("window.poiseSetup.answers")
        act()
        until(self.page, f"window.poiseSetup.answers > {before}")

    def at(self, joint: str) -> tuple[float, float]:
        x, y = self.page.evaluate("name => window.poiseSetup.project(name)", joint)
        return x, y

    def press(self, key: str, *, is_edit: bool = True) -> None:
        self.clicks += 1
        self._answered(lambda: self.page.keyboard.press(key)) if is_edit else self.page.keyboard.press(key)

    def click(self, selector: str) -> None:
        self.clicks += 1
        self._answered(lambda: self.page.click(selector))

    def click_joint(self, joint: str, *, is_edit: bool = False) -> None:
        self.clicks += 1
        x, y = self.at(joint)
        self._answered(lambda: self.page.mouse.click(x, y)) if is_edit else self.page.mouse.click(x, y)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        self.drags += 1

        def move() -> None:
            mouse = self.page.mouse
            mouse.move(*start)
            mouse.down()
            mouse.move(0.5 * (start[0] + end[0]), 0.5 * (start[1] + end[1]))
            mouse.move(*end)
            mouse.up()

        self._answered(move)

    def drag_limb(self, actor: str, joint: str) -> None:
        box = self.page.locator(f'[data-actor="{actor}"]').first.bounding_box()
        assert box is not None
        self.drag((box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"]), self.at(joint))


def test_a_creature_nobody_has_seen_is_set_up(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "beast.toml"
    with (
        served(Character.fit(creature()), path, title="beast") as server,
        opened(browser, server.url, size=(1280, 800), is_ready=False) as page,
    ):
        page.evaluate("window.poiseSetup.ready")
        hand = Hand(page)
        hand.click("#clear")
        assert page.evaluate("window.poiseSetup.state.bodies.length") == 1
        hand.drag(hand.at("n0"), hand.at("n2"))  # the trunk
        assert page.evaluate("window.poiseSetup.state.bodies.length") == 3
        hand.drag_limb("left_leg", "a3")
        hand.drag_limb("right_leg", "b3")
        hand.drag_limb("neck", "k2")
        hand.drag_limb("free", "w3")
        for key, joint in (("3", "a9"), ("4", "b9")):  # by keyboard: choose the bone, then the actor's limb
            hand.click_joint(joint, is_edit=True)
            hand.press(key)
        # thicker by its handle, then heavier by a key
        hand.click_joint("w2")
        handles = page.evaluate("window.poiseSetup.handles()")
        red = next(h["at"] for h in handles if h["part"] == "radius")
        before = page.evaluate("window.poiseSetup.state.mass")
        hand.drag((red[0], red[1]), (red[0], red[1] - 12))
        hand.press("]")
        assert page.evaluate("window.poiseSetup.state.mass") > before
        hand.press("Control+z")
        hand.press("Control+z")
        assert page.evaluate("window.poiseSetup.state.mass") == pytest.approx(before)
        hand.press("Control+Shift+Z")
        for _ in range(6):
            if not page.locator(".cure").count():
                break
            hand.click(".cure")
        assert page.locator(".check").count() == 0, page.locator("#checks").inner_text()
        print(f"{hand.clicks} clicks and keys, {hand.drags} drags: {hand.seconds:.0f} s for a person")
        assert hand.clicks + hand.drags < MOST_ACTIONS
        assert hand.seconds < MOST_SECONDS
    # the page and the server are gone; the file is there
    beast = poise.load_character(path)
    roles = {r.limb: (r.kind, r.actor) for r in propose_roles(beast, figure("adult"))}
    assert roles == {
        "left_leg": ("support", "left_leg"), "right_leg": ("support", "right_leg"), "neck": ("targeted", "neck"),
        "tail": ("free", ""), "left_arm": ("targeted", "left_arm"), "right_arm": ("targeted", "right_arm"),
    }  # fmt: skip
    assert len(beast.bodies) == len(creature().names)
    tracker, still = PerformanceTracker(beast, figure("adult")), standing_pose(figure("adult"))
    out = [tracker.step(still) for _ in range(30)]
    assert np.isfinite(out).all()


def test_names_are_text_and_nothing_else(browser: Browser, tmp_path: Path) -> None:
    evil = '</script><img src=x onerror="window.pwned=1">'
    skeleton = creature()
    skeleton = replace(skeleton, names=tuple(f"{evil}{k}" for k in range(len(skeleton.names))))
    with (
        served(Character.fit(skeleton), tmp_path / "x.toml", title=evil) as server,
        opened(browser, server.url, is_ready=False, color_scheme="dark") as page,
    ):
        page.evaluate("window.poiseSetup.ready")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        assert evil in page.locator("#bone h2").inner_text()
        assert page.locator("#title").inner_text() == evil
        assert page.evaluate("window.pwned === undefined")
        assert page.locator("img").count() == 0


def test_a_page_that_is_opened_again_goes_on(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "child.toml"
    with served(figure("child"), path) as server:
        with opened(browser, server.url, is_ready=False) as page:
            page.evaluate("window.poiseSetup.ready")
            hand = Hand(page)
            page.select_option('[data-limb="left_arm"] select >> nth=0', "free")
            until(page, "window.poiseSetup.state.undo === 1")
            page.click('[data-limb="left_arm"] .name')
            hand.press("0")
        with opened(browser, server.url, is_ready=False) as page:
            page.evaluate("window.poiseSetup.ready")
            roles = page.evaluate("Object.fromEntries(window.poiseSetup.state.limbs.map(l => [l.name, l.role]))")
            assert roles["left_arm"] == "free"
            page.keyboard.press("Control+z")
            until(page, "window.poiseSetup.state.undo < 2")
    assert {x.name: x.role for x in poise.load_character(path).limbs}["left_arm"] == "free"
