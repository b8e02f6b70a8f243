"""Unit, up axis and ground in a BVH file that Poise wrote: blanks and tabs after the frame time.

BVH has no place for them, and whoever reads it must guess. Every reader skips blanks at the end of a line, so there
they say it to Poise alone: eight a letter, a blank for 0 and a tab for 1, of a text such as "y0.01". The ground that
a clip was made for follows after a semicolon.
"""

from __future__ import annotations

import re
from dataclasses import replace

from poise.core.motion import Evidence, Ground
from poise.io.format import ReadOptions
from poise.io.ground_note import ground_of_text, ground_text

_TEXT = re.compile(r"(-?[xyz])(\d[\d.e+-]*)(;\{.*\})?")
_TIME = re.compile(r"Frame\s*Time\s*:[ \t]*\S+(?P<mark>[ \t]*)", re.IGNORECASE)
MOST_BLANKS = 8 * 500
"""More blanks are no mark."""
WRITTEN = Evidence(None, 1.0, "Poise wrote the file and noted it there")


def marked(head: str, unit: float, up: str, ground: Ground | None = None) -> str:
    """The head of a BVH file, from MOTION to its first row, with the mark after the frame time."""
    under = ground_text(ground)
    bits = "".join(f"{ord(letter):08b}" for letter in f"{up}{unit!r}{';' if under else ''}{under}")
    return _TIME.sub(lambda m: m[0][: m.start("mark") - m.start()] + bits.replace("0", " ").replace("1", "\t"), head, 1)


def read_mark(head: str) -> tuple[float, str] | None:
    """Unit [m] and up axis that the head of a file notes, or None."""
    found = _TEXT.fullmatch(_text(head))
    try:
        unit = float(found.group(2)) if found else 0.0
    except ValueError:
        return None
    return (unit, found.group(1)) if found and 1e-9 < unit < 1e9 else None


def read_ground(head: str) -> Ground | None:
    """The ground that the head of a file notes, or None."""
    found = _TEXT.fullmatch(_text(head))
    return ground_of_text(found.group(3)[1:]) if found and found.group(3) else None


def _text(head: str) -> str:
    """What the blanks after the frame time say."""
    found = _TIME.search(head)
    bits = (found["mark"] if found else "").replace(" ", "0").replace("\t", "1")[:MOST_BLANKS]
    return "".join(chr(int(bits[k : k + 8], 2)) for k in range(0, len(bits) - 7, 8))


def with_mark(options: ReadOptions, head: str) -> tuple[ReadOptions, dict[str, Evidence]]:
    """The options with what the file notes where the caller said nothing, and the evidence for that."""
    note = read_mark(head)
    if note is None:
        return options, {}
    noted = {"unit": note[0], "up": note[1]}
    found = {k: replace(WRITTEN, value=v) for k, v in noted.items() if getattr(options, k) is None}
    return replace(options, unit=options.unit or note[0], up=options.up or note[1]), found
