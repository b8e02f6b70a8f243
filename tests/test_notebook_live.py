"""A viewer in a cell of a real JupyterLab: its page and the kernel hear each other through the notebook alone."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.chromium import launched, needs_browser, needs_packages, until

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = needs_packages("jupyterlab", "anywidget")

CELLS = [
    """
import dataclasses, numpy as np, poise
motion = poise.load(poise.sample_path("walk")).frames(np.arange(60))
character = poise.Character.fit(motion)
scene = dataclasses.replace(poise.scene_of_motion(motion, character), overlays=(), plots=(), timeline=())
viewer = poise.Viewer()
viewer.show(scene)
viewer._server.close()  # as on another machine: the browser cannot reach it
viewer
""",
    """
import time
track = scene.tracks[0]
for i in range(60):
    viewer.update(scene.times[i], [(track.positions[i], track.orientations[i])])
    time.sleep(0.01)
viewer.say(type="status", paused=False)
""",
    """print([c.kind for c in viewer.commands()])""",
]

KERNEL = """(async () => {
  const { sessionContext } = window.jupyterapp.shell.currentWidget;
  await sessionContext.ready;
  await sessionContext.session.kernel.info;
})()"""
"""What is asked of a kernel before it answers is lost."""


@pytest.mark.long
@needs_browser
def test_a_cell_shows_a_run_and_hears_its_page(tmp_path: Path) -> None:
    import nbformat

    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(made, tmp_path / "live.ipynb")
    settings = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "JUPYTER_CONFIG_DIR": str(tmp_path / "c"),
        "JUPYTER_DATA_DIR": str(tmp_path / "d"),
    }
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        "--ServerApp.port=0",
        "--expose-app-in-browser",
    ]
    command += [f"--ServerApp.root_dir={tmp_path}", "--IdentityProvider.token=walk"]
    said = tmp_path / "said.txt"
    with said.open("w") as log, subprocess.Popen(command, env=settings, stderr=log) as lab, launched() as browser:
        try:
            address = _address(said)
            page = browser.new_page(viewport={"width": 1200, "height": 1100})
            page.set_default_timeout(60_000)
            page.goto(f"{address}lab/tree/live.ipynb?token=walk")
            page.wait_for_selector(".jp-Cell")
            page.evaluate(KERNEL)
            page.evaluate("void window.jupyterapp.commands.execute('notebook:run-all-cells')")
            page.wait_for_selector("iframe")
            frame = page.frames[-1]
            frame.evaluate("window.poise.ready")
            until(frame, "window.poise.state.time > 0.98")  # the last state, whenever the page came to it
            pose = frame.evaluate("window.poise.pose(0)")
            before = frame.evaluate("window.poise.stats.frames")
            _run(page, 1)
            until(frame, f"window.poise.stats.frames > {before + 1}")
            until(frame, "window.poise.state.time > 0.98")
            assert frame.evaluate("window.poise.pose(0)") == pytest.approx(pose)
            frame.locator("#go-play").click()
            _run(page, 2)
            page.get_by_text("['pause']").wait_for()
            page.screenshot(path=tmp_path / "notebook.png")
        finally:
            lab.terminate()


def _address(said: Path) -> str:
    """Where the server listens, once it takes connections there: it says where before it does."""
    for _ in range(600):
        if found := re.findall(r"http://127\.0\.0\.1:(\d+)/", said.read_text()):
            with contextlib.suppress(ConnectionError), socket.create_connection(("127.0.0.1", int(found[-1])), 5):
                return f"http://127.0.0.1:{found[-1]}/"
        time.sleep(0.1)
    pytest.fail(f"JupyterLab did not start: {said.read_text()[-500:]}")


def _run(page: Page, cell: int) -> None:
    """Run a cell as a user does."""
    page.locator(".jp-Cell").nth(cell).locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
