"""The process that does the jobs, one after the other. Cancelling a job ends the process; the next one gets another."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
import time
import warnings
from multiprocessing.connection import Connection
from typing import Any

from poise.core.errors import InvalidValue, MotionWarning, PoiseError, failed_inside
from poise.io.files import json_value

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
