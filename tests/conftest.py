"""What a run of the tests begins with, the browser, and what a run says at its end: what was not run, how to get it."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def pytest_configure() -> None:
    """Bytecode of sources and tests is kept, even where it is switched off: each process starts seconds sooner."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False


def pytest_collection_finish() -> None:
    """What has been imported and collected stays: the garbage collector need not go through it again and again."""
    gc.freeze()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium without a screen; windows that a file of tests leaves open are closed after it."""
    from tests.chromium import launched

    with launched() as found:
        yield found


def pytest_unconfigure() -> None:
    """One browser serves all tests of a process."""
    if "tests.chromium" in sys.modules:
        sys.modules["tests.chromium"].closed()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Every reason for which tests were skipped, once, and the long tests if they were left out."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        where = report.longrepr
        text = where[2] if isinstance(where, tuple) else str(where)
        reasons[text.removeprefix("Skipped: ")] += 1
    is_short = "not long" in str(config.getoption("markexpr", ""))
    if not reasons and not is_short:
        return
    terminalreporter.section("not run")
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count:5d} {'test' if count == 1 else 'tests'}: {reason}")
    if is_short:
        terminalreporter.write_line("      The long tests: make test-all runs them too.")
