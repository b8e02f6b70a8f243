"""The live server over real sockets: who may look, what is refused, and that a slow page holds nobody up."""

from __future__ import annotations

import json
import logging
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from poise.show import protocol
from poise.show.protocol import ACK, STATE, read_command
from poise.show.server import MAX_PAGES, Server

pytest.importorskip("websockets")
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

SCENE, STATE_KIND = 0, 1
NUMBERS = np.arange(50 * 7, dtype="<f4").tobytes()  # 50 bodies


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(lambda path: f"<title>a page</title>{path}")
    yield made
    made.close()


def page(server: Server, *, token: str | None = None, origin: str | None = "own", port: int = 0) -> ClientConnection:
    port = port or server.port
    return connect(
        f"ws://127.0.0.1:{port}/ws?token={server.token if token is None else token}",
        origin=f"http://127.0.0.1:{port}" if origin == "own" else origin,  # type: ignore[arg-type]
        max_size=None,
        legacy=True,
    )


def receive(connection: ClientConnection, kind: int) -> bytes:
    """The next binary message of a kind: SCENE or STATE_KIND."""
    while True:
        message = connection.recv(timeout=60.0)
        if isinstance(message, bytes) and message[0] == kind:
            return message


def words(connection: ClientConnection, kind: str) -> dict[str, Any]:
    """The next text message of a type."""
    while True:
        message = connection.recv(timeout=60.0)
        if isinstance(message, str) and json.loads(message)["type"] == kind:
            return json.loads(message)


def until_closed(connection: ClientConnection, message: str, times: int) -> int:
    """Send a message again and again; the code with which the server closes."""
    try:
        for _ in range(times):
            connection.send(message)
        while True:
            connection.recv(timeout=60.0)
    except ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd else 0


def acknowledge(connection: ClientConnection, state: bytes) -> None:
    connection.send(ACK.pack(1, STATE.unpack_from(state)[3]))


def wait_for(what: Callable[[], object], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.005)


def test_a_page_needs_the_token(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    with urllib.request.urlopen(server.url) as answer:
        text = answer.read().decode()
        assert f"/ws?token={server.token}" in text
        assert answer.headers["Cache-Control"] == "no-store"
    for address in (server.url[:-1], server.url.split("?")[0], server.url.replace("/?", "/secret?")):
        with pytest.raises(urllib.error.HTTPError, match=r"40[34]"):
            urllib.request.urlopen(address)
    with pytest.raises(InvalidStatus, match="403"):
        page(server, token="guess")
    assert "wrong or missing token" in caplog.text


@pytest.mark.parametrize("origin", ["http://evil.example", "https://127.0.0.1", "null", None])
def test_a_page_of_elsewhere_is_refused(server: Server, origin: str | None) -> None:
    with pytest.raises(InvalidStatus, match="403"):
        page(server, origin=origin)


def test_a_name_that_points_here_is_refused(server: Server) -> None:
    """DNS rebinding: the address is ours, the name is not."""
    request = urllib.request.Request(server.url, headers={"Host": f"evil.example:{server.port}"})
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(request)


def test_it_listens_on_loopback_only(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), 60.0):
        pass
    mine = next((str(a[4][0]) for a in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)), "127.0.0.1")
    if not mine.startswith("127."):
        with pytest.raises(OSError, match=r"refused|timed out"):
            socket.create_connection((mine, server.port), 2.0)


def test_one_state_at_a_time_and_then_the_newest(server: Server) -> None:
    server.show(b"a scene")
    with page(server) as reader:
        assert receive(reader, SCENE) == bytes(8) + b"a scene"
        server.send(NUMBERS, time=0.0)
        first = receive(reader, STATE_KIND)
        for k in range(1, 50):
            server.send(NUMBERS, time=0.02 * k)
        with pytest.raises(TimeoutError):
            reader.recv(timeout=0.2)  # nothing while the first is not acknowledged
        acknowledge(reader, first)
        newest = receive(reader, STATE_KIND)
        kind, flags, scene, sequence, at, stamp = STATE.unpack_from(newest)
        assert (kind, flags, scene, sequence, at) == (1, 0, 0, 2, pytest.approx(0.98))
        assert abs(stamp - 1000.0 * time.time()) < 20_000
        assert newest[STATE.size :] == NUMBERS


def test_a_page_that_reads_nothing_holds_nobody_up(server: Server) -> None:
    """50 bodies for three pages, one of which reads nothing while 150 states go by: it has missed all but its first."""
    big = np.zeros(400_000, "<f4").tobytes()  # more than the buffers of a socket hold
    server.show(b"a scene")
    with page(server) as idle, page(server) as quick, page(server) as other:
        wait_for(lambda: server.page_count == 3)
        seen = []
        for k in range(150):
            server.send(NUMBERS if k else big, time=0.02 * k)
            for reader in (quick, other):
                state = receive(reader, STATE_KIND)
                acknowledge(reader, state)
                seen.append(STATE.unpack_from(state)[4])
        assert seen == sorted(0.02 * k for k in range(150) for _ in range(2))
        late = receive(idle, STATE_KIND)
        assert STATE.unpack_from(late)[3:5] == (1, 0.0)
        acknowledge(idle, late)
        assert STATE.unpack_from(receive(idle, STATE_KIND))[3:5] == (2, pytest.approx(2.98))


