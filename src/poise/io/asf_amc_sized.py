"""An ASF skeleton of another size: the same text with other lengths."""

from __future__ import annotations

import re
from dataclasses import replace

from poise.io.asf_amc_skeleton import AsfDocument

_LENGTH = re.compile(r"^(\s*length\s+)(\S+)", re.IGNORECASE)
_POSITION = re.compile(r"^(\s*position\s+)(\S+)\s+(\S+)\s+(\S+)", re.IGNORECASE)


def sized(document: AsfDocument, factor: float) -> AsfDocument:
    """The skeleton `factor` times as large, in the same unit: every bone's length and the root's place [1].

    Nothing else of the text changes, so that tools which take lengths as they stand see the size, too.
    """
    section, lines = "", []
    for line in document.text.splitlines(keepends=True):
        words = line.split()
        if words and words[0].startswith(":"):
            section = words[0].lower()
        if section == ":bonedata":
            line = _LENGTH.sub(lambda m: f"{m[1]}{factor * float(m[2])!r}", line)
        elif section == ":root":
            line = _POSITION.sub(lambda m: m[1] + " ".join(repr(factor * float(m[k])) for k in (2, 3, 4)), line)
        lines.append(line)
    return replace(
        document, text="".join(lines), position=factor * document.position,
        bones=tuple(replace(bone, length=factor * bone.length) for bone in document.bones),
    )  # fmt: skip
