"""`poise serve`: jobs for other programs on this machine, such as the Blender extension."""

from __future__ import annotations

import json as json_module
import sys
import threading
from typing import Annotated

from poise.cli.app import app, note
from poise.cli.options import flag, option


@app.command()
def serve(
    port: Annotated[int, option("N", "Port. Default: a free one.", show_default=False)] = 0,
    until_stdin_ends: Annotated[
        bool,
        flag(
            "--until-stdin-ends",
            "Stop when the standard input is closed: for a program that starts Poise and may crash.",
        ),
    ] = False,
) -> None:
    """Let other programs on this machine ask Poise: simulate, check, mend, repair, track. Ctrl-C ends.

    The first line on stdout is JSON: the address and the token that every request needs. See docs/serve.md.

    Example: [bold]poise serve[/bold]
    """
    from poise.serve.server import Server

    server, ended = Server(port=port), threading.Event()
    try:
        print(json_module.dumps(server.greeting), flush=True)
        if until_stdin_ends:

            def watch() -> None:
                while sys.stdin.buffer.read(4096):
                    pass
                ended.set()

            threading.Thread(target=watch, daemon=True).start()
        else:
            note(f"Poise serves at {server.greeting['url']} (Ctrl-C ends)")
        while not ended.wait(0.5):
            pass
    except KeyboardInterrupt:
        pass
    finally:
        server.close()
