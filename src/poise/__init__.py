"""Poise gives animated characters weight: any motion clip in, a physically plausible reaction out.

Names are loaded at first use, so `import poise` is quick and needs nothing heavy.
"""

from __future__ import annotations

TYPE_CHECKING = False
"""As in `typing`, which is not imported: until it were, an interrupt of a command would end in a traceback."""

__version__ = "0.1.0"

_HOMES = {
    "Analysis": "poise.analysis",
    "Character": "poise.body.character",
    "FileFormatError": "poise.core.errors",
    "InvalidValue": "poise.core.errors",
    "Motion": "poise.core.motion",
    "MotionWarning": "poise.core.errors",
    "Options": "poise.filter.setup",
    "Physicality": "poise.filter.quasi_physical",
    "PointGoal": "poise.filter.forces",
    "PoiseError": "poise.core.errors",
    "Preset": "poise.filter.preset",
    "Pull": "poise.filter.forces",
    "Push": "poise.filter.forces",
    "QuasiPhysicalFilter": "poise.filter.stream",
    "SimulationDiverged": "poise.core.errors",
    "SimulationResult": "poise.filter.report",
    "Skeleton": "poise.core.skeleton",
    "StepInfeasible": "poise.core.errors",
    "SynthesisResult": "poise.synthesis.run",
    "Terrain": "poise.terrain",
    "View": "poise.show.viewer",
    "Viewer": "poise.show.viewer",
    "World": "poise.world",
    "UnknownName": "poise.core.errors",
    "analyze": "poise.analysis",
    "load": "poise.io",
    "load_character": "poise.body",
    "load_preset": "poise.filter.preset",
    "load_skeleton": "poise.io",
    "motion_to_q": "poise.body.posing",
    "q_to_motion": "poise.body.posing",
    "sample_path": "poise.samples",
    "save": "poise.io",
    "save_character": "poise.body",
    "scene_of": "poise.show.result_scene",
    "scene_of_motion": "poise.show.motion_scene",
    "simulate": "poise.filter.simulate",
    "step_all": "poise.filter.stream",
    "synthesize": "poise.world.synthesizing",
    "track": "poise.tracking.run",
    "view": "poise.show.viewer",
}

__all__ = sorted(_HOMES)

if TYPE_CHECKING:
    from typing import Any

    from poise import analysis as analysis
    from poise import check as check
    from poise import edit as edit
    from poise import io as io
    from poise import locomotion as locomotion
    from poise import spacetime as spacetime
    from poise import step as step
    from poise import synthesis as synthesis
    from poise import tracking as tracking
    from poise import world as world
    from poise.analysis import Analysis as Analysis
    from poise.analysis import analyze as analyze
    from poise.body import load_character as load_character
    from poise.body import save_character as save_character
    from poise.body.character import Character as Character
    from poise.body.posing import motion_to_q as motion_to_q
    from poise.body.posing import q_to_motion as q_to_motion
    from poise.core.errors import FileFormatError as FileFormatError
    from poise.core.errors import InvalidValue as InvalidValue
    from poise.core.errors import MotionWarning as MotionWarning
    from poise.core.errors import PoiseError as PoiseError
    from poise.core.errors import SimulationDiverged as SimulationDiverged
    from poise.core.errors import StepInfeasible as StepInfeasible
    from poise.core.errors import UnknownName as UnknownName
    from poise.core.motion import Motion as Motion
    from poise.core.skeleton import Skeleton as Skeleton
    from poise.filter.forces import PointGoal as PointGoal
    from poise.filter.forces import Pull as Pull
    from poise.filter.forces import Push as Push
    from poise.filter.preset import Preset as Preset
    from poise.filter.preset import load_preset as load_preset
    from poise.filter.quasi_physical import Physicality as Physicality
    from poise.filter.report import SimulationResult as SimulationResult
    from poise.filter.setup import Options as Options
    from poise.filter.simulate import simulate as simulate
    from poise.filter.stream import QuasiPhysicalFilter as QuasiPhysicalFilter
    from poise.filter.stream import step_all as step_all
    from poise.io import load as load
    from poise.io import load_skeleton as load_skeleton
    from poise.io import save as save
    from poise.samples import sample_path as sample_path
    from poise.show.motion_scene import scene_of_motion as scene_of_motion
    from poise.show.result_scene import scene_of as scene_of
    from poise.show.viewer import View as View
    from poise.show.viewer import Viewer as Viewer
    from poise.show.viewer import view as view
    from poise.synthesis.run import SynthesisResult as SynthesisResult
    from poise.terrain import Terrain as Terrain
    from poise.tracking.run import track as track
    from poise.world import World as World
    from poise.world.synthesizing import synthesize as synthesize


_FAMILIES = (
    "analysis",
    "check",
    "edit",
    "io",
    "locomotion",
    "show",
    "spacetime",
    "step",
    "synthesis",
    "tracking",
    "world",
)
"""Packages whose names are reached as `poise.edit.ballistic` after `import poise` alone."""


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _FAMILIES:
        return import_module(f"poise.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'poise' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, *_FAMILIES, "__version__"]
