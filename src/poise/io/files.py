"""Reading with a limit and writing whole files or none."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from poise.core.errors import FileFormatError, UnreadableFile

MAX_BYTES = 1 << 30
"""No file is read past this size [bytes]."""

HEAD_BYTES = 4096
"""How much of a file is looked at to tell its format [bytes]."""


def file_size(path: Path, *, limit: int = MAX_BYTES) -> int:
    """Size of a file that is about to be read [bytes].

    Raises:
        UnreadableFile: if it is not there, or no file.
        FileFormatError: if it is larger than `limit`.
    """
    if not path.exists():
        raise UnreadableFile(f"There is no file {path}. Check the name.")
    if not path.is_file():
        raise UnreadableFile(f"{path} is a folder or a device, not a file. Name a file in it.")
    size = path.stat().st_size
    if size > limit:
        raise FileFormatError(
            f"The file has {size} bytes; at most {limit} are read.",
            path=path,
            cure="Cut it into shorter clips, or name the right file.",
        )
    return size


def read_head(path: Path, count: int = HEAD_BYTES) -> bytes:
    """The first bytes of a file.

    Raises:
        UnreadableFile: if it cannot be opened.
    """
    file_size(path)
    try:
        with path.open("rb") as file:
            return file.read(count)
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be opened: {error.strerror}. Check who may read it.") from error


def read_bytes(path: Path, *, limit: int = MAX_BYTES) -> bytes:
    """All bytes of a file no larger than `limit`.

    Raises:
        UnreadableFile: if it cannot be opened.
        FileFormatError: if it is larger than `limit`.
    """
    file_size(path, limit=limit)
    return read_head(path, limit)


def read_text(path: Path, *, limit: int = MAX_BYTES) -> str:
    """All text of a UTF-8 file no larger than `limit`; a byte-order mark is dropped.

    Raises:
        UnreadableFile: if it cannot be opened.
        FileFormatError: if it is larger than `limit` or no UTF-8, with the line.
    """
    data = read_bytes(path, limit=limit)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileFormatError(
            "This is no UTF-8 text.",
            path=path,
            line=data.count(b"\n", 0, error.start) + 1,
            cure="Save it as UTF-8, or name the right file.",
        ) from error


def write_atomically(path: Path, data: bytes) -> None:
    """Write a whole file or leave what was there: write beside it, then rename.

    Raises:
        UnreadableFile: if the folder is not there or cannot be written.
    """
    path = Path(path)
    try:
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise UnreadableFile(
            f"{path} cannot be written: {error.strerror}. Check that its folder exists and may be written."
        ) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(beside).chmod(_mode(path))
        os.replace(beside, path)
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        Path(beside).unlink(missing_ok=True)


def _mode(path: Path) -> int:
    """Permissions of the file that is replaced, else those a new file gets (a temporary one is private)."""
    return path.stat().st_mode & 0o777 if path.exists() else 0o644
