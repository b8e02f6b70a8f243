"""`python -m poise.native` builds the compiled core where its sources have changed, and says which one runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from poise.native import build
from poise.native.library import best_level


def main() -> int:
    """Build; 1 if that fails."""
    parser = argparse.ArgumentParser(prog="python -m poise.native", description="Build Poise's compiled core.")
    parser.add_argument("--folder", type=Path, default=build.BESIDE, help="where the libraries go")
    parser.add_argument("--sanitize", action="store_true", help="build for the address and undefined sanitizers")
    options = parser.parse_args()
    try:
        made = build.build(options.folder, sanitize=options.sanitize)
    except build.BuildFailed as error:
        sys.stderr.write(f"The compiled core is not built: {error}.\n")
        return 1
    for path in made:
        sys.stdout.write(f"{path}{' (used here)' if f'-{best_level()}-' in path.name else ''}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
