"""Rotations and transforms."""
