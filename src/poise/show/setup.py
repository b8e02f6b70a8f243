"""The set-up page: a character on a skeleton, edited in the browser, kept as its file after every edit.

The page sends edits (`poise.tracking.setup.edited`), undo and redo; it is sent what there is now, checks and all.
Nothing of it is kept in the page: closing it, or ending the server, loses nothing.
"""

from __future__ import annotations

import json
import logging
import struct
import time
import webbrowser
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from poise.body.character import Character
from poise.body.toml_file import save_character
from poise.core import rotations
from poise.core.errors import InvalidValue, PoiseError
from poise.core.motion import Motion
from poise.core.skeleton import rest_pose
from poise.core.typing import Array
from poise.show.motion_scene import skins_of
from poise.show.page import WEB, live_page, require_page
from poise.show.protocol import Command
from poise.show.server import Server
from poise.tracking.setup import ACTOR_LIMBS, Setup, begin, edited, find_checks
from poise.tracking.setup.model import volume

log = logging.getLogger(__name__)

BUNDLE = WEB / "dist" / "setup.html"
"""The built page."""
MOST_UNDONE = 200
"""Edits that can be undone."""
MOST_JOINTS = 2000
"""Joints of a skeleton that a page holds."""


def read_edit(message: str, page: int = 0) -> Command:
    """What a page asks for.

    Raises:
        InvalidValue: if it is not an object that says what to do.
    """
    try:
        data = json.loads(message)
    except (ValueError, RecursionError):
        raise InvalidValue("The message is not JSON.") from None
    if not isinstance(data, dict) or not isinstance(data.get("do"), str):
        raise InvalidValue("The message does not say what to do.")
    return Command("edit", data, page)


class SetupSession:
    """One character while it is set up.

    Args:
        character: To begin with.
        output: The character's file (TOML); None keeps nothing.
        motion: The file's motion, for its skin; None if there is none.
        title: Of the page.
    """

    def __init__(
        self, character: Character, output: Path | None = None, *, motion: Motion | None = None, title: str = "Set-up"
    ) -> None:
        if character.skeleton.joint_count > MOST_JOINTS:
            raise InvalidValue(
                f"This skeleton has {character.skeleton.joint_count} joints; the page holds {MOST_JOINTS}."
            )
        self.output, self.title = output, title
        self._motion = motion
        self.setup = begin(character)
        self._before: deque[Setup] = deque(maxlen=MOST_UNDONE)
        self._after: list[Setup] = []
        self.saved = ""
        self.save()

    def do(self, edit: dict[str, Any]) -> None:
        """One edit, undo or redo; the file is written.

        Raises:
            InvalidValue: what is wrong with it, in words that may be shown; nothing has changed then.
        """
        what = edit.get("do")
        if what == "undo":
            if self._before:
                self._after.append(self.setup)
                self.setup = self._before.pop()
        elif what == "redo":
            if self._after:
                self._before.append(self.setup)
                self.setup = self._after.pop()
        elif what == "cure":
            self._cure(edit.get("check"))
        elif what != "state":
            self._keep(edited(self.setup, edit))
        self.save()

    def _cure(self, number: Any) -> None:
        checks = find_checks(self.setup)
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(checks):
            raise InvalidValue("There is no such check any more.")
        setup = self.setup
        for edit in checks[number].edits:
            setup = edited(setup, edit)
        self._keep(setup)

    def _keep(self, setup: Setup) -> None:
        setup.character  # noqa: B018 - what cannot be put together is refused before it is kept
        self._before.append(self.setup)
        self._after.clear()
        self.setup = setup

    def save(self) -> None:
        """Write the character's file; the page shows what went wrong."""
        if self.output is None:
            return
        try:
            save_character(self.setup.character, self.output)
            self.saved = ""
        except PoiseError as error:
            self.saved = str(error)

    def view(self) -> dict[str, Any]:
        """All that the page shows, in numbers and words."""
        setup = self.setup
        character = setup.character
        places, turned = rest_pose(setup.skeleton)
        contacts = {j for j, _ in setup.points}
        masses = np.array([b.mass for b in character.bodies])
        joints = [b.joint for b in character.bodies]
        centers = places[joints] + rotations.rotate(turned[joints], np.array([b.com for b in character.bodies]))
        return {
            "type": "setup",
            "title": self.title,
            "file": str(self.output.name) if self.output else "",
            "saved": self.saved,
            "undo": len(self._before),
            "redo": len(self._after),
            "root": setup.root,
            "joints": [
                {"name": name, "parent": int(parent), "place": _rounded(at), "turn": _rounded(turn, 6)}
                for name, parent, at, turn in zip(setup.skeleton.names, setup.skeleton.parents, places, turned)
            ],
            "ends": [
                {"joint": s.joint, "place": _rounded(places[s.joint] + rotations.rotate(turned[s.joint], s.offset))}
                for s in setup.skeleton.end_sites
            ],
            "bodies": [
                {
                    "joint": b.joint,
                    "kind": b.kind,
                    "mass": b.mass,
                    "density": b.mass / volume(b.capsules),
                    "inertia": [float(x) for x in np.linalg.eigvalsh(b.inertia)],
                    "contact": b.joint in contacts,
                    "capsules": [
                        {"start": _rounded(c.start), "end": _rounded(c.end), "radius": c.radius} for c in b.capsules
                    ],
                    "limits": None
                    if b.limits is None
                    else {
                        k: [_degrees(getattr(b.limits, f"{k}_lower")), _degrees(getattr(b.limits, f"{k}_upper"))]
                        for k in (("twist", "bend", "side") if b.kind == "ball" else ("twist",))
                    },
                }
                for b in character.bodies
            ],
            "limbs": [
                {"name": c.name, "kind": c.kind, "joints": list(c.joints), "role": c.role, "actor": c.actor}
                for c in setup.limbs
            ],
            "actor": list(ACTOR_LIMBS),
            "checks": [{"name": c.name, "text": c.text, "cure": c.cure, "limb": c.limb} for c in find_checks(setup)],
            "mass": float(masses.sum()),
            "com": _rounded(masses @ centers / masses.sum()),
        }

    def skin(self) -> bytes:
        """The file's skin in the rest pose: counts of corners and triangles, places [m], indices; empty without one."""
        if self._motion is None:
            return struct.pack("<II", 0, 0)
        try:
            skins = skins_of(self._motion)
        except PoiseError:
            skins = ()
        places, turned = rest_pose(self.setup.skeleton)
        corners, triangles, count = [], [], 0
        for skin in skins:
            found = _posed_skin(skin, places, turned)
            if not np.isfinite(found).all():
                continue
            corners.append(found.astype("<f4"))
            triangles.append(np.asarray(skin.indices, dtype="<u4").ravel() + np.uint32(count))
            count += len(found)
        if not corners:
            return struct.pack("<II", 0, 0)
        index = np.concatenate(triangles).astype("<u4")
        return struct.pack("<II", count, len(index)) + np.concatenate(corners).tobytes() + index.tobytes()


