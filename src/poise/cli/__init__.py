"""The command `poise`: one file per command, each of which puts itself on `app` when it is imported here."""

from __future__ import annotations

from poise.cli import (
    character,
    check,
    convert,
    demo,
    edit,
    export,
    info,
    library,
    live_from,
    pose,
    serve,
    setup,
    simulate,
    spacetime,
    synthesize,
    track,
    vary,
    view,
    walk,
    world,
)
from poise.cli.app import app, main, run

__all__ = [
    "app",
    "character",
    "check",
    "convert",
    "demo",
    "edit",
    "export",
    "info",
    "library",
    "live_from",
    "main",
    "pose",
    "run",
    "serve",
    "setup",
    "simulate",
    "spacetime",
    "synthesize",
    "track",
    "vary",
    "view",
    "walk",
    "world",
]
