"""The animator's physics tools: each takes a motion and gives a motion with a report of what changed."""

from poise.edit.ballistic import PathTarget, ballistic
from poise.edit.budget import Budget, Scope
from poise.edit.clean import clean
from poise.edit.direct import FlightChange
from poise.edit.ground import ground
from poise.edit.mend import mend
from poise.edit.paths import (
    BallisticPath,
    fit_path,
    gravity_vector,
    path_between,
    path_family,
    path_from_start,
    path_to_end,
)
from poise.edit.posing import Posed, Poser, pose
from poise.edit.repair import repair
from poise.edit.report import Edited, EditReport
from poise.edit.retime import retime
from poise.edit.scale import scale
from poise.edit.spin import spin
from poise.edit.touches import Touches, load_touches

__all__ = [
    "BallisticPath",
    "Budget",
    "EditReport",
    "Edited",
    "FlightChange",
    "PathTarget",
    "Posed",
    "Poser",
    "Scope",
    "Touches",
    "ballistic",
    "clean",
    "fit_path",
    "gravity_vector",
    "ground",
    "load_touches",
    "mend",
    "path_between",
    "path_family",
    "path_from_start",
    "path_to_end",
    "pose",
    "repair",
    "retime",
    "scale",
    "spin",
]