def _posed_skin(skin: Any, places: Array, turned: Array) -> Array:
    """Corners of a skin on a skeleton's joints, by linear blending [m], shape (n, 3)."""
    corners = np.asarray(skin.vertices, dtype=np.float64)
    binds = np.asarray(skin.inverse_binds, dtype=np.float64)
    out = np.zeros_like(corners)
    for k in range(skin.joints.shape[1]):
        joint, weight = np.asarray(skin.joints[:, k], dtype=np.int64), np.asarray(skin.weights[:, k], dtype=np.float64)
        local = np.einsum("nij,nj->ni", binds[joint][:, :3, :3], corners) + binds[joint][:, :3, 3]
        out += weight[:, None] * (places[joint] + rotations.rotate(turned[joint], local))
    return out


def _rounded(values: Array, digits: int = 5) -> list[float]:
    return [round(float(x), digits) for x in values]


def _degrees(angle: float) -> float | None:
    return round(float(np.degrees(angle)), 1) if np.isfinite(angle) else None


class SetupPage:
    """Serves a session: on this machine alone, to who knows the token.

    Args:
        session: What is edited.
        port: 0 takes a free one.
        is_opened: Open it in the browser.
    """

    def __init__(self, session: SetupSession, *, port: int = 0, is_opened: bool = True) -> None:
        require_page(BUNDLE)
        self.session = session

        def page(socket: str) -> str:
            return live_page(socket, session.title, bundle=BUNDLE)

        self._server = Server(page, port=port, read=read_edit)
        self._server.show(session.skin())
        self._tell()
        if is_opened:
            webbrowser.open(self.url)

    @property
    def url(self) -> str:
        """Address of the page; whoever has it may edit."""
        return self._server.url

    @property
    def page_count(self) -> int:
        return self._server.page_count

    def _tell(self) -> None:
        self._server.say(self.session.view(), greet=True)

    def obey(self) -> int:
        """Do what the pages have asked for since the last call; how much it was."""
        commands = [c for c in self._server.commands() if c.kind == "edit"]
        for command in commands:
            try:
                self.session.do(command.fields)
            except InvalidValue as error:
                self._server.say({"type": "refused", "why": str(error)})
            except PoiseError as error:
                self._server.say({"type": "refused", "why": str(error)})
        if commands:
            self._tell()
        return len(commands)

    def play(self, is_over: Callable[[], bool] = lambda: False) -> None:
        """Serve until stopped, or Ctrl-C."""
        try:
            while not is_over():
                if not self.obey():
                    time.sleep(0.01)
        except KeyboardInterrupt:
            self.obey()

    def close(self) -> None:
        self._server.close()

    def __enter__(self) -> SetupPage:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
