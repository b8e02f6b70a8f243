"""The server of a live page: loopback, a token, and for every page the newest state or none.

It runs in a thread of its own. Whoever computes the scene hands over states at any rate and is never held up: a page
that has not acknowledged its last state is sent nothing, and when it has, the newest.

Malformed requests are answered with 400, and a flood of frames ends the connection; `websockets` alone would close
without an answer and log a traceback. Imported at use: it needs the extra "studio".
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import re
import secrets
import threading
from collections import deque
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.server import ServerConnection
from websockets.protocol import Event

from poise.core.errors import InvalidValue, MissingExtra, PoiseError, install_line
from poise.show.protocol import (
    BURST,
    MAX_MESSAGE,
    MAX_REFUSED,
    RATE,
    SCENE_HEAD,
    Command,
    Meter,
    read_ack,
    read_command,
    state_message,
)

if TYPE_CHECKING:
    from websockets.http11 import Request, Response


log = logging.getLogger(__name__)

HOST = "127.0.0.1"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Names under which a page may reach the server; another one in its address is another site's trick."""

MAX_PAGES = 8
"""Pages at once."""

OPEN_SECONDS = 10.0
"""A connection that has not asked for anything by then is closed [s]."""

PING_SECONDS = 20.0
"""So often a page is asked whether it is there; one that has not answered as long after is let go [s]."""

MAX_WAITING = 4000
"""Commands that wait to be read, and words that wait to be sent to a page; older commands are dropped first."""


def require_server() -> None:
    """Raises MissingExtra with the line that cures it if what serves pages is not installed."""
    try:
        import websockets  # noqa: F401
    except ImportError as error:
        raise MissingExtra(
            f"A live page needs websockets, which is not installed. Run: {install_line('studio')}. A recording "
            "(--record OUT.html) works without it."
        ) from error


class _Page:
    """One open page."""

    def __init__(self, number: int, connection: ServerConnection) -> None:
        self.number, self.connection = number, connection
        self.words: deque[str | bytes] = deque()
        self.scene, self.scenes = -1, 0
        self.sequence, self.waits_for, self.seen = 0, 0, -1
        self.wake = asyncio.Event()
        self.meter, self.refused = Meter(), 0


