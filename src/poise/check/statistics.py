"""Statistics of a library: the figures and the table of [ShapiroLee2011]_ for clips of one's own, as SVG and CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

from poise.check.library import Samples
from poise.core.typing import Array, Flags, Index
from poise.io.files import all_or_none, make_folder, write_atomically

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
    counts: Index
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
    """A figure of its own: percent of all values in each bin; values beyond the ends are counted in the corner."""
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
    step = _round_step(high - low, 5)
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
    note = "; ".join([f"{bins.total} values", *beyond])
    parts.append(f'<text x="{WIDTH - RIGHT}" y="34" class="soft" text-anchor="end">{note}</text></svg>')
    return "".join(parts)


def _round_step(span: float, count: int) -> float:
    """A round number that divides a span into about so many parts: 1, 2 or 5 × 10ⁿ."""
    rough = max(span, 1e-9) / count
    ten = 10.0 ** np.floor(np.log10(rough))
    return float(next(m * ten for m in (1.0, 2.0, 5.0, 10.0) if rough <= m * ten * (1.0 + 1e-9)))


def _round_up(value: float) -> float:
    """The next number of the kind 1, 2, 4, 5, 8 × 10ⁿ: its quarters read well."""
    if value <= 0.0:
        return 1.0
    ten = 10.0 ** math.floor(math.log10(value))
    return next(m * ten for m in (1.0, 2.0, 4.0, 6.0, 8.0, 10.0) if value <= m * ten * (1.0 + 1e-12))


def _number(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")


PAPER_GRAVITY = (1.02, 0.89, 2.20, 0.47, 0.50, 1.52, 1.41, 0.77, 3.35, 1.81, 0.43, 0.56, 2.51)
"""Table 1 of [ShapiroLee2011]_: implied gravity of thirteen scenes by professional animators [g]."""

PAPER_SHARES = {
    "track error below 0.1": 90.0,
    "walk: COP inside the support": 60.0,
    "walk: COP within one radius": 85.0,
    "run: COP inside the support": 33.0,
    "run: COP within one radius": 70.0,
}
"""Percent of frames in [ShapiroLee2011]_: "more than" for the first two, as printed."""


FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""A text that begins so would be a formula in a spreadsheet: clip names come from others."""


@dataclass(frozen=True)
class Figure:
    """One histogram of the paper, of other clips.

    Attributes:
        key: File name without ending, such as "figure_6a".
        title, across: What is shown, and along which axis.
        values: All values, NaN where undefined.
        clips: The clip each value is from.
        bins: Their histogram.
        marks: Where limits are.
    """

    key: str
    title: str
    across: str
    values: Array
    clips: tuple[str, ...]
    bins: Bins
    marks: tuple[float, ...]


def figures(samples: Sequence[tuple[str, Samples]]) -> tuple[Figure, ...]:
    """The paper's eight histograms.

    Args:
        samples: Name and samples of each clip.

    Source: [ShapiroLee2011]_ figures 6a-f and 7a-b. Deviates: the paper's x and z are world axes of its scenes; here
    they are along and across each flight's ground track, so that turning the world changes nothing, and its y is up.
    The mean angular momentum of a plain jump is near zero; frames of such a flight are left out (and counted in the
    CSV) instead of divided by it.
    """
    samples = _counted(samples)
    flights = [(name, f) for name, s in samples for f in s.flights]

    def gather(pick: str, column: int | None = None) -> tuple[Array, tuple[str, ...]]:
        columns = [getattr(f, pick) if column is None else getattr(f, pick)[:, column] for _, f in flights]
        names = tuple(name for (name, _), values in zip(flights, columns) for _ in values)
        return (np.concatenate(columns) if columns else np.zeros(0)), names

    def cop(gait: str) -> tuple[Array, tuple[str, ...]]:
        chosen = [(name, s.cop) for name, s in samples if s.gait == gait]
        values = np.concatenate([v for _, v in chosen]) if chosen else np.zeros(0)
        return values, tuple(name for name, v in chosen for _ in v)

    relative = "(p − mean) / |mean|"
    plan = [
        (
            "figure_6a",
            "Center of mass off the ground line",
            "distance / length of the line",
            gather("track"),
            (0.0, 0.5, 25),
            (0.1,),
        ),
        ("figure_6b", "Linear momentum along the flight", relative, gather("linear", 0), (-1.0, 1.0, 40), (0.0,)),
        ("figure_6c", "Linear momentum across the flight", relative, gather("linear", 1), (-1.0, 1.0, 40), (0.0,)),
        (
            "figure_6d",
            "Angular momentum about the line of flight",
            relative,
            gather("angular", 0),
            (-4.0, 4.0, 40),
            (0.0,),
        ),
        ("figure_6e", "Angular momentum about the vertical", relative, gather("angular", 1), (-4.0, 4.0, 40), (0.0,)),
        ("figure_6f", "Angular momentum about the side axis", relative, gather("angular", 2), (-4.0, 4.0, 40), (0.0,)),
        (
            "figure_7a",
            "Walking: COP to the support polygon",
            "distance / radius, inside < 0",
            cop("walk"),
            (-1.0, 4.0, 50),
            (0.0, 1.0),
        ),
        (
            "figure_7b",
            "Running: COP to the support polygon",
            "distance / radius, inside < 0",
            cop("run"),
            (-1.0, 4.0, 50),
            (0.0, 1.0),
        ),
    ]
    return tuple(
        Figure(key, title, across, values, names, bins_of(values, *span), marks)
        for key, title, across, (values, names), span, marks in plan
    )


