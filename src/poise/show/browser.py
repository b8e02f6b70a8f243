"""A headless browser as a painter: pictures of exactly what the page shows, over the DevTools protocol.

Needs a Chromium (or Chrome, or Edge) on the machine and the extra "studio"; nothing is downloaded.
"""

from __future__ import annotations

import base64
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time as clock
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from poise.core.errors import PoiseError, UnreadableFile
from poise.io.files import why
from poise.show.camera import FIELD_OF_VIEW, Shot
from poise.show.look import Still
from poise.show.pack import pack
from poise.show.page import has_page, recording_page
from poise.show.scene import Scene

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

Picture = npt.NDArray[np.uint8]

NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "msedge",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
"""Where a browser may be; POISE_BROWSER names another, or "none"."""

START_SECONDS = 60.0
"""A browser that has not shown the page after this long counts as none [s]."""

_QUIET = (
    "--headless=new",
    "--remote-debugging-port=0",
    "--no-first-run",
    "--disable-sync",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-quic",
    "--disable-extensions",
    "--hide-scrollbars",
    "--mute-audio",
    "--window-size=64,64",
)

_GL = {
    "linux": (("--use-gl=angle", "--use-angle=gl-egl", "--ignore-gpu-blocklist"),),
    "all": (("--ignore-gpu-blocklist",), ("--use-angle=swiftshader", "--enable-unsafe-swiftshader")),
}
"""Ways to a WebGL, to be tried in turn: Mesa's own before the browser's slow one."""


def find_browser() -> str | None:
    """Path of a browser that can draw pages, or None."""
    named = os.environ.get("POISE_BROWSER")
    if named is not None:
        return shutil.which(named)
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def why_not() -> str:
    """Why the page cannot draw pictures here, in one sentence; empty if it can."""
    if not has_page():
        return "The player was not built."
    if find_browser() is None:
        return "There is no Chromium, Chrome or Edge."
    try:
        import websockets  # noqa: F401
    except ImportError:
        return 'The extra "studio" is not installed.'
    return ""


class PagePainter:
    """Draws a scene by its page in a headless browser.

    Args:
        scene: What is seen.
        width, height: Of a picture [px].

    Raises:
        PoiseError: if no browser draws it.
    """

    def __init__(self, scene: Scene, width: int, height: int) -> None:
        self._size = (width, height)
        self._held = ExitStack()
        reasons = []
        for flags in (*_GL.get(sys.platform, ()), *_GL["all"]):
            try:
                self._start(scene, flags)
                return
            except (PoiseError, OSError, TimeoutError) as error:
                reasons.append(str(error) or type(error).__name__)
                self._held.close()
        raise PoiseError(f"No picture could be drawn by {find_browser()}: {reasons[-1]}")

    def paint(self, still: Still, shot: Shot) -> Picture:
        """The picture at a still's time through a camera, shape (height, width, 3)."""
        from PIL import Image

        camera = {
            "eye": (shot.target - shot.distance * shot.forward).tolist(),
            "target": shot.target.tolist(),
            "fov": FIELD_OF_VIEW,
        }
        width, height = self._size
        url = self._evaluate(f"window.poise.film({still.time!r}, {json.dumps(camera)}, {width}, {height})")
        picture = Image.open(io.BytesIO(base64.b64decode(url.split(",", 1)[1]))).convert("RGB")
        if picture.size != self._size:
            picture = picture.resize(self._size, Image.Resampling.BOX)
        return np.asarray(picture)

    def close(self) -> None:
        self._held.close()

    def __enter__(self) -> PagePainter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self, scene: Scene, flags: tuple[str, ...]) -> None:
        browser = find_browser()
        if browser is None:
            raise PoiseError(why_not())
        folder = Path(
            self._held.enter_context(tempfile.TemporaryDirectory(prefix="poise-browser-", ignore_cleanup_errors=True))
        )
        page = folder / "scene.html"
        text = recording_page(pack(scene), scene.title, {"theme": "light"})
        try:  # at once, even where files wait for one another: the browser reads it now
            page.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UnreadableFile(f"{page} cannot be written: {why(error)}.") from error
        sandbox = ("--no-sandbox",) if getattr(os, "geteuid", lambda: 1)() == 0 else ()  # root has no sandbox
        address = f"{page.resolve().as_uri()}#ui=0&dpr=1&aa=1&shadows=1&theme=light"
        process = subprocess.Popen(
            [browser, *_QUIET, *flags, *sandbox, f"--user-data-dir={folder / 'profile'}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
        )
        self._held.callback(_end, process)
        self._socket = self._held.enter_context(_connect(folder / "profile", process))
        self._number = 0
        self._command("Page.navigate", url=address)
        end = clock.monotonic() + START_SECONDS
        while not self._evaluate("typeof window.poise === 'object' && document.readyState === 'complete'"):
            if clock.monotonic() > end:
                raise PoiseError("The page did not start.")
            clock.sleep(0.05)
        self._evaluate("window.poise.ready.then(() => true)")

    def _evaluate(self, script: str) -> Any:
        answer = self._command("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise PoiseError(f"The page failed: {details.get('exception', {}).get('description', details['text'])}")
        return answer["result"].get("value")

    def _command(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            try:
                message = json.loads(self._socket.recv(timeout=START_SECONDS))
            except TimeoutError as error:  # as an OSError it would be reported as a file that cannot be written
                raise PoiseError(
                    f"The browser did not answer for {START_SECONDS:g} s. Close other programs and try again, or "
                    "record as .html, which needs no browser."
                ) from error
            if message.get("id") == self._number:
                if "error" in message:
                    raise PoiseError(f"The browser refused {method}: {message['error'].get('message')}")
                return message["result"]


def _connect(profile: Path, process: subprocess.Popen[bytes]) -> ClientConnection:
    """A socket to the first tab of a browser that is starting."""
    from websockets.sync.client import connect

    end = clock.monotonic() + START_SECONDS
    port_file = profile / "DevToolsActivePort"
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # never through a proxy
    while clock.monotonic() < end:
        if process.poll() is not None:
            raise PoiseError(f"The browser ended at once with code {process.returncode}.")
        try:
            port = int(port_file.read_text(encoding="utf-8").split()[0])
            with direct.open(f"http://127.0.0.1:{port}/json/list", timeout=5.0) as answer:
                tabs = [t for t in json.load(answer) if t.get("type") == "page"]
            if tabs:
                return connect(tabs[0]["webSocketDebuggerUrl"], max_size=None, open_timeout=20.0, proxy=None)
        except (OSError, ValueError, IndexError):
            pass
        clock.sleep(0.05)
    raise PoiseError("The browser did not open a tab.")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10.0)