def test_states_of_an_old_scene_are_not_sent(server: Server) -> None:
    server.show(b"old")
    server.send(NUMBERS, time=1.0)
    server.show(b"new")
    with page(server) as reader:
        assert receive(reader, SCENE) == bytes(8) + b"new"
        with pytest.raises(TimeoutError):
            reader.recv(timeout=0.15)
        server.send(NUMBERS, time=2.0)
        assert STATE.unpack_from(receive(reader, STATE_KIND))[4] == 2.0
        server.show(b"third")
        assert receive(reader, SCENE) == bytes(8) + b"third"


def test_words_come_whole_and_in_order_and_greet_whom_they_should(server: Server) -> None:
    server.say({"type": "status", "n": -1}, greet=True)
    with page(server) as reader:
        assert words(reader, "status") == {"type": "status", "n": -1}
        for k in range(200):
            server.say({"type": "mark", "n": k})
        assert [words(reader, "mark")["n"] for _ in range(200)] == list(range(200))


@pytest.mark.parametrize(
    "wrong",
    [
        "", "{", "[]", '"grab"', "{}", '{"type": 1}', '{"type": "explode"}', '{"type": "move"}',
        '{"type": "move", "target": [1, 2]}', '{"type": "move", "target": [1, 2, "x"]}',
        '{"type": "move", "target": [1, 2, NaN]}', '{"type": "move", "target": [1, 2, 1e9]}',
        '{"type": "move", "target": [1, 2, true]}', '{"type": "speed", "value": 0}', '{"type": "pause", "on": 1}',
        '{"type": "grab", "track": -1, "body": 0, "point": [0,0,0], "target": [0,0,0]}',
        '{"type": "grab", "track": 0, "body": 1.5, "point": [0,0,0], "target": [0,0,0]}',
        '{"type": "set", "name": "", "value": 1}', '{"type": "set", "name": "slope", "value": null}',
        '{"type": "set", "name": "slope", "value": ' + "9" * 400 + "}", "[" * 3000, b"", b"\x01\x02", b"\x02" * 8,
        ACK.pack(1, 77),
    ],
    ids=lambda w: repr(w)[:40],
)  # fmt: skip
def test_a_malformed_message_is_refused_and_logged(
    server: Server, wrong: str | bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING), page(server) as reader:
        reader.send(wrong)
        assert words(reader, "refused")["why"]
        reader.send('{"type": "restart"}')  # the page is still welcome
        wait_for(lambda: [c.kind for c in server.commands()] == ["restart"])
    assert "Refused a message" in caplog.text


def test_a_page_that_only_sends_rubbish_is_sent_away(server: Server) -> None:
    with page(server) as reader:
        assert until_closed(reader, "rubbish", protocol.MAX_REFUSED) == 1008


