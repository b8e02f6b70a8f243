"""Files that are not trusted, read within limits, and files that are written whole or not at all.

JSON is bounded in size and depth, with no key twice and finite numbers only. TOML is refused with the line that is
wrong.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import secrets
import stat
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

from poise.core.errors import FileFormatError, PoiseError, UnreadableFile, did_you_mean

MAX_BYTES = 1 << 30
"""No file is read past this size [bytes]."""

HEAD_BYTES = 4096
"""How much of a file is looked at to tell its format [bytes]."""

MOST_NAMES = 1000
"""Files of a folder among which a name that was meant is looked for."""


def file_size(path: Path, *, limit: int = MAX_BYTES) -> int:
    """Size of a file that is about to be read [bytes].

    Raises:
        UnreadableFile: if it is not there, or no file.
        FileFormatError: if it is larger than `limit`.
    """
    try:
        if not path.exists():
            if re.match(r"https?:/", path.as_posix()):
                address = re.sub(":/+", "://", path.as_posix(), count=1)  # a path keeps one slash
                raise UnreadableFile(f"{address} is an address, and Poise reads files. Download it first.")
            beside = [p.name for p in islice(path.parent.iterdir(), MOST_NAMES)] if path.parent.is_dir() else []
            raise UnreadableFile(f"There is no file {path}.{did_you_mean(path.name, beside) or ' Check the name.'}")
        if not path.is_file():
            raise UnreadableFile(f"{path} is a folder or a device, not a file. Name a file in it.")
        size = path.stat().st_size
    except (OSError, ValueError) as error:  # a name too long or with a zero byte, a folder that may not be entered
        if isinstance(error, UnreadableFile):
            raise
        raise UnreadableFile(f"{path} cannot be read: {why(error)}.") from error
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
        raise UnreadableFile(f"{path} cannot be opened: {why(error)}. Check who may read it.") from error


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
            "This is not UTF-8 text.",
            path=path,
            line=data.count(b"\n", 0, error.start) + 1,
            cure="Save it as UTF-8, or name the right file.",
        ) from error


def write_atomically(path: Path, data: bytes | str) -> None:
    """Write a whole file or leave what was there; text is written as UTF-8.

    What is not Unicode in a text (part of a file's name, say) is written as an escape.

    Raises:
        UnreadableFile: if it cannot be written; see `whole_file`.
    """
    if isinstance(data, str):
        data = data.encode("utf-8", "backslashreplace")
    with whole_file(path) as beside, beside.open("wb") as file:
        file.write(data)


def append_line(path: Path, line: str, cure: str) -> None:
    """A line more in a file that is there, whole or not at all; what is not Unicode is written as an escape.

    Args:
        path: The file. If a crash cut off its last line, that gets its end first.
        line: Without its end.
        cure: Added to the error.

    Raises:
        UnreadableFile: if it cannot be written.
    """
    data = (line + "\n").encode("utf-8", "backslashreplace")
    try:
        with path.open("r+b", buffering=0) as file:
            end = file.seek(0, os.SEEK_END)
            if end:
                file.seek(-1, os.SEEK_END)
                data = data if file.read(1) == b"\n" else b"\n" + data
            try:
                while data:
                    data = data[file.write(data) :]
            except OSError:
                file.truncate(end)
                raise
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be written: {why(error)}. {cure}") from error


def write_json(path: str | os.PathLike[str], data: Any) -> None:
    """Write a report as JSON, whole or not at all; a number that is not finite is an error of ours."""
    write_atomically(Path(path), json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def json_value(value: Any) -> Any:
    """The value as JSON has it: lists for arrays, null for what is not finite, text for what JSON does not know."""
    if isinstance(value, dict):
        return {str(k): json_value(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [json_value(v) for v in value]
    if hasattr(value, "tolist"):
        return json_value(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def cache_folder() -> Path:
    """Where this user's programs keep what they can make again; RuntimeError where nobody has a home."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """An empty file beside `path` to write to; it takes the place of `path` when the block ends without an error.

    A link is followed: the file it points to is replaced, the link stays. A device or pipe is written to as it is.
    A replaced file keeps its permissions, a new one gets those of the user's mask.

    Raises:
        UnreadableFile: if it cannot be written: no folder, no permission, no space, a name too long, …
    """
    path = Path(path)
    beside = None
    try:
        if "\0" in str(path):
            raise OSError(errno.EINVAL, "its name holds a zero byte")
        target = Path(os.path.realpath(path))  # follows links, even one that leads nowhere yet
        if target.is_symlink():
            raise OSError(errno.ELOOP, "Too many links")
        mode = target.stat().st_mode if target.exists() else None
        if mode is not None and stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "Is a directory")
        if mode is not None and not stat.S_ISREG(mode):
            yield target
            return
        beside = _new_file_beside(target)
        yield beside
        if mode is not None:
            beside.chmod(stat.S_IMODE(mode))
        if (waiting := _WAITING.get()) is not None:
            waiting.files.append((beside, target))
        else:
            os.replace(beside, target)
        beside = None
    except OSError as error:
        if isinstance(error, PoiseError):
            raise
        raise UnreadableFile(f"{path} cannot be written: {why(error)}.") from error
    finally:
        if beside is not None:
            with suppress(OSError):
                beside.unlink()


@dataclass
class _Waiting:
    """What an `all_or_none` holds: files that wait to be put in place, each with its target, and folders it made."""

    files: list[tuple[Path, Path]] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)

    def put_in_place(self) -> None:
        """Each file takes the place of its target; where one cannot, all targets are again what they were.

        What stood at a target is kept as a second name of the same file until all are in place. A file system without
        hard links cannot: what was replaced there before the failure stays replaced.
        """
        done: list[tuple[Path, Path, bool]] = []  # the second name, the target, whether something stood there
        beside = target = Path()
        try:
            for beside, target in self.files:
                second, stood = _name_beside(target), target.exists()
                done.append((second, target, stood))
                if stood and len(self.files) > 1:
                    with suppress(OSError):
                        os.link(target, second)
                os.replace(beside, target)
        except BaseException as error:
            if beside.exists() and done:  # the last one still waits
                done[-1][0].unlink(missing_ok=True)
                done.pop()
            for second, place, stood in reversed(done):
                with suppress(OSError):
                    if second.exists():
                        os.replace(second, place)
                    elif not stood:
                        place.unlink()
            self.discard()
            if isinstance(error, OSError):
                raise UnreadableFile(f"{target} cannot be written: {why(error)}.") from error
            raise
        for second, _, _ in done:
            second.unlink(missing_ok=True)
        self.files = []

    def discard(self) -> None:
        for beside, _ in self.files:
            with suppress(OSError):
                beside.unlink()
        for folder in reversed(self.folders):
            with suppress(OSError):  # something is in it
                folder.rmdir()
        self.files, self.folders = [], []


_WAITING: ContextVar[_Waiting | None] = ContextVar("files that wait for the others", default=None)


@contextmanager
def all_or_none() -> Iterator[None]:
    """Files written inside appear together at the end, or none if one fails; an interrupt keeps those that are whole.

    Folders that `make_folder` made inside go again with them. Inside another `all_or_none`, all wait for its end. If
    one cannot be put in its place, files that were already replaced get their old content back, except on file systems
    without hard links; if the process is killed in that instant, some are new and some are old.

    Raises:
        UnreadableFile: if one of them cannot be put in its place.
    """
    waiting, outer = _Waiting(), _WAITING.get()
    before = _WAITING.set(waiting)
    try:
        yield
    except Exception:
        waiting.discard()
        raise
    finally:
        _WAITING.reset(before)
        if outer is None:
            waiting.put_in_place()
        else:
            outer.files += waiting.files
            outer.folders += waiting.folders


def make_folder(folder: Path) -> None:
    """A folder for new files, and those above it where they are missing; one that is there is left as it is.

    Raises:
        UnreadableFile: if it cannot be made, or a file has its name.
    """
    folder = Path(folder)
    new: list[Path] = []
    try:
        for path in (*reversed(folder.parents), folder):
            if not path.is_dir():
                path.mkdir(exist_ok=True)
                new.append(path)
    except (OSError, ValueError) as error:
        _Waiting(folders=new).discard()
        raise UnreadableFile(f"{folder} cannot be made: {why(error)}. Name another folder.") from error
    if (waiting := _WAITING.get()) is not None:
        waiting.folders += new


def why(error: Exception) -> str:
    """What the system says about a file, without its number, name and last period."""
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return _CURES.get(getattr(error, "errno", None) or 0, said.rstrip("."))


_CURES = {
    errno.ENOENT: "its folder does not exist; create it first",
    errno.ENOSPC: "the disk is full; free some space",
    errno.EDQUOT: "the quota on this disk is used up; free some space",
    errno.EACCES: "permission denied; choose another folder",
    errno.EROFS: "the folder is read-only; choose another one",
    errno.ENAMETOOLONG: "its name is too long; give a shorter one",
    errno.ENOTDIR: "part of its path is a file, not a folder",
    errno.EEXIST: "a file has its name",
    errno.EISDIR: "it is a folder; name a file in it",
    errno.ELOOP: "it is a link that leads back to itself",
}


def _name_beside(target: Path) -> Path:
    """A name in the target's folder that nothing has: short, hidden, and ending as the target's does."""
    return target.parent / f".poise-{secrets.token_hex(6)}.part{target.suffix[:8]}"


def _new_file_beside(target: Path) -> Path:
    """A new, empty file in the target's folder."""
    while True:
        beside = _name_beside(target)
        try:
            os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
            return beside
        except FileExistsError:
            continue


MAX_VALUES = 2_500_000
"""Most values of one text; each takes up to a hundred bytes once parsed."""

_LARGE = re.compile(r"[eE]\+?\d{3}|\d{300}")
"""What a number too large for a float is written with; a text without it needs no check of each number."""


def parse_json(path: Path | str, text: str) -> Any:
    """Content of a JSON text.

    Raises:
        FileFormatError: with line and column where there is one, if it is not JSON, repeats a key of one object,
            holds NaN, Infinity or a number too large, is nested too deeply, or has more values than any motion needs.
    """
    if not text.strip():
        raise FileFormatError("The file is empty.", path=path, line=1, cure="Get it again from its source.")
    values = text.count(",") + text.count("[") + text.count("{")
    if values > MAX_VALUES:
        raise FileFormatError(
            f"The JSON has about {values} values; at most {MAX_VALUES} are read.",
            path=path,
            cure="Cut it into shorter clips.",
        )
    try:
        number = _finite if _LARGE.search(text) else None
        return json.loads(text, parse_constant=_refuse, parse_float=number, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        lines = error.doc.splitlines()
        seen = lines[error.lineno - 1].strip() if error.lineno <= len(lines) else None
        raise FileFormatError(
            f"This is not JSON: {error.msg}.",
            path=path,
            line=error.lineno,
            column=error.colno,
            text=seen,
            cure="It may be cut off: get it again.",
        ) from None
    except RecursionError:
        raise FileFormatError("The JSON is nested too deeply.", path=path, cure="Check what file this is.") from None
    except ValueError as error:
        raise FileFormatError(f"This JSON is not usable: {error}.", path=path, cure="Mend that place.") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"it holds {constant}, which is not a finite number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"it holds {text[:40]}, which is too large")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [k for k, _ in pairs]
        twice = next(n for i, n in enumerate(names) if n in set(names[:i]))
        raise ValueError(f"key {twice!r} appears twice in one object")
    return found


MAX_TEXT = 2_000_000
"""Longest text that is parsed [characters]."""

MAX_DEPTH = 32
"""Most parts of a dotted key. The parser takes time and memory by the square of their number."""

_KEY_PART = re.compile(r"[^\n=,{}\[\]#]*[^\s=,{}\[\]#][^\n=,{}\[\]#]*")


def quoted(text: str) -> str:
    """A text as a TOML string, in quotes."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def parse_toml(text: str, path: object) -> dict[str, Any]:
    """The tables of a TOML text; `path` is what errors call it.

    Raises:
        FileFormatError: if it is not TOML, with line, column and the line's text; if it is too long or nested too deep.
    """
    if len(text) > MAX_TEXT:
        raise FileFormatError(f"The text has {len(text)} characters; at most {MAX_TEXT} are read.", path=path)
    _check_depth(text, path)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"line (\d+), column (\d+)", str(error))
        line, column = (int(place.group(1)), int(place.group(2))) if place else (None, None)
        lines = text.splitlines()
        shown = lines[line - 1] if line is not None and line <= len(lines) else None
        problem = f"This is not TOML: {re.sub(r' [(]at .*[)]$', '', str(error))}."
        raise FileFormatError(problem, path=path, line=line, column=column, text=shown) from error
    except RecursionError as error:
        raise FileFormatError("Its tables are nested too deep.", path=path) from error
    except ValueError as error:  # a whole number of thousands of digits
        raise FileFormatError(f"A value cannot be used: {error}.", path=path) from error


def _check_depth(text: str, path: object) -> None:
    """Refuse keys of very many parts before they are parsed."""
    line, parts = 1, 1
    for part in text.split("."):
        parts = parts + 1 if _KEY_PART.fullmatch(part) else 1
        line += part.count("\n")
        if parts > MAX_DEPTH:
            raise FileFormatError(
                f"A key has more than {MAX_DEPTH} parts.", path=path, line=line, cure="Use shorter keys."
            )
