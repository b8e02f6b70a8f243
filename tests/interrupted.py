"""A command of `poise` in a process of its own, interrupted by Ctrl-C once it is under way."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

DRIVER = """
import sys
from pathlib import Path
from {module} import {kind}
from poise.cli.app import run

going_on, steps = {kind}.{method}, 0

def counted(self, *given, **named):
    global steps
    steps += 1
    if steps == {count}:
        Path(sys.argv[1]).touch()
    return going_on(self, *given, **named)

{kind}.{method} = counted
sys.exit(run(sys.argv[2:]))
"""
"""The command as it is, which says when it has come so many steps far."""


def interrupted(words: list[object], sign: Path, method: str, count: int) -> str:
    """Run a command and interrupt it after some steps; what it says on stderr.

    It must end with exit code 130 and without a traceback.

    Args:
        words: Of the command.
        sign: A file that does not exist yet, in a folder of the test's own.
        method: What is called once a step, such as "poise.filter.filter.SimulatedCharacter.advance".
        count: How many steps it takes before.
    """
    module, kind, name = method.rsplit(".", 2)
    driver = DRIVER.format(module=module, kind=kind, method=name, count=count)
    child = subprocess.Popen(
        [sys.executable, "-c", driver, str(sign), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        until = time.monotonic() + 120.0
        while not sign.exists():
            assert child.poll() is None, "it ended by itself"
            assert time.monotonic() < until, "it did not start"
            time.sleep(0.02)
        child.send_signal(signal.SIGINT)
        _, told = child.communicate(timeout=60.0)
    finally:
        child.kill()
    said = told.decode("utf-8")
    assert child.returncode == 130, said
    assert "Traceback" not in said
    return said
