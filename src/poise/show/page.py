"""The page around a pack: one file that opens offline, or the page of a live scene."""

from __future__ import annotations

import base64
import functools
import html
import json
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from poise.core.errors import PoiseError, UnreadableFile
from poise.io.files import cache_folder, why

Options = Mapping[str, str | int | float | bool]

WEB = Path(__file__).parent / "web"
BUNDLE = WEB / "dist" / "page.html"
"""The built page; not in the repository, but in every wheel."""

KEPT = 20
"""Pages that were only looked at and are kept, the newest."""

_TITLE, _DATA, _CONNECT = "<!--poise:title-->", "<!--poise:data-->", "connect-src 'none'"


class MissingPage(PoiseError):
    """The page's code was not built when this Poise was installed."""


def has_page(bundle: Path | None = None) -> bool:
    """True if pages can be written; `bundle` is the player's by default."""
    return (bundle or BUNDLE).is_file()


def require_page(bundle: Path | None = None) -> None:
    """Raises MissingPage with its cure if the page was not built."""
    if not has_page(bundle):
        raise MissingPage(
            "The player is not in this installation: it was built without node or network. Install a released wheel, "
            f"or run `npm ci` and `npm run build` in {BUNDLE.parents[1]}; pictures and films (.png, .gif, .mp4) work "
            "without it."
        )


def passing_page(name: str, text: str) -> Path:
    """Write a page that is only looked at, into the cache folder of the user; of those before it the newest stay.

    The folder is `poise/pages` in `$XDG_CACHE_HOME` or `~/.cache` (macOS: `~/Library/Caches`, Windows:
    `%LOCALAPPDATA%`); where it cannot be written, a new one for temporary files.

    Args:
        name: What it shows; letters, digits, `-`, `_` and `.` of it become the file's name.
        text: The page.
    """
    data = text.encode("utf-8", "backslashreplace")
    try:
        folder = cache_folder() / "poise" / "pages"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        old = sorted(folder.glob("*.html"), key=lambda p: p.stat().st_mtime)
        for path in old[: max(0, len(old) - KEPT + 1)]:
            path.unlink(missing_ok=True)
        return _new_file(data, folder, f"{_file_name(name)}-")
    except (OSError, RuntimeError):  # read-only or full, or no home at all
        pass
    try:
        return _new_file(data, None, f"poise-{_file_name(name)}-")
    except OSError as error:
        raise UnreadableFile(f"No page can be written to {tempfile.gettempdir()}: {why(error)}.") from error


def _new_file(data: bytes, folder: Path | None, prefix: str) -> Path:
    handle, made = tempfile.mkstemp(dir=folder, prefix=prefix, suffix=".html")
    try:
        with open(handle, "wb") as file:
            file.write(data)
    except OSError:
        os.unlink(made)
        raise
    return Path(made)


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name, flags=re.ASCII).strip("._")[:60] or "page"


def recording_page(pack: bytes, title: str, options: Options | None = None) -> str:
    """A page that holds a scene and shows it, offline.

    Args:
        pack: The scene, from `poise.show.pack.pack`.
        title: Of the page.
        options: How it opens; see "The page" in docs/scene_format.md.

    Raises:
        MissingPage: if the player is not in this installation.
    """
    data = base64.b64encode(pack).decode()
    script = f'<script type="application/octet-stream" id="poise-recording">{data}</script>'
    return filled(title, script, options)


def live_page(socket: str, title: str, options: Options | None = None, *, bundle: Path | None = None) -> str:
    """A page that shows what comes through a WebSocket of its own server.

    Args:
        socket: Path and query of the socket.
        title: Of the page.
        options: How it opens.
        bundle: The built page; the player by default.

    Raises:
        MissingPage: if the player is not in this installation.
    """
    script = f'<script type="application/json" id="poise-live">{json_text({"socket": socket})}</script>'
    return filled(title, script, options, bundle).replace(_CONNECT, "connect-src 'self'", 1)


def framed_page(title: str) -> str:
    """A page that shows what the page around it passes on, as in a notebook; see "Live" in docs/scene_format.md.

    Raises:
        MissingPage: if the player is not in this installation.
    """
    return filled(title, '<script type="application/json" id="poise-live">{"socket": null}</script>')


def filled(title: str, content: str, options: Options | None = None, bundle: Path | None = None) -> str:
    """The built page with a title, and content in the place of its data: markup, in which every name is escaped.

    Raises:
        MissingPage: if the page is not in this installation.
    """
    if options:
        content += f'<script type="application/json" id="poise-options">{json_text(options)}</script>'
    before, after = (_page() if bundle is None else _page_of(bundle)).split(_DATA, 1)
    return before.replace(_TITLE, html.escape(title or "Poise"), 1) + content + after


@functools.cache
def _page() -> str:
    return _page_of(BUNDLE)


def _page_of(bundle: Path) -> str:
    require_page(bundle)
    page = bundle.read_text(encoding="utf-8")
    for part in (_TITLE, _DATA, _CONNECT):
        if part not in page:
            raise MissingPage(f"The player in {bundle} is of another version: it has no {part!r}. Build it again.")
    return page


def json_text(data: object) -> str:
    """JSON that can stand inside a script element."""
    return json.dumps(data, allow_nan=False).replace("<", "\\u003c")