class Server:
    """Serves one page and its socket to a few readers.

    Args:
        page: Gives the page's text, from the path and query of its socket.
        port: 0 takes a free one.
        token: Who knows it may look and command; a random one if not given.
        read: Reads a message of a page; raises InvalidValue for what is malformed.

    Raises:
        MissingExtra: without websockets.
        PoiseError: if the port is taken.
    """

    def __init__(
        self,
        page: Callable[[str], str],
        *,
        port: int = 0,
        token: str | None = None,
        read: Callable[[str, int], Command] = read_command,
    ) -> None:
        require_server()
        self.token = secrets.token_urlsafe(18) if token is None else token
        self._page, self._read = page, read
        self._scene, self._generation = b"", -1
        self._state: tuple[int, int, float, bool, bytes] | None = None
        self._greeting: str | None = None
        self._pages: dict[int, _Page] = {}
        self._commands: deque[Command] = deque(maxlen=MAX_WAITING)
        self._count, self._states = 0, 0
        self._woken = False
        self._has_page = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._stop: asyncio.Event | None = None
        self._failed: Exception | None = None
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(port, ready), name="poise-server", daemon=True)
        self._thread.start()
        ready.wait()
        if self._failed is not None:
            why = str(self._failed).rstrip(".")
            raise PoiseError(
                f"No page can be served on port {port}: {why}. Choose another --port, or leave it out."
            ) from self._failed

    @property
    def url(self) -> str:
        """Address of the page, with the token."""
        return f"http://{HOST}:{self.port}/?token={self.token}"

    @property
    def page_count(self) -> int:
        """Pages that are open."""
        return len(self._pages)

    def wait_for_page(self, seconds: float) -> bool:
        """Wait until the page has been asked for once; False if nobody did."""
        return self._has_page.wait(seconds)

    def show(self, pack: bytes) -> None:
        """A scene for all pages, those to come too; states before it are forgotten."""
        self._scene, self._generation = pack, self._generation + 1
        self._state = None
        self._wake_all()

    def send(self, numbers: bytes, *, time: float, is_paused: bool = False) -> None:
        """The newest state of the scene shown last. Returns at once."""
        self._states += 1
        self._state = (self._states, self._generation, time, is_paused, numbers)
        self._wake_all()

    def say(self, message: dict[str, Any], *, greet: bool = False) -> None:
        """A message for all pages, reliable; with `greet` it also meets pages that come later."""
        text = json.dumps(message, allow_nan=False)
        if greet:
            self._greeting = text
        self._soon(lambda: self._say(text))

    def commands(self) -> list[Command]:
        """What the pages asked for since the last call, in order."""
        found = []
        while self._commands:
            found.append(self._commands.popleft())
        return found

    def close(self) -> None:
        """Send the pages away and stop."""
        stop = self._stop
        if stop is not None and self._thread.is_alive():
            self._soon(stop.set)
            self._thread.join(5.0)

    # --- the server's own thread

    def _run(self, port: int, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve(port, ready))
        except Exception as error:  # whatever the system says about the port
            self._failed = error
        finally:
            ready.set()
            self._loop.close()

    async def _serve(self, port: int, ready: threading.Event) -> None:
        from websockets.asyncio.server import serve

        quiet = log.getChild("socket")
        quiet.setLevel(logging.CRITICAL)  # it logs the traceback of whatever a stranger sends
        self._stop = asyncio.Event()
        async with serve(
            self._talk,
            HOST,
            port,
            process_request=self._answer,
            compression=None,
            max_size=MAX_MESSAGE,
            max_queue=64,
            open_timeout=OPEN_SECONDS,
            ping_interval=PING_SECONDS,
            ping_timeout=PING_SECONDS,
            close_timeout=1.0,
            server_header=None,
            logger=quiet,
            create_connection=Connection,
        ) as server:
            self.port = next(iter(server.sockets)).getsockname()[1]
            ready.set()
            await self._stop.wait()

    def _soon(self, what: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(what)
        except RuntimeError:  # closed already: nobody listens any more
            log.debug("The server is closed.")

    def _wake_all(self) -> None:
        """Have every page look for something new; one call is enough for any number of states."""
        if self._woken:
            return
        self._woken = True
        self._soon(self._wake)

    def _wake(self) -> None:
        self._woken = False
        for page in self._pages.values():
            page.wake.set()

    def _say(self, text: str) -> None:
        for page in self._pages.values():
            if len(page.words) < MAX_WAITING:
                page.words.append(text)
            page.wake.set()

    def _answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """Let a socket through, serve the page, or refuse."""
        from websockets.exceptions import WebSocketException

        try:
            return self._answered(connection, request)
        except (ValueError, LookupError, WebSocketException):  # an address or a header that cannot be taken apart
            return self._refuse(connection, HTTPStatus.BAD_REQUEST, "a malformed request")

    def _answered(self, connection: ServerConnection, request: Request) -> Response | None:
        place = urlsplit(request.path)
        given = parse_qs(place.query).get("token", [""])[0]
        host, origin = request.headers.get("Host", ""), request.headers.get("Origin")
        if urlsplit(f"//{host}").hostname not in LOOPBACK:
            return self._refuse(connection, HTTPStatus.FORBIDDEN, f"host {host[:80]!r}")
        if place.path not in ("/", "/ws"):
            return self._refuse(connection, HTTPStatus.NOT_FOUND, f"path {place.path[:80]!r}")
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            return self._refuse(connection, HTTPStatus.FORBIDDEN, "a wrong or missing token")
        if place.path == "/ws":
            if origin is None or urlsplit(origin).netloc != host or not origin.startswith("http://"):
                return self._refuse(connection, HTTPStatus.FORBIDDEN, f"origin {str(origin)[:80]!r}")
            if len(self._pages) >= MAX_PAGES:
                return self._refuse(connection, HTTPStatus.SERVICE_UNAVAILABLE, f"more than {MAX_PAGES} pages")
            return None
        from websockets.datastructures import Headers
        from websockets.http11 import Response

        body = self._page(f"/ws?token={self.token}").encode("utf-8", "backslashreplace")
        self._has_page.set()
        headers = Headers(
            {
                "Content-Type": "text/html; charset=utf-8",
                "Content-Length": str(len(body)),
                "Connection": "close",
                "Cache-Control": "no-store",
                "Referrer-Policy": "no-referrer",
                "X-Content-Type-Options": "nosniff",
            }
        )
        return Response(200, "OK", headers, body)

    def _refuse(self, connection: ServerConnection, status: HTTPStatus, why: str) -> Response:
        log.warning("Refused a request: %s.", why)
        return connection.respond(status, f"{status.phrase}. Open the address that Poise printed, with its token.\n")

    async def _talk(self, connection: ServerConnection) -> None:
        """Everything about one page, until it goes."""
        self._count += 1
        page = _Page(self._count, connection)
        if self._greeting is not None:
            page.words.append(self._greeting)
        self._pages[page.number] = page
        sender = asyncio.create_task(self._feed(page))
        try:
            await self._listen(page)
        finally:
            del self._pages[page.number]
            self._commands.append(Command("release", page=page.number))
            sender.cancel()

    async def _feed(self, page: _Page) -> None:
        """Send what there is: scenes and words in order, then the newest state if the last one was acknowledged."""
        from websockets.exceptions import ConnectionClosed

        page.wake.set()
        try:
            while True:
                await page.wake.wait()
                page.wake.clear()
                if page.scene != self._generation:
                    page.scene, pack = self._generation, self._scene
                    page.scenes += 1
                    await page.connection.send(SCENE_HEAD + pack)
                while page.words:
                    await page.connection.send(page.words.popleft())
                state = self._state
                if state is None or page.waits_for or state[0] == page.seen or state[1] != page.scene:
                    continue
                page.seen = state[0]
                page.sequence = page.sequence % 0xFFFFFFFF + 1
                page.waits_for = page.sequence
                await page.connection.send(
                    state_message(
                        state[4], time=state[2], is_paused=state[3], scene=page.scenes - 1, sequence=page.sequence
                    )
                )
        except ConnectionClosed:
            return

    async def _listen(self, page: _Page) -> None:
        """Read what a page sends until it goes; what is malformed is refused and logged."""
        from websockets.exceptions import ConnectionClosed

        try:
            async for message in page.connection:
                if not page.meter.take():
                    log.warning("Page %d sends too much and is disconnected.", page.number)
                    await page.connection.close(1008, "too many messages")
                    return
                try:
                    if isinstance(message, bytes):
                        self._acknowledge(page, read_ack(message))
                    else:
                        self._commands.append(self._read(message, page.number))
                except InvalidValue as error:
                    page.refused += 1
                    log.warning("Refused a message of page %d: %s", page.number, error)
                    if page.refused >= MAX_REFUSED:
                        await page.connection.close(1008, "too many malformed messages")
                        return
                    page.words.append(json.dumps({"type": "refused", "why": str(error)}))
                    page.wake.set()
        except ConnectionClosed as error:
            if error.sent is not None and error.sent.code == 1009:
                log.warning("Page %d sent more than %d bytes at once and is sent away.", page.number, MAX_MESSAGE)

    def _acknowledge(self, page: _Page, sequence: int) -> None:
        if sequence != page.waits_for:
            raise InvalidValue(f"State {sequence} is not the one to be acknowledged.")
        page.waits_for = 0
        page.wake.set()


MAX_HEAD = 65536
"""Longest head of a request that is looked at here [bytes]; the library refuses what is longer."""

_BODY = rb"(?!(?i:content-length|transfer-encoding):)"
"""Headers that announce a body, which the library cannot take and leaves without an answer."""
_HEAD = re.compile(
    rb"GET [\x21-\x7e]+ HTTP/1\.1\r\n(" + _BODY + rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e]*\r\n)*\r\n"
)
_BEGUN = re.compile(rb"GET |[A-Z]{1,10}( [^\n]*)?\Z")
_METHOD = re.compile(rb"[A-Z]{3,10} [\x21-\x7e]+ HTTP/1\.[01]\r\n")


