"""What Poise runs on: versions, player, browser and the compiled core, for bug reports."""

from __future__ import annotations

import os
import platform
import sys
import warnings
from importlib import metadata
from typing import Any

CORE = ("numpy", "scipy", "mujoco", "daqp", "typer", "rich", "pydantic", "pillow")
EXTRAS = {"pygltflib": "gltf", "av": "video", "trimesh": "mesh", "websockets": "studio"}


def describe_system() -> dict[str, Any]:
    """Versions of Poise, Python and packages, the player, the browser that draws pictures, and the compiled core."""
    import poise

    packages = {name: _version(name) or "missing" for name in CORE}
    packages |= {n: _version(n) or f"not installed (pip install 'poise[{e}]')" for n, e in EXTRAS.items()}
    return {
        "schema": "poise.system/1",
        "poise": poise.__version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "encoding": sys.getfilesystemencoding(),
        "packages": packages,
        "player": _player(),
        "browser": _browser(),
        "core": _core(),
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _player() -> str:
    """Whether pages can be written."""
    from poise.show.page import BUNDLE, has_page

    return f"{BUNDLE}, {BUNDLE.stat().st_size / 1e3:.0f} kB" if has_page() else "not built; recordings are films"


def _browser() -> str:
    """What draws the player's pictures."""
    from poise.show.browser import find_browser, why_not

    return why_not() or str(find_browser())


def _core() -> str:
    """Which compiled core runs, or why NumPy does its work."""
    from poise.native import library, reason

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = library()
    return str(loaded._name) if loaded is not None else f"none, NumPy does its work, many times slower: {reason()}"
