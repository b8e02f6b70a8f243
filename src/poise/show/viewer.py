"""A page to show things in, from Python: a recording, or a scene that moves while it is computed."""

from __future__ import annotations

import html
import webbrowser
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from poise.core.errors import InvalidValue, MissingExtra
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.filter.report import SimulationResult
from poise.show.pack import pack
from poise.show.page import live_page, passing_page, recording_page, require_page
from poise.show.protocol import Command, Layout, Moment, layout_of, state_numbers
from poise.show.scene import Scene
from poise.show.server import Server

if TYPE_CHECKING:
    from poise.show.notebook import NotebookPage
    from poise.synthesis.run import SynthesisResult


FETCH_SECONDS = 20.0
"""A script that shows something waits so long at most for the browser to fetch it [s]."""

INLINE_HEIGHT = 560
"""Height of a page inside a notebook [px]."""


class Viewer:
    """A live page: show a scene, then update it as often as you like; pages follow as fast as each can.

    Example:
        >>> with poise.Viewer(is_opened=False) as viewer:
        ...     viewer.show(poise.scene_of_motion(motion, character))

    While it is shown, `update(time, [(positions, orientations)])` moves the figures, and `commands()` says what was
    clicked.

    Args:
        port: 0 takes a free one.
        token: Who knows it may look and command; a random one if not given. With the port and the token of an earlier
            viewer its pages find their way back by themselves.
        is_opened: Open a browser; by default unless this is a notebook. There, a cell that ends with the viewer shows
            the page; with the extra "notebook" also from a kernel on another machine.
        title: Of the page.

    Raises:
        MissingExtra: without the extra "studio".
        MissingPage: if the player is not in this installation.
    """

    def __init__(
        self, *, port: int = 0, token: str | None = None, is_opened: bool | None = None, title: str = "Poise"
    ) -> None:
        require_page()
        self._server = Server(lambda socket: live_page(socket, title), port=port, token=token)
        self._title = title
        self._inline: NotebookPage | None = None
        self._pages: list[Server | NotebookPage] = [self._server]
        self._layout: Layout | None = None
        self._scene = b""
        self._state: tuple[bytes, float, bool] | None = None
        self._status: dict[str, Any] | None = None
        if is_opened if is_opened is not None else not _is_notebook():
            webbrowser.open(self.url)

    @property
    def url(self) -> str:
        """Address of the page; whoever has it may look and command."""
        return self._server.url

    @property
    def page_count(self) -> int:
        """Pages that are open in browsers; the one in a notebook does not count."""
        return self._server.page_count

    def show(self, scene: Scene) -> None:
        """Show a scene: its first frame says what there is. What moves comes by `update`."""
        first = _first_frame(scene)
        self._layout = layout_of(first)
        self._scene, self._state = pack(first, is_live=True), None
        for page in self._pages:
            page.show(self._scene)

    def update(
        self,
        time: float,
        poses: Sequence[tuple[Array, Array]],
        *,
        overlays: Sequence[Array] = (),
        values: Sequence[float] = (),
        is_paused: bool = False,
        rows: Sequence[bool] = (),
    ) -> None:
        """The scene now; returns at once, however slow a page is.

        Args:
            time: [s].
            poses: Positions (B, 3) [m] and orientations (B, 4) of each track of the scene, then of each prop.
            overlays: In the scene's order: points and polygons (N, 3), vectors (N, 6) as place and vector; NaN hides.
            values: One for each line of each plot.
            is_paused: What the pages' buttons show.
            rows: For each row of the scene's timeline, whether what it tells lasts now, such as a foot that stands.

        Raises:
            InvalidValue: if nothing is shown yet, or there are not as many numbers as the scene needs.
        """
        if self._layout is None:
            raise InvalidValue("Nothing is shown yet; call show(scene) first.")
        moment = Moment(time, tuple(poses), tuple(overlays), tuple(values), is_paused, tuple(rows))
        numbers = state_numbers(moment, self._layout)
        self._state = numbers, time, is_paused
        for page in self._pages:
            page.send(numbers, time=time, is_paused=is_paused)

    def say(self, **words: Any) -> None:
        """Tell all pages something: `type="status"`, `type="mark"`, … (docs/scene_format.md)."""
        greet = words.get("type") == "status"
        if greet:
            self._status = words
        for page in self._pages:
            page.say(words, greet=greet)

    def commands(self) -> list[Command]:
        """What the pages asked for since the last call."""
        return [command for page in self._pages for command in page.commands()]

    def close(self) -> None:
        """Stop serving; pages wait for a new viewer on the same port."""
        self._server.close()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _repr_mimebundle_(self, **_: object) -> object:
        """Inline in a notebook; through its own channel with the extra "notebook", so from any machine."""
        try:
            from poise.show.notebook import NotebookPage
        except ImportError:
            return {"text/html": self._repr_html_()}
        if self._inline is None:
            self._inline = NotebookPage(self._title, INLINE_HEIGHT)
            self._pages.append(self._inline)
            if self._scene:
                self._inline.show(self._scene)
            if self._state is not None:
                numbers, time, is_paused = self._state
                self._inline.send(numbers, time=time, is_paused=is_paused)
            if self._status is not None:
                self._inline.say(self._status, greet=True)
        return self._inline.widget._repr_mimebundle_()

    def _repr_html_(self) -> str:
        """Inline in a notebook on the same machine."""
        return (
            f'<iframe src="{html.escape(self.url)}" style="width:100%;height:{INLINE_HEIGHT}px;border:0" '
            'sandbox="allow-scripts allow-same-origin"></iframe>'
        )


