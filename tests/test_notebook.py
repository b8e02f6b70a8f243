"""A notebook's cell shows a result inline: a real kernel runs it, a real browser draws what it put out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chromium import launched, needs_browser, needs_packages, until

pytestmark = needs_packages("nbclient", "ipykernel")

CELL = """
import numpy as np, poise, webbrowser
webbrowser.open = lambda *_: 1 / 0  # a notebook opens no window of its own
poise.view(poise.load(poise.sample_path("walk")).frames(np.arange(60)))
"""


@pytest.mark.long
@needs_browser
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_cell_shows_a_clip(tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    NotebookClient(made, timeout=120, kernel_name="python3").execute()
    (output,) = (o for o in made.cells[0].outputs if "data" in o)
    page = tmp_path / "notebook.html"
    page.write_text(f"<!doctype html><p>above</p>{output['data']['text/html']}<p>below</p>", encoding="utf-8")
    with launched() as browser:
        shown = browser.new_page(viewport={"width": 900, "height": 800})
        shown.goto(page.as_uri())
        until(shown, "document.querySelectorAll('iframe').length === 1")
        box = shown.locator("iframe").bounding_box()
        assert box is not None
        assert box["width"] > 850
        assert shown.locator("p").all_inner_texts() == ["above", "below"]  # nothing of the page got out of its frame
        frame = shown.frames[1]
        assert frame.evaluate("window.poise.ready.then(() => window.poise.seek(0.5))") is None
        assert frame.evaluate("window.poise.state.time") == pytest.approx(0.5, abs=0.01)
        assert frame.evaluate("document.querySelector('canvas').height") > 300
        assert frame.locator("#go-play").is_visible()
        assert frame.evaluate("document.querySelector('#notice').hidden")
