"""Small pieces of SVG that take their colors from the page's style sheet."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def picture(width: float, height: float, parts: Sequence[str], label: str) -> str:
    """An inline picture of this size in pixels at most, that shrinks with its column."""
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" style="max-width:{width:.0f}px" role="img" '
        f'aria-label="{escape(label, quote=True)}">{"".join(parts)}</svg>'
    )


def line(points: Array, look: str, *, closed: bool = False) -> str:
    """A broken line through points (n, 2) with the style class `look`; NaN lifts the pen."""
    words, pen_up = [], True
    for x, y in points.tolist():
        if x != x or y != y:
            pen_up = True
            continue
        words.append(f"{'M' if pen_up else 'L'}{x:.1f} {y:.1f}")
        pen_up = False
    return f'<path class="{look}" d="{"".join(words)}{"Z" if closed and words else ""}"/>' if words else ""


def dots(points: Array, look: str, radius: float = 1.8) -> str:
    """Dots at points (n, 2)."""
    # zero-length strokes with round caps: a tenth of the bytes of circles
    words = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in points.tolist() if x == x and y == y)
    return f'<path class="dots {look}" stroke-width="{2.0 * radius:.1f}" d="{words}"/>' if words else ""


def text(x: float, y: float, words: str, look: str = "soft", anchor: str = "start") -> str:
    """Words at a place, escaped."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{look}" text-anchor="{anchor}">{escape(words)}</text>'


def rectangle(x: float, y: float, width: float, height: float, look: str, title: str = "") -> str:
    """A rectangle; a title shows under the pointer."""
    inner = f"<title>{escape(title)}</title>" if title else ""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="{look}">{inner}</rect>'


def round_step(span: float, count: int) -> float:
    """A round number that divides a span into about so many parts: 1, 2 or 5 × 10ⁿ."""
    rough = max(span, 1e-9) / count
    ten = 10.0 ** np.floor(np.log10(rough))
    return float(next(m * ten for m in (1.0, 2.0, 5.0, 10.0) if rough <= m * ten * (1.0 + 1e-9)))