class Connection(ServerConnection):
    """One connection, from its first byte."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head: bytearray | None = bytearray()
        # twice what messages are allowed: each may come in two frames
        self._frames = Meter(2.0 * RATE, 2.0 * BURST)

    def data_received(self, data: bytes) -> None:
        """Pass a whole head of a request on, and everything after it; answer what is none."""
        if self._head is None:
            return super().data_received(data)
        self._head += data
        end = self._head.find(b"\r\n\r\n")
        if end < 0 and len(self._head) < MAX_HEAD and _BEGUN.match(self._head):
            return None  # more of it is to come; if none does, the opening times out
        head, self._head = bytes(self._head), None
        is_whole = end >= 0 and _HEAD.fullmatch(head[: end + 4]) is not None
        if is_whole or (len(head) >= MAX_HEAD and head.startswith(b"GET ")):
            return super().data_received(head)
        other = _METHOD.match(head) is not None and not head.startswith(b"GET ")
        self._answer(HTTPStatus.METHOD_NOT_ALLOWED if other else HTTPStatus.BAD_REQUEST)
        return None

    def process_event(self, event: Event) -> None:
        """Count frames of every kind, pings and empty parts among them, which are never given to a reader."""
        if self.protocol.handshake_exc is None and self.state.name == "OPEN" and not self._frames.take():
            log.warning("A page sends too much and is disconnected.")
            self.protocol.fail(1008, "too many frames")
            self.send_data()
            return
        super().process_event(event)

    def _answer(self, status: HTTPStatus) -> None:
        body = f"{status.phrase}. This server answers GET alone.\n".encode()
        allow = "Allow: GET\r\n" if status is HTTPStatus.METHOD_NOT_ALLOWED else ""
        first = f"HTTP/1.1 {status.value} {status.phrase}\r\n{allow}"
        self.transport.write(f"{first}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        self.transport.close()