class View:
    """A recording that can be opened, saved, or shown inline in a notebook.

    Example:
        >>> recording = poise.View(poise.scene_of_motion(motion, character))
        >>> recording.save("walk.html")
    """

    def __init__(self, scene: Scene) -> None:
        require_page()
        self.scene = scene
        self._server: Server | None = None
        self._page = recording_page(pack(scene), scene.title)

    def save(self, path: str | Path) -> Path:
        """Write the page, or a film or strip by the extension; see `poise.show.record`."""
        from poise.show import record

        return record(self.scene, path).path

    def open(self) -> str:
        """Open it in the browser and return its address.

        Served on loopback with a token until Python ends; once the page is there it needs nobody. Without the extra
        "studio" it is opened from a file instead, see `poise.show.page.passing_page`.
        """
        try:
            self._server = Server(lambda socket: self._page)
        except MissingExtra:
            url = passing_page(self.scene.title, self._page).as_uri()
            webbrowser.open(url)
            return url
        if webbrowser.open(self._server.url):
            self._server.wait_for_page(FETCH_SECONDS)
        return self._server.url

    def _repr_html_(self) -> str:
        """Inline: the whole page in a frame that may run scripts and nothing else."""
        return (
            f'<iframe srcdoc="{html.escape(self._page)}" style="width:100%;height:{INLINE_HEIGHT}px;border:0" '
            'sandbox="allow-scripts"></iframe>'
        )


def view(
    what: SimulationResult | SynthesisResult | Motion | Scene | Sequence[Motion],
    *,
    side_by_side: bool = False,
    is_opened: bool | None = None,
) -> View:
    """Show a result, a clip, several clips, or a scene: inline in a notebook, else in the browser.

    Example:
        >>> recording = poise.view(motion, is_opened=False)
        >>> recording.save("walk.html")

    Args:
        what: What to show.
        side_by_side: Several clips beside each other, in step, instead of in one place.
        is_opened: Open a browser; by default unless this is a notebook.

    Raises:
        MissingPage: if the player is not in this installation.
    """
    seen = View(_scene(what, side_by_side))
    if is_opened if is_opened is not None else not _is_notebook():
        seen.open()
    return seen


def _scene(what: SimulationResult | SynthesisResult | Motion | Scene | Sequence[Motion], side_by_side: bool) -> Scene:
    from poise.show.motion_scene import compare, scene_of_motions
    from poise.show.result_scene import scene_of
    from poise.synthesis.run import SynthesisResult
    from poise.tracking.live import LiveResult
    from poise.world import World

    if isinstance(what, Scene):
        return what
    if isinstance(what, SimulationResult | SynthesisResult | LiveResult | World):
        return scene_of(what)
    motions = [what] if isinstance(what, Motion) else list(what)
    if not all(isinstance(m, Motion) for m in motions):
        seen = ", ".join(sorted({type(m).__name__ for m in motions if not isinstance(m, Motion)}))
        raise InvalidValue(
            f"{seen} cannot be shown; give a result of simulate or synthesize, a motion, several of them, or a scene."
        )
    return compare(motions) if side_by_side else scene_of_motions(motions)


def _first_frame(scene: Scene) -> Scene:
    """The scene at its first time alone."""
    from poise.show.join import resampled

    scene = resampled(scene, scene.times[:1])
    return replace(
        scene, props=tuple(replace(p, positions=p.positions[:1], orientations=p.orientations[:1]) for p in scene.props)
    )


def _is_notebook() -> bool:
    try:
        shell = get_ipython()  # type: ignore[name-defined]  # a name of notebooks
    except NameError:
        return False
    return type(shell).__name__ == "ZMQInteractiveShell"
