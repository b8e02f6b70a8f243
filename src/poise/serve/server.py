"""`poise serve`: jobs over HTTP, for programs on this machine.

Loopback alone, a random port, and a token that every request carries. Browsers are kept out: a request with an Origin,
or for another host, is refused. Another process does the jobs (`work`), one after the other. Cancelling a job ends that
process; the next job gets a new one.
"""

from __future__ import annotations

import hmac
import json
import logging
import multiprocessing
import os
import secrets
import signal
import socket
import threading
import time
import warnings
from collections import OrderedDict
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from typing import Any
from urllib.parse import urlsplit

from poise import __version__
from poise.core.errors import InvalidValue, MotionWarning, PoiseError, failed_inside
from poise.core.process import one_thread
from poise.io.files import json_value

log = logging.getLogger(__name__)

PROTOCOL = "poise.serve/1"
HOST = "127.0.0.1"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Names under which a program may reach the server."""
JOBS = ("simulate", "check", "mend", "repair", "ballistic", "track", "overlays")
MAX_BODY = 128_000_000
"""Largest request [bytes]."""
MAX_WAITING = 16
"""Jobs that wait or run at once."""
KEPT = 16
"""Finished jobs whose results can still be had; older ones are forgotten."""
MAX_CONNECTIONS = 32
SECONDS = 20.0
"""A connection that sends nothing for so long is closed [s]."""


@dataclass
class Job:
    """One job and how far it is.

    Attributes:
        id: What it is asked for by.
        name: One of JOBS.
        body: The request as it came.
        state: "waiting", "running", "done", "failed" or "cancelled".
        progress: Part that is done, 0 … 1.
        doing: What is being done, in words.
        result: JSON.
        error: Kind and message.
    """

    id: str
    name: str
    body: bytes
    state: str = "waiting"
    progress: float = 0.0
    doing: str = ""
    result: bytes = b""
    error: dict[str, str] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "failed", "cancelled")

    def as_json(self) -> dict[str, Any]:
        """The answer to a request about this job."""
        out: dict[str, Any] = {"job": self.id, "kind": self.name, "state": self.state, "progress": self.progress}
        return out | {"doing": self.doing} | ({"error": self.error} if self.error else {})


class Jobs:
    """Jobs in their order, done by one process after another."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._changed = threading.Condition()
        self._process: Any = None
        self._is_open = True
        self._thread = threading.Thread(target=self._run, name="poise-jobs", daemon=True)
        self._thread.start()

    def start(self, name: str, body: bytes) -> Job | None:
        """A new job; None if too many wait."""
        with self._changed:
            if sum(not j.is_over for j in self._jobs.values()) >= MAX_WAITING:
                return None
            job = Job(secrets.token_urlsafe(9), name, body)
            self._jobs[job.id] = job
            over = [j.id for j in self._jobs.values() if j.is_over]
            for old in over[: max(0, len(over) - KEPT)]:
                del self._jobs[old]
            self._changed.notify_all()
            return job

    def get(self, key: str) -> Job | None:
        with self._changed:
            return self._jobs.get(key)

    def cancel(self, job: Job) -> None:
        """Stop a job that waits or runs, and forget what it was asked for."""
        with self._changed:
            if job.state == "running" and self._process is not None:
                self._process.kill()
            if not job.is_over:
                job.state, job.body = "cancelled", b""
            self._changed.notify_all()

    def close(self) -> None:
        """End the process; nothing is done any more."""
        with self._changed:
            self._is_open = False
            if self._process is not None:
                self._process.kill()
            self._changed.notify_all()
        self._thread.join(5.0)

    def _run(self) -> None:
        pipe = self._new_process()
        while True:
            with self._changed:
                while self._is_open and not any(j.state == "waiting" for j in self._jobs.values()):
                    self._changed.wait()
                if not self._is_open:
                    return
                job = next(j for j in self._jobs.values() if j.state == "waiting")
                job.state = "running"
            if not self._do(job, pipe):
                pipe.close()
                if self._is_open:
                    pipe = self._new_process()

    def _new_process(self) -> Any:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs,), name="poise-jobs", daemon=True)
        with one_thread():
            process.start()
        theirs.close()
        with self._changed:
            self._process = process
            if not self._is_open:
                process.kill()
        return ours

    def _do(self, job: Job, pipe: Any) -> bool:
        """Have a job done; False if its process is gone."""
        try:
            pipe.send((job.name, job.body))
            while True:
                kind, *said = pipe.recv()
                with self._changed:
                    if job.state == "cancelled":
                        self._process.kill()
                        return False
                    if kind == "progress":
                        job.progress, job.doing = said
                        continue
                    job.body = b""
                    if kind == "done":
                        job.state, job.progress, job.result = "done", 1.0, said[0]
                    else:
                        job.state, job.error = "failed", {"kind": said[0], "message": said[1]}
                    return True
        except (EOFError, OSError):
            with self._changed:
                job.body = b""
                if not job.is_over:
                    words = "The process that did this job ended without an answer. It may need more memory."
                    job.state, job.error = "failed", {"kind": "ProcessDied", "message": words}
            return False


