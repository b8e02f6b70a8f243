"""Motion from goals alone: behaviors, controllers from files, scenes, and what a run gives back.

Names are loaded at first use, since behaviors and the files beside them know each other.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOMES = {
    "BEHAVIORS": "poise.synthesis.behaviors",
    "Behavior": "poise.synthesis.behaviors.behavior",
    "ControlState": "poise.goals.state_machine",
    "Part": "poise.goals.state_machine",
    "StateMachine": "poise.goals.state_machine",
    "Settings": "poise.synthesis.figure",
    "Scenario": "poise.synthesis.behaviors.behavior",
    "SynthesisResult": "poise.synthesis.run",
    "conditions": "poise.goals.registry",
    "controller_text": "poise.synthesis.controller_file",
    "find_behavior": "poise.synthesis.controller_file",
    "graph": "poise.goals.registry",
    "learn": "poise.synthesis.learning",
    "load_controller": "poise.synthesis.controller_file",
    "load_scene": "poise.synthesis.scene_file",
    "save_controller": "poise.synthesis.controller_file",
    "synthesize": "poise.synthesis.run",
    "goals": "poise.goals.registry",
    "table": "poise.goals.registry",
}

__all__ = sorted(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]

if TYPE_CHECKING:
    from poise.goals.registry import conditions as conditions
    from poise.goals.registry import goals as goals
    from poise.goals.registry import graph as graph
    from poise.goals.registry import table as table
    from poise.goals.state_machine import ControlState as ControlState
    from poise.goals.state_machine import Part as Part
    from poise.goals.state_machine import StateMachine as StateMachine
    from poise.synthesis.behaviors import BEHAVIORS as BEHAVIORS
    from poise.synthesis.behaviors.behavior import Behavior as Behavior
    from poise.synthesis.behaviors.behavior import Scenario as Scenario
    from poise.synthesis.controller_file import controller_text as controller_text
    from poise.synthesis.controller_file import find_behavior as find_behavior
    from poise.synthesis.controller_file import load_controller as load_controller
    from poise.synthesis.controller_file import save_controller as save_controller
    from poise.synthesis.figure import Settings as Settings
    from poise.synthesis.learning import learn as learn
    from poise.synthesis.run import SynthesisResult as SynthesisResult
    from poise.synthesis.run import synthesize as synthesize
    from poise.synthesis.scene_file import load_scene as load_scene


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'poise.synthesis' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
