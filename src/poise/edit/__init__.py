"""The animator's physics tools: each takes a motion and gives a motion with a report of what changed."""

from poise.edit.ballistic import PathWish, ballistic
from poise.edit.ballistic_path import (
    BallisticPath,
    fit_path,
    gravity_vector,
    path_between,
    path_family,
    path_from_start,
    path_to_end,
)
from poise.edit.report import Budget, Edited, EditReport
from poise.edit.scope import Scope

__all__ = [
    "BallisticPath",
    "Budget",
    "EditReport",
    "Edited",
    "PathWish",
    "Scope",
    "ballistic",
    "fit_path",
    "gravity_vector",
    "path_between",
    "path_family",
    "path_from_start",
    "path_to_end",
]
