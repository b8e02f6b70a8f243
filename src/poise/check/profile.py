"""Profiles: the thresholds of every finding, as data that a user can change."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from poise.check.finding import FLAWS
from poise.core.errors import FileFormatError, UnknownName, did_you_mean
from poise.io.files import parse_toml, read_text

KEYS = ("min", "max", "fail", "check")
"""What a profile says of a flaw."""


ROOT = "realistic"
"""The profile that every other starts from."""


@dataclass(frozen=True)
class Limit:
    """What a profile allows of one measure.

    Attributes:
        least: Smallest value allowed, -inf if any.
        most: Largest value allowed, inf if any.
        fails: True if a value outside makes the clip's verdict "fail"; False for a warning.
        is_checked: False if nobody wants to hear of it.
    """

    least: float = -math.inf
    most: float = math.inf
    fails: bool = True
    is_checked: bool = True

    def allows(self, value: float) -> bool:
        """True if the value lies within, or is not defined."""
        return not self.is_checked or not math.isfinite(value) or self.least <= value <= self.most

    def scaled(self, factor: float) -> Limit:
        """The same limit of a length, for a body this many times the size of the one it was written for."""
        return replace(self, least=self.least * factor, most=self.most * factor)

    def passed(self, value: float) -> float:
        """The end of the range that a value outside has passed."""
        return self.least if value < self.least else self.most


@dataclass(frozen=True)
class Profile:
    """A name, a sentence, and one limit per flaw."""

    name: str
    about: str
    limits: Mapping[str, Limit]

    def __getitem__(self, flaw: str) -> Limit:
        return self.limits[flaw]

    def failing_only_on(self, names: tuple[str, ...]) -> Profile:
        """The same profile where only these flaws make a verdict "fail"; the others are warnings.

        Raises:
            UnknownName: if one is not a flaw's name.
        """
        for name in names:
            require_flaw(name)
        limits = {
            flaw: replace(limit, fails=flaw in names, is_checked=limit.is_checked or flaw in names)
            for flaw, limit in self.limits.items()
        }
        return replace(self, limits=limits)


def profile_names() -> tuple[str, ...]:
    """Names of the profiles that come with Poise."""
    folder = resources.files("poise.check") / "profiles"
    return tuple(sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml")))


def load_profile(which: str) -> Profile:
    """A profile by name, or from a TOML file.

    A file holds one table a flaw with `min`, `max`, `fail` and `check`; `base` names the profile it starts from
    (default ROOT), so it need only say what it changes.

    Raises:
        UnknownName: if it is neither a name nor a file, or the file names a flaw that there is not.
        FileFormatError: if the file is no such TOML.
    """
    if which in profile_names():
        text = (resources.files("poise.check") / "profiles" / f"{which}.toml").read_text(encoding="utf-8")
        return _parse(text, which, which)
    path = Path(which)
    if not path.is_file():
        hint = did_you_mean(which, profile_names())
        raise UnknownName(
            f"No profile {which!r}: neither a name nor a file.{hint} Names: {', '.join(profile_names())}; "
            "or give a TOML file that changes one of them."
        )
    return _parse(read_text(path), path.stem, str(path))


def require_flaw(name: str) -> str:
    """The name itself.

    Raises:
        UnknownName: if it is not a flaw's name.
    """
    if name not in FLAWS:
        close = difflib.get_close_matches(name, FLAWS, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise UnknownName(f"There is no finding {name!r}.{hint} Names: {', '.join(FLAWS)}.")
    return name


def _parse(text: str, name: str, path: str) -> Profile:
    data = parse_toml(text, path)
    about, base = str(data.pop("about", "")), data.pop("base", None)
    if base is not None and base not in profile_names():
        raise FileFormatError(
            f"base is {base!r}; it must be one of {', '.join(profile_names())}.", path=path, text="base"
        )
    base = base or (None if path == ROOT else ROOT)
    start = {} if base is None else dict(load_profile(base).limits)
    for flaw, table in data.items():
        require_flaw(flaw)
        start[flaw] = _limit(flaw, table, start.get(flaw, Limit()), path)
    missing = [flaw for flaw in FLAWS if flaw not in start]
    if missing:
        raise FileFormatError(f"The profile lacks {', '.join(missing)}.", path=path)
    return Profile(name, about, start)


def _limit(flaw: str, table: Any, base: Limit, path: str) -> Limit:
    if not isinstance(table, dict) or not set(table) <= set(KEYS):
        raise FileFormatError(
            f"[{flaw}] must be a table with no other keys than {', '.join(KEYS)}.", path=path, text=str(table)
        )
    numbers = {k: table[k] for k in ("min", "max") if k in table}
    flags = {k: table[k] for k in ("fail", "check") if k in table}
    for key, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
            raise FileFormatError(f"[{flaw}] {key} is {value!r}; it must be a number.", path=path)
    for key, value in flags.items():
        if not isinstance(value, bool):
            raise FileFormatError(f"[{flaw}] {key} is {value!r}; it must be true or false.", path=path)
    limit = Limit(
        float(numbers.get("min", base.least)),
        float(numbers.get("max", base.most)),
        flags.get("fail", base.fails),
        flags.get("check", base.is_checked),
    )
    if limit.most < 0.0:
        raise FileFormatError(
            f"[{flaw}] max is {limit.most:g}; no measure is below 0.",
            path=path,
            text="max",
            cure="Give 0 or more, or check = false to leave the finding out.",
        )
    if limit.least > limit.most:
        raise FileFormatError(f"[{flaw}] min {limit.least:g} is above max {limit.most:g}.", path=path)
    return limit
