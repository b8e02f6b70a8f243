"""What an edit did, in a few lines a person reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from poise.cli.app import out


@dataclass(frozen=True)
class Words:
    """How a number of a report is said.

    Attributes:
        name: What it is.
        unit: What is printed after it.
        factor: From the report's unit to the printed one.
        is_count: Whole, and printed so.
    """

    name: str
    unit: str
    factor: float = 1.0
    is_count: bool = False

    def number(self, value: float | None) -> str:
        """The value without its unit; – where there is none."""
        if value is None:
            return "–"
        if self.is_count:
            return f"{value:.0f}"
        value *= self.factor
        size = abs(value)
        return "0" if size < 1e-9 else f"{value:.3g}" if size < 1000.0 else f"{value:.0f}"

    def line(self, before: float | None, after: float | None) -> str:
        """What it was and what it is."""
        unit = self.unit if self.unit in ("", "°") else f" {self.unit}"
        return f"{self.name} {self.number(before)} → {self.number(after)}{unit}"


MEASURES = {
    "duration_s": Words("Duration", "s"),
    "frames": Words("Frames", "", is_count=True),
    "height_m": Words("Height", "m"),
    "skating_ratio": Words("Frames in which a foot skates", "%", 100.0),
    "foot_slide_mm_per_frame": Words("Standing feet slide", "mm a frame"),
    "penetration_max_m": Words("Deepest point in the floor", "cm", 100.0),
    "float_max_m": Words("Largest gap under what stands", "cm", 100.0),
    "contact_frames": Words("Frames with a foot on the floor", "", is_count=True),
    "force_rms": Words("Force that contacts cannot give", "% of the weight", 100.0),
    "moment_rms_Nm": Words("Moment that contacts cannot give", "N m for 70 kg"),
    "stance_slip_rms_m": Words("Standing points stray by", "mm", 1000.0),
}
"""Measures of a whole clip, by their names in the report."""
UNTOLD = ("skating_ratio",)
"""Only in the report: it counts every low foot that moves, and `poise check` only feet that stand."""
FLIGHT = {
    "gravity_g": Words("gravity", "g"),
    "path_error_max_m": Words("off its path", "cm", 100.0),
    "rise_m": Words("rise", "cm", 100.0),
    "turn_off_steady_max_deg": Words("off steady spin", "°"),
    "angular_momentum_spread_kg_m2_s": Words("angular momentum varies by", "kg m²/s"),
}
"""The same of a flight."""


def summarize(output: Path, data: dict[str, Any]) -> None:
    """Print what happened.

    Args:
        output: The file that was written.
        data: The report, `poise.edit/1`.
    """
    for line in lines(output, data):
        out().print(line, markup=False)


def lines(output: Path, data: dict[str, Any]) -> list[str]:
    """What happened, line by line."""
    said = [f"{output}: {data['frames']} frames, {data['duration_s']:.4g} s", _changed(data["changed"])]
    said += [_flight(b, a) for b, a in zip(data["before"].get("flights", []), data["after"].get("flights", []))]
    for key, words in MEASURES.items():
        before, after = data["before"].get(key), data["after"].get(key)
        if key not in UNTOLD and before is not None and words.number(before) != words.number(after):
            said.append(words.line(before, after))
    return [*said, *data["notes"]]


def _changed(changed: dict[str, Any]) -> str:
    """How far joints, root, size and time went from what they were."""
    parts: list[str] = []
    if changed["joint"]:
        parts.append(f"joints up to {changed['joint_angle_max_deg']:.2f}° ({changed['joint']})")
    if changed["root_position_max_m"]:
        far = changed["root_position_max_m"]
        parts.append(f"root up to {far:.2f} m" if far >= 1.0 else f"root up to {100 * far:.2f} cm")
    size, time = changed.get("size", 1.0), changed.get("time_max_s", 0.0)
    if size != 1.0:
        parts.append(f"size {size:.4g} ×")
    if time:
        parts.append(f"moments shifted by up to {abs(time):.3g} s")
    if not parts:
        return "Nothing was changed."
    if not changed["joint"] and not changed["root_position_max_m"]:
        return f"Poses stay as they were: {', '.join(parts)}"
    return f"Changed {changed['frames']} frame{'s' * (changed['frames'] != 1)}: {', '.join(parts)}"


def _flight(before: dict[str, Any], after: dict[str, Any]) -> str:
    said = [f"Flight {before['frames'][0]}:{before['frames'][1]}"]
    if after["frames"] != before["frames"]:
        said.append(f"now {after['frames'][0]}:{after['frames'][1]}")
    said += [words.line(before[key], after[key]) for key, words in FLIGHT.items() if key in before]
    return ", ".join(said)
