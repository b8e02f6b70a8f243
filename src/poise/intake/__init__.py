"""What a file does not say (up axis, unit, frame rate) is decided here: evidence weighed in one place, and reported."""

from poise.intake.anatomy import Anatomy, Limb, anatomy_of
from poise.intake.figure import Figure
from poise.intake.reading import Custom, Reading, read_as
from poise.intake.table import Answer, Table, Testimony, weigh

__all__ = [
    "Anatomy",
    "Answer",
    "Custom",
    "Figure",
    "Limb",
    "Reading",
    "Table",
    "Testimony",
    "anatomy_of",
    "read_as",
    "weigh",
]
