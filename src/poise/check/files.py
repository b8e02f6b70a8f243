"""Which files of a folder are clips."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from poise.core.errors import PoiseError, UnreadableFile
from poise.io.files import read_head
from poise.io.format import ReadOptions, format_of, optional

MOTION_ENDINGS = frozenset({".bvh", ".amc", ".glb", ".gltf", ".npz"})
"""Files with these endings are clips whatever they hold: what cannot be read of them is a fault."""
MAYBE_ENDINGS = frozenset({".txt", ".json"})
"""Files with these endings may be anything: only those that look like a motion count."""


def clip_files(paths: Sequence[Path]) -> tuple[Path, ...]:
    """The files to check: those named, and of folders all that may be clips, in name order, each once.

    Hidden files and folders are passed over.

    Raises:
        UnreadableFile: if a path is not there.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        if not path.exists():
            raise UnreadableFile(f"There is no file or folder {path}. Check the name.")
        if path.is_dir():
            for file in sorted(path.rglob("*")):
                hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
                if file.is_file() and not hidden and is_candidate(file):
                    found.setdefault(file.resolve(), file)
        else:
            found.setdefault(path.resolve(), path)
    return tuple(found.values())


def is_candidate(path: Path) -> bool:
    """True if a file of a folder is worth opening as a clip."""
    suffix = path.suffix.lower()
    if suffix in MOTION_ENDINGS:
        return True
    if suffix not in MAYBE_ENDINGS:
        return False
    try:
        head = read_head(path)
        return format_of(path).matches(path, head)
    except PoiseError:
        return False


def clips_of_refused(path: Path, options: ReadOptions) -> tuple[str, ...] | None:
    """What a file holds that `load` refused: names of its clips, none for a bare skeleton, None if it is unreadable."""
    try:
        candidate = format_of(path)
        describe = optional(candidate, "describe")
        facts = describe(path, options) if describe is not None else None
    except PoiseError:
        return None
    if facts is None:
        return None
    names = tuple(facts.get("clips") or ())
    if names:
        return names
    return () if not facts.get("frames") else None
