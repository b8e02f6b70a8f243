"""Histograms as SVG, drawn by hand: bars, axes, a line where a limit is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import numpy.typing as npt

from poise.check.page.svg import round_step

Array = npt.NDArray[np.float64]

WIDTH, HEIGHT = 420, 280
LEFT, RIGHT, TOP, BOTTOM = 52, 16, 40, 52
STYLE = (
    "<style>.ink{fill:#23262b}.soft{fill:#5d646e}.line{stroke:#9aa1ab}.bar{fill:#3f74b5}.mark{stroke:#c2410c}"
    "@media (prefers-color-scheme:dark){.ink{fill:#e6e8eb}.soft{fill:#a3abb5}.line{stroke:#59616b}"
    ".bar{fill:#7aa7e0}.mark{stroke:#fb923c}}</style>"
)


@dataclass(frozen=True)
class Bins:
    """A histogram: the edges of B bins, the count in each, and how many values lie beyond the last ones."""

    edges: Array
    counts: npt.NDArray[np.int64]
    below: int
    above: int

    @property
    def total(self) -> int:
        """How many values there are, those beyond the ends too."""
        return int(self.counts.sum()) + self.below + self.above


def bins_of(values: Array, low: float, high: float, count: int) -> Bins:
    """The finite values (n,) in `count` bins from `low` to `high`; those beyond are counted apart."""
    values = values[np.isfinite(values)]
    edges = np.linspace(low, high, count + 1)
    return Bins(
        edges, np.histogram(values, edges)[0].astype(np.int64), int((values < low).sum()), int((values > high).sum())
    )


def histogram_svg(
    bins: Bins, *, title: str, across: str, upwards: str = "share of frames [%]", marks: Sequence[float] = ()
) -> str:
    """A figure of its own: percent of all values in each bin; values beyond the ends are told in the corner."""
    share = 100.0 * bins.counts / max(1, bins.total)
    top = _round_up(float(share.max(initial=0.0)))
    low, high = float(bins.edges[0]), float(bins.edges[-1])

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - low) / (high - low)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'font-family="system-ui,sans-serif" font-size="11" role="img" aria-label="{escape(title, quote=True)}">',
        STYLE,
        f'<text x="{LEFT}" y="20" class="ink" font-size="13" font-weight="600">{escape(title)}</text>',
    ]
    for k in range(5):
        value = top * k / 4
        parts.append(f'<path d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}" class="line" stroke-width=".5"/>')
        parts.append(
            f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" class="soft" text-anchor="end">{_number(value)}</text>'
        )
    for a, b, height in zip(bins.edges[:-1], bins.edges[1:], share):
        if height > 0.0:
            width = max(0.5, x(float(b)) - x(float(a)) - 1.0)
            parts.append(
                f'<rect class="bar" x="{x(float(a)) + 0.5:.1f}" y="{y(float(height)):.1f}" width="{width:.1f}" '
                f'height="{HEIGHT - BOTTOM - y(float(height)):.1f}"/>'
            )
    for mark in marks:
        parts.append(
            f'<path d="M{x(mark):.1f} {TOP}V{HEIGHT - BOTTOM}" class="mark" stroke-width="1.2" stroke-dasharray="4 3"/>'
        )
    step = round_step(high - low, 5)
    for value in np.arange(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1) * step:
        parts.append(
            f'<text x="{x(float(value)):.1f}" y="{HEIGHT - BOTTOM + 16}" class="soft" text-anchor="middle">'
            f"{_number(float(value))}</text>"
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(
        f'<text x="{middle}" y="{HEIGHT - 12}" class="ink" text-anchor="middle">{escape(across)}</text>'
        f'<text transform="translate(14 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" class="ink" text-anchor="middle">'
        f"{escape(upwards)}</text>"
    )
    beyond = [f"{bins.below} below {_number(low)}"] * bool(bins.below)
    beyond += [f"{bins.above} above {_number(high)}"] * bool(bins.above)
    told = "; ".join([f"{bins.total} values", *beyond])
    parts.append(f'<text x="{WIDTH - RIGHT}" y="34" class="soft" text-anchor="end">{told}</text></svg>')
    return "".join(parts)


def _round_up(value: float) -> float:
    """The next number of the kind 1, 2, 4, 5, 8 × 10ⁿ: its quarters read well."""
    if value <= 0.0:
        return 1.0
    ten = 10.0 ** math.floor(math.log10(value))
    return next(m * ten for m in (1.0, 2.0, 4.0, 6.0, 8.0, 10.0) if value <= m * ten * (1.0 + 1e-12))


def _number(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")
