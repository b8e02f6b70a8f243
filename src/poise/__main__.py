"""`python -m poise`, and the script `poise`: imports nothing heavy before an interrupt can be answered."""

from __future__ import annotations

import os
import signal
import sys


def _leave(*_: object) -> None:
    """Nothing has been done yet: say so and go at once, whatever is being imported."""
    os.write(2, b"poise: Interrupted.\n")
    os._exit(130)


def main() -> None:
    """Run the command line and leave with its exit code."""
    signal.signal(signal.SIGINT, _leave)
    from poise.cli import run

    words = sys.argv[1:]
    code = run([w for w in words if w != "--debug"], debug="--debug" in words)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done; the interpreter only tidies up
    sys.exit(code)


if __name__ == "__main__":
    main()
