"""The compiled core: small C functions, each beside the NumPy twin that explains it and is its oracle.

`build` makes the libraries, `library` picks and loads one, `compiled` joins a C function to its twin.
"""

from __future__ import annotations

from poise.native.function import FUNCTIONS, Block, Function, compiled
from poise.native.library import library, reason

__all__ = ["FUNCTIONS", "Block", "Function", "compiled", "library", "reason"]
