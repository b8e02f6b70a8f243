"""How soon a recording of 10 s is there, in a Chromium without a screen or graphics card.

`python -m benchmarks.load [RUNS]`. A tab is opened and left alone until the browser rests; then it goes to the file.
Counted from there: until the first picture is asked for, until all is there (its pixels are read back, plots too), and
until a seek has been drawn. Beside it, a page of the same size that does nothing: what the browser itself takes. CPU
time is of all its processes.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tests.chromium import PATH, launched

from benchmarks.recording import ten_seconds
from poise.show.pack import pack
from poise.show.page import recording_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

RUNS, SIZE, REST = 7, {"width": 1280, "height": 720}, 2.5

FIRST = """window.poise.ready.then(async () => {
  const drawn = performance.getEntriesByName("poise-first-picture")[0].startTime;
  const g = document.querySelector("canvas").getContext("webgl2");
  g.readPixels(0, 0, 1, 1, g.RGBA, g.UNSIGNED_BYTE, new Uint8Array(4));
  const finished = performance.now();
  await window.poise.seek(3);
  g.readPixels(0, 0, 1, 1, g.RGBA, g.UNSIGNED_BYTE, new Uint8Array(4));
  return [drawn, finished, performance.now()];
})"""

LOADED = "[performance.timing.loadEventEnd - performance.timing.navigationStart]"


def cpu_seconds() -> float:
    """CPU time of the browser's processes so far; NaN where the system does not tell."""
    total = 0.0
    try:
        for status in Path("/proc").glob("[0-9]*/stat"):
            name, rest = status.read_text(encoding="utf-8").rsplit(")", 1)
            if "chrom" in name:
                total += sum(int(x) for x in rest.split()[11:13])
        return total / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError):
        return float("nan")


def visit(browser: Browser, address: str, script: str) -> tuple[list[float], float]:
    """What the script measures in a fresh tab [ms], and the CPU time it took [s]."""
    with browser.new_context(viewport=SIZE) as held:  # pyright: ignore[reportArgumentType]
        page = held.new_page()
        page.goto("about:blank")
        time.sleep(REST)
        before = cpu_seconds()
        page.goto(address)
        return page.evaluate(script), cpu_seconds() - before


def row(name: str, values: list[float], unit: str, bar: str = "") -> None:
    print(f"{name:34s}median {np.median(values):6.0f} {unit}, least {min(values):6.0f}, most {max(values):6.0f}{bar}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="?", type=int, default=RUNS)
    runs = parser.parse_args().runs
    if PATH is None:
        print("load: there is no Chromium on this machine")
        return
    page = recording_page(pack(ten_seconds()), "10 s")
    with tempfile.TemporaryDirectory() as folder, launched() as browser:
        recording, empty = Path(folder, "recording.html"), Path(folder, "empty.html")
        recording.write_text(page, encoding="utf-8")
        empty.write_text(f"<!doctype html><!--{'x' * len(page)}-->", encoding="utf-8")
        nothing = [visit(browser, empty.as_uri(), LOADED) for _ in range(runs)]
        whole = [visit(browser, recording.as_uri(), FIRST) for _ in range(runs)]
    row("a page that does nothing", [t[0] for t, _ in nothing], "ms")
    row("first picture, asked for", [t[0] for t, _ in whole], "ms")
    row("everything, on the screen", [t[1] for t, _ in whole], "ms", "   bar 1000")
    row("and a seek answered", [t[2] for t, _ in whole], "ms")
    row("CPU of the browser, nothing", [1000.0 * c for _, c in nothing], "ms")
    row("CPU of the browser, recording", [1000.0 * c for _, c in whole], "ms")


if __name__ == "__main__":
    main()
