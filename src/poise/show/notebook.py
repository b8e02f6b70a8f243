"""The page of a viewer inside a notebook, on whatever machine its kernel runs.

What the server of a viewer sends through a socket goes through the notebook's own channel here, so a browser needs to
reach nothing but the notebook. Imported at use: it needs the extra "notebook".
"""

from __future__ import annotations

import json
import logging
import threading
import time as clock
from collections import deque
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from poise.core.errors import InvalidValue
from poise.show.page import framed_page
from poise.show.protocol import SCENE_HEAD, Command, read_command, state_message

log = logging.getLogger(__name__)

INTERVAL = 1.0 / 30.0
"""Shortest time between two states [s]. Python cannot wait for the page: a running cell hears no acknowledgement."""

MAX_WAITING = 4000
"""Commands that wait to be read; older ones are dropped first."""


class Widget(anywidget.AnyWidget):
    """What the browser's side, `notebook.js`, knows: the page, its height [px], and what it shows now."""

    _esm = Path(__file__).with_name("notebook.js")
    page = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int().tag(sync=True)
    scene = traitlets.Bytes().tag(sync=True)
    state = traitlets.Bytes().tag(sync=True)
    greeting = traitlets.Unicode().tag(sync=True)


class NotebookPage:
    """A page in a notebook's cells, with the calls of `Server`.

    Commands of the page arrive between cells, or while the run is in a thread of its own.

    Args:
        title: Of the page.
        height: Of the page [px].
    """

    def __init__(self, title: str, height: int) -> None:
        self.widget = Widget(page=framed_page(title), height=height)
        self._waiting: deque[Command] = deque(maxlen=MAX_WAITING)
        self._lock = threading.Lock()
        self._newest = b""
        self._is_sending, self._sent = False, 0.0
        self.widget.on_msg(self._hear)

    def show(self, pack: bytes) -> None:
        """A scene; states before it are forgotten."""
        with self._lock:
            self._newest = b""
            self.widget.state = b""
            self.widget.scene = SCENE_HEAD + pack

    def send(self, numbers: bytes, *, time: float, is_paused: bool = False) -> None:
        """The newest state of the scene shown last. Returns at once."""
        with self._lock:
            self._newest = state_message(numbers, time=time, is_paused=is_paused, scene=0, sequence=1)
            if self._is_sending:
                return
            self._is_sending = True
            wait = max(0.0, self._sent + INTERVAL - clock.monotonic())
        timer = threading.Timer(wait, self._flush)
        timer.daemon = True
        timer.start()

    def say(self, message: dict[str, Any], *, greet: bool = False) -> None:
        """A message for the page; with `greet` it also meets views that come later."""
        text = json.dumps(message, allow_nan=False)
        if greet:
            self.widget.greeting = text
        self.widget.send({"words": text})

    def commands(self) -> list[Command]:
        """What the page asked for since the last call, in order."""
        found = []
        while self._waiting:
            found.append(self._waiting.popleft())
        return found

    def _flush(self) -> None:
        with self._lock:
            self._is_sending, self._sent = False, clock.monotonic()
            if self._newest:
                self.widget.state = self._newest

    def _hear(self, _widget: object, content: object, _buffers: object) -> None:
        text = content.get("command") if isinstance(content, dict) else None
        try:
            self._waiting.append(read_command(text if isinstance(text, str) else ""))
        except InvalidValue as error:
            log.warning("Refused a message of the notebook's page: %s", error)
            self.say({"type": "refused", "why": str(error)})