def test_too_large_and_too_many(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        with page(server) as reader:
            assert until_closed(reader, '{"type": "set", "name": "' + "x" * 5000 + '"}', 1) == 1009
        with page(server) as reader:
            assert until_closed(reader, '{"type": "release"}', 5000) == 1008
    assert "more than 4096 bytes" in caplog.text
    assert "sends too much" in caplog.text
    with page(server) as reader:  # the server goes on
        server.show(b"still here")
        assert receive(reader, SCENE) == bytes(8) + b"still here"


def test_a_page_that_goes_lets_go(server: Server) -> None:
    with page(server) as reader:
        reader.send('{"type": "grab", "track": 0, "body": 2, "point": [0, 0, 0], "target": [1, 2, 3]}')
        wait_for(lambda: any(c.kind == "grab" and c.fields["body"] == 2 for c in server.commands()))
    wait_for(lambda: any(c.kind == "release" for c in server.commands()))


def test_no_more_pages_than_allowed(server: Server) -> None:
    readers = [page(server) for _ in range(MAX_PAGES)]
    with pytest.raises(InvalidStatus, match="503"):
        page(server)
    for reader in readers:
        reader.close()


def test_pages_find_a_server_that_starts_again() -> None:
    first = Server(lambda path: path)
    port, token = first.port, first.token
    first.show(b"one")
    with page(first) as reader:
        receive(reader, SCENE)
        first.close()
        with pytest.raises(ConnectionClosed):
            reader.recv(timeout=60.0)
    second = Server(lambda path: path, port=port, token=token)
    try:
        second.show(b"two")
        with page(second) as reader:
            assert receive(reader, SCENE) == bytes(8) + b"two"
    finally:
        second.close()


def test_a_command_is_read_as_it_was_meant() -> None:
    command = read_command('{"type": "push", "track": 0, "body": 3, "force": [1, 2.5, -3], "seconds": 0.2}', 4)
    assert (command.kind, command.page, command.fields["body"]) == ("push", 4, 3)
    np.testing.assert_array_equal(command.fields["force"], [1.0, 2.5, -3.0])


def test_a_meter_allows_a_burst_and_then_the_rate() -> None:
    meter = protocol.Meter(rate=10.0, burst=20.0)
    now = time.monotonic()
    assert sum(meter.take(now) for _ in range(100)) == 20
    assert sum(meter.take(now + 1.0) for _ in range(100)) == 10


def answer(server: Server, raw: bytes, seconds: float = 60.0) -> bytes:
    """What the server says to raw bytes until it closes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=seconds) as connection:
        connection.sendall(raw)
        said = b""
        while part := connection.recv(4096):
            said += part
    return said


HOST = b"Host: 127.0.0.1\r\n"
MALFORMED = {
    "bracket in Host": b"GET /?token=TOKEN HTTP/1.1\r\nHost: [\r\n\r\n",
    "two hosts": b"GET /?token=TOKEN HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "bracket in the path": b"GET //[ HTTP/1.1\r\n" + HOST + b"\r\n",
    "bracket in Origin": b"GET /ws?token=TOKEN HTTP/1.1\r\n" + HOST + b"Origin: http://[\r\n\r\n",
    "no request": b"garbage\r\n\r\n",
    "no text": b"\x00\xff\xfe\r\n\r\n",
    "letters beyond ASCII": "GET /?token=é HTTP/1.1\r\n\r\n".encode(),
    "a header without a name": b"GET / HTTP/1.1\r\n: x\r\n\r\n",
    "no version": b"GET /\r\n\r\n",
    "a body": b"GET /?token=TOKEN HTTP/1.1\r\n" + HOST + b"content-length: 3\r\n\r\nabc",
    "a body in chunks": b"GET /?token=TOKEN HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_request_is_answered_400(
    server: Server, name: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    said = answer(server, MALFORMED[name].replace(b"TOKEN", server.token.encode()))
    assert said.startswith(b"HTTP/1.1 400 ")
    assert not any(record.exc_info for record in caplog.records)
    assert "Traceback" not in capfd.readouterr().err
    assert urllib.request.urlopen(server.url, timeout=60.0).status == 200  # it goes on


@pytest.mark.parametrize("method", [b"POST", b"PUT", b"DELETE", b"OPTIONS", b"HEAD"])
def test_other_methods_than_get_are_refused(server: Server, method: bytes) -> None:
    raw = method + b" /?token=" + server.token.encode() + b" HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\n\r\nabc"
    assert answer(server, raw).startswith(b"HTTP/1.1 405 ")


def test_a_request_in_small_pieces_is_served(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60.0) as connection:
        for byte in b"GET /?token=" + server.token.encode() + b" HTTP/1.1\r\n" + HOST + b"\r\n":
            connection.sendall(bytes([byte]))
        assert connection.recv(20).startswith(b"HTTP/1.1 200 ")


def test_another_method_in_small_pieces_is_refused_for_what_it_is(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60.0) as connection:
        for part in (b"P", b"OST", b" / HT", b"TP/1.1\r\n"):
            connection.sendall(part)
            time.sleep(0.05)
        assert connection.recv(20).startswith(b"HTTP/1.1 405 ")


def test_a_flood_of_pings_is_sent_away(server: Server) -> None:
    def flood(connection: ClientConnection) -> None:
        for _ in range(20_000):
            connection.ping()

    with page(server) as connection, pytest.raises(ConnectionClosed) as caught:
        flood(connection)
    assert caught.value.rcvd is None or caught.value.rcvd.code == 1008


def test_a_connection_that_says_nothing_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("poise.show.server.OPEN_SECONDS", 0.3)
    made = Server(lambda path: path)
    try:
        began = time.monotonic()
        assert answer(made, b"GET / HT") == b""
        assert time.monotonic() - began < 8.0  # ten by itself
    finally:
        made.close()


def test_a_page_that_falls_silent_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """It keeps its connection and answers no ping, as a page on a machine that was put to sleep."""
    monkeypatch.setattr("poise.show.server.PING_SECONDS", 1.0)
    made = Server(lambda path: path)
    try:
        key = b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        own = f"127.0.0.1:{made.port}".encode()
        head = b"GET /ws?token=" + made.token.encode() + b" HTTP/1.1\r\nHost: " + own + b"\r\nOrigin: http://" + own
        with socket.create_connection(("127.0.0.1", made.port), timeout=60.0) as connection:
            connection.sendall(head + b"\r\n" + key + b"Sec-WebSocket-Version: 13\r\n\r\n")
            assert connection.recv(64).startswith(b"HTTP/1.1 101 ")
            until = time.monotonic() + 60.0
            while made.page_count == 0 and time.monotonic() < until:
                time.sleep(0.01)
            assert made.page_count == 1
            while made.page_count and time.monotonic() < until:
                time.sleep(0.05)
            assert made.page_count == 0
    finally:
        made.close()
