"""A real browser for tests of the page: Chromium without a screen and without a graphics card."""

from __future__ import annotations

import importlib.util
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from poise.show.page import BUNDLE, has_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Error, Frame, Page

Array = np.ndarray

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATH = os.environ.get("POISE_CHROMIUM") or next((p for p in map(shutil.which, NAMES) if p), None)

FLAGS = [
    "--use-gl=angle",  # Mesa's software renderer through EGL; without the third flag there is no WebGL at all
    "--use-angle=gl-egl",
    "--ignore-gpu-blocklist",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def _missing() -> str:
    if importlib.util.find_spec("playwright") is None:
        return "playwright is not installed (pip install -e '.[dev]')"
    if PATH is None:
        return "there is no chromium on this machine (apt install chromium, or set POISE_CHROMIUM)"
    if not has_page():
        return f"the player is not built (npm ci && npm run build in {BUNDLE.parents[1]})"
    return ""


def needs_packages(*names: str) -> list[pytest.MarkDecorator]:
    """Marks of tests that use packages which may not be installed."""
    reason = "{} is not installed (pip install -e '.[dev]')"
    return [pytest.mark.skipif(importlib.util.find_spec(n) is None, reason=reason.format(n)) for n in names]


needs_browser = pytest.mark.skipif(bool(_missing()), reason=_missing() or "-")


_running: list[tuple[Any, Browser]] = []
"""Playwright and its browser, once a test of this process has needed them."""
_resting: list[Page] = []
"""Windows that a test has left in order: the next one opens in half the time of a new one."""


@contextmanager
def launched() -> Iterator[Browser]:
    """The browser of this process; `closed` ends it. Windows that are left open inside are closed."""
    from playwright.sync_api import sync_playwright

    if _running and not _running[-1][1].is_connected():
        closed()
    if not _running:
        play = sync_playwright().start()
        _running.append((play, play.chromium.launch(executable_path=PATH, args=FLAGS, chromium_sandbox=False)))
    browser = _running[-1][1]
    try:
        yield browser
    finally:
        kept = [page.context for page in _resting]
        for context in browser.contexts:
            if context not in kept:
                context.close()


def closed() -> None:
    """Ends the browser of this process, if there is one."""
    _resting.clear()
    while _running:
        play, browser = _running.pop()
        browser.close()
        play.stop()


@contextmanager
def opened(
    browser: Browser,
    where: Path | str,
    *,
    size: tuple[int, int] = (900, 560),
    options: str = "shadows=0&aa=0&dpr=1",
    is_ready: bool = True,
    **context: Any,
) -> Iterator[Page]:
    """A page open in a window that remembers nothing, its first picture drawn; a recording has no network.

    Fails if the page logs an error.
    """
    page = _resting.pop() if _resting and not context else browser.new_context(**context).new_page()
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.context.set_default_timeout(60_000)  # a shared machine draws slowly
    errors: list[str] = []

    def told(said: ConsoleMessage) -> None:
        if said.type == "error":
            errors.append(said.text)

    def failed(error: Error) -> None:
        errors.append(str(error))

    address = where if isinstance(where, str) else where.resolve().as_uri()
    try:
        page.context.set_offline(isinstance(where, Path))
        page.on("pageerror", failed)
        page.on("console", told)
        page.goto(f"{address}#{options}")
        if is_ready:
            page.evaluate("window.poise.ready")
        yield page
        assert not errors or not is_ready, errors
    except BaseException:
        page.context.close()
        raise
    page.remove_listener("pageerror", failed)
    page.remove_listener("console", told)
    page.evaluate("localStorage.clear()")
    page.mouse.move(0, 0)
    page.goto("about:blank")
    if context or len(page.context.pages) > 1:
        page.context.close()
    else:
        _resting.append(page)


def seek(page: Page, time: float) -> None:
    """Goes to a fixed time and waits until it is drawn."""
    page.evaluate("t => window.poise.seek(t)", time)


def until(page: Page | Frame, claim: str, *, seconds: float = 30.0) -> None:
    """Waits until an expression of the page is true. (`wait_for_function` needs eval, which the page forbids.)"""
    last = time.monotonic() + seconds
    while not page.evaluate(claim):
        assert time.monotonic() < last, f"never came true: {claim}"
        page.wait_for_timeout(20)


def still(page: Page, value: str, *, seconds: float = 30.0) -> None:
    """Waits until an expression of the page stays the same for 0.4 s, in which a page at rest draws nothing."""
    last = time.monotonic() + seconds
    before = None
    while (now := page.evaluate(value)) != before:
        assert time.monotonic() < last, f"it goes on changing: {value}"
        before = now
        page.wait_for_timeout(400)


def projected(page: Page, points: Array) -> Array:
    """Where points of the world (n, 3) [m] stand on the page [px], (n, 2): a pinhole camera written anew in Python."""
    view = page.evaluate("window.poise.view")
    eye, target = np.array(view["eye"]), np.array(view["target"])
    left, top, width, height = view["box"]
    forward = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    up = np.cross(right, forward)
    local = (points - eye) @ np.stack([right, up, forward], axis=1)
    focal = 0.5 * height / np.tan(np.radians(0.5 * view["fov"]))
    x = left + 0.5 * width + focal * local[:, 0] / local[:, 2]
    y = top + 0.5 * height - focal * local[:, 1] / local[:, 2]
    return np.stack([x, y], axis=1)


def pixels(page: Page, width: int = 600, height: int = 400) -> Array:
    """The scene as drawn now, (height, width, 3) uint8."""
    import base64
    import io

    from PIL import Image

    url = page.evaluate("([w, h]) => window.poise.picture(w, h)", [width, height])
    assert url.startswith("data:image/png;base64,")
    image = Image.open(io.BytesIO(base64.b64decode(url.split(",", 1)[1])))
    return np.asarray(image.convert("RGB"))
