"""Poise gives animated characters weight: any motion clip in, a physically plausible reaction out.

Names are loaded at first use, so `import poise` is quick and needs nothing heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Analysis": "poise.analysis",
    "Character": "poise.character.character",
    "FileFormatError": "poise.errors",
    "InvalidValue": "poise.errors",
    "Motion": "poise.motion",
    "MotionWarning": "poise.errors",
    "Options": "poise.sim.options",
    "Physicality": "poise.methods.quasi_physical",
    "PointGoal": "poise.sim.goals",
    "PoiseError": "poise.errors",
    "Preset": "poise.control.preset",
    "Pull": "poise.sim.forces",
    "Push": "poise.sim.forces",
    "QuasiPhysicalFilter": "poise.sim.stream",
    "SimulationDiverged": "poise.errors",
    "SimulationResult": "poise.sim.result",
    "Skeleton": "poise.skeleton",
    "StepInfeasible": "poise.errors",
    "SynthesisResult": "poise.synthesis.run",
    "Terrain": "poise.terrain",
    "View": "poise.studio.viewer",
    "Viewer": "poise.studio.viewer",
    "UnknownName": "poise.errors",
    "analyze": "poise.analysis",
    "load": "poise.io",
    "load_character": "poise.character",
    "load_preset": "poise.control.preset",
    "load_skeleton": "poise.io",
    "motion_to_q": "poise.character.posing",
    "sample_path": "poise.samples",
    "save": "poise.io",
    "save_character": "poise.character",
    "scene_of": "poise.record.result_scene",
    "scene_of_motion": "poise.record.motion_scene",
    "simulate": "poise.sim.simulate",
    "synthesize": "poise.synthesis.run",
    "view": "poise.studio.viewer",
}

__all__ = sorted(_HOMES)

if TYPE_CHECKING:
    from poise import analysis as analysis
    from poise import edit as edit
    from poise import io as io
    from poise import step as step
    from poise import synthesis as synthesis
    from poise import verdict as verdict
    from poise.analysis import Analysis as Analysis
    from poise.analysis import analyze as analyze
    from poise.character import load_character as load_character
    from poise.character import save_character as save_character
    from poise.character.character import Character as Character
    from poise.character.posing import motion_to_q as motion_to_q
    from poise.control.preset import Preset as Preset
    from poise.control.preset import load_preset as load_preset
    from poise.errors import FileFormatError as FileFormatError
    from poise.errors import InvalidValue as InvalidValue
    from poise.errors import MotionWarning as MotionWarning
    from poise.errors import PoiseError as PoiseError
    from poise.errors import SimulationDiverged as SimulationDiverged
    from poise.errors import StepInfeasible as StepInfeasible
    from poise.errors import UnknownName as UnknownName
    from poise.io import load as load
    from poise.io import load_skeleton as load_skeleton
    from poise.io import save as save
    from poise.methods.quasi_physical import Physicality as Physicality
    from poise.motion import Motion as Motion
    from poise.record.motion_scene import scene_of_motion as scene_of_motion
    from poise.record.result_scene import scene_of as scene_of
    from poise.samples import sample_path as sample_path
    from poise.sim.forces import Pull as Pull
    from poise.sim.forces import Push as Push
    from poise.sim.goals import PointGoal as PointGoal
    from poise.sim.options import Options as Options
    from poise.sim.result import SimulationResult as SimulationResult
    from poise.sim.simulate import simulate as simulate
    from poise.sim.stream import QuasiPhysicalFilter as QuasiPhysicalFilter
    from poise.skeleton import Skeleton as Skeleton
    from poise.studio.viewer import View as View
    from poise.studio.viewer import Viewer as Viewer
    from poise.studio.viewer import view as view
    from poise.synthesis.run import SynthesisResult as SynthesisResult
    from poise.synthesis.run import synthesize as synthesize
    from poise.terrain import Terrain as Terrain


_FAMILIES = ("analysis", "edit", "io", "step", "synthesis", "verdict")
"""Packages whose names are reached as `poise.edit.ballistic` after `import poise` alone."""


def __getattr__(name: str) -> Any:
    if name in _FAMILIES:
        return import_module(f"poise.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'poise' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, *_FAMILIES, "__version__"]
