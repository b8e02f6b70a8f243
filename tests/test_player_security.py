"""What a recording may not do: run what its names say, reach the network, or hang on broken bytes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from poise.show.pack import pack
from poise.show.page import recording_page
from poise.show.scene import Layer, Plot, Points, Row, Scene, Series
from poise.terrain import Terrain
from tests.chromium import needs_browser, opened
from tests.clips import first_cases
from tests.record_figures import sliding_track

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_browser

TIMES = np.linspace(0.0, 1.0, 31)
EVIL = '</script><img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'


def page_of(scene: Scene, folder: Path) -> Path:
    path = folder / "page.html"
    path.write_text(recording_page(pack(scene), scene.title), encoding="utf-8")
    return path


def test_names_are_text_wherever_they_stand(browser: Browser, tmp_path: Path) -> None:
    color = (0.5, 0.5, 0.5)
    scene = Scene(
        TIMES,
        (sliding_track(TIMES, name=EVIL), sliding_track(TIMES, name="other")),
        Terrain.flat(),
        title=EVIL,
        overlays=(Points(EVIL, EVIL, color, np.zeros((1, 1, 3)), names=(EVIL,)),),
        timeline=(Row(EVIL, color, ((0.1, 0.4, EVIL),), ((0.5, EVIL),)),),
        plots=(Plot(EVIL, EVIL, (Series(EVIL, color, TIMES), Series("b", color, TIMES)), ((0.5, EVIL),)),),
        layers=(Layer(EVIL, EVIL),),
        notes=(EVIL,),
    )
    with opened(browser, page_of(scene, tmp_path), size=(1280, 700)) as page:
        page.click("#tool-help")
        page.click("#tool-layers")
        x, y = page.evaluate("window.poise.project(0, 'hips')")
        page.mouse.move(x, y)
        page.wait_for_timeout(200)
        assert page.inner_text("#title") == EVIL
        assert EVIL in page.inner_text("#layers")
        assert page.evaluate("window.pwned") is None
        assert page.evaluate("document.querySelectorAll('img').length") == 0


def test_only_the_page_s_own_script_runs(browser: Browser, tmp_path: Path) -> None:
    scene = Scene(TIMES, (sliding_track(TIMES),), Terrain.flat())
    path = page_of(scene, tmp_path)
    html = path.read_text(encoding="utf-8")
    assert len(re.findall(r"script-src 'sha256-[\w+/=]+';", html)) == 1
    assert "connect-src 'none'" in html
    assert "unsafe" not in html.split("</style>")[0].split("<style>")[0]
    path.write_text(html.replace("</body>", "<script>window.pwned = 1</script></body>"), encoding="utf-8")
    with opened(browser, path, is_ready=False) as page:
        page.evaluate("window.poise.ready")
        assert page.evaluate("window.pwned") is None
        reached = page.evaluate("fetch('data:text/plain,x').then(() => 'reached', () => 'refused')")
        assert reached == "refused"


def test_the_page_carries_the_notices(tmp_path: Path) -> None:
    scene = Scene(TIMES, (sliding_track(TIMES),), Terrain.flat())
    html = page_of(scene, tmp_path).read_text(encoding="utf-8")
    for words in ("three 0.", "uplot 1.", "three.js authors", "Leon Sorokin", "Permission is hereby granted"):
        assert words in html
    assert "triangulateShape" not in html, "three's shapes hold earcut (ISC), whose notice the page does not carry"


@first_cases(2, "damage", ["cut", "version", "noise", "none"])
def test_a_broken_recording_says_so(browser: Browser, tmp_path: Path, damage: str) -> None:
    scene = Scene(TIMES, (sliding_track(TIMES),), Terrain.flat())
    whole = pack(scene)
    broken = {
        "cut": whole[: len(whole) // 2],
        "version": whole[:8] + b"\xff\xff\xff\x7f" + whole[12:],
        "noise": whole[:16] + bytes(len(whole) - 16),
        "none": b"",
    }[damage]
    path = tmp_path / "page.html"
    path.write_text(recording_page(broken, "broken"), encoding="utf-8")
    with opened(browser, path, is_ready=False) as page:
        page.wait_for_selector("#notice:not([hidden])")
        assert re.search(r"not a Poise recording|cut short|damaged", page.inner_text("#notice"))


def test_a_title_without_words_is_no_trouble(browser: Browser, tmp_path: Path) -> None:
    scene = Scene(TIMES, (sliding_track(TIMES),), Terrain.flat())
    with opened(browser, page_of(replace(scene, title=""), tmp_path)) as page:
        assert page.title() == "Poise"
