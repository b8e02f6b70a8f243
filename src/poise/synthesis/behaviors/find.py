"""What to synthesize, by whatever it was named: a built-in behavior, a controller file, a machine."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from poise.core.errors import UnknownName
from poise.goals.checking import require_memory, require_names
from poise.goals.machine import Machine
from poise.synthesis.behaviors.behavior import Behavior, Role, Setup

Wanted = str | os.PathLike[str] | Machine | Behavior
"""A built-in behavior's name, the path of a controller file (*.toml), a machine of one's own, or a behavior."""


def find_behavior(wanted: Wanted) -> Behavior:
    """The behavior that is meant.

    Raises:
        UnknownName: if there is none such, or a machine names what there is not.
        InvalidValue: if a machine's goals need what no entry remembers.
        FileFormatError: if a controller file cannot be read as one.
    """
    from poise.synthesis.behaviors import BEHAVIORS

    if isinstance(wanted, Behavior):
        return wanted
    if isinstance(wanted, Machine):
        require_names(wanted)
        require_memory(wanted)
        return Behavior(wanted.name, "", lambda options: Setup((Role(wanted),)))
    if not isinstance(wanted, str) or wanted.lower().endswith(".toml"):
        from poise.synthesis.controller_file import load_controller

        return load_controller(Path(wanted))
    if wanted not in BEHAVIORS:
        meant = difflib.get_close_matches(wanted.lower(), BEHAVIORS, 1)
        hint = f" Did you mean {meant[0]!r}?" if meant else ""
        raise UnknownName(
            f"No behavior {wanted!r}.{hint} Behaviors: {', '.join(BEHAVIORS)}; or give a controller file (*.toml)."
        )
    return BEHAVIORS[wanted]
