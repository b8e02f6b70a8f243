"""The ground: height, normal and velocity anywhere, at any time."""

from poise.terrain.terrain import Surface, Terrain

__all__ = ["Surface", "Terrain"]
