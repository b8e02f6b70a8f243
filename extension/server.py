# SPDX-FileCopyrightText: Poise authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts `poise serve` with the Python of the preferences, and talks to it. Standard library only."""

import atexit
import base64
import http.client
import json
import os
import shutil
import subprocess
import tempfile
import threading
from contextlib import suppress

import numpy as np

STARTING = 60.0
"""Longest wait for the first line of the server [s]."""


class PoiseError(Exception):
    """What the user should read."""


def packed(values):
    """An array as the server reads it."""
    numbers = np.ascontiguousarray(values, dtype="<f8")
    return {"shape": list(numbers.shape), "f8": base64.b64encode(numbers.tobytes()).decode("ascii")}


def unpacked(data):
    """An array as the server sends it."""
    return np.frombuffer(base64.b64decode(data["f8"]), dtype="<f8").reshape(data["shape"]).copy()


class Server:
    """The program that was started, and the way to it."""

    def __init__(self, program):
        call = command(program)
        self.errors = tempfile.TemporaryFile()
        try:
            self.process = subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)
        except OSError as error:
            raise PoiseError(
                f"{call[0]} cannot be started ({error.strerror}). Name the Python that has Poise in the preferences."
            ) from error
        lines = []
        reader = threading.Thread(target=lambda: lines.append(self.process.stdout.readline()), daemon=True)
        reader.start()
        reader.join(STARTING)
        try:
            self.hello = json.loads(lines[0])
            self.port = int(self.hello["url"].rsplit(":", 1)[1])
        except (IndexError, ValueError, KeyError, TypeError):
            said = self.what_it_said()
            self.stop()
            raise PoiseError(
                f"{' '.join(call[:3])} did not start Poise: {said or 'it said nothing'}. Name the Python that has "
                'Poise in the preferences; pip install "poise" puts it there.'
            ) from None

    def what_it_said(self):
        """The last line of its errors."""
        self.errors.seek(0)
        lines = self.errors.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1][:300] if lines else ""

    @property
    def runs(self):
        return self.process.poll() is None

    def stop(self):
        """Close its input, which ends it."""
        self.process.stdin.close()
        try:
            self.process.wait(3.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.errors.close()

    def ask(self, method, path, data=None):
        """One request; its answer.

        Raises:
            PoiseError: with what the server says.
        """
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60.0)
        try:
            body = None if data is None else json.dumps(data).encode()
            link.request(method, path, body, {"Authorization": f"Bearer {self.hello['token']}"})
            answer = link.getresponse()
            said = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise PoiseError(f"Poise does not answer any more ({self.what_it_said() or error}).") from error
        finally:
            link.close()
        if answer.status >= 400:
            raise PoiseError(said.get("error", f"status {answer.status}"))
        return said


class Job:
    """One job on the server."""

    def __init__(self, server, name, data):
        self.server = server
        self.id = server.ask("POST", f"/jobs/{name}", data)["job"]
        self.progress, self.doing = 0.0, ""

    def result(self):
        """The result, or None while it is not there.

        Raises:
            PoiseError: if the job failed or was cancelled.
        """
        seen = self.server.ask("GET", f"/jobs/{self.id}")
        self.progress, self.doing = seen["progress"], seen["doing"]
        if seen["state"] in ("waiting", "running"):
            return None
        if seen["state"] == "failed":
            raise PoiseError(seen["error"]["message"])
        if seen["state"] == "cancelled":
            raise PoiseError("Cancelled.")
        return self.server.ask("GET", f"/jobs/{self.id}/result")

    def cancel(self):
        self.server.ask("DELETE", f"/jobs/{self.id}")


_server = None
_starting = threading.Lock()


def command(program):
    """How to start the server: by a Python that has Poise, or the program `poise`."""
    program = program or os.environ.get("POISE_PYTHON") or shutil.which("poise")
    if not program:
        raise PoiseError("Poise is not found. Name the Python that has Poise in the preferences of this extension.")
    start = [program] if os.path.basename(program).lower().startswith("poise") else [program, "-m", "poise"]
    return [*start, "serve", "--until-stdin-ends"]


def get(program=""):
    """The server; started if it does not run."""
    global _server
    with _starting:
        if _server is None or not _server.runs:
            _server = Server(program)
        return _server


def begin(program=""):
    """Start the server meanwhile, so that it is there when a button needs it; what is wrong, that button says."""

    def start():
        with suppress(PoiseError):
            get(program)

    threading.Thread(target=start, name="poise begins", daemon=True).start()


def stop():
    """End the server, if one runs."""
    global _server
    if _server is not None:
        _server.stop()
        _server = None


atexit.register(stop)
