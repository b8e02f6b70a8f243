"""What is seen, as plain data: independent of any renderer, of the page, and of the simulation."""

from poise.show.scene.overlays import (
    GOALS,
    Control,
    Curve,
    Label,
    Layer,
    Overlay,
    Plot,
    Points,
    Polygon,
    Row,
    Series,
    Vectors,
)
from poise.show.scene.scene import (
    GHOST,
    GHOST_COLOR,
    SOLID,
    SOLID_COLOR,
    Arrow,
    Ball,
    Box,
    Color,
    Cylinder,
    Mesh,
    Prop,
    Scene,
    Shape,
    Skin,
    Skinned,
    Style,
    Track,
    clip_word,
    file_name,
    track_of_motion,
)

__all__ = [
    "GHOST", "GHOST_COLOR", "GOALS", "SOLID", "SOLID_COLOR", "Arrow", "Ball", "Box", "Color", "Control", "Curve",
    "Cylinder", "Label", "Layer", "Mesh", "Overlay", "Plot", "Points", "Polygon", "Prop", "Row", "Scene", "Series",
    "Shape", "Skin", "Skinned", "Style", "Track", "Vectors", "clip_word", "file_name", "track_of_motion",
]  # fmt: skip
