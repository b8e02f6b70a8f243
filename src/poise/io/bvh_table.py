"""The table of numbers of a BVH file, read by NumPy in pieces: first its shape, then its values."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from poise.core.errors import FileFormatError, NoMotion
from poise.core.typing import Array
from poise.io.bvh_document import finite_number
from poise.io.files import MAX_BYTES

CHUNK_BYTES = 1 << 17
LONG_LINE, LONG_WORD = 1 << 19, 64
"""A line longer than this, and than so many bytes for each of its numbers, is not one row."""
LIMIT = 1e15

_ALLOWED = np.zeros(256, dtype=bool)
_ALLOWED[list(b"0123456789+-.eE \t\n\v\f\r")] = True
AGAIN = "Export the clip anew, or get the file again from its source."


def read_table(
    path: Path,
    begin: int,
    first_line: int,
    width: int,
    declared: int,
    frames_from_data: bool,
    require_room: Callable[[int], None],
) -> tuple[Array, bytes, npt.NDArray[np.int64]]:
    """Rows of `width` numbers from byte `begin`, one row a line, or wrapped over lines as their writer liked.

    The whole shape is checked before the first number is kept, so a wrong file costs neither time nor memory.

    Args:
        path: The file.
        begin: Byte of the first row.
        first_line: Its line number.
        width: Numbers in a row.
        declared: Frame count the file declares.
        frames_from_data: Take the rows that are there instead.
        require_room: Raises if so many frames take too much memory.

    Returns:
        The values (F, width), the text of all rows, and where each row begins in it, shape (F + 1,).

    Raises:
        FileFormatError: with line and column, for a row of other length, a word that is not a finite number, or a
            count of rows that is not `declared`.
    """
    try:
        starts = _row_starts(path, begin, first_line, width, declared, frames_from_data)
    except FileFormatError:
        wrapped = _wrapped(path, begin, first_line, width, declared, require_room)
        if wrapped is None:
            raise
        return wrapped
    require_room(len(starts) - 1)
    table = np.empty((len(starts) - 1) * width)
    place = filled = 0
    for line, text in _pieces(path, begin, first_line):
        values = parse_numbers(text)
        first, last = np.searchsorted(starts[:-1], [place if place else -1, place + len(text)])
        if values is None or values.size != width * (last - first) or not (np.abs(values) < LIMIT).all():
            raise _bad_word(path, line, text)
        table[filled : filled + values.size] = values
        filled += values.size
        place += len(text)
    return table.reshape(-1, width), _original(path, begin), starts


def _wrapped(
    path: Path, begin: int, first_line: int, width: int, declared: int, require_room: Callable[[int], None]
) -> tuple[Array, bytes, npt.NDArray[np.int64]] | None:
    """The table of a file that breaks its rows elsewhere than at their ends; None if it does not.

    It must hold exactly as many numbers as its declared frames have. Each number keeps its letters, each row gets a
    line of its own.
    """
    count, wanted = 0, width * declared
    for _, text in _pieces(path, begin, first_line, at_words=True):
        if not _ALLOWED[np.frombuffer(text, dtype=np.uint8)].all():
            return None
        count += len(text.split())
        if count > wanted:
            return None
    if count != wanted or count == 0:
        return None
    require_room(declared)
    table, filled = np.empty(wanted), 0
    rows, starts = bytearray(), [0]
    row: list[bytes] = []  # the words of the row that is not complete yet
    for _, text in _pieces(path, begin, first_line, at_words=True):
        numbers = parse_numbers(text)
        found = text.split()
        if numbers is None or numbers.size != len(found) or not (np.abs(numbers) < LIMIT).all():
            return None
        table[filled : filled + numbers.size] = numbers
        filled += numbers.size
        row += found
        ends = range(width, len(row) + 1, width)
        for end in ends:
            rows += b" ".join(row[end - width : end]) + b"\n"
            starts.append(len(rows))
        row = row[len(ends) * width :]
    return table.reshape(-1, width), bytes(rows), np.array(starts, dtype=np.int64)


def _row_starts(
    path: Path, begin: int, first_line: int, width: int, declared: int, frames_from_data: bool
) -> npt.NDArray[np.int64]:
    """Where each row begins; refuses rows of another length and a wrong count."""
    found: list[npt.NDArray[np.int64]] = []
    place, count, last_line = 0, 0, first_line
    for line, text in _pieces(path, begin, first_line, longest=max(LONG_LINE, LONG_WORD * width)):
        if text.isspace():
            place, last_line = place + len(text), line + text.count(b"\n") - 1
            continue
        letters = np.frombuffer(text, dtype=np.uint8)
        if not _ALLOWED[letters].all():
            raise _bad_word(path, line, text)
        is_blank = letters <= 32
        word_starts = np.flatnonzero(~is_blank & np.concatenate([[True], is_blank[:-1]]))
        ends = np.flatnonzero(letters == 10)
        if not text.endswith(b"\n"):
            ends = np.append(ends, len(text))
        line_starts = np.concatenate([[0], ends[:-1] + 1])
        first_word = np.searchsorted(word_starts, line_starts)
        counts = np.diff(np.append(first_word, len(word_starts)))
        wrong = np.flatnonzero((counts != width) & (counts > 0))
        if wrong.size:
            k = int(wrong[0])
            is_last = not word_starts[word_starts > ends[k]].size and place + len(text) >= path.stat().st_size - begin
            raise _wrong_row(path, line + k, int(counts[k]), width, text[line_starts[k] : ends[k]], is_last)
        rows = np.flatnonzero(counts)
        found.append(line_starts[rows] + place)
        count += rows.size
        place, last_line = place + len(text), line + len(ends) - 1
    if count == 0:
        problem = "There are no frames after the frame time."
        raise NoMotion(problem, path=path, line=first_line, motion="for the motion get the whole file")
    if count != declared and not frames_from_data:
        raise FileFormatError(
            f"The file declares {declared} frames and holds {count} rows.",
            path=path,
            line=last_line,
            cure=f"If the {count} rows are all there should be, give --frames-from-data (frames_from_data=True).",
        )
    starts = np.concatenate([*found, [place]])
    starts[0] = 0
    return starts.astype(np.int64)


def normalized(text: bytes) -> bytes:
    """The text with every line end as one newline, no byte moved: CRLF becomes blank and newline."""
    return text.replace(b"\r\n", b" \n").replace(b"\r", b"\n") if b"\r" in text else text


def _pieces(
    path: Path, begin: int, first_line: int, *, longest: int = MAX_BYTES, at_words: bool = False
) -> Iterator[tuple[int, bytes]]:
    """Pieces of whole lines, or of whole words, with normalized line ends, and the number of their first line.

    Raises:
        FileFormatError: for a line, or a word, of more than `longest` bytes.
    """
    line, rest = first_line, b""
    with path.open("rb") as file:
        file.seek(begin)
        while chunk := file.read(CHUNK_BYTES):
            if chunk.endswith(b"\r"):
                chunk += file.read(1)
            rest += normalized(chunk)
            cut = max(rest.rfind(end) for end in (b"\n \t" if at_words else b"\n")) + 1
            if cut == 0:
                if len(rest) > longest:
                    problem = f"A line of more than {longest} bytes in the table of numbers."
                    raise FileFormatError(problem, path=path, line=line, cure=AGAIN)
                continue
            yield line, rest[:cut]
            line += rest.count(b"\n", 0, cut)
            rest = rest[cut:]
    if rest:
        yield line, rest


def _original(path: Path, begin: int) -> bytes:
    with path.open("rb") as file:
        file.seek(begin)
        return file.read()


def _wrong_row(path: Path, line: int, seen: int, width: int, text: bytes, is_last: bool) -> FileFormatError:
    if is_last and seen < width:
        problem = f"The last row is cut off: {seen} of {width} numbers."
        cure = "The file is incomplete; get the whole of it, or delete the last line."
    else:
        problem = f"A row of {seen} numbers; the hierarchy has {width} channels."
        cure = AGAIN
    return FileFormatError(problem, path=path, line=line, text=text[:120].decode("latin-1").strip(), cure=cure)


def _bad_word(path: Path, first_line: int, text: bytes) -> FileFormatError:
    """The first word of a text that is not a finite number."""
    for k, row in enumerate(text.split(b"\n")):
        column = 1
        for word in row.replace(b"\t", b" ").split(b" "):
            shown = word.strip().decode("latin-1")
            # to Python, not to NumPy, more control characters than those of ASCII's blanks surround a number
            if shown and not (shown.isprintable() and finite_number(shown) is not None):
                cure = "Write a decimal point, not a comma." if b"," in word else AGAIN
                return FileFormatError(
                    "Not a finite number in the table of numbers.",
                    path=path,
                    line=first_line + k,
                    column=column,
                    text=shown[:60],
                    cure=cure,
                )
            column += len(word) + 1
    raise AssertionError("NumPy refused a text in which every word is a number")


# --- many numbers at once --------------------------------------------------------------------------------------

_TEN = 10.0 ** np.arange(16)
_EXACT_DIGITS = 15


def parse_numbers(text: bytes) -> Array | None:
    """All numbers of a text, separated by blanks and line ends; None if some word is not a number.

    Plain decimals ("-12.3456") of up to 15 digits are whole numbers over a power of ten; both are exact in double
    precision, so the quotient is rounded as correctly as by `float`. A text with any other number (exponents, more
    digits) goes to NumPy's own reader. That one takes "1-2" for two numbers: the caller counts.
    """
    if b"e" not in text and b"E" not in text:
        values = _simple_numbers(np.frombuffer(text, dtype=np.uint8))
        if values is not None:
            return values
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromstring(text, dtype=np.float64, sep=" ")  # pyright: ignore[reportDeprecated]
        except (ValueError, DeprecationWarning):
            return None


def _simple_numbers(letters: npt.NDArray[np.uint8]) -> Array | None:
    """Numbers of the form [sign] digits [. digits]; None if a word has another form or more than 15 digits."""
    is_blank = np.concatenate([[True], letters <= 32, [True]])
    edges = np.flatnonzero(is_blank[1:] != is_blank[:-1]).astype(np.int32)
    begins, ends = edges[::2], edges[1::2]
    if begins.size == 0:
        return np.empty(0)
    digit = letters - np.uint8(48)
    is_digit = digit < 10
    digits_so_far = np.cumsum(is_digit, dtype=np.int32)
    last = digits_so_far[ends - 1]
    count = np.diff(last, prepend=0)
    if count.min() < 1 or count.max() > _EXACT_DIGITS:
        return None
    sign = letters[begins]
    dots = np.flatnonzero(letters == 46)
    word = np.searchsorted(begins, dots, side="right") - 1
    length = count + ((sign == 45) | (sign == 43))
    length[word] += 1  # two dots in one word count once, so its length will not fit
    if (length != ends - begins).any():
        return None
    power = np.repeat(last, count) - np.arange(1, digits_so_far[-1] + 1, dtype=np.int32)
    whole = np.add.reduceat(digit[is_digit] * _TEN[power], last - count)
    after = np.zeros(begins.size, dtype=np.int32)
    after[word] = last[word] - digits_so_far[dots]
    values = whole / _TEN[after]
    return np.where(sign == 45, -values, values)