class Server:
    """Serves jobs until it is closed.

    They run in a process of their own, which imports the script that made the server: begin it below
    `if __name__ == "__main__":`.

    Args:
        port: 0 takes a free one.
        token: Every request has to carry it; a random one if not given.

    Raises:
        PoiseError: if the port is taken.
    """

    def __init__(self, *, port: int = 0, token: str | None = None) -> None:
        self.token = secrets.token_urlsafe(24) if token is None else token
        try:
            self._http = _Http((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or error
            raise PoiseError(
                f"Nothing can be served on port {port}: {str(why).rstrip('.')}. Choose another --port."
            ) from error
        self.jobs = Jobs()
        self._http.jobs, self._http.token = self.jobs, self.token
        self.port = int(self._http.server_address[1])
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def greeting(self) -> dict[str, Any]:
        """What a program needs to know to talk to it."""
        return {
            "protocol": PROTOCOL,
            "url": f"http://{HOST}:{self.port}",
            "token": self.token,
            "version": __version__,
            "jobs": list(JOBS),
        }

    def close(self) -> None:
        """Stop, with the job that runs."""
        self._http.shutdown()
        self._http.server_close()
        self.jobs.close()


class _Http(ThreadingHTTPServer):
    """The sockets; a limited number of connections at once."""

    daemon_threads = True
    allow_reuse_address = False
    jobs: Jobs
    token: str

    def __init__(self, *args: Any) -> None:
        self._free = threading.BoundedSemaphore(MAX_CONNECTIONS)
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        del request, client_address
        log.debug("A connection broke.", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: _Http  # pyright: ignore[reportIncompatibleVariableOverride]
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "poise", ""
    timeout = SECONDS

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)

    def do_GET(self) -> None:
        if self._refuses():
            return
        match self.path.strip("/").split("/"):
            case [""]:
                self._say(200, {"protocol": PROTOCOL, "version": __version__, "jobs": list(JOBS)})
            case ["jobs", key] if (job := self.server.jobs.get(key)) is not None:
                self._say(200, job.as_json())
            case ["jobs", key, "result"] if (job := self.server.jobs.get(key)) is not None:
                if job.state == "done":
                    self._send(200, job.result)
                elif job.state == "failed":
                    self._say(409, {"error": job.error["message"]})
                else:
                    self._say(409, {"error": f"The job is {job.state}; it has no result."})
            case _:
                self._lost()

    def do_POST(self) -> None:
        if self._refuses():
            return
        length = self.headers.get("Content-Length", "")
        if self.headers.get("Transfer-Encoding") or not length.isascii() or not length.isdigit():
            return self._refuse(411, "Say how long the request is: Content-Length.")
        if len(length) > 12 or int(length) > MAX_BODY:
            return self._refuse(413, f"The request has more than {MAX_BODY} bytes. Send fewer frames at once.")
        match self.path.strip("/").split("/"):
            case ["jobs", name] if name in JOBS:
                body = self.rfile.read(int(length))
                if len(body) < int(length):
                    return self._refuse(400, "The request ends before its length.")
                job = self.server.jobs.start(name, body)
                if job is None:
                    return self._say(429, {"error": f"{MAX_WAITING} jobs wait already. Cancel one, or wait."})
                self._say(201, job.as_json())
            case _:
                self.close_connection = True
                self._lost()

    def do_DELETE(self) -> None:
        if self._refuses():
            return
        match self.path.strip("/").split("/"):
            case ["jobs", key] if (job := self.server.jobs.get(key)) is not None:
                self.server.jobs.cancel(job)
                self._say(200, job.as_json())
            case _:
                self._lost()

    def _refuses(self) -> bool:
        """Refuse a request from a browser, for another host, or without the token; True if it was refused."""
        try:
            host = urlsplit(f"//{self.headers.get('Host', '')}").hostname
        except ValueError:
            host = None
        given = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if host not in LOOPBACK:
            why = "This server answers on this machine only."
        elif "Origin" in self.headers:
            why = "This server does not answer web pages."
        elif not hmac.compare_digest(given.encode(), self.server.token.encode()):
            why = "The token is missing or wrong. Send the header Authorization: Bearer TOKEN."
        else:
            return False
        log.warning("Refused a request: %s", why)
        self._refuse(403, why)
        return True

    def _lost(self) -> None:
        asked = self.path[:80]
        self._say(404, {"error": f"There is no {asked!r}. POST /jobs/NAME with NAME one of {', '.join(JOBS)}."})

    def _refuse(self, status: int, why: str) -> None:
        self.close_connection = True  # what is left of the request is not read
        self._say(status, {"error": why})

    def _say(self, status: int, words: dict[str, Any]) -> None:
        self._send(status, json.dumps(words).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the library itself refuses, in the same form."""
        del explain
        self.request_version = self.protocol_version  # a line that could not be read gets a whole answer, too
        self._refuse(code, message or "malformed request")

    def log_message(self, format: str, *args: Any) -> None:
        log.debug(format, *args)


TELL_SECONDS = 0.05
"""Shortest time between two messages of progress [s]."""


def work(jobs: Connection) -> None:
    """Take jobs from a pipe as (name, JSON) until it closes; answer with ("progress", part, words), then
    ("done", JSON) or ("failed", kind, message).
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends this process
    parent = multiprocessing.parent_process()
    if parent is not None:

        def leave() -> None:
            parent.join()
            os._exit(0)  # in the middle of a job, too

        threading.Thread(target=leave, daemon=True).start()
    from poise.serve import jobs as table  # what takes long to load, before the first job

    table.load()
    while True:
        try:
            name, body = jobs.recv()
        except (EOFError, OSError):
            return
        jobs.send(_answer(table, jobs, name, body))


def _answer(table: Any, jobs: Connection, name: str, body: bytes) -> tuple[str, ...] | tuple[str, bytes]:
    """What comes of one job."""
    last = 0.0

    def tell(part: float, words: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > TELL_SECONDS or part <= 0.0:
            last = now
            jobs.send(("progress", min(1.0, max(0.0, float(part))), words))

    try:
        asked = json.loads(body)
        if not isinstance(asked, dict):
            raise InvalidValue("The request is not a JSON object.")
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always", MotionWarning)
            result = table.JOBS[name](asked, tell)
        said = [str(w.message) for w in heard if issubclass(w.category, MotionWarning)]
        return "done", json.dumps(json_value(result | {"warnings": said}), allow_nan=False).encode()
    except PoiseError as error:
        return "failed", type(error).__name__, str(error)
    except (ValueError, RecursionError) as error:
        if isinstance(error, UnicodeDecodeError | json.JSONDecodeError | RecursionError):
            return "failed", "InvalidValue", "The request is not JSON."
        return "failed", "Bug", failed_inside(error)
    except MemoryError:
        return "failed", "MemoryError", "There is not enough memory for this. Give fewer frames."
    except Exception as error:
        return "failed", "Bug", failed_inside(error)