def _counted(samples: Sequence[tuple[str, Samples]]) -> list[tuple[str, Samples]]:
    """Those whose time can be trusted."""
    return [(name, s) for name, s in samples if s.is_counted]


def quoted(samples: Sequence[tuple[str, Samples]]) -> list[tuple[str, float, float | None]]:
    """The paper's quoted numbers: name, value here (NaN where nothing tells), and the paper's or None."""
    samples = _counted(samples)
    by_key = {f.key: f.values[np.isfinite(f.values)] for f in figures(samples)}
    gravities = np.array([f.gravity for _, s in samples for f in s.flights if f.is_clear])
    frames = sum(s.frames for _, s in samples)

    def share(flags: Flags) -> float:
        return 100.0 * float(flags.mean()) if len(flags) else float("nan")

    walk, run = by_key["figure_7a"], by_key["figure_7b"]
    values = {
        "track error below 0.1": share(by_key["figure_6a"] < 0.1),
        "walk: COP inside the support": share(walk <= 0.0),
        "walk: COP within one radius": share(walk <= 1.0),
        "run: COP inside the support": share(run <= 0.0),
        "run: COP within one radius": share(run <= 1.0),
    }
    rows: list[tuple[str, float, float | None]] = [
        (f"{k} [% of frames]", v, PAPER_SHARES[k]) for k, v in values.items()
    ]
    paper = np.array(PAPER_GRAVITY)
    for word, reduce in (("median", np.median), ("smallest", np.min), ("largest", np.max)):
        mine = float(reduce(gravities)) if len(gravities) else float("nan")
        rows.append((f"{word} implied gravity [g]", mine, float(reduce(paper))))
    rows += [
        ("flights that tell their gravity", float(len(gravities)), 13.0),
        ("frames in flight", float(sum(s.flight_frames for _, s in samples)), 150.0),
        ("clips classed walk", float(sum(s.gait == "walk" for _, s in samples)), 5.0),
        ("clips classed run", float(sum(s.gait == "run" for _, s in samples)), 5.0),
        ("clips with flight [%]", share(np.array([bool(s.flights) for _, s in samples])), None),
        (
            "frames in flight [%]",
            100.0 * sum(s.flight_frames for _, s in samples) / frames if frames else float("nan"),
            None,
        ),
    ]
    return rows


def write_statistics(folder: Path, samples: Sequence[tuple[str, Samples]]) -> list[Path]:
    """Write all figures (SVG, and CSV of every value), table 1 and the quoted numbers (CSV) into a folder.

    Raises:
        UnreadableFile: if the folder cannot be made or written.
    """
    written: dict[str, bytes] = {}
    for figure in figures(samples):
        drawn = histogram_svg(figure.bins, title=figure.title, across=figure.across, marks=figure.marks)
        written[f"{figure.key}.svg"] = drawn.encode()
        rows = [
            [a, b, c, 100.0 * c / max(1, figure.bins.total)]
            for a, b, c in zip(figure.bins.edges[:-1], figure.bins.edges[1:], figure.bins.counts)
        ]
        written[f"{figure.key}.csv"] = table(["from", "to", "frames", "percent"], rows)
        values = [[name, value] for name, value in zip(figure.clips, figure.values)]
        written[f"{figure.key}_values.csv"] = table(["clip", "value"], values)
    flights = [
        [name, *f.frames, f.frames[1] - f.frames[0] + 1, f.gravity, f.uncertainty, "yes" if f.is_clear else "no"]
        for name, s in _counted(samples)
        for f in s.flights
    ]
    columns = ["clip", "first_frame", "last_frame", "frames", "gravity_g", "uncertainty_g", "clear"]
    written["table_1.csv"] = table(columns, flights)
    written["quoted.csv"] = table(["what", "these clips", "Shapiro & Lee 2011"], [list(r) for r in quoted(samples)])
    gaits = [
        [name, s.gait, s.frames, s.flight_frames, len(s.flights), "yes" if s.is_counted else "no: frame rate"]
        for name, s in samples
    ]
    written["clips.csv"] = table(["clip", "gait", "frames", "frames_in_flight", "flights", "counted"], gaits)
    known = [(name, s.gait_measures) for name, s in _counted(samples) if s.gait_measures.get("strides")]
    fields = list(known[0][1]) if known else ["kind"]
    written["gaits.csv"] = table(["clip", *fields], [[name, *(m[f] for f in fields)] for name, m in known])
    with all_or_none():
        make_folder(folder)
        for name, data in written.items():
            write_atomically(folder / name, data)
    return [folder / name for name in written]


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> bytes:
    """A CSV file with a header; numbers to six digits, what is undefined as an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([_cell(value) for value in row])
    return text.getvalue().encode("utf-8", "replace")


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, (float, np.floating)):
        return f"{value:.6g}" if np.isfinite(value) else ""
    text = str(value)
    return f"'{text}" if text[:1] in FORMULAS else text
