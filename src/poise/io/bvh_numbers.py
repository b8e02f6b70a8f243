"""Many decimal numbers at once: NumPy arithmetic on their letters, about twice as fast as reading them one by one."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_TEN = 10.0 ** np.arange(16)
_EXACT_DIGITS = 15


def parse_numbers(text: bytes) -> Array | None:
    """All numbers of a text, separated by blanks and line ends; None if some word is no number.

    Plain decimals ("-12.3456") of up to 15 digits are whole numbers over a power of ten; both are exact in double
    precision, so the quotient is rounded as correctly as by `float`. A text with any other number (exponents, more
    digits) goes to NumPy's own reader. That one takes "1-2" for two numbers: the caller counts.
    """
    if b"e" not in text and b"E" not in text:
        values = _plain(np.frombuffer(text, dtype=np.uint8))
        if values is not None:
            return values
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromstring(text, dtype=np.float64, sep=" ")  # pyright: ignore[reportDeprecated]
        except (ValueError, DeprecationWarning):
            return None


def _plain(letters: npt.NDArray[np.uint8]) -> Array | None:
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
