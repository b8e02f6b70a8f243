"""`python -m poise`, and the script `poise`: answers an interrupt before it imports anything heavy."""

from __future__ import annotations

import _signal as signal  # pyright: ignore[reportMissingImports]  # built in; `signal` itself takes 5 ms to import


def _leave(*_: object) -> None:
    """Nothing has been done yet: say so and go at once, whatever is being imported."""
    import os

    os.write(2, b"poise: Interrupted.\n")
    os._exit(130)


signal.signal(signal.SIGINT, _leave)  # as soon as this module is there: who imports it runs the command


def main() -> None:
    """Run the command line and leave with its exit code."""
    import sys

    from poise.core.process import prefer_one

    prefer_one()
    from poise.cli import run

    words = sys.argv[1:]
    code = run([w for w in words if w != "--debug"], debug="--debug" in words)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done; the interpreter only tidies up
    sys.exit(code)


if __name__ == "__main__":
    main()
