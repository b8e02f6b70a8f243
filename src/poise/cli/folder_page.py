"""The page that shows all clips of a folder: state, measures, strips and links, filtered and ordered in the page."""

from __future__ import annotations

import base64
import hashlib
import html
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from poise.core.errors import first_names

MEASURES = {
    "largest turn of a joint [deg]": ("deviation.joint_angle_max_deg", "changed.joint_angle_max_deg"),
    "largest shift of the root [m]": ("deviation.root_position_max_m", "changed.root_position_max_m"),
    "outside help at the hips, rms [N]": ("root_residual.force_rms_N",),
    "frames": ("source.frames", "frames"),
    "frames/s": ("source.fps", "fps"),
    "joints": ("source.joints", "joints"),
    "height [m]": ("height_m",),
    "apart": ("apart",),
    "failing": ("failing",),
    "warnings": ("warned",),
}
"""Columns of the summary, and where reports hold them."""
LEFT_OUT = "left out"
"""State of a clip for which what was asked makes no sense, such as a single pose."""
MOST_NAMES = 5
"""Names of files that one sentence lists."""


@dataclass(frozen=True)
class Done:
    """What became of a clip: a line of the manifest."""

    name: str
    state: str
    """ "done", "failed" or `LEFT_OUT`."""
    message: str
    target: str
    key: str
    seconds: float
    """Processor time, with that of programs it started (not on Windows) [s]."""
    measures: dict[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def fail_their_check(done: Sequence[Done]) -> str:
    """How many clips were checked and fail, as the end of a sentence."""
    count = sum(d.measures.get("failing", 0.0) > 0.0 for d in done)
    return "" if not count else ", 1 fails its check" if count == 1 else f", {count} fail their check"


def _picture(done: Done, place: Path) -> str:
    """A strip that was drawn of a clip, in the page; no more than its link where it is not a small picture."""
    if not done.target or not (place / (path := Path(done.target).with_suffix(".png"))).is_file():
        return ""
    return f'<img loading="lazy" alt="" src="{html.escape(quote(path.as_posix()), quote=True)}">'


def _plain(value: float) -> str:
    """A number without an exponent: what is less than 0.0005 is shown as 0."""
    size = abs(value)
    if size < 5e-4:
        return "0"
    return f"{value:.0f}" if size >= 1000.0 else f"{value:.4g}" if size >= 0.1 else f"{value:.3f}"


def summary_page(title: str, done: Sequence[Done], place: Path, *, sheet: str = "") -> str:
    """All clips of a folder as one page: state, measures, warnings, links to what was written and to a sheet."""
    columns = [m for m in MEASURES if any(m in d.measures for d in done)]
    rows = []
    for d in done:
        name = html.escape(d.name)
        links = [
            f'<a href="{html.escape(quote(other.as_posix()), quote=True)}">{html.escape(other.suffix[1:])}</a>'
            for ending in dict.fromkeys((Path(d.target).suffix, ".html", ".mp4", ".gif", ".png", ".json"))
            if d.target and (place / (other := Path(d.target).with_suffix(ending))).is_file()
        ]
        cells = [_plain(d.measures[m]) if m in d.measures else "" for m in columns]
        message = html.escape(" ".join([d.message, *d.warnings]).strip())
        numbers = "".join(f"<td class=n>{c}</td>" for c in cells)
        rows.append(
            f'<tr class="{d.state}"><td><label><input type="checkbox">{name}</label></td><td>{d.state}</td>{numbers}'
            f"<td>{' '.join(links)}{_picture(d, place)}</td><td>{message}</td></tr>"
        )
    names = ("clip", "state", *columns, "see", "notes")
    heads = "".join(f"<th><button>{html.escape(c)}</button></th>" for c in names)
    states = Counter(d.state for d in done)
    left_out = f", {states[LEFT_OUT]} left out" if states[LEFT_OUT] else ""
    code = _SCRIPT.strip()
    key = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    return _PAGE.format(
        title=html.escape(title),
        heads=heads,
        rows="\n".join(rows),
        count=len(done),
        failed=states["failed"],
        left_out=left_out + fail_their_check(done),
        sheet=f' <a href="{html.escape(quote(sheet), quote=True)}">Stills of them</a>' if sheet else "",
        code=code,
        key=key,
    )


_SCRIPT = """
const rows = [...document.querySelectorAll("tbody tr")], body = document.querySelector("tbody");
const said = document.getElementById("said"), only = document.getElementById("only"),
  chosen = document.getElementById("chosen");
function show() {
  const words = only.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let count = 0;
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    row.hidden =
      !words.every((w) => (w[0] === "-" && w.length > 1 ? !text.includes(w.slice(1)) : text.includes(w))) ||
      (chosen.checked && !row.querySelector("input").checked);
    count += !row.hidden;
  }
  said.textContent = count === rows.length ? "" : `${count} of ${rows.length} shown`;
}
only.addEventListener("input", show);
chosen.addEventListener("input", show);
let last = -1, way = 1;
document.querySelectorAll("th button").forEach((head, k) => head.addEventListener("click", () => {
  way = last === k ? -way : 1;
  last = k;
  const of = (row) => row.cells[k].textContent.trim();
  rows.sort((a, b) => {
    const [x, y] = [of(a), of(b)];
    return !x - !y || way * (isNaN(x) || isNaN(y) ? x.localeCompare(y) : x - y);
  });
  body.append(...rows);
}));
"""
"""Filter, choice and order of the rows of a summary page."""

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src 'self' file:; script-src 'sha256-{key}'">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 14px/1.4 system-ui, sans-serif; margin: 2em }}
table {{ border-collapse: collapse }}
th, td {{ padding: 0.3em 0.8em; text-align: left; border-bottom: 1px solid #8884; vertical-align: top }}
th button {{ font: inherit; font-weight: 600; color: inherit; background: none; border: 0; padding: 0 }}
th button:hover {{ text-decoration: underline }}
.n {{ text-align: right; font-variant-numeric: tabular-nums }}
.failed td:nth-child(2) {{ color: #c33; font-weight: 600 }}
img {{ display: block; max-width: 22em; max-height: 9em }}
td:last-child {{ min-width: 22em }}
input[type=search] {{ font: inherit; padding: 0.3em 0.6em; width: min(30em, 90%) }}
input[type=checkbox] {{ margin: 0 0.6em 0 0 }}
</style>
<h1>{title}</h1><p>{count} clips, {failed} failed{left_out}.{sheet}</p>
<p><label>Show only <input id="only" type="search" placeholder="words; -word leaves out"></label>
<label><input id="chosen" type="checkbox">only ticked rows</label> <span id="said"></span></p>
<table><thead><tr>{heads}</tr></thead><tbody>
{rows}
</tbody></table><script>{code}</script></html>
"""


def reasons(done: Sequence[Done], prefix: str = "") -> list[str]:
    """One sentence for each reason why clips failed or were left out, with the clips it holds for."""
    named: dict[str, list[str]] = {}
    for d in done:
        named.setdefault(d.message, []).append(d.name)
    said = []
    for reason, names in named.items():
        if len(names) == 1:
            said.append(f"{names[0]}: {prefix}{reason.removeprefix(f'{names[0]}: ')}")
        else:
            said.append(f"{len(names)} clips: {prefix}{reason} ({first_names(names, MOST_NAMES)})")
    return said
