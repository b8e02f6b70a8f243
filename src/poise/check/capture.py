"""What capture and export leave behind: flips, jumps, spikes, frozen frames, rest poses."""

from __future__ import annotations

import math
from collections.abc import Iterator

from poise.analysis.analyze import Analysis
from poise.check.finding import Cure, Finding
from poise.check.profile import Profile
from poise.check.words import length_words
from poise.phases.glitches import Glitch


def capture_findings(clip: Analysis, profile: Profile) -> Iterator[Finding]:
    """One finding per joint and kind of glitch."""
    limit = profile["glitch"]
    if not limit.is_checked or limit.allows(float(len(clip.glitches))):
        return
    by_joint: dict[tuple[str, int], list[Glitch]] = {}
    for glitch in clip.glitches:
        by_joint.setdefault((glitch.kind, glitch.joint), []).append(glitch)
    # a hip and a knee that flip in the same frames are one fault
    groups: dict[tuple[str, tuple[int, ...]], list[list[Glitch]]] = {}
    for (kind, _), found in by_joint.items():
        groups.setdefault((kind, tuple(g.frame for g in found)), []).append(found)
    names = clip.motion.skeleton.names
    for (kind, _), joints in groups.items():
        found = max(joints, key=lambda each: max(g.size for g in each))
        others = [names[each[0].joint] for each in joints if each is not found]
        name = names[found[0].joint]
        also = f" (and {', '.join(others)})" if others else ""
        yield Finding(
            "glitch", float(sum(len(each) for each in joints)), limit.most, tuple((g.frame, g.last) for g in found),
            _sentence(kind, name + also, found, found[0].joint in clip.motion.skeleton.translating),
            (_cure(clip, kind, name + also, found),), name, limit.fails,
        )  # fmt: skip


def _sentence(kind: str, name: str, found: list[Glitch], moves: bool) -> str:
    worst = max(found, key=lambda g: g.size)
    more = f", and {_count(len(found) - 1, 'more time')}" if len(found) > 1 else ""
    between = f"between frames {worst.frame} and {worst.last}"
    if kind == "flip":
        return f"{name} flips by {math.degrees(worst.size):.0f}° {between}{more}"
    if kind == "jump":
        return f"{name} jumps {length_words(worst.size)} {between}{more}"
    if kind == "spike":
        size = length_words(worst.size) if moves and worst.size < 1.0 else f"{math.degrees(worst.size):.0f}°"
        place = f"at frame {worst.frame}" if worst.last == worst.frame else f"in frames {worst.frame}–{worst.last}"
        return f"{name} spikes by {size} {place}{more}"
    if kind == "frozen":
        return f"All joints stand still for {worst.size:.2f} s in full motion, frames {worst.frame}–{worst.last}{more}"
    frames = "Frame 0 is a rest pose" if worst.last == 0 else f"Frames 0–{worst.last} are a rest pose"
    return f"{frames} put in front of the motion"


def _cure(clip: Analysis, kind: str, name: str, found: list[Glitch]) -> Cure:
    worst = max(found, key=lambda g: g.size)
    others = f", and so at {_count(len(found) - 1, 'other place')}" if len(found) > 1 else ""
    if kind == "t-pose":
        keep = worst.last + 1
        seconds = f"{float(clip.times[min(keep, len(clip.times) - 1)]):.4f}".rstrip("0").rstrip(".")
        return Cure(f"cut it off: begin at frame {keep} (poise convert --start {seconds})", 0.0)
    if kind == "frozen":
        text = f"delete the keys {worst.frame + 1}–{worst.last - 1} of all joints and interpolate{others}"
        return Cure(text, worst.size)
    if kind in ("flip", "jump"):
        what = "turn" if kind == "flip" else "move"
        size = f"{math.degrees(worst.size):.0f}°" if kind == "flip" else length_words(worst.size)
        back = f"{what} {name} back by {size} from frame {worst.last} on"
        return Cure(f"{back}, or blend over it from frame {worst.frame} to {worst.last}{others}", worst.size)
    frames = f"frame {worst.frame}" if worst.last == worst.frame else f"frames {worst.frame}–{worst.last}"
    return Cure(f"delete the keys of {name} at {frames} and interpolate{others}", worst.size)


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'s' if number != 1 else ''}"
