"""A page without a screen, for tests of what is live: it reads states over a real socket and acknowledges each."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from websockets.sync.client import ClientConnection, connect

from poise.show.live import LiveRun, Source
from poise.show.protocol import ACK, STATE
from poise.show.viewer import Viewer


@dataclass
class State:
    """What a page reads from a state: its time, and where the first bodies are [m], shape (B, 3)."""

    time: float
    is_paused: bool
    positions: np.ndarray


class Page:
    """A page without a screen: acknowledges every state at once."""

    def __init__(self, viewer: Viewer, bodies: int) -> None:
        address = viewer.url.split("/?")[0]
        socket = viewer.url.replace("http://", "ws://").replace("/?", "/ws?")
        self.socket: ClientConnection = connect(socket, origin=address, max_size=None, legacy=True)  # type: ignore[arg-type]
        self.words: list[dict[str, Any]] = []
        self.scenes, self.bodies = 0, bodies

    def state(self) -> State:
        while True:
            message = self.socket.recv(timeout=60.0)
            if isinstance(message, str):
                self.words.append(json.loads(message))
            elif message[0] == 0:
                self.scenes += 1
            else:
                _, flags, _, sequence, at, _ = STATE.unpack_from(message)
                self.socket.send(ACK.pack(1, sequence))
                numbers = np.frombuffer(message, "<f4", offset=STATE.size)
                return State(at, bool(flags & 1), numbers[: self.bodies * 7].reshape(-1, 7)[:, :3])

    def until(self, holds: Callable[[State], object]) -> State:
        end = time.monotonic() + 60.0
        while not holds(state := self.state()):
            assert time.monotonic() < end, "it never came"
        return state

    def ask(self, **words: Any) -> None:
        self.socket.send(json.dumps(words))


@contextmanager
def playing(source: Source[Any], bodies: int) -> Iterator[tuple[Page, list[Any]]]:
    """A page of a source that plays, and the list that gets its result: one that was interrupted, with frames."""
    results: list[Any] = []
    with Viewer(is_opened=False) as viewer:
        run = LiveRun(source, viewer)
        thread = threading.Thread(target=lambda: results.append(run.play()), daemon=True)
        thread.start()
        page = Page(viewer, bodies=bodies)
        page.until(lambda s: s.time > 0.1)
        yield page, results
        run.stop()
        thread.join(60.0)
        page.socket.close()
    assert results
    assert results[0] is not None
    assert not results[0].is_complete
    assert results[0].motion.frame_count > 10
